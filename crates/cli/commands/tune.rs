//! `temblor tune`: which variant and parameters are fastest for a run on this machine.
//!
//! Candidates step the run's grid, boundaries and operator on random fields up to the model's highest
//! wave speed; sources and receivers, small beside that, are left out. The search is
//! `temblor_bench::search`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use temblor_backend::tuning::{Cached, Candidate as Kept, Faces, Measurement};
use temblor_backend::{Backend, Parameters};
use temblor_bench::results::{median, spread};
use temblor_bench::search::{Candidate, Found, Space, Tried, search};
use temblor_physics::WaveProblem;

use crate::exit::Failure;
use crate::preflight::name_of;
use crate::progress::Work;
use crate::runfile::Job;
use crate::{backends, stop, tune_cache};

mod export;
mod show;
mod timer;

use timer::Stepper;

/// Arguments of `temblor tune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Later runs of the same class (order, kind of faces, nodes per axis to the next
lower power of two) on this device take the fastest variant with its
parameters, until the driver or the kernels change. --variant still overrides
it. Ctrl-C keeps what was measured.

Examples:
  temblor tune shot.toml
  temblor tune shot.toml --backend cuda --budget 5m
  temblor tune --show
  temblor tune --backend cuda --export csrc/cuda/tuning/h200.toml")]
pub struct TuneArgs {
    /// Run file (TOML) to measure for; `temblor init` writes one
    #[arg(value_name = "RUN_FILE", required_unless_present_any = ["show", "export"])]
    pub file: Option<PathBuf>,
    /// Backend: auto, or a name from `temblor devices`; cuda:1 is its device 1
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: String,
    /// Time to search for, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
    /// Print what was measured so far, all candidates, and exit
    #[arg(long, conflicts_with_all = ["file", "export"])]
    pub show: bool,
    /// Merge what was measured on this device into a tuning table (TOML)
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub export: Option<PathBuf>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(number) => (number, 60.0),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if (1.0..=86_400.0).contains(&(value * unit)) => {
            Ok(Duration::from_secs_f64(value * unit))
        }
        _ => Err("give a time from 1s to a day, such as 90s or 5m".into()),
    }
}

/// Measures and keeps the result; or shows or exports what was kept.
///
/// # Errors
/// What a run would fail with before its first step; [`Failure::Output`] if the result cannot be
/// kept; [`Failure::Interrupted`] after Ctrl-C, with what was measured kept.
pub fn run(args: &TuneArgs, quiet: bool) -> anyhow::Result<()> {
    if args.show {
        return Ok(show::print(&tune_cache::read())?);
    }
    if let Some(path) = &args.export {
        let backend = backends::open(&args.backend)?;
        return Ok(export::run(path, backend.as_ref(), &tune_cache::read())?);
    }
    let path = args.file.as_ref().ok_or_else(|| Failure::BadInput("give a run file".into()))?;
    let job = Job::open(path)?;
    let problem = &job.survey.problem;
    let backend = backends::open_for(&args.backend, problem)?;
    let device = backend.device();
    // Rates depend on the radius and not on the weights.
    let order = 2 * problem.operator.radius();
    let [nx, ny, nz] = problem.grid.shape;
    println!("{} on {} ({})", device.backend, device.name, device.arch);
    println!("{nx} x {ny} x {nz} nodes with layers, order {order}");
    let spaces = spaces(backend.as_ref(), problem)?;
    let default = default(backend.as_ref(), problem, &spaces)?;
    let stop = stop::on_ctrl_c("stopping after this sample; what was measured is kept");
    let budget = u64::try_from(args.budget.as_millis()).unwrap_or(u64::MAX);
    let work = Work::new("tuning", budget, quiet, stop);
    let speed = job.survey.speed.max;
    let mut timer =
        Stepper::new(backend.as_ref(), problem, &spaces, &default, speed, args.budget, work)?;
    let found = search(&mut timer, &spaces, &default, args.budget);
    drop(timer);
    let measurement = measurement(backend.as_ref(), problem, order, &spaces, &found);
    show::candidates(measurement.as_ref());
    say_how_it_went(&found, &default);
    let Some(mut measurement) = measurement.filter(|m| m.gpts > 0.0) else {
        let nothing = if found.complete {
            Failure::Unsupported("no variant could be measured".into())
        } else {
            Failure::Interrupted("stopped before anything was measured".into())
        };
        return Err(nothing.into());
    };
    if !found.complete {
        let cache = tune_cache::read();
        if let Cached::Fresh(old) = cache.lookup(device, &backend.kernels(), problem) {
            measurement = joined(old, measurement);
        }
    }
    let tried = measurement.candidates.len();
    let path = tune_cache::keep(measurement)?;
    if !found.complete {
        let message = format!("stopped; {tried} candidates are kept in {}", path.display());
        return Err(Failure::Interrupted(message).into());
    }
    println!("{} is taken; kept in {}", named(&found.best), path.display());
    Ok(())
}

