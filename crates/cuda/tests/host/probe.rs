//! Runs parts of a test in a process of its own, where a stand-in is the driver and kernels run on the CPU.

use std::process::Command;
use std::sync::OnceLock;

use crate::host;

/// Runs a part of the test `probe_stand_in` behind the driver `program` (a file of this folder; one per
/// test binary); backwards: from the last thread and block to the first.
pub(crate) fn on_cpu(program: &str, part: &str, backwards: bool) {
    static DRIVER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = DRIVER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("libcuda.so.1");
        host::compile(program, &["-shared", "-fPIC"], &library);
        std::fs::copy(&library, folder.path().join("libcuda.so")).expect("a copy");
        folder
    });
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "probe_stand_in", "--ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder.path())
        .env("PART", part)
        .envs(backwards.then_some(("STANDIN_BACKWARDS", "1")))
        .output()
        .expect("this test starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{said}");
    print!("{text}");
    assert!(text.contains(&format!("{part} as it should be")), "{text}");
}
