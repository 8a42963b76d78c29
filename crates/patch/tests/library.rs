//! An exported kernel, compiled and linked with a plain C program, gives the interpreter's bits.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_patch::{Cell, Kernel, Physics, Plan, Request, Scheme, export, interpret, lower};

/// Enough for several threads to take part.
const PATCHES: usize = 30;

fn kernel(physics: &str, scheme: &str, cells: u16, plan: Plan) -> Kernel {
    let physics = Arc::new(Physics::shipped(physics).expect("it ships"));
    let scheme = Scheme::shipped(scheme).expect("it ships");
    lower(&scheme, &physics, &Request::new(3, cells).with_plan(plan)).expect("they go together")
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn run(command: &mut Command) {
    let output = command.output().expect("a C compiler named by CC, else cc, is needed");
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {says}");
}

/// Builds the program for a kernel in `folder` and gives its results: chunks and speeds. With `parts`
/// it is compiled for OpenMP, and so many parts of a team's scratch must be in use.
fn outside(kernel: &Kernel, folder: &Path, input: &[f64], parts: Option<usize>) -> Vec<f64> {
    let files = export::files(kernel).expect("it can be printed");
    export::write(&files, folder).expect("the folder is writable");
    let (program, shape) = (folder.join("main"), &kernel.shape);
    let main = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/patch_library/main.c");
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    run(Command::new(compiler)
        .args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"])
        .args(["-pedantic", "-Wshadow"])
        .args(parts.map(|parts| format!("-DPARTS={parts}")).as_slice())
        .args(parts.map(|_| "-fopenmp").as_slice())
        .arg(format!("-DKERNEL={}", kernel.name))
        .arg(format!("-DINPUT={}", shape.input_len()))
        .arg(format!("-DOUTPUT={}", shape.output_len()))
        .arg(format!("-DPARAMETERS={}", kernel.parameters.len()))
        .arg("-I")
        .arg(folder)
        .arg("-o")
        .arg(&program)
        .args([main.as_ref(), folder.join("kernel.c").as_os_str()])
        .arg("-lm"));
    let (from, to) = (folder.join("in"), folder.join("out"));
    fs::write(&from, bytes(input)).expect("the folder is writable");
    run(Command::new(&program).arg(&from).arg(&to).env("OMP_NUM_THREADS", "4"));
    let output = fs::read(&to).expect("the program writes it");
    output.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

fn holds(kernel: &Kernel, unfused: &Kernel) {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let rest = [1.0, 0.0, 0.0, 0.0, 2.5];
    let cells: Vec<Cell> = (0..PATCHES)
        .map(|patch| Cell {
            centre: [patch as f64, 1.0, 2.0],
            size: [0.5, 1.0, 2.0],
            time: 0.25 * patch as f64,
            time_step: 1e-3 * (1.0 + patch as f64),
        })
        .collect();
    let inputs: Vec<Vec<f64>> = (0..PATCHES)
        .map(|_| {
            (0..kernel.shape.input_len())
                .map(|place| rest[place % 5] + random.random_range(-0.1..0.1))
                .collect()
        })
        .collect();
    let parameters: Vec<f64> = kernel.parameters.iter().map(|known| known.default).collect();
    let mut input = vec![PATCHES as f64];
    for (cell, chunk) in cells.iter().zip(&inputs) {
        input.extend(cell.centre.iter().chain(&cell.size));
        input.extend([cell.time, cell.time_step]);
        input.extend(chunk);
    }
    input.extend(&parameters);
    let folder = tempfile::tempdir().expect("temporary files can be written");
    let got = outside(kernel, folder.path(), &input, None);
    let text = fs::read_to_string(folder.path().join("kernel.c")).expect("it was written");
    let (_, rest) =
        text.split_once("const int T = K < ").expect("calls with little to do stay alone");
    let least: usize = rest.split(' ').next().unwrap_or("").parse().expect("a number");
    assert!((2..=PATCHES).contains(&least), "a call of {least} patches");
    // Temporaries are all that a kernel writes to its scratch.
    let parts = if kernel.stages.len() == 1 { 0 } else { 3 };
    let spread = outside(kernel, folder.path(), &input, Some(parts));
    assert!(bytes(&spread) == bytes(&got), "other bits with OpenMP");

    let length = kernel.shape.output_len();
    let mut wanted = vec![vec![0.0; length]; PATCHES];
    let mut speeds = vec![0.0; PATCHES];
    let slices: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
    let mut places: Vec<&mut [f64]> = wanted.iter_mut().map(Vec::as_mut_slice).collect();
    interpret(unfused, &parameters, &cells, &slices, &mut places, &mut speeds)
        .expect("lengths fit");
    assert_eq!(got.len(), PATCHES * (length + 1));
    for (patch, got) in got.chunks(length + 1).enumerate() {
        for (place, (got, want)) in got.iter().zip(&wanted[patch]).enumerate() {
            // Zeros of either sign are equal.
            let same = (got + 0.0).to_bits() == (want + 0.0).to_bits();
            assert!(same, "patch {patch}, value {place}: {got:e} and not {want:e}");
        }
        if kernel.speeds {
            assert_eq!(got[length].to_bits(), speeds[patch].to_bits(), "speed of patch {patch}");
        }
    }
}

#[test]
fn a_c_program_gets_the_interpreters_bits_from_a_fused_kernel() {
    holds(
        &kernel("euler", "rusanov", 3, Plan::Fused),
        &kernel("euler", "rusanov", 3, Plan::Unfused),
    );
}

#[test]
fn a_c_program_gets_the_interpreters_bits_from_a_kernel_with_temporaries() {
    let staged = Plan::Staged(vec!["F".into()]);
    holds(&kernel("euler", "fd4", 3, staged), &kernel("euler", "fd4", 3, Plan::Unfused));
}

#[test]
fn the_texts_of_a_library_pass_a_strict_compiler_and_fit_a_page() {
    for (physics, scheme, plan) in [
        ("euler", "rusanov", Plan::Fused),
        ("shallow_water", "godunov", Plan::Fused),
        ("acoustics", "fd4", Plan::Unfused),
        ("advection", "dg", Plan::Fused),
        ("ccz4", "rusanov", Plan::Fused),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files = export::files(&kernel(physics, scheme, 4, plan)).unwrap();
        export::write(&files, folder.path()).unwrap();
        let compiler = std::env::var_os("CC").unwrap_or("cc".into());
        for more in [&[][..], &["-fopenmp"]] {
            run(Command::new(&compiler)
                .args([
                    "-std=c99",
                    "-pedantic",
                    "-Wall",
                    "-Wextra",
                    "-Wconversion",
                    "-Wsign-conversion",
                ])
                .args(["-Wshadow", "-Wstrict-prototypes", "-Werror", "-fsyntax-only"])
                .args(more)
                .arg(folder.path().join("kernel.c")));
        }
        let long = files[0].text.lines().find(|line| line.len() > 100);
        assert_eq!(long, None, "{physics}, {scheme}");
    }
}

#[test]
fn a_library_of_one_stage_has_a_kernel_for_cuda_with_a_launcher() {
    let files = export::files(&kernel("euler", "rusanov", 6, Plan::Fused)).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name).collect();
    assert_eq!(names, ["kernel.h", "kernel.c", "kernel.cu", "README.md"]);
    let cuda = &files[2].text;
    assert!(cuda.contains("extern \"C\" int euler_rusanov_d3_p6_cuda("));
    assert!(cuda.contains("<<<"));
}
