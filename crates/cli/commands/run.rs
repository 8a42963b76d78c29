//! `temblor run`: a run file to traces.

use std::sync::Arc;

use clap::Args;
use temblor_backend::Backend;
use temblor_solver::{Control, Shot, Survey};

use crate::args::{BackendArgs, NumericsArgs, RunFileArg};
use crate::output::report::{Report, Run, resident};
use crate::output::{Fingerprint, Opened, Outputs, Start};
use crate::preflight::Facts;
use crate::progress::Shown;
use crate::runfile::Job;
use crate::{backends, stop};

/// Steps between health checks: each reads the fields once, so this costs half a per cent.
const HEALTH_EVERY: u64 = 100;

/// Arguments of `temblor run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Files appear under their names when complete. Until then traces of many shots
stand in NAME.part beside NAME.journal. Complete files of an earlier run are
replaced.

Examples:
  temblor run shot.toml
  temblor run survey.toml --resume --threads 8
  temblor run shot.toml --backend cpu-ref")]
pub struct RunArgs {
    /// What to run.
    #[command(flatten)]
    pub file: RunFileArg,
    /// Where to run it.
    #[command(flatten)]
    pub backend: BackendArgs,
    /// Operator and arithmetic.
    #[command(flatten)]
    pub numerics: NumericsArgs,
    /// Go on with an interrupted run; finished shots are kept
    #[arg(long)]
    pub resume: bool,
    /// Throw an interrupted run away and start again
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
}

/// Runs a run file.
///
/// # Errors
/// Bad input before anything is written; an unstable or interrupted run, and outputs that cannot be
/// written, with the finished shots kept.
pub fn run(args: &RunArgs, quiet: bool) -> anyhow::Result<()> {
    let base_rss = resident("VmRSS:");
    let mut job = Job::open_with(&args.file.path, &args.numerics)?;
    let backend = backends::open_for(&args.backend.backend, &job.survey.problem)?;
    let facts = Facts::new(&job, backend.as_ref(), args.backend.variant.as_deref())?;
    for warning in &facts.warnings {
        tracing::warn!("{warning}");
    }
    facts.check_memory()?;
    let fingerprint = fingerprint(&job, backend.as_ref(), &facts);
    let start = match (args.resume, args.force) {
        (true, _) => Start::Resume,
        (_, true) => Start::Force,
        _ => Start::Fresh,
    };
    // Before the first file, so that no signal finds files without a handler.
    let stop = stop::on_ctrl_c("stopping after this chunk of steps; once more to stop at once");
    let mut outputs = match Outputs::open(&job.output, &job.survey, &fingerprint, start)? {
        Opened::Ready(outputs) => outputs,
        Opened::NothingToDo => {
            let traces = job.output.traces.display();
            tracing::warn!("{traces} is complete; without --resume it is made afresh");
            return Ok(());
        }
    };
    announce(&job, &facts);
    let done = outputs.finished().len();
    if done > 0 {
        tracing::info!("{done} of {} shots are finished already", job.survey.shots.len());
    }
    let pending = pending(&job.survey, &outputs);
    let control = Control {
        stop: &stop,
        health_every: HEALTH_EVERY,
        snapshots: job.snapshots.as_ref(),
        checkpoint_every: job.output.checkpoint,
    };
    let points = job.survey.problem.grid.points();
    let total = job.survey.shots.len();
    let mut progress = Shown::new(total, done, job.survey.steps() as u64, points, quiet);
    let result = temblor_solver::run(
        backend.as_ref(),
        &job.survey,
        &facts.options,
        &pending,
        job.model.as_mut(),
        outputs.as_mut(),
        &mut progress,
        &control,
    );
    progress.finish();
    let summary = match result {
        Ok(summary) => summary,
        Err(error) => {
            let finished = outputs.finished().len();
            if finished > 0 {
                tracing::info!("{finished} of {total} shots are finished; --resume goes on");
            }
            outputs.leave();
            return Err(error.into());
        }
    };
    outputs.finish()?;
    let digest = fingerprint.digest();
    let report = Report::new(
        &job.survey,
        &Run {
            run_file: &job.path,
            fingerprint: &digest,
            device: backend.device(),
            facts: &facts,
            model: &job.model_name,
            traces: &job.output.traces,
            timings: &summary.timings,
            run_now: summary.shots,
            finished: outputs.finished(),
            base_rss,
        },
    );
    if let Some(path) = &job.output.report {
        report.write(path)?;
    }
    outputs.close();
    let t = &summary.timings;
    tracing::info!(
        "{} written; {} in {:.2} s, {:.3} Gpts/s in the time loop, {:.3} in all",
        job.output.traces.display(),
        shots_in_words(summary.shots),
        t.whole.as_secs_f64(),
        t.rate(t.time_loop.seconds()),
        t.rate(t.whole.as_secs_f64())
    );
    Ok(())
}

