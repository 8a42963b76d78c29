//! Every physics check on every variant of every backend; `temblor verify` runs the same.

use rstest::rstest;
use temblor::backend::Backend;
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

/// The claims in the matrix above, from its own text, so that none can be forgotten there.
#[test]
fn every_physics_check_is_in_the_matrix() {
    let matrix = include_str!("physics.rs");
    for check in physics_checks() {
        assert!(matrix.contains(&format!("\"{}\"", check.name)), "{} is not run", check.name);
    }
}
