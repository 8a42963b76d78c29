//! Patch kernels where NVRTC is missing, refuses the text, or works: clean errors, and the calls that
//! are made. Stand-ins take the places of the driver and the compiler; they compute nothing.

mod standin;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use temblor_backend::{Backend, Beyond, Cell, PatchKernel, PatchOptions};
use temblor_cuda::CudaBackend;
use temblor_cuda::patch::Crossings;
use temblor_patch::{Physics, Request, Scheme, lower};

const DRIVER: &str = include_str!("standin/driver.c");

/// Makes a kernel and a set and prints what comes of it; run by the other tests in a process of its own.
#[test]
#[ignore = "run by the other tests"]
fn probe() {
    let physics = Arc::new(Physics::shipped("euler").expect("it ships"));
    let scheme = Scheme::shipped("fd4").expect("it ships");
    let cells = std::env::var("PROBE_CELLS").map_or(6, |p| p.parse().expect("a number"));
    let kernel = lower(&scheme, &physics, &Request::new(2, cells)).expect("a kernel");
    let backend = CudaBackend::new(0).expect("the stand-in");
    if std::env::var_os("PROBE_HANDED").is_some() {
        // Without other threads results are handed out as late as may be.
        backend.set_crossings(Crossings {
            handed: usize::MAX,
            least: 0,
            threads: 0,
            staging: 0,
            ..Crossings::default()
        });
    }
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
    println!("schedule {}, note {:?}", made.report().schedule, made.report().note);
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
    println!("apply wrote all: {}", output.iter().all(|v| !v.is_nan()));
    println!("chunks in the host's memory");
    host_memory(made.as_mut(), &cells, [len, output.len()]);
    own_memory(made.as_mut(), &cells, [len, output.len()]);
    many_pieces(made.as_mut(), cell, [len, output.len()]);
    let short = made.apply(&cells[..1], &[&chunk[1..]], &mut [&mut output], &mut []);
    println!("refused: {}", short.expect_err("a short chunk"));
    let parameters = made.set_parameters(&[1.4]);
    println!("refused: {}", parameters.expect_err("too few"));
}

/// Chunks in memory that the backend gave out, in orders of their own on both sides: anywhere, at equal
/// distances, near each other, adjacent, and partly elsewhere.
fn host_memory(made: &mut dyn PatchKernel, cells: &[Cell], [input, output]: [usize; 2]) {
    let mut from = made.host_memory(6 * input).expect("memory");
    let mut to = made.host_memory(6 * output).expect("memory");
    println!("zero at birth: {}", from.values().iter().all(|v| v.to_bits() == 0));
    let rows = |len: usize, gap: usize, order: [usize; 3]| order.map(|k| k * (len + gap));
    for (name, ins, outs) in [
        ("scattered", [5 * input, 0, 2 * input], [output + 1, 4 * output, 0]),
        ("rows", rows(input, input / 2, [2, 0, 1]), rows(output, output, [1, 0, 2])),
        ("near", [0, 2 * input + 4, input + 1], rows(output, 1, [2, 1, 0])),
        ("adjacent", rows(input, 0, [1, 2, 0]), rows(output, 0, [0, 2, 1])),
    ] {
        println!("{name}:");
        for (place, n) in ins.iter().zip(1u8..) {
            from.values_mut()[*place..place + input].fill(f64::from(n));
        }
        let inputs: Vec<&[f64]> = ins.iter().map(|&at| &from.values()[at..at + input]).collect();
        to.values_mut().fill(f64::NAN);
        let mut rest = to.values_mut();
        let (mut sorted, mut start) = ((0..3).collect::<Vec<usize>>(), 0);
        sorted.sort_by_key(|&k| outs[k]);
        let mut outputs: [&mut [f64]; 3] = Default::default();
        for k in sorted {
            let (chunk, later) = rest.split_at_mut(outs[k] - start + output);
            outputs[k] = &mut chunk[outs[k] - start..];
            (rest, start) = (later, outs[k] + output);
        }
        made.apply(cells, &inputs, &mut outputs, &mut []).expect("chunks");
        let firsts: Vec<f64> = outputs.iter().map(|chunk| chunk[0]).collect();
        let written = to.values().iter().filter(|v| !v.is_nan()).count();
        println!("{name} wrote {written} of {}, first values {firsts:?}", 3 * output);
    }
    println!("mixed:");
    let elsewhere = vec![1.0; input];
    let inputs: Vec<&[f64]> = vec![&elsewhere; 3];
    let outputs = to.values_mut().chunks_exact_mut(output).take(3);
    let mut outputs: Vec<&mut [f64]> = outputs.collect();
    made.apply(cells, &inputs, &mut outputs, &mut []).expect("chunks");
    drop((from, to));
    println!("end of mixed");
}

