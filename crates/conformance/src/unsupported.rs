//! What backends do not do, row by row.
//!
//! A row stands for a check that answers `Unsupported`. Rows are exact both ways: see
//! [`crate::judge`].

/// A check that a backend, or one variant of it, does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported {
    /// Backend id.
    pub backend: &'static str,
    /// Variant name; `None` for all of them.
    pub variant: Option<&'static str>,
    /// Name of the check.
    pub check: &'static str,
    /// Why, in one line.
    pub why: &'static str,
}

impl Unsupported {
    /// Whether the row is about this variant and check.
    #[must_use]
    pub fn covers(&self, backend: &str, variant: &str, check: &str) -> bool {
        self.backend == backend
            && self.variant.is_none_or(|name| name == variant)
            && self.check == check
    }
}

const fn wavefront2(check: &'static str) -> Unsupported {
    let why = "its tiles lie along y; a 2-D problem fits the cache and takes `blocked`";
    Unsupported { backend: "cpu", variant: Some("wavefront2"), check, why }
}

/// A check over several orders or in 2-D, on a kernel of the CUDA backend that is for order 8 in 3-D;
/// `crates/cuda/tests/agreement.rs` tests those against the scheme in f64 at that order.
const fn order_eight(variant: &'static str, check: &'static str) -> Unsupported {
    let why = "the kernel is for order 8 in 3-D; the check runs other orders or 2-D";
    Unsupported { backend: "cuda", variant: Some(variant), check, why }
}

/// The table.
pub const UNSUPPORTED: &[Unsupported] = &[
    wavefront2("agrees_with_the_oracle_in_2d"),
    wavefront2("every_tap_of_every_order_is_in_place_in_2d"),
    wavefront2("a_trace_is_the_discrete_greens_function_in_2d"),
    wavefront2("amplitudes_do_not_depend_on_the_spacing_in_2d"),
    wavefront2("a_free_surface_is_lloyds_mirror_in_2d"),
    wavefront2("a_rigid_wall_is_an_even_mirror_in_2d"),
    wavefront2("an_interface_reflects_by_its_coefficient_in_2d"),
    wavefront2("points_off_the_grid_change_no_trace_in_2d"),
    wavefront2("time_dispersion_is_taken_out_in_2d"),
    wavefront2("cpml_absorbs_in_2d"),
    wavefront2("minimods_layer_absorbs_in_2d"),
    wavefront2("cpml_stays_bounded_in_2d"),
    order_eight("tma", "agrees_with_the_oracle_where_p_is_zero_beyond_all_faces"),
    order_eight("tma", "agrees_with_the_oracle_between_free_surfaces"),
    order_eight("tma", "agrees_with_the_oracle_between_rigid_walls"),
    order_eight("tma", "agrees_with_the_oracle_between_walls_of_different_kinds"),
    order_eight("tma", "agrees_with_the_oracle_in_cpml_on_all_faces"),
    order_eight("tma", "agrees_with_the_oracle_in_cpml_under_a_free_surface"),
    order_eight("tma", "agrees_with_the_oracle_in_cpml_opposite_walls"),
    order_eight("tma", "agrees_with_the_oracle_in_minimods_layer_on_all_faces"),
    order_eight("tma", "agrees_with_the_oracle_in_minimods_layer_opposite_walls"),
    order_eight("tma", "agrees_with_the_oracle_in_2d"),
    order_eight("tma", "every_tap_of_every_order_is_in_place"),
    order_eight("tma", "every_tap_of_every_order_is_in_place_in_2d"),
    order_eight("tma", "every_tap_of_the_layers_is_in_place"),
    order_eight("tma", "walls_are_the_mirrored_wavefield"),
    order_eight("tma", "denormals_are_flushed"),
    order_eight("fused2", "agrees_with_the_oracle_where_p_is_zero_beyond_all_faces"),
    order_eight("fused2", "agrees_with_the_oracle_between_free_surfaces"),
    order_eight("fused2", "agrees_with_the_oracle_between_rigid_walls"),
    order_eight("fused2", "agrees_with_the_oracle_between_walls_of_different_kinds"),
    order_eight("fused2", "agrees_with_the_oracle_in_cpml_on_all_faces"),
    order_eight("fused2", "agrees_with_the_oracle_in_cpml_under_a_free_surface"),
    order_eight("fused2", "agrees_with_the_oracle_in_cpml_opposite_walls"),
    order_eight("fused2", "agrees_with_the_oracle_in_minimods_layer_on_all_faces"),
    order_eight("fused2", "agrees_with_the_oracle_in_minimods_layer_opposite_walls"),
    order_eight("fused2", "agrees_with_the_oracle_in_2d"),
    order_eight("fused2", "every_tap_of_every_order_is_in_place"),
    order_eight("fused2", "every_tap_of_every_order_is_in_place_in_2d"),
    order_eight("fused2", "every_tap_of_the_layers_is_in_place"),
    order_eight("fused2", "walls_are_the_mirrored_wavefield"),
    order_eight("fused2", "denormals_are_flushed"),
];
