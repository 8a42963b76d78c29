//! What `temblor patch run` writes, and that a stopped run goes on.

use std::path::Path;
use std::process::Command;

use rstest::rstest;

use crate::patch_input::{SOD, SOD_C};
use crate::support::{Folder, command, replaced, wait_for};

fn sod(text: &str) -> Folder {
    let folder = Folder::with(text);
    folder.write("sod.c", SOD_C.as_bytes());
    folder
}

/// Copies of the examples.
fn examples() -> Folder {
    let folder = Folder::with("");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/patch");
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path(&entry.file_name().to_string_lossy())).unwrap();
    }
    folder
}

/// f64 values of an npy file and its shape.
fn npy_f8(bytes: &[u8]) -> (String, Vec<f64>) {
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..10 + length]).into_owned();
    assert!(text.contains("'<f8'"), "{text}");
    let shape = text.split("'shape': (").nth(1).unwrap().split(')').next().unwrap().to_owned();
    let data = &bytes[10 + length..];
    (shape, data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect())
}

/// The value of an unknown's row in the table of errors, column from 1.
fn error_of(stdout: &str, unknown: &str, column: usize) -> f64 {
    let row = stdout.lines().find(|line| line.starts_with(unknown)).unwrap();
    row.split_whitespace().nth(column).unwrap().parse().unwrap()
}

#[test]
fn sods_tube_gives_fields_plots_and_its_errors() {
    let folder = examples();
    let done = folder.temblor(&["patch", "run", "sod.toml", "--out", "out"]).says(0, &[]);
    // L1 of the density at 400 voxels: 1.103e-2 by an independent program.
    let error = error_of(&done.stdout, "density", 1);
    assert!((error / 1.103e-2 - 1.0).abs() < 0.01, "{}", done.stdout);
    assert!(done.stdout.contains("no error at all: momentum_y, momentum_z"), "{}", done.stdout);
    let (shape, values) = npy_f8(&folder.read("out/sod.npy"));
    assert_eq!(shape, "5, 400, 10, 1");
    // Undisturbed gas at both ends.
    assert_eq!(values[0].to_bits(), 1.0_f64.to_bits());
    assert_eq!(values[399 * 10].to_bits(), 0.125_f64.to_bits());
    for name in ["sod-density.png", "sod-momentum_x.png", "sod-energy.png"] {
        assert!(folder.read(&format!("out/{name}")).starts_with(b"\x89PNG"));
    }
    let left: Vec<_> = std::fs::read_dir(folder.path("out")).unwrap().collect();
    assert_eq!(left.len(), 4, "no restart file is left: {left:?}");
}

#[test]
fn the_vortex_gives_pictures_at_intervals_and_fields_for_paraview() {
    let folder = examples();
    let done = folder.temblor(&["patch", "run", "vortex.toml"]).says(0, &[]);
    let error = error_of(&done.stdout, "density", 2);
    assert!((error / 8.575e-5 - 1.0).abs() < 0.05, "{}", done.stdout);
    for name in ["vortex-0000.png", "vortex-0001.png", "vortex-0002.png"] {
        assert!(folder.read(name).starts_with(b"\x89PNG"), "{name}");
    }
    let vti = folder.read("vortex-energy.vti");
    let text = String::from_utf8_lossy(&vti[..600]);
    // 64 x 64 points, the first in the middle of its voxel.
    assert!(text.contains("0 63 0 63 0 0") && text.contains("-4.921875 -4.921875"), "{text}");
}

#[test]
fn the_explosion_takes_its_start_from_a_file_of_ones_own() {
    let folder = examples();
    let done = folder.temblor(&["patch", "run", "explosion.toml"]).says(0, &[]);
    assert!(!done.stdout.contains("errors"), "{}", done.stdout);
    for name in ["explosion.png", "explosion-line.png", "explosion-density.vti"] {
        assert!(!folder.read(name).is_empty(), "{name}");
    }
}

/// CCZ4 takes seconds to compile; the interpreter would take minutes.
#[rstest]
#[case("gauge-wave.toml")]
#[case("puncture.toml")]
fn ccz4s_examples_run(#[case] file: &str) {
    let folder = examples();
    let done = folder.temblor(&["patch", "run", file]).says(0, &[]);
    if file == "gauge-wave.toml" {
        let error = error_of(&done.stdout, "g_xx", 2);
        // A tenth of a period at 32 voxels: below the 1.45e-5 of a whole period.
        assert!(error > 1e-8 && error < 1.45e-5, "{}", done.stdout);
        assert!(folder.read("gauge-wave-alpha.png").starts_with(b"\x89PNG"));
    } else {
        assert!(!done.stdout.contains("errors"), "{}", done.stdout);
        let (shape, values) = npy_f8(&folder.read("puncture.npy"));
        assert_eq!(shape, "4, 16, 16, 16");
        // The lapse, collapsed in the middle, near 1 outside, the same in all octants.
        let alpha = |i: usize, j: usize, k: usize| values[(i * 16 + j) * 16 + k];
        assert!(alpha(7, 7, 7) < 0.7 && alpha(0, 0, 0) > 0.8);
        assert!((alpha(7, 7, 7) - alpha(8, 7, 8)).abs() < 1e-12);
    }
}

#[rstest]
#[case("sod.toml")]
#[case("vortex.toml")]
#[case("explosion.toml")]
fn an_example_checks_without_a_warning(#[case] file: &str) {
    let done = examples().temblor(&["patch", "check", file]).says(0, &[]);
    assert!(!done.stdout.contains("warning"), "{}", done.stdout);
    for piece in ["physics      euler.c", "time step", "memory", "ready: `temblor patch run"] {
        assert!(done.stdout.contains(piece), "{}", done.stdout);
    }
}

