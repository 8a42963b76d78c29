//! Time of patch kernels against the number of patches per call, as the figures of `DSLHyPE` (Stokes
//! et al. 2026): per cell and summed, computing alone and with the movement of data.

use super::{Axis, Kind, Look, Plot, Scale, Series};
use crate::machines::{Machine, version};
use crate::results::{Measured, PatchFigures, Row, median};
use crate::tables::anchor;

/// Two plots for every kernel and patch size: per cell, summed.
pub(super) fn patches(machines: &[Machine<'_>]) -> Vec<Plot> {
    let mut cases: Vec<(&str, usize)> = Vec::new();
    for (row, ..) in machines.iter().flat_map(rows) {
        let case = (row.case.path.as_str(), row.case.shape[0]);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let both = |&(path, size): &(&str, usize)| {
        [true, false].map(|per_cell| plot(machines, path, size, per_cell))
    };
    cases.iter().flat_map(both).collect()
}

fn rows<'a>(
    machine: &'a Machine<'_>,
) -> impl Iterator<Item = (&'a Row, &'a Measured, &'a PatchFigures)> {
    machine.measured().filter_map(|(row, m)| m.patch.as_ref().map(|patch| (row, m, patch)))
}

fn plot(machines: &[Machine<'_>], path: &str, size: usize, per_cell: bool) -> Plot {
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: String, point: (f64, f64), look: Look| {
        if !point.1.is_finite() {
            return;
        }
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point], look }),
        }
    };
    for machine in machines {
        let own =
            rows(machine).filter(|(row, ..)| row.case.path == path && row.case.shape[0] == size);
        for (row, measured, patch) in own {
            let k = f64::from(patch.patches);
            let cells = k * row.case.points() as f64;
            let scale = if per_cell { cells } else { 1.0 };
            let name = if machines.len() > 1 {
                format!("{}, {}", machine.label, version(row))
            } else {
                version(row)
            };
            add(format!("{name}, compute"), (k, median(&measured.seconds) / scale), Look::Line);
            add(format!("{name}, total"), (k, median(&patch.total) / scale), Look::Line);
            if let Some(roof) = measured.roof_bandwidth {
                let least = measured.bytes_per_point * cells / roof / scale;
                let name = format!("{}: least bytes at the rate of a copy", row.case.backend);
                add(name, (k, least), Look::Roof);
            }
        }
    }
    for series in &mut series {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.points.dedup_by(|a, b| a.0.to_bits() == b.0.to_bits());
    }
    let (kind, unit) = if per_cell { ("per cell", "s/cell") } else { ("summed", "s") };
    let of = |text: &str| anchor(text);
    Plot {
        name: format!("patches-{}-p{size}-{}", of(path), of(kind)),
        title: format!("{path}, patches of {size}³: time {kind}"),
        subtitle: machines.iter().map(|m| m.label.as_str()).collect::<Vec<_>>().join("; "),
        x: Axis { label: "K, patches per call".into(), scale: Scale::Decades },
        y: Axis { label: unit.into(), scale: Scale::Decades },
        kind: Kind::Lines,
        series,
        notes: vec![
            "Compute: patches that stay on the device. Total: from K scattered chunks on the host and \
             back. A cell is one of the p³ of a patch."
                .into(),
        ],
    }
}
