//! What backends do not do, row by row.
//!
//! A row stands for checks that answer `Unsupported`, or for orders that a variant leaves out. Rows
//! are exact both ways: see [`crate::judge`].

/// Checks that a backend, or one variant of it, does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported {
    /// Backend id.
    pub backend: &'static str,
    /// Variant name; `None` for all of them.
    pub variant: Option<&'static str>,
    /// Names of the checks.
    pub checks: &'static [&'static str],
    /// Why, in one line.
    pub why: &'static str,
}

impl Unsupported {
    /// Whether the row is about this variant and check.
    #[must_use]
    pub fn covers(&self, backend: &str, variant: &str, check: &str) -> bool {
        self.backend == backend
            && self.variant.is_none_or(|name| name == variant)
            && self.checks.contains(&check)
    }
}

/// Every check in 2-D.
const PLANAR: &[&str] = &[
    "agrees_with_the_oracle_in_2d",
    "every_tap_of_every_order_is_in_place_in_2d",
    "a_trace_is_the_discrete_greens_function_in_2d",
    "amplitudes_do_not_depend_on_the_spacing_in_2d",
    "a_free_surface_is_lloyds_mirror_in_2d",
    "a_rigid_wall_is_an_even_mirror_in_2d",
    "an_interface_reflects_by_its_coefficient_in_2d",
    "points_off_the_grid_change_no_trace_in_2d",
    "time_dispersion_is_taken_out_in_2d",
    "cpml_absorbs_in_2d",
    "minimods_layer_absorbs_in_2d",
    "cpml_stays_bounded_in_2d",
    "the_laplacian_is_within_its_bound_in_2d",
];

const fn only_3d(backend: &'static str, variant: &'static str, why: &'static str) -> Unsupported {
    Unsupported { backend, variant: Some(variant), checks: PLANAR, why }
}

const TILES: &str = "its tiles span y and z; a 2-D problem takes `baseline`";

/// The table.
pub const UNSUPPORTED: &[Unsupported] = &[
    Unsupported {
        backend: "cpu-ref",
        variant: None,
        checks: &["a_step_timed_by_kernel_is_the_same_step"],
        why: "an oracle whose loops are not measured",
    },
    only_3d(
        "cpu",
        "wavefront2",
        "its tiles lie along y; a 2-D problem fits the cache and takes `blocked`",
    ),
    only_3d("cuda", "wide", TILES),
    only_3d("cuda", "tma", TILES),
    only_3d("cuda", "fused2", TILES),
    only_3d("cuda", "shared", TILES),
    only_3d("cuda", "ozaki_mma", "its kernels march tiles of a 3-D grid"),
    only_3d("cuda", "ozaki_dp4a", "its kernels march tiles of a 3-D grid"),
    only_3d("cuda", "stored_wide", "its tiles span y and z; a 2-D problem takes `stored`"),
];

/// The only orders that a variant has kernels for; checks over several orders run these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnlyOrders {
    /// Backend id.
    pub backend: &'static str,
    /// Variant name.
    pub variant: &'static str,
    /// Orders that it lists.
    pub orders: &'static [usize],
    /// Why, in one line.
    pub why: &'static str,
}

const fn tuned(variant: &'static str) -> OnlyOrders {
    OnlyOrders { backend: "cuda", variant, orders: &[4, 6, 8], why: "built for radius 2, 3 and 4" }
}

const fn digits(variant: &'static str) -> OnlyOrders {
    let why = "fragments hold the taps of radius 1 to 4";
    OnlyOrders { backend: "cuda", variant, orders: &[2, 4, 6, 8], why }
}

/// Variants that leave orders out; any other must list every order from 2 to 16.
pub const ONLY_ORDERS: &[OnlyOrders] = &[
    tuned("wide"),
    tuned("tma"),
    tuned("fused2"),
    tuned("stored_wide"),
    digits("ozaki_mma"),
    digits("ozaki_dp4a"),
];
