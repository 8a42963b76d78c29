//! `temblor conformance`: the matrix backend x variant x check, on the user's own machine.
//!
//! The rows are those of `tests/conformance.rs` and, if asked for, of `tests/physics.rs` and
//! `tests/arithmetic.rs`; what is unsupported must be in the table of `temblor_conformance`, or it fails.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use temblor_backend::{Backend, DeviceInfo};
use temblor_conformance::{Check, Family, Outcome, Verdict, arithmetic, checks, concerns, judge};

use crate::exit::Failure;
use crate::provenance::Provenance;
use crate::{backends, stop};

/// Arguments of `temblor conformance`.
#[derive(Debug, Args)]
#[command(
    after_help = "Every check prints a line when it is done; Ctrl-C keeps those. Exit code 6 if one failed.\n\n\
    Examples:\n  \
    temblor conformance                              # all backends that work here\n  \
    temblor conformance --backend cuda --markdown matrix.md --json matrix.json\n  \
    temblor conformance --family physics --variant blocked\n  \
    temblor conformance --check cpml"
)]
pub struct ConformanceArgs {
    /// Backend to check, may be repeated [default: all that work here]
    #[arg(long = "backend", value_name = "NAME")]
    pub backends: Vec<String>,
    /// Only this variant
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Families of checks
    #[arg(
        long,
        value_enum,
        value_name = "FAMILY",
        value_delimiter = ',',
        default_values = ["contract", "agreement"]
    )]
    pub family: Vec<FamilyName>,
    /// Only checks whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub check: Option<String>,
    /// Write the matrix as a Markdown table
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write all outcomes as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// A family of checks, as on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FamilyName {
    /// What a plan promises
    Contract,
    /// The oracle's numbers
    Agreement,
    /// Theory's numbers
    Physics,
    /// Errors of reduced storage and of digits
    Arithmetic,
}

impl FamilyName {
    fn holds(self, family: Family) -> bool {
        family
            == match self {
                Self::Contract => Family::Contract,
                Self::Agreement => Family::Agreement,
                Self::Physics => Family::Physics,
                Self::Arithmetic => Family::Arithmetic,
            }
    }
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Ending {
    Pass,
    Fail,
    Unsupported,
}

impl Ending {
    const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::Unsupported];

    fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Unsupported => "n/a",
        }
    }
}

/// A measured value and what it may be.
#[derive(Debug, Clone, Serialize)]
struct Measured {
    quantity: String,
    measured: f64,
    bound: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<f64>,
}

impl From<Outcome> for Measured {
    fn from(o: Outcome) -> Self {
        Self { quantity: o.quantity, measured: o.measured, bound: o.bound, predicted: o.predicted }
    }
}

/// One check on one variant.
#[derive(Debug, Clone, Serialize)]
struct Row {
    backend: String,
    variant: String,
    check: &'static str,
    ending: Ending,
    /// What is wrong, or why it is unsupported.
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outcomes: Vec<Measured>,
    seconds: f64,
}

impl Row {
    fn column(&self) -> String {
        format!("{}/{}", self.backend, self.variant)
    }
}

/// All of it.
#[derive(Debug, Serialize)]
struct Matrix {
    temblor: Provenance,
    devices: Vec<DeviceInfo>,
    /// Backends of this build that cannot be used here, and why.
    unusable: Vec<(String, String)>,
    /// Whether all checks ran; false after Ctrl-C.
    complete: bool,
    rows: Vec<Row>,
}

