//! `bench --compare`: verdicts, exit codes, remedies. Files are made here: nothing is measured.

use serde_json::{Value, json};

use crate::support::{Folder, SMALL};

/// A file of one row, ten samples around `level` s with a spread of `spread`.
fn results(level: f64, spread: f64, n: usize) -> Value {
    // Evenly over four spreads: quartiles lie one spread from the middle.
    let samples: Vec<f64> =
        (0..10).map(|i| level * (1.0 + spread * (f64::from(i) - 4.5) * 4.0 / 9.0)).collect();
    json!({
        "schema": 1,
        "runs": [{
            "command": "temblor bench", "date": "2026-11-30T00:00:00Z", "program": [],
            "host": { "processor": "p", "threads": 2, "memory": 1, "system": "s" },
            "devices": [], "complete": true,
        }],
        "rows": [{
            "run": 0,
            "case": {
                "backend": "cpu", "device": "p", "variant": "blocked", "shape": [n, n, n],
                "spacing": [10.0, 10.0, 10.0], "vmax": 2000.0, "operator": "direct-8",
                "arithmetic": "f32", "boundary": "zero", "cells": 0,
                "start": { "kind": "random" }, "sources": 1, "receivers": 0,
            },
            "outcome": {
                "kind": "measured", "steps": 10, "seconds": samples, "footprint": 1,
                "bytes_per_point": 16.0, "flops_per_point": 33.0, "least_bytes_per_step": 1.0,
                "roof_elements": 1, "roof_bandwidth": null, "checksum": "0000abcd",
                "twin": [33, 17, 65],
                "accuracy": [{ "steps": 10, "l2": 1e-7, "linf": 1e-7, "bound": 2e-7 }],
            },
        }],
    })
}

fn folder(old: &Value, new: &Value) -> Folder {
    let folder = Folder::with(SMALL);
    folder.write("old.json", old.to_string().as_bytes());
    folder.write("new.json", new.to_string().as_bytes());
    folder
}

const COMPARE: [&str; 4] = ["bench", "--compare", "old.json", "new.json"];
const GATE: [&str; 5] = ["bench", "--compare", "old.json", "new.json", "--gate"];

#[test]
fn the_gate_has_an_exit_code_for_each_verdict() {
    let same = folder(&results(1.0, 0.01, 64), &results(1.0, 0.01, 64));
    let text = same.temblor(&GATE).says(0, &[]).stdout;
    assert!(text.contains("no change") && text.contains("gate: no row"), "{text}");
    let slow = folder(&results(1.0, 0.01, 64), &results(1.05, 0.01, 64));
    slow.temblor(&GATE).says(8, &["1 of 1 rows are a regression"]);
    let text = slow.temblor(&COMPARE).says(0, &[]).stdout;
    assert!(text.contains("slower"), "{text}");
    let noisy = folder(&results(1.0, 0.1, 64), &results(1.05, 0.1, 64));
    let done = noisy.temblor(&GATE).says(9, &["cannot tell", "more samples"]);
    assert!(done.stdout.contains("cannot tell"), "{}", done.stdout);
    noisy.temblor(&[&GATE[..], &["--threshold", "50%"]].concat()).says(0, &[]);
}

#[test]
fn a_worse_error_is_a_regression_though_it_is_faster() {
    let mut new = results(0.5, 0.01, 64);
    new["rows"][0]["outcome"]["accuracy"][0]["l2"] = json!(3e-7);
    let folder = folder(&results(1.0, 0.01, 64), &new);
    let done = folder.temblor(&GATE).says(8, &["1 with results that got worse"]);
    assert!(done.stdout.contains("beyond its bound 2.00e-7"), "{}", done.stdout);
}

#[test]
fn files_that_cannot_be_compared_are_bad_input_with_a_remedy() {
    let good = results(1.0, 0.01, 64);
    let missing = folder(&good, &good);
    let args = ["bench", "--compare", "old.json", "gone.json"];
    missing.temblor(&args).says(2, &["gone.json", "`temblor bench` writes such files"]);
    let mut other = good.clone();
    other["schema"] = json!(9);
    let newer = folder(&good, &other);
    newer.temblor(&COMPARE).says(2, &["new.json", "version 9", "version 1", "a newer one"]);
    let apart = folder(&good, &results(1.0, 0.01, 96));
    apart.temblor(&COMPARE).says(2, &["no row in common", "64x64x64", "96x96x96"]);
    apart.temblor(&["bench", "--gate"]).says(2, &["--compare"]);
    let threshold = [&COMPARE[..], &["--threshold", "0"]].concat();
    apart.temblor(&threshold).says(2, &["per cent from 0.1"]);
}

#[test]
fn the_comparison_is_written_as_markdown() {
    let folder = folder(&results(1.0, 0.01, 64), &results(0.8, 0.01, 64));
    let args = [&COMPARE[..], &["--markdown", "page.md"]].concat();
    folder.temblor(&args).says(0, &[]);
    let page = String::from_utf8(folder.read("page.md")).unwrap();
    assert!(page.contains("| blocked 64^3 |") && page.contains("| faster |"), "{page}");
}

#[test]
fn help_of_bench_fits_eighty_columns() {
    let help = Folder::with(SMALL).temblor(&["bench", "--help"]).says(0, &[]).stdout;
    for piece in ["Comparing:", "--compare <OLD> <NEW>", "--gate", "--threshold"] {
        assert!(help.contains(piece), "no `{piece}` in {help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
}
