//! Build-time helper of the vendor crates: find the compiler, compile `csrc/<vendor>/*`, embed.
//!
//! A build script calls [`cuda::embed`]; what it leaves in `OUT_DIR` is `kernels.rs` (a table of
//! blobs with architectures, compiler and hash), one blob per source file, `resources.json`
//! (registers, spills and shared memory of every kernel, as the assembler reports them),
//! `tuning.rs` (the tables of `csrc/<vendor>/tuning`) and `bindings.rs` (the argument structs of
//! `csrc/include`). With `TEMBLOR_NO_KERNELS=1` nothing is
//! compiled and the table is empty, so that lints run on a machine without vendor tools.

pub mod bindings;
pub mod cuda;
pub mod resources;
pub mod toolchain;

/// What went wrong, in words that say what to do.
pub type Result<T> = std::result::Result<T, String>;

/// Whether `TEMBLOR_NO_KERNELS=1` asks for a build without kernels.
#[must_use]
pub fn without_kernels() -> bool {
    println!("cargo::rerun-if-env-changed=TEMBLOR_NO_KERNELS");
    std::env::var_os("TEMBLOR_NO_KERNELS").is_some_and(|value| value != "0" && !value.is_empty())
}

/// FNV-1a, 64 bits: names a set of sources in logs and tuning caches.
#[must_use]
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    bytes.iter().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