/// Variants with their parameters.
fn spaces(backend: &dyn Backend, problem: &WaveProblem) -> anyhow::Result<Vec<Space>> {
    let mut spaces = Vec::new();
    for variant in backend.variants(problem)? {
        let parameters = backend.parameters(problem, &variant.name)?;
        spaces.push(Space { variant: variant.name, parameters });
    }
    Ok(spaces)
}

/// What a run takes without a tune cache.
fn default(
    backend: &dyn Backend,
    problem: &WaveProblem,
    spaces: &[Space],
) -> Result<Candidate, Failure> {
    let tuned = backend.tuned(problem).and_then(|choice| {
        let space = spaces.iter().find(|space| space.variant == choice.variant)?;
        let mut candidate = space.defaults();
        candidate.parameters.extend(choice.parameters);
        Some(candidate)
    });
    let first = || spaces.first().map(Space::defaults);
    tuned
        .or_else(first)
        .ok_or_else(|| Failure::Unsupported("the backend has no variant for this problem".into()))
}

fn named(candidate: &Candidate) -> String {
    name_of(&candidate.variant, &candidate.parameters)
}

/// Parameters that are not the defaults.
fn changed(spaces: &[Space], candidate: &Candidate) -> Parameters {
    let space = spaces.iter().find(|space| space.variant == candidate.variant);
    let is_default = |name: &str, value: u32| {
        let mut known = space.iter().flat_map(|space| &space.parameters);
        known.any(|parameter| parameter.name == name && parameter.default == value)
    };
    let mut parameters = candidate.parameters.clone();
    parameters.retain(|name, value| !is_default(name, *value));
    parameters
}

/// What is kept; `None` if nothing was tried.
fn measurement(
    backend: &dyn Backend,
    problem: &WaveProblem,
    order: usize,
    spaces: &[Space],
    found: &Found,
) -> Option<Measurement> {
    let points = problem.grid.points() as f64;
    let kept = |tried: &Tried| {
        let rate = points / median(&tried.seconds) / 1e9;
        let measured = tried.why.is_none() && rate.is_finite();
        Kept {
            variant: tried.candidate.variant.clone(),
            parameters: changed(spaces, &tried.candidate),
            gpts: measured.then(|| rounded(rate, 1e3)),
            spread: measured.then(|| rounded(spread(&tried.seconds), 1e4)),
            why: tried.why.clone(),
        }
    };
    // One that was begun when the user stopped has neither a rate nor a reason.
    let told = |c: &Kept| c.gpts.is_some() || c.why.is_some();
    let mut candidates: Vec<_> = found.tried.iter().map(kept).filter(told).collect();
    candidates.sort_by(|a, b| b.gpts.unwrap_or(0.0).total_cmp(&a.gpts.unwrap_or(0.0)));
    let parameters = changed(spaces, &found.best);
    let best = candidates
        .iter()
        .find(|c| c.variant == found.best.variant && c.parameters == parameters)?;
    let device = backend.device();
    Some(Measurement {
        backend: device.backend.clone(),
        device: device.name.clone(),
        driver: device.driver.clone(),
        kernels: backend.kernels(),
        order,
        shape_class: problem.class().shape_class,
        faces: Faces::of(problem),
        variant: best.variant.clone(),
        parameters,
        gpts: best.gpts.unwrap_or(0.0),
        candidates,
    })
}

