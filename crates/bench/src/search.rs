//! Which variant, with which parameters, is fastest: a search within a budget of time.
//!
//! Variants run at their defaults first, and slow ones are dropped by successive halving (Karnin et
//! al. 2013, sequential halving) after short samples. From each that is left, coordinate descent
//! tries every value of one parameter after the other until none is better. The fastest of all is
//! measured once more in alternation with the default, by samples that took no part in the search:
//! whoever picks the best of many noisy figures picks noise too. Only what is then faster beyond
//! noise ([`crate::statistics`]) replaces the default.

use std::time::Duration;

use temblor_backend::{Parameter, Parameters};

use crate::results::median;
use crate::statistics::{Speedup, fewest_samples, speedup};

/// Samples of a candidate's first measurement.
const SHORT: u32 = 3;

/// Slower than the fastest by more than this, a variant may be dropped.
const CLOSE: f64 = 1.1;

/// A parameter's value is changed for a gain of more than this.
const GAIN: f64 = 1.005;

/// Sweeps over the parameters at most.
const SWEEPS: usize = 3;

/// Part of the budget after which only the final alternation runs.
const SEARCHING: f64 = 0.7;

/// Rounds of the alternation.
const ROUNDS: usize = 16;

/// A variant and what it can be tuned by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Variant.
    pub variant: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

impl Space {
    /// The variant at its defaults.
    #[must_use]
    pub fn defaults(&self) -> Candidate {
        let parameters = self.parameters.iter().map(|p| (p.name.clone(), p.default)).collect();
        Candidate { variant: self.variant.clone(), parameters }
    }
}

/// A variant with all of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Variant.
    pub variant: String,
    /// All of its parameters.
    pub parameters: Parameters,
}

/// What candidates are measured by.
pub trait Timer {
    /// Since the search began.
    fn elapsed(&self) -> Duration;

    /// Whether the user wants to stop.
    fn stopped(&self) -> bool;

    /// Whether a candidate computes what it should.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&mut self, candidate: &Candidate) -> Result<(), String>;

    /// Times of a candidate, s per step, one per sample; fewer if the user wants to stop.
    ///
    /// # Errors
    /// Why it cannot be measured.
    fn times(&mut self, candidate: &Candidate, samples: u32) -> Result<Vec<f64>, String>;
}

/// A candidate that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Which.
    pub candidate: Candidate,
    /// Its times, s per step.
    pub seconds: Vec<f64>,
    /// Why it has none.
    pub why: Option<String>,
}

impl Tried {
    fn median(&self) -> Option<f64> {
        (self.why.is_none() && !self.seconds.is_empty()).then(|| median(&self.seconds))
    }
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The candidate to take: the default, or what is faster beyond noise.
    pub best: Candidate,
    /// The fastest candidate beside the default, measured in alternation; `None` if the default was
    /// the fastest of all, or time was up.
    pub rival: Option<(Candidate, Option<Speedup>)>,
    /// All that was tried, in order.
    pub tried: Vec<Tried>,
    /// False if the user stopped it.
    pub complete: bool,
    /// False if the budget ended the search before it was through.
    pub exhausted: bool,
}

/// Searches `spaces` for what is faster than `default`, within `budget`.
pub fn search(
    timer: &mut dyn Timer,
    spaces: &[Space],
    default: &Candidate,
    budget: Duration,
) -> Found {
    let mut search = Search {
        timer,
        tried: Vec::new(),
        until: budget.mul_f64(SEARCHING),
        costliest: Duration::ZERO,
        cut: false,
    };
    search.rate(default, SHORT);
    for space in search.halved(spaces) {
        search.descend(space);
    }
    let fastest = search.fastest();
    search.until = budget;
    let rival = match fastest {
        Some(fastest) if fastest != *default => {
            let speedup = search.alternate(default, &fastest);
            Some((fastest, speedup))
        }
        _ => None,
    };
    let best = match &rival {
        Some((fastest, Some(speedup))) if speedup.low > 1.0 => fastest.clone(),
        // A default that cannot be measured is no choice.
        Some((fastest, None)) if search.median(default).is_none() => fastest.clone(),
        _ => default.clone(),
    };
    let complete = !search.timer.stopped();
    Found { best, rival, tried: search.tried, complete, exhausted: search.cut && complete }
}

struct Search<'a> {
    timer: &'a mut dyn Timer,
    tried: Vec<Tried>,
    /// When measuring has to end.
    until: Duration,
    /// What one measurement took at most.
    costliest: Duration,
    /// Whether something was left out for lack of time.
    cut: bool,
}

