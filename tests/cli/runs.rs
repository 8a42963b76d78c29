//! Good runs.

use rstest::rstest;

use crate::support::{Folder, SLOW_SURVEY, SMALL, npy_f4, read_npy_f4, replaced};

#[test]
fn a_small_run_writes_exactly_its_files_and_samples() {
    let folder =
        Folder::small("traces = \"shot.npy\"", "traces = \"shot.npy\"\nreport = \"shot.json\"");
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    assert_eq!(folder.names(), ["run.toml", "shot.json", "shot.npy"]);
    let (shape, samples) = read_npy_f4(&folder.read("shot.npy"));
    // floor(0.3 / 0.004) + 1 samples.
    assert_eq!(shape, "5, 76");
    assert!(samples.iter().all(|v| v.is_finite()));
    // The source is above the middle receiver: its trace is the loudest and the spread symmetric.
    let peak = |n: usize| samples[76 * n..76 * (n + 1)].iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    assert!(peak(2) > peak(1) && peak(1) > peak(0) && peak(0) > 0.0);
    assert!((peak(0) / peak(4) - 1.0).abs() < 1e-5);
}

#[test]
fn the_report_says_what_was_run_and_how_fast() {
    let folder =
        Folder::small("traces = \"shot.npy\"", "traces = \"shot.npy\"\nreport = \"shot.json\"");
    folder.temblor(&["run", "run.toml", "--backend", "cpu-ref"]).says(0, &[]);
    let report: serde_json::Value = serde_json::from_slice(&folder.read("shot.json")).unwrap();
    assert_eq!(report["device"]["backend"], "cpu-ref");
    assert_eq!(report["shots"]["traces"], 5);
    let (_, samples) = read_npy_f4(&folder.read("shot.npy"));
    let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(report["shots"]["samples_checksum"], format!("{:08x}", crc32fast::hash(&bytes)));
    // 2-D, order 8: c dt / h <= 0.55463 (to its five digits), times 0.9.
    let dt = report["time"]["dt_s"].as_f64().unwrap();
    assert!((dt - 0.9 * 0.55463 * 10.0 / 2000.0).abs() < 1e-7, "{dt}");
    let points = report["resolution"]["points_per_wavelength_at_peak"].as_f64().unwrap();
    assert!((points - 2000.0 / 15.0 / 10.0).abs() < 1e-12);
    for phase in ["time_loop", "with_recording", "with_output", "whole"] {
        assert!(report["performance"]["gpts_per_s"][phase].as_f64().unwrap() > 0.0, "{phase}");
    }
}

#[test]
fn auto_takes_the_first_backend_that_solves_the_problem() {
    let folder = Folder::small(
        "traces = \"shot.npy\"",
        "traces = \"shot.npy\"\nreport = \"shot.json\"\n[operator]\narithmetic = \"f64\"",
    );
    folder.temblor(&["run", "run.toml"]).says(0, &["backend auto: not cpu", "arithmetic f64"]);
    let report: serde_json::Value = serde_json::from_slice(&folder.read("shot.json")).unwrap();
    assert_eq!(report["device"]["backend"], "cpu-ref");
}

