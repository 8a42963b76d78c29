//! Every bad input is refused before anything is written, with its name, its value and a remedy.

use rstest::rstest;

use crate::support::{Folder, SMALL, npy_f4, replaced};

/// The run and the check refuse it alike, and nothing is left but the input.
#[track_caller]
fn refused(folder: &Folder, code: i32, pieces: &[&str]) {
    let before = folder.names();
    folder.temblor(&["check", "run.toml"]).says(code, pieces);
    folder.temblor(&["run", "run.toml"]).says(code, pieces);
    assert_eq!(folder.names(), before, "something was written");
}

#[rstest]
#[case::unknown_key("duration = 0.3", "duration = 0.3\nlength = 1", &["run.toml", "line 9", "length"])]
#[case::unknown_table("[grid]", "[mesh]\n[grid]", &["line 2", "mesh"])]
#[case::wrong_type("duration = 0.3", "duration = \"long\"", &["line 8", "long"])]
#[case::syntax("duration = 0.3", "duration = ", &["run.toml", "line 8"])]
#[case::no_duration("duration = 0.3", "", &["duration"])]
#[case::zero_nodes("[61, 1, 41]", "[0, 1, 41]", &["shape along x is 0"])]
#[case::too_many_nodes("[61, 1, 41]", "[4000000000, 4000000000, 41]", &["grid shape"])]
#[case::negative_spacing("[10.0, 10.0, 10.0]", "[10.0, 10.0, -10.0]", &["spacing along z is -10"])]
#[case::negative_speed("constant = 2000.0", "constant = -2000.0", &["(x, y, z)", "-2000", "positive"])]
#[case::nan_speed("constant = 2000.0", "constant = nan", &["NaN", "positive"])]
#[case::zero_speed("constant = 2000.0", "constant = 0.0", &["is 0 m/s"])]
#[case::two_models("constant = 2000.0", "constant = 2000.0, file = \"vp.npy\"", &["exactly one"])]
#[case::no_model("constant = 2000.0", "", &["exactly one"])]
#[case::key_of_a_file("constant = 2000.0", "constant = 2000.0, byte_order = \"big\"", &["byte_order"])]
#[case::kilometres("constant = 2000.0", "constant = 2.0", &["2 m/s", "km/s", "scale = 1000.0"])]
#[case::missing_model("constant = 2000.0", "file = \"none.npy\"", &["none.npy"])]
#[case::layers_upwards("constant = 2000.0", "layers = [{ vp = 1.0 }, { vp = 2.0, top = -5.0 }]", &["layer 2", "-5"])]
#[case::dt_above_the_limit("cfl_fraction = 0.9", "dt = 0.005", &["5.0", "limit", "2.77"])]
#[case::negative_dt("cfl_fraction = 0.9", "dt = -0.001", &["dt is -0.001"])]
#[case::fraction_above_one("cfl_fraction = 0.9", "cfl_fraction = 1.1", &["cfl_fraction is 1.1"])]
#[case::two_steps("cfl_fraction = 0.9", "cfl_fraction = 0.9\ndt = 0.001", &["dt and cfl_fraction"])]
#[case::negative_duration("duration = 0.3", "duration = -0.3", &["duration is -0.3"])]
#[case::odd_order("[boundary]", "[operator]\norder = 7\n[boundary]", &["order is 7", "even"])]
#[case::unknown_boundary("kind = \"cpml\", cells = 10", "kind = \"sponge\"", &["sponge", "cpml"])]
#[case::cells_of_a_wall("kind = \"cpml\", cells = 10", "kind = \"free\", cells = 10", &["free", "cells"])]
#[case::no_cells("cells = 10", "cells = 0", &["cells is 0"])]
#[case::bad_r0("cells = 10", "cells = 10, r0 = 2.0", &["r0 is 2"])]
#[case::mixed_layers("[boundary]", "[boundary]\nz_max = \"minimod\"", &["cpml and minimod"])]
#[case::unknown_wavelet("kind = \"ricker\"", "kind = \"klauder\"", &["line 13", "klauder", "ricker", "`file`"])]
#[case::unknown_key_of_a_wavelet("kind = \"ricker\", peak_hz = 15.0", "kind = \"samples\", samples = [1.0]", &["unknown field `samples`, expected"])]
#[case::type_in_words("cells = 10", "cells = -10", &["expected a whole number"])]
#[case::slip_of_the_pen("cfl_fraction", "cfl_fracton", &["did you mean `cfl_fraction`?"])]
#[case::negative_frequency("peak_hz = 15.0", "peak_hz = -15.0", &["peak_hz is -15"])]
#[case::aliased("peak_hz = 15.0", "peak_hz = 60.0", &["1.21 nodes", "below 2", "spacing of 3.015"])]
#[case::source_outside("[300.0, 0.0, 200.0]", "[300.0, 0.0, 401.0]", &["source 1 of shot 1 at (300, 0, 401)", "400"])]
#[case::receivers_outside("to = [500.0", "to = [700.0", &["1 point lies outside", "receiver 5 of shot 1 at (700, 0, 100)", "origin", "outside = \"drop\""])]
#[case::no_receivers("line = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }", "positions = []", &["[receivers] names no point"])]
#[case::no_sources("positions = [[300.0, 0.0, 200.0]]", "positions = []", &["[source] names no point"])]
#[case::no_points_on_a_line("count = 5", "count = 0", &["count is [0, 1, 1]"])]
#[case::zero_interval("interval = 0.004", "interval = 0.0", &["record interval is 0"])]
#[case::unknown_format("shot.npy", "shot.mat", &["shot.mat", ".sgy"])]
#[case::negative_checkpoint("traces = \"shot.npy\"", "traces = \"shot.npy\"\ncheckpoint = -1.0", &["checkpoint is -1"])]
#[case::snapshot_stride("traces = \"shot.npy\"", "traces = \"shot.npy\"\nsnapshots = { interval = 0.1, stride = 0 }", &["stride along x is 0"])]
#[case::snapshot_region("traces = \"shot.npy\"", "traces = \"shot.npy\"\nsnapshots = { interval = 0.1, region = { from = [0.0, 0.0, 900.0], to = [9.0, 0.0, 950.0] } }", &["region along z", "900 m to 950 m"])]
#[case::source_and_shots("[receivers]", "[shots]\nwavelet = { kind = \"ricker\", peak_hz = 15.0 }\npositions = [[300.0, 0.0, 200.0]]\n[receivers]", &["both [source] and [shots]"])]
fn bad_values_are_refused(#[case] from: &str, #[case] to: &str, #[case] pieces: &[&str]) {
    refused(&Folder::small(from, to), 2, pieces);
}

