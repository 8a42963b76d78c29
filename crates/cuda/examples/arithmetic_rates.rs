//! Rates of steps by digits at 800^3 beside FP32 and the measured one-step roof, in one process, with the
//! error of the Laplacian beside each. One JSON object per line.
//! `cargo run --release -p temblor-cuda --example arithmetic_rates [nodes] [seconds]`: nothing new is begun
//! after so many seconds (40).
//!
//! Whole steps over wall time, median of ten batches, random data, no layer.

mod rates;

use std::time::{Duration, Instant};

use ndarray::Array3;
use temblor_backend::{Backend, Field, PlanOptions, Propagator, Region, Result};
use temblor_cuda::CudaBackend;
use temblor_physics::{Arithmetic, Grid, Operator, WaveProblem, cfl};

use rates::{noise, one_step_roof};

const STEPS: u32 = 32;
const BATCHES: usize = 10;

/// Arithmetic, variant, parameters.
type Subject = (Arithmetic, &'static str, Vec<(&'static str, u32)>);

fn options(subject: &Subject) -> PlanOptions {
    let parameters = subject.2.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    PlanOptions::new(0, 0).variant(subject.1).parameters(parameters)
}

/// Points per second.
fn rate(backend: &CudaBackend, nodes: usize, subject: &Subject) -> Result<f64> {
    let grid = Grid::new([nodes; 3], [10.0; 3], [0.0; 3])?;
    let dt = 0.5 * cfl::largest_dt(&grid, &Operator::Direct { order: 8 }, 4500.0);
    let problem = WaveProblem::builder(grid, dt).arithmetic(subject.0).build()?;
    let mut plan = backend.propagator(&problem, &options(subject))?;
    let slab = 32.min(nodes);
    let speed = noise([slab, nodes, nodes], 1500.0, 4500.0);
    let wave = noise([slab, nodes, nodes], -1.0, 1.0);
    for first in (0..nodes).step_by(slab) {
        let count = slab.min(nodes - first);
        let region = Region::slab([nodes; 3], first, count);
        let part = ndarray::s![..count, .., ..];
        plan.upload(Field::WaveSpeed, region, speed.slice(part).into())?;
        plan.upload(Field::Pressure, region, wave.slice(part).into())?;
    }
    let mut rates = Vec::new();
    let began = Instant::now();
    for batch in 0..=BATCHES {
        // Plain kernels take seconds a batch.
        if batch > 3 && began.elapsed() > Duration::from_secs(4) {
            break;
        }
        plan.synchronize()?;
        let start = Instant::now();
        plan.advance(STEPS)?;
        plan.synchronize()?;
        rates.push(f64::from(STEPS) * nodes.pow(3) as f64 / start.elapsed().as_secs_f64());
    }
    let health = plan.health()?;
    if health.first_bad.is_some() || health.largest == 0.0 {
        eprintln!("{subject:?}: bad field {health:?}");
    }
    rates.remove(0);
    rates.sort_by(f64::total_cmp);
    Ok(rates[rates.len() / 2])
}

/// Relative root mean square error of the Laplacian on uniform data, without what lies near the faces.
fn error(backend: &CudaBackend, subject: &Subject) -> Result<f64> {
    const N: usize = 80;
    let grid = Grid::new([N; 3], [1.0; 3], [0.0; 3])?;
    let problem = WaveProblem::builder(grid, 0.125).arithmetic(subject.0).build()?;
    let mut plan: Box<dyn Propagator> = backend.propagator(&problem, &options(subject))?;
    let whole = Region::whole([N; 3]);
    let p = noise([N; 3], -1.0, 1.0);
    plan.upload(Field::WaveSpeed, whole, Array3::from_elem((N, N, N), 8.0_f32).view().into())?;
    plan.upload(Field::Pressure, whole, p.view().into())?;
    plan.upload(Field::PressurePrevious, whole, (2.0 * &p).view().into())?;
    plan.advance(1)?;
    let mut got = Array3::<f32>::zeros((N, N, N));
    plan.download(Field::Pressure, whole, got.view_mut().into())?;
    let weights = problem.operator.second_derivative();
    let radius = weights.len() - 1;
    let inner = radius..N - radius;
    let (mut wrong, mut all) = (0.0, 0.0);
    for i in inner.clone() {
        for j in inner.clone() {
            for k in inner.clone() {
                let at = |x: usize, y: usize, z: usize| f64::from(p[[x, y, z]]);
                let mut want = 3.0 * weights[0] * at(i, j, k);
                for (r, weight) in weights.iter().enumerate().skip(1) {
                    let along = at(i - r, j, k) + at(i + r, j, k) + at(i, j - r, k);
                    want += weight * (along + at(i, j + r, k) + at(i, j, k - r) + at(i, j, k + r));
                }
                wrong += (f64::from(got[[i, j, k]]) - want).powi(2);
                all += want * want;
            }
        }
    }
    Ok((wrong / all).sqrt())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let nodes = arguments.next().unwrap_or(800);
    let seconds = arguments.next().unwrap_or(40);
    let start = Instant::now();
    let backend = CudaBackend::new(0)?;
    let device = backend.device();
    println!(
        "{{\"device\":\"{}\",\"driver\":\"{}\",\"nodes\":{nodes}}}",
        device.name, device.driver
    );
    let roof = one_step_roof(&backend, nodes.pow(3))?;
    println!("{{\"roof_gpts\":{:.1}}}", roof / 1e9);
    let named = |name: &str| name.parse::<Arithmetic>().map_err(temblor_backend::Error::from);
    let (full, trimmed) = (named("int8-2x3")?, named("int8-2x3:trim=1")?);
    let tile = |arithmetic, variant, tile, planes| -> Subject {
        (arithmetic, variant, vec![("tile", tile), ("planes", planes)])
    };
    let mut subjects: Vec<Subject> = vec![
        (Arithmetic::F32, "wide", vec![]),
        (Arithmetic::F32, "tma", vec![]),
        (full, "ozaki_mma", vec![]),
        tile(full, "ozaki_dp4a", 16064, 64),
    ];
    let counts =
        [trimmed, named("int8-2x2")?, named("int8-1x1")?, named("int8-1x2")?, named("int8-3x3")?];
    subjects.extend(counts.map(|arithmetic| (arithmetic, "ozaki_mma", vec![])));
    subjects.push((named("bf16-2x3")?, "ozaki_mma", vec![]));
    subjects.push((full, "ozaki_plain", vec![]));
    subjects.extend(counts.map(|arithmetic| (arithmetic, "ozaki_dp4a", vec![])));
    for size in [8064, 16032, 32032, 32064] {
        subjects.push(tile(full, "ozaki_dp4a", size, 64));
    }
    subjects.push((full, "ozaki_mma", vec![("planes", 32)]));
    for subject in &subjects {
        if start.elapsed() > Duration::from_secs(seconds as u64) {
            println!("{{\"left_out\":\"{} {} {:?}\"}}", subject.0, subject.1, subject.2);
            continue;
        }
        match rate(&backend, nodes, subject).and_then(|rate| Ok((rate, error(&backend, subject)?)))
        {
            Ok((rate, error)) => println!(
                "{{\"arithmetic\":\"{}\",\"variant\":\"{}\",\"parameters\":\"{:?}\",\"gpts\":{:.1},\"of_roof\":{:.3},\"error\":{error:.2e}}}",
                subject.0,
                subject.1,
                subject.2,
                rate / 1e9,
                rate / roof
            ),
            Err(error) => println!("{} {} {:?}: {error}", subject.0, subject.1, subject.2),
        }
    }
    Ok(())
}
