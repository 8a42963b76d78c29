//! Errors of traces by storage, in a layered model, or speeds beside FP32: `cargo run --release -p
//! temblor-cpu --example stored -- [STEPS|speed]`.
//!
//! 64 x 60 x 72 nodes 10 m apart, five layers from 1500 to 4500 m/s, C-PML of 10 cells on all faces, a
//! Ricker wavelet of 12 Hz, steps of 0.9 times the CFL limit; receivers on a line near the surface and
//! on one inside. Traces are compared with those of FP32 and the unrounded wave speed, relative L2 of
//! each line.

#![expect(clippy::unwrap_used, reason = "an example may end with an error's text")]
#![expect(clippy::cast_possible_truncation, reason = "fields are f32")]

use ndarray::{Array2, Array3, s};
use temblor_backend::{
    Backend, Field, PlanOptions, ReceiverTable, Region, SourceTable, tables::TraceSamples,
};
use temblor_cpu::CpuBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Grid, Operator, PointWeights, WaveProblem, Wavelet, cfl,
};

const SHAPE: [usize; 3] = [64, 60, 72];
const PEAK_HZ: f64 = 12.0;
/// Wave speed of each layer, m/s, and the node that it starts at.
const LAYERS: [(usize, f64); 5] =
    [(0, 1500.0), (16, 1873.3), (28, 2614.7), (40, 3391.9), (54, 4500.0)];

/// The layer on all faces.
pub(crate) const fn cpml() -> Boundary {
    Boundary::Cpml(Cpml { cells: 10, r0: 1e-6, peak_hz: PEAK_HZ, vmax: 4500.0 })
}

/// Traces, shape (receiver, step), of both lines together and of each.
pub(crate) fn traces(arithmetic: Arithmetic, boundary: Boundary, steps: u32) -> [Array2<f32>; 3] {
    let grid = Grid::new(SHAPE, [10.0; 3], [0.0; 3]).unwrap();
    let dt = 0.9 * cfl::largest_dt(&grid, &Operator::Direct { order: 8 }, 4500.0);
    let problem = WaveProblem::builder(grid, dt)
        .arithmetic(arithmetic)
        .boundaries(Boundaries::uniform(boundary))
        .build()
        .unwrap();
    let surface = (12..52).step_by(4).map(|i| PointWeights::on_node([i, 30, 13]));
    let inside = (12..52).step_by(4).map(|i| PointWeights::on_node([i, 24, 46]));
    let points: Vec<_> = surface.chain(inside).collect();
    let options = PlanOptions::new(points.len(), steps as usize).speeds(1500.0, 4500.0);
    let mut plan = CpuBackend::new().propagator(&problem, &options).unwrap();
    let speed = Array3::from_shape_fn(SHAPE, |(_, _, k)| {
        LAYERS.iter().rev().find(|(first, _)| k >= *first).unwrap().1 as f32
    });
    plan.upload(Field::WaveSpeed, Region::whole(SHAPE), speed.view().into()).unwrap();
    let ricker = Wavelet::ricker(PEAK_HZ);
    // So that pressures at receivers are between 1 and 100, where halves are best.
    let amplitudes = Array2::from_shape_fn((steps as usize, 1), |(n, _)| {
        100.0 * ricker.amplitude(n as f64 * dt)
    });
    plan.set_sources(&SourceTable {
        points: vec![PointWeights::on_node([30, 30, 14])],
        amplitudes,
    })
    .unwrap();
    let count = points.len();
    plan.set_receivers(&ReceiverTable { points }).unwrap();
    plan.advance(steps).unwrap();
    let TraceSamples::F32(samples) = plan.traces().unwrap().samples else { panic!("f32") };
    let surface = samples.slice(s![..count / 2, ..]).to_owned();
    let inside = samples.slice(s![count / 2.., ..]).to_owned();
    [samples, surface, inside]
}

