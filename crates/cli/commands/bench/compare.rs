//! `temblor bench --compare`: two files of results beside each other, and a gate for CI.

use std::path::{Path, PathBuf};

use clap::Args;
use temblor_bench::compare::{Comparison, Gate, Verdict, compare, markdown, terminal};

use super::output::read;
use crate::exit::Failure;

/// Options that compare two files instead of measuring.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Comparing")]
pub struct CompareArgs {
    /// Compare two files of results; nothing is measured
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub compare: Vec<PathBuf>,
    /// Fail on a regression beyond noise (exit code 8), and where noise would hide one (9)
    #[arg(long, requires = "compare")]
    pub gate: bool,
    /// The smallest change that matters
    #[arg(
        long,
        requires = "compare",
        value_name = "PERCENT",
        default_value = "5%",
        value_parser = percent
    )]
    pub threshold: f64,
}

impl CompareArgs {
    /// Whether a comparison was asked for.
    #[must_use]
    pub fn asked(&self) -> bool {
        !self.compare.is_empty()
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(value) if (0.1..=100.0).contains(&value) => Ok(value / 100.0),
        _ => Err("give a number of per cent from 0.1 to 100, such as 5%".into()),
    }
}

/// Compares and prints; writes a Markdown page if `markdown` names one.
///
/// # Errors
/// [`Failure::BadInput`] for files that cannot be read or share no row, [`Failure::Output`]; with
/// `--gate` also [`Failure::Regression`] and [`Failure::CannotTell`].
pub fn run(args: &CompareArgs, markdown_to: Option<&Path>) -> anyhow::Result<()> {
    let [old_path, new_path] = args.compare.as_slice() else {
        return Err(Failure::BadInput("--compare takes two files: OLD NEW".into()).into());
    };
    let (old, new) = (read(old_path)?, read(new_path)?);
    let comparison = compare(&old, &new, args.threshold);
    if comparison.lines.is_empty() {
        return Err(Failure::BadInput(no_common_row(old_path, new_path, &comparison)).into());
    }
    let names = [old_path, new_path].map(|path| path.display().to_string());
    let names = [names[0].as_str(), names[1].as_str()];
    print!("{}", terminal(&comparison, names));
    if let Some(path) = markdown_to {
        let text = markdown(&comparison, names);
        temblor_io::atomic::write(path, text.as_bytes()).map_err(Failure::output)?;
    }
    if args.gate { gate(&comparison) } else { Ok(()) }
}

fn no_common_row(old: &Path, new: &Path, comparison: &Comparison) -> String {
    let example = |keys: &[String]| match keys.first() {
        Some(key) => format!("{} rows, such as `{key}`", keys.len()),
        None => "no rows".to_owned(),
    };
    format!(
        "{} and {} have no row in common: the first has {}; the second has {}; measure both with the \
         same options",
        old.display(),
        new.display(),
        example(&comparison.only_old),
        example(&comparison.only_new)
    )
}

fn gate(comparison: &Comparison) -> anyhow::Result<()> {
    let percent = 100.0 * comparison.threshold;
    let of = |gate: Gate| comparison.lines.iter().filter(|line| line.gate == gate).count();
    match comparison.gate() {
        Gate::Pass => {
            println!("gate: no row is slower by {percent} % or more");
            Ok(())
        }
        Gate::Regression => {
            let broken = comparison.count(Verdict::Broken);
            Err(Failure::Regression(format!(
                "{} of {} rows are a regression ({} slower beyond noise, {broken} with results that \
                 got worse or failed)",
                of(Gate::Regression),
                comparison.lines.len(),
                of(Gate::Regression) - broken,
            ))
            .into())
        }
        Gate::CannotTell => {
            let mut why = Vec::new();
            let (rows, gone) = (of(Gate::CannotTell), comparison.only_old.len());
            if rows > 0 {
                why.push(format!("in {rows} rows {percent} % would not show"));
            }
            if gone > 0 {
                why.push(format!("{gone} rows of the old file are not in the new one"));
            }
            Err(Failure::CannotTell(format!(
                "cannot tell whether there is a regression: {}; measure more samples on a quieter \
                 machine, or several runs and merge them",
                why.join(", and ")
            ))
            .into())
        }
    }
}
