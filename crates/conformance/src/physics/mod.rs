//! Physics: what a backend computes is what theory says. The oracle is tested as well.
//!
//! Expected values come from analytic solutions (`temblor_physics::greens`), from the exact trace of
//! the scheme (`temblor_physics::lattice`) or from a symmetry; bounds are those of the discretisation,
//! or of rounding where the scheme conserves something. Each check runs in all arithmetics that the
//! backend offers.

pub mod absorption;
pub(crate) mod conservation;
pub mod emulated;
pub(crate) mod homogeneous;
mod mirrors;
mod off_grid;
mod operators;
mod order;
mod reflection;
pub(crate) mod shot;
pub mod symmetry;
mod time_correction;

use crate::{Check, Family, Run};

const fn physics(name: &'static str, about: &'static str, run: Run) -> Check {
    Check { name, family: Family::Physics, about, run }
}

/// The checks that `verify --quick` leaves out: together more than half of the time.
pub const SLOW: &[&str] = &[
    "a_trace_is_the_discrete_greens_function",
    "amplitudes_do_not_depend_on_the_spacing",
    "points_off_the_grid_change_no_trace",
    "cpml_stays_bounded_in_2d",
];

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
            "a_plane_wave_travels_at_the_velocity_of_its_operator",
            "100 steps of standing waves along an axis and a diagonal, operators of all families",
            operators::plane_waves,
        ),
        physics(
            "a_trace_is_the_discrete_greens_function",
            "against the lattice's trace and s(t - r/c) / (4 pi r)",
            homogeneous::greens_3d,
        ),
        physics(
            "a_trace_is_the_discrete_greens_function_in_2d",
            "against the lattice's trace and the 2-D solution",
            homogeneous::greens_2d,
        ),
        physics(
            "amplitudes_do_not_depend_on_the_spacing",
            "3-D, peak at one distance before and after halving the spacing",
            homogeneous::halving_3d,
        ),
        physics(
            "amplitudes_do_not_depend_on_the_spacing_in_2d",
            "peak at one distance before and after halving the spacing",
            homogeneous::halving_2d,
        ),
        physics(
            "a_free_surface_is_lloyds_mirror",
            "3-D, source and receiver under p = 0, against the odd image",
            mirrors::free_3d,
        ),
        physics(
            "a_free_surface_is_lloyds_mirror_in_2d",
            "source and receiver under p = 0, against the odd image",
            mirrors::free_2d,
        ),
        physics(
            "a_rigid_wall_is_an_even_mirror",
            "3-D, under a wall half a cell above node 0, against the even image",
            mirrors::rigid_3d,
        ),
        physics(
            "a_rigid_wall_is_an_even_mirror_in_2d",
            "under a wall half a cell above node 0, against the even image",
            mirrors::rigid_2d,
        ),
        physics(
            "an_interface_reflects_by_its_coefficient_in_2d",
            "two half spaces, normal and oblique plane waves, size and phase",
            reflection::two_layers,
        ),
        physics(
            "source_and_receiver_may_change_places",
            "random medium, six pairs of points off the grid, 300 and 1500 steps",
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
            "3-D, source and receiver moved together by parts of a cell",
            off_grid::shifts_3d,
        ),
        physics(
            "points_off_the_grid_change_no_trace_in_2d",
            "source and receiver moved together by parts of a cell",
            off_grid::shifts_2d,
        ),
        physics(
            "time_dispersion_is_taken_out_in_2d",
            "corrected source and record against exact space and time",
            time_correction::removed_2d,
        ),
        physics(
            "cpml_absorbs_in_2d",
            "residual of the default layer, normal to grazing incidence, dB",
            absorption::cpml,
        ),
        physics(
            "minimods_layer_absorbs_in_2d",
            "residual of the benchmark's layer, dB",
            absorption::minimod,
        ),
        physics(
            "cpml_stays_bounded",
            "what is left after 4000 steps, random medium, free surface, layers elsewhere",
            absorption::long_run_3d,
        ),
        physics(
            "cpml_stays_bounded_in_2d",
            "what is left after 100,000 steps, random medium, free surface, layers elsewhere",
            absorption::long_run_2d,
        ),
    ]
}
