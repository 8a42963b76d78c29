//! Every row with all that the file says of it.

use std::fmt::Write as _;

use crate::figures::{gib, rate, scientific, shape, significant};
use crate::machines::version;
use crate::results::{Measured, Outcome, Results, Row, arithmetic_name, median};
use crate::tables::html::escape;

pub(super) fn rows(results: &Results) -> String {
    let mut text = String::new();
    for (at, row) in results.rows.iter().enumerate() {
        let (class, brief) = match &row.outcome {
            Outcome::Measured(m) => {
                ("measured", format!("{} Gpts/s", rate(m.gpts(row.case.points()))))
            }
            Outcome::Skipped { .. } => ("skipped", "skipped".into()),
            Outcome::Failed { .. } => ("failed", "failed".into()),
        };
        let _ = write!(
            text,
            "<details class=\"row\" id=\"row-{0}\"><summary><span class=\"at\">{0}</span> {1}, {2}, {3}, start \
             {4} <b class=\"{class}\">{brief}</b></summary>\n<dl>\n",
            at + 1,
            escape(&version(row)),
            shape(row.case.shape),
            row.case.boundary.name(),
            row.case.start,
        );
        for (name, value) in facts(results, row) {
            if !value.is_empty() {
                let _ = writeln!(text, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
            }
        }
        text += "</dl></details>\n";
    }
    if text.is_empty() { "<p>There are no rows.</p>\n".into() } else { text }
}

fn list(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}

fn facts(results: &Results, row: &Row) -> Vec<(&'static str, String)> {
    let case = &row.case;
    let spacing = list(case.spacing.iter().map(|h| significant(*h, 4)));
    let mut facts = vec![
        ("Device", case.device.clone()),
        ("Run", results.runs.get(row.run).map_or_else(String::new, |run| run.date.clone())),
        ("Preset", case.preset.clone().unwrap_or_default()),
        ("Stands for", case.path.clone()),
        (
            "Parameters",
            list(case.parameters.iter().map(|(name, value)| format!("{name} = {value}"))),
        ),
        ("Operator", case.operator.clone()),
        ("Arithmetic", arithmetic_name(case.arithmetic)),
        ("Spacing", format!("{spacing} m")),
        ("Highest speed", format!("{} m/s", significant(case.vmax, 5))),
        ("Cells of the layer", case.cells.to_string()),
        ("Sources, receivers", format!("{}, {}", case.sources, case.receivers)),
        ("Steps asked for", case.steps.map_or_else(String::new, |steps| steps.to_string())),
    ];
    match &row.outcome {
        Outcome::Measured(measured) => facts.extend(figures(measured)),
        Outcome::Skipped { why } => facts.push(("Skipped", why.clone())),
        Outcome::Failed { why } => facts.push(("Failed", why.clone())),
    }
    facts
}

fn figures(measured: &Measured) -> Vec<(&'static str, String)> {
    let milliseconds = measured.seconds.iter().map(|s| significant(1e3 * s, 4));
    let accuracy = measured.accuracy.iter().map(|a| {
        let bound = a.bound.map_or_else(String::new, |b| format!(" (bound {})", scientific(b)));
        format!("{} steps: L2 {}{bound}, Linf {}", a.steps, scientific(a.l2), scientific(a.linf))
    });
    let kernels = measured.kernels.iter().map(|k| {
        format!("{}: {} ms, {} nodes", k.name, significant(1e3 * median(&k.seconds), 4), k.points)
    });
    let roof = measured.roof_bandwidth.map_or_else(
        || "none".to_owned(),
        |roof| {
            let elements = measured.roof_elements;
            format!("{} GB/s, arrays of {elements} values", significant(roof / 1e9, 4))
        },
    );
    vec![
        ("Steps of a sample", measured.steps.to_string()),
        ("Samples", format!("{} ms", list(milliseconds))),
        ("Memory", format!("{} GiB", gib(measured.footprint))),
        (
            "Least traffic of a step",
            format!("{} GB", significant(measured.least_bytes_per_step / 1e9, 4)),
        ),
        ("Roof beside it", roof),
        ("Twin", shape(measured.twin)),
        ("Accuracy", accuracy.collect::<Vec<_>>().join("; ")),
        ("Checksum", measured.checksum.clone()),
        ("Kernels", kernels.collect::<Vec<_>>().join("; ")),
    ]
}
