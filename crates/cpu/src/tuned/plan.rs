//! The plan: sources and receivers of a problem, and its time loop, over fields in any storage.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::time::Instant;

use ndarray::{Array2, Array3};
use rayon::prelude::*;
use temblor_backend::state::StateHead;
use temblor_backend::tables::TraceSamples;
use temblor_backend::{
    Error, Field, Health, HostArray, HostView, HostViewMut, KernelKind as Kind, KernelTime,
    PlanOptions, Propagator, ReceiverTable, Region, Result, SourceTable, Ticket, Traces, Variant,
    fields::check_transfer,
};
use temblor_physics::{PointWeights, WaveProblem};

use super::BACKEND;
use super::images::Images;
use super::points::{Sources, check_receivers};
use super::timing::{self, Timer};
use crate::memory::AlignedVec;

/// Steps of one pass.
pub(super) struct Steps<'a> {
    /// How many.
    pub(super) count: usize,
    /// n of the first one, which goes from p^n to p^(n+1).
    pub(super) first: u64,
    pub(super) sources: &'a Sources,
    /// Where threads leave their times, if those are asked for.
    pub(super) timer: Option<&'a Timer>,
}

/// Fields as a plan keeps them, and what steps them. p^n is in wavefield n mod 2, p^(n-1) in the
/// other; `parity` is n mod 2.
pub(super) trait Store: std::fmt::Debug + Send + Sync {
    /// Images across reflecting faces.
    fn images(&self) -> &Images;

    /// Sets a part of a wavefield (0 is p^n, 1 is p^(n-1)), zero where p is held at zero.
    fn upload_wavefield(
        &mut self,
        past: usize,
        parity: usize,
        region: &Region,
        host: &HostView<'_>,
    );

