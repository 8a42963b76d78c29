//! Rates of reduced storage beside the measured one-step roof and single precision, in one process; one
//! line per case. `cargo run --release -p temblor-cuda --example storage_rates [nodes] [seconds]`: cubes
//! of 800 nodes along an axis unless told otherwise; no case begins after 40 s.
//!
//! Rates are whole steps of a plan over wall time, median of ten batches, random data; nodes include
//! layers. The roof moves 16 B per point.

mod rates;

use std::time::{Duration, Instant};

use ndarray::Array3;
use temblor_backend::{Backend, Field, PlanOptions, Region, Result};
use temblor_cuda::CudaBackend;
use temblor_physics::{Boundaries, Boundary, Cpml, Grid, Operator, WaveProblem, cfl};

use rates::{noise, one_step_roof};

const SPEEDS: [f32; 2] = [1500.0, 4500.0];

struct Case {
    arithmetic: &'static str,
    variant: &'static str,
    /// Nodes of a tile along z; 0 leaves it to the variant.
    width: u32,
    cpml: bool,
}

/// Points per second, in the middle of ten batches.
fn measure(backend: &CudaBackend, n: usize, case: &Case, slabs: [&Array3<f32>; 2]) -> Result<f64> {
    let [least, largest] = SPEEDS.map(f64::from);
    let grid = Grid::new([n; 3], [10.0; 3], [0.0; 3])?;
    let dt = 0.5 * cfl::largest_dt(&grid, &Operator::Direct { order: 8 }, largest);
    let cpml = Boundary::Cpml(Cpml { cells: 20, r0: 1e-6, peak_hz: 15.0, vmax: largest });
    let boundary = if case.cpml { cpml } else { Boundary::Zero };
    let builder = WaveProblem::builder(grid, dt).boundaries(Boundaries::uniform(boundary));
    let mut problem = builder.build()?;
    problem.arithmetic = case.arithmetic.parse()?;
    let mut options = PlanOptions::new(0, 0).variant(case.variant).speeds(least, largest);
    if case.width > 0 {
        options = options.parameters([("width".to_owned(), case.width)].into_iter().collect());
    }
    let mut plan = backend.propagator(&problem, &options)?;
    let slab = slabs[0].dim().0;
    for first in (0..n).step_by(slab) {
        let count = slab.min(n - first);
        let region = Region::slab([n; 3], first, count);
        for (field, values) in [Field::WaveSpeed, Field::Pressure].into_iter().zip(slabs) {
            plan.upload(field, region, values.slice(ndarray::s![..count, .., ..]).into())?;
        }
    }
    // Some 10^10 points a batch, in whole graphs.
    let steps = u32::try_from(10_000_000_000 / (n * n * n)).unwrap_or(1).clamp(1, 3200);
    let steps = steps.next_multiple_of(32);
    let points = f64::from(steps) * (n * n * n) as f64;
    let mut rates = Vec::new();
    for _ in 0..11 {
        plan.synchronize()?;
        let start = Instant::now();
        plan.advance(steps)?;
        plan.synchronize()?;
        rates.push(points / start.elapsed().as_secs_f64());
    }
    let health = plan.health()?;
    if health.first_bad.is_some() || health.largest == 0.0 {
        println!("bad field: {health:?}");
    }
    rates.remove(0);
    rates.sort_by(f64::total_cmp);
    Ok(0.5 * (rates[4] + rates[5]))
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let mut number = |other| arguments.next().and_then(std::result::Result::ok).unwrap_or(other);
    let (n, seconds) = (number(800), number(40));
    let start = Instant::now();
    let backend = CudaBackend::new(0)?;
    let device = backend.device();
    println!("{}, {}, {n}^3", device.name, device.driver);
    let roof = one_step_roof(&backend, n.pow(3))?;
    println!("roof {:.1} Gpts/s of 16 B", roof / 1e9);
    let case = |arithmetic, variant, width| Case { arithmetic, variant, width, cpml: false };
    let layered = |arithmetic, variant| Case { arithmetic, variant, width: 0, cpml: true };
    let mut cases = vec![
        case("f32", "tma", 0),
        case("int16+u16", "stored_wide", 160),
        case("int16-increment+u16", "stored_wide", 160),
        case("f32", "wide", 0),
    ];
    cases.extend([
        // Once more, on a card that has been busy for as long as the cases before.
        case("f32", "tma", 0),
        layered("f32", "wide"),
        layered("int16+u16", "stored_wide"),
        layered("int16-increment+u16", "stored_wide"),
    ]);
    for width in [96, 128] {
        cases.push(case("int16+u16", "stored_wide", width));
        cases.push(case("int16-increment+u16", "stored_wide", width));
    }
    cases.extend([
        case("int16", "stored_wide", 0),
        case("int16-increment", "stored_wide", 0),
        case("int16+u16", "stored", 0),
        case("fp16+u16", "stored", 0),
        case("bf16+u16", "stored", 0),
        case("bf16x2", "stored", 0),
        case("f32+u16", "stored", 0),
    ]);
    let slab = 16.min(n);
    let speed = noise([slab, n, n], SPEEDS[0], SPEEDS[1]);
    let wave = noise([slab, n, n], -1.0, 1.0);
    let mut tma = None;
    for case in &cases {
        if start.elapsed() > Duration::from_secs(seconds as u64) {
            println!("out of time before {} {}", case.arithmetic, case.variant);
            break;
        }
        let Case { arithmetic, variant, width, cpml } = case;
        let what =
            format!("{arithmetic} {variant} width {width}{}", if *cpml { " cpml" } else { "" });
        match measure(&backend, n, case, [&speed, &wave]) {
            Ok(rate) => {
                let first = *tma.get_or_insert(rate);
                let bytes = arithmetic.parse::<temblor_physics::Arithmetic>()?.bytes_per_point();
                println!(
                    "{what}: {:.1} Gpts/s, {:.2} of tma, {:.2} of the roof of {bytes} B, at {:.0} s",
                    rate / 1e9,
                    rate / first,
                    rate * bytes / (16.0 * roof),
                    start.elapsed().as_secs_f64()
                );
            }
            Err(error) => println!("{what}: {error}"),
        }
    }
    Ok(())
}
