//! Every check of contract and agreement on every variant of every backend.
//!
//! A backend whose feature is on and that has no device fails here; it is never skipped.

use rstest::rstest;
use temblor::backend::Backend;
use temblor::conformance::{Family, Verdict, checks, judge, judge_variants, setup};
use temblor::cpu::{CpuBackend, Isa, ReferenceBackend};
use temblor::physics::{Arithmetic, Boundaries, Boundary, Face, Grid, WaveProblem};

fn backend(id: &str) -> Box<dyn Backend> {
    match id {
        "cpu-ref" => Box::new(ReferenceBackend::new()),
        "cpu" => Box::new(CpuBackend::new()),
        #[cfg(feature = "cuda")]
        "cuda" => Box::new(temblor_cuda::CudaBackend::new(0).expect("a CUDA device")),
        _ => panic!("backend {id} is not known here"),
    }
}

/// All variants that a backend has for any problem.
fn variants(backend: &dyn Backend) -> Vec<String> {
    let names = backend.capabilities().variants.clone();
    assert!(!names.is_empty(), "a backend without variants");
    names
}

#[rstest]
fn conforms(
    #[values("cpu-ref", "cpu")] id: &str,
    #[values(
        "a_host_array_of_the_wrong_shape_is_refused",
        "a_region_outside_the_grid_is_refused",
        "fields_that_cannot_be_transferred_are_refused",
        "too_many_receivers_are_refused_without_poison",
        "points_outside_the_grid_are_refused_without_poison",
        "amplitudes_of_another_shape_are_refused",
        "an_overflow_of_the_trace_buffer_is_refused_without_poison",
        "a_step_is_refused_while_any_wave_speed_is_unset",
        "regions_round_trip",
        "either_host_type_goes_to_either_arithmetic",
        "a_snapshot_is_the_field_when_it_was_queued",
        "zero_steps_change_nothing",
        "splitting_a_run_changes_no_bit",
        "a_step_timed_by_kernel_is_the_same_step",
        "parameters_change_no_bit",
        "a_run_is_repeatable",
        "two_plans_do_not_disturb_each_other",
        "samples_are_numbered_from_the_reset",
        "amplitudes_are_numbered_from_the_reset",
        "a_source_is_heard_one_step_after_its_amplitude",
        "samples_and_snapshots_have_the_plans_element_type",
        "health_finds_the_largest_and_the_first_bad_value",
        "a_saved_state_goes_on_bit_for_bit",
        "the_state_of_another_problem_is_refused_without_poison",
        "an_error_poisons_until_reset_and_samples_stay_readable",
        "a_reset_plan_is_a_fresh_plan",
        "support_is_told_alike_everywhere",
        "a_plan_beyond_memory_is_refused_with_its_footprint",
        "agrees_with_the_oracle_where_p_is_zero_beyond_all_faces",
        "agrees_with_the_oracle_between_free_surfaces",
        "agrees_with_the_oracle_between_rigid_walls",
        "agrees_with_the_oracle_between_walls_of_different_kinds",
        "agrees_with_the_oracle_in_cpml_on_all_faces",
        "agrees_with_the_oracle_in_cpml_under_a_free_surface",
        "agrees_with_the_oracle_in_cpml_opposite_walls",
        "agrees_with_the_oracle_in_minimods_layer_on_all_faces",
        "agrees_with_the_oracle_in_minimods_layer_opposite_walls",
        "agrees_with_the_oracle_in_2d",
        "every_tap_of_every_order_is_in_place",
        "every_tap_of_every_order_is_in_place_in_2d",
        "every_tap_of_the_layers_is_in_place",
        "walls_are_the_mirrored_wavefield",
        "denormals_are_flushed"
    )]
    claim: &str,
) {
    let check = checks().into_iter().find(|check| check.name == claim);
    let check = check.expect("the claim is among the checks");
    match judge_variants(backend(id).as_ref(), &check) {
        Ok(report) => println!("{report}"),
        Err(failures) => panic!("{failures}"),
    }
}

/// The same claims on a card, all in one test: a context and its kernels are loaded once. Without a
/// device it fails.
#[cfg(feature = "cuda")]
#[test]
fn cuda_conforms() {
    let backend = backend("cuda");
    let mut failures = Vec::new();
    for check in checks()
        .into_iter()
        .filter(|check| matches!(check.family, Family::Contract | Family::Agreement))
    {
        match judge_variants(backend.as_ref(), &check) {
            Ok(report) => println!("{}\n{report}", check.name),
            Err(failure) => failures.push(failure),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Bits must not depend on how many threads share the work.
#[rstest]
fn threads_change_no_bit(#[values("cpu-ref", "cpu")] id: &str) {
    let mut boundaries = Boundaries::uniform(setup::cpml(6));
    boundaries.set(Face::ZMin, Boundary::Free);
    // Many tiles along y, each of little work: threads overtake each other.
    let problem = setup::problem([40, 150, 24], 8, boundaries, Arithmetic::F32);
    let case = setup::Case::random(&problem.expect("a sound problem"), 10, 11);
    let backend = backend(id);
    for variant in variants(backend.as_ref()) {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let run = pool.expect("a pool").install(|| case.run(backend.as_ref(), &variant));
            run.expect("a run")
        };
        let one = run(1);
        for threads in [2, 3, 5, 2, 3, 5] {
            assert!(one.differing(&run(threads)) == 0.0, "{id}/{variant}, {threads} threads");
        }
    }
}

/// What the fastest instruction set shows in the matrix, the others must show too.
#[rstest]
fn every_instruction_set_conforms(
    #[values(
        "splitting_a_run_changes_no_bit",
        "agrees_with_the_oracle_between_walls_of_different_kinds",
        "agrees_with_the_oracle_in_cpml_under_a_free_surface",
        "agrees_with_the_oracle_in_minimods_layer_opposite_walls",
        "every_tap_of_every_order_is_in_place",
        "every_tap_of_the_layers_is_in_place",
        "denormals_are_flushed"
    )]
    claim: &str,
) {
    // The first is the one that CpuBackend::new takes.
    for isa in Isa::available().into_iter().skip(1) {
        let backend = CpuBackend::with_isa(isa).expect("an instruction set of this processor");
        let check = checks().into_iter().find(|check| check.name == claim);
        for variant in variants(&backend) {
            let verdict = judge(&backend, &variant, &check.expect("a check"));
            assert!(matches!(verdict, Verdict::Passed(_)), "{isa:?}/{variant}: {verdict:?}");
        }
    }
}

/// The claims in the matrix above, from its own text, so that none can be forgotten there.
#[test]
fn every_check_is_in_the_matrix() {
    let matrix = include_str!("conformance.rs");
    for check in
        checks().iter().filter(|check| matches!(check.family, Family::Contract | Family::Agreement))
    {
        assert!(matrix.contains(&format!("\"{}\"", check.name)), "{} is not run", check.name);
    }
}

/// The variants that a plain problem lists are among those that capabilities name.
#[rstest]
fn no_variant_escapes_the_matrix(#[values("cpu-ref", "cpu")] id: &str) {
    let grid = Grid::new([64, 64, 64], [10.0; 3], [0.0; 3]).expect("a sound grid");
    let boundaries = Boundaries::uniform(Boundary::Zero);
    let problem = WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build();
    let problem = problem.expect("a sound problem");
    let backend = backend(id);
    for variant in backend.variants(&problem).expect("variants") {
        assert!(backend.capabilities().variants.contains(&variant.name), "{}", variant.name);
    }
}
