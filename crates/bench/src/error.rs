//! What the user's request may get wrong.

/// Why a benchmark cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that is not one of those that exist.
    #[error("{what} is `{got}`: {remedy}")]
    Invalid {
        /// The quantity, in the user's words.
        what: String,
        /// Its value as given.
        got: String,
        /// What would be accepted.
        remedy: String,
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

/// Result of setting up a benchmark.
pub type Result<T, E = Error> = std::result::Result<T, E>;
