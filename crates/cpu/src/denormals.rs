//! Denormals flushed to zero on the calling thread, for as long as a guard lives.
//!
//! x86-64: FTZ and DAZ of MXCSR; aarch64: FZ of FPCR; elsewhere nothing happens and denormals are
//! slow but right. The compiler assumes the default floating-point environment; what it may
//! do to code that runs under another one is fold constants, and kernels have no denormal
//! constants. Rounding and exceptions stay as they are. The registers are written by inline
//! assembly, since the intrinsics for it are deprecated; the guard restores what it found.

#![allow(unsafe_code, reason = "control registers are reached by assembly only")]

use std::marker::PhantomData;

/// Flushes denormals until it is dropped.
pub(crate) struct FlushDenormals {
    before: u64,
    /// The register belongs to a thread, so the guard must not leave it.
    _thread: PhantomData<*const ()>,
}

impl FlushDenormals {
    pub(crate) fn new() -> Self {
        let before = read();
        write(before | FLUSH);
        Self { before, _thread: PhantomData }
    }
}

impl Drop for FlushDenormals {
    fn drop(&mut self) {
        write(self.before);
    }
}

/// FTZ is bit 15 and DAZ bit 6 of MXCSR.
#[cfg(target_arch = "x86_64")]
const FLUSH: u64 = 1 << 15 | 1 << 6;

#[cfg(target_arch = "x86_64")]
fn read() -> u64 {
    let mut value = 0_u32;
    // SAFETY: stores MXCSR to four bytes that are ours.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags));
    }
    u64::from(value)
}

#[cfg(target_arch = "x86_64")]
fn write(value: u64) {
    #[expect(clippy::cast_possible_truncation, reason = "MXCSR has 32 bits")]
    let value = value as u32;
    // SAFETY: loads a value that `read` gave, with at most FTZ and DAZ added: no reserved bit is
    // set and no exception unmasked.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags));
    }
}

/// FZ is bit 24 of FPCR.
#[cfg(target_arch = "aarch64")]
const FLUSH: u64 = 1 << 24;

#[cfg(target_arch = "aarch64")]
fn read() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nostack, preserves_flags)) };
    value
}

#[cfg(target_arch = "aarch64")]
fn write(value: u64) {
    // SAFETY: writes a value that `read` gave, with at most FZ added.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH: u64 = 0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> u64 {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn write(_: u64) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn denormals_vanish_under_the_guard_and_return_after_it() {
        let half = || black_box(f32::MIN_POSITIVE) * black_box(0.5);
        assert!(half() > 0.0);
        {
            let _guard = FlushDenormals::new();
            assert_eq!(half().to_bits(), 0);
        }
        assert!(half() > 0.0);
    }
}
