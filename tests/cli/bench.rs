//! `bench`: what comes out in files, what is skipped and why, what is refused, what Ctrl-C keeps.

use std::process::Command;

use temblor::bench::results::{BoundaryName, Outcome, Results, Start};

use crate::support::{Folder, wait_for};

/// Few and short samples: what is measured does not matter here.
const SHORT: [&str; 6] = ["--seconds", "0.01", "--repeats", "2", "--roof", "10"];

fn bench(folder: &Folder, args: &[&str]) -> crate::support::Done {
    let all: Vec<&str> = ["bench"].iter().chain(args).chain(&SHORT).copied().collect();
    folder.temblor(&all)
}

fn results(folder: &Folder, name: &str) -> Results {
    serde_json::from_slice(&folder.read(name)).unwrap()
}

#[test]
fn a_matrix_is_the_product_of_its_lists_and_every_row_has_its_accuracy() {
    let folder = Folder::with("");
    let lists = ["--backend", "cpu", "--variant", "all", "--size", "24,30x31x32", "--order", "2,8"];
    let args = [&lists[..], &["--json", "r.json", "--jsonl", "r.jsonl"]].concat();
    bench(&folder, &args).says(0, &[]);
    let results = results(&folder, "r.json");
    assert_eq!((results.rows.len(), results.runs.len()), (2 * 2 * 2, 1));
    assert!(results.runs[0].complete && results.runs[0].command.starts_with("temblor bench "));
    for row in &results.rows {
        let measured = row.outcome.measured().unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!(measured.seconds.len(), 2);
        assert_eq!((measured.checksum.len(), measured.accuracy.len()), (8, 3));
        assert!(measured.accuracy.iter().all(|a| a.l2 <= a.bound.unwrap()));
        // 10 GB/s as given, not measured.
        assert_eq!(measured.roof_bandwidth.map(f64::to_bits), Some(1e10_f64.to_bits()));
        assert!(measured.of_roof(&row.case).unwrap() > 0.0);
    }
    // All variants of `cpu` give the same bits.
    let checksums = |order: &str| -> Vec<String> {
        let rows = results.rows.iter().filter(|row| row.case.operator == order);
        rows.map(|row| row.outcome.measured().unwrap().checksum.clone()).collect()
    };
    assert!(checksums("direct-8").windows(2).all(|pair| pair[0] == pair[1]));
    assert_ne!(checksums("direct-8")[0], checksums("direct-2")[0]);
    let text = String::from_utf8(folder.read("r.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[9], kinds.len()), ("run", "run", 10));
    assert!(kinds[1..9].iter().all(|&kind| kind == "row"));
    assert_eq!(lines[9]["run"]["complete"], true);
    assert_eq!(lines[1]["row"], serde_json::to_value(&results.rows[0]).unwrap());
}

#[test]
fn variants_of_digits_and_of_reduced_storage_can_be_named() {
    let folder = Folder::with("");
    let arithmetics = ["--arithmetic", "f32,int8-2x3,int16+u16", "--size", "24"];
    let named = ["--backend", "cpu", "--variant", "ozaki-scalar,stored,blocked"];
    bench(&folder, &[&named[..], &arithmetics, &["--json", "r.json"]].concat()).says(0, &[]);
    let rows = results(&folder, "r.json").rows;
    let measured = rows.iter().filter(|row| row.outcome.measured().is_some());
    let names: Vec<_> =
        measured.map(|row| format!("{} {}", row.case.arithmetic, row.case.variant)).collect();
    assert_eq!(names, ["f32 blocked", "int8-2x3 ozaki-scalar", "int16+u16 stored"]);
}

#[test]
fn receivers_record_at_every_step_of_a_row() {
    let folder = Folder::with("");
    let args = ["--backend", "cpu", "--size", "24,30x1x40", "--receivers", "50", "--by-kernel"];
    // More steps than are recorded at once.
    let more = ["--variant", "blocked", "--steps", "600", "--json", "r.json"];
    bench(&folder, &[&args[..], &more].concat()).says(0, &[]);
    for row in results(&folder, "r.json").rows {
        let measured = row.outcome.measured().unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!((row.case.receivers, measured.steps), (50, 600));
        assert!(measured.kernels.iter().any(|kernel| kernel.name == "receivers"));
    }
}

#[test]
fn what_does_not_fit_is_skipped_with_both_numbers_and_the_rest_runs() {
    let folder = Folder::with("");
    // 20000^3 nodes are 96 TB; layers of 27 cells do not fit 50 nodes.
    let args = ["--backend", "cpu", "--size", "20000,50,20", "--json", "r.json"];
    let done = bench(&folder, &args).says(0, &[]);
    let results = results(&folder, "r.json");
    let Outcome::Skipped { why } = &results.rows[0].outcome else { panic!("{:?}", results.rows) };
    let numbers: Vec<u64> = why.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] > 12 * 20_000_u64.pow(3) && numbers[1] < numbers[0], "{why}");
    assert!(done.stdout.contains("skipped: the plan needs"), "{}", done.stdout);
    assert!(results.rows[1..].iter().all(|row| row.outcome.measured().is_some()));
    let args = ["--backend", "cpu", "--size", "50", "--boundary", "minimod", "--json", "l.json"];
    bench(&folder, &args).says(0, &[]);
    let results = self::results(&folder, "l.json");
    let Outcome::Skipped { why } = &results.rows[0].outcome else { panic!("{:?}", results.rows) };
    assert!(why.contains("54 cells") && why.contains("50 nodes"), "{why}");
}

