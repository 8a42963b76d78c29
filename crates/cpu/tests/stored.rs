//! What reduced storage costs over thousands of steps, through the contract alone.

#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use ndarray::{Array2, Array3};
use temblor_backend::{Backend, Field, PlanOptions, Region, SourceTable};
use temblor_cpu::CpuBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Grid, Minimod, Operator, PointWeights, WaveProblem,
    Wavelet, cfl,
};

#[expect(dead_code, reason = "the example prints what is asserted here")]
#[path = "../examples/stored.rs"]
mod layered;

/// 500 steps at 0.9 of the CFL limit, when all waves have been recorded once. After 2,000 steps the
/// bounds of 5e-4, 2e-3, 5e-3 and 5e-4 are those that the storage is made for (the example prints that
/// run); errors of roundings that know nothing of each other grow with the root of their number, so a
/// quarter of the steps has to keep half of the bound. Each line of receivers alone keeps it too.
#[test]
fn traces_in_a_layered_model_keep_the_error_that_storage_is_made_for() {
    let plain = layered::traces(Arithmetic::F32, layered::cpml(), 500);
    for (name, bound) in
        [("f32+u16", 5e-4), ("int16-increment+u16", 2e-3), ("int16+u16", 5e-3), ("bf16x2", 5e-4)]
    {
        let stored = layered::traces(name.parse().unwrap(), layered::cpml(), 500);
        for (stored, plain) in stored.iter().zip(&plain) {
            let error = layered::difference(stored, plain);
            println!("{name}: {error:.2e}");
            assert!(error <= 0.5 * bound, "{name}: {error:e}");
            assert!(error > 0.0, "{name}: nothing was rounded");
        }
    }
}

/// A shot that leaves through layers on all faces: what is left after 2,000 steps, over what there was
/// when the wavelet ended, of the wavefield and of the memory variables.
fn left(arithmetic: Arithmetic, layer: Boundary) -> [f64; 2] {
    let shape = [36, 33, 40];
    let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
    let dt = 0.9 * cfl::largest_dt(&grid, &Operator::Direct { order: 8 }, 3000.0);
    let problem = WaveProblem::builder(grid, dt)
        .arithmetic(arithmetic)
        .boundaries(Boundaries::uniform(layer))
        .build()
        .unwrap();
    let options = PlanOptions::new(0, 0).speeds(2000.0, 3000.0);
    let mut plan = CpuBackend::new().propagator(&problem, &options).unwrap();
    let speed = Array3::from_shape_fn(shape, |(_, _, k)| if k < 20 { 2000.0_f32 } else { 3000.0 });
    plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into()).unwrap();
    let ricker = Wavelet::ricker(15.0);
    let amplitudes = Array2::from_shape_fn((300, 1), |(n, _)| ricker.amplitude(n as f64 * dt));
    let points = vec![PointWeights::on_node([18, 16, 19])];
    plan.set_sources(&SourceTable { points, amplitudes }).unwrap();
    let (mut largest, mut in_layers) = (0.0_f64, 0.0_f64);
    for _ in 0..30 {
        plan.advance(10).unwrap();
        let health = plan.health().unwrap();
        largest = largest.max(health.largest);
        in_layers = in_layers.max(health.largest_in_layers);
    }
    plan.advance(1700).unwrap();
    let health = plan.health().unwrap();
    assert_eq!(health.first_bad, None);
    [health.largest / largest, health.largest_in_layers / in_layers]
}

#[test]
fn layers_stay_stable_with_stored_wavefields() {
    let layers = [
        Boundary::Cpml(Cpml { cells: 8, r0: 1e-4, peak_hz: 15.0, vmax: 3000.0 }),
        Boundary::Minimod(Minimod { cells: 8, eta_peak: 0.1 }),
    ];
    for name in ["int16+u16", "int16-increment+u16", "fp16-scaled"] {
        for layer in layers {
            let left = left(name.parse().unwrap(), layer);
            println!("{name} {:?}: {left:?}", layer.cells());
            // Absorbed: less than a hundredth of what there was, and no growth in the layers.
            assert!(left.iter().all(|&ratio| ratio < 0.01), "{name} {layer:?}: {left:?}");
        }
    }
}