    /// Sets a part of the wave speed.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the store cannot hold it; nothing has changed then.
    fn upload_speed(&mut self, region: &Region, host: &HostView<'_>) -> Result<()>;

    /// Reads a part of a wavefield (0 is p^n, 1 is p^(n-1)).
    fn download(&self, past: usize, parity: usize, region: &Region, host: &mut HostViewMut<'_>);

    /// First node without a wave speed, or whose c^2 dt^2 is zero or not finite.
    fn node_without_speed(&mut self) -> Option<[usize; 3]>;

    /// Completes what uploads left out; called before anything is read or stepped.
    fn refresh(&mut self, parity: usize);

    /// p at a receiver, from wavefield `which`.
    fn sample(&self, which: usize, point: &PointWeights) -> f32;

    /// Steps.
    fn pass(&mut self, steps: &Steps<'_>);

    /// Largest |p^n|, and the first node where it is not finite.
    fn largest(&self, parity: usize) -> (f64, Option<[usize; 3]>);

    /// Largest magnitude of the memory variables.
    fn largest_in_layers(&mut self, parity: usize) -> f64;

    /// Writes wavefields and memory variables.
    ///
    /// # Errors
    /// Those of `to`.
    fn save(&mut self, parity: usize, to: &mut dyn Write) -> std::io::Result<()>;

    /// Reads what [`Store::save`] wrote.
    ///
    /// # Errors
    /// Those of `from`.
    fn restore(&mut self, parity: usize, from: &mut dyn Read) -> std::io::Result<()>;

    /// All wavefields and memory variables zero.
    fn clear(&mut self);
}

/// A plan of the tuned CPU backend.
#[derive(Debug)]
pub(super) struct Plan<S> {
    problem: WaveProblem,
    variant: Variant,
    store: S,
    step: u64,
    /// Whether the wave speed has to be looked through before the next step.
    speed_unchecked: bool,
    sources: Sources,
    receivers: Vec<PointWeights>,
    most_receivers: usize,
    /// Samples, shape (step, receiver).
    samples: AlignedVec,
    first_sample: u64,
    snapshots: HashMap<u64, HostArray>,
    tickets: u64,
    poison: Option<String>,
}

/// Samples of the trace buffer.
pub(super) const fn trace_samples(options: &PlanOptions) -> usize {
    options.receivers.saturating_mul(options.steps_between_traces)
}

/// p^n (0) or p^(n-1) (1), or why the host cannot have another field.
fn past(field: Field, doing: &str) -> Result<usize> {
    match field {
        Field::Pressure => Ok(0),
        Field::PressurePrevious => Ok(1),
        _ => {
            Err(Error::Unsupported { backend: BACKEND.into(), what: format!("{doing} {field:?}") })
        }
    }
}

impl<S: Store> Plan<S> {
    pub(super) fn new(
        problem: &WaveProblem,
        options: &PlanOptions,
        variant: Variant,
        store: S,
    ) -> Self {
        Self {
            store,
            step: 0,
            speed_unchecked: true,
            sources: Sources::none(problem.grid.shape[0]),
            receivers: Vec::new(),
            most_receivers: options.receivers,
            samples: AlignedVec::zeroed(trace_samples(options)),
            first_sample: 0,
            snapshots: HashMap::new(),
            tickets: 0,
            poison: None,
            problem: problem.clone(),
            variant,
        }
    }

    /// p^n is in wavefield n mod 2.
    const fn parity(&self) -> usize {
        if self.step.is_multiple_of(2) { 0 } else { 1 }
    }

    fn check_poison(&self) -> Result<()> {
        self.poison.clone().map_or(Ok(()), |cause| Err(Error::Poisoned { cause }))
    }

    /// Steps recorded since the last call of `traces`.
    fn recorded(&self) -> usize {
        usize::try_from(self.step - self.first_sample).unwrap_or(usize::MAX)
    }

    /// Records p of a step from the wavefield that holds it.
    fn record(&mut self, step: u64) {
        if self.receivers.is_empty() {
            return;
        }
        let row = usize::try_from(step - self.first_sample).unwrap_or(usize::MAX);
        let which = usize::from(step % 2 == 1);
        let (store, count) = (&self.store, self.receivers.len());
        let to = &mut self.samples[row * count..][..count];
        to.par_iter_mut().zip(&self.receivers).with_min_len(64).for_each(|(to, point)| {
            *to = store.sample(which, point);
        });
    }

    /// One pass of `count` steps, whose threads leave their times in `timer`.
    fn pass(&mut self, count: usize, timer: Option<&Timer>) {
        let steps = Steps { count, first: self.step, sources: &self.sources, timer };
        self.store.pass(&steps);
    }

    fn check_speed(&mut self) -> Result<()> {
        if self.speed_unchecked {
            if let Some(node) = self.store.node_without_speed() {
                return Err(Error::Invalid {
                    what: format!(
                        "the wave speed at node {node:?} was never set, is zero or not finite"
                    ),
                    remedy: "upload Field::WaveSpeed on all nodes before the first step".into(),
                });
            }
            self.speed_unchecked = false;
        }
        Ok(())
    }

    /// Refuses steps that the trace buffer has no room for, and makes the plan ready for others.
    fn prepare(&mut self, steps: u32) -> Result<()> {
        self.check_poison()?;
        self.check_speed()?;
        let count = self.receivers.len();
        if count == 0 {
            // Nothing is recorded, so nothing can be missed.
            self.first_sample = self.step + u64::from(steps);
        } else if self
            .recorded()
            .checked_add(steps as usize)
            .and_then(|rows| rows.checked_mul(count))
            .is_none_or(|needed| needed > self.samples.len())
        {
            return Err(Error::Invalid {
                what: format!(
                    "{steps} steps do not fit the trace buffer ({} of {} steps are used)",
                    self.recorded(),
                    self.samples.len() / count
                ),
                remedy: "call traces more often or plan for more steps_between_traces".into(),
            });
        }
        self.store.refresh(self.parity());
        Ok(())
    }
}

impl<S: Store> Propagator for Plan<S> {
    fn variant(&self) -> &Variant {
        &self.variant
    }

    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()> {
        self.check_poison()?;
        check_transfer(field, &region, self.problem.grid.shape, host.shape())?;
        if field == Field::WaveSpeed {
            self.store.upload_speed(&region, &host)?;
            self.speed_unchecked = true;
        } else {
            let past = past(field, "uploading")?;
            self.store.upload_wavefield(past, self.parity(), &region, &host);
        }
        Ok(())
    }

    fn download(&mut self, field: Field, region: Region, mut host: HostViewMut<'_>) -> Result<()> {
        self.check_poison()?;
        let past = past(field, "reading")?;
        check_transfer(field, &region, self.problem.grid.shape, host.shape())?;
        self.store.refresh(self.parity());
        self.store.download(past, self.parity(), &region, &mut host);
        Ok(())
    }

    fn snapshot(&mut self, field: Field, region: Region) -> Result<Ticket> {
        self.check_poison()?;
        let past = past(field, "reading")?;
        region.check(self.problem.grid.shape)?;
        let mut copy = Array3::<f32>::zeros(region.shape);
        self.store.refresh(self.parity());
        self.store.download(past, self.parity(), &region, &mut copy.view_mut().into());
        self.tickets += 1;
        self.snapshots.insert(self.tickets, HostArray::F32(copy));
        Ok(Ticket(self.tickets))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<HostArray> {
        self.check_poison()?;
        self.snapshots.remove(&ticket.0).ok_or_else(|| Error::Invalid {
            what: format!("there is no snapshot {}", ticket.0),
            remedy: "wait for each ticket of this plan once".into(),
        })
    }

    fn set_sources(&mut self, sources: &SourceTable) -> Result<()> {
        self.check_poison()?;
        self.sources = Sources::new(sources, self.problem.grid.shape)?;
        Ok(())
    }

    fn set_receivers(&mut self, receivers: &ReceiverTable) -> Result<()> {
        self.check_poison()?;
        let count = receivers.points.len();
        if count > self.most_receivers {
            return Err(Error::Invalid {
                what: format!(
                    "{count} receivers for a plan made for at most {}",
                    self.most_receivers
                ),
                remedy: "make the plan with PlanOptions::new(receivers, ..)".into(),
            });
        }
        check_receivers(receivers, self.problem.grid.shape)?;
        self.receivers.clone_from(&receivers.points);
        self.first_sample = self.step;
        Ok(())
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        self.prepare(steps)?;
        let mut left = steps as usize;
        while left > 0 {
            let steps = left.min(self.variant.steps_per_pass as usize);
            self.record(self.step);
            self.pass(steps, None);
            if steps == 2 {
                // In place, a pass of two leaves both of its wavefields whole.
                self.record(self.step + 1);
            }
            self.step += steps as u64;
            left -= steps;
        }
        Ok(())
    }

    /// A pass of two steps gives half of its time to each; see `timing`.
    fn advance_by_kernel(&mut self, steps: u32) -> Result<Vec<KernelTime>> {
        self.prepare(steps)?;
        let mut kinds = timing::kinds(
            &self.problem,
            &self.variant,
            self.store.images(),
            &self.sources,
            [self.receivers.len(), self.receivers.iter().map(|p| p.nodes().count()).sum()],
        );
        let mut left = steps as usize;
        while left > 0 {
            let steps = left.min(self.variant.steps_per_pass as usize);
            let mut heard = Vec::new();
            let mut record = |plan: &mut Self, step| {
                let start = Instant::now();
                plan.record(step);
                heard.push(start.elapsed().as_secs_f64());
            };
            record(self, self.step);
            let (timer, start) = (Timer::default(), Instant::now());
            self.pass(steps, Some(&timer));
            let parts = timer.divide(start.elapsed().as_secs_f64());
            if steps == 2 {
                record(self, self.step + 1);
            }
            for (kind, time) in &mut kinds {
                if *kind == Kind::Receivers {
                    time.seconds.extend(&heard);
                } else {
                    let each = parts[*kind as usize] / steps as f64;
                    time.seconds.extend((0..steps).map(|_| each));
                }
            }
            self.step += steps as u64;
            left -= steps;
        }
        Ok(kinds.into_iter().map(|(_, time)| time).collect())
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn traces(&mut self) -> Result<Traces> {
        let (rows, count) = (self.recorded(), self.receivers.len());
        let rows = if count == 0 { 0 } else { rows };
        let samples = Array2::from_shape_fn((count, rows), |(r, n)| self.samples[n * count + r]);
        let first_step = self.first_sample;
        self.first_sample = self.step;
        Ok(Traces { first_step, samples: TraceSamples::F32(samples) })
    }

    fn health(&mut self) -> Result<Health> {
        self.check_poison()?;
        let parity = self.parity();
        self.store.refresh(parity);
        let (largest, first_bad) = self.store.largest(parity);
        let largest_in_layers = self.store.largest_in_layers(parity);
        Ok(Health { step: self.step, largest, largest_in_layers, first_bad })
    }

    fn synchronize(&mut self) -> Result<()> {
        self.check_poison()
    }

    fn save(&mut self, to: &mut dyn Write) -> Result<()> {
        self.check_poison()?;
        let head = StateHead {
            backend: BACKEND.into(),
            variant: self.variant.name.clone(),
            step: self.step,
            problem: self.problem.clone(),
        };
        head.write(to)?;
        let parity = self.parity();
        self.store.refresh(parity);
        Ok(self.store.save(parity, to)?)
    }

    fn restore(&mut self, from: &mut dyn Read) -> Result<()> {
        self.check_poison()?;
        // A refused head leaves the plan as it was; past it, half a state is no state.
        let step = StateHead::read(from, BACKEND, &self.variant.name, &self.problem)?;
        let before = std::mem::replace(&mut self.step, step);
        let parity = self.parity();
        self.store.restore(parity, from).map_err(|error| {
            self.step = before;
            self.poison = Some(format!("restoring a state failed: {error}"));
            Error::Io(error)
        })?;
        self.first_sample = step;
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        self.store.clear();
        self.step = 0;
        self.first_sample = 0;
        self.snapshots.clear();
        self.poison = None;
        Ok(())
    }
}
