//! Builds a stand-in for the driver and runs a test of this program against it, in a process of its
//! own.

use std::path::Path;
use std::process::Command;

/// Output of the ignored test `probe` with a driver built from C `source` in `folder`.
pub(crate) fn run(folder: &Path, source: &str, probe: &str, settings: &[(&str, &str)]) -> String {
    let file = folder.join("fake.c");
    std::fs::write(&file, source).expect("the folder is writable");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(&file)
        .status()
        .expect("a C compiler");
    assert!(built.success());
    std::fs::copy(folder.join("libcuda.so.1"), folder.join("libcuda.so")).expect("a copy");
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", probe, "--ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder)
        .envs(settings.iter().copied())
        .output()
        .expect("this test starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}
