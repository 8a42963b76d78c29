//! Throughput by device, as figure 6 of Ewart and Araya-Polo (2026).

use super::{Axis, Kind, Look, Plot, Scale, Series};
use crate::figures::{shape, thousands};
use crate::machines::{Machine, version};
use crate::results::{BoundaryName, Measured, Row, Start};

type Wanted = Box<dyn Fn(&Row) -> bool>;

/// Bars of Minimod's benchmark where any device ran it, else of the fastest row by boundary.
pub(super) fn devices(machines: &[Machine<'_>]) -> Plot {
    let minimod: Vec<(String, Wanted)> = [Start::Zero, Start::Random]
        .into_iter()
        .flat_map(|start| [1000, 2000, 4000].map(|steps| (start, steps)))
        .map(|(start, steps)| {
            let wanted: Wanted = Box::new(move |row: &Row| {
                row.case.preset.as_deref() == Some("minimod")
                    && row.case.start == start
                    && row.case.steps == Some(steps)
            });
            (format!("{start}, {}", thousands(steps)), wanted)
        })
        .collect();
    let series = bars(machines, minimod);
    if series.iter().any(|s| !s.points.is_empty()) {
        let notes = vec!["The fastest variant of each device.".to_owned()];
        return plot(machines, "Minimod's benchmark, by start and steps", series, notes);
    }
    let mut series = Vec::new();
    let mut notes = Vec::new();
    for kind in BoundaryName::ALL {
        let mut points = Vec::new();
        for (at, machine) in machines.iter().enumerate() {
            if let Some((row, measured)) = machine.at_scale(kind) {
                points.push((at as f64, measured.gpts(row.case.points())));
                let (label, at) = (&machine.label, shape(row.case.shape));
                notes.push(format!("{label}, boundary {}: {}, {at}.", kind.name(), version(row)));
            }
        }
        if !points.is_empty() {
            let name = format!("boundary {}", kind.name());
            series.push(Series { name, points, look: Look::Line });
        }
    }
    plot(machines, "Fastest row at the largest grid, by boundary", series, notes)
}

fn plot(machines: &[Machine<'_>], what: &str, series: Vec<Series>, notes: Vec<String>) -> Plot {
    Plot {
        name: "devices".into(),
        title: "Throughput by device".into(),
        subtitle: what.into(),
        x: Axis { label: String::new(), scale: Scale::Linear },
        y: Axis { label: "Gpts/s".into(), scale: Scale::Linear },
        kind: Kind::Bars(machines.iter().map(|machine| machine.label.clone()).collect()),
        series,
        notes,
    }
}

fn best<'a>(
    machine: &Machine<'a>,
    wanted: &dyn Fn(&Row) -> bool,
) -> Option<(&'a Row, &'a Measured)> {
    let rate = |found: &(&Row, &Measured)| found.1.gpts(found.0.case.points());
    machine
        .measured()
        .filter(|(row, _)| wanted(row))
        .filter(|found| rate(found).is_finite())
        .max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

fn bars(machines: &[Machine<'_>], wanted: Vec<(String, Wanted)>) -> Vec<Series> {
    let series = wanted.into_iter().map(|(name, wanted)| {
        let points = machines.iter().enumerate().filter_map(|(at, machine)| {
            let (row, measured) = best(machine, &wanted)?;
            Some((at as f64, measured.gpts(row.case.points())))
        });
        Series { name, points: points.collect(), look: Look::Line }
    });
    series.filter(|s| !s.points.is_empty()).collect()
}
