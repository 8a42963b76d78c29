//! One row while it is measured: its plan, its batches and its samples.
//!
//! Every batch ends with the device's work done; nothing that is queued goes untimed. Rows of fixed
//! steps begin each sample at the row's start; others go on, since their field stays what it is.

use std::time::{Duration, Instant};

use temblor_backend::{Backend, Error, Health, KernelTime, Propagator};

use crate::fill::Filler;
use crate::matrix::{Planned, Posed, RECORDED};
use crate::results::{Kinds, Outcome, Start, median};
use crate::{histogram, source};

/// Above this the field runs away: it starts at 1.
const RUNAWAY: f64 = 1e6;

/// Below this a field is as good as zero; the smallest normal number is 1.2e-38.
const VANISHED: f64 = 1e-30;

/// Wall time between two looks at the clock in rows of fixed steps, s.
const LOOK: f64 = 1.0;

/// Steps timed one by one for the time by kernel, and before them untimed.
const BY_KERNEL: (u32, u32) = (10, 2);

/// How long, how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Seconds of a sample, where steps are sized for a time.
    pub(crate) seconds: f64,
    /// Seconds that the row runs before its first sample.
    pub(crate) warm_up: f64,
    /// Samples.
    pub(crate) repeats: u32,
    /// Seconds that a row may take, its twin apart.
    pub(crate) timeout: Option<f64>,
    /// Most steps of a row of fixed steps.
    pub(crate) most_steps: Option<u32>,
}

/// Why a row has come to no end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The user wants to stop.
    Stopped,
    /// The row has ended without a rate.
    Ended(Outcome),
    /// The plan does not fit.
    Full(String),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        match error {
            Error::OutOfMemory { .. } => Self::Full(error.to_string()),
            Error::Unsupported { .. } => Self::Ended(Outcome::Skipped { why: error.to_string() }),
            _ => Self::Ended(Outcome::Failed { why: with_sources(&error) }),
        }
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

/// A row whose plan is made.
pub(crate) struct Running<'a> {
    planned: &'a Planned,
    posed: &'a Posed,
    pace: Pace,
    filler: Filler,
    plan: Box<dyn Propagator>,
    /// Steps of a sample.
    steps: u32,
    /// Steps between two looks at the clock.
    chunk: u32,
    seconds: Vec<f64>,
    spent: Duration,
}

impl<'a> Running<'a> {
    /// Makes the plan, fills it, warms up and finds the number of steps.
    pub(crate) fn start(
        planned: &'a Planned,
        posed: &'a Posed,
        backend: &dyn Backend,
        pace: Pace,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Halt> {
        let began = Instant::now();
        let plan = backend.propagator(&posed.problem, &planned.options())?;
        let filler = planned.filler();
        let mut row = Self {
            planned,
            posed,
            pace,
            filler,
            plan,
            steps: 0,
            chunk: 0,
            seconds: Vec::new(),
            spent: Duration::ZERO,
        };
        filler.wave_speed(row.plan.as_mut())?;
        filler.pressure(row.plan.as_mut())?;
        if planned.case.receivers > 0 {
            row.plan.set_receivers(&source::receivers(&posed.problem, planned.case.receivers))?;
        }
        row.feed(4096)?;
        row.spent = began.elapsed();
        row.calibrate(stop)?;
        Ok(row)
    }

    /// Sets the sources for all steps up to `last`.
    fn feed(&mut self, last: u64) -> Result<(), Error> {
        let (case, problem) = (&self.planned.case, &self.posed.problem);
        if case.sources > 0 {
            let peak_hz = self.planned.peak_hz;
            let table = source::table(problem, case.sources, peak_hz, case.vmax, last);
            self.plan.set_sources(&table)?;
        }
        Ok(())
    }

    /// Takes what receivers recorded, so that the plan has room for more.
    fn drain(&mut self) -> Result<(), Error> {
        if self.planned.case.receivers > 0 {
            self.plan.traces()?;
        }
        Ok(())
    }

    /// Steps, waited for, s.
    fn batch(&mut self, steps: u32) -> Result<f64, Halt> {
        let start = Instant::now();
        let mut left = steps;
        while self.planned.case.receivers > 0 && left > RECORDED {
            self.plan.advance(RECORDED)?;
            self.plan.traces()?;
            left -= RECORDED;
        }
        self.plan.advance(left)?;
        self.drain()?;
        self.plan.synchronize()?;
        let took = start.elapsed();
        self.spent += took;
        Ok(took.as_secs_f64())
    }

    /// The same in chunks, with looks at the clock and at the user's wishes between them.
    fn in_chunks(&mut self, steps: u32, stop: &dyn Fn() -> bool) -> Result<f64, Halt> {
        let (mut left, mut seconds) = (steps, 0.0);
        while left > 0 {
            self.look(stop)?;
            let now = left.min(self.chunk);
            seconds += self.batch(now)?;
            left -= now;
        }
        Ok(seconds)
    }

    fn look(&self, stop: &dyn Fn() -> bool) -> Result<(), Halt> {
        if stop() {
            return Err(Halt::Stopped);
        }
        match self.pace.timeout {
            Some(limit) if self.spent.as_secs_f64() > limit => {
                Err(Halt::Ended(Outcome::Skipped { why: self.late(limit) }))
            }
            _ => Ok(()),
        }
    }

    fn late(&self, limit: f64) -> String {
        let Pace { repeats, .. } = self.pace;
        let (had, steps) = (self.seconds.len(), self.steps);
        if steps == 0 {
            return format!("ran out of its {limit} s before a first sample: raise --timeout");
        }
        let rate = if had == 0 {
            String::new()
        } else {
            let points = self.planned.case.points() as f64;
            let gpts = points * f64::from(steps) / median(&self.seconds) / 1e9;
            format!(" at {gpts:.3} Gpts/s")
        };
        format!(
            "ran out of its {limit} s with {had} of {repeats} samples of {steps} steps{rate}: raise \
             --timeout or lower --seconds, --repeats or --steps"
        )
    }

    /// Warms up, then sizes samples for their time, or chunks for looks at the clock.
    fn calibrate(&mut self, stop: &dyn Fn() -> bool) -> Result<(), Halt> {
        let pass = self.plan.variant().steps_per_pass.max(1);
        let whole = |steps: f64| -> u32 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            let passes = (steps / f64::from(pass)).round().clamp(1.0, 1e8) as u32;
            passes.saturating_mul(pass)
        };
        let fixed = self.planned.case.steps;
        if let Some(asked) = fixed {
            self.steps = asked.min(self.pace.most_steps.unwrap_or(u32::MAX)).max(1);
        }
        let target = if fixed.is_some() { LOOK } else { self.pace.seconds };
        self.batch(pass)?;
        let mut steps = pass;
        let took = loop {
            self.look(stop)?;
            let took = self.batch(steps)?;
            // A tenth of the time is enough to extrapolate from, half of it where it is short.
            if took >= (0.5 * target).min(0.1) {
                break took;
            }
            let factor = (0.5 * target).min(0.1) / took.max(1e-9);
            steps = whole(f64::from(steps) * factor.clamp(2.0, 16.0));
        };
        let sized = whole(f64::from(steps) * target / took);
        self.chunk = sized;
        self.steps = if fixed.is_some() { self.steps } else { sized };
        let last = if fixed.is_some() {
            u64::from(self.steps)
        } else {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            let warm_up = (self.pace.warm_up / self.pace.seconds).ceil().clamp(0.0, 1e8) as u64;
            // Two more batches than samples: what warms up may be longer than asked for.
            let batches = u64::from(self.pace.repeats) + 2 + warm_up;
            self.plan.step() + batches * u64::from(self.steps)
        };
        let extra = u64::from(BY_KERNEL.0 + BY_KERNEL.1);
        self.feed(last + extra)?;
        if fixed.is_none() {
            self.in_chunks(whole(f64::from(self.steps) * 0.2), stop)?;
        }
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < self.pace.warm_up {
            self.look(stop)?;
            self.batch(self.chunk.max(1))?;
        }
        Ok(())
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self, stop: &dyn Fn() -> bool) -> Result<(), Halt> {
        if self.planned.case.steps.is_some() {
            self.rewind()?;
        }
        let seconds = self.in_chunks(self.steps, stop)?;
        self.seconds.push(seconds);
        Ok(())
    }