/// Runs the checks and prints a line each; whether none failed.
///
/// # Errors
/// [`Failure::BadInput`] if no check has such a name, [`Failure::Unsupported`] if there is no such
/// backend or variant, [`Failure::Output`], [`Failure::Interrupted`]. A failed check is not an error.
pub fn run(args: &ConformanceArgs) -> anyhow::Result<bool> {
    let chosen = choose(args)?;
    let mut unusable = Vec::new();
    let opened = open(&args.backends, &mut unusable)?;
    let columns = columns(&opened, args.variant.as_deref())?;
    let stop = stop::on_ctrl_c("stopping after this check; what is done will be kept");
    let mut matrix = Matrix {
        temblor: Provenance::new(),
        devices: opened.iter().map(|backend| backend.device().clone()).collect(),
        unusable,
        complete: true,
        rows: Vec::new(),
    };
    'all: for (backend, variant) in &columns {
        for check in chosen.iter().filter(|check| concerns(*backend, variant, check)) {
            if stop.load(Ordering::Relaxed) {
                matrix.complete = false;
                break 'all;
            }
            let row = judged(*backend, variant, check);
            println!("{}", line(&row));
            matrix.rows.push(row);
        }
    }
    print!("\n{}", summary(&matrix));
    if let Some(path) = &args.markdown {
        temblor_io::atomic::write(path, markdown(&matrix).as_bytes()).map_err(Failure::output)?;
    }
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&matrix)? + "\n";
        temblor_io::atomic::write(path, text.as_bytes()).map_err(Failure::output)?;
    }
    if !matrix.complete {
        let message = format!("stopped after {} checks", matrix.rows.len());
        return Err(Failure::Interrupted(message).into());
    }
    Ok(matrix.rows.iter().all(|row| row.ending != Ending::Fail))
}

fn choose(args: &ConformanceArgs) -> Result<Vec<Check>, Failure> {
    let wanted = args.check.as_deref().unwrap_or_default().replace([' ', '-'], "_");
    let chosen: Vec<_> = checks()
        .into_iter()
        .filter(|check| args.family.iter().any(|family| family.holds(check.family)))
        .filter(|check| check.name.contains(&wanted))
        .collect();
    if chosen.is_empty() {
        return Err(Failure::BadInput(format!(
            "no check of the families asked for has `{wanted}` in its name: leave out --check to see \
             all names, or add --family contract,agreement,physics,arithmetic"
        )));
    }
    Ok(chosen)
}

/// The backends asked for, or all that work here; the others of this build go to `unusable`.
fn open(
    names: &[String],
    unusable: &mut Vec<(String, String)>,
) -> Result<Vec<Box<dyn Backend>>, Failure> {
    if !names.is_empty() {
        return backends::open_each(names);
    }
    let mut opened = Vec::new();
    for known in backends::all() {
        match known.backend {
            Ok(backend) => opened.push(backend),
            Err(why) => {
                tracing::warn!("{} is left out: {why}", known.name);
                unusable.push((known.name.to_owned(), why));
            }
        }
    }
    Ok(opened)
}

/// Backends with their variants, or with the one asked for.
fn columns<'a>(
    opened: &'a [Box<dyn Backend>],
    only: Option<&str>,
) -> anyhow::Result<Vec<(&'a dyn Backend, String)>> {
    let mut columns = Vec::new();
    for backend in opened {
        for variant in arithmetic::variants(backend.as_ref())? {
            if only.is_none_or(|only| only == variant) {
                columns.push((backend.as_ref(), variant));
            }
        }
    }
    match only {
        Some(only) if columns.is_empty() => {
            let mut all = Vec::new();
            for backend in opened {
                all.extend(arithmetic::variants(backend.as_ref())?);
            }
            let message = format!("there is no variant `{only}`; there are: {}", all.join(", "));
            Err(Failure::Unsupported(message).into())
        }
        _ => Ok(columns),
    }
}

