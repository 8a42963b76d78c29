//! The figures of `DSLHyPE` (Stokes et al. 2026, figures 3 and 4) as a table: time per cell of patch
//! kernels, computing alone and with the rearrangement of data.

use super::{Column, Table};
use crate::machines::machines;
use crate::results::{Outcome, Results};

/// Equations and schemes of the paper.
const PATHS: [&str; 4] = ["Euler FV", "Euler FD4", "CCZ4 FV", "CCZ4 FD4"];

/// Equations by devices. Cells are blank until there are patch kernels to measure.
#[must_use]
pub fn dslhype(results: &Results) -> Table {
    let mut columns = vec![Column::words("Kernel")];
    for machine in machines(results) {
        for name in ["Compute [s/cell]", "Total [s/cell]"] {
            columns.push(Column::number(name).under(&machine.label));
        }
    }
    let mut paths: Vec<&str> = PATHS.to_vec();
    let mut notes = Vec::new();
    for row in results.rows.iter().filter(|row| row.case.preset.as_deref() == Some("dslhype")) {
        let path = row.case.path.as_str();
        if !path.is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
        if let Outcome::Skipped { why } | Outcome::Failed { why } = &row.outcome {
            let note = format!("Not measured: {why}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let blanks = columns.len() - 1;
    let rows = paths.into_iter().map(|path| {
        std::iter::once(path.to_owned()).chain(std::iter::repeat_n(String::new(), blanks)).collect()
    });
    let rows = rows.collect();
    Table { title: "DSLHyPE, figures 3 and 4: time per cell".into(), columns, rows, notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn kernels_stand_in_their_rows_blank_with_the_reason_below() {
        let table = dslhype(&sample::gpu(1));
        let first: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(first, PATHS);
        assert!(table.is_blank());
        assert_eq!(table.notes, ["Not measured: there are no patch kernels in this build"]);
        let header: Vec<_> = table.columns.iter().map(Column::full).collect();
        let wanted = ["Kernel", "Sample GPU A Compute [s/cell]", "Sample GPU A Total [s/cell]"];
        assert_eq!(header, wanted);
    }
}
