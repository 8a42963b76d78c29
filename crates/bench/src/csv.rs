//! All rows as comma-separated values, all figures in SI units and in full precision.

use std::borrow::Cow;

use crate::machines::version;
use crate::results::{Outcome, Results, Row, arithmetic_name, median, spread};

/// Columns before accuracy's.
const HEAD: [&str; 42] = [
    "run",
    "date",
    "outcome",
    "why",
    "preset",
    "path",
    "backend",
    "device",
    "variant",
    "version",
    "parameters",
    "nx",
    "ny",
    "nz",
    "dx_m",
    "dy_m",
    "dz_m",
    "vmax_m_per_s",
    "operator",
    "arithmetic",
    "boundary",
    "cells",
    "start",
    "steps_asked",
    "sources",
    "receivers",
    "steps",
    "samples",
    "seconds_median",
    "spread",
    "points_per_s",
    "bytes_per_point",
    "bytes_per_s",
    "part_of_roof",
    "part_of_layered_roof",
    "roof_bytes_per_s",
    "roof_elements",
    "flops_per_point",
    "flops_per_s",
    "footprint_bytes",
    "digit_products_per_point",
    "checksum",
];

const ACCURACY_STEPS: [u32; 3] = [1, 10, 100];

/// All rows, one a line, under a header; what was not measured is empty.
#[must_use]
pub fn csv(results: &Results) -> String {
    let mut header: Vec<String> = HEAD.map(str::to_owned).to_vec();
    for steps in ACCURACY_STEPS {
        header.extend(["l2", "linf", "l2_bound"].map(|norm| format!("{norm}_{steps}")));
    }
    header.extend(["kernels", "seconds"].map(str::to_owned));
    let lines = std::iter::once(header).chain(results.rows.iter().map(|row| line(results, row)));
    let mut text = String::new();
    for line in lines {
        let cells: Vec<_> = line.iter().map(|cell| quoted(cell)).collect();
        text += &cells.join(",");
        text.push('\n');
    }
    text
}

/// A cell as RFC 4180 writes it.
fn quoted(cell: &str) -> Cow<'_, str> {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\"")).into()
    } else {
        cell.into()
    }
}

/// A number that reads back as the same; empty where there is none.
fn exact(value: impl Into<Option<f64>>) -> String {
    value.into().filter(|v| v.is_finite()).map_or_else(String::new, |v| v.to_string())
}

fn line(results: &Results, row: &Row) -> Vec<String> {
    let case = &row.case;
    let (outcome, why) = match &row.outcome {
        Outcome::Measured(_) => ("measured", ""),
        Outcome::Skipped { why } => ("skipped", why.as_str()),
        Outcome::Failed { why } => ("failed", why.as_str()),
    };
    let parameters: Vec<_> =
        case.parameters.iter().map(|(name, n)| format!("{name}={n}")).collect();
    let mut cells = vec![
        (row.run + 1).to_string(),
        results.runs.get(row.run).map_or_else(String::new, |run| run.date.clone()),
        outcome.into(),
        why.into(),
        case.preset.clone().unwrap_or_default(),
        case.path.clone(),
        case.backend.clone(),
        case.device.clone(),
        case.variant.clone(),
        version(row),
        parameters.join(" "),
    ];
    cells.extend(case.shape.map(|n| n.to_string()));
    cells.extend(case.spacing.map(exact));
    cells.extend([
        exact(case.vmax),
        case.operator.clone(),
        arithmetic_name(case.arithmetic),
        case.boundary.name().into(),
        case.cells.to_string(),
        case.start.to_string(),
        case.steps.map_or_else(String::new, |steps| steps.to_string()),
        case.sources.to_string(),
        case.receivers.to_string(),
    ]);
    let width = HEAD.len() + 3 * ACCURACY_STEPS.len() + 2;
    let Some(measured) = row.outcome.measured() else {
        cells.resize(width, String::new());
        return cells;
    };
    let points = case.points();
    let layered = if case.cells > 0 { measured.of_layered_roof() } else { None };
    let rate = 1e9 * measured.gpts(points);
    cells.extend([
        measured.steps.to_string(),
        measured.seconds.len().to_string(),
        exact(median(&measured.seconds)),
        exact(spread(&measured.seconds)),
        exact(rate),
        exact(measured.bytes_per_point),
        exact(measured.bandwidth(points)),
        exact(measured.of_roof(&row.case)),
        exact(layered),
        exact(measured.roof_bandwidth),
        measured.roof_elements.to_string(),
        exact(measured.flops_per_point),
        exact(rate * measured.flops_per_point),
        measured.footprint.to_string(),
        exact(measured.digit_products),
        measured.checksum.clone(),
    ]);
    for steps in ACCURACY_STEPS {
        let found = measured.accuracy.iter().find(|a| a.steps == steps);
        cells.extend([
            exact(found.map(|a| a.l2)),
            exact(found.map(|a| a.linf)),
            exact(found.and_then(|a| a.bound)),
        ]);
    }
    let kernels =
        measured.kernels.iter().map(|k| format!("{}={}", k.name, exact(median(&k.seconds))));
    cells.push(kernels.collect::<Vec<_>>().join(" "));
    cells.push(measured.seconds.iter().map(|s| exact(*s)).collect::<Vec<_>>().join(" "));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn numbers_and_hostile_texts_come_back_as_they_were() {
        let mut results = sample::gpu(1);
        let hostile = "A \"GPU\", with\nlines, and ünïcode";
        results.rows[0].case.device = hostile.into();
        let text = csv(&results);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let at = |name: &str| header.iter().position(|column| column == name).unwrap();
        let lines: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(lines.len(), results.rows.len());
        assert_eq!(&lines[0][at("device")], hostile);
        for (line, row) in lines.iter().zip(&results.rows) {
            let Some(measured) = row.outcome.measured() else {
                assert_eq!(&line[at("points_per_s")], "");
                assert_ne!(&line[at("why")], "");
                continue;
            };
            let read = |name: &str| line[at(name)].parse::<f64>().unwrap().to_bits();
            assert_eq!(read("seconds_median"), median(&measured.seconds).to_bits());
            assert_eq!(read("l2_10"), measured.accuracy[1].l2.to_bits());
            let seconds: Vec<f64> =
                line[at("seconds")].split(' ').map(|s| s.parse().unwrap()).collect();
            assert_eq!(seconds, measured.seconds);
        }
    }

    #[test]
    fn a_value_that_is_not_finite_is_an_empty_cell() {
        assert_eq!([exact(f64::NAN), exact(None), exact(f64::INFINITY)], ["", "", ""]);
        assert_eq!(exact(0.1), "0.1");
    }
}