/// So many chunks anywhere that they come in more pieces than may wait to be handed out.
fn many_pieces(made: &mut dyn PatchKernel, cell: Cell, [input, output]: [usize; 2]) {
    let count = 15 * (512 << 10) / (8 * input);
    let mut from = made.host_memory(2 * count * input).expect("memory");
    let mut to = made.host_memory(2 * count * output).expect("memory");
    for (chunk, n) in from.values_mut().chunks_exact_mut(2 * input).zip(0u32..) {
        chunk.fill(f64::from(n));
    }
    // Gaps of all sizes.
    let lies = |k: usize, len: usize| k * 31 % len..k * 31 % len + len;
    let pairs = from.values().chunks_exact(2 * input).enumerate();
    let inputs: Vec<&[f64]> = pairs.map(|(k, pair)| &pair[lies(k, input)]).collect();
    to.values_mut().fill(f64::NAN);
    let pairs = to.values_mut().chunks_exact_mut(2 * output).enumerate();
    let mut outputs: Vec<&mut [f64]> = pairs.map(|(k, pair)| &mut pair[lies(k, output)]).collect();
    println!("many:");
    made.apply(&vec![cell; count], &inputs, &mut outputs, &mut []).expect("chunks");
    let right = outputs
        .iter()
        .zip(0u32..)
        .filter(|(chunk, n)| chunk[0].to_bits() == f64::from(*n).to_bits())
        .count();
    let written = to.values().iter().filter(|v| !v.is_nan()).count();
    println!("many: {} right, {} written too much", right == count, written - count * output);
    println!("end of many");
}

/// Chunks in memory of the caller's that is locked, and is so no more.
fn own_memory(made: &mut dyn PatchKernel, cells: &[Cell], [input, output]: [usize; 2]) {
    let (mut from, mut to) = (vec![1.0; 6 * input], vec![f64::NAN; 6 * output]);
    let run = |made: &mut dyn PatchKernel, from: &[f64], to: &mut [f64]| {
        let inputs: Vec<&[f64]> = from.chunks_exact(2 * input).map(|c| &c[..input]).collect();
        let outputs = to.chunks_exact_mut(2 * output).map(|c| &mut c[..output]);
        made.apply(cells, &inputs, &mut outputs.collect::<Vec<_>>(), &mut []).expect("chunks");
    };
    println!("mine, locked:");
    {
        let from = made.pin(&mut from).expect("it is locked");
        let mut to = made.pin(&mut to).expect("it is locked");
        run(made, from.values(), to.values_mut());
    }
    println!("mine, as it was:");
    run(made, &from, &mut to);
    println!("end of mine");
    println!(
        "refused: {}",
        made.pin(&mut [0.0]).err().expect("the stand-in says that it is locked")
    );
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
    answer_with(folder, schedule, &[])
}

fn answer_with(folder: &Path, schedule: &str, settings: &[(&str, &str)]) -> String {
    let cache = folder.join("cache");
    let cache = cache.to_str().expect("a plain path");
    let first = [("XDG_CACHE_HOME", cache), ("PROBE_SCHEDULE", schedule)];
    standin::run(folder, DRIVER, "probe", &[&first[..], settings].concat())
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
fn a_search_times_all_schedules_once_and_keeps_the_fastest() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let loaded = |answer: &str| answer.matches("module ").count();
    let line = |answer: &str| between(answer, "schedule ", "\n").to_owned();
    let named = loaded(&answer(folder.path(), "flat-t64"));
    let first = answer(folder.path(), "search");
    // Times of the stand-in are all the same: the first of the list.
    assert!(line(&first).contains("Gcell/s, fastest of"), "{first}");
    assert!(loaded(&first) > 2 * named, "{first}");
    let second = answer(folder.path(), "search");
    assert_eq!(line(&second), line(&first));
    assert_eq!(loaded(&second), named, "{second}");
    let kept = std::fs::read_dir(folder.path().join("cache/temblor/patch")).expect("the cache");
    let files = kept.filter_map(|entry| entry.expect("a file").file_name().into_string().ok());
    assert_eq!(files.filter(|name| name.ends_with(".schedule")).count(), 1);
}

#[test]
fn an_unknown_schedule_is_refused_with_what_names_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = answer(folder.path(), "fastest");
    assert!(answer.contains("`fastest`") && answer.contains("flat"), "{answer}");
}

/// Lines of the probe from one that starts so up to one that starts otherwise.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).expect("the probe prints it");
    &text[start..start + text[start..].find(to).expect("the probe prints it")]
}