#[test]
fn a_dry_run_shows_every_row_and_runs_none() {
    let folder = Folder::with("");
    let args = ["--preset", "libxstream", "--backend", "cpu", "--dry-run", "--json", "r.json"];
    let done = bench(&folder, &args).says(0, &[]);
    // 17 sizes with and without layer, four compact operators, eight other arithmetics, and TTI.
    assert!(done.stdout.contains("47 rows; nothing was run"), "{}", done.stdout);
    assert!(done.stdout.contains("INT8 direct: cpu/ozaki-"), "{}", done.stdout);
    assert!(done.stdout.contains("FP32 TTI: cpu/- 800^3"), "{}", done.stdout);
    assert!(done.stdout.contains("skipped: temblor has no TTI equation yet"), "{}", done.stdout);
    assert_eq!(folder.names(), ["run.toml"]);
}

#[test]
fn a_row_of_fixed_steps_says_how_many_it_ran() {
    let folder = Folder::with("");
    let lists = ["--preset", "minimod", "--backend", "cpu", "--size", "60", "--cells", "10"];
    let more = ["--steps", "1000", "--cpu-steps", "4", "--start", "zero,0.5", "--json", "r.json"];
    let done = bench(&folder, &[&lists[..], &more].concat()).says(0, &[]);
    assert!(done.stdout.contains("ran 4 of 1000 steps"), "{}", done.stdout);
    let results = results(&folder, "r.json");
    let case = &results.rows[0].case;
    assert_eq!((case.steps, case.preset.as_deref()), (Some(1000), Some("minimod")));
    assert_eq!((case.boundary, case.cells, case.sources), (BoundaryName::Minimod, 10, 1));
    assert_eq!(case.start, Start::Zero);
    assert_eq!(results.rows[1].case.start, Start::Fraction { part: 0.5 });
    assert_eq!(results.rows[0].outcome.measured().unwrap().steps, 4);
}

