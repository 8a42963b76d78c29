//! Every physics check on every variant of every backend; `temblor verify` runs the same.

use rstest::rstest;
use temblor::backend::Backend;
use temblor::conformance::{Verdict, judge, physics_checks};
use temblor::cpu::ReferenceBackend;

fn backend(id: &str) -> Box<dyn Backend> {
    match id {
        "cpu-ref" => Box::new(ReferenceBackend::new()),
        _ => panic!("backend {id} is not known here"),
    }
}

#[rstest]
fn holds(
    #[values("cpu-ref")] id: &str,
    #[values(
        "every_order_has_the_symbol_of_its_weights",
        "a_3d_trace_is_the_discrete_greens_function",
        "a_2d_trace_is_the_discrete_greens_function",
        "amplitudes_do_not_depend_on_the_spacing",
        "a_free_surface_is_lloyds_mirror",
        "a_rigid_wall_is_an_even_mirror",
        "an_interface_reflects_by_its_coefficient",
        "source_and_receiver_may_change_places",
        "a_reversed_shot_is_the_adjoint",
        "shots_add_up",
        "energy_is_conserved",
        "time_runs_backwards",
        "points_off_the_grid_change_no_trace",
        "cpml_absorbs",
        "minimods_layer_absorbs",
        "cpml_stays_bounded"
    )]
    claim: &str,
) {
    let backend = backend(id);
    let check = physics_checks().into_iter().find(|check| check.name == claim);
    let check = check.expect("the claim is among the checks");
    let variants = backend.capabilities().variants.clone();
    assert!(!variants.is_empty(), "a backend without variants");
    for variant in variants {
        match judge(backend.as_ref(), &variant, &check) {
            Verdict::Passed(outcomes) => {
                for o in outcomes {
                    println!(
                        "{id}/{variant}: {}: {:.3e} <= {:.3e}",
                        o.quantity, o.measured, o.bound
                    );
                }
            }
            Verdict::Unsupported(row) => println!("{id}/{variant}: unsupported: {}", row.why),
            Verdict::Failed(why) => panic!("{id}/{variant}, {claim}:\n{why}"),
        }
    }
}

/// The claims in the matrix above, from its own text, so that none can be forgotten there.
#[test]
fn every_physics_check_is_in_the_matrix() {
    let matrix = include_str!("physics.rs");
    for check in physics_checks() {
        assert!(matrix.contains(&format!("\"{}\"", check.name)), "{} is not run", check.name);
    }
}
