//! Why a scheme, a physics or a kernel cannot be built; each message says where and what to do.

/// Errors of the kernel language.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The C text of a physics steps outside the subset, or is no C.
    #[error("{file}:{line}: {what}")]
    Physics {
        /// Name of the C file, as given.
        file: String,
        /// Line, from 1.
        line: u32,
        /// What is wrong and what to write instead.
        what: String,
    },
    /// A statement of a scheme cannot be read or breaks a rule.
    #[error("{scheme}:{line}: {what}\n  in `{statement}`")]
    Scheme {
        /// Name of the scheme or its file.
        scheme: String,
        /// Line, from 1; statements of the Rust builder are counted.
        line: u32,
        /// The statement as written, or as the builder prints it.
        statement: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// Scheme, physics, dimension and patch size do not go together.
    #[error("{0}")]
    Mismatch(String),
}

/// Result of the kernel language.
pub type Result<T, E = Error> = std::result::Result<T, E>;
