//! The roofs' kernels: what memory and arithmetic units do with nothing else in the way.
//!
//! Streams write past the caches what they do not read (copy, scale, add, triad): a plain store would
//! fetch each line first, traffic that the count leaves out. `step` reads what it overwrites. Arrays
//! should be larger than the caches: those that fit are better written to them.
//!
//! One core of a Xeon of the Sapphire Rapids family, shared, arrays of 128 MiB, per second of CPU time:
//! copy 20.4, scale 20.1, add 20.6, triad 20.4, step 20.3 GB/s; scale by plain stores 12.7.

use std::hint::black_box;

use super::simd::Simd;

/// A stretch of three arrays; see [`temblor_backend::StreamPattern`] for who is read and written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamArgs {
    /// Array a, at a multiple of 64 bytes; so are the others.
    pub(crate) a: *mut f32,
    /// Array b.
    pub(crate) b: *mut f32,
    /// Array c.
    pub(crate) c: *mut f32,
    /// Elements, a multiple of 16.
    pub(crate) len: usize,
}

/// The kernels of an instruction set; unsafe to call: the processor must have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoofKernels {
    /// One pass over a stretch, in the order of `StreamPattern::ALL`; the stretch is the caller's.
    pub(crate) stream: [unsafe fn(&StreamArgs); 5],
    /// Turns of independent multiply-adds; their sum.
    pub(crate) multiply_adds: unsafe fn(u64) -> f32,
    /// Operations per turn.
    pub(crate) flops_per_turn: u64,
}

/// STREAM's factor.
const SCALE: f32 = 3.0;

/// One pass of a pattern, by its place in `StreamPattern::ALL`.
///
/// # Safety
/// The processor has S; the stretch is readable and writable and nobody else touches it.
#[inline(always)]
pub(super) unsafe fn stream<S: Simd, const PATTERN: usize>(args: &StreamArgs) {
    let StreamArgs { a, b, c, len } = *args;
    // SAFETY: the caller's contract.
    unsafe {
        let (scale, two) = (S::splat(SCALE), S::splat(2.0));
        let mut k = 0;
        while k < len {
            let (a, b, c) = (a.add(k), b.add(k), c.add(k));
            match PATTERN {
                0 => S::write_past(c, S::load(a)),
                1 => S::write_past(b, S::mul(scale, S::load(c))),
                2 => S::write_past(c, S::add(S::load(a), S::load(b))),
                3 => S::write_past(a, S::fma(scale, S::load(c), S::load(b))),
                _ => {
                    let inertia = S::sub(S::mul(two, S::load(b)), S::load(a));
                    S::store(a, S::add(inertia, S::load(c)));
                }
            }
            k += S::LANES;
        }
        S::fence();
    }
}

/// Independent sums. Twelve hide four cycles of latency on two units and leave room for the factors
/// in sixteen registers; processors with NEON have up to four units and thirty-two registers.
const CHAINS: usize = if cfg!(target_arch = "aarch64") { 20 } else { 12 };

/// Operations of a turn, a multiply-add counted as two.
pub(super) const fn flops_per_turn<S: Simd>() -> u64 {
    (2 * CHAINS * S::LANES) as u64
}

/// Multiply-adds whose sums tend to 1.
///
/// # Safety
/// The processor has S.
#[inline(always)]
pub(super) unsafe fn multiply_adds<S: Simd>(turns: u64) -> f32 {
    // SAFETY: the caller's contract; a row holds the lanes of any vector.
    unsafe {
        // Hidden from the compiler, which would otherwise solve the recurrence.
        let (factor, offset) = (S::splat(black_box(0.999)), S::splat(black_box(1e-3)));
        let mut sums = [S::splat(black_box(1.0)); CHAINS];
        for _ in 0..turns {
            for sum in &mut sums {
                *sum = S::fma(*sum, factor, offset);
            }
        }
        let mut row = [0.0_f32; super::WIDEST];
        let mut total = 0.0;
        for sum in sums {
            S::store(row.as_mut_ptr(), sum);
            total += row[..S::LANES].iter().sum::<f32>();
        }
        total
    }
}
