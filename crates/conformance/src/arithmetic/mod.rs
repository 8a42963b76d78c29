//! Reduced storage and arithmetic of digits: what each may err by, on one application of the
//! Laplacian, in the velocity of waves, where exponents change fast, and over long runs.
//!
//! A check runs every arithmetic that [`OFFERS`] says a variant has. Expected values are taken by plain
//! loops in f64, by symbols or by theory; bounds of a single application are in `bounds.rs`.

mod apply;
mod beside;
mod bounds;
mod exact;
mod exponents;
#[cfg(test)]
mod fakes;
mod fields;
mod laplacian;
mod laws;
pub mod long;
mod offer;
mod probes;
mod speed;
mod storage;
mod support;
pub mod table;
mod velocity;

pub use laplacian::{Found, errors};
pub use offer::{Kind, OFFERS, Offers, catalogue, is_plain, offered, variants};

use crate::{Check, Family, Run};

/// The family's checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    let rows: [(&'static str, &'static str, Run); 18] = [
        (
            "arithmetics_are_offered_as_the_table_says",
            "variants, footprint and propagator, for every arithmetic of the catalogue",
            support::offers,
        ),
        (
            "the_laplacian_of_white_data_is_within_its_bound",
            "one step with p- = 2p, uniform data in -1..1, against f64, relative rms",
            laplacian::uniform,
        ),
        (
            "the_laplacian_of_waves_is_within_its_bound",
            "the same of plane waves of 8 cells, away from the faces",
            laplacian::waves,
        ),
        (
            "the_laplacian_is_within_its_bound_on_odd_shapes",
            "shapes that no tile divides, unequal spacing",
            laplacian::shapes,
        ),
        (
            "the_laplacian_is_within_its_bound_in_2d",
            "one node along y, equal and unequal spacing",
            laplacian::planar,
        ),
        (
            "the_laplacian_of_every_operator_is_within_its_bound",
            "orders 2 to 16, fitted and implicit weights, unequal spacing",
            laplacian::operators,
        ),
        (
            "each_axis_has_its_own_second_derivative",
            "fields that vary along one axis alone, node by node",
            probes::axes,
        ),
        (
            "a_blob_in_a_corner_shows_nowhere_else",
            "a few nodes of one tile in each corner of the grid and of tiles inside it",
            probes::blobs,
        ),
        (
            "each_node_has_its_own_wave_speed",
            "random wave speeds with both ends of the range; speeds beyond it are refused",
            speed::own,
        ),
        (
            "a_plane_wave_travels_at_the_velocity_of_its_quantised_operator",
            "100 steps of waves that stand between walls, against the symbol, six operators",
            velocity::plane_waves,
        ),
        (
            "a_front_that_grows_into_silence_keeps_its_values",
            "a source that grows 2^12 in three steps at corners of tiles, each step beside the oracle",
            exponents::front,
        ),
        (
            "exponents_follow_data_built_to_break_them",
            "spikes, tiny waves, silence, a loud corner and older states between steps",
            exponents::broken,
        ),
        (
            "a_peak_that_underflows_becomes_zero_and_never_nan",
            "waves of 2^-100 to 2^-160",
            exponents::underflow,
        ),
        (
            "what_is_not_finite_is_found_and_never_silent",
            "NaN and infinities uploaded at one node, health and downloads over seven steps",
            exponents::not_finite,
        ),
        (
            "layers_leave_little_in_every_arithmetic",
            "1000 steps in a small box under a free surface, C-PML and Minimod's layer",
            long::layers,
        ),
        (
            "traces_of_a_layered_model_err_as_storage_says",
            "250 steps in five layers with C-PML, against f64 with unrounded wave speeds",
            long::layered_traces,
        ),
        (
            "energy_drifts_no_more_than_by_the_noise_of_steps",
            "400 steps at 0.95 of the CFL limit, random medium between walls",
            long::drift,
        ),
        (
            "cuts_saved_states_and_neighbours_change_no_bit",
            "7 steps whole, in pieces, restored, after a reset and from two threads, every arithmetic",
            laws::unchanged,
        ),
    ];
    rows.into_iter()
        .map(|(name, about, run)| Check { name, family: Family::Arithmetic, about, run })
        .collect()
}
