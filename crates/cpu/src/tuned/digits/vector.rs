//! Vectors of 32-bit words, each four bytes of digits, as few operations as products need; and which
//! of them a processor has.

#![allow(unsafe_code, reason = "intrinsics")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract, the instruction set, covers all intrinsics of an operation"
)]

use super::super::kernels::Isa;

/// Instructions that multiply bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vectors {
    /// AVX-512 VNNI, 16 words.
    Avx512Vnni,
    /// AVX-VNNI, 8 words.
    AvxVnni,
    /// AVX2, 8 words: bytes widened to 16 bits. Products of unsigned and signed bytes would
    /// saturate when pairs are added.
    Avx2,
}

impl Vectors {
    /// The fastest for plans of an instruction set, if it has any.
    pub(super) fn of(isa: Isa) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let wide = isa == Isa::Avx512
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni");
            if wide {
                return Some(Self::Avx512Vnni);
            }
            if matches!(isa, Isa::Avx512 | Isa::Avx2) && is_x86_feature_detected!("avx2") {
                let vnni = is_x86_feature_detected!("avxvnni");
                return Some(if vnni { Self::AvxVnni } else { Self::Avx2 });
            }
        }
        let _ = isa;
        None
    }

    /// Name of the product.
    pub(super) const fn products(self) -> &'static str {
        match self {
            Self::Avx512Vnni => "AVX-512 VNNI",
            Self::AvxVnni => "AVX-VNNI",
            Self::Avx2 => "AVX2 (16-bit pairs)",
        }
    }
}

/// Four neighbouring taps' digits of the operator, as products take them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    /// Four signed bytes, the first tap in the lowest.
    pub(super) bytes: u32,
    /// Taps 0 and 2 as signed 16-bit numbers.
    pub(super) even: u32,
    /// Taps 1 and 3.
    pub(super) odd: u32,
}

impl Weight {
    pub(super) fn new(taps: [i8; 4]) -> Self {
        let pair = |low: i8, high: i8| {
            let wide = |n: i8| u32::from(i16::from(n).cast_unsigned());
            wide(low) | wide(high) << 16
        };
        Self {
            bytes: u32::from_le_bytes(taps.map(i8::cast_unsigned)),
            even: pair(taps[0], taps[2]),
            odd: pair(taps[1], taps[3]),
        }
    }
}