/// Relative L2 difference.
pub(crate) fn difference(a: &Array2<f32>, b: &Array2<f32>) -> f64 {
    let square = |v: f32| f64::from(v).powi(2);
    let energy: f64 = b.iter().map(|&v| square(v)).sum();
    let error: f64 = a.iter().zip(b).map(|(a, b)| square(a - b)).sum();
    (error / energy).sqrt()
}

/// Prints rates at 256^3 without layers, best of rounds in which all take turns, and memory.
fn speed() {
    const SIDE: [usize; 3] = [256; 3];
    const STEPS: u32 = 4;
    let backend = CpuBackend::new();
    let grid = Grid::new(SIDE, [10.0; 3], [0.0; 3]).unwrap();
    let run = |name: &str| {
        let arithmetic = name.parse().unwrap();
        let problem = WaveProblem::builder(grid, 1e-3).arithmetic(arithmetic).build().unwrap();
        let mut options = PlanOptions::new(0, 0).speeds(2000.0, 3000.0);
        options.variant = (name == "f32").then(|| "blocked".into());
        let bytes = backend.footprint(&problem, &options).unwrap().total();
        let mut plan = backend.propagator(&problem, &options).unwrap();
        let slab = Array3::from_elem([1, SIDE[1], SIDE[2]], 2500.0_f32);
        let ramp = Array3::from_shape_fn([1, SIDE[1], SIDE[2]], |(_, j, k)| (j * k % 97) as f32);
        for i in 0..SIDE[0] {
            let region = Region::slab(SIDE, i, 1);
            plan.upload(Field::WaveSpeed, region, slab.view().into()).unwrap();
            plan.upload(Field::Pressure, region, ramp.view().into()).unwrap();
            plan.upload(Field::PressurePrevious, region, ramp.view().into()).unwrap();
        }
        plan.advance(2).unwrap();
        (name.to_owned(), bytes, plan, f64::INFINITY)
    };
    let names =
        ["f32", "f32+u16", "int16", "int16+u16", "int16-increment+u16", "fp16+u16", "bf16+u16"];
    let mut plans: Vec<_> = names.into_iter().map(run).collect();
    for _ in 0..12 {
        for (_, _, plan, best) in &mut plans {
            let start = std::time::Instant::now();
            plan.advance(STEPS).unwrap();
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let points = f64::from(STEPS) * grid.points() as f64;
    let plain = plans[0].3;
    println!("{} threads, {}", rayon::current_num_threads(), backend.device().name);
    println!("{:20} {:>8} {:>8} {:>8}", "storage", "Gpts/s", "ratio", "MiB");
    for (name, bytes, _, best) in &plans {
        let (rate, mib) = (points / best * 1e-9, *bytes as f64 / f64::from(1 << 20));
        println!("{name:20} {rate:8.3} {:8.2} {mib:8.0}", plain / best);
    }
}

fn main() {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("speed") {
        return speed();
    }
    let steps = argument.map_or(2000, |text| text.parse().unwrap());
    let names = [
        "f32+u16",
        "int16-increment",
        "int16-increment+u16",
        "int16",
        "int16+u16",
        "bf16x2",
        "bf16x2+u16",
        "fp16-scaled",
        "fp16-scaled+u16",
        "fp16",
        "bf16",
        "bf16+u16",
    ];
    println!("{:20} {:>29} {:>29}", "", "C-PML", "rigid box");
    let columns = "      all   surface    inside";
    println!("{:20} {columns:>29} {columns:>29}", "storage");
    let boundaries = [cpml(), Boundary::Rigid];
    let plain = boundaries.map(|boundary| traces(Arithmetic::F32, boundary, steps));
    for name in names {
        print!("{name:20}");
        for (boundary, plain) in boundaries.into_iter().zip(&plain) {
            let stored = traces(name.parse().unwrap(), boundary, steps);
            for (stored, plain) in stored.iter().zip(plain) {
                print!(" {:9.1e}", difference(stored, plain));
            }
        }
        println!();
    }
}
