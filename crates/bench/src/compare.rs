//! Two files of results beside each other: what became faster, slower, or wrong.
//!
//! Rows are matched by [`Case::key`]; rows that are left are matched once more without the device's
//! name, which is said. A row's verdict follows from the limits of its speedup
//! ([`crate::statistics`]) and a threshold, the smallest change that matters:
//! - *slower*, *faster*: the limits exclude 1, and the change is at least half the threshold;
//! - *no change*: the limits exclude a change of the threshold either way;
//! - *cannot tell*: neither; more or quieter samples would.
//!
//! Half, so that a change of the whole threshold lies well inside *slower*, and chance does not
//! carry one of nothing there.

use std::collections::{BTreeMap, BTreeSet};

use temblor_backend::Parameters;

use crate::results::{Case, Outcome, Results, Row, median};
use crate::statistics::{ALPHA, Runs, Speedup, speedup};

mod accuracy;
mod machines;
mod text;

pub use text::{markdown, terminal};

/// How two rows compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Beyond noise, and by no less than half the threshold.
    Faster,
    /// The same the other way.
    Slower,
    /// A change of the threshold is excluded.
    Same,
    /// Too much noise or too few samples.
    CannotTell,
    /// The new results are wrong, or there are none where there were some.
    Broken,
    /// One side has no rate.
    NoRate,
}

impl Verdict {
    /// In plain words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "no change",
            Self::CannotTell => "cannot tell",
            Self::Broken => "BROKEN",
            Self::NoRate => "no rate",
        }
    }
}

/// What a gate makes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// No regression of the threshold.
    Pass,
    /// A regression cannot be excluded.
    CannotTell,
    /// A regression.
    Regression,
}

/// A row of the old file beside its partner.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The new case.
    pub case: Case,
    /// Medians over all samples, Gpts/s, old and new.
    pub gpts: [Option<f64>; 2],
    /// Speedup with its limits.
    pub speedup: Option<Speedup>,
    /// How they compare.
    pub verdict: Verdict,
    /// What a gate makes of it.
    pub gate: Gate,
    /// What else is to be said, a sentence each.
    pub notes: Vec<String>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The smallest change that matters, 0.05 for 5 %.
    pub threshold: f64,
    /// Pairs in the new file's order.
    pub lines: Vec<Line>,
    /// Keys of the old file without a partner.
    pub only_old: Vec<String>,
    /// Keys of the new file without a partner.
    pub only_new: Vec<String>,
    /// How the machines and programs differ, a sentence each.
    pub differences: Vec<String>,
}

impl Comparison {
    /// What a gate makes of all rows. A row that has vanished cannot be judged.
    #[must_use]
    pub fn gate(&self) -> Gate {
        let vanished = if self.only_old.is_empty() { Gate::Pass } else { Gate::CannotTell };
        self.lines.iter().map(|line| line.gate).fold(vanished, Gate::max)
    }

    /// Rows of a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.lines.iter().filter(|line| line.verdict == verdict).count()
    }
}

/// Rows of one key in one file.
type Group<'a> = Vec<&'a Row>;

/// Groups in the order of their first row.
fn groups<'a>(results: &'a Results, split: &BTreeSet<String>) -> Vec<(String, Group<'a>)> {
    let mut groups: Vec<(String, Group<'a>)> = Vec::new();
    for row in &results.rows {
        let mut key = row.case.key();
        if split.contains(&key) {
            key = format!("{key} with {}", parameters_name(&row.case.parameters));
        }
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups
}

/// Keys whose rows were measured with several sets of parameters, in either file: those rows are no
/// samples of one thing.
fn split_keys(files: [&Results; 2]) -> BTreeSet<String> {
    let mut split = BTreeSet::new();
    for results in files {
        let mut seen: BTreeMap<String, &Parameters> = BTreeMap::new();
        for row in &results.rows {
            let key = row.case.key();
            if seen.get(&key).is_some_and(|known| **known != row.case.parameters) {
                split.insert(key.clone());
            }
            seen.insert(key, &row.case.parameters);
        }
    }
    split
}

fn parameters_name(parameters: &Parameters) -> String {
    if parameters.is_empty() {
        return "no parameters".into();
    }
    let each: Vec<_> = parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    each.join(", ")
}

/// Compares two files; `threshold` is the smallest change that matters.
#[must_use]
pub fn compare(old: &Results, new: &Results, threshold: f64) -> Comparison {
    let split = split_keys([old, new]);
    let (mut olds, news) = (groups(old, &split), groups(new, &split));
    // By their keys, then what is left without the device's name, if that is unmistakable.
    let mut pairs: Vec<Option<Group<'_>>> = Vec::new();
    for (key, _) in &news {
        let partner = olds.iter().position(|(known, _)| known == key);
        pairs.push(partner.map(|at| olds.remove(at).1));
    }
    let anywhere = |rows: &Group<'_>| Case { device: String::new(), ..rows[0].case.clone() }.key();
    let left: Vec<_> = (0..news.len()).filter(|&n| pairs[n].is_none()).collect();
    for &n in &left {
        let key = anywhere(&news[n].1);
        let same = |rows: &Group<'_>| anywhere(rows) == key;
        let ours = left.iter().filter(|&&other| same(&news[other].1)).count();
        let theirs: Vec<_> = (0..olds.len()).filter(|&o| same(&olds[o].1)).collect();
        if let ([only], 1) = (theirs.as_slice(), ours) {
            pairs[n] = Some(olds.remove(*only).1);
        }
    }
    let count = pairs.iter().flatten().count();
    let mut lines = Vec::new();
    let mut only_new = Vec::new();
    for ((key, rows), partner) in news.iter().zip(&pairs) {
        match partner {
            Some(partner) => lines.push(line(partner, rows, threshold, count)),
            None => only_new.push(key.clone()),
        }
    }
    let only_old = olds.into_iter().map(|(key, _)| key).collect();
    let differences = machines::differences(old, new);
    Comparison { threshold, lines, only_old, only_new, differences }
}

/// Times of a group by run, s per step.
fn times(rows: &Group<'_>) -> Runs {
    let mut runs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let Some(measured) = row.outcome.measured() {
            let steps = f64::from(measured.steps.max(1));
            // A time of zero is no time.
            let seconds = measured.seconds.iter().filter(|s| s.is_finite() && **s > 0.0);
            runs.entry(row.run).or_default().extend(seconds.map(|s| s / steps));
        }
    }
    runs.into_values().filter(|run| !run.is_empty()).collect()
}

/// Why a group has no rate.
fn why_none(rows: &Group<'_>) -> Option<(bool, String)> {
    rows.iter().rev().find_map(|row| match &row.outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped { why } => Some((false, format!("skipped: {why}"))),
        Outcome::Failed { why } => Some((true, format!("failed: {why}"))),
    })
}

