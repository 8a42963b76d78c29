//! Reciprocity, the adjoint's dot product and linearity, in a random medium between walls.
//!
//! With injection scaled by the local `c^2 dt^2` the Green's function of the scheme is symmetric:
//! source and receiver may change places, and the adjoint of a shot is a shot with sources at the
//! receivers and time reversed. Both hold to rounding, at points off the grid as well.

use ndarray::{Array1, Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, SourceTable};
use temblor_physics::{
    Arithmetic, Boundary, Face, Grid, WaveProblem, Wavelet, receiver_weights, source_weights,
};

use super::shot::{Shot, arithmetics, bound, largest, open_problem};
use crate::{CheckError, Outcome};

/// Wave speeds of the medium, m/s.
const SPEEDS: (f64, f64) = (1500.0, 3500.0);

/// Points off the grid, cells.
const POINTS: [[f64; 3]; 4] =
    [[6.3, 5.6, 4.2], [20.8, 17.1, 19.4], [12.5, 4.0, 1.3], [3.7, 18.2, 21.9]];

/// A grid between a free surface, rigid sides and a soft bottom, order 8, at 0.9 of the limit.
pub(super) fn walled(arithmetic: Arithmetic) -> Result<WaveProblem, CheckError> {
    walled_at(arithmetic, 0.9)
}

/// The same at a part of the limit.
pub(super) fn walled_at(
    arithmetic: Arithmetic,
    cfl_fraction: f64,
) -> Result<WaveProblem, CheckError> {
    let grid = Grid::new([27, 23, 26], [10.0, 11.0, 9.0], [0.0; 3])?;
    let mut problem = open_problem(grid, 8, SPEEDS.1, cfl_fraction, arithmetic)?;
    problem.boundaries.set(Face::ZMin, Boundary::Free);
    for face in [Face::XMin, Face::XMax, Face::YMin] {
        problem.boundaries.set(face, Boundary::Rigid);
    }
    Ok(problem)
}

/// Wave speeds at random on every node.
pub(super) fn random_medium(shape: [usize; 3], seed: u64) -> Array3<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || rng.random_range(SPEEDS.0..SPEEDS.1))
}

fn position(problem: &WaveProblem, cells: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|a| cells[a] * problem.grid.spacing[a])
}

/// Traces at `receivers` of sources with series, shape (step, source).
fn run(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
    sources: &[[f64; 3]],
    amplitudes: Array2<f64>,
    receivers: &[[f64; 3]],
) -> Result<Array2<f64>, CheckError> {
    let steps = amplitudes.nrows();
    let points = sources.iter().map(|&s| source_weights(problem, position(problem, s)));
    let receivers = receivers.iter().map(|&r| receiver_weights(problem, position(problem, r)));
    let shot = Shot {
        problem: problem.clone(),
        wave_speed: random_medium(problem.grid.shape, 11),
        sources: SourceTable { points: points.collect::<Result<_, _>>()?, amplitudes },
        receivers: receivers.collect::<Result<_, _>>()?,
        steps,
    };
    shot.traces(backend, variant)
}

/// A wavelet with 10 cells per wavelength in the slowest rock, shape (step, 1).
fn pulse(problem: &WaveProblem, steps: usize) -> Array2<f64> {
    let wavelet = Wavelet::ricker(SPEEDS.0 / (10.0 * 11.0));
    Array1::from(wavelet.sampled(problem.dt, steps)).insert_axis(ndarray::Axis(1))
}

pub(super) fn reciprocity(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let problem = walled(arithmetic)?;
        for (steps, single) in [(300, 2e-6), (3000, 6e-6)] {
            let (a, b) = ([POINTS[0]], [POINTS[1]]);
            let there = run(backend, variant, &problem, &a, pulse(&problem, steps), &b)?;
            let back = run(backend, variant, &problem, &b, pulse(&problem, steps), &a)?;
            let what = format!("{arithmetic:?}, {steps} steps: change over the peak");
            let change = largest(&(&there - &back)) / largest(&there);
            outcomes.push(Outcome::new(what, change, bound(arithmetic, single, 1e-13)));
        }
    }
    Ok(outcomes)
}

pub(super) fn adjoint(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    const STEPS: usize = 300;
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let problem = walled(arithmetic)?;
        let (sources, receivers) = (&POINTS[..2], &POINTS[2..]);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let model = Array2::from_shape_simple_fn((STEPS, 2), || rng.random_range(-1.0..1.0));
        let forward = run(backend, variant, &problem, sources, model.clone(), receivers)?;
        // Data that resemble the traces, so that the product is not small by chance.
        let scale = largest(&forward);
        let data = forward.mapv(|p| p + 0.3 * scale * rng.random_range(-1.0..1.0));
        let mut reversed = data.t().to_owned();
        reversed.invert_axis(ndarray::Axis(0));
        let back = run(backend, variant, &problem, receivers, reversed, sources)?;
        let forward_product: f64 = forward.iter().zip(&data).map(|(a, b)| a * b).sum();
        let adjoint_product: f64 = (0..STEPS)
            .flat_map(|n| (0..2).map(move |s| (n, s)))
            .map(|(n, s)| model[[n, s]] * back[[s, STEPS - 1 - n]])
            .sum();
        let what = format!("{arithmetic:?}: <F q, d> = {forward_product:.6e} less <q, F' d>");
        let change = (forward_product / adjoint_product - 1.0).abs();
        outcomes.push(Outcome::new(what, change, bound(arithmetic, 1e-6, 1e-13)));
    }
    Ok(outcomes)
}

pub(super) fn linearity(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    const STEPS: usize = 300;
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let problem = walled(arithmetic)?;
        let series = pulse(&problem, STEPS);
        let one = |n: usize| {
            let sources = [POINTS[n]];
            run(backend, variant, &problem, &sources, series.clone(), &POINTS[2..])
        };
        let (first, second) = (one(0)?, one(1)?);
        let both = Array2::from_shape_fn((STEPS, 2), |(n, s)| [0.7, -2.3][s] * series[[n, 0]]);
        let together = run(backend, variant, &problem, &POINTS[..2], both, &POINTS[2..])?;
        let sum = 0.7 * &first - 2.3 * &second;
        let what =
            format!("{arithmetic:?}: sum of two shots less the shot of the sum, over the peak");
        let change = largest(&(&together - &sum)) / largest(&sum);
        outcomes.push(Outcome::new(what, change, bound(arithmetic, 5e-6, 1e-13)));
    }
    Ok(outcomes)
}
