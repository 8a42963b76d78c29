//! Problems, random fields and points of the tests on a card.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: a failure is a failed test, and values are chosen as f32"
)]

use ndarray::{Array2, Array3};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Field, Propagator, ReceiverTable, Region, SourceTable};
use temblor_physics::{
    AxisWeights, Boundaries, Boundary, Cpml, Grid, Minimod, PointWeights, WaveProblem, cfl,
};

pub(crate) const FASTEST: f64 = 3000.0;

pub(crate) fn cpml(cells: usize) -> Boundary {
    Boundary::Cpml(Cpml { cells, r0: 1e-6, peak_hz: 12.0, vmax: FASTEST })
}

pub(crate) fn minimod(cells: usize) -> Boundary {
    Boundary::Minimod(Minimod { cells, eta_peak: 0.3 })
}

pub(crate) fn problem(shape: [usize; 3], order: usize, boundaries: Boundaries) -> WaveProblem {
    let grid = Grid::new(shape, [10.0, 12.0, 9.0], [0.0; 3]).unwrap();
    let operator = temblor_physics::Operator::Direct { order };
    let dt = 0.9 * cfl::largest_dt(&grid, &operator, FASTEST);
    WaveProblem::builder(grid, dt).order(order).boundaries(boundaries).build().unwrap()
}

pub(crate) fn random(rng: &mut ChaCha8Rng, shape: [usize; 3], low: f64, high: f64) -> Array3<f64> {
    Array3::from_shape_fn((shape[0], shape[1], shape[2]), |_| {
        f64::from(rng.random_range(low..high) as f32)
    })
}

pub(crate) fn tables(
    rng: &mut ChaCha8Rng,
    shape: [usize; 3],
    steps: usize,
) -> (SourceTable, ReceiverTable) {
    let mut point = |wide: usize| {
        let axes = shape.map(|n| {
            let count = wide.min(n);
            let first = rng.random_range(0..=n - count);
            AxisWeights {
                first,
                weights: (0..count).map(|_| rng.random_range(-1.0..1.0)).collect(),
            }
        });
        PointWeights { axes }
    };
    let sources = vec![point(8), point(1), point(8), point(3)];
    let receivers = vec![point(8), point(1), point(2)];
    let amplitudes = Array2::from_shape_fn((steps - 1, 4), |_| rng.random_range(-1e-3..1e-3));
    (SourceTable { points: sources, amplitudes }, ReceiverTable { points: receivers })
}

pub(crate) fn download(plan: &mut dyn Propagator, field: Field, shape: [usize; 3]) -> Array3<f64> {
    let mut values = Array3::zeros((shape[0], shape[1], shape[2]));
    plan.download(field, Region::whole(shape), values.view_mut().into()).unwrap();
    values
}
