//! Every measured row's accuracy on its twin.

use super::cases::cases;
use super::{Column, Table};
use crate::figures::{scientific, shape};
use crate::results::{Accuracy, Results};

const STEPS: [u32; 3] = [1, 10, 100];

/// The table of accuracies.
#[must_use]
pub fn accuracy(results: &Results) -> Table {
    let cases = cases(results);
    let mut columns = cases.columns;
    let l2 = "L2 of the difference from cpu-ref in double precision over the L2 of cpu-ref.";
    let linf = "Largest difference from cpu-ref in double precision over cpu-ref's largest value.";
    columns.push(Column::words("Twin").about(
        "Shape of the small grid, awkward on purpose, on which the row's own variant and parameters \
         run beside cpu-ref.",
    ));
    for (group, about) in [("Relative L2", l2), ("Relative Linf", linf)] {
        let name = |steps| Column::number(format!("t={steps}")).under(group).about(about);
        columns.extend(STEPS.map(name));
    }
    let bound = "Largest L2 that passes; blank where the operator is another than the reference's.";
    columns.extend(STEPS.map(|n| Column::number(format!("t={n}")).under("L2 bound").about(bound)));
    columns.push(Column::words("Checksum"));
    let rows = results.rows.iter().zip(cases.rows).filter_map(|(row, mut cells)| {
        let measured = row.outcome.measured()?;
        let figures: [fn(&Accuracy) -> Option<f64>; 3] =
            [|a| Some(a.l2), |a| Some(a.linf), |a| a.bound];
        cells.push(shape(measured.twin));
        for figure in figures {
            for steps in STEPS {
                let found = measured.accuracy.iter().find(|a| a.steps == steps);
                cells.push(found.and_then(figure).map_or_else(String::new, scientific));
            }
        }
        cells.push(measured.checksum.clone());
        Some(cells)
    });
    let rows = rows.collect();
    Table { title: "Accuracy".into(), columns, rows, notes: cases.notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn another_operator_has_an_accuracy_and_no_bound() {
        let results = sample::gpu(1);
        let table = accuracy(&results);
        let row = results.rows.iter().position(|r| r.case.operator == "compact-fit-r3").unwrap();
        let cells = &table.rows[row];
        let from = table.columns.iter().position(|c| c.group == "Relative L2").unwrap();
        assert_eq!(cells[from..from + 3], ["2.3e-3", "9.2e-3", "2.5e-2"]);
        assert_eq!(cells[from + 3..from + 6], ["3.9e-3", "1.6e-2", "4.3e-2"]);
        assert_eq!(cells[from + 6..from + 9], ["", "", ""]);
    }

    #[test]
    fn rows_that_were_not_measured_are_left_out() {
        let results = sample::gpu(1);
        let measured = results.rows.iter().filter(|r| r.outcome.measured().is_some()).count();
        assert_eq!(accuracy(&results).rows.len(), measured);
    }
}