#[test]
fn corrected_traces_at_nine_tenths_of_the_limit_are_the_exact_ones() {
    let folder = Folder::with(
        r#"
        [grid]
        shape = [51, 51, 51]
        spacing = [10.0, 10.0, 10.0]
        [model]
        vp = { constant = 2000.0 }
        [time]
        duration = 0.3
        cfl_fraction = 0.9
        dispersion_correction = true
        [source]
        wavelet = { kind = "ricker", peak_hz = 15.0, t0 = 0.1 }
        positions = [[203.0, 251.0, 248.0]]
        [receivers]
        interval = 0.004
        positions = [[303.0, 251.0, 248.0], [331.7, 299.3, 207.9]]
        [output]
        traces = "shot.npy"
        "#,
    );
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    let (shape, samples) = read_npy_f4(&folder.read("shot.npy"));
    assert_eq!(shape, "2, 76");
    let source = [203.0_f64, 251.0, 248.0];
    for (n, receiver) in [[303.0, 251.0, 248.0], [331.7, 299.3, 207.9]].into_iter().enumerate() {
        let r: f64 = (0..3).map(|a| (source[a] - receiver[a]).powi(2)).sum::<f64>().sqrt();
        let (mut error, mut norm) = (0.0, 0.0);
        for k in 0..76 {
            // p = s(t - r/c) / (4 pi r), the point source of the wave equation in 3-D.
            let z =
                (std::f64::consts::PI * 15.0 * (f64::from(k) * 0.004 - r / 2000.0 - 0.1)).powi(2);
            let exact = (1.0 - 2.0 * z) * (-z).exp() / (4.0 * std::f64::consts::PI * r);
            let found = f64::from(samples[76 * n + usize::try_from(k).unwrap()]);
            error += (found - exact).powi(2);
            norm += exact * exact;
        }
        // Without the correction 2.22 w0^3 dt^2 r / (24 c) would be 1.6 % at 100 m.
        let relative = (error / norm).sqrt();
        assert!(relative < 5e-3, "{relative} at {r} m");
    }
}

#[test]
fn the_template_of_init_checks_and_runs_as_it_is() {
    let folder = Folder::with("");
    folder.temblor(&["init", "shot.toml"]).says(0, &[]);
    folder.temblor(&["init", "shot.toml"]).says(2, &["shot.toml exists", "--force"]);
    folder.temblor(&["check", "shot.toml"]).says(0, &[]);
    assert_eq!(folder.names(), ["run.toml", "shot.toml"], "check writes nothing");
    folder.temblor(&["run", "shot.toml"]).says(0, &[]);
    assert_eq!(folder.names(), ["run.toml", "shot.json", "shot.png", "shot.sgy", "shot.toml"]);
    // 3600 bytes of file headers; 151 traces of 240 bytes and 376 samples.
    assert_eq!(folder.read("shot.sgy").len(), 3600 + 151 * (240 + 4 * 376));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let folder = Folder::with(SMALL);
    let mut files = Vec::new();
    for threads in ["1", "2", "3"] {
        folder.temblor(&["run", "run.toml", "--threads", threads]).says(0, &[]);
        files.push(folder.read("shot.npy"));
    }
    assert!(files[1] == files[0] && files[2] == files[0]);
}

#[test]
fn a_section_extruded_in_y_runs_in_3d() {
    let text = replaced(SMALL, "constant = 2000.0", "file = \"vp.npy\", extrude_y = true");
    let text = replaced(&text, "[61, 1, 41]", "[61, 21, 41]");
    let text = replaced(&text, "[[300.0, 0.0, 200.0]]", "[[300.0, 100.0, 200.0]]");
    let line = "line = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }";
    let grid =
        "grid = { from = [300.0, 0.0, 100.0], to = [300.0, 200.0, 100.0], count = [1, 3, 1] }";
    let folder = Folder::with(&replaced(&text, line, grid));
    folder.write("vp.npy", &npy_f4(&[61, 41], &[2000.0; 61 * 41]));
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    let (shape, samples) = read_npy_f4(&folder.read("shot.npy"));
    assert_eq!(shape, "3, 76");
    let peak = |n: usize| samples[76 * n..76 * (n + 1)].iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    assert!(peak(1) > peak(0), "the receiver above the source is the loudest");
    assert!((peak(0) / peak(2) - 1.0).abs() < 1e-4, "the model is symmetric in y");
}