/// Vectors of words.
///
/// # Safety of all methods
/// The processor has the instruction set; pointers are valid for [`Vector::LANES`] values.
pub(super) trait Vector {
    /// Integers.
    type I: Copy;
    /// Single precision.
    type F: Copy;
    /// Words per vector; divides 16.
    const LANES: usize;
    /// Outputs whose sums fit the registers at once: 2 or 4.
    const OUTPUTS: usize;
    /// All lanes the same.
    unsafe fn splat(x: i32) -> Self::I;
    /// Reads from any address.
    unsafe fn load(from: *const u8) -> Self::I;
    /// `sum` plus the products of four unsigned bytes of `data` with four signed ones of `weight`.
    unsafe fn dot(sum: Self::I, data: Self::I, weight: &Weight) -> Self::I;
    /// `256 a + b`.
    unsafe fn join(a: Self::I, b: Self::I) -> Self::I;
    /// To single precision, rounded to nearest.
    unsafe fn float(a: Self::I) -> Self::F;
    /// All lanes the same.
    unsafe fn splat_float(x: f32) -> Self::F;
    /// Reads from any address.
    unsafe fn load_float(from: *const f32) -> Self::F;
    /// Writes to any address.
    unsafe fn store_float(to: *mut f32, v: Self::F);
    /// `a + b`.
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    /// `a b`.
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F;
    /// Lane l of part s becomes value 4 l + s of all.
    unsafe fn interleave(parts: [Self::F; 4]) -> [Self::F; 4];
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Vector, Weight};

    /// AVX-512 with VNNI.
    pub(in super::super) struct Avx512;

    impl Vector for Avx512 {
        type I = __m512i;
        type F = __m512;
        const LANES: usize = 16;
        const OUTPUTS: usize = 4;

        #[inline(always)]
        unsafe fn splat(x: i32) -> __m512i {
            // SAFETY: the trait's contract, here and below.
            unsafe { _mm512_set1_epi32(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const u8) -> __m512i {
            // SAFETY: as above.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }
        #[inline(always)]
        unsafe fn dot(sum: __m512i, data: __m512i, weight: &Weight) -> __m512i {
            // SAFETY: as above.
            unsafe {
                let weight = _mm512_set1_epi32(weight.bytes.cast_signed());
                _mm512_dpbusd_epi32(sum, data, weight)
            }
        }
        #[inline(always)]
        unsafe fn join(a: __m512i, b: __m512i) -> __m512i {
            // SAFETY: as above.
            unsafe { _mm512_add_epi32(_mm512_slli_epi32::<8>(a), b) }
        }
        #[inline(always)]
        unsafe fn float(a: __m512i) -> __m512 {
            // SAFETY: as above.
            unsafe { _mm512_cvtepi32_ps(a) }
        }
        #[inline(always)]
        unsafe fn splat_float(x: f32) -> __m512 {
            // SAFETY: as above.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load_float(from: *const f32) -> __m512 {
            // SAFETY: as above.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store_float(to: *mut f32, v: __m512) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(to, v) }
        }
        #[inline(always)]
        unsafe fn add(a: __m512, b: __m512) -> __m512 {
            // SAFETY: as above.
            unsafe { _mm512_add_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: __m512, b: __m512) -> __m512 {
            // SAFETY: as above.
            unsafe { _mm512_mul_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn interleave([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
            // SAFETY: as above.
            unsafe {
                let (low_ab, low_cd) = (
                    _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                    _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                );
                let (high_ab, high_cd) = (
                    _mm512_castps_pd(_mm512_unpackhi_ps(a, b)),
                    _mm512_castps_pd(_mm512_unpackhi_ps(c, d)),
                );
                // Quarter q of vector n: all parts of lane 4 q + n.
                let n0 = _mm512_castpd_ps(_mm512_unpacklo_pd(low_ab, low_cd));
                let n1 = _mm512_castpd_ps(_mm512_unpackhi_pd(low_ab, low_cd));
                let n2 = _mm512_castpd_ps(_mm512_unpacklo_pd(high_ab, high_cd));
                let n3 = _mm512_castpd_ps(_mm512_unpackhi_pd(high_ab, high_cd));
                let first_01 = _mm512_shuffle_f32x4::<0x44>(n0, n1);
                let first_23 = _mm512_shuffle_f32x4::<0x44>(n2, n3);
                let last_01 = _mm512_shuffle_f32x4::<0xee>(n0, n1);
                let last_23 = _mm512_shuffle_f32x4::<0xee>(n2, n3);
                [
                    _mm512_shuffle_f32x4::<0x88>(first_01, first_23),
                    _mm512_shuffle_f32x4::<0xdd>(first_01, first_23),
                    _mm512_shuffle_f32x4::<0x88>(last_01, last_23),
                    _mm512_shuffle_f32x4::<0xdd>(last_01, last_23),
                ]
            }
        }
    }

    /// The operations of eight words that do not depend on how bytes are multiplied.
    macro_rules! eight_words {
        ($name:ident, $about:literal, $dot:expr) => {
            #[doc = $about]
            pub(in super::super) struct $name;

            impl Vector for $name {
                type I = __m256i;
                type F = __m256;
                const LANES: usize = 8;
                const OUTPUTS: usize = 2;

                #[inline(always)]
                unsafe fn splat(x: i32) -> __m256i {
                    // SAFETY: the trait's contract, here and below.
                    unsafe { _mm256_set1_epi32(x) }
                }
                #[inline(always)]
                unsafe fn load(from: *const u8) -> __m256i {
                    // SAFETY: as above.
                    unsafe { _mm256_loadu_si256(from.cast()) }
                }
                #[inline(always)]
                unsafe fn dot(sum: __m256i, data: __m256i, weight: &Weight) -> __m256i {
                    // SAFETY: as above.
                    unsafe { $dot(sum, data, weight) }
                }
                #[inline(always)]
                unsafe fn join(a: __m256i, b: __m256i) -> __m256i {
                    // SAFETY: as above.
                    unsafe { _mm256_add_epi32(_mm256_slli_epi32::<8>(a), b) }
                }
                #[inline(always)]
                unsafe fn float(a: __m256i) -> __m256 {
                    // SAFETY: as above.
                    unsafe { _mm256_cvtepi32_ps(a) }
                }
                #[inline(always)]
                unsafe fn splat_float(x: f32) -> __m256 {
                    // SAFETY: as above.
                    unsafe { _mm256_set1_ps(x) }
                }
                #[inline(always)]
                unsafe fn load_float(from: *const f32) -> __m256 {
                    // SAFETY: as above.
                    unsafe { _mm256_loadu_ps(from) }
                }
                #[inline(always)]
                unsafe fn store_float(to: *mut f32, v: __m256) {
                    // SAFETY: as above.
                    unsafe { _mm256_storeu_ps(to, v) }
                }
                #[inline(always)]
                unsafe fn add(a: __m256, b: __m256) -> __m256 {
                    // SAFETY: as above.
                    unsafe { _mm256_add_ps(a, b) }
                }
                #[inline(always)]
                unsafe fn mul(a: __m256, b: __m256) -> __m256 {
                    // SAFETY: as above.
                    unsafe { _mm256_mul_ps(a, b) }
                }
                #[inline(always)]
                unsafe fn interleave([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
                    // SAFETY: as above.
                    unsafe {
                        let (low_ab, low_cd) = (
                            _mm256_castps_pd(_mm256_unpacklo_ps(a, b)),
                            _mm256_castps_pd(_mm256_unpacklo_ps(c, d)),
                        );
                        let (high_ab, high_cd) = (
                            _mm256_castps_pd(_mm256_unpackhi_ps(a, b)),
                            _mm256_castps_pd(_mm256_unpackhi_ps(c, d)),
                        );
                        // Half h of vector n: all parts of lane 4 h + n.
                        let n0 = _mm256_castpd_ps(_mm256_unpacklo_pd(low_ab, low_cd));
                        let n1 = _mm256_castpd_ps(_mm256_unpackhi_pd(low_ab, low_cd));
                        let n2 = _mm256_castpd_ps(_mm256_unpacklo_pd(high_ab, high_cd));
                        let n3 = _mm256_castpd_ps(_mm256_unpackhi_pd(high_ab, high_cd));
                        [
                            _mm256_permute2f128_ps::<0x20>(n0, n1),
                            _mm256_permute2f128_ps::<0x20>(n2, n3),
                            _mm256_permute2f128_ps::<0x31>(n0, n1),
                            _mm256_permute2f128_ps::<0x31>(n2, n3),
                        ]
                    }
                }
            }
        };
    }

    /// # Safety
    /// The processor has AVX-VNNI.
    #[inline(always)]
    unsafe fn dot_bytes(sum: __m256i, data: __m256i, weight: &Weight) -> __m256i {
        // SAFETY: the caller's contract.
        unsafe {
            let weight = _mm256_set1_epi32(weight.bytes.cast_signed());
            _mm256_dpbusd_avx_epi32(sum, data, weight)
        }
    }

    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn dot_pairs(sum: __m256i, data: __m256i, weight: &Weight) -> __m256i {
        // SAFETY: the caller's contract.
        unsafe {
            let low = _mm256_set1_epi32(0x00ff_00ff);
            let even = _mm256_and_si256(data, low);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<8>(data), low);
            let even = _mm256_madd_epi16(even, _mm256_set1_epi32(weight.even.cast_signed()));
            let odd = _mm256_madd_epi16(odd, _mm256_set1_epi32(weight.odd.cast_signed()));
            _mm256_add_epi32(sum, _mm256_add_epi32(even, odd))
        }
    }

    eight_words!(AvxVnni, "AVX2 with AVX-VNNI.", dot_bytes);
    eight_words!(Avx2, "AVX2, products of 16-bit pairs.", dot_pairs);
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512, AvxVnni};
