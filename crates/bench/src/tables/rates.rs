//! Every row: its rate, and how far it is from the machine's limit, or why there is no rate.

use super::cases::cases;
use super::{Column, Table};
use crate::figures::{gib, percent, rate, scientific, significant};
use crate::results::{Case, Measured, Outcome, Results, spread};

const STEPS: u32 = 100;

/// The table of rates.
#[must_use]
pub fn rates(results: &Results) -> Table {
    let cases = cases(results);
    let digits = results
        .rows
        .iter()
        .any(|row| row.outcome.measured().is_some_and(|m| m.digit_products.is_some()));
    let mut columns = cases.columns;
    columns.extend(figures());
    if digits {
        columns.push(
            Column::number("Digit products/pt")
                .about("Products of INT8 digits per point and step."),
        );
    }
    columns.push(Column::words("Remark"));
    let rows = results.rows.iter().zip(cases.rows).map(|(row, mut cells)| {
        match &row.outcome {
            Outcome::Measured(measured) => {
                cells.extend(of(&row.case, measured));
                if digits {
                    cells.push(
                        measured.digit_products.map_or_else(String::new, |d| significant(d, 3)),
                    );
                }
                cells.push(String::new());
            }
            Outcome::Skipped { why } | Outcome::Failed { why } => {
                cells.resize(columns.len() - 1, String::new());
                let failed = matches!(row.outcome, Outcome::Failed { .. });
                let word = if failed { "failed" } else { "skipped" };
                cells.push(format!("{word}: {why}"));
            }
        }
        cells
    });
    let rows = rows.collect();
    let mut notes = cases.notes;
    if results.runs.iter().any(|run| !run.complete) {
        notes.push("Stopped before all rows were measured.".into());
    }
    Table { title: "Rates".into(), columns, rows, notes }
}

fn figures() -> Vec<Column> {
    vec![
        Column::number("Gpts/s").about(
            "Nodes, layers included, times steps over time, in units of 1e9: the median sample.",
        ),
        Column::number("± %").about(
            "Spread: half the distance between the quartiles of the samples over their median.",
        ),
        Column::number("B/pt").about(
            "Bytes per point and step that the variant must move through main memory at least, \
             outside layers.",
        ),
        Column::number("GB/s")
            .about("Gpts/s times B/pt: main-memory traffic that the device must have sustained."),
        Column::number("% of roof").about(
            "Rate over that of a method of one step per pass that moves four values per point at the roof \
             measured beside the row. Variants that fuse steps may exceed 100.",
        ),
        Column::number("% of layered roof").about(
            "The same against the least traffic of the whole grid, which is more inside absorbing \
             layers; blank without layers.",
        ),
        Column::number("flop/pt")
            .about("Operations per point and step outside layers, a fused multiply-add as two."),
        Column::number("GFLOP/s").about("Gpts/s times flop/pt."),
        Column::number("GiB").about("Memory that the plan allocates."),
        Column::number("L2 err. 100").about(
            "Relative L2 error after 100 steps of a small twin against cpu-ref in double precision.",
        ),
        Column::words("Checksum")
            .about("CRC-32 of the twin's field: a change without an intended reason is a bug."),
    ]
}

fn of(case: &Case, measured: &Measured) -> [String; 11] {
    let points = case.points();
    let gpts = measured.gpts(points);
    let layered = if case.cells > 0 { measured.of_layered_roof() } else { None };
    let last = measured.accuracy.iter().find(|a| a.steps == STEPS);
    [
        rate(gpts),
        percent(spread(&measured.seconds)),
        significant(measured.bytes_per_point, 3),
        significant(measured.bandwidth(points) / 1e9, 4),
        measured.of_roof(case).map_or_else(String::new, percent),
        layered.map_or_else(String::new, percent),
        significant(measured.flops_per_point, 3),
        significant(gpts * measured.flops_per_point, 4),
        gib(measured.footprint),
        last.map_or_else(String::new, |a| scientific(a.l2)),
        measured.checksum.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn cell<'a>(table: &'a Table, row: usize, column: &str) -> &'a str {
        let at = table.columns.iter().position(|c| c.name == column).unwrap();
        &table.rows[row][at]
    }

    #[test]
    fn figures_follow_from_the_samples_by_their_definitions() {
        let mut results = sample::gpu(1);
        let row = &mut results.rows[0];
        let points = row.case.points() as f64;
        let Outcome::Measured(measured) = &mut row.outcome else { panic!("not measured") };
        // 200 Gpts/s; 16 B/pt: 3200 GB/s of a roof of 4000 GB/s; layers: 17.5 / 16 more.
        let second = points * f64::from(measured.steps) / 200e9;
        measured.seconds = vec![second; 3];
        measured.roof_bandwidth = Some(4e12);
        let table = rates(&results);
        let wanted = [
            ("Gpts/s", "200.0"),
            ("± %", "0.0"),
            ("B/pt", "16.0"),
            ("GB/s", "3200"),
            ("% of roof", "80.0"),
            ("% of layered roof", "87.5"),
            ("GFLOP/s", "6600"),
            ("L2 err. 100", "1.2e-6"),
        ];
        for (column, value) in wanted {
            assert_eq!(cell(&table, 0, column), value, "{column}");
        }
    }

    #[test]
    fn rows_without_a_rate_say_why_and_show_no_figure() {
        let results = sample::gpu(1);
        let table = rates(&results);
        let failed = results.rows.iter().position(|r| matches!(r.outcome, Outcome::Failed { .. }));
        let row = failed.unwrap();
        assert_eq!(cell(&table, row, "Gpts/s"), "");
        assert_eq!(cell(&table, row, "GFLOP/s"), "");
        assert!(cell(&table, row, "Remark").starts_with("failed: relative L2 after 10 steps"));
    }

    #[test]
    fn what_all_rows_share_is_said_once() {
        let table = rates(&sample::cpu());
        assert!(table.columns.iter().all(|column| column.name != "Operator"));
        assert!(table.notes[0].contains("operator direct-8, arithmetic f32, boundary minimod 27"));
        assert!(table.columns.iter().any(|column| column.name == "Start"));
    }

    #[test]
    fn a_figure_that_is_not_a_number_is_blank() {
        let mut results = sample::gpu(1);
        if let Outcome::Measured(measured) = &mut results.rows[0].outcome {
            measured.seconds.clear();
            measured.roof_bandwidth = None;
            measured.accuracy[2].l2 = f64::NAN;
        }
        let table = rates(&results);
        for column in ["Gpts/s", "GB/s", "% of roof", "% of layered roof", "L2 err. 100"] {
            assert_eq!(cell(&table, 0, column), "", "{column}");
        }
    }
}
