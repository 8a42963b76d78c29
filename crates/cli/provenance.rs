//! Which temblor this is: version, commit, compiler, target, features.

use serde::Serialize;

/// What `--version` prints and reports hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provenance {
    version: &'static str,
    commit: &'static str,
    compiler: &'static str,
    target: &'static str,
    profile: &'static str,
    features: &'static str,
}

impl Provenance {
    /// Of this build.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("TEMBLOR_COMMIT"),
            compiler: env!("TEMBLOR_RUSTC"),
            target: env!("TEMBLOR_TARGET"),
            profile: env!("TEMBLOR_PROFILE"),
            features: env!("TEMBLOR_FEATURES"),
        }
    }

    /// The same as pairs of name and value.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, String)> {
        let Self { version, commit, compiler, target, profile, features } = *self;
        [
            ("version", version),
            ("commit", commit),
            ("compiler", compiler),
            ("target", target),
            ("profile", profile),
            ("features", features),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }
}

impl Default for Provenance {
    fn default() -> Self {
        Self::new()
    }
}

/// The same as text, for `--version`.
pub const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit:   ",
    env!("TEMBLOR_COMMIT"),
    "\ncompiler: ",
    env!("TEMBLOR_RUSTC"),
    "\ntarget:   ",
    env!("TEMBLOR_TARGET"),
    "\nprofile:  ",
    env!("TEMBLOR_PROFILE"),
    "\nfeatures: ",
    env!("TEMBLOR_FEATURES"),
);