#[rstest]
#[case::segy("shot.sgy\"\nrevision = 1 # \"", "the sample interval needs revision 2")]
#[case::su("shot.su", "the sample interval is 0.0033333 s; SU stores whole microseconds")]
fn a_sample_interval_that_the_format_cannot_hold_is_refused_before_the_run(
    #[case] traces: &str,
    #[case] says: &str,
) {
    let text = replaced(SMALL, "interval = 0.004", "interval = 0.0033333");
    let folder = Folder::with(&replaced(&text, "shot.npy", traces));
    refused(&folder, 2, &["shot.s", says]);
}

#[test]
fn a_missing_run_file_is_named() {
    let folder = Folder::with(SMALL);
    folder.temblor(&["run", "other.toml"]).says(2, &["other.toml", "temblor init"]);
}

#[test]
fn a_model_of_another_shape_is_named_with_both_shapes() {
    let folder = Folder::small("constant = 2000.0", "file = \"vp.npy\"");
    folder.write("vp.npy", &npy_f4(&[41, 61], &[2000.0; 41 * 61]));
    refused(&folder, 2, &["vp.npy", "[41, 61]", "[61, 1, 41]", "another order"]);
}

#[test]
fn a_raw_model_of_another_size_is_named_with_both_sizes() {
    let folder = Folder::small("constant = 2000.0", "file = \"vp.bin\"");
    folder.write("vp.bin", &[0; 4 * 61 * 40]);
    refused(&folder, 2, &["vp.bin", "10004 bytes", "9760"]);
}

#[test]
fn a_section_for_a_3d_grid_is_told_of_extrusion() {
    let folder = Folder::small("[61, 1, 41]", "[61, 5, 41]");
    let text = replaced(SMALL, "constant = 2000.0", "file = \"vp.npy\"");
    folder.write("run.toml", replaced(&text, "[61, 1, 41]", "[61, 5, 41]").as_bytes());
    folder.write("vp.npy", &npy_f4(&[61, 41], &[2000.0; 41 * 61]));
    refused(&folder, 2, &["vp.npy", "extrude_y = true"]);
}

#[rstest]
#[case::nan(f32::NAN, "NaN")]
#[case::infinite(f32::INFINITY, "inf")]
#[case::zero(0.0, "is 0 m/s")]
#[case::negative(-1500.0, "-1500")]
fn a_bad_wave_speed_is_named_with_file_and_node(#[case] value: f32, #[case] shown: &str) {
    let folder = Folder::small("constant = 2000.0", "file = \"vp.npy\"");
    let mut vp = vec![2000.0; 61 * 41];
    vp[17 * 41 + 30] = value;
    vp[50 * 41 + 3] = value;
    folder.write("vp.npy", &npy_f4(&[61, 41], &vp));
    refused(&folder, 2, &["vp.npy", "[17, 0, 30]", shown]);
}

