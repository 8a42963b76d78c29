//! Vectors of `f32`, as few operations as the kernels need.
//!
//! A kernel is one generic function over [`Simd`], inlined into one function per instruction set
//! that carries `#[target_feature]`; the intrinsics inline there. See docs/decisions/0003-simd.md.

/// A vector of `f32` of some instruction set.
///
/// # Safety of all methods
/// The processor has the instruction set; pointers are valid for [`Simd::LANES`] values.
pub(super) trait Simd {
    /// The vector.
    type V: Copy;
    /// Values per vector; divides 16.
    const LANES: usize;
    /// All lanes the same.
    unsafe fn splat(x: f32) -> Self::V;
    /// Reads from any address.
    unsafe fn load(from: *const f32) -> Self::V;
    /// Writes to any address.
    unsafe fn store(to: *mut f32, v: Self::V);
    /// Writes past the caches where the instruction set can, to an address that is a multiple of the
    /// vector's size; other threads see it after [`Simd::fence`].
    unsafe fn write_past(to: *mut f32, v: Self::V);
    /// Orders earlier [`Simd::write_past`] before what follows.
    unsafe fn fence();
    /// `a + b`.
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    /// `a b`.
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// `a b + c`, rounded once where the instruction set has it.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
}

/// Plain arrays that the compiler turns into whatever the target has; products are rounded before
/// they are added, since a fused operation in software is a hundred times slower.
pub(super) struct Portable;

impl Simd for Portable {
    type V = [f32; 8];
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; 8]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        // SAFETY: the caller gives a pointer valid for 8 values; alignment is not needed.
        unsafe { from.cast::<Self::V>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, v: Self::V) {
        // SAFETY: the caller gives a pointer valid for 8 values; alignment is not needed.
        unsafe { to.cast::<Self::V>().write_unaligned(v) }
    }

    #[inline(always)]
    unsafe fn write_past(to: *mut f32, v: Self::V) {
        // SAFETY: the caller keeps the trait's contract.
        unsafe { Self::store(to, v) }
    }

    #[inline(always)]
    unsafe fn fence() {}

    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] + b[l])
    }

    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] - b[l])
    }

    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] * b[l])
    }

    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] / b[l])
    }

    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] * b[l] + c[l])
    }
}

/// Implements [`Simd`] by one intrinsic per operation.
macro_rules! by_intrinsics {
    ($name:ident, $v:ty, $lanes:literal, $doc:literal,
     $splat:ident, $load:ident, $store:ident, $past:ident, $add:ident, $sub:ident, $mul:ident, $div:ident,
     |$a:ident, $b:ident, $c:ident| $fma:expr) => {
        #[doc = $doc]
        pub(in super::super) struct $name;

        impl Simd for $name {
            type V = $v;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(x: f32) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $splat(x) }
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(to: *mut f32, v: $v) {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $store(to, v) }
            }

            #[inline(always)]
            unsafe fn write_past(to: *mut f32, v: $v) {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $past(to, v) }
            }

            #[inline(always)]
            unsafe fn fence() {
                // Every store of x86 but these is ordered by itself; elsewhere they are plain.
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a fence that every processor of this architecture has.
                unsafe {
                    std::arch::x86_64::_mm_sfence();
                }
            }

            #[inline(always)]
            unsafe fn add(a: $v, b: $v) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $add(a, b) }
            }

            #[inline(always)]
            unsafe fn sub(a: $v, b: $v) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $sub(a, b) }
            }

            #[inline(always)]
            unsafe fn mul(a: $v, b: $v) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $mul(a, b) }
            }

            #[inline(always)]
            unsafe fn div(a: $v, b: $v) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $div(a, b) }
            }

            #[inline(always)]
            unsafe fn fma($a: $v, $b: $v, $c: $v) -> $v {
                // SAFETY: the caller keeps the trait's contract.
                unsafe { $fma }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Simd;
    use std::arch::x86_64::*;

    by_intrinsics!(
        Avx512,
        __m512,
        16,
        "AVX-512F: 16 lanes.",
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_stream_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        |a, b, c| _mm512_fmadd_ps(a, b, c)
    );

    by_intrinsics!(
        Avx2,
        __m256,
        8,
        "AVX2 with FMA: 8 lanes.",
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_stream_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_div_ps,
        |a, b, c| _mm256_fmadd_ps(a, b, c)
    );
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Simd;
    use std::arch::aarch64::*;

    by_intrinsics!(
        Neon,
        float32x4_t,
        4,
        "NEON: 4 lanes.",
        vdupq_n_f32,
        vld1q_f32,
        vst1q_f32,
        vst1q_f32,
        vaddq_f32,
        vsubq_f32,
        vmulq_f32,
        vdivq_f32,
        |a, b, c| vfmaq_f32(c, a, b)
    );
}

#[cfg(target_arch = "aarch64")]
pub(super) use arm::Neon;
