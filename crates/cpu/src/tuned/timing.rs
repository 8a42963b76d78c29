//! How threads divide their time among kinds of work, for `advance_by_kernel`.
//!
//! Layers, walls and sources have no passes of their own here: a row does all of them while it is in
//! the cache. So each thread reads the clock between the kinds, a few times per row (about 25 ns
//! each), and the time that a pass took by the wall is divided as the threads' times are. `interior`
//! is then the plain step of all nodes, `layers` what layers add to it: their terms, their memory
//! variables, Minimod's damping. The data that layers read first the plain step finds in the cache.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use temblor_backend::{KernelKind as Kind, KernelTime, Variant};
use temblor_physics::{StepWork, WaveProblem};

use super::images::Images;
use super::points::Sources;

/// Seconds by kind.
pub(super) type Seconds = [f64; 5];

/// The clock of one thread.
#[derive(Debug)]
pub(super) struct Laps {
    last: Instant,
    seconds: Seconds,
}

impl Laps {
    pub(super) fn new() -> Self {
        Self { last: Instant::now(), seconds: [0.0; 5] }
    }

    /// Leaves out what went by since the last lap.
    pub(super) fn start(&mut self) {
        self.last = Instant::now();
    }

    /// What went by since the last lap belongs to `kind`.
    pub(super) fn lap(&mut self, kind: Kind) {
        let now = Instant::now();
        self.seconds[kind as usize] += (now - self.last).as_secs_f64();
        self.last = now;
    }
}

/// Adds up what the threads of a pass took.
#[derive(Debug, Default)]
pub(super) struct Timer(Mutex<Seconds>);

impl Timer {
    /// Adds a thread's laps.
    pub(super) fn add(&self, laps: &Laps) {
        // A thread that panicked while it held the lock left whole numbers.
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.iter_mut().zip(laps.seconds).for_each(|(sum, more)| *sum += more);
    }

    /// Divides the wall time of a pass as the threads' times are.
    pub(super) fn divide(self, wall: f64) -> Seconds {
        let sum = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let total: f64 = sum.iter().sum();
        sum.map(|part| if total > 0.0 { wall * part / total } else { 0.0 })
    }
}

/// What each kind that a plan has moves and computes in a step, without times. Walls write nodes that
/// they have just read, sources change rows that are still in the cache.
pub(super) fn kinds(
    problem: &WaveProblem,
    variant: &Variant,
    images: &Images,
    sources: &Sources,
    receivers: [usize; 2],
) -> Vec<(Kind, KernelTime)> {
    let work = StepWork::of(problem);
    let points = problem.grid.points();
    let (bytes, flops) =
        (variant.bytes_per_point * points as f64, variant.flops_per_point * points as f64);
    let layers = work.layers;
    // A pass of two steps needs to move memory variables once, as it does the wavefields.
    let added = layers.bytes as f64 - 16.0 * layers.points as f64;
    let added = added / f64::from(variant.steps_per_pass);
    let (halo, nodes) = (images.halo_nodes(problem.grid.shape), sources.nodes());
    let [samples, heard] = receivers;
    let all = [
        (Kind::Interior, points, bytes, flops),
        (Kind::Layers, layers.points, added, work.layer_flops as f64),
        (Kind::Walls, halo, 4.0 * halo as f64, halo as f64),
        (Kind::Sources, nodes, 0.0, 3.0 * nodes as f64),
        (Kind::Receivers, samples as u64, 4.0 * (heard + samples) as f64, 2.0 * heard as f64),
    ];
    let has = all.into_iter().filter(|&(_, points, ..)| points > 0);
    has.map(|(kind, points, bytes_per_step, flops_per_step)| {
        let (name, seconds) = (kind.name().into(), Vec::new());
        (kind, KernelTime { name, points, bytes_per_step, flops_per_step, seconds })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pass_is_divided_as_the_threads_times_are() {
        let timer = Timer::default();
        let laps = |seconds| Laps { last: Instant::now(), seconds };
        timer.add(&laps([3.0, 1.0, 0.0, 0.0, 0.0]));
        timer.add(&laps([2.0, 1.0, 1.0, 0.0, 0.0]));
        // Eight seconds of two threads; the pass took five by the wall.
        let parts = timer.divide(5.0);
        for (part, expected) in parts.iter().zip([5.0, 2.0, 1.0, 0.0, 0.0]) {
            assert!((part - expected * 5.0 / 8.0).abs() < 1e-12, "{parts:?}");
        }
    }

    #[test]
    fn threads_that_did_nothing_took_no_time() {
        assert!(Timer::default().divide(5.0).iter().all(|part| part.to_bits() == 0));
    }

    #[test]
    fn a_lap_goes_to_its_kind_and_what_is_left_out_to_none() {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut laps = Laps { last: ago(10), seconds: [0.0; 5] };
        laps.start();
        laps.lap(Kind::Layers);
        laps.last = ago(10);
        laps.lap(Kind::Walls);
        assert!(laps.seconds[Kind::Layers as usize] < 5.0, "{laps:?}");
        assert!(laps.seconds[Kind::Walls as usize] >= 10.0, "{laps:?}");
    }
}
