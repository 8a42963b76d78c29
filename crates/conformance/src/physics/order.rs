//! The order of the space operator, from an eigenmode.
//!
//! Between free surfaces `sin(k x) sin(k y) sin(k z)` is an eigenmode of the scheme, with the
//! symbol's `-3 S(k h) / h^2` in place of `3 k^2` and the frequency that follows from it. One step
//! from the mode and its past gives `k^2` as the backend has it.

use std::f64::consts::PI;

use ndarray::{Array2, Array3};
use temblor_backend::{Backend, SourceTable};
use temblor_physics::dispersion::symbol;
use temblor_physics::{Arithmetic, Boundaries, Boundary, Grid, WaveProblem, cfl};

use super::shot::{Shot, advance, arithmetics, bound, fields, set_fields};
use crate::orders::Orders;
use crate::{CheckError, Outcome};

const WAVE_SPEED: f64 = 2000.0;
const SPACING: f64 = 10.0;

/// A cube between free surfaces whose mode has `cells` per wavelength: as many half waves along
/// each axis as make it hold about 32 cells.
fn cube(arithmetic: Arithmetic, order: usize, cells: usize) -> Result<WaveProblem, CheckError> {
    let waves = (64 / cells).max(1);
    let nodes = waves * cells / 2 + 1;
    let grid = Grid::new([nodes; 3], [SPACING; 3], [0.0; 3])?;
    let build = |dt| {
        WaveProblem::builder(grid, dt)
            .order(order)
            .arithmetic(arithmetic)
            .boundaries(Boundaries::uniform(Boundary::Free))
            .build()
    };
    let operator = build(1.0)?.operator;
    Ok(build(0.9 * cfl::largest_dt(&grid, &operator, WAVE_SPEED))?)
}

/// Relative error of k^2 along one axis, measured and by the symbol, at `cells` per wavelength.
fn errors(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    order: usize,
    cells: usize,
) -> Result<(f64, f64), CheckError> {
    let problem = cube(arithmetic, order, cells)?;
    let (operator, nodes) = (problem.operator, problem.grid.shape[0]);
    let angle = 2.0 * PI / cells as f64;
    let mode = Array3::from_shape_fn([nodes; 3], |(i, j, k)| {
        // The angle is reduced in integers: the mode is exact at every node.
        let sine = |n: usize| (2.0 * PI * (n % cells) as f64 / cells as f64).sin();
        sine(i) * sine(j) * sine(k)
    });
    let courant = (WAVE_SPEED * problem.dt / SPACING).powi(2);
    let discrete = -symbol(&operator, angle);
    let cosine = 1.0 - 0.5 * courant * 3.0 * discrete;
    let past = &mode * cosine;
    let shot = Shot {
        problem,
        wave_speed: Array3::from_elem([nodes; 3], WAVE_SPEED),
        sources: SourceTable { points: Vec::new(), amplitudes: Array2::zeros((0, 0)) },
        receivers: Vec::new(),
        steps: 1,
    };
    let mut plan = shot.plan(backend, variant)?;
    set_fields(plan.as_mut(), [&mode, &past])?;
    // As the plan holds them, rounded to its arithmetic.
    let [now, before] = fields(plan.as_mut(), [nodes; 3])?;
    advance(plan.as_mut(), 1)?;
    let [next, _] = fields(plan.as_mut(), [nodes; 3])?;
    let (mut change, mut norm) = (0.0, 0.0);
    for ((m, n), (p, b)) in mode.iter().zip(&next).zip(now.iter().zip(&before)) {
        change += m * ((n - p) - (p - b));
        norm += m * p;
    }
    let square = -change / (norm * courant * 3.0);
    Ok((square / (angle * angle) - 1.0, discrete / (angle * angle) - 1.0))
}

pub(super) fn eigenmode(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        // In single precision rounding of the mode, amplified by the operator, is up to 1e-6.
        let resolved = bound(arithmetic, 1e-4, 1e-12);
        let mut orders = Orders::new(backend, variant);
        for order in (2..=16).step_by(2) {
            if !orders.take(backend, &cube(arithmetic, order, 8)?)? {
                continue;
            }
            for cells in [8, 16, 32] {
                let (measured, predicted) = errors(backend, variant, arithmetic, order, cells)?;
                if predicted.abs() > resolved {
                    let deviation = (measured / predicted - 1.0).abs();
                    let what = format!(
                        "{arithmetic:?} order {order}, {cells} cells per wavelength: error of k^2 \
                         {measured:.3e} against {predicted:.3e}"
                    );
                    outcomes.push(Outcome::new(what, deviation, 0.02));
                }
            }
        }
        outcomes.extend(orders.law());
        if arithmetic == Arithmetic::F64 {
            let error = |cells| errors(backend, variant, arithmetic, 8, cells);
            for cells in [8, 16] {
                let slope = (error(cells)?.0 / error(2 * cells)?.0).log2();
                let what = format!("slope of order 8 from {cells} to {} cells, less 8", 2 * cells);
                outcomes.push(Outcome::new(what, (slope - 8.0).abs(), 0.3));
            }
        }
    }
    Ok(outcomes)
}
