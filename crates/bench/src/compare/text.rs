//! A comparison as text: 80 columns for a terminal, a Markdown table for a page.

use std::fmt::Write as _;

use super::{Comparison, Line, Verdict, parameters_name};
use crate::results::{Case, arithmetic_name};

/// Columns of a terminal.
const COLUMNS: usize = 80;

/// Columns of a row's name.
const NAME: usize = 28;

/// What a row is, field by field: the first two always name it, the others where rows differ.
fn fields(case: &Case) -> Vec<String> {
    let [nx, ny, nz] = case.shape;
    let cube = nx == ny && ny == nz;
    let layer = if case.cells > 0 { format!(" {}", case.cells) } else { String::new() };
    vec![
        case.variant.clone(),
        if cube { format!("{nx}^3") } else { format!("{nx}x{ny}x{nz}") },
        case.backend.clone(),
        case.operator.clone(),
        arithmetic_name(case.arithmetic),
        format!("{}{layer}", case.boundary.name()),
        case.start.to_string(),
        case.steps.map_or_else(|| "timed".into(), |steps| format!("{steps} steps")),
        format!("{} sources", case.sources),
        format!("{} receivers", case.receivers),
        case.device.clone(),
    ]
}

/// Names of all rows, and what is the same in all of them.
fn names(lines: &[Line]) -> (Vec<String>, Vec<String>) {
    let all: Vec<_> = lines.iter().map(|line| fields(&line.case)).collect();
    let Some(first) = all.first() else { return (Vec::new(), Vec::new()) };
    let differs: Vec<bool> =
        (0..first.len()).map(|n| n < 2 || all.iter().any(|f| f[n] != first[n])).collect();
    let chosen = |fields: &Vec<String>, wanted: bool| -> Vec<String> {
        fields.iter().zip(&differs).filter(|(_, d)| **d == wanted).map(|(f, _)| f.clone()).collect()
    };
    let mut names: Vec<String> = all.iter().map(|fields| chosen(fields, true).join(" ")).collect();
    // Rows that parameters alone tell apart.
    for n in 0..names.len() {
        let same = (0..names.len()).any(|m| m != n && all[m] == all[n]);
        if same {
            let _ = write!(names[n], ", {}", parameters_name(&lines[n].case.parameters));
        }
    }
    (names, chosen(first, false))
}

/// Four digits.
fn rate(gpts: Option<f64>) -> String {
    match gpts {
        None => "-".into(),
        Some(g) if g >= 1000.0 => format!("{g:.0}"),
        Some(g) if g >= 100.0 => format!("{g:.1}"),
        Some(g) if g >= 10.0 => format!("{g:.2}"),
        Some(g) if g >= 0.01 => format!("{g:.3}"),
        Some(g) => format!("{g:.1e}"),
    }
}

/// Ratio and limits.
fn ratio(line: &Line) -> [String; 2] {
    let of = |digits: usize| -> [String; 2] {
        line.speedup.map_or_else(
            || ["-".into(), "-".into()],
            |s| {
                [format!("{:.digits$}", s.ratio), format!("{:.digits$}-{:.digits$}", s.low, s.high)]
            },
        )
    };
    let [ratio, limits] = of(3);
    if limits.len() > 13 { of(1) } else { [ratio, limits] }
}

