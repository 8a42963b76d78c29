//! Loops compiled for the vectors of the processor that runs them.
//!
//! Byte swaps and IBM floats take four to five times as long with the vectors that every x86-64 has
//! as with AVX2, which would make them, not the disk, the limit. Loops are plain Rust; only the
//! choice is made here. Other architectures have what is needed in their baseline.
#![allow(unsafe_code, reason = "calls of functions for a processor that was just asked")]

/// A loop that gains from wider vectors; `run` must be `#[inline(always)]` to be compiled anew for
/// each of them.
pub(super) trait Loop {
    /// Runs it.
    fn run(self);
}

/// Runs a loop with the widest vectors there are.
#[cfg(target_arch = "x86_64")]
pub(super) fn vectorised(work: impl Loop) {
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: the processor has the features, which imply avx512f; it was asked just now.
        unsafe { avx512(work) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature; it was asked just now.
        unsafe { avx2(work) }
    } else {
        work.run();
    }
}

/// Runs a loop with the vectors of the baseline.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn vectorised(work: impl Loop) {
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn avx512(work: impl Loop) {
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(work: impl Loop) {
    work.run();
}
