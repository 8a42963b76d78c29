//! Wavefields that a Laplacian is taken of.

use std::f64::consts::{PI, TAU};

use ndarray::Array3;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_physics::WaveProblem;

/// Independent values, uniform in -1..1.
pub(super) fn uniform(shape: [usize; 3], seed: u64) -> Array3<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || rng.random_range(-1.0..=1.0))
}

/// A direction at random, uniform over the sphere, or over the circle in 2-D (no y).
fn direction(rng: &mut impl Rng, planar: bool) -> [f64; 3] {
    let around = rng.random_range(0.0..TAU);
    let up: f64 = if planar { 0.0 } else { rng.random_range(-1.0..1.0) };
    let level = (1.0 - up * up).sqrt();
    [level * around.cos(), up, level * around.sin()]
}

/// Three plane waves of random directions and phases, `cells` of the largest spacing long, with a
/// sum of amplitudes of one.
pub(super) fn waves(problem: &WaveProblem, cells: f64, seed: u64) -> Array3<f64> {
    const COUNT: usize = 3;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let grid = &problem.grid;
    let planar = grid.shape[1] == 1;
    let spacing = grid.active_axes().map(|axis| grid.spacing[axis.index()]).fold(0.0, f64::max);
    let wave_number = 2.0 * PI / (cells * spacing);
    let all: [([f64; 3], f64); COUNT] =
        std::array::from_fn(|_| (direction(&mut rng, planar), rng.random_range(0.0..TAU)));
    Array3::from_shape_fn(grid.shape, |(i, j, k)| {
        let at = [i as f64, j as f64, k as f64];
        let sum: f64 = all
            .iter()
            .map(|(n, phase)| {
                let along: f64 = (0..3).map(|a| n[a] * at[a] * grid.spacing[a]).sum();
                (wave_number * along + phase).cos()
            })
            .sum();
        sum / COUNT as f64
    })
}
