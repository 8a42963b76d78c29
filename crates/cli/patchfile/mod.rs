//! Run files of `temblor patch`: the TOML, and what follows from it.
//!
//! [`schema`] is the file as it stands; [`PatchJob::open`] reads what it points to, builds the kernel
//! and checks everything that can be checked without a backend. Paths are relative to the run file.

pub mod outputs;
mod rules;
pub mod schema;
mod texts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use temblor_backend::PatchOptions;
use temblor_patch::{Kernel, Output, Plan, Request, Scheme, lower, stability};
use temblor_solver::patches::{Outset, Problem, Side, StepRule, Tiling};

use crate::exit::Failure;
use crate::nearest::{self, hint};
use outputs::OutputSpec;
use schema::{DomainTable, PatchFile};

pub use texts::{physics, scheme};

/// A run file with all that it points to.
#[derive(Debug)]
pub struct PatchJob {
    /// The run file.
    pub path: PathBuf,
    /// Numerics.
    pub scheme: Scheme,
    /// What is run.
    pub problem: Problem,
    /// What the kernel is made for.
    pub request: Request,
    /// How the kernel is made.
    pub options: PatchOptions,
    /// Time at the end, s.
    pub end: f64,
    /// Results.
    pub outputs: Vec<OutputSpec>,
    /// Wall time between restart files.
    pub restart_every: Duration,
    /// What the user should think about.
    pub warnings: Vec<String>,
}

impl PatchJob {
    /// Reads a run file, the physics and the scheme, and builds the kernel.
    ///
    /// # Errors
    /// [`Failure::BadInput`] that names the file, the line or the key, the value and the remedy.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = read(path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::of(&file, path, &folder).with_context(|| path.display().to_string())
    }

    fn of(file: &PatchFile, path: &Path, folder: &Path) -> anyhow::Result<Self> {
        let physics = texts::of_physics(&file.physics, folder)?;
        let scheme = texts::of_scheme(&file.scheme, folder)?;
        let (tiling, warnings) = tiling(&file.domain)?;
        let request = request(file, &physics, &scheme, &tiling)?;
        let kernel = lower(&scheme, &physics, &request).map_err(Failure::input)?;
        let mut problem = Problem::new(kernel, tiling);
        for (name, &value) in &file.parameters {
            if !request.integers.iter().any(|(integer, _)| integer == name) {
                problem = problem.with(name, value)?;
            }
        }
        problem.spec.rule = rule(file)?;
        problem.spec.check_every = file.time.check_every;
        problem.spec.order = match (file.scheme.runge_kutta, problem.kernel.shape.output) {
            (Some(order), _) => order,
            (None, Output::Rate) => 4,
            (None, Output::Step) => 1,
        };
        let mut job = Self {
            path: path.to_owned(),
            outputs: outputs(file, &problem.kernel)?,
            options: options(file),
            end: file.time.end,
            restart_every: restart_every(file.time.restart_every)?,
            scheme,
            problem,
            request,
            warnings,
        };
        rules::check(&mut job)?;
        Ok(job)
    }

    /// Looks at the initial state, and warns of what it means for the run.
    ///
    /// # Errors
    /// Where it is not finite, or no time step follows from it.
    pub fn warn_of_start(&mut self) -> anyhow::Result<Outset> {
        let outset = self.problem.outset(rules::LOOK_AT)?;
        let limits = self.problem.limits();
        if let StepRule::Courant(factor) = self.problem.spec.rule
            && let Some(speed) = outset.speed
            && factor * limits.reach / speed > limits.dissipation
        {
            self.warnings.push(format!(
                "the dissipation bounds the step to {:.3e} s, courant {factor} alone would give {:.3e} \
                 s: a lower sigma allows longer steps",
                limits.dissipation,
                factor * limits.reach / speed
            ));
        }
        let doubt = outset.speed.and_then(|speed| rules::fixed_step(self, speed));
        self.warnings.extend(doubt);
        let problem = &self.problem;
        let axes = usize::from(problem.tiling.dimensions);
        let (spacing, sigma) = (&problem.tiling.spacing[..axes], problem.spec.dissipation);
        if self.scheme.name == "fd4"
            && let Some(speed) = outset.speed
            && let Some(longest) = stability::fd4_step(speed, sigma, spacing, problem.spec.order)
            && outset.time_step > longest
        {
            self.warnings.push(format!(
                "the first step is {:.3e} s; speeds and dissipation together are stable up to {longest:.3e} \
                 s where waves of {speed:.3} m/s run along all axes",
                outset.time_step
            ));
        }
        Ok(outset)
    }

    /// Names of the N + M unknowns.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let physics = &self.problem.kernel.physics;
        physics.unknowns.iter().chain(&physics.auxiliary).cloned().collect()
    }
}

/// Reads and parses a run file.
///
/// # Errors
/// [`Failure::BadInput`] with line and column, and the nearest name for an unknown key.
pub fn read(path: &Path) -> anyhow::Result<PatchFile> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let remedy = "`examples/patch` has run files to start from";
        Failure::input(format!("cannot read the run file {}: {e}; {remedy}", path.display()))
    })?;
    Ok(toml::from_str(&text).map_err(|error| nearest::unparsed(path, &error))?)
}