fn line(old: &Group<'_>, new: &Group<'_>, threshold: f64, rows: usize) -> Line {
    let case = new[0].case.clone();
    let runs = [times(old), times(new)];
    let points = case.points() as f64;
    let gpts = runs.each_ref().map(|runs| {
        let all = runs.concat();
        (!all.is_empty()).then(|| points / median(&all) / 1e9)
    });
    let mut notes = Vec::new();
    if old[0].case.device != case.device {
        notes.push(format!("another device: {} -> {}", old[0].case.device, case.device));
    }
    if old[0].case.parameters != case.parameters {
        let [was, is] = [old[0], new[0]].map(|row| parameters_name(&row.case.parameters));
        notes.push(format!("other parameters: {was} -> {is}"));
    }
    let (speedup, verdict, gate) = match gpts {
        [Some(_), Some(_)] => {
            let found = speedup(&runs[0], &runs[1]);
            let (verdict, gate) = judge(found.as_ref(), threshold, rows);
            notes.extend(remarks(found.as_ref(), verdict, gate, threshold, &runs));
            (found, verdict, gate)
        }
        [Some(_), None] => {
            let (failed, why) = why_none(new).unwrap_or((false, "it has no samples".into()));
            notes.push(format!("no rate any more: {why}"));
            let gate = if failed { Gate::Regression } else { Gate::CannotTell };
            (None, if failed { Verdict::Broken } else { Verdict::NoRate }, gate)
        }
        [None, Some(_)] => {
            notes.push("it had no rate before".into());
            (None, Verdict::NoRate, Gate::Pass)
        }
        [None, None] => {
            notes.extend(why_none(new).map(|(_, why)| why));
            (None, Verdict::NoRate, Gate::Pass)
        }
    };
    let mut line = Line { case, gpts, speedup, verdict, gate, notes };
    accuracy::look(old, new, &mut line);
    line
}

/// The verdict on a speedup, one of `rows`.
fn judge(found: Option<&Speedup>, threshold: f64, rows: usize) -> (Verdict, Gate) {
    let Some(s) = found else { return (Verdict::CannotTell, Gate::CannotTell) };
    let whole = 1.0 + threshold;
    let half = whole.sqrt();
    if s.high < 1.0 && s.ratio <= 1.0 / half {
        // Of many rows, some look slower by chance. A gate asks that the least likely one would not
        // by 1 % in all of them together, or that the whole interval lies beyond the threshold,
        // which few samples can show and the first cannot.
        let sure = s.chance * rows as f64 <= ALPHA || s.high <= 1.0 / whole;
        return (Verdict::Slower, if sure { Gate::Regression } else { Gate::CannotTell });
    }
    let not_slower = if s.low >= 1.0 / whole { Gate::Pass } else { Gate::CannotTell };
    if s.low > 1.0 && s.ratio >= half {
        return (Verdict::Faster, Gate::Pass);
    }
    if s.low >= 1.0 / whole && s.high <= whole {
        return (Verdict::Same, Gate::Pass);
    }
    (Verdict::CannotTell, not_slower)
}

/// What a reader has to know beside the verdict.
fn remarks(
    found: Option<&Speedup>,
    verdict: Verdict,
    gate: Gate,
    threshold: f64,
    runs: &[Runs; 2],
) -> Vec<String> {
    let percent = 100.0 * threshold;
    let mut notes = Vec::new();
    let Some(s) = found else {
        let [old, new] = runs.each_ref().map(|runs| runs.iter().map(Vec::len).sum::<usize>());
        let fewest = crate::statistics::fewest_samples();
        notes.push(format!(
            "{old} and {new} samples show nothing at 99 %: measure at least {fewest} in each file"
        ));
        return notes;
    };
    match (verdict, gate) {
        (Verdict::CannotTell, Gate::Pass) => {
            notes.push(format!("not slower by {percent} %, perhaps faster"));
        }
        (Verdict::CannotTell, _) => {
            notes.push(format!("a change of {percent} % would not show: more samples are needed"));
        }
        (Verdict::Slower, Gate::CannotTell) => {
            notes.push(
                "of so many rows one may look like this by chance: measure it again alone".into(),
            );
        }
        (Verdict::Same, _) if s.high < 1.0 => notes.push("slower, by less than matters".into()),
        (Verdict::Same, _) if s.low > 1.0 => notes.push("faster, by less than matters".into()),
        _ => {}
    }
    notes
}

#[cfg(test)]
mod tests;
