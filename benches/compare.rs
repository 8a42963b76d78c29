//! How fast `cpu` is beside this machine's roofs and, if asked, beside Devito in the same minute.
//!
//! `cargo bench --bench compare` prints a table: bandwidth of 3 reads and 1 write in place, fused
//! multiply-adds from registers, each variant without layers and in 20 cells of C-PML on all faces,
//! random fields, order 8, 256^3. `benches/peers/devito.sh` sets `TEMBLOR_DEVITO` to a command that
//! prints `devito <version> <grid> <threads> <Gpoint/s>`; it runs between the rows. Rounds
//! alternate and the best of each row counts, so that a disturbance hits all rows alike.
//!
//! Options after `--`: `--size N`, `--rounds N`, `--steps N`, and `--cpu-time` (Linux), which counts
//! the time that the process' threads ran instead of the time that went by: on a machine shared with
//! other work only that can be compared, best with one thread (`RAYON_NUM_THREADS=1`), since threads
//! that wait count as well.

use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor::backend::{Backend, Field, PlanOptions, Propagator, Region, StreamPattern};
use temblor::cpu::roofs::{Streams, multiply_adds};
use temblor::cpu::{CpuBackend, Isa};
use temblor::physics::{Boundaries, Boundary, Cpml, Grid, WaveProblem};

/// Gpoint/s of `steps` steps over `points` points.
fn rate(points: usize, steps: u32, seconds: f64) -> f64 {
    points as f64 * f64::from(steps) / seconds / 1e9
}

/// Seconds since some start: those that went by, or those that this process' threads ran.
fn clock() -> f64 {
    if !CPU_TIME.load(Ordering::Relaxed) {
        static START: OnceLock<Instant> = OnceLock::new();
        return START.get_or_init(Instant::now).elapsed().as_secs_f64();
    }
    let tasks = std::fs::read_dir("/proc/self/task").expect("--cpu-time needs Linux");
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() * 1e-9
}

static CPU_TIME: AtomicBool = AtomicBool::new(false);

fn seconds(work: impl FnOnce()) -> f64 {
    let start = clock();
    work();
    clock() - start
}

/// A plan with random wave speed, 1500 to 3000 m/s, and random pressure.
fn plan(size: usize, variant: &str, layers: bool) -> Result<Box<dyn Propagator>> {
    let shape = [size; 3];
    let grid = Grid::new(shape, [10.0; 3], [0.0; 3])?;
    let layer = Boundary::Cpml(Cpml { cells: 20, r0: 1e-6, peak_hz: 20.0, vmax: 3000.0 });
    let boundary = if layers { layer } else { Boundary::Zero };
    let problem =
        WaveProblem::builder(grid, 1e-3).boundaries(Boundaries::uniform(boundary)).build()?;
    let options = PlanOptions::default().variant(variant);
    let mut plan = CpuBackend::new().propagator(&problem, &options)?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for i in 0..size {
        let region = Region::slab(shape, i, 1);
        let mut slab = |low: f32, high: f32| {
            ndarray::Array3::from_shape_simple_fn(region.shape, || rng.random_range(low..high))
        };
        let (speed, p) = (slab(1500.0, 3000.0), slab(-0.5, 0.5));
        plan.upload(Field::WaveSpeed, region, speed.view().into())?;
        plan.upload(Field::Pressure, region, p.view().into())?;
    }
    plan.advance(4)?;
    Ok(plan)
}

/// Points per second of 3 reads and 1 write in place, arrays as large as the plan's.
fn streamed(streams: &mut Streams) -> f64 {
    streams.elements() as f64 / seconds(|| streams.pass(StreamPattern::Step))
}

/// Operations per second of fused multiply-adds from registers, all cores.
fn fused_operations_per_second() -> f64 {
    let mut operations = 0.0;
    let time = seconds(|| operations = multiply_adds(Isa::available()[0], 1 << 21));
    operations / time
}

/// Gpoint/s that a peer's command prints last.
fn peer(command: &str) -> Result<f64> {
    let output = Command::new("sh").arg("-c").arg(command).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.split_whitespace().last().and_then(|rate| rate.parse().ok());
    last.with_context(|| format!("{command}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn main() -> Result<()> {
    let mut options = [("--size", 256), ("--rounds", 4), ("--steps", 20)];
    let arguments: Vec<String> = std::env::args().collect();
    for (name, value) in &mut options {
        if let Some(at) = arguments.iter().position(|argument| argument == name) {
            *value = arguments.get(at + 1).context("an option without a value")?.parse()?;
        }
    }
    let cpu_time = arguments.iter().any(|argument| argument == "--cpu-time");
    CPU_TIME.store(cpu_time, Ordering::Relaxed);
    let [(_, size), (_, rounds), (_, steps)] = options;
    let steps = u32::try_from(steps)?;
    let points = size * size * size;
    let devito = std::env::var("TEMBLOR_DEVITO").ok().map(|command| {
        format!("{command} --size {size}{}", if cpu_time { " --cpu-time" } else { "" })
    });
    let backend = CpuBackend::new();
    let device = backend.device();
    let per = if cpu_time { "second of CPU time" } else { "second" };
    println!(
        "{}, {}, {} threads, {size}^3, order 8, per {per}",
        device.name, device.arch, device.units
    );

    let mut rows = Vec::new();
    for layers in [false, true] {
        for variant in ["blocked", "wavefront2"] {
            rows.push((variant, layers, plan(size, variant, layers)?, 0.0_f64));
        }
    }
    let mut streams = Streams::new(Isa::available()[0], points, 1.0);
    let (mut memory, mut compute, mut other) = (0.0_f64, 0.0_f64, 0.0_f64);
    for _ in 0..rounds {
        if let Some(command) = &devito {
            other = other.max(peer(command)?);
        }
        memory = memory.max(streamed(&mut streams) / 1e9);
        compute = compute.max(fused_operations_per_second() / 1e9);
        for (_, _, plan, best) in &mut rows {
            let mut outcome = Ok(());
            let time = seconds(|| outcome = plan.advance(steps));
            outcome?;
            *best = best.max(rate(points, steps, time));
        }
    }

    let blocked = rows[0].3;
    println!("| | Gpoint/s | of memory roof | of blocked | of Devito |");
    println!("|---|---|---|---|---|");
    let line = |name: &str, rate: f64| {
        let of_devito = if other > 0.0 { format!("{:.2}", rate / other) } else { "-".into() };
        println!(
            "| {name} | {rate:.3} | {:.0} % | {:.2} | {of_devito} |",
            100.0 * rate / memory,
            rate / blocked
        );
    };
    line(&format!("memory roof, 3 reads 1 write, {:.1} GB/s", 16.0 * memory), memory);
    let name = format!("compute roof, {compute:.0} Gflop/s at 33 per point");
    line(&name, compute / 33.0);
    if other > 0.0 {
        line("Devito", other);
    }
    for (variant, layers, _, rate) in &rows {
        line(&format!("{variant}{}", if *layers { ", 20 cells of C-PML" } else { "" }), *rate);
    }
    Ok(())
}
