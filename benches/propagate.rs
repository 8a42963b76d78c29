//! Steps per second of every variant of `cpu`: `acoustic_iso/cpu/<variant>/<shape>`.
//!
//! Random fields, order 8, with and without 20 cells of C-PML; throughput in points per second.
//! `benches/compare.rs` sets the figures beside the machine's roofs and beside Devito.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor::backend::{Backend, Field, PlanOptions, Region};
use temblor::cpu::CpuBackend;
use temblor::physics::{Boundaries, Boundary, Cpml, Grid, WaveProblem};

const STEPS: u32 = 4;

fn propagate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("acoustic_iso");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    let layer = Boundary::Cpml(Cpml { cells: 20, r0: 1e-6, peak_hz: 20.0, vmax: 3000.0 });
    for (shape, boundary, suffix) in [
        ([128, 128, 128], Boundary::Zero, ""),
        ([256, 256, 256], Boundary::Zero, ""),
        ([256, 256, 256], layer, "_cpml20"),
        ([801, 1, 201], Boundary::Zero, ""),
    ] {
        let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).expect("a plain grid");
        let problem = WaveProblem::builder(grid, 1e-3)
            .boundaries(Boundaries::uniform(boundary))
            .build()
            .expect("layers fit");
        let backend = CpuBackend::new();
        for variant in backend.variants(&problem).expect("f32 is supported") {
            let options = PlanOptions::default().variant(&variant.name);
            let mut plan = backend.propagator(&problem, &options).expect("it fits memory");
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let mut random = |low: f32, high: f32| {
                Array3::from_shape_simple_fn(shape, || rng.random_range(low..high))
            };
            let (speed, p) = (random(1500.0, 3000.0), random(-0.5, 0.5));
            let whole = Region::whole(shape);
            plan.upload(Field::WaveSpeed, whole, speed.view().into()).expect("shapes agree");
            plan.upload(Field::Pressure, whole, p.view().into()).expect("shapes agree");
            group.throughput(Throughput::Elements(grid.points() * u64::from(STEPS)));
            let [nx, ny, nz] = shape;
            let name = format!("cpu/{}/{nx}x{ny}x{nz}{suffix}", variant.name);
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    plan.advance(STEPS).expect("all is set");
                    plan.synchronize().expect("no fault");
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, propagate);
criterion_main!(benches);