/// A finished search with what a stopped one tried beyond it: its choice and its rates stand.
fn joined(old: &Measurement, new: Measurement) -> Measurement {
    let mut all = old.clone();
    for candidate in new.candidates {
        let same =
            |c: &Kept| c.variant == candidate.variant && c.parameters == candidate.parameters;
        if !all.candidates.iter().any(same) {
            all.candidates.push(candidate);
        }
    }
    all.candidates.sort_by(|a, b| b.gpts.unwrap_or(0.0).total_cmp(&a.gpts.unwrap_or(0.0)));
    all
}

/// To so many parts of 1, or to four digits where that is finer.
fn rounded(value: f64, parts: f64) -> f64 {
    let parts = parts.max(10.0_f64.powf(3.0 - value.abs().max(1e-12).log10().floor()));
    (value * parts).round() / parts
}

fn say_how_it_went(found: &Found, default: &Candidate) {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    match &found.rival {
        Some((rival, Some(s))) if found.best == *rival => println!(
            "{} is {:+.1} % (99 %: {:+.1} to {:+.1} %) faster than the default {}",
            named(rival),
            percent(s.ratio),
            percent(s.low),
            percent(s.high),
            named(default)
        ),
        Some((rival, Some(s))) => println!(
            "{} is not faster than the default beyond noise ({:+.1} %, 99 %: {:+.1} to {:+.1} %)",
            named(rival),
            percent(s.ratio),
            percent(s.low),
            percent(s.high)
        ),
        Some((rival, None)) => println!(
            "{} looked faster than the default; there was no time to make sure: give a larger --budget",
            named(rival)
        ),
        None => println!("nothing was faster than the default"),
    }
    if found.exhausted {
        println!("the budget ended before all candidates were tried");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_have_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("45"), Ok(Duration::from_secs(45)));
        assert!(duration("0s").is_err() && duration("soon").is_err() && duration("-3m").is_err());
    }

    #[test]
    fn a_stopped_search_does_not_undo_a_finished_one() {
        let kept = |variant: &str, gpts| Kept {
            variant: variant.into(),
            parameters: Parameters::new(),
            gpts: Some(gpts),
            spread: Some(0.01),
            why: None,
        };
        let measured = |variant: &str, candidates: Vec<Kept>| Measurement {
            backend: "b".into(),
            device: "d".into(),
            driver: "1".into(),
            kernels: "k".into(),
            order: 8,
            shape_class: [7; 3],
            faces: Faces::Zero,
            variant: variant.into(),
            parameters: Parameters::new(),
            gpts: candidates[0].gpts.unwrap(),
            candidates,
        };
        let old = measured("fast", vec![kept("fast", 3.0), kept("slow", 1.0)]);
        let all = joined(&old, measured("slow", vec![kept("slow", 1.1), kept("third", 2.0)]));
        assert_eq!((all.variant.as_str(), all.gpts.to_bits()), ("fast", 3.0_f64.to_bits()));
        let rates: Vec<_> = all.candidates.iter().map(|c| (&*c.variant, c.gpts)).collect();
        assert_eq!(rates, [("fast", Some(3.0)), ("third", Some(2.0)), ("slow", Some(1.0))]);
    }

    #[test]
    fn rates_keep_four_digits() {
        assert!((rounded(1.234_56, 1e3) - 1.235).abs() < 1e-12);
        assert!((rounded(0.012_345_6, 1e3) - 0.012_35).abs() < 1e-12);
    }
}
