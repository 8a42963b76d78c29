//! Machines without a driver, without a device, with an old or a broken driver: clean errors. Tiny
//! stand-in libraries take the driver's place.

mod standin;

use std::fmt::Write;
use std::path::Path;

use temblor_cuda::DRIVER_SYMBOLS;

/// Prints what `devices` answers; run by the other tests in a process of its own.
#[test]
#[ignore = "run by the other tests"]
fn probe() {
    match temblor_cuda::devices() {
        Ok(devices) => {
            for device in devices {
                match device {
                    Ok(d) => println!("answer: {} {} {:?}", d.info.name, d.info.arch, d.peers),
                    Err(error) => println!("answer: {error}"),
                }
            }
        }
        Err(error) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            println!("answer: {error}: {}", source.unwrap_or_default());
        }
    }
}

/// Answer of `devices` with a stand-in for the driver built from C `source`, in `folder`.
fn answer(folder: &Path, source: &str) -> String {
    standin::run(folder, source, "probe", &[])
}

/// A driver that has all symbols but `without`, serves CUDA `version` and answers `status` to
/// `cuInit`.
fn driver(without: &str, version: i32, status: i32) -> String {
    let mut source = String::new();
    for symbol in DRIVER_SYMBOLS.iter().filter(|&&symbol| symbol != without) {
        let body = match *symbol {
            "cuInit" => format!("(unsigned f) {{ return {status}; }}"),
            "cuDriverGetVersion" => format!("(int* v) {{ *v = {version}; return 0; }}"),
            "cuGetErrorName" | "cuGetErrorString" => {
                "(int e, const char** s) { *s = e == 100 ? \"NO_DEVICE\" : \"OTHER\"; return 0; }"
                    .into()
            }
            _ => "() { return 999; }".to_owned(),
        };
        writeln!(source, "int {symbol}{body}").expect("a String grows");
    }
    source
}

#[test]
fn a_machine_without_a_device_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = answer(folder.path(), &driver("", 13000, 100));
    assert!(answer.contains("cuInit") && answer.contains("NO_DEVICE"), "{answer}");
}

#[test]
fn an_old_driver_is_named_with_the_version_it_needs() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = answer(folder.path(), &driver("", 12020, 0));
    assert!(answer.contains("12.2") && answer.contains("13.0"), "{answer}");
}

#[test]
fn a_missing_symbol_is_an_error_and_no_panic() {
    for symbol in ["cuInit", "cuGetErrorName", "cuTensorMapEncodeTiled"] {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = answer(folder.path(), &driver(symbol, 13000, 0));
        assert!(answer.contains(symbol) && answer.contains("update"), "{answer}");
    }
}

#[test]
fn a_library_that_is_no_driver_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = answer(folder.path(), "int nothing() { return 0; }");
    assert!(answer.contains("the driver lacks"), "{answer}");
}

#[test]
fn every_device_is_listed_with_its_peers() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = include_str!("standin/driver.c");
    let answer = standin::run(folder.path(), source, "probe", &[("STANDIN_DEVICES", "3")]);
    for line in ["stand-in 0 sm_90 [1]", "stand-in 1 sm_90 [0]", "stand-in 2 sm_90 []"] {
        assert!(answer.contains(line), "{answer}");
    }
}

#[test]
fn a_lost_device_does_not_hide_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = include_str!("standin/driver.c");
    let settings = [("STANDIN_DEVICES", "2"), ("STANDIN_LOST_DEVICE", "0")];
    let answer = standin::run(folder.path(), source, "probe", &settings);
    assert!(answer.contains("cuDevicePrimaryCtxRetain failed"), "{answer}");
    assert!(answer.contains("stand-in 1 sm_90 []"), "{answer}");
}
