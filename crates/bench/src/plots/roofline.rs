//! The roofline (Williams et al. 2009): operations per second against operations per byte.

use super::{Axis, Kind, Look, Plot, Scale, Series, groups, pieces};
use crate::machines::Machine;
use crate::results::{Measured, Row, Start, median};
use crate::tables::anchor;

/// Roofs measured and nominal; marks of the interior and the layers where they are known, else of
/// whole rows at the largest size of each variant.
pub(super) fn roofline(machine: &Machine<'_>) -> Plot {
    let rows: Vec<_> = machine.measured().collect();
    let mut marks = Vec::new();
    // Neither start nor number of steps moves a mark by more than its own size: one row of them all.
    for (name, rows) in groups(&rows, |row| pieces(row)[..4].to_vec()) {
        let largest = rows.iter().max_by_key(|(row, m)| {
            (!m.kernels.is_empty(), row.case.points(), row.case.start == Start::Random)
        });
        if let Some((row, measured)) = largest {
            marks.extend(of(&name, row, measured));
        }
    }
    marks.retain(|s| {
        s.points.iter().all(|p| p.0 > 0.0 && p.1 > 0.0 && p.0.is_finite() && p.1.is_finite())
    });
    let mut series = Vec::new();
    let intensities = marks.iter().flat_map(|s| &s.points).map(|p| p.0);
    let from = 10_f64.powf(intensities.clone().fold(1.0, f64::min).log10().floor());
    let bandwidths = [
        ("measured", machine.roof(), machine.flops(), Look::Roof),
        ("nominal", machine.nominal_bandwidth(), machine.nominal_flops(), Look::Nominal),
    ];
    let ridges = bandwidths
        .iter()
        .filter_map(|(_, memory, compute, _)| Some(compute.as_ref()? / memory.as_ref()?));
    let most = intensities.chain(ridges).fold(1.0, f64::max);
    let to = 10_f64.powf((most * 1.5).log10().ceil());
    for (word, memory, compute, look) in bandwidths {
        let mut points = Vec::new();
        let name = match (memory, compute) {
            (Some(memory), Some(compute)) => {
                let ridge = (compute / memory).max(from);
                points.push((from, memory * from / 1e9));
                points.push((ridge, compute / 1e9));
                points.push((to, compute / 1e9));
                format!("{word}: {:.0} GB/s, {:.0} GFLOP/s", memory / 1e9, compute / 1e9)
            }
            (Some(memory), None) => {
                points.extend([from, to].map(|x| (x, memory * x / 1e9)));
                format!("{word}: {:.0} GB/s", memory / 1e9)
            }
            (None, Some(compute)) => {
                points.extend([from, to].map(|x| (x, compute / 1e9)));
                format!("{word}: {:.0} GFLOP/s", compute / 1e9)
            }
            (None, None) => continue,
        };
        series.push(Series { name, points, look });
    }
    series.extend(marks);
    Plot {
        name: format!("roofline-{}", anchor(&machine.label)),
        title: "Roofline".into(),
        subtitle: machine.label.clone(),
        x: Axis { label: "operations per byte of least traffic".into(), scale: Scale::Decades },
        y: Axis { label: "GFLOP/s".into(), scale: Scale::Decades },
        kind: Kind::Lines,
        series,
        notes: vec![
            "A mark per variant, operator, arithmetic and boundary: by kernel where that was measured, else at \
             the largest size. Bytes are the least that a kernel must move, not counted ones: a mark above the memory \
             roof means data that stayed in a cache."
                .into(),
        ],
    }
}

fn of(name: &str, row: &Row, measured: &Measured) -> Vec<Series> {
    if measured.kernels.is_empty() {
        let intensity = measured.flops_per_point / measured.bytes_per_point;
        let flops = measured.gpts(row.case.points()) * measured.flops_per_point;
        let name = format!("{name}, {}", crate::figures::shape(row.case.shape));
        return vec![Series { name, points: vec![(intensity, flops)], look: Look::Marks }];
    }
    let kernels = measured.stepping().filter(|k| k.flops_per_step > 0.0 && k.bytes_per_step > 0.0);
    let series = kernels.map(|kernel| {
        let intensity = kernel.flops_per_step / kernel.bytes_per_step;
        let flops = kernel.flops_per_step / median(&kernel.seconds) / 1e9;
        let name = format!("{name}: {}", kernel.name);
        Series { name, points: vec![(intensity, flops)], look: Look::Marks }
    });
    series.collect()
}
