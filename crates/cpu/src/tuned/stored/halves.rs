//! Sixteen-bit floating-point numbers: IEEE halves and the upper halves of singles (BF16).
//!
//! The plain conversions are free of branches, so that compilers turn them into vectors, and give
//! the bits of the processor's own (F16C) for every input, also while denormals are flushed: no
//! single that they handle is denormal but those that become zero.

#![allow(unsafe_code, reason = "conversions by intrinsics")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract covers a conversion with its load and store"
)]

/// Bits of infinity, less its sign; NaN has more.
pub(super) const INFINITY: u32 = f32::INFINITY.to_bits();

const ABSOLUTE: u32 = 0x7fff_ffff;

/// The upper half of a word.
#[inline(always)]
const fn upper(bits: u32) -> u16 {
    (bits >> 16) as u16
}

/// The lower half of a word.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the upper half is dropped on purpose")]
pub(super) const fn lower(bits: u32) -> u16 {
    bits as u16
}

/// BF16 of a single, rounded to nearest even; NaN stays NaN.
#[inline(always)]
pub(super) const fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    let quiet = bits | 0x0040_0000;
    upper(if bits & ABSOLUTE > INFINITY { quiet } else { rounded })
}

/// Single of a BF16.
#[inline(always)]
pub(super) const fn from_bf16(code: u16) -> f32 {
    f32::from_bits((code as u32) << 16)
}

/// IEEE half of a single, rounded to nearest even; 65520 and more become infinite.
#[inline(always)]
pub(super) fn to_half(value: f32) -> u16 {
    // 2^16, the first power of two that is no half, and 2^-14, the least normal half.
    const TOO_LARGE: u32 = 143 << 23;
    const LEAST_NORMAL: u32 = 113 << 23;
    // The last bits of 0.5 and of a denormal half are worth the same, 2^-24.
    const HALF: u32 = 126 << 23;
    let bits = value.to_bits();
    let sign = upper(bits) & 0x8000;
    let size = bits & ABSOLUTE;
    let nan = 0x7e00 | ((size >> 13) & 0x03ff);
    let special = if size > INFINITY { nan } else { 0x7c00 };
    let denormal = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(HALF);
    // The exponent's bias falls from 127 to 15.
    let normal = size.wrapping_sub(112 << 23).wrapping_add(0x0fff + ((size >> 13) & 1)) >> 13;
    let small = if size < LEAST_NORMAL { denormal } else { normal };
    sign | lower(if size >= TOO_LARGE { special } else { small })
}

/// Single of an IEEE half.
#[inline(always)]
pub(super) fn from_half(code: u16) -> f32 {
    let sign = u32::from(code & 0x8000) << 16;
    let size = u32::from(code & 0x7fff) << 13;
    let exponent = size & (0x7c00 << 13);
    let normal = size + (112 << 23);
    let quiet = if size > exponent { 0x0040_0000 } else { 0 };
    let special = (size + (224 << 23)) | quiet;
    // 2^-14 (1 + m) less 2^-14 is exact.
    let denormal = (f32::from_bits(size + (113 << 23)) - f32::from_bits(113 << 23)).to_bits();
    let finite = if exponent == 0 { denormal } else { normal };
    f32::from_bits(sign | if exponent == 0x7c00 << 13 { special } else { finite })
}

/// Sixteen halves at a time by whatever the processor has.
pub(super) trait Halves {
    /// # Safety
    /// The processor has what the implementation names.
    unsafe fn encode(values: &[f32; 16], codes: &mut [u16; 16]);
    /// # Safety
    /// The processor has what the implementation names.
    unsafe fn decode(codes: &[u16; 16], values: &mut [f32; 16]);
}

/// By the plain conversions.
pub(super) struct Plain;

impl Halves for Plain {
    #[inline(always)]
    unsafe fn encode(values: &[f32; 16], codes: &mut [u16; 16]) {
        for l in 0..16 {
            codes[l] = to_half(values[l]);
        }
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16; 16], values: &mut [f32; 16]) {
        for l in 0..16 {
            values[l] = from_half(codes[l]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Halves;

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

    /// By F16C, eight at a time.
    pub(in super::super) struct F16c;

    impl Halves for F16c {
        #[inline(always)]
        unsafe fn encode(values: &[f32; 16], codes: &mut [u16; 16]) {
            for part in [0, 8] {
                // SAFETY: eight values and eight codes from `part` on; the caller has F16C.
                unsafe {
                    let from = _mm256_loadu_ps(values.as_ptr().add(part));
                    let to = codes.as_mut_ptr().add(part);
                    _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<NEAREST>(from));
                }
            }
        }

        #[inline(always)]
        unsafe fn decode(codes: &[u16; 16], values: &mut [f32; 16]) {
            for part in [0, 8] {
                // SAFETY: as above.
                unsafe {
                    let from = _mm_loadu_si128(codes.as_ptr().add(part).cast());
                    _mm256_storeu_ps(values.as_mut_ptr().add(part), _mm256_cvtph_ps(from));
                }
            }
        }
    }

    /// By AVX-512F, sixteen at a time.
    pub(in super::super) struct Avx512;

    impl Halves for Avx512 {
        #[inline(always)]
        unsafe fn encode(values: &[f32; 16], codes: &mut [u16; 16]) {
            // SAFETY: sixteen values and codes; the caller has AVX-512F.
            unsafe {
                let from = _mm512_loadu_ps(values.as_ptr());
                _mm256_storeu_si256(codes.as_mut_ptr().cast(), _mm512_cvtps_ph::<NEAREST>(from));
            }
        }

        #[inline(always)]
        unsafe fn decode(codes: &[u16; 16], values: &mut [f32; 16]) {
            // SAFETY: as above.
            unsafe {
                let from = _mm256_loadu_si256(codes.as_ptr().cast());
                _mm512_storeu_ps(values.as_mut_ptr(), _mm512_cvtph_ps(from));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx512, F16c};
