//! From a case to the problem that a backend is given.
//!
//! The time step is half of the largest stable one: waves then travel about a fifth of a cell per
//! step, as they do in runs whose time errors are small, and no field grows.

use temblor_physics::{
    Boundaries, Boundary, Cpml, Criterion, Face, Fit, Grid, Minimod, Operator, OperatorName,
    Result, WaveProblem, cfl, cpml_limit, layers,
};

use crate::results::{BoundaryName, Case};

/// Time step over the largest stable one.
pub const CFL_FRACTION: f64 = 0.5;

/// Cells per wavelength that the deck fits its compact operators for.
const DECK_POINTS: f64 = 8.0;

/// The operator of a name: one that `temblor operator` knows, or a compact one of the libxstream deck.
/// The plain ones are central differences of smaller radius; the fitted ones are best in the largest
/// error of the phase velocity for the deck's band.
#[must_use]
pub fn operator(name: &str) -> Option<Operator> {
    if let Some(radius) = name.strip_prefix("compact-fit-r") {
        let fit = Fit::of_space(radius.parse().ok()?, Criterion::Minimax, DECK_POINTS);
        let operator = Operator::Fitted(fit);
        return operator.check().is_ok().then_some(operator);
    }
    match name.parse().ok()? {
        // What makes no problem is refused with its reason when one is posed.
        OperatorName::Whole(operator) => Some(operator),
        fitted @ OperatorName::Fitted { .. } => fitted.resolve(None).ok(),
    }
}

/// The operator that errors are seen against, where it is another than the row's own: the compact ones
/// of the deck stand for radius 4.
#[must_use]
pub fn stands_for(name: &str) -> Option<Operator> {
    name.starts_with("compact-").then_some(Operator::Direct { order: 8 })
}

/// Cells of the layer that a kind of boundary has by default; 0 without one.
#[must_use]
pub const fn default_cells(boundary: BoundaryName) -> usize {
    match boundary {
        BoundaryName::Zero | BoundaryName::Free => 0,
        BoundaryName::Minimod => layers::MINIMOD_CELLS,
        BoundaryName::Cpml => layers::CPML_CELLS,
    }
}

/// The problem of a case on a grid of `shape` nodes, for a wavelet of `peak_hz`, Hz.
///
/// # Errors
/// [`temblor_physics::Error::Invalid`] if the operator has no such name, or layers do not fit or would grow
/// ([`cpml_limit::check`]): no run would take them.
pub fn problem(case: &Case, shape: [usize; 3], peak_hz: f64) -> Result<WaveProblem> {
    let Some(operator) = operator(&case.operator) else {
        return Err(temblor_physics::Error::Invalid {
            what: "operator".into(),
            got: case.operator.clone(),
            remedy: "use direct-2 to direct-16, compact-r1, compact-r2, compact-fit-r2 to \
                     compact-fit-r8, or a name of `temblor operator`"
                .into(),
        });
    };
    let grid = Grid::new(shape, case.spacing, [0.0; 3])?;
    let build = |dt: f64, boundaries: Boundaries| {
        WaveProblem::builder(grid, dt)
            .operator(operator)
            .arithmetic(case.arithmetic)
            .boundaries(boundaries)
            .build()
    };
    // Checks the order before weights of that order are asked for.
    build(1.0, Boundaries::uniform(Boundary::Zero))?;
    let dt = CFL_FRACTION * cfl::largest_dt(&grid, &operator, case.vmax);
    let problem = build(dt, boundaries(case, peak_hz, dt))?;
    cpml_limit::check(&problem)?;
    Ok(problem)
}

fn boundaries(case: &Case, peak_hz: f64, dt: f64) -> Boundaries {
    let (cells, vmax) = (case.cells, case.vmax);
    match case.boundary {
        BoundaryName::Zero => Boundaries::uniform(Boundary::Zero),
        BoundaryName::Free => {
            let mut boundaries = Boundaries::uniform(Boundary::Zero);
            boundaries.set(Face::ZMin, Boundary::Free);
            boundaries
        }
        BoundaryName::Minimod => {
            let finest = case.spacing.into_iter().fold(f64::INFINITY, f64::min);
            let layer = Minimod::for_speed(cells.max(1), vmax, finest, dt);
            Boundaries::uniform(Boundary::Minimod(layer))
        }
        BoundaryName::Cpml => {
            let layer = Cpml { cells, ..Cpml::for_wavelet(peak_hz, vmax) };
            Boundaries::uniform(Boundary::Cpml(layer))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_layer_that_would_grow_is_refused_as_a_run_refuses_it() {
        let mut case = sample::cpu().rows.swap_remove(0).case;
        case.operator = "direct-8".into();
        (case.boundary, case.cells) = (BoundaryName::Cpml, 3);
        let refused = problem(&case, [40; 3], 15.0).unwrap_err().to_string();
        assert!(refused.contains("rises too fast") && refused.contains("at least"), "{refused}");
        case.cells = layers::CPML_CELLS;
        problem(&case, [60; 3], 15.0).unwrap();
    }
}
