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
            // Plotted in ns and ms: ticks of 0.0000001 s cannot be read.
            let scale = if per_cell { 1e-9 * cells } else { 1e-3 };
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
    let (kind, unit) = if per_cell { ("per cell", "ns/cell") } else { ("summed", "ms") };
    let of = |text: &str| anchor(text);
    let shown = |machine: &&Machine<'_>| {
        rows(machine).any(|(row, ..)| row.case.path == path && row.case.shape[0] == size)
    };
    let labels: Vec<&str> = machines.iter().filter(shown).map(|m| m.label.as_str()).collect();
    Plot {
        name: format!("patches-{}-p{size}-{}", of(path), of(kind)),
        title: format!("{path}, patches of {size}³: time {kind}"),
        subtitle: labels.join("; "),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::machines;
    use crate::results::Outcome;
    use crate::sample;

    #[test]
    fn compute_and_total_stand_per_cell_and_summed_against_k() {
        let mut results = sample::cpu();
        let mut row = results.rows[0].clone();
        row.case.path = "Euler FV".into();
        row.case.shape = [3; 3];
        row.case.variant = "fused".into();
        for (k, compute, total) in [(4_u32, 1.08e-6, 2.16e-6), (1, 2.7e-7, 5.4e-7)] {
            let mut row = row.clone();
            let Outcome::Measured(measured) = &mut row.outcome else { panic!("{row:?}") };
            (measured.seconds, measured.bytes_per_point) = (vec![compute], 160.0);
            measured.roof_bandwidth = Some(1.6e10);
            measured.patch = Some(crate::sample::patch_figures(k, total));
            results.rows.push(row);
        }
        let plots = patches(&machines(&results));
        assert_eq!(plots.len(), 2);
        let points = |plot: &Plot, name: &str| -> Vec<(f64, f64)> {
            let found = plot.series.iter().find(|series| series.name.ends_with(name)).unwrap();
            found.points.iter().map(|&(k, time)| (k, (1e6 * time).round() / 1e6)).collect()
        };
        // 27 cells per patch; 160 B at 16 GB/s are 10 ns.
        assert_eq!(points(&plots[0], "compute"), [(1.0, 10.0), (4.0, 10.0)]);
        assert_eq!(points(&plots[0], "total"), [(1.0, 20.0), (4.0, 20.0)]);
        assert_eq!(points(&plots[0], "copy"), [(1.0, 10.0), (4.0, 10.0)]);
        assert_eq!(points(&plots[1], "compute"), [(1.0, 2.7e-4), (4.0, 1.08e-3)]);

        // A machine that ran no patches is not named.
        let label = machines(&results)[0].label.clone();
        let mut other = sample::gpu(1);
        other.rows.iter_mut().for_each(|row| row.run += results.runs.len());
        results.rows.extend(other.rows);
        results.runs.extend(other.runs);
        assert_eq!(machines(&results).len(), 2);
        assert_eq!(patches(&machines(&results))[0].subtitle, label);
    }
}
