//! Energy and time reversal, without sources and between walls.
//!
//! Leapfrog conserves `E = 1/2 |(p^(n+1) - p^n) / (c dt)|^2 - 1/2 <p^(n+1), L p^n>` and is its own
//! inverse when the two wavefields change places.

use ndarray::{Array2, Array3};
use temblor_backend::{Backend, SourceTable};
use temblor_physics::{Arithmetic, WaveProblem, boundary};

use super::shot::{Shot, advance, arithmetics, bound, fields, largest, set_fields};
use super::symmetry::{random_medium, walled, walled_at};
use crate::{CheckError, Outcome};

/// A smooth ball of pressure at rest, off the middle, 1 at its centre.
fn ball(shape: [usize; 3]) -> Array3<f64> {
    Array3::from_shape_fn(shape, |(i, j, k)| {
        let away = |n: usize, centre: f64| (n as f64 - centre).powi(2);
        (-(away(i, 11.0) + away(j, 12.5) + away(k, 10.3)) / 16.0).exp()
    })
}

/// L p with images, in double precision, with weights for unit spacing.
fn laplacian(problem: &WaveProblem, weights: &[f64], field: &Array3<f64>) -> Array3<f64> {
    let mut out = Array3::zeros(field.raw_dim());
    for axis in problem.grid.active_axes() {
        let (at, h) = (axis.index(), problem.grid.spacing[axis.index()]);
        let (min, max) = problem.ends(axis);
        let nodes = problem.grid.shape[at];
        for (index, value) in out.indexed_iter_mut() {
            let node = [index.0, index.1, index.2];
            let read = |away: isize| {
                let wanted = node[at].cast_signed() + away;
                boundary::image(wanted, nodes, &min, &max).map_or(0.0, |(n, sign)| {
                    let mut from = node;
                    from[at] = n;
                    sign * field[from]
                })
            };
            let sum = (1..weights.len()).fold(weights[0] * read(0), |sum, r| {
                sum + weights[r] * (read(r.cast_signed()) + read(-r.cast_signed()))
            });
            *value += sum / (h * h);
        }
    }
    out
}

fn resting(problem: WaveProblem) -> Shot {
    Shot {
        wave_speed: random_medium(problem.grid.shape, 23),
        problem,
        sources: SourceTable { points: Vec::new(), amplitudes: Array2::zeros((0, 0)) },
        receivers: Vec::new(),
        steps: 0,
    }
}

fn energy(shot: &Shot, weights: &[f64], [now, previous]: &[Array3<f64>; 2]) -> f64 {
    let dt = shot.problem.dt;
    let stretched = laplacian(&shot.problem, weights, previous);
    let mut sum = 0.0;
    for ((p, before), (l, c)) in
        now.iter().zip(previous).zip(stretched.iter().zip(&shot.wave_speed))
    {
        sum += ((p - before) / (c * dt)).powi(2) - p * l;
    }
    0.5 * sum
}

/// Largest relative drift of the energy at the ends of four parts of a run, the energy being that of an
/// operator with `weights`.
fn largest_drift(
    backend: &dyn Backend,
    variant: &str,
    problem: WaveProblem,
    weights: &[f64],
    steps: usize,
) -> Result<f64, CheckError> {
    let shot = resting(problem);
    let shape = shot.problem.grid.shape;
    let mut plan = shot.plan(backend, variant)?;
    let start = ball(shape);
    set_fields(plan.as_mut(), [&start, &start])?;
    advance(plan.as_mut(), 1)?;
    let first = energy(&shot, weights, &fields(plan.as_mut(), shape)?);
    let mut worst = 0.0_f64;
    for _ in 0..4 {
        advance(plan.as_mut(), steps / 4)?;
        let drift = (energy(&shot, weights, &fields(plan.as_mut(), shape)?) / first - 1.0).abs();
        worst = if drift <= worst { worst } else { drift };
    }
    Ok(worst)
}

/// The same at 0.95 of the limit, in any arithmetic.
pub(crate) fn drift_near_the_limit(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    weights: impl Fn(&WaveProblem) -> Result<Vec<f64>, CheckError>,
    steps: usize,
) -> Result<f64, CheckError> {
    let problem = walled_at(arithmetic, 0.95)?;
    let weights = weights(&problem)?;
    largest_drift(backend, variant, problem, &weights, steps)
}

pub(super) fn energy_drift(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let problem = walled(arithmetic)?;
        let weights = problem.operator.second_derivative();
        let worst = largest_drift(backend, variant, problem, &weights, 4000)?;
        let what = format!("{arithmetic:?}: relative drift of the energy over 4000 steps");
        outcomes.push(Outcome::new(what, worst, bound(arithmetic, 1e-6, 1e-13)));
    }
    Ok(outcomes)
}

pub(super) fn time_reversal(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    const STEPS: usize = 1000;
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let shot = resting(walled(arithmetic)?);
        let shape = shot.problem.grid.shape;
        let mut plan = shot.plan(backend, variant)?;
        let start = ball(shape);
        set_fields(plan.as_mut(), [&start, &start])?;
        let [start, before] = fields(plan.as_mut(), shape)?;
        advance(plan.as_mut(), STEPS)?;
        let [now, previous] = fields(plan.as_mut(), shape)?;
        set_fields(plan.as_mut(), [&previous, &now])?;
        advance(plan.as_mut(), STEPS)?;
        let [first, second] = fields(plan.as_mut(), shape)?;
        // Had nothing moved, coming back would prove nothing.
        let moved = largest(&(&now - &start)) / largest(&start);
        outcomes.push(Outcome::law(format!("{arithmetic:?}: the ball has moved"), moved > 0.1));
        let change = largest(&(&second - &start)).max(largest(&(&first - &before)));
        let what = format!("{arithmetic:?}: {STEPS} steps there and back, over the peak");
        outcomes.push(Outcome::new(what, change / largest(&start), bound(arithmetic, 5e-4, 1e-12)));
    }
    Ok(outcomes)
}
