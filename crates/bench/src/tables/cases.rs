//! What tells rows from each other: columns of the cases, those that never change left to a note.

use super::Column;
use crate::figures::{shape, thousands};
use crate::machines::{machines, version};
use crate::results::{Results, Row, arithmetic_name};

/// Columns that say which case a row is, a line of cells per row, and what all rows share.
pub(super) struct Cases {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<String>>,
    pub notes: Vec<String>,
}

type Cell = Box<dyn Fn(usize, &Row) -> String>;

/// Cases of all rows of `results`.
pub(super) fn cases(results: &Results) -> Cases {
    let labels: Vec<_> =
        machines(results).into_iter().map(|m| (m.runs, m.name.to_owned(), m.label)).collect();
    let label = move |row: &Row| {
        let same = |(runs, name, _): &&(Vec<usize>, String, String)| {
            runs.contains(&row.run) && *name == row.case.device
        };
        labels.iter().find(same).map_or_else(|| row.case.device.clone(), |l| l.2.clone())
    };
    let all: Vec<(Column, bool, Cell)> = vec![
        (
            Column::number("#").about("Place of the row in the file of results."),
            true,
            Box::new(|at, _| (at + 1).to_string()),
        ),
        (
            Column::words("Run").about("Process that measured it, where several are merged."),
            false,
            Box::new(|_, row| (row.run + 1).to_string()),
        ),
        (Column::words("Device"), false, Box::new(move |_, row| label(row))),
        (
            Column::words("Version").about("Backend and kernel variant."),
            true,
            Box::new(|_, row| version(row)),
        ),
        (
            Column::number("N").about("Nodes along (x, y, z), layers included."),
            true,
            Box::new(|_, row| shape(row.case.shape)),
        ),
        (
            Column::words("Operator").about("Finite differences in space."),
            false,
            Box::new(|_, row| row.case.operator.clone()),
        ),
        (
            Column::words("Arithmetic").about("Storage of the fields and arithmetic."),
            false,
            Box::new(|_, row| arithmetic_name(row.case.arithmetic)),
        ),
        (
            Column::words("Boundary")
                .about("Kind of boundary on all faces, with the cells of its layer."),
            false,
            Box::new(|_, row| match row.case.cells {
                0 => row.case.boundary.name().to_owned(),
                cells => format!("{} {cells}", row.case.boundary.name()),
            }),
        ),
        (
            Column::words("Start").about(
                "What the fields hold at step 0: zero, random, gauss, or the part that is random. \
                 Zeros flatter machines that compress memory.",
            ),
            false,
            Box::new(|_, row| row.case.start.to_string()),
        ),
        (
            Column::number("Steps").about(
                "Steps of a sample; with those asked for in brackets, where fewer were run.",
            ),
            false,
            Box::new(|_, row| steps(row)),
        ),
    ];
    let mut cases = Cases {
        columns: Vec::new(),
        rows: vec![Vec::new(); results.rows.len()],
        notes: Vec::new(),
    };
    let machines = machines(results);
    let runs = machines.iter().flat_map(|m| &m.runs).collect::<std::collections::BTreeSet<_>>();
    let one_run_each =
        runs.len() == results.runs.len() && machines.iter().all(|m| m.runs.len() == 1);
    let mut shared = Vec::new();
    for (column, always, cell) in all {
        let cells: Vec<_> =
            results.rows.iter().enumerate().map(|(at, row)| cell(at, row)).collect();
        // Devices' labels tell runs apart where they must.
        let apart = column.name == "Run" && one_run_each;
        let same = apart || cells.windows(2).all(|pair| pair[0] == pair[1]);
        if same && !always && !cells.is_empty() {
            if column.name != "Run" && !cells[0].is_empty() {
                shared.push(format!("{} {}", column.name.to_lowercase(), cells[0]));
            }
            continue;
        }
        cases.columns.push(column);
        for (row, cell) in cases.rows.iter_mut().zip(cells) {
            row.push(cell);
        }
    }
    if !shared.is_empty() {
        cases.notes.push(format!("All rows: {}.", shared.join(", ")));
    }
    cases
}

/// Steps of a sample, and those asked for where they differ.
fn steps(row: &Row) -> String {
    match (row.outcome.measured().map(|m| m.steps), row.case.steps) {
        (Some(done), Some(asked)) if done != asked => format!("{done} ({})", thousands(asked)),
        (Some(done), _) => done.to_string(),
        (None, Some(asked)) => format!("({})", thousands(asked)),
        (None, None) => String::new(),
    }
}