    /// Back to the row's start.
    pub(crate) fn rewind(&mut self) -> Result<(), Halt> {
        let began = Instant::now();
        self.plan.reset()?;
        self.filler.pressure(self.plan.as_mut())?;
        self.plan.synchronize()?;
        self.spent += began.elapsed();
        Ok(())
    }

    /// Whether the field is still one.
    pub(crate) fn check(&mut self) -> Result<(), Halt> {
        let health = self.plan.health()?;
        let case = &self.planned.case;
        let alive = case.sources > 0 || case.start != Start::Zero;
        let failed = |why: String| Err(Halt::Ended(Outcome::Failed { why }));
        let Health { step, largest, first_bad, .. } = health;
        if let Some(node) = first_bad {
            return failed(format!("p is not finite at step {step}, node {node:?}"));
        }
        if largest.is_nan() || largest > RUNAWAY {
            return failed(format!(
                "p runs away: its largest value at step {step} is {largest:.2e}, and {RUNAWAY:.0e} \
                 is the bound for a field that starts at 1"
            ));
        }
        if alive && largest < VANISHED {
            return failed(format!(
                "p has vanished: its largest value at step {step} is {largest:.2e}, below \
                 {VANISHED:.0e}, and zeros or denormal numbers would be timed"
            ));
        }
        Ok(())
    }

    /// Times of the kinds of kernels; none where the backend does not tell them apart.
    pub(crate) fn by_kernel(&mut self) -> Result<Vec<KernelTime>, Halt> {
        let (timed, before) = BY_KERNEL;
        match self.plan.advance_by_kernel(before) {
            Ok(_) => {
                let times = self.plan.advance_by_kernel(timed)?;
                self.drain()?;
                Ok(times)
            }
            Err(Error::Unsupported { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Kinds of values every `every` steps of a sample, from the row's start to its end.
    pub(crate) fn histogram(
        &mut self,
        every: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Kinds>, Halt> {
        // The samples are taken: what is late now costs no row its rate.
        self.pace.timeout = None;
        self.rewind()?;
        let (shape, arithmetic) = (self.planned.case.shape, self.planned.case.arithmetic);
        let mut all = vec![histogram::kinds(self.plan.as_mut(), shape, arithmetic)?];
        let mut left = self.steps;
        while left > 0 {
            let now = every.min(left);
            self.in_chunks(now, stop)?;
            all.push(histogram::kinds(self.plan.as_mut(), shape, arithmetic)?);
            left -= now;
        }
        Ok(all)
    }

    /// The plan.
    pub(crate) fn plan(&mut self) -> &mut dyn Propagator {
        self.plan.as_mut()
    }

    /// Steps of a sample.
    pub(crate) const fn steps(&self) -> u32 {
        self.steps
    }

    /// Times of the samples, s.
    pub(crate) fn seconds(&self) -> &[f64] {
        &self.seconds
    }
}
