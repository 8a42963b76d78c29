//! `temblor tune`: which variant is fastest for a run on this machine.
//!
//! Every variant steps the run's grid, boundaries and operator on random fields at the model's
//! highest wave speed; sources and receivers, small beside that, are left out.

use std::time::{Duration, Instant};

use clap::Args;
use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::tuning::{Faces, Measurement};
use temblor_backend::{Backend, Field, PlanOptions, Region};
use temblor_physics::{Operator, WaveProblem};

use crate::args::RunFileArg;
use crate::exit::Failure;
use crate::runfile::Job;
use crate::{backends, tune_cache};

/// Wall time of a batch.
const BATCH: Duration = Duration::from_millis(300);

/// Batches; the median counts.
const BATCHES: usize = 5;

/// Arguments of `temblor tune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Later runs of the same class (order, kind of faces, nodes per axis to the next
lower power of two) on this device take the fastest variant, until the driver
or the kernels change. --variant still overrides it.

Example:
  temblor tune shot.toml")]
pub struct TuneArgs {
    /// What to measure for.
    #[command(flatten)]
    pub file: RunFileArg,
    /// Backend: auto, or a name from `temblor devices`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: String,
}

/// Measures and keeps the result.
///
/// # Errors
/// What a run would fail with before its first step; [`Failure::Output`] if the result cannot be
/// kept.
pub fn run(args: &TuneArgs) -> anyhow::Result<()> {
    let job = Job::open(&args.file.path)?;
    let problem = &job.survey.problem;
    let backend = backends::open_for(&args.backend, problem)?;
    let device = backend.device();
    let Operator::Direct { order } = problem.operator else {
        return Err(Failure::Unsupported("only direct operators are tuned".into()).into());
    };
    let [nx, ny, nz] = problem.grid.shape;
    println!("{} on {} ({})", device.backend, device.name, device.arch);
    println!("{nx} x {ny} x {nz} nodes with layers, order {order}");
    let mut best: Option<(String, f64)> = None;
    for variant in backend.variants(problem)? {
        let pass = variant.steps_per_pass.max(1);
        match rate(backend.as_ref(), problem, &variant.name, job.survey.speed.max, pass) {
            Ok(rate) => {
                println!("  {:12} {:9.3} Gpts/s", variant.name, rate / 1e9);
                if best.as_ref().is_none_or(|(_, most)| rate > *most) {
                    best = Some((variant.name, rate));
                }
            }
            // A variant with more fields may not fit where another one does.
            Err(error) => println!("  {:12} not measured: {error}", variant.name),
        }
    }
    let (variant, rate) =
        best.ok_or_else(|| Failure::Unsupported("no variant could be measured".into()))?;
    let path = tune_cache::keep(Measurement {
        backend: device.backend.clone(),
        device: device.name.clone(),
        driver: device.driver.clone(),
        kernels: backend.kernels(),
        order,
        shape_class: problem.class().shape_class,
        faces: Faces::of(problem),
        variant: variant.clone(),
        gpts: (rate / 1e6).round() / 1e3,
    })?;
    println!("{variant} is the fastest; kept in {}", path.display());
    Ok(())
}

/// Points per second, layers included: the median of some batches.
fn rate(
    backend: &dyn Backend,
    problem: &WaveProblem,
    variant: &str,
    speed: f64,
    pass: u32,
) -> temblor_backend::Result<f64> {
    let options = PlanOptions::new(0, 0).variant(variant);
    let mut plan = backend.propagator(problem, &options)?;
    let shape = problem.grid.shape;
    let slab = (4_000_000 / (shape[1] * shape[2])).clamp(1, shape[0]);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let size = (slab, shape[1], shape[2]);
    // Zeros run faster than waves do on some devices.
    let wave = Array3::from_shape_simple_fn(size, || rng.random_range(-1.0_f64..1.0));
    let speed = Array3::from_elem(size, speed);
    for first in (0..shape[0]).step_by(slab) {
        let count = slab.min(shape[0] - first);
        let region = Region::slab(shape, first, count);
        let part = ndarray::s![..count, .., ..];
        plan.upload(Field::WaveSpeed, region, speed.slice(part).into())?;
        plan.upload(Field::Pressure, region, wave.slice(part).into())?;
        plan.upload(Field::PressurePrevious, region, wave.slice(part).into())?;
    }
    let mut batch = |steps: u32| -> temblor_backend::Result<Duration> {
        let start = Instant::now();
        plan.advance(steps)?;
        plan.synchronize()?;
        Ok(start.elapsed())
    };
    // The first batch warms up, the next ones find the length of a batch.
    batch(pass)?;
    let mut steps = pass;
    while batch(steps)? < BATCH / 2 {
        steps *= 2;
    }
    let mut times =
        (0..BATCHES).map(|_| batch(steps)).collect::<temblor_backend::Result<Vec<_>>>()?;
    times.sort_unstable();
    let points = problem.grid.points() as f64;
    Ok(points * f64::from(steps) / times[BATCHES / 2].as_secs_f64())
}
