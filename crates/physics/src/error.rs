//! Errors of the physics layer: a problem that cannot be posed.

/// Why a grid, a problem, an operator or a wavelet cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value outside what the equations or the scheme allow.
    #[error("{what} is {got}: {remedy}")]
    Invalid {
        /// The quantity, in the user's words.
        what: String,
        /// Its value as given.
        got: String,
        /// What would be accepted, or what to do.
        remedy: String,
    },
    /// The time step is above the stability limit.
    #[error(
        "the time step {dt:.6e} s is above the stability limit {limit:.6e} s: lower it, or leave it out and set cfl_fraction"
    )]
    Unstable {
        /// Step as given, s.
        dt: f64,
        /// Largest stable step, s.
        limit: f64,
    },
}

impl Error {
    pub(crate) fn invalid(
        what: impl Into<String>,
        got: impl std::fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Invalid { what: what.into(), got: got.to_string(), remedy: remedy.into() }
    }
}

/// Result of the physics layer.
pub type Result<T, E = Error> = std::result::Result<T, E>;