#[rstest]
#[case::big_endian("vp.bin", "byte_order = \"big\"")]
#[case::little_endian("vp.bin", "byte_order = \"little\"")]
#[case::kilometres("km.npy", "scale = 1000.0")]
fn a_model_file_gives_the_traces_of_the_constant_it_holds(#[case] name: &str, #[case] key: &str) {
    let constant = Folder::with(SMALL);
    constant.temblor(&["run", "run.toml"]).says(0, &[]);
    let file = format!("file = \"{name}\", {key}");
    let folder = Folder::small("constant = 2000.0", &file);
    let bytes: Vec<u8> = match key {
        "byte_order = \"big\"" => (0..61 * 41).flat_map(|_| 2000.0_f32.to_be_bytes()).collect(),
        "byte_order = \"little\"" => (0..61 * 41).flat_map(|_| 2000.0_f32.to_le_bytes()).collect(),
        _ => npy_f4(&[61, 41], &[2.0; 61 * 41]),
    };
    folder.write(name, &bytes);
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    assert!(folder.read("shot.npy") == constant.read("shot.npy"));
}

#[test]
fn sources_of_one_shot_add_up() {
    let both = "[[source]]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\n\
                positions = [[300.0, 0.0, 200.0]]\n[[source]]\n\
                wavelet = { kind = \"ricker\", peak_hz = 10.0 }\nscale = 2.0\n\
                positions = [[200.0, 0.0, 300.0]]\n";
    let table = "[source]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\n\
                 positions = [[300.0, 0.0, 200.0]]\n";
    // The layer's frequency follows from the lowest peak, so it is pinned for all three.
    let text = replaced(SMALL, "cells = 10", "cells = 10, peak_hz = 10.0");
    let traces = |source: &str| {
        let folder = Folder::with(&replaced(&text, table, source));
        folder.temblor(&["run", "run.toml"]).says(0, &[]);
        read_npy_f4(&folder.read("shot.npy")).1
    };
    let sum = traces(both);
    let second = "[source]\nwavelet = { kind = \"ricker\", peak_hz = 10.0 }\nscale = 2.0\n\
                  positions = [[200.0, 0.0, 300.0]]\n";
    let (first, second) = (traces(table), traces(second));
    let scale = sum.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let error = (0..sum.len()).map(|n| (sum[n] - first[n] - second[n]).abs()).fold(0.0, f32::max);
    // The bound of linearity in single precision.
    assert!(error / scale < 5e-6, "{}", error / scale);
}

#[test]
fn a_moving_spread_records_the_same_at_every_shot_of_a_uniform_model() {
    let source = "[source]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\n\
                  positions = [[300.0, 0.0, 200.0]]";
    let shots = "[shots]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\n\
                 positions = [[280.0, 0.0, 200.0], [330.0, 0.0, 200.0]]";
    let text = replaced(SMALL, source, shots);
    let line = "from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }";
    let moving =
        "from = [-50.0, 0.0, 100.0], to = [50.0, 0.0, 100.0], count = 3 }\nspread = \"moving\"";
    // Short enough that nothing comes back from the sides.
    let text = replaced(&text, "duration = 0.3", "duration = 0.16");
    let folder = Folder::with(&replaced(&text, line, moving));
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    let (shape, samples) = read_npy_f4(&folder.read("shot.npy"));
    assert_eq!(shape, "6, 41");
    let (first, second) = samples.split_at(3 * 41);
    let scale = first.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    for (a, b) in first.iter().zip(second) {
        assert!((a - b).abs() < 1e-4 * scale);
    }
}

#[test]
fn receivers_outside_are_dropped_where_that_is_asked_for() {
    let text = replaced(SMALL, "to = [500.0", "to = [900.0");
    let folder =
        Folder::with(&replaced(&text, "interval = 0.004", "interval = 0.004\noutside = \"drop\""));
    let done = folder.temblor(&["run", "run.toml"]).says(0, &["2 of 5 receivers"]);
    assert!(done.stderr.contains("left out"));
    assert_eq!(read_npy_f4(&folder.read("shot.npy")).0, "3, 76");
}