#[test]
fn a_stopped_run_goes_on_to_the_bits_of_one_that_was_not() {
    let text = replaced(SOD, "patches = [5, 1]", "patches = [60, 12]");
    let text = replaced(&text, "end = 0.05", "end = 0.05\nrestart_every = 0.0");
    let whole = sod(&text);
    whole.temblor(&["patch", "run", "run.toml", "--backend", "cpu"]).says(0, &[]);

    let folder = sod(&text);
    let args = ["patch", "run", "run.toml", "--backend", "cpu"];
    let mut child = folder.start(&args);
    let restart = folder.path("run.restart");
    wait_for(&mut child, || restart.exists());
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!folder.path("density.npy").exists(), "it was stopped before its end");

    folder.temblor(&args).says(2, &["run.restart", "--resume goes on", "--force"]);
    let resume = ["patch", "run", "run.toml", "--backend", "cpu", "--resume"];
    folder.temblor(&resume).says(0, &["going on from step"]);
    assert_eq!(folder.read("density.npy"), whole.read("density.npy"));
    assert!(!restart.exists());
}

#[test]
fn a_restart_file_of_another_run_is_refused() {
    let folder = sod(SOD);
    folder.write("run.restart", b"not a restart file, but long enough to be looked at");
    let resume = ["patch", "run", "run.toml", "--resume"];
    folder
        .temblor(&resume)
        .says(2, &["run.restart", "cannot be used", "start without it", "--force"]);
}

#[test]
fn a_run_that_blows_up_names_the_place_and_keeps_the_state() {
    // Twice the largest stable step.
    let text = replaced(SOD, "courant = 0.4", "dt = 0.05\ncheck_every = 1");
    let text = replaced(&text, "end = 0.05", "end = 2.0");
    let folder = sod(&text);
    folder.temblor(&["patch", "run", "run.toml"]).says(
        5,
        &["is NaN after step", "patch", "voxel", "m: lower courant or dt", "run-failed.npy"],
    );
    let (shape, _) = npy_f8(&folder.read("run-failed.npy"));
    assert_eq!(shape, "5, 40, 8, 1");
}

#[test]
fn a_run_on_one_backend_is_a_run_on_another() {
    let bytes = ["cpu", "cpu-ref"].map(|backend| {
        let folder = sod(SOD);
        folder.temblor(&["patch", "run", "run.toml", "--backend", backend]).says(0, &[]);
        folder.read("density.npy")
    });
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_output_error() {
    let folder = sod(SOD);
    folder.write("file", b"");
    folder.temblor(&["patch", "run", "run.toml", "--out", "file/out"]).says(7, &["file/out"]);
}

#[test]
fn folders_of_outputs_are_made_before_the_run() {
    let folder = sod(&replaced(SOD, "density.npy", "fields/deep/density.npy"));
    folder.temblor(&["patch", "run", "run.toml", "--out", "out"]).says(0, &[]);
    assert!(!folder.read("out/fields/deep/density.npy").is_empty());
    let folder = sod(&replaced(SOD, "density.npy", "sod.c/density.npy"));
    folder.temblor(&["patch", "run", "run.toml"]).says(7, &["cannot make the folder", "sod.c"]);
}

#[test]
fn a_result_that_cannot_be_written_leaves_the_state_to_resume_from() {
    let folder = sod(SOD);
    // A folder stands where the file should.
    std::fs::create_dir(folder.path("density.npy")).unwrap();
    folder.temblor(&["patch", "run", "run.toml"]).says(2, &["run.restart", "--resume writes"]);
    std::fs::remove_dir(folder.path("density.npy")).unwrap();
    folder.temblor(&["patch", "run", "run.toml", "--resume"]).says(0, &["0 steps to t = 0.05 s"]);
    assert!(!folder.read("density.npy").is_empty() && !folder.path("run.restart").exists());
}

#[test]
fn a_kernel_for_another_engine_is_c_and_cuda_with_a_header() {
    let folder = sod(SOD);
    let done = folder.temblor(&["patch", "build", "run.toml", "--out", "kernel"]).says(0, &[]);
    assert!(done.stdout.contains("kernel.h"), "{}", done.stdout);
    let text = |name: &str| String::from_utf8(folder.read(&format!("kernel/{name}"))).unwrap();
    assert!(text("kernel.h").contains("euler_rusanov_d2_p8"));
    assert!(text("kernel.c").contains("#include \"kernel.h\""));
    assert!(text("kernel.cu").contains("__global__") && !text("README.md").is_empty());
    folder.temblor(&["patch", "build", "run.toml", "--out", "sod.c/k"]).says(7, &["sod.c/k"]);
}

/// Fits a terminal of 80 columns, and nothing was broken by it that stands alone in its line.
fn assert_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.len() < 80, "{line}");
        let words = line.split_whitespace().count();
        assert!(
            words != 1 || line.starts_with("temblor") || !line.starts_with(char::is_lowercase),
            "{text}"
        );
    }
}

#[test]
fn the_help_of_every_command_has_an_example() {
    for name in ["run", "check", "emit", "build"] {
        let output = command(Path::new("."), &["patch", name, "--help"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("temblor patch"), "{name}: {text}");
        assert_narrow(&text);
    }
    let list = command(Path::new("."), &["patch", "list"]).output().unwrap();
    assert_narrow(&String::from_utf8_lossy(&list.stdout));
}

#[test]
fn a_pde_of_ones_own_takes_less_than_40_lines_of_rust_and_c_in_all() {
    crate::own_pde::main().unwrap();
    assert!(include_str!("../../examples/own_pde.rs").lines().count() < 40);
}