impl Search<'_> {
    fn place(&self, candidate: &Candidate) -> Option<usize> {
        self.tried.iter().position(|tried| tried.candidate == *candidate)
    }

    fn median(&self, candidate: &Candidate) -> Option<f64> {
        self.place(candidate).and_then(|at| self.tried[at].median())
    }

    /// Whether one more measurement of `samples` samples would end in time.
    fn may(&mut self, part: f64) -> bool {
        let end = self.timer.elapsed() + self.costliest.mul_f64(part);
        let in_time = self.tried.is_empty() || end <= self.until;
        self.cut |= !in_time;
        in_time && !self.timer.stopped()
    }

    /// Median time of a candidate with `samples` more samples, if there is time; `None` if it has
    /// no rate.
    fn rate(&mut self, candidate: &Candidate, samples: u32) -> Option<f64> {
        let known = self.place(candidate);
        if known.is_some_and(|at| self.tried[at].why.is_some()) {
            return None;
        }
        if !self.may(1.0) {
            return self.median(candidate);
        }
        let start = self.timer.elapsed();
        let at = known.unwrap_or_else(|| {
            let why = self.timer.check(candidate).err();
            self.tried.push(Tried { candidate: candidate.clone(), seconds: Vec::new(), why });
            self.tried.len() - 1
        });
        if self.tried[at].why.is_none() {
            match self.timer.times(candidate, samples) {
                Ok(seconds) => self.tried[at].seconds.extend(seconds),
                Err(why) => self.tried[at].why = Some(why),
            }
        }
        self.costliest = self.costliest.max(self.timer.elapsed().saturating_sub(start));
        self.tried[at].median()
    }

    /// The spaces worth a descent, fastest first.
    fn halved<'s>(&mut self, spaces: &'s [Space]) -> Vec<&'s Space> {
        let mut left: Vec<_> = spaces.iter().collect();
        loop {
            let mut rated: Vec<(f64, &Space)> = Vec::new();
            for space in left {
                if let Some(time) = self.rate(&space.defaults(), SHORT) {
                    rated.push((time, space));
                }
            }
            rated.sort_by(|a, b| a.0.total_cmp(&b.0));
            let half = rated.len().div_ceil(2).max(1);
            let best = rated.first().map_or(0.0, |(time, _)| *time);
            let before = rated.len();
            let mut place = 0;
            rated.retain(|(time, _)| {
                place += 1;
                place <= half || *time <= CLOSE * best
            });
            left = rated.into_iter().map(|(_, space)| space).collect();
            if left.len() == before || left.len() <= 1 {
                return left;
            }
        }
    }

    /// Coordinate descent from the defaults.
    fn descend(&mut self, space: &Space) {
        let mut at = space.defaults();
        let Some(mut time) = self.rate(&at, 0) else { return };
        for _ in 0..SWEEPS {
            let mut moved = false;
            for parameter in &space.parameters {
                let mut better = None;
                for &value in &parameter.values {
                    let mut other = at.clone();
                    other.parameters.insert(parameter.name.clone(), value);
                    if other == at {
                        continue;
                    }
                    let known = self.median(&other);
                    let found = known.or_else(|| self.rate(&other, SHORT));
                    if let Some(found) = found
                        && found * GAIN < time
                    {
                        time = found;
                        better = Some(other);
                    }
                }
                if let Some(better) = better {
                    at = better;
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn fastest(&self) -> Option<Candidate> {
        let rated = self.tried.iter().filter_map(|t| t.median().map(|m| (m, &t.candidate)));
        rated.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate.clone())
    }

    /// Measures both in turns, the first one of a round changing.
    fn alternate(&mut self, default: &Candidate, rival: &Candidate) -> Option<Speedup> {
        let pair = [default, rival];
        let mut fresh = [Vec::new(), Vec::new()];
        // One sample each costs a third of a first measurement, and no more.
        let cost = 2.0 / f64::from(SHORT);
        for round in 0..ROUNDS {
            if !self.may(cost) {
                break;
            }
            for n in [round % 2, 1 - round % 2] {
                let seconds = self.timer.times(pair[n], 1).ok()?;
                fresh[n].extend(&seconds);
                if let Some(at) = self.place(pair[n]) {
                    self.tried[at].seconds.extend(seconds);
                }
            }
        }
        let [old, new] = fresh;
        if old.len().min(new.len()) < fewest_samples() {
            return None;
        }
        speedup(&vec![old], &vec![new])
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
