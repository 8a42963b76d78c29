//! What can be wrong with a file; each message says where and what to do.

use std::path::{Path, PathBuf};

/// Errors of reading and writing files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}; check the path, the permissions and the disk", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: open, read, write, rename.
        action: &'static str,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The disk or the quota is full.
    #[error(
        "no space left while writing {}: {}free some, or write to another disk",
        path.display(),
        needed.map_or(String::new(), |bytes| format!("{bytes} bytes are needed; "))
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// Size of the complete file, bytes, where it is known.
        needed: Option<u64>,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The size of a file is not what its description says.
    #[error("{}: {what} makes {expected} bytes, the file has {found}; {remedy}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// What the size follows from, such as a shape and an element type.
        what: String,
        /// Bytes that follow.
        expected: u64,
        /// Bytes found.
        found: u64,
        /// What to do.
        remedy: String,
    },
    /// The shape of a file is not the one asked for.
    #[error("{}: its shape is {found:?}, {want:?} is needed; {remedy}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Shape needed, (nx, ny, nz).
        want: [usize; 3],
        /// Shape of the file.
        found: Vec<usize>,
        /// What to do.
        remedy: String,
    },
    /// Bytes that do not follow the format.
    #[error("{} at byte {offset}: {what}; {remedy}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where, counted from 0.
        offset: u64,
        /// What is wrong, with the value.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A trace that cannot be read or written.
    #[error("{}, trace {trace}: {what}; {remedy}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Which, counted from 1 as trace sequence numbers are.
        trace: u64,
        /// What is wrong, with the value.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A line of a text file that cannot be understood.
    #[error("{}, line {line}: {what}; {remedy}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which, counted from 1.
        line: usize,
        /// What is wrong, with the text.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A value that the format cannot hold or that makes no sense.
    #[error("{}: {what} is {got}; {remedy}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The quantity.
        what: String,
        /// Its value.
        got: String,
        /// What to do.
        remedy: String,
    },
    /// The caller asked to stop; nothing stands under the name, or what stood there before.
    #[error("{}: stopped before it was complete; nothing was written", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// Whether writing failed, so that the place to write to is at fault and not the input.
    #[must_use]
    pub fn is_output(&self) -> bool {
        match self {
            Self::DiskFull { .. } => true,
            Self::Io { action, .. } => !matches!(*action, "open" | "read"),
            _ => false,
        }
    }

    /// The same error about another file: of one that is written under a temporary name, the one
    /// that it will be.
    #[must_use]
    pub fn about(mut self, file: &Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::DiskFull { path, .. }
            | Self::Size { path, .. }
            | Self::Shape { path, .. }
            | Self::Format { path, .. }
            | Self::Trace { path, .. }
            | Self::Line { path, .. }
            | Self::Invalid { path, .. }
            | Self::Stopped { path } => file.clone_into(path),
        }
        self
    }

    /// Wraps what the system said; a full disk or quota becomes [`Error::DiskFull`].
    pub(crate) fn io(
        path: &Path,
        action: &'static str,
        needed: Option<u64>,
        source: std::io::Error,
    ) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let path = path.to_owned();
        if matches!(source.kind(), StorageFull | QuotaExceeded) {
            Self::DiskFull { path, needed, source }
        } else {
            Self::Io { path, action, source }
        }
    }

    pub(crate) fn invalid(
        path: &Path,
        what: impl Into<String>,
        got: impl std::fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Invalid {
            path: path.to_owned(),
            what: what.into(),
            got: got.to_string(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn format(
        path: &Path,
        offset: u64,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Format { path: path.to_owned(), offset, what: what.into(), remedy: remedy.into() }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