#[test]
fn a_bad_line_of_a_point_list_is_named() {
    let line = "line = { from = [100.0, 0.0, 100.0], to = [500.0, 0.0, 100.0], count = 5 }";
    let folder = Folder::small(line, "csv = \"points.csv\"");
    folder.write("points.csv", b"x,y,z\n100,0,100\n200,zero,100\n");
    refused(&folder, 2, &["points.csv, line 3", "zero"]);
}

#[test]
fn too_few_points_per_wavelength_are_a_warning_with_a_spacing() {
    let folder = Folder::small("peak_hz = 15.0", "peak_hz = 25.0");
    let done = folder.temblor(&["check", "run.toml"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("warning: too few points per wavelength"), "{}", done.stdout);
    assert!(done.stdout.contains("a spacing of"), "{}", done.stdout);
}

#[test]
fn dispersion_of_time_steps_is_a_warning_until_it_is_corrected() {
    let folder = Folder::small("peak_hz = 15.0", "peak_hz = 25.0");
    let done = folder.temblor(&["check", "run.toml"]).says(0, &[]);
    // sqrt(3) w0^3 dt^2 r / (24 c) of r = 223.6 m, c = 2000 m/s and dt = 2.4958 ms.
    let said = "warning: time steps disperse waves: up to 19 % of a trace";
    assert!(done.stdout.contains(said), "{}", done.stdout);
    folder.temblor(&["run", "run.toml"]).says(0, &["time steps disperse waves"]);
    let text = replaced(SMALL, "peak_hz = 15.0", "peak_hz = 25.0");
    let corrected = "duration = 0.3\ndispersion_correction = true";
    let folder = Folder::with(&replaced(&text, "duration = 0.3", corrected));
    let done = folder.temblor(&["check", "run.toml"]).says(0, &[]);
    assert!(!done.stdout.contains("time steps disperse"), "{}", done.stdout);
}

#[test]
fn a_grid_too_large_for_the_memory_is_refused_before_allocation() {
    let folder = Folder::small("[61, 1, 41]", "[20000, 20000, 20000]");
    refused(&folder, 4, &["bytes of memory", "available"]);
}

#[test]
fn a_file_in_place_of_the_output_folder_is_told_before_the_run() {
    let folder = Folder::small("shot.npy", "results/shot.npy");
    folder.write("results", b"not a folder");
    refused(&folder, 7, &["results", "cannot be written"]);
    assert_eq!(folder.read("results"), b"not a folder");
}

#[test]
fn an_unknown_backend_is_refused_with_the_known_ones() {
    let folder = Folder::with(SMALL);
    folder.temblor(&["run", "run.toml", "--backend", "abacus"]).says(3, &["abacus", "cpu-ref"]);
    folder.temblor(&["run", "run.toml", "--variant", "magic"]).says(3, &["magic", "blocked"]);
    folder.temblor(&["verify", "--backend", "cpu", "--variant", "magic"]).says(3, &["magic"]);
}

#[rstest]
#[case::of_one("cpu:1", &["backend `cpu:1` cannot be used", "device 1", "there is one, device 0"])]
#[case::no_number("cpu:one", &["`cpu:one` names no device", "cpu:1"])]
#[case::of_auto("auto:1", &["auto chooses", "cuda:1"])]
#[case::no_backend("gpu:1", &["no backend `gpu`", "cpu-ref"])]
fn a_device_that_is_not_there_is_refused(#[case] name: &str, #[case] pieces: &[&str]) {
    let folder = Folder::with(SMALL);
    folder.temblor(&["run", "run.toml", "--backend", name]).says(3, pieces);
    folder.temblor(&["run", "run.toml", "--backend", "cpu:0"]).says(0, &[]);
}

#[test]
fn arithmetic_that_the_backend_lacks_is_unsupported() {
    let folder = Folder::small("[boundary]", "[operator]\narithmetic = \"f64\"\n[boundary]");
    folder.temblor(&["run", "run.toml", "--backend", "cpu"]).says(3, &["cpu", "arithmetic f64"]);
}

#[rstest]
#[case(&["run"])]
#[case(&["run", "run.toml", "--threads", "0"])]
#[case(&["run", "run.toml", "--resume", "--force"])]
#[case(&["fly"])]
fn a_bad_command_line_has_exit_code_2(#[case] args: &[&str]) {
    Folder::with(SMALL).temblor(args).says(2, &["--help"]);
}
