//! A file of results, or why it is none.

use std::path::{Path, PathBuf};

use crate::results::{Results, SCHEMA};

/// Why a file of results cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("{}: {source}; `temblor bench` writes such files", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not JSON of this form.
    #[error("{}: not a file of results: {source}; give the JSON that `temblor bench` wrote", path.display())]
    NotResults {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// It is of another version.
    #[error("{}: schema {found}, and this temblor reads {SCHEMA}: measure again with this one, or compare with the one that wrote it", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A row names a run that is not there.
    #[error("{}: row {row} is of run {run}, and there are {runs}: the file was cut or edited; write it again", path.display())]
    NoSuchRun {
        /// The file.
        path: PathBuf,
        /// The row, counted from 0.
        row: usize,
        /// Its run, counted from 0.
        run: usize,
        /// Runs that there are.
        runs: usize,
    },
}

/// Reads a file of results.
///
/// # Errors
/// [`LoadError`] if it is missing, not JSON, or of another schema.
pub fn load(path: &Path) -> Result<Results, LoadError> {
    let own = || path.to_owned();
    let text = std::fs::read_to_string(path)
        .map_err(|source| LoadError::Unreadable { path: own(), source })?;
    let not_results = |source| LoadError::NotResults { path: own(), source };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(not_results)?;
    // First, since another version may have other fields.
    if let Some(found) = value.get("schema").and_then(serde_json::Value::as_u64)
        && found != u64::from(SCHEMA)
    {
        return Err(LoadError::Schema { path: own(), found });
    }
    let results: Results = serde_json::from_value(value).map_err(not_results)?;
    let runs = results.runs.len();
    match results.rows.iter().position(|row| row.run >= runs) {
        Some(row) => {
            Err(LoadError::NoSuchRun { path: own(), row, run: results.rows[row].run, runs })
        }
        None => Ok(results),
    }
}