/// Breaks a sentence into lines of at most `columns`, the later ones indented.
fn wrapped(text: &str, first: &str, later: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > columns {
            let _ = writeln!(lines, "{line}");
            line = later.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(lines, "{line}");
    lines
}

/// How many rows have which verdict.
fn counts(comparison: &Comparison) -> String {
    let all = [
        Verdict::Broken,
        Verdict::Slower,
        Verdict::Faster,
        Verdict::Same,
        Verdict::CannotTell,
        Verdict::NoRate,
    ];
    let each: Vec<_> = all
        .into_iter()
        .map(|verdict| (comparison.count(verdict), verdict.words()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    format!("{} rows: {}", comparison.lines.len(), each.join(", "))
}

/// What holds for all rows, a sentence each.
fn remarks(comparison: &Comparison) -> Vec<String> {
    use crate::statistics::Method;
    let mut said = Vec::new();
    let by = |method| {
        comparison.lines.iter().any(|line| line.speedup.is_some_and(|s| s.method == method))
    };
    if by(Method::Samples) {
        said.push(
            "Limits are of one run against one: what differs from process to process is not in them. \
             Merge the files of several runs to have it counted."
                .into(),
        );
    }
    if by(Method::FewRuns) {
        said.push(
            "Limits are of the runs' medians, few of them, taken as normal; five runs a side need no \
             such assumption."
                .into(),
        );
    }
    said
}

/// The comparison for a terminal; `files` are the names of the old and the new file.
#[must_use]
pub fn terminal(comparison: &Comparison, files: [&str; 2]) -> String {
    let (names, common) = names(&comparison.lines);
    let mut text = format!("old: {}\nnew: {}\n", files[0], files[1]);
    for difference in &comparison.differences {
        text += &wrapped(difference, "  differs: ", "    ", COLUMNS);
    }
    if !common.is_empty() {
        text += &wrapped(&common.join(", "), "all rows: ", "  ", COLUMNS);
    }
    let cells = |name: &str, old: &str, new: &str, ratio: &str, limits: &str, verdict: &str| {
        format!("{name:NAME$} {old:>7} {new:>7} {ratio:>6} {limits:^13} {verdict}")
    };
    if !comparison.lines.is_empty() {
        let head = cells("Gpts/s", "old", "new", "ratio", "99 % limits", "verdict");
        let _ = writeln!(text, "\n{head}");
    }
    for (line, name) in comparison.lines.iter().zip(&names) {
        let [ratio, limits] = ratio(line);
        let [old, new] = line.gpts.map(rate);
        let mut name = name.as_str();
        if name.chars().count() > NAME {
            text += &wrapped(name, "", "  ", COLUMNS);
            name = "";
        }
        let row = cells(name, &old, &new, &ratio, &limits, line.verdict.words());
        let _ = writeln!(text, "{row}");
        for note in &line.notes {
            text += &wrapped(note, "    ", "    ", COLUMNS);
        }
    }
    for (which, keys) in [("old", &comparison.only_old), ("new", &comparison.only_new)] {
        if !keys.is_empty() {
            let _ = writeln!(text, "\nonly in the {which} file:");
        }
        for key in keys {
            text += &wrapped(key, "  ", "    ", COLUMNS);
        }
    }
    let _ = writeln!(text, "\n{}", counts(comparison));
    for remark in remarks(comparison) {
        text += &wrapped(&remark, "", "", COLUMNS);
    }
    text
}

/// The comparison as a Markdown page.
#[must_use]
pub fn markdown(comparison: &Comparison, files: [&str; 2]) -> String {
    let (names, common) = names(&comparison.lines);
    let safe = |text: &str| text.replace('|', "\\|");
    let mut text = format!("# Comparison\n\n- old: `{}`\n- new: `{}`\n", files[0], files[1]);
    for difference in &comparison.differences {
        let _ = writeln!(text, "- differs: {difference}");
    }
    if !common.is_empty() {
        let _ = writeln!(text, "- all rows: {}", common.join(", "));
    }
    let _ = writeln!(
        text,
        "- threshold: {} %\n\n| row | old Gpts/s | new Gpts/s | ratio | 99 % limits | verdict | |\n\
         |---|---|---|---|---|---|---|",
        100.0 * comparison.threshold
    );
    for (line, name) in comparison.lines.iter().zip(&names) {
        let [ratio, limits] = ratio(line);
        let [old, new] = line.gpts.map(rate);
        let _ = writeln!(
            text,
            "| {} | {old} | {new} | {ratio} | {limits} | {} | {} |",
            safe(name),
            line.verdict.words(),
            safe(&line.notes.join("; "))
        );
    }
    for (which, keys) in [("old", &comparison.only_old), ("new", &comparison.only_new)] {
        if !keys.is_empty() {
            let _ = writeln!(text, "\nOnly in the {which} file:\n");
        }
        for key in keys {
            let _ = writeln!(text, "- {key}");
        }
    }
    let _ = writeln!(text, "\n{}.", counts(comparison));
    for remark in remarks(comparison) {
        let _ = writeln!(text, "\n{remark}");
    }
    text
}
