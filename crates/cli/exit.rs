//! Exit codes, and which error has which.

use std::process::ExitCode;

/// Text of `temblor help` on exit codes; the guide has the same table.
pub const TABLE: &str = "\
Exit codes:
    0  success
    1  unexpected error: a bug, or a driver that failed
    2  bad input: command line, run file, model, geometry, dt above the limit
    3  the backend does not support this, or there is no such device
    4  not enough memory (told before anything is allocated)
    5  the run became unstable; the traces up to then are kept
    6  verify, conformance or bench: a check failed, a row is wrong
    7  output cannot be written: folder not writable, disk full
    8  bench --gate: slower beyond noise, or results that got worse
    9  bench --gate: cannot tell, more samples or quieter ones are needed
  130  stopped by Ctrl-C; finished shots are kept, --resume goes on";

/// What the process ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A bug, or a driver that failed.
    Unexpected = 1,
    /// Something the user gave is wrong.
    BadInput = 2,
    /// Not supported, or no device.
    Unsupported = 3,
    /// Not enough memory.
    Memory = 4,
    /// The wavefield ran away.
    Unstable = 5,
    /// A check of `verify`, `conformance` or `bench` failed.
    VerifyFailed = 6,
    /// A file cannot be written.
    Output = 7,
    /// Slower beyond noise, or worse results.
    Regression = 8,
    /// A regression cannot be excluded.
    CannotTell = 9,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// An error whose exit code is known where it arises.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// Exit code 3.
    #[error("{0}")]
    Unsupported(String),
    /// Exit code 6.
    #[error("{0}")]
    VerifyFailed(String),
    /// Exit code 7.
    #[error("{0}")]
    Output(String),
    /// Exit code 8.
    #[error("{0}")]
    Regression(String),
    /// Exit code 9.
    #[error("{0}")]
    CannotTell(String),
    /// Exit code 130.
    #[error("{0}")]
    Interrupted(String),
}

impl Failure {
    /// Bad input, from an error that says the remedy.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "made for map_err, which hands over a value")]
    pub fn input(error: impl ToString) -> Self {
        Self::BadInput(error.to_string())
    }

    /// An output that cannot be written, from an error that says the remedy.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "made for map_err, which hands over a value")]
    pub fn output(error: impl ToString) -> Self {
        Self::Output(error.to_string())
    }
}

/// The exit code of an error: that of the first in its chain that has one.
#[must_use]
pub fn code_of(error: &anyhow::Error) -> Code {
    error.chain().find_map(code_of_one).unwrap_or(Code::Unexpected)
}

fn code_of_one(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(match failure {
            Failure::BadInput(_) => Code::BadInput,
            Failure::Unsupported(_) => Code::Unsupported,
            Failure::VerifyFailed(_) => Code::VerifyFailed,
            Failure::Output(_) => Code::Output,
            Failure::Regression(_) => Code::Regression,
            Failure::CannotTell(_) => Code::CannotTell,
            Failure::Interrupted(_) => Code::Interrupted,
        });
    }
    if let Some(error) = error.downcast_ref::<temblor_solver::Error>() {
        use temblor_solver::Error;
        return match error {
            Error::Unstable { .. } | Error::NotFinite { .. } | Error::NoStep { .. } => {
                Some(Code::Unstable)
            }
            Error::Interrupted { .. } => Some(Code::Interrupted),
            Error::OutOfMemory { .. } => Some(Code::Memory),
            Error::Output { .. } => Some(Code::Output),
            Error::Backend(error) => of_backend(error),
            _ => Some(Code::BadInput),
        };
    }
    if let Some(error) = error.downcast_ref::<temblor_backend::Error>() {
        return of_backend(error);
    }
    if let Some(error) = error.downcast_ref::<temblor_io::Error>() {
        return Some(match error {
            temblor_io::Error::Stopped { .. } => Code::Interrupted,
            error if error.is_output() => Code::Output,
            _ => Code::BadInput,
        });
    }
    error.downcast_ref::<temblor_physics::Error>().map(|_| Code::BadInput)
}

const fn of_backend(error: &temblor_backend::Error) -> Option<Code> {
    use temblor_backend::Error;
    match error {
        Error::Unsupported { .. } => Some(Code::Unsupported),
        Error::OutOfMemory { .. } => Some(Code::Memory),
        Error::Unstable { .. } => Some(Code::Unstable),
        Error::Physics(_) => Some(Code::BadInput),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_the_same_table() {
        let guide = include_str!("../../docs/guide.md");
        let rows = TABLE.lines().skip(1).map(|line| {
            let (code, text) = line.trim_start().split_once("  ").expect("two columns");
            format!("| {code} | {text} |")
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 11);
        assert!(guide.contains(&rows.join("\n")), "{}", rows.join("\n"));
    }
}
