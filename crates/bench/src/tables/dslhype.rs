//! The figures of `DSLHyPE` (Stokes et al. 2026, figures 3 and 4) as a table: time per cell of patch
//! kernels, computing alone and with the rearrangement of data.

use super::{Column, Table};
use crate::machines::machines;
use crate::results::{Outcome, Results};

/// Equations and schemes of the paper.
const PATHS: [&str; 4] = ["Euler FV", "Euler FD4", "CCZ4 FV", "CCZ4 FD4"];

/// Kernels, patch sizes and patches per call by devices. Cells are blank until there are patch kernels
/// to measure.
#[must_use]
pub fn dslhype(results: &Results) -> Table {
    let mut columns =
        vec![Column::words("Kernel"), Column::words("Patch size"), Column::words("K")];
    let named = columns.len();
    for machine in machines(results) {
        for name in ["Compute [s/cell]", "Total [s/cell]"] {
            columns.push(Column::number(name).under(&machine.label));
        }
    }
    let mut kernels: Vec<[String; 3]> = Vec::new();
    let mut notes = Vec::new();
    for row in results.rows.iter().filter(|row| row.case.preset.as_deref() == Some("dslhype")) {
        let kernel =
            [row.case.path.clone(), row.case.shape[0].to_string(), patches(&row.case.operator)];
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
        if let Outcome::Skipped { why } | Outcome::Failed { why } = &row.outcome {
            let note = format!("Not measured: {why}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    if kernels.is_empty() {
        kernels.extend(PATHS.map(|path| [path.to_owned(), String::new(), String::new()]));
    }
    let blanks = columns.len() - named;
    let rows = kernels.into_iter().map(|kernel| {
        kernel.into_iter().chain(std::iter::repeat_n(String::new(), blanks)).collect()
    });
    let rows = rows.collect();
    Table { title: "DSLHyPE, figures 3 and 4: time per cell".into(), columns, rows, notes }
}

/// Patches per call, which end an operator's name as `-k8694`.
fn patches(operator: &str) -> String {
    match operator.rsplit_once("-k") {
        Some((_, k)) if k.bytes().all(|byte| byte.is_ascii_digit()) => k.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn header(table: &Table) -> Vec<String> {
        table.columns.iter().map(Column::full).collect()
    }

    #[test]
    fn kernels_stand_in_their_rows_blank_with_the_reason_below() {
        let table = dslhype(&sample::gpu(1));
        assert_eq!(table.rows, [["Euler FV", "3", "8694", "", ""]]);
        assert_eq!(table.notes, ["Not measured: there are no patch kernels in this build"]);
        let wanted = [
            "Kernel",
            "Patch size",
            "K",
            "Sample GPU A Compute [s/cell]",
            "Sample GPU A Total [s/cell]",
        ];
        assert_eq!(header(&table), wanted);
    }

    #[test]
    fn without_rows_the_papers_kernels_are_named() {
        let table = dslhype(&sample::cpu());
        let first: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(first, PATHS);
        assert!(table.is_blank());
    }
}
