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

/// The table.
pub const UNSUPPORTED: &[Unsupported] = &[
    Unsupported {
        backend: "cpu",
        variant: Some("wavefront2"),
        check: "agrees_with_the_oracle_in_2d",
        why: "its tiles lie along y; a 2-D problem fits the cache and takes `blocked`",
    },
    Unsupported {
        backend: "cpu",
        variant: Some("wavefront2"),
        check: "every_tap_of_every_order_is_in_place_in_2d",
        why: "its tiles lie along y; a 2-D problem fits the cache and takes `blocked`",
    },
];
