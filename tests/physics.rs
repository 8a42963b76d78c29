//! Every physics check on every variant of every backend; `temblor verify` runs the same.

use std::path::Path;

use clap::Parser as _;
use rstest::rstest;
use temblor::backend::Backend;
use temblor::command_line::{Cli, Command};
use temblor::conformance::{judge_variants, physics_checks};
use temblor::cpu::{CpuBackend, ReferenceBackend};

fn backend(id: &str) -> Box<dyn Backend> {
    match id {
        "cpu-ref" => Box::new(ReferenceBackend::new()),
        "cpu" => Box::new(CpuBackend::new()),
        #[cfg(feature = "cuda")]
        "cuda" => Box::new(temblor_cuda::CudaBackend::new(0).expect("a CUDA device")),
        _ => panic!("backend {id} is not known here"),
    }
}

#[rstest]
fn holds(
    #[values("cpu-ref", "cpu")] id: &str,
    #[values(
        "every_order_has_the_symbol_of_its_weights",
        "a_plane_wave_travels_at_the_velocity_of_its_operator",
        "a_trace_is_the_discrete_greens_function",
        "a_trace_is_the_discrete_greens_function_in_2d",
        "amplitudes_do_not_depend_on_the_spacing",
        "amplitudes_do_not_depend_on_the_spacing_in_2d",
        "a_free_surface_is_lloyds_mirror",
        "a_free_surface_is_lloyds_mirror_in_2d",
        "a_rigid_wall_is_an_even_mirror",
        "a_rigid_wall_is_an_even_mirror_in_2d",
        "an_interface_reflects_by_its_coefficient_in_2d",
        "source_and_receiver_may_change_places",
        "a_reversed_shot_is_the_adjoint",
        "shots_add_up",
        "energy_is_conserved",
        "time_runs_backwards",
        "points_off_the_grid_change_no_trace",
        "points_off_the_grid_change_no_trace_in_2d",
        "time_dispersion_is_taken_out_in_2d",
        "cpml_absorbs_in_2d",
        "minimods_layer_absorbs_in_2d",
        "cpml_stays_bounded",
        "cpml_stays_bounded_in_2d"
    )]
    claim: &str,
) {
    let check = physics_checks().into_iter().find(|check| check.name == claim);
    let check = check.expect("the claim is among the checks");
    match judge_variants(backend(id).as_ref(), &check) {
        Ok(report) => println!("{report}"),
        Err(failures) => panic!("{failures}"),
    }
}

/// The same claims on a card, all in one test. Without a device it fails.
#[cfg(feature = "cuda")]
#[test]
fn cuda_holds() {
    let backend = backend("cuda");
    let mut failures = Vec::new();
    for check in physics_checks() {
        match judge_variants(backend.as_ref(), &check) {
            Ok(report) => println!("{}\n{report}", check.name),
            Err(failure) => failures.push(failure),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Traces that `temblor run` writes for a run file of the overthrust example on a backend.
fn overthrust(run_file: &str, backend: &str) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().expect("a folder");
    let from = Path::new("examples/overthrust");
    for name in ["vp.npy", run_file] {
        std::fs::copy(from.join(name), folder.path().join(name)).expect("a copy of the example");
    }
    let file = folder.path().join(run_file);
    let line = ["temblor", "run", file.to_str().expect("a name"), "--backend", backend];
    let Command::Run(args) = Cli::try_parse_from(line).expect("a command").command else {
        panic!("{line:?} is no run");
    };
    temblor::commands::run::run(&args, true).expect("a run");
    let traces = file.with_extension("sgy");
    let traces = temblor::io::Traces::open(traces, &temblor::io::TraceOptions::default());
    let traces = traces.expect("traces");
    (0..traces.traces()).map(|n| traces.samples_of(n).expect("a trace")).collect()
}

/// The same traces on another backend, to 1e-5 of the peak.
fn overthrust_is_that_of_cpu(run_file: &str, backend: &str) {
    let (wanted, got) = (overthrust(run_file, "cpu"), overthrust(run_file, backend));
    assert_eq!((wanted.len(), wanted[0].len()), (got.len(), got[0].len()));
    let peak = wanted.iter().flatten().fold(0.0_f32, |m, v| m.max(v.abs()));
    assert!(peak > 0.0);
    let pairs = wanted.iter().flatten().zip(got.iter().flatten());
    let off = pairs.fold(0.0_f32, |m, (a, b)| if (a - b).abs() <= m { m } else { (a - b).abs() });
    println!("{run_file}, {backend}: {:.1e} of the peak", off / peak);
    assert!(off <= 1e-5 * peak, "{run_file}, {backend}: {:e} of the peak", off / peak);
}

#[test]
fn the_overthrust_has_the_same_traces_on_cpu_and_cpu_ref() {
    overthrust_is_that_of_cpu("shot.toml", "cpu-ref");
}

/// In 2-D and 3-D. Run in the workspace's folder or in that of a bundle.
#[cfg(feature = "cuda")]
#[test]
fn cuda_has_the_traces_of_cpu_over_the_overthrust() {
    overthrust_is_that_of_cpu("shot.toml", "cuda");
    overthrust_is_that_of_cpu("shot-3d.toml", "cuda");
}

/// The claims in the matrix above, from its own text, so that none can be forgotten there.
#[test]
fn every_physics_check_is_in_the_matrix() {
    let matrix = include_str!("physics.rs");
    for check in physics_checks() {
        assert!(matrix.contains(&format!("\"{}\"", check.name)), "{} is not run", check.name);
    }
}