#[test]
fn files_per_shot_hold_the_traces_of_the_one_file() {
    let text = replaced(SLOW_SURVEY, "duration = 2.0", "duration = 0.3");
    let one = Folder::with(&replaced(&text, "all.sgy", "all.npy"));
    let many = Folder::with(&replaced(&text, "all.sgy", "s{id}.npy"));
    one.temblor(&["run", "run.toml"]).says(0, &[]);
    many.temblor(&["run", "run.toml"]).says(0, &[]);
    let all = read_npy_f4(&one.read("all.npy"));
    assert_eq!(all.0, "70, 76");
    let mut joined = Vec::new();
    for shot in 1..=5 {
        joined.extend(read_npy_f4(&many.read(&format!("s{shot:04}.npy"))).1);
    }
    assert_eq!(many.names().len(), 6);
    assert!(joined.iter().zip(&all.1).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn snapshots_are_the_field_at_their_times() {
    let snapshots = "traces = \"shot.npy\"\nsnapshots = { interval = 0.1, stride = [2, 1, 2], folder = \"s\", \
                     region = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 300.0] } }";
    let folder = Folder::small("traces = \"shot.npy\"", snapshots);
    folder.temblor(&["check", "run.toml"]).says(0, &[]);
    assert_eq!(folder.names(), ["run.toml"], "check makes no folder");
    folder.temblor(&["run", "run.toml"]).says(0, &[]);
    // dt = 0.9 * 0.55463 * 10 / 2000 = 2.4958e-3 s: 0.1 s is step 40.07, 0.2 s 80.13, 0.3 s 120.2.
    let mut names: Vec<_> = std::fs::read_dir(folder.path("s"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["shot0001_step000040.npy", "shot0001_step000080.npy", "shot0001_step000120.npy"];
    assert_eq!(names, expected);
    let (shape, values) = read_npy_f4(&folder.read("s/shot0001_step000080.npy"));
    assert_eq!(shape, "21, 1, 11");
    // The source is at node (10, 5) of the snapshot, whose x axis is symmetric about it.
    let scale = values.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    assert!(scale > 0.0);
    for i in 0..10 {
        for k in 0..11 {
            assert!((values[i * 11 + k] - values[(20 - i) * 11 + k]).abs() < 1e-5 * scale);
        }
    }
}

#[test]
fn help_fits_eighty_columns_and_names_the_exit_codes() {
    let folder = Folder::with(SMALL);
    let help = folder.temblor(&["--help"]).says(0, &[]).stdout;
    for piece in ["Examples:", "temblor run shot.toml", "Exit codes:", "130  stopped by Ctrl-C"] {
        assert!(help.contains(piece), "no `{piece}` in {help}");
    }
    let commands: [&[&str]; 6] = [
        &["--help"],
        &["-h"],
        &["run", "--help"],
        &["check", "--help"],
        &["init", "-h"],
        &["tune", "--help"],
    ];
    for args in commands {
        for line in folder.temblor(args).says(0, &[]).stdout.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
    }
    let version = folder.temblor(&["--version"]).says(0, &[]).stdout;
    for piece in ["commit:", "compiler: rustc", "target:", "features:"] {
        assert!(version.contains(piece), "{version}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.temblor(&["completions", shell]).says(0, &[]).stdout;
        assert!(script.contains("temblor"), "{shell}");
    }
    let devices = folder.temblor(&["devices", "--json"]).says(0, &[]).stdout;
    let devices: serde_json::Value = serde_json::from_str(&devices).unwrap();
    assert!(devices.as_array().unwrap().iter().any(|d| d["backend"] == "cpu-ref"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_gone_is_no_fault() {
    let folder = Folder::with(SMALL);
    // `true` reads nothing; `check` prints more than a line into the closed pipe.
    let command =
        format!("(sleep 0.2; exec {} check run.toml) | true", env!("CARGO_BIN_EXE_temblor"));
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &command]).current_dir(folder.path(".")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
}
