//! Tables of the deck "Stencils as Small Matrix Multiplications" (LIBXSTREAM stencil sample).

use temblor_physics::Arithmetic;

use super::found::{COLUMNS, N, cell, fastest, fewer, is_minimod};
use super::{Column, Table};
use crate::figures::{scientific, thousands};
use crate::machines::{Machine, machines, version};
use crate::results::{BoundaryName, Results, Start};

/// Rows of the deck's first table.
const PATHS: [&str; 4] = ["FP32 direct", "FP32 compact", "INT8 direct", "INT8 compact"];

/// Method, radius, time steps per update, and the operator that it is here.
const METHODS: [(&str, &str, &str, &str); 5] = [
    ("Direct", "r=4", "1", "direct-8"),
    ("Compact-fit", "r=3", "2", "compact-fit-r3"),
    ("Compact-fit", "r=2", "2", "compact-fit-r2"),
    ("Compact r2", "r=2", "2", "compact-r2"),
    ("Compact r1", "r=1", "4", "compact-r1"),
];

/// "GPoints/s @ N=800": paths by devices. Paths that the deck does not have follow.
pub(super) fn paths(results: &Results) -> Table {
    let machines = machines(results);
    let of_preset = |row: &&crate::results::Row| row.case.preset.as_deref() == Some("libxstream");
    let mut paths: Vec<&str> = PATHS.to_vec();
    for row in results.rows.iter().filter(of_preset) {
        let path = row.case.path.as_str();
        if !path.is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    let mut columns = vec![Column::words("Path")];
    columns.extend(machines.iter().map(|machine| Column::number(&machine.label)));
    let mut used: Vec<String> = Vec::new();
    let rows = paths.iter().map(|path| {
        let mut cells = vec![(*path).to_owned()];
        for machine in &machines {
            let found = fastest(machine, |row| {
                of_preset(&row) && row.case.path == *path && row.case.shape == [N; 3]
            });
            if let Some((row, _)) = found {
                used.push(format!("{path} on {}: {}", machine.label, version(row)));
            }
            cells.push(cell(found));
        }
        cells
    });
    let rows = rows.collect();
    let mut notes = vec![
        "The fastest variant of each device, random start; layers in rows with PML alone."
            .to_owned(),
    ];
    if !used.is_empty() {
        notes.push(format!("Variants: {}.", used.join("; ")));
    }
    Table { title: format!("GPoints/s @ N={N}"), columns, rows, notes }
}

/// "GPoints/s @ N=800 (Minimod)": devices by start and steps.
pub(super) fn minimod(results: &Results) -> Table {
    let machines = machines(results);
    let mut columns = vec![Column::words("GPU")];
    columns.extend(COLUMNS.map(|(start, steps)| {
        let start = if start == Start::Zero { "Zero" } else { "Rand" };
        Column::number(format!("{start}-{}", thousands(steps)))
    }));
    let rows = machines.iter().map(|machine| {
        let cells = COLUMNS
            .iter()
            .map(|&(start, steps)| cell(fastest(machine, |row| is_minimod(row, start, steps))));
        std::iter::once(machine.label.clone()).chain(cells).collect()
    });
    let rows = rows.collect();
    let mut notes = vec![
        "The fastest variant of each device for each cell; 27 cells of Minimod's layer, a source at \
         every step."
            .to_owned(),
    ];
    notes.extend(fewer(&machines));
    Table { title: format!("GPoints/s @ N={N} (Minimod)"), columns, rows, notes }
}

/// "Accuracy vs. Performance (FP32)": a table per device with rows; one with blanks for none.
pub(super) fn accuracies(results: &Results) -> Vec<Table> {
    let all = machines(results);
    let with: Vec<_> = all.iter().filter(|m| m.measured().next().is_some()).map(Some).collect();
    let with = if with.is_empty() { vec![None] } else { with };
    with.into_iter().map(accuracy).collect()
}

fn accuracy(machine: Option<&Machine<'_>>) -> Table {
    let columns = vec![
        Column::words("Method"),
        Column::words("Radius"),
        Column::number("K"),
        Column::number("GPoints/s"),
        Column::number("t=10"),
        Column::number("t=100"),
    ];
    let rows = METHODS.map(|(method, radius, k, operator)| {
        let found = machine.and_then(|machine| {
            fastest(machine, |row| {
                let case = &row.case;
                case.shape == [N; 3]
                    && case.operator == operator
                    && case.arithmetic == Arithmetic::F32
                    && case.boundary == BoundaryName::Zero
                    && case.start == Start::Random
            })
        });
        let error = |steps| {
            let accuracy = found?.1.accuracy.iter().find(|a| a.steps == steps)?;
            Some(scientific(accuracy.linf))
        };
        let fixed = [method, radius, k].map(str::to_owned);
        let figures = [cell(found), error(10).unwrap_or_default(), error(100).unwrap_or_default()];
        fixed.into_iter().chain(figures).collect()
    });
    let on = machine.map_or_else(String::new, |machine| format!(", {}", machine.label));
    Table {
        title: format!("Accuracy vs. Performance (FP32){on}"),
        columns,
        rows: rows.to_vec(),
        notes: vec![
            "Rates at N=800, random start, no layers. Errors are relative Linf norms after t steps of the \
             twin against cpu-ref (radius 4, double precision)."
                .into(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{merge, sample};

    fn header(table: &Table) -> Vec<String> {
        table.columns.iter().map(Column::full).collect()
    }

    #[test]
    fn paths_by_devices_has_the_decks_rows_and_a_column_per_device() {
        let table = paths(&merge::merge(vec![sample::gpu(1), sample::cpu()]));
        assert_eq!(table.title, "GPoints/s @ N=800");
        assert_eq!(header(&table), ["Path", "Sample GPU A", "Sample Xeon Q"]);
        let first: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(first, PATHS);
        let direct: f64 = table.rows[0][1].parse().unwrap();
        assert!((direct / 240.0 - 1.0).abs() < 0.02, "{direct}");
        // Not measured: blank, whatever the deck says.
        assert_eq!(table.rows[0][2], "");
        assert_eq!(table.rows[2][1..], ["", ""]);
    }

    #[test]
    fn minimod_has_the_decks_header_and_says_where_steps_are_missing() {
        let table = minimod(&merge::merge(vec![sample::gpu(1), sample::cpu()]));
        let wanted = ["GPU", "Zero-1k", "Zero-2k", "Zero-4k", "Rand-1k", "Rand-2k", "Rand-4k"];
        assert_eq!(header(&table), wanted);
        assert!(table.rows[0][1..].iter().all(|cell| !cell.is_empty()));
        assert!(table.rows[1][1].ends_with('†'), "{:?}", table.rows[1]);
        assert_eq!(table.rows[1][2..4], ["", ""]);
        let note = "† Sample Xeon Q, cpu/blocked: 20 steps run in place of 1k.";
        assert!(table.notes.iter().any(|n| n == note), "{:?}", table.notes);
    }

    #[test]
    fn accuracy_against_performance_has_the_decks_rows() {
        let tables = accuracies(&sample::gpu(1));
        assert_eq!(tables.len(), 1);
        assert_eq!(header(&tables[0]), ["Method", "Radius", "K", "GPoints/s", "t=10", "t=100"]);
        assert_eq!(tables[0].rows[0][..3], ["Direct", "r=4", "1"]);
        assert_eq!(tables[0].rows[0][4..], ["7.5e-7", "2.1e-6"]);
        assert_eq!(tables[0].rows[4], ["Compact r1", "r=1", "4", "", "", ""]);
    }

    #[test]
    fn without_measurements_shapes_stay_and_cells_are_blank() {
        let results = sample::empty();
        assert_eq!(paths(&results).rows.len(), PATHS.len());
        assert!(minimod(&results).rows.is_empty());
        let tables = accuracies(&results);
        assert!(tables[0].rows.iter().all(|row| row[3..].iter().all(String::is_empty)));
    }
}
