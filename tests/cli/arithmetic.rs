//! Storage and arithmetic from the command line: what is refused, and what a run says of it.

use super::support::{Folder, SMALL};

#[test]
fn storage_that_costs_traces_too_much_is_refused_with_what_costs_less() {
    let folder = Folder::with(SMALL);
    let refused = |arithmetic: &str, pieces: &[&str]| {
        let args = ["check", "run.toml", "--arithmetic", arithmetic];
        folder.temblor(&args).says(2, pieces);
    };
    refused("bf16", &["about 30 %", "--max-trace-error", "int16+u16 (0.5 %, 8 B)"]);
    refused("fp16-scaled+u16", &["about 3 %", "int16-increment+u16 (0.2 %, 10 B)"]);
    refused("int8-1x2", &["about 1", "--max-trace-error"]);
    let tight = ["check", "run.toml", "--arithmetic", "int16", "--max-trace-error", "0.1%"];
    folder.temblor(&tight).says(2, &["about 0.5 %", "f32+u16 (0.05 %, 14 B)"]);
    let nothing = ["check", "run.toml", "--arithmetic", "f32+u16", "--max-trace-error", "0.01%"];
    folder.temblor(&nothing).says(2, &["or take f32"]);
}

#[test]
fn a_run_file_bounds_what_storage_costs() {
    let with =
        |table: &str| Folder::small("[boundary]", &format!("[operator]\n{table}\n[boundary]"));
    let bounded = with("arithmetic = \"int16+u16\"\nmax_trace_error = 0.001");
    bounded.temblor(&["check", "run.toml"]).says(2, &["above the 0.1 % of max_trace_error"]);
    let nonsense = with("max_trace_error = -1.0");
    nonsense.temblor(&["check", "run.toml"]).says(2, &["max_trace_error is -1"]);
}

#[test]
fn digits_that_cannot_be_are_refused_with_the_nearest() {
    let folder = Folder::with(SMALL);
    for (arithmetic, piece) in [
        ("int8-4x1", "the nearest is 3"),
        ("int8-2x3:trim=4", "the most is 3"),
        ("int4-2x3", "int8-AxB"),
    ] {
        let args = ["check", "run.toml", "--arithmetic", arithmetic];
        folder.temblor(&args).says(2, &[piece]);
    }
    let table = "[operator]\narithmetic = \"int8-2x9\"\n[boundary]";
    let file = Folder::small("[boundary]", table);
    file.temblor(&["check", "run.toml"]).says(2, &["the nearest is 3"]);
}

#[test]
fn products_of_digits_are_dropped_by_a_stated_error() {
    let folder = Folder::with(SMALL);
    let check = |arithmetic: &str, bound: &str| {
        let args =
            ["check", "run.toml", "--arithmetic", arithmetic, "--max-laplacian-error", bound];
        folder.temblor(&args)
    };
    // 2x3 leaves 2.3e-7, without one diagonal 2.5e-7, two 5.7e-5, three 1.4e-2.
    for (bound, name) in [("0.000024%", "int8-2x3,"), ("0.0001%", "int8-2x3:trim=1")] {
        let run = check("int8-2x3", bound).says(0, &[]);
        assert!(run.stdout.contains(name), "{}", run.stdout);
    }
    let run = check("int8-2x3", "0.02%").says(0, &[]);
    assert!(run.stdout.contains("int8-2x3:trim=2"), "{}", run.stdout);
    check("int8-2x2", "0.0001%").says(2, &["up to 5.3e-5 with all products"]);
    check("int8-2x3:trim=1", "0.01%").says(2, &["leave out :trim=1"]);
    check("int16+u16", "0.01%").says(2, &["take int8-2x3"]);
    // What is left must not cost traces more than they may.
    check("int8-2x3", "5%").says(2, &["max_trace_error"]);
}

#[test]
fn a_layer_too_thin_for_its_strength_is_refused_with_what_would_do() {
    let thin = Folder::small("cells = 10", "cells = 3");
    thin.temblor(&["check", "run.toml"]).says(2, &["rises too fast", "at least", "or r0 = "]);
}