/// Shots that are not in the journal. Finished ones are a beginning of the list, since shots are run
/// in order.
fn pending(survey: &Survey, outputs: &Outputs) -> Vec<Shot> {
    survey.shots[outputs.finished().len().min(survey.shots.len())..].to_vec()
}

fn shots_in_words(count: usize) -> String {
    if count == 1 { "1 shot".into() } else { format!("{count} shots") }
}

fn announce(job: &Job, facts: &Facts) {
    let survey = &job.survey;
    let [nx, ny, nz] = survey.padding.padded;
    tracing::info!(
        "{} of {} steps of {:.4e} s ({:.2} of the limit) on {nx} x {ny} x {nz} nodes, {:.1} \
         points per wavelength at the peak, {:.1} MiB",
        shots_in_words(survey.shots.len()),
        survey.steps(),
        survey.dt(),
        survey.cfl_fraction(),
        survey.points_per_wavelength(survey.band.peak_hz),
        facts.memory.total() as f64 / f64::from(1 << 20)
    );
    tracing::info!("variant {}: {}", facts.named(), facts.variant_why);
    if let Some(why) = &job.operator_why {
        tracing::info!("operator: {why}");
    }
}

/// Everything that decides a byte of the traces.
fn fingerprint(job: &Job, backend: &dyn Backend, facts: &Facts) -> Fingerprint {
    let survey = &job.survey;
    let mut print = Fingerprint::default();
    print.add("temblor version", &env!("CARGO_PKG_VERSION"));
    print.add("backend", &(&backend.device().backend, &facts.variant.name));
    print.add("model", &survey.speed.checksum);
    print.add("grid, time, operator or boundary", &(survey.spec, &survey.problem));
    let sources: Vec<_> = survey
        .shots
        .iter()
        .flat_map(|shot| shot.sources.iter().map(move |s| (shot.id, s.position, s.scale)))
        .collect();
    print.add("sources", &sources);
    let labels: Vec<_> = survey.shots.iter().map(|shot| shot.label).collect();
    print.add("shot points and elevations", &labels);
    let mut wavelets: Vec<_> = Vec::new();
    for source in survey.shots.iter().flat_map(|shot| &shot.sources) {
        if !wavelets.last().is_some_and(|last| Arc::ptr_eq(last, &source.wavelet)) {
            wavelets.push(Arc::clone(&source.wavelet));
        }
    }
    let wavelets: Vec<_> = wavelets.iter().map(AsRef::as_ref).collect();
    print.add("wavelets", &wavelets);
    let mut receivers = crc32fast::Hasher::new();
    for shot in &survey.shots {
        for value in shot.receivers.iter().flatten() {
            receivers.update(&value.to_le_bytes());
        }
        receivers.update(&(shot.receivers.len() as u64).to_le_bytes());
    }
    print.add("receivers", &receivers.finalize());
    let snapshots = job.output.snapshots.as_ref().map(|(spec, format, _)| (spec, format));
    let output = &job.output;
    let dialect = (output.byte_order, output.sample_format.name(), output.revision);
    print.add("output", &(output.format, dialect, output.per_shot(), snapshots));
    print
}
