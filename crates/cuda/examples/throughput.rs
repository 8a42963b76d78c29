//! Throughput of every variant on random data, beside the measured one-step roof; one JSON object per
//! line. `cargo run --release -p temblor-cuda --example throughput [case substring] [variant]
//! [--graph STEPS] [--one-by-one]`: steps per captured graph (0: none), and whether layers and recording
//! run after the interior instead of beside it.
//!
//! Rates are whole steps of the solver's plan (recording, interior, layers, injection) over wall
//! time, median of ten batches; N includes the layers.

mod rates;

use std::time::Instant;

use ndarray::Array2;
use temblor_backend::{Backend, Field, PlanOptions, ReceiverTable, Region, Result, SourceTable};
use temblor_cuda::{CudaBackend, Queueing};
use temblor_physics::{
    Boundaries, Boundary, Cpml, Grid, Minimod, Operator, PointWeights, WaveProblem, cfl,
};

use rates::{noise, one_step_roof};

struct Case {
    name: &'static str,
    nodes: usize,
    boundary: Boundary,
    sources: usize,
    receivers: usize,
}

fn measure(backend: &CudaBackend, case: &Case, variant: &str) -> Result<f64> {
    let n = case.nodes;
    let grid = Grid::new([n; 3], [10.0; 3], [0.0; 3])?;
    let dt = 0.5 * cfl::largest_dt(&grid, &Operator::Direct { order: 8 }, 4500.0);
    let problem =
        WaveProblem::builder(grid, dt).boundaries(Boundaries::uniform(case.boundary)).build()?;
    let steps = u32::try_from((40_usize << 27) / (n * n * n)).unwrap_or(40).clamp(10, 400);
    let batches = 11;
    let rows = steps as usize;
    let options = PlanOptions::new(case.receivers, rows).variant(variant);
    let mut plan = backend.propagator(&problem, &options)?;
    let slab = 16.min(n);
    let speed = noise([slab, n, n], 1500.0, 4500.0);
    let wave = noise([slab, n, n], -1.0, 1.0);
    for first in (0..n).step_by(slab) {
        let count = slab.min(n - first);
        let region = Region::slab([n; 3], first, count);
        let part = ndarray::s![..count, .., ..];
        plan.upload(Field::WaveSpeed, region, speed.slice(part).into())?;
        plan.upload(Field::Pressure, region, wave.slice(part).into())?;
        plan.upload(Field::PressurePrevious, region, wave.slice(part).into())?;
    }
    if case.sources > 0 {
        plan.set_sources(&SourceTable {
            points: vec![PointWeights::on_node([n / 2; 3])],
            amplitudes: Array2::from_elem((rows * batches, 1), 1e-3),
        })?;
    }
    let side = case.receivers.isqrt();
    plan.set_receivers(&ReceiverTable {
        points: (0..case.receivers)
            .map(|r| PointWeights::on_node([30 + r / side * 4, 30 + r % side * 4, 30]))
            .collect(),
    })?;
    let mut rates = Vec::new();
    for _ in 0..batches {
        plan.synchronize()?;
        let start = Instant::now();
        plan.advance(steps)?;
        plan.synchronize()?;
        rates.push(f64::from(steps) * (n * n * n) as f64 / start.elapsed().as_secs_f64());
        plan.traces()?;
    }
    let health = plan.health()?;
    if health.first_bad.is_some() || health.largest == 0.0 {
        eprintln!("{} {variant}: bad field {health:?}", case.name);
    }
    rates.remove(0);
    rates.sort_by(f64::total_cmp);
    Ok(rates[5])
}

fn main() -> Result<()> {
    let mut queueing = Queueing::default();
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--one-by-one" => queueing.branches = false,
            "--graph" => {
                let steps = arguments.next().and_then(|steps| steps.parse().ok());
                queueing.steps_per_graph = steps.expect("--graph takes a number of steps");
            }
            _ => names.push(argument),
        }
    }
    let mut names = names.into_iter();
    let wanted = names.next().unwrap_or_default();
    let only = names.next();
    let backend = CudaBackend::new(0)?.with_queueing(queueing);
    let device = backend.device();
    println!(
        "{{\"device\":\"{}\",\"driver\":\"{}\",\"steps_per_graph\":{},\"branches\":{}}}",
        device.name, device.driver, queueing.steps_per_graph, queueing.branches
    );
    let cpml = Boundary::Cpml(Cpml { cells: 20, r0: 1e-6, peak_hz: 15.0, vmax: 4500.0 });
    let layer = Boundary::Minimod(Minimod { cells: 27, eta_peak: 0.1 });
    let case = |name, nodes, boundary, sources, receivers| Case {
        name,
        nodes,
        boundary,
        sources,
        receivers,
    };
    let cases = [
        case("bare-1024", 1024, Boundary::Zero, 0, 0),
        case("bare-800", 800, Boundary::Zero, 0, 0),
        case("bare-768", 768, Boundary::Zero, 0, 0),
        case("minimod-800", 800, layer, 1, 0),
        case("cpml-800", 800, cpml, 1, 0),
        case("cpml-512", 512, cpml, 1, 10_000),
        case("cpml-256", 256, cpml, 1, 0),
        case("bare-512", 512, Boundary::Zero, 0, 0),
        case("bare-256", 256, Boundary::Zero, 0, 0),
    ];
    for case in cases.iter().filter(|case| case.name.contains(&wanted)) {
        let roof = one_step_roof(&backend, case.nodes.pow(3))?;
        println!("{{\"case\":\"{}\",\"roof_gpts\":{:.1}}}", case.name, roof / 1e9);
        for variant in backend.capabilities().variants.clone() {
            if only.as_ref().is_some_and(|only| *only != variant) {
                continue;
            }
            match measure(&backend, case, &variant) {
                Ok(rate) => println!(
                    "{{\"case\":\"{}\",\"variant\":\"{variant}\",\"gpts\":{:.1},\"of_roof\":{:.3}}}",
                    case.name,
                    rate / 1e9,
                    rate / roof
                ),
                Err(error) => println!("{} {variant}: {error}", case.name),
            }
        }
    }
    Ok(())
}