#[test]
fn what_is_asked_for_beside_a_rate_is_in_the_file() {
    let folder = Folder::with("");
    // Size and boundary come after the command: $2 is the size.
    let (peer, broken) = ("f() { echo other 1.0 $2 3 0.5; }; f", "f() { echo no >&2; exit 4; }; f");
    let lists = ["--backend", "cpu", "--size", "40", "--start", "zero", "--steps", "30"];
    let more = ["--histogram", "20", "--counters", "--by-kernel", "--peer", peer, "--peer", broken];
    let done = bench(&folder, &[&lists[..], &more, &["--json", "r.json"]].concat());
    let done = done.says(0, &["at 40^3 zero: exit status: 4: no"]);
    let results = results(&folder, "r.json");
    let measured = results.rows[0].outcome.measured().unwrap();
    let steps: Vec<_> = measured.histogram.iter().map(|kinds| kinds.step).collect();
    assert_eq!(steps, [0, 20, 30]);
    let [start, .., end] = &measured.histogram[..] else { panic!("{:?}", measured.histogram) };
    assert_eq!(start.zero.to_bits(), 1.0_f64.to_bits());
    assert!(end.normal > 0.5 && end.nan.to_bits() == 0, "{end:?}");
    let sum = end.normal + end.denormal + end.zero + end.nan;
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    // Counted, or the reason why not.
    let counters = &measured.counters[0];
    assert!(counters.tool.starts_with("n/a: ") || counters.dram_read.is_some(), "{counters:?}");
    let [peer] = &results.runs[0].peers[..] else { panic!("{:?}", results.runs[0].peers) };
    assert_eq!((peer.name.as_str(), peer.device.as_str()), ("other 1.0", "3 threads"));
    assert_eq!((peer.shape, peer.gpts.len()), ([40; 3], 2));
    assert!(done.stdout.contains(" x by cpu/"), "{}", done.stdout);
}

#[test]
fn a_row_that_runs_out_of_time_says_what_it_had() {
    let folder = Folder::with("");
    let args = ["--backend", "cpu", "--size", "64", "--steps", "100000", "--timeout", "0.05"];
    let done = bench(&folder, &args).says(0, &[]);
    let pieces =
        ["skipped: ran out of its 0.05 s with 0 of 2 samples of 100000 steps", "--timeout"];
    assert!(pieces.iter().all(|piece| done.stdout.contains(piece)), "{}", done.stdout);
}

#[test]
fn ctrl_c_keeps_finished_rows() {
    let folder = Folder::with("");
    // The first row is done in a second, the second would take minutes.
    let lists = ["bench", "--backend", "cpu", "--size", "20,200", "--steps", "20000"];
    let args = [&lists[..], &["--json", "r.json", "--repeats", "1"]].concat();
    let mut child = folder.start(&args);
    let rows = || {
        let bytes = std::fs::read(folder.path("r.json")).unwrap_or_default();
        serde_json::from_slice::<Results>(&bytes).map_or(0, |results| results.rows.len())
    };
    wait_for(&mut child, || rows() == 1);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let results = results(&folder, "r.json");
    assert_eq!((results.rows.len(), results.runs[0].complete), (1, false));
    assert!(results.rows[0].outcome.measured().is_some());
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let folder = Folder::with("");
    let refused = |args: &[&str], code: i32, pieces: &[&str]| {
        bench(&folder, args).says(code, pieces);
    };
    refused(&["--preset", "fast"], 2, &["fast", "quick, minimod, libxstream, dslhype"]);
    refused(&["--backend", "abacus"], 3, &["abacus", "cpu-ref"]);
    refused(&["--backend", "cpu", "--variant", "magic"], 3, &["magic", "blocked", "all"]);
    refused(&["--boundary", "open"], 2, &["open", "zero, free, minimod, cpml"]);
    refused(&["--size", "64,8y"], 2, &["8y", "first:last:step"]);
    refused(&["--steps", "0"], 2, &["0", "--steps"]);
    refused(&["--start", "1.5"], 2, &["1.5", "gauss"]);
    refused(&["--arithmetic", "f16"], 2, &["f16", "f32, f64"]);
    refused(&["--set", "rows=many"], 2, &["rows=many", "rows=16"]);
    refused(&["--json", "no/such/folder.json"], 7, &["no/such"]);
}
