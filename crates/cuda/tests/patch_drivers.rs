//! Patch kernels where NVRTC is missing, refuses the text, or works: clean errors, and the calls that
//! are made. Stand-ins take the places of the driver and the compiler; they compute nothing.

mod standin;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use temblor_backend::{Backend, Beyond, Cell, PatchOptions};
use temblor_cuda::CudaBackend;
use temblor_patch::{Physics, Request, Scheme, lower};

const DRIVER: &str = include_str!("standin/driver.c");

/// Makes a kernel and a set and prints what comes of it; run by the other tests in a process of its own.
#[test]
#[ignore = "run by the other tests"]
fn probe() {
    let physics = Arc::new(Physics::shipped("euler").expect("it ships"));
    let scheme = Scheme::shipped("fd4").expect("it ships");
    let kernel = lower(&scheme, &physics, &Request::new(2, 4)).expect("a kernel");
    let backend = CudaBackend::new(0).expect("the stand-in");
    let options = PatchOptions::new(false)
        .with_schedule(std::env::var("PROBE_SCHEDULE").unwrap_or_else(|_| "flat-t64".into()));
    let mut made = match backend.patch_kernel(&kernel, &options) {
        Ok(made) => made,
        Err(error) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            println!("answer: {error}: {}", source.unwrap_or_default());
            return;
        }
    };
    println!("made by {}, {:?} registers", made.report().made_by, made.report().registers);
    let cell = Cell { centre: [0.0; 3], size: [1.0; 3], time: 0.0, time_step: 0.1 };
    let cells = vec![cell; 3];
    let len = kernel.shape.input_len();
    let mut set = made.patches(&cells, 2, 1).expect("a set");
    let wave: Vec<f64> = (0..len).map(|n| n as f64).collect();
    set.upload(1, 2, &wave).expect("an upload");
    let mut back = vec![0.0; len];
    set.download(1, 2, &mut back).expect("a download");
    println!("round trip: {}", back == wave);
    set.set_neighbours(&[[[Beyond::Patch(0), Beyond::Outflow]; 3]; 3]).expect("neighbours");
    for result in [set.exchange(0), set.evaluate(0, 0), set.combine(1, 0, &[(0.5, 0)]), set.post(1)]
    {
        result.expect("it is queued");
    }
    println!("times: {:?}", set.time(0, 0, 3).expect("times"));
    for wrong in [set.evaluate(2, 0), set.evaluate(0, 1), set.combine(0, 0, &[(1.0, 7)])] {
        println!("refused: {}", wrong.expect_err("there is no such place"));
    }
    let chunk = vec![1.0; len];
    let mut output = vec![f64::NAN; kernel.shape.output_len()];
    made.apply(&cells[..1], &[&chunk], &mut [&mut output], &mut []).expect("chunks");
    println!("apply wrote all: {}", output.iter().all(|v| v.to_bits() == 0));
    let short = made.apply(&cells[..1], &[&chunk[1..]], &mut [&mut output], &mut []);
    println!("refused: {}", short.expect_err("a short chunk"));
    let parameters = made.set_parameters(&[1.4]);
    println!("refused: {}", parameters.expect_err("too few"));
}

/// A compiler that answers `status` with a log, and gives 100 bytes as machine code.
fn compiler(folder: &Path, status: i32) {
    let source = format!(
        r#"
#include <stddef.h>
#include <string.h>
static const char log[] = "patch.cu(7): warning: w\npatch.cu(9): error: what is this\n";
int nvrtcVersion(int* a, int* b) {{ *a = 13; *b = 0; return 0; }}
int nvrtcCreateProgram(void** p, const char* s) {{ *p = (void*)s; return 0; }}
int nvrtcCompileProgram(void* p) {{ return {status}; }}
int nvrtcGetProgramLogSize(void* p, size_t* n) {{ *n = sizeof log; return 0; }}
int nvrtcGetProgramLog(void* p, char* to) {{ memcpy(to, log, sizeof log); return 0; }}
int nvrtcGetCUBINSize(void* p, size_t* n) {{ *n = 100; return 0; }}
int nvrtcGetCUBIN(void* p, char* to) {{ memset(to, 0, 100); memcpy(to, "\177ELF", 4); return 0; }}
int nvrtcDestroyProgram(void** p) {{ return 0; }}
"#
    );
    let file = folder.join("nvrtc.c");
    std::fs::write(&file, source).expect("the folder is writable");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(folder.join("libnvrtc.so.13"))
        .arg(&file)
        .status()
        .expect("a C compiler");
    assert!(built.success());
}

fn answer(folder: &Path, schedule: &str) -> String {
    let cache = folder.join("cache");
    let cache = cache.to_str().expect("a plain path");
    let settings = [("XDG_CACHE_HOME", cache), ("PROBE_SCHEDULE", schedule)];
    standin::run(folder, DRIVER, "probe", &settings)
}

#[test]
fn without_nvrtc_the_error_says_what_to_install() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = answer(folder.path(), "flat-t64");
    assert!(answer.contains("libnvrtc.so.13") && answer.contains("install"), "{answer}");
}

#[test]
fn what_the_compiler_refuses_is_told_by_its_first_error() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 6);
    let answer = answer(folder.path(), "flat-t64");
    assert!(answer.contains("patch.cu(9): error: what is this"), "{answer}");
    assert!(!answer.contains("warning: w"), "{answer}");
}

#[test]
fn an_unknown_schedule_is_refused_with_what_names_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = answer(folder.path(), "fastest");
    assert!(answer.contains("`fastest`") && answer.contains("flat"), "{answer}");
}

#[test]
fn a_set_and_chunks_make_the_calls_that_they_should() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let first = answer(folder.path(), "flat-t64");
    for line in [
        "made by nvrtc 13.0, Some(64) registers",
        "round trip: true",
        // The stand-in's clock counts launches: an evaluation is one.
        "times: [0.001, 0.001, 0.001]",
        "refused: there is no state 2",
        "refused: there is no rate 1",
        "refused: there is no rate 7",
        "apply wrote all: true",
        "refused: an input of",
        "refused: 1 parameters for",
    ] {
        assert!(first.contains(line), "{line} is missing:\n{first}");
    }
    // The second time the cache serves, without a compiler.
    std::fs::remove_file(folder.path().join("libnvrtc.so.13")).expect("it was there");
    let second = answer(folder.path(), "flat-t64");
    assert!(second.contains("made by nvrtc 13.0 (cached)"), "{second}");
}