fn tiling(domain: &DomainTable) -> anyhow::Result<(Tiling, Vec<String>)> {
    let axes = domain.patches.len();
    let dimensions = match axes {
        2 => 2,
        3 => 3,
        _ => {
            let message = format!("[domain] patches has {axes} entries: give two or three");
            return Err(Failure::input(message).into());
        }
    };
    let mut patches = [1; 3];
    patches[..axes].copy_from_slice(&domain.patches);
    let size = vector("size", &domain.size, axes)?;
    let zeros = vec![0.0; axes];
    let origin = vector("origin", domain.origin.as_ref().unwrap_or(&zeros), axes)?;
    let named = [("x", domain.x), ("y", domain.y), ("z", domain.z)];
    let (mut sides, mut warnings) = ([[Side::Outflow; 2]; 3], Vec::new());
    for (axis, (name, value)) in named.into_iter().enumerate() {
        match (value, axis < axes) {
            (Some(value), true) => sides[axis] = value.pair(),
            (None, true) => {
                warnings.push(format!("[domain] {name} is not given: its faces are outflow"));
            }
            (Some(_), false) => {
                let message = format!("[domain] {name} is given and the domain has two axes");
                return Err(Failure::input(message + ": remove it").into());
            }
            (None, false) => {}
        }
    }
    let tiling = Tiling::new(dimensions, domain.cells, patches, origin, size, sides)?;
    Ok((tiling, warnings))
}

fn vector(key: &str, values: &[f64], axes: usize) -> anyhow::Result<[f64; 3]> {
    if values.len() != axes {
        let got = values.len();
        let message = format!("[domain] {key} has {got} entries and patches has {axes}");
        return Err(Failure::input(message + ": give as many").into());
    }
    let mut padded = [0.0; 3];
    padded[..axes].copy_from_slice(values);
    Ok(padded)
}

fn request(
    file: &PatchFile,
    physics: &temblor_patch::Physics,
    scheme: &Scheme,
    tiling: &Tiling,
) -> anyhow::Result<Request> {
    let known: Vec<_> = physics.parameters.iter().chain(&scheme.parameters).collect();
    let mut integers = Vec::new();
    for (name, &value) in &file.parameters {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == *name) else {
            let hint = hint(name, known.iter().map(|parameter| parameter.name.as_str()));
            let message = format!(
                "[parameters] {name}: neither {} nor {} has it; {hint}",
                physics.file, scheme.name
            );
            return Err(Failure::input(message).into());
        };
        if !parameter.integer {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole and small, or refused")]
        let whole = value as i64;
        if (whole as f64).to_bits() != value.to_bits() || i32::try_from(whole).is_err() {
            let message =
                format!("[parameters] {name} is {value}: it is a C int, give a whole number");
            return Err(Failure::input(message).into());
        }
        integers.push((name.clone(), whole));
    }
    let request = Request::new(tiling.dimensions, tiling.cells).with_integers(integers);
    let unfused = file.scheme.schedule.as_deref().is_some_and(is_unfused);
    Ok(if unfused { request.with_plan(Plan::Unfused) } else { request })
}

/// Whether a schedule runs statement by statement, and so takes an unfused kernel.
#[must_use]
pub fn is_unfused(schedule: &str) -> bool {
    schedule.starts_with("plain") || schedule.starts_with("unfused")
}

fn rule(file: &PatchFile) -> anyhow::Result<StepRule> {
    let end = file.time.end;
    if !(end.is_finite() && end > 0.0) {
        return Err(Failure::input(format!("[time] end is {end} s: give a positive time")).into());
    }
    match (file.time.courant, file.time.dt) {
        (Some(factor), None) => Ok(StepRule::Courant(factor)),
        (None, Some(dt)) => Ok(StepRule::Fixed(dt)),
        (Some(_), Some(_)) => {
            Err(Failure::input("[time] has both courant and dt: give one of them").into())
        }
        (None, None) => Err(Failure::input("[time] has neither courant nor dt: give one").into()),
    }
}

fn outputs(file: &PatchFile, kernel: &Kernel) -> anyhow::Result<Vec<OutputSpec>> {
    let names: Vec<String> =
        kernel.physics.unknowns.iter().chain(&kernel.physics.auxiliary).cloned().collect();
    let dimensions = usize::from(kernel.shape.dimensions);
    let tables = file.output.as_ref().map(|list| list.0.as_slice()).unwrap_or_default();
    let specs = tables.iter().enumerate();
    let specs = specs.map(|(place, table)| OutputSpec::new(table, place + 1, &names, dimensions));
    Ok(specs.collect::<Result<Vec<_>, _>>()?)
}

fn options(file: &PatchFile) -> PatchOptions {
    let options = PatchOptions::new(file.scheme.contract);
    match &file.scheme.schedule {
        Some(schedule) => options.with_schedule(schedule.as_str()),
        None => options,
    }
}

fn restart_every(seconds: f64) -> anyhow::Result<Duration> {
    Ok(Duration::try_from_secs_f64(seconds).map_err(|_| {
        let what = "the wall time between restart files: give a number of seconds, 0 or more";
        Failure::input(format!("[time] restart_every is {seconds}, {what}"))
    })?)
}