fn judged(backend: &dyn Backend, variant: &str, check: &Check) -> Row {
    let start = Instant::now();
    let (ending, why, outcomes) = match judge(backend, variant, check) {
        Verdict::Passed(outcomes) => {
            (Ending::Pass, String::new(), outcomes.into_iter().map(Measured::from).collect())
        }
        Verdict::Unsupported(row) => (Ending::Unsupported, row.why.to_owned(), Vec::new()),
        Verdict::Failed(why) => (Ending::Fail, why, Vec::new()),
    };
    Row {
        backend: backend.device().backend.clone(),
        variant: variant.to_owned(),
        check: check.name,
        ending,
        why,
        outcomes,
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn line(row: &Row) -> String {
    let mut line = format!("{:4} {} {}", row.ending.word(), row.column(), row.check);
    for why in row.why.lines() {
        let _ = write!(line, "\n     {why}");
    }
    line
}

/// Columns in the order in which they ran.
fn columns_of(matrix: &Matrix) -> Vec<String> {
    let mut seen = BTreeSet::new();
    matrix.rows.iter().map(Row::column).filter(|column| seen.insert(column.clone())).collect()
}

fn summary(matrix: &Matrix) -> String {
    let columns = columns_of(matrix);
    let width = columns.iter().map(String::len).max().unwrap_or(0).max("variant".len());
    let mut text = format!("{:width$}  passed  failed  unsupported\n", "variant");
    for column in columns {
        let [passed, failed, unsupported] = Ending::ALL.map(|ending| {
            matrix.rows.iter().filter(|r| r.column() == column && r.ending == ending).count()
        });
        let _ = writeln!(text, "{column:width$}  {passed:6}  {failed:6}  {unsupported:11}");
    }
    if !matrix.complete {
        text += "stopped before all checks had run\n";
    }
    text
}

/// A table with a row per check and a column per variant, devices before it and reasons after it.
fn markdown(matrix: &Matrix) -> String {
    let mut text = String::from("# Conformance\n\n");
    for device in &matrix.devices {
        let DeviceInfo { backend, name, arch, driver, .. } = device;
        let _ = writeln!(text, "- `{backend}`: {name}, {arch}, {driver}");
    }
    for (backend, why) in &matrix.unusable {
        let _ = writeln!(text, "- `{backend}`: not run: {why}");
    }
    if !matrix.complete {
        text += "- stopped before all checks had run\n";
    }
    let columns = columns_of(matrix);
    let _ = writeln!(text, "\n| check | {} |", columns.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
    let mut named = BTreeSet::new();
    for row in &matrix.rows {
        if !named.insert(row.check) {
            continue;
        }
        let cells = columns.iter().map(|column| {
            let cell = matrix.rows.iter().find(|r| r.check == row.check && r.column() == *column);
            cell.map_or("not run", |cell| cell.ending.word())
        });
        let cells: Vec<_> = cells.collect();
        let _ = writeln!(text, "| {} | {} |", row.check.replace('_', " "), cells.join(" | "));
    }
    let mut reasons = BTreeSet::new();
    for row in matrix.rows.iter().filter(|row| row.ending == Ending::Unsupported) {
        reasons.insert(format!("- n/a, `{}`: {}", row.column(), row.why));
    }
    for row in matrix.rows.iter().filter(|row| row.ending == Ending::Fail) {
        let why = row.why.replace('\n', "; ");
        reasons.insert(format!(
            "- FAIL, `{}`, {}: {why}",
            row.column(),
            row.check.replace('_', " ")
        ));
    }
    if !reasons.is_empty() {
        let _ = writeln!(text, "\n{}", reasons.into_iter().collect::<Vec<_>>().join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(variant: &str, check: &'static str, ending: Ending, why: &str) -> Row {
        let (backend, variant) = ("cpu".to_owned(), variant.to_owned());
        let (why, outcomes) = (why.to_owned(), Vec::new());
        Row { backend, variant, check, ending, why, outcomes, seconds: 0.0 }
    }

    fn matrix() -> Matrix {
        Matrix {
            temblor: Provenance::new(),
            devices: Vec::new(),
            unusable: vec![("cuda".into(), "no driver".into())],
            complete: false,
            rows: vec![
                row("a", "one_claim", Ending::Pass, ""),
                row("a", "another_claim", Ending::Fail, "2 is above 1\n3 is above 1"),
                row("b", "one_claim", Ending::Unsupported, "3-D alone"),
            ],
        }
    }

    #[test]
    fn the_table_has_a_row_per_check_and_a_column_per_variant() {
        let text = markdown(&matrix());
        let table: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(
            table,
            [
                "| check | cpu/a | cpu/b |",
                "|---|---|---|",
                "| one claim | pass | n/a |",
                "| another claim | FAIL | not run |",
            ]
        );
        assert!(text.contains("- n/a, `cpu/b`: 3-D alone\n"));
        assert!(text.contains("- FAIL, `cpu/a`, another claim: 2 is above 1; 3 is above 1\n"));
        assert!(text.contains("- `cuda`: not run: no driver\n"));
        assert!(text.contains("stopped before"));
    }

    #[test]
    fn the_summary_counts_endings_by_variant() {
        let text = summary(&matrix());
        assert!(text.contains("cpu/a         1       1            0\n"), "{text}");
        assert!(text.contains("cpu/b         0       0            1\n"), "{text}");
        assert!(text.contains("stopped"));
    }

    #[test]
    fn a_failure_shows_every_value_beyond_its_bound() {
        let line = line(&matrix().rows[1]);
        assert_eq!(line, "FAIL cpu/a another_claim\n     2 is above 1\n     3 is above 1");
    }
}
