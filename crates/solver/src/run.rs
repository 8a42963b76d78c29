//! Shots one after the other on one plan, and the time loop of each.
//!
//! The loop advances in chunks of a fraction of a second, so that stopping and progress are prompt,
//! and never across a step at which something is due: a health check, a snapshot. By the laws of
//! the contract no choice of chunks changes a bit of the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ndarray::Array2;
use temblor_backend::{
    Backend, Field, PlanOptions, Propagator, ReceiverTable, SourceTable, Ticket, Variant,
};
use temblor_physics::interpolate;

use crate::checkpoint;
use crate::error::{Error, Result};
use crate::gather::{Gather, RawTraces};
use crate::health::{self, Watch};
use crate::sink::{Progress, Sink, Snapshot};
use crate::snapshots::SnapshotPlan;
use crate::speed::{self, WaveSpeed};
use crate::survey::{Shot, Survey};
use crate::timing::Timings;

/// Wall time that a chunk of steps should take.
const CHUNK: Duration = Duration::from_millis(300);

/// How a survey is run, beside what is computed.
#[derive(Debug)]
pub struct Control<'a> {
    /// Set from outside to stop at the next chunk.
    pub stop: &'a AtomicBool,
    /// Steps between health checks.
    pub health_every: u64,
    /// Snapshots to keep.
    pub snapshots: Option<&'a SnapshotPlan>,
    /// Wall time between checkpoints; `None` keeps none.
    pub checkpoint_every: Option<Duration>,
}

/// What a run was.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The variant that ran.
    pub variant: Variant,
    /// Where the time went.
    pub timings: Timings,
    /// Shots finished.
    pub shots: usize,
}

/// Runs shots of a survey, in the order given, on one plan.
///
/// # Errors
/// [`Error::Unstable`] and [`Error::Interrupted`] with the finished shots kept by `sink`;
/// [`Error::Output`] if `sink` fails; [`Error::Model`], [`Error::Backend`].
pub fn run(
    backend: &dyn Backend,
    survey: &Survey,
    options: &PlanOptions,
    shots: &[Shot],
    model: &mut dyn WaveSpeed,
    sink: &mut dyn Sink,
    progress: &mut dyn Progress,
    control: &Control<'_>,
) -> Result<Summary> {
    let start = Instant::now();
    let mut timings = Timings::default();
    let mut plan = backend.propagator(&survey.problem, options)?;
    let variant = plan.variant().clone();
    timings.upload.time(|| speed::upload(model, &survey.padding, plan.as_mut()))?;
    let mut done = 0;
    for shot in shots {
        let mut running = ShotRun {
            survey,
            control,
            shot,
            plan: plan.as_mut(),
            raw: RawTraces::new(shot.receivers.len(), survey.steps(), survey.element()),
            buffer: options.steps_between_traces as u64,
            timings: &mut timings,
        };
        let gather = running.run(sink, progress)?;
        timings.output.time(|| sink.gather(shot, &gather)).map_err(|source| Error::Output {
            what: format!("the traces of shot {}", shot.id),
            source,
        })?;
        progress.shot_finished(shot);
        done += 1;
    }
    timings.whole = start.elapsed();
    Ok(Summary { variant, timings, shots: done })
}

/// One shot on its way.
struct ShotRun<'a> {
    survey: &'a Survey,
    control: &'a Control<'a>,
    shot: &'a Shot,
    plan: &'a mut dyn Propagator,
    raw: RawTraces,
    /// Steps that the plan's trace buffer holds.
    buffer: u64,
    timings: &'a mut Timings,
}

