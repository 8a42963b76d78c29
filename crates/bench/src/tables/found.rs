//! The row that fills a cell of the seeds' tables.

use temblor_physics::Arithmetic;

use crate::figures::{rate, thousands};
use crate::machines::{Machine, version};
use crate::results::{BoundaryName, Measured, Row, Start};

/// What follows a rate over fewer steps than the column's.
const FEWER: &str = "†";

/// Size of the seeds' grids along each axis, nodes.
pub(super) const N: usize = 800;

/// Starts and steps of the Minimod tables' columns.
pub(super) const COLUMNS: [(Start, u32); 6] = [
    (Start::Zero, 1000),
    (Start::Zero, 2000),
    (Start::Zero, 4000),
    (Start::Random, 1000),
    (Start::Random, 2000),
    (Start::Random, 4000),
];

/// The fastest measured row of a machine that `wanted` holds for.
pub(super) fn fastest<'a>(
    machine: &Machine<'a>,
    wanted: impl Fn(&Row) -> bool,
) -> Option<(&'a Row, &'a Measured)> {
    let rate = |(row, measured): &(&Row, &Measured)| measured.gpts(row.case.points());
    machine
        .measured()
        .filter(|(row, _)| wanted(row))
        .filter(|found| rate(found).is_finite())
        .max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// A rate as a cell, with a mark where fewer steps were run than asked for; blank for none.
pub(super) fn cell(found: Option<(&Row, &Measured)>) -> String {
    let Some((row, measured)) = found else { return String::new() };
    let mark = if row.case.steps.is_some_and(|asked| measured.steps < asked) { FEWER } else { "" };
    rate(measured.gpts(row.case.points())) + mark
}

/// Whether a row is the benchmark of Minimod from `start` over `steps` steps.
pub(super) fn is_minimod(row: &Row, start: Start, steps: u32) -> bool {
    let case = &row.case;
    case.shape == [N; 3]
        && case.boundary == BoundaryName::Minimod
        && case.cells == 27
        && case.operator == "direct-8"
        && case.arithmetic == Arithmetic::F32
        && case.sources > 0
        && case.start == start
        && case.steps == Some(steps)
}

/// What is to be said of marked cells; nothing where there are none.
pub(super) fn fewer(machines: &[Machine<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for machine in machines {
        for (row, measured) in machine.measured() {
            let listed = COLUMNS.iter().any(|&(start, steps)| is_minimod(row, start, steps));
            let asked = row.case.steps.unwrap_or(0);
            if listed && measured.steps < asked {
                let note = format!(
                    "{FEWER} {}, {}: {} steps run in place of {}.",
                    machine.label,
                    version(row),
                    measured.steps,
                    thousands(asked)
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    notes
}
