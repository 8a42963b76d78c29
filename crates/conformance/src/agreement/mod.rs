//! The oracle's numbers, and numbers that follow from the equations alone.
//!
//! Wherever a bound counts roundings, one rounding is a relative error of 2^-24 (f32). Only f32 is
//! checked: f64 is the oracle's own.

mod denormals;
mod fields;
mod images;
mod impulse;
mod layer_taps;

use crate::{Check, Family, Run};

/// One rounding in f32.
const ROUNDING: f64 = 0.5 * f32::EPSILON as f64;

/// The family's checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    let fields = "random p, p_prev and c, off-node sources and receivers, awkward shapes, all \
                  orders, against cpu-ref in f64 and f32, to 1e-6 of the largest |p| per step";
    let rows: [(&'static str, &'static str, Run); 15] = [
        ("agrees_with_the_oracle_where_p_is_zero_beyond_all_faces", fields, fields::zero),
        ("agrees_with_the_oracle_between_free_surfaces", fields, fields::free),
        ("agrees_with_the_oracle_between_rigid_walls", fields, fields::rigid),
        ("agrees_with_the_oracle_between_walls_of_different_kinds", fields, fields::walls),
        ("agrees_with_the_oracle_in_cpml_on_all_faces", fields, fields::cpml_all),
        ("agrees_with_the_oracle_in_cpml_under_a_free_surface", fields, fields::cpml_free),
        ("agrees_with_the_oracle_in_cpml_opposite_walls", fields, fields::cpml_walls),
        ("agrees_with_the_oracle_in_minimods_layer_on_all_faces", fields, fields::minimod_all),
        ("agrees_with_the_oracle_in_minimods_layer_opposite_walls", fields, fields::minimod_walls),
        ("agrees_with_the_oracle_in_2d", fields, fields::planar),
        (
            "every_tap_of_every_order_is_in_place",
            "one step of an impulse against the weights, all nodes, within four roundings",
            impulse::run,
        ),
        (
            "every_tap_of_every_order_is_in_place_in_2d",
            "the same with one node along y",
            impulse::planar,
        ),
        (
            "every_tap_of_the_layers_is_in_place",
            "an impulse in a C-PML, then its memory alone, node by node",
            layer_taps::run,
        ),
        (
            "walls_are_the_mirrored_wavefield",
            "against the same backend on a grid with the images written out, no wall in it",
            images::run,
        ),
        (
            "denormals_are_flushed",
            "a wavefield that decays through the smallest normal number",
            denormals::run,
        ),
    ];
    rows.into_iter()
        .map(|(name, about, run)| Check { name, family: Family::Agreement, about, run })
        .collect()
}
