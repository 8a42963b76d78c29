//! STREAM by the part of the arrays that is random: constant data shows compression between device
//! and memory (table II of Ewart and Araya-Polo 2026).

use temblor_backend::StreamPattern;

use super::{Axis, Kind, Look, Plot, Scale, Series};
use crate::machines::Machine;
use crate::results::median;
use crate::tables::anchor;

/// A line per pattern where there is more than one fill.
pub(super) fn fill(machine: &Machine<'_>) -> Plot {
    let streams = || machine.devices.iter().flat_map(|device| &device.streams);
    let mut fills: Vec<f64> = streams().map(|s| s.fill).filter(|fill| *fill > 0.0).collect();
    fills.sort_by(f64::total_cmp);
    fills.dedup();
    let mut series = Vec::new();
    let mut notes = Vec::new();
    if fills.len() > 1 {
        for pattern in StreamPattern::ALL {
            let points = fills.iter().filter_map(|&fill| {
                let stream = machine.stream(pattern, fill)?;
                Some((fill, median(&stream.samples) / 1e9))
            });
            let points: Vec<_> = points.collect();
            if !points.is_empty() {
                series.push(Series { name: pattern.name().into(), points, look: Look::Line });
            }
        }
        if let Some(nominal) = machine.nominal_bandwidth() {
            let points = [fills[0], fills[fills.len() - 1]].map(|fill| (fill, nominal / 1e9));
            let name = "nominal".into();
            series.push(Series { name, points: points.into(), look: Look::Nominal });
        }
        notes.push(
            "Flat lines: no compression. Lines that fall to the right: constant data is compressed, and \
             figures from zero-filled arrays flatter this device."
                .into(),
        );
    }
    Plot {
        name: format!("fill-{}", anchor(&machine.label)),
        title: "Bandwidth by fill".into(),
        subtitle: machine.label.clone(),
        x: Axis { label: "part of the arrays that is random".into(), scale: Scale::Halves },
        y: Axis { label: "GB/s".into(), scale: Scale::Linear },
        kind: Kind::Lines,
        series,
        notes,
    }
}
