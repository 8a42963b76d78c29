//! Point sources that inject at every step, and receivers.
//!
//! On one node each, a Ricker wavelet that begins again whenever it is over: a run of any length is
//! fed at each of its steps.

use ndarray::Array2;
use temblor_backend::{ReceiverTable, SourceTable};
use temblor_physics::{PointWeights, WaveProblem, Wavelet};

/// What a source changes p by in a step at most, where the field is of order one.
const STRENGTH: f64 = 0.1;

/// `count` receivers on nodes, spread evenly over a level in the middle of the grid.
#[must_use]
pub fn receivers(problem: &WaveProblem, count: usize) -> ReceiverTable {
    let [nx, ny, nz] = problem.grid.shape;
    // As many along y as along x, or all along x in 2-D.
    let side = if ny > 1 { count.isqrt().max(1) } else { 1 };
    let along = count.div_ceil(side).max(1);
    let node = |n: usize| [n / side * nx / along, n % side * ny / side, nz / 2];
    ReceiverTable { points: (0..count).map(|n| PointWeights::on_node(node(n))).collect() }
}

/// `count` sources for steps `0..steps`, for waves of `peak_hz`, Hz, and speeds up to `vmax`, m/s.
///
/// The first is in the middle of the grid, the others follow along x.
#[must_use]
pub fn table(
    problem: &WaveProblem,
    count: usize,
    peak_hz: f64,
    vmax: f64,
    steps: u64,
) -> SourceTable {
    let wavelet = Wavelet::ricker(peak_hz);
    let period = (wavelet.end() / problem.dt).max(1.0);
    let shape = problem.grid.shape;
    // The plan adds c^2 dt^2 w s.
    let scale = STRENGTH / (vmax * problem.dt).powi(2);
    let nodes = (0..count).map(|n| [(shape[0] / 2 + n) % shape[0], shape[1] / 2, shape[2] / 2]);
    let rows = usize::try_from(steps).unwrap_or(usize::MAX);
    let train: Vec<f64> =
        (0..rows).map(|n| scale * wavelet.amplitude((n as f64 % period) * problem.dt)).collect();
    SourceTable {
        points: nodes.map(PointWeights::on_node).collect(),
        amplitudes: Array2::from_shape_fn((rows, count), |(n, _)| train[n]),
    }
}
