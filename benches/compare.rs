//! How fast `cpu` is beside this machine's roofs and, if asked, beside Devito in the same minute.
//!
//! `cargo bench --bench compare` prints a table: bandwidth of 3 reads and 1 write in place, fused
//! multiply-adds from registers, each variant without layers and in 20 cells of C-PML on all faces,
//! random fields, order 8, 256^3. `benches/peers/devito.sh` sets `TEMBLOR_DEVITO` to a command that
//! prints `devito <version> <grid> <threads> <Gpoint/s>`; it runs between the rows. Rounds alternate
//! and the best of each row counts, so that a disturbance hits all rows alike.
//!
//! Options after `--`: `--size N`, `--rounds N`, `--steps N`.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use temblor::backend::{Backend, Field, PlanOptions, Propagator, Region};
use temblor::cpu::CpuBackend;
use temblor::cpu::memory::AlignedVec;
use temblor::physics::{Boundaries, Boundary, Cpml, Grid, WaveProblem};

/// Gpoint/s of `steps` steps over `points` points.
fn rate(points: usize, steps: u32, seconds: f64) -> f64 {
    points as f64 * f64::from(steps) / seconds / 1e9
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
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

/// Bytes per second of `a = 2b - a + c`: 3 reads and 1 write, arrays as large as the plan's.
struct Stream([AlignedVec; 3]);

impl Stream {
    fn new(points: usize) -> Self {
        Self([points; 3].map(AlignedVec::zeroed))
    }

    fn points_per_second(&mut self) -> f64 {
        let [a, b, c] = &mut self.0;
        let points = a.len();
        let part = 1 << 16;
        let time = seconds(|| {
            a.par_chunks_mut(part).zip(b.par_chunks(part)).zip(c.par_chunks(part)).for_each(
                |((a, b), c)| {
                    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                        *a = 2.0 * b - *a + c;
                    }
                },
            );
        });
        points as f64 / time
    }
}

/// Operations per second of fused multiply-adds from registers, all cores.
fn fused_operations_per_second() -> f64 {
    const TURNS: usize = 1 << 21;
    let threads = rayon::current_num_threads();
    let time = seconds(|| {
        rayon::broadcast(|_| black_box(fma_roof(TURNS)));
    });
    (threads * TURNS * FMA_LANES * 2) as f64 / time
}

/// Independent sums: 12 vectors of 16 lanes hide four cycles of latency on two units.
const FMA_LANES: usize = 192;

#[cfg(target_arch = "x86_64")]
fn fma_roof(turns: usize) -> f32 {
    use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_reduce_add_ps, _mm512_set1_ps};

    // By intrinsics, since the compiler prefers vectors of half the width.
    #[target_feature(enable = "avx512f")]
    fn widest(turns: usize) -> f32 {
        let (factor, offset) = (_mm512_set1_ps(black_box(0.999)), _mm512_set1_ps(1e-3));
        let mut sums = [_mm512_set1_ps(1.0); FMA_LANES / 16];
        for _ in 0..turns {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, offset);
            }
        }
        sums.iter().map(|&sum| _mm512_reduce_add_ps(sum)).sum()
    }

    if is_x86_feature_detected!("avx512f") {
        #[expect(unsafe_code, reason = "the feature was detected")]
        // SAFETY: the processor has AVX-512F.
        unsafe {
            widest(turns)
        }
    } else {
        accumulate(turns)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fma_roof(turns: usize) -> f32 {
    accumulate(turns)
}

/// What the compiler makes of it: a lower bound of the roof.
fn accumulate(turns: usize) -> f32 {
    let (factor, offset) = (black_box(0.999_f32), black_box(1e-3_f32));
    let mut sums = [1.0_f32; FMA_LANES];
    for _ in 0..turns {
        for sum in &mut sums {
            *sum = *sum * factor + offset;
        }
    }
    sums.iter().sum()
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
    let [(_, size), (_, rounds), (_, steps)] = options;
    let steps = u32::try_from(steps)?;
    let points = size * size * size;
    let devito = std::env::var("TEMBLOR_DEVITO").ok();
    let backend = CpuBackend::new();
    let device = backend.device();
    println!("{}, {}, {} threads, {size}^3, order 8", device.name, device.arch, device.units);

    let mut rows = Vec::new();
    for layers in [false, true] {
        for variant in ["blocked", "wavefront2"] {
            rows.push((variant, layers, plan(size, variant, layers)?, 0.0_f64));
        }
    }
    let mut stream = Stream::new(points);
    let (mut memory, mut compute, mut other) = (0.0_f64, 0.0_f64, 0.0_f64);
    for _ in 0..rounds {
        if let Some(command) = &devito {
            other = other.max(peer(command)?);
        }
        memory = memory.max(stream.points_per_second() / 1e9);
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