impl ShotRun<'_> {
    fn run(&mut self, sink: &mut dyn Sink, progress: &mut dyn Progress) -> Result<Gather> {
        let table = self.source_table()?;
        let mut watch = self.watch(&table);
        self.plan.reset()?;
        self.plan.set_receivers(&self.receiver_table()?)?;
        self.plan.set_sources(&table)?;
        self.resume(sink)?;
        progress.shot_started(self.shot, self.plan.step());
        let end = self.survey.steps() as u64;
        let pass = u64::from(self.plan.variant().steps_per_pass.max(1));
        let mut chunk = pass;
        let mut pending: Option<(u64, Ticket)> = None;
        let mut saved = Instant::now();
        while self.plan.step() < end {
            let step = self.plan.step();
            let stop_at = self.next_stop(step, end);
            let count = chunk.min(self.buffer).min(stop_at - step);
            let took = self.advance(count)?;
            chunk = next_chunk(count, took, pass);
            let step = self.plan.step();
            self.drain()?;
            progress.advanced(step);
            if let Some(ticket) = pending.take() {
                self.keep_snapshot(ticket, sink)?;
            }
            if self.check_is_due(step) || step == end {
                self.check_health(&mut watch, sink)?;
            }
            if self.snapshot_is_due(step) {
                let region = self.control.snapshots.expect("one is due").region;
                pending = Some((step, self.plan.snapshot(Field::Pressure, region)?));
            }
            let stop = self.control.stop.load(Ordering::Relaxed) && step < end;
            if let Some(every) = self.control.checkpoint_every
                && step < end
                && (stop || saved.elapsed() >= every)
            {
                // What the checkpoint says is done must be on disk before it.
                if let Some(ticket) = pending.take() {
                    self.keep_snapshot(ticket, sink)?;
                }
                self.save(sink)?;
                saved = Instant::now();
            }
            if stop {
                return Err(Error::Interrupted { shot: self.shot.id, step });
            }
        }
        if let Some(ticket) = pending.take() {
            self.keep_snapshot(ticket, sink)?;
        }
        Ok(self.timings.resampling.time(|| self.raw.resample(&self.survey.resampler)))
    }

    fn source_table(&self) -> Result<SourceTable> {
        let mut amplitudes = Array2::zeros((self.survey.steps(), self.shot.sources.len()));
        let mut points = Vec::with_capacity(self.shot.sources.len());
        for (source, mut column) in self.shot.sources.iter().zip(amplitudes.columns_mut()) {
            points.push(interpolate::source_weights(&self.survey.problem, source.position)?);
            let series = self.survey.fired(&source.wavelet);
            column.iter_mut().zip(series).for_each(|(to, s)| *to = source.scale * s);
        }
        Ok(SourceTable { points, amplitudes })
    }

    fn receiver_table(&self) -> Result<ReceiverTable> {
        let problem = &self.survey.problem;
        let points = self.shot.receivers.iter();
        let points = points.map(|&at| interpolate::receiver_weights(problem, at));
        Ok(ReceiverTable { points: points.collect::<temblor_physics::Result<_>>()? })
    }

    fn watch(&self, table: &SourceTable) -> Watch {
        let columns = table.amplitudes.columns();
        let amplitude =
            columns.into_iter().map(|c| c.iter().fold(0.0_f64, |m, s| m.max(s.abs()))).sum();
        let silent_after = table
            .amplitudes
            .rows()
            .into_iter()
            .rposition(|row| row.iter().any(|&s| s.abs() > 1e-6 * amplitude));
        Watch::new(&self.survey.problem.grid, amplitude, silent_after.unwrap_or(0) as u64)
    }

    /// Continues from the checkpoint that the sink has, if any.
    fn resume(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let failed = |source| Error::Output { what: "the checkpoint".into(), source };
        if let Some(mut from) = sink.open_checkpoint(self.shot).map_err(failed)? {
            let (steps, element) = (self.survey.steps(), self.survey.element());
            checkpoint::read(self.shot, &mut self.raw, steps, element, self.plan, &mut from)?;
            tracing::info!("shot {}: going on from step {}", self.shot.id, self.plan.step());
        }
        Ok(())
    }

    /// The next step at which something is due.
    fn next_stop(&self, step: u64, end: u64) -> u64 {
        let check = (step + 1..).find(|&at| self.check_is_due(at)).unwrap_or(end);
        let snapshot = self
            .control
            .snapshots
            .and_then(|plan| plan.steps.iter().copied().find(|&at| at > step))
            .unwrap_or(end);
        end.min(check).min(snapshot)
    }

    fn advance(&mut self, count: u64) -> Result<Duration> {
        let start = Instant::now();
        self.plan.advance(u32::try_from(count).expect("chunks are short"))?;
        self.plan.synchronize()?;
        let took = start.elapsed();
        self.timings.time_loop.add(took);
        self.timings.point_steps +=
            u128::from(count) * u128::from(self.survey.problem.grid.points());
        Ok(took)
    }

    fn drain(&mut self) -> Result<()> {
        let start = Instant::now();
        let traces = self.plan.traces()?;
        self.raw.append(&traces)?;
        self.timings.recording.add(start.elapsed());
        Ok(())
    }

    /// Regular checks, and early ones at powers of two: what is wrong from the start grows fast.
    fn check_is_due(&self, step: u64) -> bool {
        let every = self.control.health_every.max(1);
        step.is_multiple_of(every) || (step < every && step >= 8 && step.is_power_of_two())
    }

    fn snapshot_is_due(&self, step: u64) -> bool {
        self.control.snapshots.is_some_and(|plan| plan.steps.binary_search(&step).is_ok())
    }

    fn keep_snapshot(&mut self, (step, ticket): (u64, Ticket), sink: &mut dyn Sink) -> Result<()> {
        let start = Instant::now();
        let plan = self.control.snapshots.expect("a ticket was drawn");
        let snapshot = Snapshot {
            step,
            time: step as f64 * self.survey.dt(),
            origin: plan.origin,
            spacing: plan.spacing,
            values: self.plan.wait(ticket)?,
        };
        sink.snapshot(self.shot, &snapshot).map_err(|source| Error::Output {
            what: format!("the snapshot at step {step} of shot {}", self.shot.id),
            source,
        })?;
        self.timings.output.add(start.elapsed());
        Ok(())
    }

    fn check_health(&mut self, watch: &mut Watch, sink: &mut dyn Sink) -> Result<()> {
        let start = Instant::now();
        let health = self.plan.health()?;
        self.timings.health.add(start.elapsed());
        if watch.accepts(&health) {
            return Ok(());
        }
        let error = health::unstable(self.plan, &self.survey.problem, self.shot, &health, watch)?;
        let sound = self.raw.sound_steps(watch.limit());
        self.raw.clear_from(sound);
        let gather = self.raw.resample(&self.survey.resampler);
        if let Err(source) = sink.partial(self.shot, &gather, sound as u64) {
            tracing::warn!("the traces so far could not be kept: {source}");
        }
        Err(error)
    }

    fn save(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let start = Instant::now();
        let (shot, raw, element) = (self.shot, &self.raw, self.survey.element());
        let plan = &mut *self.plan;
        let mut write =
            |to: &mut dyn std::io::Write| checkpoint::write(shot, raw, element, plan, to);
        sink.save_checkpoint(shot, &mut write).map_err(|source| Error::Output {
            what: format!("the checkpoint of shot {}", shot.id),
            source,
        })?;
        self.timings.output.add(start.elapsed());
        Ok(())
    }
}

/// Steps of the next chunk: a multiple of `pass` that should take [`CHUNK`], at most four times the
/// last one so that one lucky measurement cannot make a chunk of minutes.
fn next_chunk(count: u64, took: Duration, pass: u64) -> u64 {
    let ratio = (CHUNK.as_secs_f64() / took.as_secs_f64().max(1e-9)).min(4.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most four times a number of steps"
    )]
    let steps = (count as f64 * ratio) as u64;
    (steps / pass).max(1) * pass
}
