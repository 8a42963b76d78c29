//! Where a run's wall time went.

use std::time::{Duration, Instant};

/// A phase's total wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phase(pub Duration);

impl Phase {
    /// Runs `work` and adds its wall time.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0 += start.elapsed();
        result
    }

    /// Adds a wall time.
    pub fn add(&mut self, time: Duration) {
        self.0 += time;
    }

    /// Seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// Wall time by phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Reading, padding and uploading the model.
    pub upload: Phase,
    /// Time steps, with injection and recording on the device.
    pub time_loop: Phase,
    /// Taking samples from the plan.
    pub recording: Phase,
    /// Looking for instability.
    pub health: Phase,
    /// From steps to the record interval.
    pub resampling: Phase,
    /// Writing traces, snapshots and checkpoints.
    pub output: Phase,
    /// All of it.
    pub whole: Duration,
    /// Points of the grid with layers times steps done.
    pub point_steps: u128,
}

impl Timings {
    /// Points and steps per second, 1e9, if only `seconds` had passed.
    #[must_use]
    pub fn rate(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.point_steps as f64 / seconds / 1e9 } else { 0.0 }
    }
}
