//! Every check of reduced storage and of digits on every variant of every backend.

use rstest::rstest;
use temblor::backend::Backend;
use temblor::conformance::{arithmetic, judge_variants};
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
fn errs_no_more_than_it_may(
    #[values("cpu-ref", "cpu")] id: &str,
    #[values(
        "arithmetics_are_offered_as_the_table_says",
        "the_laplacian_of_white_data_is_within_its_bound",
        "the_laplacian_of_waves_is_within_its_bound",
        "the_laplacian_is_within_its_bound_on_odd_shapes",
        "the_laplacian_is_within_its_bound_in_2d",
        "the_laplacian_of_every_operator_is_within_its_bound",
        "each_axis_has_its_own_second_derivative",
        "a_blob_in_a_corner_shows_nowhere_else",
        "each_node_has_its_own_wave_speed",
        "a_plane_wave_travels_at_the_velocity_of_its_quantised_operator",
        "a_front_that_grows_into_silence_keeps_its_values",
        "exponents_follow_data_built_to_break_them",
        "a_peak_that_underflows_becomes_zero_and_never_nan",
        "what_is_not_finite_is_found_and_never_silent",
        "layers_leave_little_in_every_arithmetic",
        "traces_of_a_layered_model_err_as_storage_says",
        "energy_drifts_no_more_than_by_the_noise_of_steps",
        "cuts_saved_states_and_neighbours_change_no_bit"
    )]
    claim: &str,
) {
    let check = arithmetic::checks().into_iter().find(|check| check.name == claim);
    let check = check.expect("the claim is among the checks");
    match judge_variants(backend(id).as_ref(), &check) {
        Ok(report) => println!("{report}"),
        Err(failures) => panic!("{failures}"),
    }
}

/// The same claims on a card, all in one test. Without a device it fails.
#[cfg(feature = "cuda")]
#[test]
fn cuda_errs_no_more_than_it_may() {
    let backend = backend("cuda");
    let mut failures = Vec::new();
    for check in arithmetic::checks() {
        match judge_variants(backend.as_ref(), &check) {
            Ok(report) => println!("{}\n{report}", check.name),
            Err(failure) => failures.push(failure),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The claims in the matrix above, from its own text, so that none can be forgotten there.
#[test]
fn every_arithmetic_check_is_in_the_matrix() {
    let matrix = include_str!("arithmetic.rs");
    for check in arithmetic::checks() {
        assert!(matrix.contains(&format!("\"{}\"", check.name)), "{} is not run", check.name);
    }
}
