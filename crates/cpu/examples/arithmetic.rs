//! What every arithmetic of `cpu` does over time, as a Markdown table: drift of the energy over 10^4 steps
//! at 0.95 of the CFL limit in a closed box, error of a Green's function, and what is left after 10^5
//! steps in small boxes with absorbing layers. `cargo run --release -p temblor-cpu --example arithmetic [NAME...]`
//!
//! Leapfrog keeps `E = 1/2 |(p^n - p^(n-1)) / (c dt)|^2 - 1/2 <p^n, L p^(n-1)>` but for rounding, with the
//! operator that the arithmetic has: that of its digits.

#![allow(clippy::unwrap_used, reason = "an example fails by panicking")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fields are f32")]

use ndarray::{Array2, Array3};
use temblor_backend::{
    Backend, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_cpu::CpuBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Grid, Minimod, Operator, PointWeights,
    QuantisedOperator, WaveProblem, Wavelet, cfl, greens,
};

const SPEED: f64 = 2000.0;
const H: f64 = 10.0;
const ORDER_8: Operator = Operator::Direct { order: 8 };

const NAMES: [&str; 15] = [
    "f32",
    "f32+u16",
    "int16+u16",
    "int16-increment+u16",
    "bf16x2",
    "fp16",
    "fp16-scaled",
    "bf16",
    "int8-1x1",
    "int8-1x2",
    "int8-2x2",
    "int8-2x3",
    "int8-3x3",
    "int8-2x3:trim=1",
    "bf16-2x3",
];

/// Those that are stepped 10^5 times.
const LONGEST: [&str; 5] = ["f32", "f32+u16", "int16+u16", "int16-increment+u16", "int8-2x3"];

fn problem(
    shape: [usize; 3],
    fraction: f64,
    boundary: Boundary,
    arithmetic: Arithmetic,
) -> WaveProblem {
    let grid = Grid::new(shape, [H; 3], [0.0; 3]).unwrap();
    let dt = fraction * cfl::largest_dt(&grid, &ORDER_8, SPEED);
    let builder = WaveProblem::builder(grid, dt).arithmetic(arithmetic);
    builder.boundaries(Boundaries::uniform(boundary)).build().unwrap()
}

fn plan(problem: &WaveProblem, receivers: usize, steps: usize) -> Box<dyn Propagator> {
    let options = PlanOptions::new(receivers, steps).speeds(1500.0, 4500.0);
    let mut plan = CpuBackend::new().propagator(problem, &options).unwrap();
    let shape = problem.grid.shape;
    let speed = Array3::from_elem((shape[0], shape[1], shape[2]), SPEED as f32);
    plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into()).unwrap();
    plan
}

/// A smooth ball of pressure at rest, off the middle.
fn ball(shape: [usize; 3]) -> Array3<f32> {
    let centre = shape.map(|n| 0.45 * n as f64);
    Array3::from_shape_fn((shape[0], shape[1], shape[2]), |(i, j, k)| {
        let away = [i, j, k].into_iter().zip(centre).map(|(n, c)| (n as f64 - c).powi(2));
        (-away.sum::<f64>() / 16.0).exp() as f32
    })
}

fn set(plan: &mut dyn Propagator, shape: [usize; 3]) {
    let (whole, start) = (Region::whole(shape), ball(shape));
    plan.upload(Field::Pressure, whole, start.view().into()).unwrap();
    plan.upload(Field::PressurePrevious, whole, start.view().into()).unwrap();
}

fn fields(plan: &mut dyn Propagator, shape: [usize; 3]) -> [Array3<f64>; 2] {
    [Field::Pressure, Field::PressurePrevious].map(|field| {
        let mut host = Array3::<f32>::zeros((shape[0], shape[1], shape[2]));
        plan.download(field, Region::whole(shape), host.view_mut().into()).unwrap();
        host.mapv(f64::from)
    })
}

/// Energy of p^n and p^(n-1), zero beyond the box.
fn energy(weights: &[f64], dt: f64, [now, before]: &[Array3<f64>; 2]) -> f64 {
    let (nx, ny, nz) = now.dim();
    let at = |i: isize, j: isize, k: isize| {
        let inside = |n: isize, count: usize| (0..count.cast_signed()).contains(&n);
        if inside(i, nx) && inside(j, ny) && inside(k, nz) {
            before[[i.cast_unsigned(), j.cast_unsigned(), k.cast_unsigned()]]
        } else {
            0.0
        }
    };
    let mut sum = 0.0;
    for ((i, j, k), &p) in now.indexed_iter() {
        let [i, j, k] = [i, j, k].map(usize::cast_signed);
        let mut lap = 3.0 * weights[0] * at(i, j, k);
        for (r, w) in weights.iter().enumerate().skip(1) {
            let r = r.cast_signed();
            let along_x = at(i - r, j, k) + at(i + r, j, k);
            let along_y = at(i, j - r, k) + at(i, j + r, k);
            lap += w * (along_x + along_y + at(i, j, k - r) + at(i, j, k + r));
        }
        sum += ((p - at(i, j, k)) / (SPEED * dt)).powi(2) - p * lap / (H * H);
    }
    0.5 * sum
}

