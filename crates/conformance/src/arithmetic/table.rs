//! The guide's table of what arithmetics err by over many steps.

use std::fmt::Write as _;

use temblor_backend::{Backend, PlanOptions};
use temblor_physics::Arithmetic;

use super::long::{Errors, Lengths, SPEEDS, layered};
use super::offer;
use crate::CheckError;

/// Every arithmetic of the catalogue that a backend offers, with the variant that it prefers for each.
///
/// # Errors
/// Those of the backend, other than [`temblor_backend::Error::Unsupported`].
pub fn rows(backend: &dyn Backend) -> Result<Vec<(Arithmetic, String)>, CheckError> {
    let shot = layered(Lengths::SHORT, Arithmetic::F32)?;
    let mut rows = Vec::new();
    for arithmetic in offer::catalogue() {
        let mut problem = shot.problem.clone();
        problem.arithmetic = arithmetic;
        let variant = match backend.variants(&problem) {
            Ok(variants) => variants.into_iter().next().map(|v| v.name),
            Err(temblor_backend::Error::Unsupported { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        // What cannot be planned for is not a row.
        let options = PlanOptions::new(0, 0).speeds(SPEEDS[0], SPEEDS[1]);
        if let Some(variant) = variant
            && backend.footprint(&problem, &options).is_ok()
        {
            rows.push((arithmetic, variant));
        }
    }
    Ok(rows)
}

/// The first lines of a Markdown table of [`row`]s.
#[must_use]
pub fn heading(lengths: Lengths) -> String {
    let Lengths { drift, traces, layers, .. } = lengths;
    let columns = [
        "arithmetic".to_owned(),
        "variant".to_owned(),
        "L, white".to_owned(),
        "L, waves".to_owned(),
        "Green's function".to_owned(),
        "against `f32`".to_owned(),
        format!("energy, {drift} steps"),
        format!("traces, {traces} steps"),
        format!("C-PML, {} / {layers}", layers / 2),
        format!("Minimod, {} / {layers}", layers / 2),
    ];
    format!("| {} |\n|---|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len() - 2))
}

/// A line of the table.
#[must_use]
pub fn row(errors: &Errors, variant: &str) -> String {
    let mut text = format!("| `{}` | `{variant}` |", errors.arithmetic);
    let [white, waves] = errors.laplacian;
    let rest = [errors.greens, errors.greens_single, errors.drift, errors.traces];
    for error in [white, waves].into_iter().chain(rest) {
        let _ = write!(text, " {error:.1e} |");
    }
    for [half, all] in errors.left {
        let _ = write!(text, " {half:.1e} / {all:.1e} |");
    }
    text
}
