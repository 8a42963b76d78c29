//! Throughput against the size of the grid, beside the roof.

use super::{Axis, Kind, Look, Plot, Scale, Series, edge, groups, pieces};
use crate::machines::Machine;
use crate::results::{Measured, Row, median};
use crate::tables::anchor;

/// A line per variant and boundary, and the roof as a dashed line.
pub(super) fn throughput(machine: &Machine<'_>) -> Plot {
    let rows: Vec<_> = machine.measured().collect();
    // Cases at one size alone would be loose marks on top of each other.
    let swept = |rows: &[(&Row, &Measured)]| {
        rows.iter().any(|(row, _)| row.case.shape != rows[0].0.case.shape)
    };
    let all = groups(&rows, pieces);
    let (kept, left_out): (Vec<_>, Vec<_>) = all.into_iter().partition(|group| swept(&group.1));
    let rows: Vec<_> = kept.into_iter().flat_map(|group| group.1).collect();
    let mut series = Vec::new();
    for (name, rows) in groups(&rows, pieces) {
        let rate = |row: &Row, m: &Measured| m.gpts(row.case.points());
        let mut points: Vec<_> = rows.iter().map(|(row, m)| (edge(row), rate(row, m))).collect();
        points.retain(|point| point.1.is_finite());
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.push(Series { name, points, look: Look::Line });
    }
    let mut sizes: Vec<f64> = rows.iter().map(|(row, _)| edge(row)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let roof = sizes.iter().filter_map(|size| {
        let beside = rows.iter().filter(|(row, _)| edge(row).to_bits() == size.to_bits());
        let roofs: Vec<f64> = beside.filter_map(|(_, m)| m.roof_bandwidth).collect();
        let roof = median(&roofs) / 16.0 / 1e9;
        roof.is_finite().then_some((*size, roof))
    });
    let points: Vec<_> = roof.collect();
    if !points.is_empty() {
        let name = "roof, 16 B per point".into();
        series.push(Series { name, points, look: Look::Roof });
    }
    let roof = if series.iter().any(|s| s.look == Look::Roof) {
        "The roof is the traffic of reading three arrays and writing one, measured beside the rows. Layers \
         move more than 16 B per point; variants that fuse steps move less."
    } else {
        "No roof was measured."
    };
    let mut notes = vec![roof.to_owned()];
    if !left_out.is_empty() {
        let left_out = left_out.len();
        notes.push(format!(
            "{left_out} cases measured at one size alone are in the table of rates."
        ));
    }
    Plot {
        name: format!("throughput-{}", anchor(&machine.label)),
        title: "Throughput by size".into(),
        subtitle: machine.label.clone(),
        x: Axis {
            label: "nodes along an edge (cube root of all nodes)".into(),
            scale: Scale::Linear,
        },
        y: Axis { label: "Gpts/s".into(), scale: Scale::Linear },
        kind: Kind::Lines,
        series,
        notes,
    }
}
