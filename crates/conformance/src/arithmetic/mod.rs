//! Reduced storage and arithmetic of digits: what each may err by, on one application of the
//! Laplacian, in the velocity of waves, where exponents change fast, and over long runs.
//!
//! A check runs every arithmetic that [`OFFERS`] says a variant has. Expected values are taken by plain
//! loops in f64, by symbols or by theory; bounds of a single application are in `bounds.rs`.

mod apply;
mod bounds;
mod exact;
#[cfg(test)]
mod fakes;
mod fields;
mod laplacian;
mod offer;
mod probes;
mod storage;
mod support;

pub use laplacian::{Found, errors};
pub use offer::{Kind, OFFERS, Offers, catalogue, offered};

use crate::{Check, Family, Run};

/// The family's checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    let rows: [(&'static str, &'static str, Run); 8] = [
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
    ];
    rows.into_iter()
        .map(|(name, about, run)| Check { name, family: Family::Arithmetic, about, run })
        .collect()
}