/// Largest relative change of the energy over 10^4 steps, looked at every 1000.
fn drift(arithmetic: Arithmetic) -> f64 {
    let shape = [27, 23, 26];
    let problem = problem(shape, 0.95, Boundary::Zero, arithmetic);
    let weights = match arithmetic {
        Arithmetic::Digits(d) => QuantisedOperator::new(&ORDER_8, d.operator).unwrap().weights(),
        _ => ORDER_8.second_derivative(),
    };
    let mut plan = plan(&problem, 0, 0);
    set(plan.as_mut(), shape);
    plan.advance(1).unwrap();
    let first = energy(&weights, problem.dt, &fields(plan.as_mut(), shape));
    let mut worst = 0.0_f64;
    for _ in 0..10 {
        plan.advance(1000).unwrap();
        let now = energy(&weights, problem.dt, &fields(plan.as_mut(), shape));
        let change = (now / first - 1.0).abs();
        worst = if change <= worst { worst } else { change };
    }
    worst
}

/// A trace of a Ricker wavelet, 8 cells per wavelength at its peak, 20 cells away, and the exact one.
fn green(arithmetic: Arithmetic) -> [Vec<f64>; 2] {
    let (half, offset) = (36, [14, 9, 11]);
    let problem = problem([2 * half + 1; 3], 0.95, Boundary::Zero, arithmetic);
    let wavelet = Wavelet::ricker(SPEED / (8.0 * H));
    let distance = offset.iter().map(|&o: &usize| (o as f64 * H).powi(2)).sum::<f64>().sqrt();
    let duration = distance / SPEED + wavelet.end();
    let steps = (duration / problem.dt).ceil() as usize;
    let mut plan = plan(&problem, 1, steps);
    let mut point = PointWeights::on_node([half; 3]);
    point.axes[0].weights[0] = 1.0 / problem.grid.cell_measure();
    let series = wavelet.sampled(problem.dt, steps);
    let amplitudes = Array2::from_shape_fn((steps, 1), |(n, _)| series[n]);
    plan.set_sources(&SourceTable { points: vec![point], amplitudes }).unwrap();
    let at = offset.map(|o| half + o);
    plan.set_receivers(&ReceiverTable { points: vec![PointWeights::on_node(at)] }).unwrap();
    plan.advance(steps as u32).unwrap();
    let got = plan.traces().unwrap().samples.to_f64().iter().copied().collect();
    let images = [(1.0, distance)];
    let exact = (0..steps)
        .map(|n| greens::with_images(3, &wavelet, SPEED, &images, n as f64 * problem.dt))
        .collect();
    [got, exact]
}

fn relative(a: &[f64], b: &[f64]) -> f64 {
    let off: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    (off / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

/// Largest |p| and memory variable after 10^5 steps in a box with layers, over the start's 1.
fn left_over(arithmetic: Arithmetic, boundary: Boundary) -> f64 {
    let shape = [26, 24, 28];
    // A layer of few cells is not stable for so long at more of the limit, in FP32 either.
    let problem = problem(shape, 0.9, boundary, arithmetic);
    let mut plan = plan(&problem, 0, 0);
    set(plan.as_mut(), shape);
    let mut largest = 0.0;
    for _ in 0..10 {
        plan.advance(10_000).unwrap();
        let health = plan.health().unwrap();
        assert!(health.first_bad.is_none(), "{arithmetic}: {health:?}");
        largest = health.largest;
    }
    largest
}

fn main() {
    println!("| arithmetic | energy | Green, exact | Green, `f32` | C-PML | Minimod |");
    println!("|---|---|---|---|---|---|");
    let [single, _] = green(Arithmetic::F32);
    let cpml = Boundary::Cpml(Cpml { cells: 8, r0: 1e-4, peak_hz: 25.0, vmax: SPEED });
    let minimod = Boundary::Minimod(Minimod { cells: 8, eta_peak: 0.05 });
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for name in NAMES {
        if !wanted.is_empty() && wanted.iter().all(|other| other != name) {
            continue;
        }
        let arithmetic: Arithmetic = name.parse().unwrap();
        let energy = drift(arithmetic);
        let [got, exact] = green(arithmetic);
        let [to_exact, to_single] = [relative(&got, &exact), relative(&got, &single)];
        print!("| `{name}` | {energy:.1e} | {to_exact:.2e} | {to_single:.1e} |");
        if LONGEST.contains(&name) {
            let [a, b] = [cpml, minimod].map(|boundary| left_over(arithmetic, boundary));
            println!(" {a:.1e} | {b:.1e} |");
        } else {
            println!(" | |");
        }
    }
}
