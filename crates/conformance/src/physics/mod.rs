//! Physics: what a backend computes is what theory says. The oracle is tested as well.
//!
//! Expected values come from analytic solutions (`temblor_physics::greens`), from the exact trace of
//! the scheme (`temblor_physics::lattice`) or from a symmetry; bounds are those of the discretisation,
//! or of rounding where the scheme conserves something. Each check runs in all arithmetics that the
//! backend offers.

pub mod absorption;
mod conservation;
mod homogeneous;
mod mirrors;
mod off_grid;
mod order;
mod reflection;
mod shot;
mod symmetry;

use crate::{Check, Family, Run};

const fn physics(name: &'static str, about: &'static str, run: Run) -> Check {
    Check { name, family: Family::Physics, about, run }
}

/// All physics checks.
#[must_use]
pub fn physics_checks() -> Vec<Check> {
    vec![
        physics(
            "every_order_has_the_symbol_of_its_weights",
            "k^2 of an eigenmode between free surfaces, orders 2 to 16",
            order::eigenmode,
        ),
        physics(
            "a_3d_trace_is_the_discrete_greens_function",
            "against the lattice's trace and s(t - r/c) / (4 pi r)",
            homogeneous::greens_3d,
        ),
        physics(
            "a_2d_trace_is_the_discrete_greens_function",
            "against the lattice's trace and the 2-D solution",
            homogeneous::greens_2d,
        ),
        physics(
            "amplitudes_do_not_depend_on_the_spacing",
            "peak at one distance before and after halving the spacing",
            homogeneous::halving,
        ),
        physics(
            "a_free_surface_is_lloyds_mirror",
            "source and receiver under p = 0, against the odd image",
            mirrors::free,
        ),
        physics(
            "a_rigid_wall_is_an_even_mirror",
            "source and receiver under a wall half a cell above node 0, against the even image",
            mirrors::rigid,
        ),
        physics(
            "an_interface_reflects_by_its_coefficient",
            "two half spaces, normal and oblique plane waves, size and phase",
            reflection::two_layers,
        ),
        physics(
            "source_and_receiver_may_change_places",
            "random medium, points off the grid, 300 and 3000 steps",
            symmetry::reciprocity,
        ),
        physics(
            "a_reversed_shot_is_the_adjoint",
            "dot product of random sources and data, random medium",
            symmetry::adjoint,
        ),
        physics(
            "shots_add_up",
            "two sources together and one by one, random medium",
            symmetry::linearity,
        ),
        physics(
            "energy_is_conserved",
            "drift over 4000 steps, random medium between walls",
            conservation::energy_drift,
        ),
        physics(
            "time_runs_backwards",
            "1000 steps there and back, random medium between walls",
            conservation::time_reversal,
        ),
        physics(
            "points_off_the_grid_change_no_trace",
            "source and receiver moved together by parts of a cell",
            off_grid::shifts,
        ),
        physics(
            "cpml_absorbs",
            "residual of the default layer, 2-D, normal to grazing incidence, dB",
            absorption::cpml,
        ),
        physics(
            "minimods_layer_absorbs",
            "residual of the benchmark's layer, 2-D, dB",
            absorption::minimod,
        ),
        physics(
            "cpml_stays_bounded",
            "what is left after 100,000 steps, random medium, free surface, layers elsewhere",
            absorption::long_run,
        ),
    ]
}
