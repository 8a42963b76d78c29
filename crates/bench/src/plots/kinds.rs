//! Kinds of values in the field by step, as figure 2 of Ewart and Araya-Polo (2026).

use super::{Axis, Kind, Look, Plot, Scale, Series};
use crate::figures::shape;
use crate::machines::{Machine, version};
use crate::results::Kinds;
use crate::tables::anchor;

type Part = (&'static str, fn(&Kinds) -> f64);

const PARTS: [Part; 4] = [
    ("normal", |k| k.normal),
    ("denormal", |k| k.denormal),
    ("zero", |k| k.zero),
    ("NaN or infinite", |k| k.nan),
];

/// A plot per row that has a histogram; rows of the same kinds share one.
pub(super) fn kinds(machine: &Machine<'_>) -> Vec<Plot> {
    let mut plots: Vec<Plot> = Vec::new();
    for (row, measured) in machine.measured() {
        if measured.histogram.is_empty() {
            continue;
        }
        let mut kinds = measured.histogram.clone();
        kinds.sort_by_key(|k| k.step);
        let series = PARTS.map(|(name, part)| {
            let points = kinds.iter().map(|k| (k.step as f64, 100.0 * part(k)));
            Series { name: name.into(), points: points.collect(), look: Look::Line }
        });
        let what = format!(
            "{}, {}, {}, start {}",
            version(row),
            shape(row.case.shape),
            row.case.boundary.name(),
            row.case.start
        );
        if plots.iter().any(|plot| plot.series == series) {
            continue;
        }
        plots.push(Plot {
            name: format!("kinds-{}-{}", anchor(&machine.label), anchor(&what)),
            title: "Kinds of values by step".into(),
            subtitle: format!("{}: {what}", machine.label),
            x: Axis { label: "step".into(), scale: Scale::Linear },
            y: Axis { label: "% of nodes".into(), scale: Scale::Linear },
            kind: Kind::Areas,
            series: series.into(),
            notes: vec!["Of p on all nodes. Zeros are what memory compression feeds on.".into()],
        });
    }
    plots
}