#[test]
fn chunks_in_the_hosts_memory_cross_by_copies_where_they_lie_regularly() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let answer = answer(folder.path(), "flat-t64");
    assert!(answer.contains("zero at birth: true"), "{answer}");
    let pageable = between(&answer, "apply wrote", "chunks in the");
    assert!(!pageable.contains("gather"), "{answer}");
    let part = |from: &str, to: &str, has: &[&str], lacks: &[&str]| {
        let part = between(&answer, from, to);
        // 3 x 5 x 36 values come back, each chunk's from its own input.
        for line in has.iter().chain(&["wrote 540 of 540, first values [1.0, 2.0, 3.0]"]) {
            assert!(part.contains(line), "{line} is missing after {from}\n{answer}");
        }
        for line in lacks {
            assert!(!part.contains(line), "{line} after {from}\n{answer}");
        }
    };
    let (gather, scatter) = ("gather_chunks: 3 of ", "scatter_chunks: 3 of ");
    let (there, back) = ("copy of 3 rows there", "copy of 3 rows back");
    part("scattered:", "rows:", &[gather, scatter], &["copy of"]);
    part("rows:", "near:", &[there, back], &["_chunks"]);
    // With small gaps inputs come by a plain copy; results must not be written over what lies between.
    part("near:", "adjacent:", &[back], &["_chunks", "there"]);
    part("adjacent:", "mixed:", &["copy of 1 rows back"], &["_chunks", "there"]);
    // One side elsewhere: packed.
    assert!(!between(&answer, "mixed:", "end of mixed").contains("_chunks"), "{answer}");
}

#[test]
fn the_host_hands_out_results_that_lie_anywhere_where_that_is_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let answer = answer_with(folder.path(), "flat-t64", &[("PROBE_HANDED", "1")]);
    let scattered = between(&answer, "scattered:", "rows:");
    for line in [
        "gather_chunks: 3 of ",
        "copy of 1 rows back",
        "scattered wrote 540 of 540, first values [1.0, 2.0, 3.0]",
    ] {
        assert!(scattered.contains(line), "{line} is missing:\n{answer}");
    }
    assert!(!answer.contains("scatter_chunks: "), "{answer}");
    let many = between(&answer, "many:", "end of many");
    assert!(many.matches("copy of 1 rows back").count() > 6, "{answer}");
    assert!(many.contains("many: true right, 0 written too much"), "{answer}");
    // What lies regularly goes to its places by itself.
    assert!(between(&answer, "rows:", "near:").contains("copy of 3 rows back"), "{answer}");
}

#[test]
fn large_chunks_anywhere_have_copies_of_their_own_by_one_call() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let wrote = "wrote 54000 of 54000, first values [1.0, 2.0, 3.0]";
    let answer = answer_with(folder.path(), "flat-t64", &[("PROBE_CELLS", "60")]);
    let scattered = between(&answer, "scattered:", "rows:");
    assert!(scattered.contains(wrote) && !scattered.contains("_chunks"), "{answer}");
    assert_eq!(scattered.matches("3 copies by one call").count(), 2, "{answer}");
    // A driver that lacks the call: the kernels of the service.
    let older = [("PROBE_CELLS", "60"), ("STANDIN_FEW_CALLS", "1")];
    let answer = answer_with(folder.path(), "flat-t64", &older);
    let scattered = between(&answer, "scattered:", "rows:");
    assert!(scattered.contains(wrote), "{answer}");
    assert!(
        scattered.contains("gather_chunks: 3 of ") && scattered.contains("scatter_chunks: 3 of ")
    );
}

#[test]
fn memory_of_the_callers_is_reached_for_as_long_as_it_is_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let answer = answer(folder.path(), "flat-t64");
    let locked = between(&answer, "mine, locked:", "mine, as");
    for line in ["copy of 3 rows there", "copy of 3 rows back"] {
        assert!(locked.contains(line), "{line} is missing:\n{answer}");
    }
    assert_eq!([locked.matches("locked ").count(), locked.matches("unlocked").count()], [2, 2]);
    let packed = between(&answer, "mine, as it was:", "end of mine");
    assert!(!packed.contains("copy of") && !packed.contains("_chunks"), "{answer}");
    assert!(answer.contains("refused: memory of 8 bytes that shares pages"), "{answer}");
}

#[test]
fn memory_that_the_device_sees_elsewhere_is_packed() {
    let folder = tempfile::tempdir().expect("a folder");
    compiler(folder.path(), 0);
    let answer = answer_with(folder.path(), "flat-t64", &[("STANDIN_FAR", "1")]);
    assert!(answer.contains("scattered wrote 540 of 540"), "{answer}");
    assert!(!answer.contains("_chunks:") && !answer.contains("copy of"), "{answer}");
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
