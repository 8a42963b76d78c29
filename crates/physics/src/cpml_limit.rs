//! How fast the damping of a C-PML may rise, and the largest step for which it does.
//!
//! In the expanded form ([`crate::cpml`]) a damped axis' term is, for a field that changes as `lambda^n`,
//! `g T p` with `T = (1 + b) D2 + b_x D1 + D1 (a b / (lambda - a)) D1`. The product rule makes T the derivative of
//! a stretched derivative, which cannot grow, but differences obey the product rule only where b changes little
//! from node to node. Where it does not, T has a positive eigenvalue, for `lambda = 1` or above. At the outermost
//! node, where alpha = 0, g vanishes for static fields: nothing pulls them back, and they grow in proportion to
//! `c^2 dt^2 a / (1 - a)`, by 1e-5 to 1e-2 a step, in double precision as well.
//!
//! What decides is the rise of `d dt` at the outermost node per cell, with `d` the damping of power 4 there,
//!
//! ```text
//! rise = 4 d_max dt / cells = 10 ln(1 / R0) vmax dt / (cells^2 h)
//! ```
//!
//! The spectral radius of the whole step along one axis, 20,000 layers with 1 to 12 cells, dt of 0.05 to 1 of its
//! limit, 2.5 to 300 cells per wavelength at the largest speed, orders 2 to 16, exceeds 1 + 3e-7 for none below a rise of
//!
//! ```text
//! cells      1     2     3    4 to 12
//! order 2   1.24   -     -     1.05
//! order 8   0.66  0.82  0.92   0.98
//! order 16  0.50  0.69  0.79   0.77
//! ```
//!
//! and for nearly all above 1.2. Axes add up (the terms of several commute), so edges and corners have the limit of
//! one axis; `cpu-ref` in f64 showed the same in 2-D and 3-D corners. Fitted and implicit operators are taken to be as
//! direct ones of their radius.

use crate::{Boundary, Cpml, Error, Face, Result, WaveProblem};

/// Largest rise that is taken to be stable, a tenth below what the table in the module's text has.
const fn largest_rise(cells: usize, radius: usize) -> f64 {
    match (cells, radius) {
        (_, 0 | 1) => 0.95,
        (0 | 1, ..=4) => 0.6,
        (0 | 1, _) => 0.45,
        (2, ..=4) => 0.74,
        (2, _) => 0.62,
        (_, ..=4) => 0.83,
        (_, _) => 0.7,
    }
}

/// 10 ln(1 / R0) vmax / h, 1/s: the rise times the square of the cells over dt.
fn strength(layer: &Cpml, spacing: f64) -> f64 {
    -10.0 * layer.r0.ln() * layer.vmax / spacing
}

/// Largest step, s, for which a layer along an axis of `spacing`, m, does not grow, with operators of `radius`.
#[must_use]
pub fn largest_dt(layer: &Cpml, spacing: f64, radius: usize) -> f64 {
    let cells = layer.cells as f64;
    largest_rise(layer.cells, radius) * cells * cells / strength(layer, spacing)
}

/// Least width, cells, for which a layer with the other numbers of `layer` does not grow in steps of `dt`, s.
fn least_cells(layer: &Cpml, spacing: f64, radius: usize, dt: f64) -> usize {
    let wider =
        |cells: &usize| largest_dt(&Cpml { cells: *cells, ..*layer }, spacing, radius) >= dt;
    (layer.cells..).find(wider).unwrap_or(usize::MAX)
}

/// Refuses a problem with a C-PML that is so thin for its strength that it grows over a long run.
///
/// # Errors
/// [`Error::Invalid`] with the width, the reflection coefficient or the step that would do.
pub fn check(problem: &WaveProblem) -> Result<()> {
    let radius = problem.operator.radius();
    for face in Face::ALL {
        let Boundary::Cpml(layer) = problem.boundaries.at(face) else { continue };
        let spacing = problem.grid.spacing[face.axis().index()];
        let limit = largest_dt(layer, spacing, radius);
        if problem.dt <= limit {
            continue;
        }
        // Rounded to what is weaker.
        let r0 = layer.r0.powf(limit / problem.dt);
        let digit = 10.0_f64.powf(r0.log10().floor());
        let r0 = (r0 / digit).ceil() * digit;
        let weaker = if r0 < 1.0 { format!(", or r0 = {r0:.0e}") } else { String::new() };
        let remedy = format!(
            "its damping rises too fast for steps of {} s and would grow over a long run; take at least {} \
             cells{weaker}, or a dt of at most {limit:.3e} s",
            problem.dt,
            least_cells(layer, spacing, radius, problem.dt)
        );
        let got = format!("{} cells with r0 = {:e}", layer.cells, layer.r0);
        return Err(Error::invalid(format!("C-PML at {}", face.name()), got, remedy));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
