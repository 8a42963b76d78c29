//! Compiles programs of this folder, kernels of `csrc/cuda` included, for the CPU.

use std::path::Path;
use std::process::Command;

/// Compiles `program` (a file of this folder) into `binary`.
pub(crate) fn compile(program: &str, more: &[&str], binary: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../csrc");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let built = Command::new(&compiler)
        // Sums are rounded as the kernels spell them out; threads change by longjmp, which the
        // fortified one takes for an error.
        .args(["-std=c++17", "-O1", "-Wall", "-ffp-contract=off", "-U_FORTIFY_SOURCE"])
        .args(more)
        .args(["-Wno-unknown-pragmas", "-include"])
        .arg(here.join("cuda_on_cpu.h"))
        .arg("-I")
        .arg(sources.join("include"))
        .arg("-I")
        .arg(sources.join("cuda"))
        .arg(here.join(program))
        .arg("-o")
        .arg(binary)
        .output()
        .unwrap_or_else(|e| panic!("{compiler}, a C++ compiler, which these tests need: {e}"));
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{program} does not compile:\n{said}");
}
