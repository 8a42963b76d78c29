//! One application of a plan's Laplacian, seen from outside.
//!
//! With p- = 2p a step leaves `c^2 dt^2 L p` alone. The wave speed is such that `c dt` is a power of
//! two, which no rounding changes; as a multiple of a two-byte wave speed's unit it is exact too.

use ndarray::Array3;
use temblor_backend::{Backend, Field, PlanOptions, Propagator, Region};
use temblor_physics::{Arithmetic, Boundaries, Boundary, Grid, Operator, WaveProblem};

use crate::CheckError;

/// c, m/s.
pub(super) const WAVE_SPEED: f64 = 2048.0;

/// dt, s: c dt is 4 m.
pub(super) const DT: f64 = 1.0 / 512.0;

/// Least and largest wave speed that options name, m/s: 65535 units of 1/16.
pub(super) const RANGE: [f64; 2] = [WAVE_SPEED - 62.5, WAVE_SPEED - 62.5 + 65535.0 / 16.0];

/// A problem without boundaries.
pub(super) fn problem(
    shape: [usize; 3],
    spacing: [f64; 3],
    operator: Operator,
    arithmetic: Arithmetic,
) -> Result<WaveProblem, CheckError> {
    let grid = Grid::new(shape, spacing, [0.0; 3])?;
    Ok(WaveProblem::builder(grid, DT)
        .operator(operator)
        .arithmetic(arithmetic)
        .boundaries(Boundaries::uniform(Boundary::Zero))
        .build()?)
}

/// A plan with the wave speed set.
pub(super) fn plan(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
) -> Result<Box<dyn Propagator>, CheckError> {
    let options = PlanOptions::new(0, 0).variant(variant).speeds(RANGE[0], RANGE[1]);
    let mut plan = backend.propagator(problem, &options)?;
    let speed = Array3::from_elem(problem.grid.shape, WAVE_SPEED);
    plan.upload(Field::WaveSpeed, Region::whole(problem.grid.shape), speed.view().into())?;
    Ok(plan)
}

/// p as a plan holds it, and the p+ that a step from p and 2p leaves.
pub(super) fn step(
    plan: &mut dyn Propagator,
    p: &Array3<f64>,
) -> Result<[Array3<f64>; 2], CheckError> {
    let (x, y, z) = p.dim();
    let whole = Region::whole([x, y, z]);
    plan.upload(Field::Pressure, whole, p.view().into())?;
    let mut held = Array3::<f64>::zeros(p.raw_dim());
    plan.download(Field::Pressure, whole, held.view_mut().into())?;
    // Twice what any storage holds it holds as well: neither field is rounded again.
    let twice = &held * 2.0;
    plan.upload(Field::Pressure, whole, held.view().into())?;
    plan.upload(Field::PressurePrevious, whole, twice.view().into())?;
    plan.advance(1)?;
    let mut next = Array3::<f64>::zeros(p.raw_dim());
    plan.download(Field::Pressure, whole, next.view_mut().into())?;
    Ok([held, next])
}

/// p as a plan holds it, and L p as it computes it, 1/m^2 of p.
pub(super) fn laplacian(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
    p: &Array3<f64>,
) -> Result<[Array3<f64>; 2], CheckError> {
    let mut plan = plan(backend, variant, problem)?;
    let [held, mut next] = step(plan.as_mut(), p)?;
    next /= (WAVE_SPEED * DT).powi(2);
    Ok([held, next])
}
