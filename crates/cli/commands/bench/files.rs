//! Results on disk: one JSON file, whole at any moment, and lines as rows come: the run with its devices,
//! every row, and at the end the run again with its peers and whether it is complete.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use temblor_backend::Backend as _;
use temblor_bench::matrix::Planned;
use temblor_bench::results::{Device, Host, Outcome, Peer, Results, Row, Run, SCHEMA};

use super::FileArgs;
use crate::exit::Failure;
use crate::provenance::Provenance;

/// Files of a run, and the results so far.
pub(super) struct Files {
    json: Option<PathBuf>,
    lines: Option<Lines>,
    results: Results,
    /// Rows of earlier runs.
    before: usize,
}

/// Results of a file with those of its rows that were planned and measured: what was skipped or failed
/// is tried again.
///
/// # Errors
/// As [`super::output::read`].
pub(super) fn measured(file: &Path, planned: &[Planned]) -> Result<Results, Failure> {
    let mut results = super::output::read(file)?;
    results.rows.retain(|row| {
        matches!(row.outcome, Outcome::Measured(_))
            && planned.iter().any(|planned| planned.case == row.case)
    });
    Ok(results)
}

enum Lines {
    Stdout,
    File(PathBuf, File),
}

/// A line of `--jsonl`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line<'a> {
    Run { schema: u32, run: &'a Run },
    Row { row: &'a Row },
}

impl Files {
    /// Opens what can be opened before anything runs; a run joins those of `before`.
    pub(super) fn new(args: &FileArgs, before: Option<Results>) -> Result<Self, Failure> {
        let lines = match &args.jsonl {
            None => None,
            Some(path) if path == Path::new("-") => Some(Lines::Stdout),
            Some(path) => {
                let file = File::create(path)
                    .map_err(|error| Failure::Output(format!("{}: {error}", path.display())))?;
                Some(Lines::File(path.clone(), file))
            }
        };
        let run = Run {
            command: command_line(),
            date: rfc3339(SystemTime::now()),
            program: Provenance::new().pairs(),
            host: host(),
            devices: Vec::new(),
            peers: Vec::new(),
            complete: false,
        };
        let nothing = Results { schema: SCHEMA, runs: Vec::new(), rows: Vec::new() };
        let mut results = before.unwrap_or(nothing);
        results.runs.push(run);
        let before = results.rows.len();
        let files = Self { json: args.json.clone(), lines, results, before };
        // A folder that cannot be written is said before the first hour of measuring.
        files.write()?;
        Ok(files)
    }

    /// Whether standard output takes lines of JSON, so that the table must go elsewhere.
    pub(super) const fn takes_stdout(&self) -> bool {
        matches!(self.lines, Some(Lines::Stdout))
    }

    /// Rows of earlier runs.
    pub(super) const fn before(&self) -> usize {
        self.before
    }

    /// The run that measures.
    fn run(&mut self) -> &mut Run {
        self.results.runs.last_mut().expect("made with one")
    }

    /// Takes the devices with their roofs.
    pub(super) fn begin(&mut self, devices: Vec<Device>) -> Result<(), Failure> {
        self.run().devices = devices;
        let line = json(&Line::Run { schema: SCHEMA, run: self.run() })?;
        self.line(&line)?;
        self.write()
    }

    /// Takes a row.
    pub(super) fn row(&mut self, mut row: Row) -> Result<(), Failure> {
        row.run = self.results.runs.len() - 1;
        let line = json(&Line::Row { row: &row })?;
        self.results.rows.push(row);
        self.line(&line)?;
        self.write()
    }

    /// Takes the end; `complete` if all rows are there.
    pub(super) fn end(&mut self, complete: bool) -> Result<(), Failure> {
        self.run().complete = complete;
        // Once more, now with peers and its end.
        let line = json(&Line::Run { schema: SCHEMA, run: self.run() })?;
        self.line(&line)?;
        self.write()
    }

    /// Takes what peers have said so far.
    pub(super) fn peers_are(&mut self, peers: &[Peer]) {
        self.run().peers = peers.to_vec();
    }

    /// Results so far.
    pub(super) const fn results(&self) -> &Results {
        &self.results
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        match &mut self.lines {
            None => Ok(()),
            Some(Lines::Stdout) => writeln!(std::io::stdout(), "{line}").map_err(Failure::output),
            Some(Lines::File(path, file)) => writeln!(file, "{line}")
                .map_err(|error| Failure::Output(format!("{}: {error}", path.display()))),
        }
    }

    fn write(&self) -> Result<(), Failure> {
        let Some(path) = &self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(&self.results).map_err(Failure::output)? + "\n";
        temblor_io::atomic::write(path, text.as_bytes()).map_err(Failure::output)
    }
}

fn json(line: &Line<'_>) -> Result<String, Failure> {
    serde_json::to_string(line).map_err(Failure::output)
}

/// The command as a shell would take it; the program by its name alone.
fn command_line() -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words = std::env::args().skip(1).map(quoted);
    std::iter::once("temblor".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn host() -> Host {
    let cpu = temblor_cpu::CpuBackend::new();
    let device = cpu.device();
    Host {
        processor: device.name.clone(),
        threads: rayon::current_num_threads(),
        memory: temblor_cpu::memory::memory_limit(),
        system: device.driver.clone(),
    }
}

/// A time as `2026-11-30T04:05:06Z`.
fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn seconds_become_dates_across_leap_days() {
        // Values from `date -u -d @N +%FT%TZ`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_796_011_506, "2026-11-30T04:05:06Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
