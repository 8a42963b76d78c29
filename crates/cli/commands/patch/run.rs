//! `temblor patch run`: a run file to fields, plots and errors.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use temblor_io::AtomicFile;
use temblor_solver::patches::{March, Reached, Started, StepRule};

use super::check::device_memory;
use super::files::Files;
use super::{DeviceArg, FileArg};
use crate::exit::Failure;
use crate::output::make_folder;
use crate::patchfile::PatchJob;
use crate::progress::March as Shown;
use crate::stop;

/// Arguments of `temblor patch run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Results are written into --out, or beside the run file. While a run goes on,
what it needs to go on after a stop stands in NAME.restart there.

Examples:
  temblor patch run sod.toml
  temblor patch run explosion.toml --backend cuda --out results")]
pub struct RunArgs {
    /// What to run.
    #[command(flatten)]
    pub file: FileArg,
    /// Where to run it.
    #[command(flatten)]
    pub device: DeviceArg,
    /// Folder for the results [default: that of the run file]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with an interrupted run
    #[arg(long)]
    pub resume: bool,
    /// Throw an interrupted run away and start again
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
}

/// Runs a run file.
///
/// # Errors
/// Bad input before anything is written; a state that is not finite; an interrupted run, which can be
/// resumed; results that cannot be written.
pub(super) fn run(args: &RunArgs, quiet: bool) -> anyhow::Result<()> {
    let mut job = PatchJob::open(&args.file.path)?;
    let backend = super::open(&args.device.backend, &job.problem.kernel)?;
    job.warn_of_start()?;
    for warning in &job.warnings {
        tracing::warn!("{warning}");
    }
    let folder = folder(args)?;
    for spec in &job.outputs {
        // Before the run rather than at its end.
        make_folder(folder.join(&spec.file).parent().unwrap_or(&folder))?;
    }
    let restart = Restart::new(&job, &backend.device().backend, &folder);
    restart.look(args)?;
    device_memory(&job, backend.as_ref())?.check()?;
    let stop = stop::on_ctrl_c("stopping after this step; once more to stop at once");
    let mut started = if args.resume && restart.path.exists() {
        let mut started = job.problem.begin(backend.as_ref(), &job.options)?;
        restart.read(&mut started.march)?;
        started
    } else {
        job.problem.start(backend.as_ref(), &job.options)?
    };
    announce(&job, &started);
    let mut files = Files::new(&job, &folder);
    let march = &mut started.march;
    let begin = march.status();
    files.start(march, begin.step == 0)?;
    let voxels = job.problem.tiling.voxels().iter().product();
    let mut shown = Shown::new(job.end, begin.step, voxels, quiet);
    let clock = Instant::now();
    let mut saved = Instant::now();
    let reached = loop {
        let target = files.next(march.status().time).min(job.end);
        let due = |saved: &Instant| saved.elapsed() >= job.restart_every;
        let result = march.advance(target, |status| {
            shown.at(status);
            let leave = stop.load(Ordering::Relaxed) || due(&saved);
            if leave { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if result.is_err() {
            shown.finish();
            files.last_sight(march);
        }
        match result? {
            Reached::End if target >= job.end => break Reached::End,
            Reached::End => files.due(march)?,
            Reached::Stopped => {}
        }
        let stopping = stop.load(Ordering::Relaxed);
        if stopping || due(&saved) {
            restart.write(march)?;
            saved = Instant::now();
        }
        if stopping {
            break Reached::Stopped;
        }
    };
    shown.finish();
    if reached == Reached::Stopped {
        let status = march.status();
        return Err(Failure::Interrupted(format!(
            "stopped at step {} (t = {:.6e} s of {:.6e}); --resume goes on",
            status.step, status.time, job.end
        ))
        .into());
    }
    if let Err(error) = files.finish(march) {
        // Days of work are not lost for a full disk.
        restart.write(march)?;
        let path = restart.path.display();
        let kept =
            format!("the state stands in {path}, --resume writes the files of the end again");
        return Err(error.context(kept));
    }
    restart.remove();
    report(&job, &mut started, begin.step, clock.elapsed())
}

/// The folder for results, made if need be.
fn folder(args: &RunArgs) -> anyhow::Result<PathBuf> {
    let beside = || args.file.path.parent().unwrap_or(Path::new("")).to_owned();
    let folder = args.out.clone().unwrap_or_else(beside);
    make_folder(&folder)?;
    Ok(folder)
}

fn announce(job: &PatchJob, started: &Started) {
    let tiling = &job.problem.tiling;
    let [nx, ny, nz] = tiling.voxels();
    let report = &started.report;
    tracing::info!(
        "{}: {nx} x {ny} x {nz} voxels in {} patches, {} unknowns; kernel by {}, schedule {}",
        job.problem.kernel.name,
        tiling.count(),
        job.problem.kernel.shape.width(),
        report.made_by,
        report.schedule
    );
    if let Some(note) = &report.note {
        tracing::warn!("{note}");
    }
    let status = started.march.status();
    if status.step > 0 {
        tracing::info!("going on from step {}, t = {:.6e} s", status.step, status.time);
    }
}

/// The file from which a stopped run goes on.
struct Restart {
    path: PathBuf,
    fingerprint: String,
}

impl Restart {
    fn new(job: &PatchJob, backend: &str, folder: &Path) -> Self {
        let stem = job.path.file_stem().unwrap_or_default();
        let path = folder.join(stem).with_extension("restart");
        let problem = &job.problem;
        let rule = match problem.spec.rule {
            StepRule::Fixed(dt) => format!("dt {}", dt.to_bits()),
            StepRule::Courant(factor) => format!("courant {}", factor.to_bits()),
        };
        // Everything that decides a bit of the state; the end and the outputs may change.
        let mut sum = crc32fast::Hasher::new();
        sum.update(problem.kernel.physics.text.as_bytes());
        sum.update(job.scheme.to_string().as_bytes());
        for value in &problem.parameters {
            sum.update(&value.to_le_bytes());
        }
        sum.update(format!("{:?}", problem.tiling).as_bytes());
        let fingerprint = format!(
            "temblor {} on {backend}: {}, runge_kutta {}, {rule}, contract {}, sum {:08x}",
            env!("CARGO_PKG_VERSION"),
            problem.kernel.name,
            problem.spec.order,
            job.options.contract,
            sum.finalize()
        );
        Self { path, fingerprint }
    }

    /// Refuses what would silently throw work away.
    fn look(&self, args: &RunArgs) -> Result<(), Failure> {
        let path = self.path.display();
        match (self.path.exists(), args.resume) {
            (true, false) if !args.force => Err(Failure::input(format!(
                "an interrupted run stands in {path}: --resume goes on with it, --force starts again"
            ))),
            (false, true) => {
                tracing::warn!("{path} does not exist: the run starts at its beginning");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read(&self, march: &mut March) -> anyhow::Result<()> {
        let in_file = || self.path.display().to_string();
        let file = std::fs::File::open(&self.path).map_err(Failure::input).with_context(in_file)?;
        let mut file = std::io::BufReader::with_capacity(1 << 20, file);
        march.restore(&self.fingerprint, &mut file).with_context(in_file)
    }

    fn write(&self, march: &mut March) -> anyhow::Result<()> {
        let mut file = AtomicFile::create(&self.path, None)?;
        let mut to = Through { file: &mut file, failed: None };
        let saved = march.save(&self.fingerprint, &mut to);
        if let Some(error) = to.failed {
            return Err(error.into());
        }
        saved?;
        file.commit()?;
        Ok(())
    }

    fn remove(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("{} is of no use any more and stays: {error}", self.path.display());
        }
    }
}

/// Keeps the error of the file, which says more than that of a writer.
struct Through<'a> {
    file: &'a mut AtomicFile,
    failed: Option<temblor_io::Error>,
}

impl std::io::Write for Through<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes).map_err(|error| {
            let text = error.to_string();
            self.failed = Some(error);
            std::io::Error::other(text)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a finished run was: the rate, and the errors against the exact solution.
fn report(job: &PatchJob, started: &mut Started, first: u64, took: Duration) -> anyhow::Result<()> {
    let status = started.march.status();
    let steps = status.step - first;
    let [nx, ny, nz] = job.problem.tiling.voxels();
    let stages = if started.march.stages() > 1 { " (all stages)" } else { "" };
    let rate = (nx * ny * nz) as f64 * steps as f64 / took.as_secs_f64().max(1e-9) / 1e6;
    tracing::info!(
        "{steps} steps to t = {} s in {:.2} s, {rate:.2} million voxels per second{stages}",
        status.time,
        took.as_secs_f64()
    );
    let names = job.names();
    let Some(errors) = started.errors()? else { return Ok(()) };
    println!("errors at t = {} s, against `exact`", status.time);
    let widest = names.iter().map(String::len).max().unwrap_or(0).max(8);
    println!("{:widest$}  {:>12}  {:>12}  {:>12}", "", "L1", "L2", "Linf");
    let mut none: Vec<&str> = Vec::new();
    for (name, norms) in names.iter().zip(&errors) {
        let [l1, l2, linf] = [norms.l1, norms.l2, norms.linf];
        if linf.abs() <= 0.0 {
            none.push(name);
            continue;
        }
        println!("{name:widest$}  {l1:>12.4e}  {l2:>12.4e}  {linf:>12.4e}");
    }
    if !none.is_empty() {
        println!("no error at all: {}", none.join(", "));
    }
    Ok(())
}
