//! Compiles a program of this folder, kernels of `csrc/cuda` included, for the CPU and runs it. A
//! stand-in: it shows wrong results, never speed, and is no run on a card.

mod compile;

use std::process::Command;

pub(crate) use compile::compile;

/// Output of `program` (a file of this folder), which must succeed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    run_built_with(program, &[], arguments)
}

/// The same with further `flags` of the compiler.
pub(crate) fn run_built_with(program: &str, flags: &[&str], arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("program");
    compile(program, flags, &binary);
    let output = Command::new(&binary).args(arguments).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}{said}", output.status);
    text
}
