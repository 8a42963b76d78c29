//! How far a run is: a bar on a terminal, else a line now and then.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use temblor_solver::patches::Status;
use temblor_solver::{Progress, Shot};

use crate::watch::Watch;

/// Wall time between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how much of a file is done, and passes on that the user wants to stop.
pub struct Work {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Work {
    /// For `total` pieces of what `label` says; `quiet` shows nothing.
    ///
    /// # Panics
    /// Never: the bar's template is valid.
    #[must_use]
    pub fn new(label: &'static str, total: u64, quiet: bool, stop: Arc<AtomicBool>) -> Self {
        let bar = if !quiet && std::io::stderr().is_terminal() {
            let template = "{msg} [{bar:30}] {percent:>3} % ETA {eta}";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            let bar = ProgressBar::new(total).with_style(style.progress_chars("=> "));
            bar.with_message(label)
        } else {
            ProgressBar::hidden()
        };
        Self { bar, stop }
    }

    /// Says that `done` pieces are done; false if it is time to stop.
    #[must_use]
    pub fn at(&self, done: u64) -> bool {
        self.bar.set_position(done);
        !self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows progress of a survey on stderr.
pub struct Shown {
    bar: ProgressBar,
    steps_per_shot: u64,
    points: f64,
    total_shots: usize,
    shots_before: u64,
    number: usize,
    start: Instant,
    first_position: Option<u64>,
    last_line: Instant,
    watch: Watch,
}

impl Shown {
    /// For `total_shots` shots, of which `done` are finished, of `steps_per_shot` steps on a grid
    /// of `points` points; `quiet` shows nothing.
    ///
    /// # Panics
    /// Never: the bar's template is valid.
    #[must_use]
    pub fn new(
        total_shots: usize,
        done: usize,
        steps_per_shot: u64,
        points: u64,
        quiet: bool,
    ) -> Self {
        let total = total_shots as u64 * steps_per_shot;
        let bar = if !quiet && std::io::stderr().is_terminal() {
            let template = "{msg} [{bar:30}] {percent:>3} % {prefix} ETA {eta}";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            ProgressBar::new(total).with_style(style.progress_chars("=> "))
        } else {
            ProgressBar::hidden()
        };
        let now = Instant::now();
        Self {
            bar,
            steps_per_shot,
            points: points as f64,
            total_shots,
            shots_before: done as u64,
            number: done,
            start: now,
            first_position: None,
            last_line: now,
            watch: Watch::new(),
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn rate(&self, position: u64) -> f64 {
        let done = position.saturating_sub(self.first_position.unwrap_or(position)) as f64;
        done * self.points / self.start.elapsed().as_secs_f64().max(1e-9) / 1e9
    }
}

impl Progress for Shown {
    fn shot_started(&mut self, _: &Shot, first_step: u64) {
        self.watch.beat();
        self.number += 1;
        let position = self.shots_before * self.steps_per_shot + first_step;
        if self.first_position.is_none() {
            self.first_position = Some(position);
            self.start = Instant::now();
            self.bar.reset_eta();
        }
        self.bar.set_message(format!("shot {}/{}", self.number, self.total_shots));
        self.bar.set_position(position);
    }

    fn advanced(&mut self, steps: u64) {
        self.watch.beat();
        let position = self.shots_before * self.steps_per_shot + steps;
        self.bar.set_prefix(format!("{:.3} Gpts/s", self.rate(position)));
        self.bar.set_position(position);
        if self.bar.is_hidden() && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let whole = self.total_shots as u64 * self.steps_per_shot;
            tracing::info!(
                "shot {}/{}: step {steps} of {}, {:.0} % of the run, {:.3} Gpts/s",
                self.number,
                self.total_shots,
                self.steps_per_shot,
                100.0 * position as f64 / whole as f64,
                self.rate(position)
            );
        }
    }

    fn shot_finished(&mut self, shot: &Shot) {
        self.watch.beat();
        self.shots_before += 1;
        tracing::debug!("shot {} is finished and on disk", shot.id);
    }
}

/// Shows progress of a march in time on stderr.
pub struct March {
    bar: ProgressBar,
    end: f64,
    voxels: f64,
    first_step: u64,
    start: Instant,
    last_line: Instant,
}

impl March {
    /// For a march to `end` s of so many voxels, from a step on; `quiet` shows nothing.
    ///
    /// # Panics
    /// Never: the bar's template is valid.
    #[must_use]
    pub fn new(end: f64, first_step: u64, voxels: usize, quiet: bool) -> Self {
        let bar = if !quiet && std::io::stderr().is_terminal() {
            let template = "{msg} [{bar:30}] {percent:>3} % {prefix} ETA {eta}";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            ProgressBar::new(1000).with_style(style.progress_chars("=> "))
        } else {
            ProgressBar::hidden()
        };
        let now = Instant::now();
        Self { bar, end, voxels: voxels as f64, first_step, start: now, last_line: now }
    }

    /// Says where the march is.
    pub fn at(&mut self, status: &Status) {
        let Status { step, time, time_step } = status;
        let part = (time / self.end).clamp(0.0, 1.0);
        let done = (step - self.first_step) as f64 * self.voxels;
        let rate = done / self.start.elapsed().as_secs_f64().max(1e-9) / 1e6;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
        self.bar.set_position((1000.0 * part) as u64);
        self.bar.set_message(format!("step {step}, t {time:.4e} s, dt {time_step:.2e} s"));
        self.bar.set_prefix(format!("{rate:.2} Mvoxel/s"));
        if self.bar.is_hidden() && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            tracing::info!(
                "step {step}, t = {time:.4e} s, dt = {time_step:.3e} s, {:.0} % of the run, \
                 {rate:.2} million voxels per second",
                100.0 * part
            );
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows which row of a matrix is at which stage.
pub struct Stages {
    bar: ProgressBar,
}

impl Stages {
    /// For `rows` rows; `quiet` shows nothing.
    ///
    /// # Panics
    /// Never: the bar's template is valid.
    #[must_use]
    pub fn new(rows: u64, quiet: bool) -> Self {
        let bar = if !quiet && std::io::stderr().is_terminal() {
            let template = "[{bar:20}] {pos}/{len} {elapsed} {msg}";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            ProgressBar::new(rows).with_style(style.progress_chars("=> "))
        } else {
            ProgressBar::hidden()
        };
        Self { bar }
    }

    /// Says what is being done.
    pub fn stage(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// A row is done.
    pub fn done(&self) {
        self.bar.inc(1);
    }

    /// Prints above the bar, on standard output or, if that is taken, on standard error.
    pub fn print(&self, text: &str, stdout_is_taken: bool) {
        self.bar.suspend(|| if stdout_is_taken { eprint!("{text}") } else { print!("{text}") });
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
