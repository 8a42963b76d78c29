//! Pieces beside the time step, each alone: `points/...` and `layers/...`, a few seconds in all.
//!
//! Recording, injection and layers have no entry of their own in the contract, so a pair of plans is
//! measured that differs in them alone, as `without` and `with`; what a piece costs is the
//! difference. SEG-Y has its own bench: `cargo bench -p temblor-io --bench segy`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor::backend::{
    Backend, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor::cpu::CpuBackend;
use temblor::physics::interpolate::receiver_weights;
use temblor::physics::{Boundaries, Boundary, Cpml, Grid, PointWeights, WaveProblem};

const SHAPE: [usize; 3] = [96, 96, 96];
const STEPS: usize = 4;
const POINTS: usize = 1000;

fn problem(boundary: Boundary) -> WaveProblem {
    let grid = Grid::new(SHAPE, [10.0; 3], [0.0; 3]).expect("a plain grid");
    let boundaries = Boundaries::uniform(boundary);
    WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build().expect("layers fit")
}

/// Points off the grid, 100 m from its faces so that no weight is cut.
fn positions() -> Vec<[f64; 3]> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut along = || rng.random_range(100.0..850.0);
    (0..POINTS).map(|_| std::array::from_fn(|_| along())).collect()
}

fn points(problem: &WaveProblem) -> Vec<PointWeights> {
    let weights = |at: &[f64; 3]| receiver_weights(problem, *at).expect("it is inside");
    positions().iter().map(weights).collect()
}

/// A plan with random fields.
fn plan(problem: &WaveProblem, receivers: usize) -> Box<dyn Propagator> {
    let options = PlanOptions::new(receivers, STEPS).variant("blocked");
    let mut plan = CpuBackend::new().propagator(problem, &options).expect("it fits memory");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut random =
        |low: f32, high: f32| Array3::from_shape_simple_fn(SHAPE, || rng.random_range(low..high));
    let (speed, p) = (random(1500.0, 3000.0), random(-0.5, 0.5));
    let whole = Region::whole(SHAPE);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).expect("shapes agree");
    plan.upload(Field::Pressure, whole, p.view().into()).expect("shapes agree");
    plan
}

fn advance(plan: &mut dyn Propagator) {
    plan.advance(u32::try_from(STEPS).expect("a few")).expect("all is set");
    black_box(plan.traces().expect("no fault"));
}

fn pieces(criterion: &mut Criterion) {
    let bare = problem(Boundary::Zero);
    let mut group = criterion.benchmark_group("points");
    group.sample_size(20).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements(POINTS as u64));
    let at = positions();
    group.bench_function("weights_off_grid", |bencher| {
        bencher.iter(|| {
            for position in &at {
                black_box(receiver_weights(&bare, *position).expect("it is inside"));
            }
        });
    });
    group.throughput(Throughput::Elements((POINTS * STEPS) as u64));
    let mut without = plan(&bare, 0);
    group.bench_function("steps_without", |bencher| bencher.iter(|| advance(without.as_mut())));
    let mut recording = plan(&bare, POINTS);
    let receivers = ReceiverTable { points: points(&bare) };
    recording.set_receivers(&receivers).expect("as planned");
    group.bench_function("steps_with_recording", |bencher| {
        bencher.iter(|| advance(recording.as_mut()));
    });
    let mut injecting = plan(&bare, 0);
    // Beyond its end a table injects nothing: long enough for all that is measured.
    let amplitudes = Array2::from_elem((8_000, POINTS), 1e-6);
    let sources = SourceTable { points: points(&bare), amplitudes };
    injecting.set_sources(&sources).expect("inside");
    group.bench_function("steps_with_injection", |bencher| {
        bencher.iter(|| advance(injecting.as_mut()));
    });
    group.finish();

    let mut group = criterion.benchmark_group("layers");
    group.sample_size(20).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements(bare.grid.points() * STEPS as u64));
    group.bench_function("steps_without", |bencher| bencher.iter(|| advance(without.as_mut())));
    let layer = Boundary::Cpml(Cpml { cells: 20, r0: 1e-6, peak_hz: 20.0, vmax: 3000.0 });
    let mut damped = plan(&problem(layer), 0);
    group.bench_function("steps_with_cpml20", |bencher| bencher.iter(|| advance(damped.as_mut())));
    group.finish();
}

criterion_group!(benches, pieces);
criterion_main!(benches);
