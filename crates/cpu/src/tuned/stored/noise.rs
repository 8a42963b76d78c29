//! Stochastic rounding: noise of half a code either way before rounding to nearest.
//!
//! A value is then rounded up with a probability that is its distance from the code below, so that
//! its expectation is itself. Rounding to nearest instead freezes what moves by less than half a code
//! in a step, and its errors, alike from step to step, add up where independent ones average out. The
//! noise is a hash of step, row and node: the same for any number of threads and after a restore. It is
//! for codes that share an exponent alone. Where every value has its own the noise is a part of the
//! value, and what rests grows: bf16 in a C-PML, whose static field nothing damps, is beyond 1e20 after 5 x 10^4
//! steps and 5e-5 to nearest; fp16-scaled 2.7e-4 and growing after 10^5, 3.3e-5 to nearest. The
//! hash is the finaliser of `MurmurHash3` (Appleby 2011, public domain).

/// Bits that depend on all bits of a word.
#[inline(always)]
const fn mixed(word: u32) -> u32 {
    let word = (word ^ (word >> 16)).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ (word >> 13)).wrapping_mul(0xc2b2_ae35);
    word ^ (word >> 16)
}

/// Noise of a row in a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise(u32);

impl Noise {
    #[expect(clippy::cast_possible_truncation, reason = "the halves of words are taken apart")]
    pub(super) const fn new(step: u64, row: usize) -> Self {
        let row = row as u64;
        let step = mixed(step as u32) ^ (step >> 32) as u32;
        Self(mixed(step.wrapping_add(mixed(row as u32 ^ mixed((row >> 32) as u32 ^ 1)))))
    }

    /// Noise of the nodes from `node` on; nodes of a row are fewer than 2^32.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^32")]
    pub(super) const fn from(self, node: usize) -> Self {
        Self(self.0.wrapping_add((node as u32).wrapping_mul(GOLDEN)))
    }

    /// Random bits of a node after the first.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^32")]
    const fn bits(self, node: usize) -> u32 {
        mixed(self.0.wrapping_add((node as u32).wrapping_mul(GOLDEN)))
    }

    /// A number from -1/2 (held) to 1/2 (not reached).
    #[inline(always)]
    pub(super) fn unit(self, node: usize) -> f32 {
        (self.bits(node) >> 8).cast_signed() as f32 * 2.0_f32.powi(-24) - 0.5
    }
}

/// 2^32 over the golden ratio: neighbours differ in many bits.
const GOLDEN: u32 = 0x9e37_79b9;
