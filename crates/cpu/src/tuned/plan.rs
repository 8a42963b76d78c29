//! The plan: fields, sources and receivers of a problem, and its time loop.

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
use temblor_physics::{Axis, PointWeights, WaveProblem};

use super::BACKEND;
use super::fields::Fields;
use super::images::Images;
use super::kernels::{Isa, Kernels, Weights};
use super::layers::axis_weights;
use super::layout::Layout;
use super::pass::{Pass, Setting, ends_along_z};
use super::points::{Sources, check_receivers};
use super::schedule::{self, Schedule};
use super::timing::{self, Timer};
use crate::memory::AlignedVec;

/// The order of rows, by steps per pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedules {
    pub(super) blocked: Schedule,
    pub(super) wavefront: Schedule,
}

/// A plan of the tuned CPU backend.
#[derive(Debug)]
pub(super) struct Plan {
    problem: WaveProblem,
    variant: Variant,
    layout: Layout,
    kernels: Kernels,
    weights: Weights,
    images: Images,
    fields: Fields,
    /// Where layers along z contribute.
    ends: Vec<(usize, usize)>,
    schedules: Schedules,
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

impl Plan {
    pub(super) fn new(
        problem: &WaveProblem,
        options: &PlanOptions,
        variant: Variant,
        isa: Isa,
        schedules: Schedules,
    ) -> Self {
        let layout = Layout::new(problem);
        let mut weights = Weights { centre: 0.0, axes: [[0.0; 8]; 3] };
        let mut centre = 0.0;
        for axis in problem.grid.active_axes() {
            let (second, _) = axis_weights(&problem.operator, problem.grid.spacing[axis.index()]);
            centre -= 2.0 * second[1..].iter().rev().map(|&w| f64::from(w)).sum::<f64>();
            weights.axes[axis.index()].copy_from_slice(&second[1..]);
        }
        weights.centre = super::layers::to_f32([centre])[0];
        let fields = Fields::new(problem, &layout);
        Self {
            kernels: Kernels::new(isa, layout.radius, problem.grid.active(Axis::Y)),
            weights,
            images: Images::new(problem, &layout),
            ends: ends_along_z(&fields.layers, &layout),
            fields,
            schedules,
            step: 0,
            speed_unchecked: true,
            sources: Sources::none(layout.shape[0]),
            receivers: Vec::new(),
            most_receivers: options.receivers,
            samples: AlignedVec::zeroed(trace_samples(options)),
            first_sample: 0,
            snapshots: HashMap::new(),
            tickets: 0,
            poison: None,
            problem: problem.clone(),
            variant,
            layout,
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
        let (field, layout) = (&self.fields.wavefields[which], &self.layout);
        let count = self.receivers.len();
        let to = &mut self.samples[row * count..][..count];
        to.par_iter_mut().zip(&self.receivers).with_min_len(64).for_each(|(to, point)| {
            *to = sample(point, field, layout);
        });
    }

    /// One pass of `steps` steps, whose threads leave their times in `timer`.
    fn pass(&mut self, steps: usize, timer: Option<&Timer>) {
        let setting = Setting {
            layout: &self.layout,
            kernels: &self.kernels,
            weights: &self.weights,
            images: &self.images,
            sources: &self.sources,
            c2: &self.fields.c2,
            ends: &self.ends,
            step: self.step,
            timer,
        };
        let pass = Pass::new(&setting, &mut self.fields.wavefields, &mut self.fields.layers);
        if steps == 1 {
            schedule::blocked(&pass, self.schedules.blocked);
        } else {
            schedule::wavefront(&pass, steps, self.schedules.wavefront);
        }
    }

    fn check_speed(&mut self) -> Result<()> {
        if self.speed_unchecked {
            if let Some(node) = self.fields.node_without_speed(&self.layout, &self.images) {
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
        self.fields.refresh_images(&self.layout, &self.images);
        Ok(())
    }

    /// The wavefield that holds a field, or why the host cannot have it.
    fn wavefield(&self, field: Field) -> Result<usize> {
        Fields::which(field, self.parity()).ok_or_else(|| Error::Unsupported {
            backend: BACKEND.into(),
            what: format!("reading {field:?}"),
        })
    }
}

/// Weighted sum of p over a receiver's nodes.
fn sample(point: &PointWeights, field: &[f32], layout: &Layout) -> f32 {
    let [x, y, z] = &point.axes;
    let mut sum = 0.0;
    for (a, wx) in x.weights.iter().enumerate() {
        for (b, wy) in y.weights.iter().enumerate() {
            let at = layout.at((x.first + a).cast_signed(), (y.first + b).cast_signed()) + z.first;
            let row = &field[at..][..z.weights.len()];
            let along: f64 = row.iter().zip(&z.weights).map(|(&p, wz)| f64::from(p) * wz).sum();
            sum += wx * wy * along;
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "traces are f32")]
    let sum = sum as f32;
    sum
}

impl Propagator for Plan {
    fn variant(&self) -> &Variant {
        &self.variant
    }

    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()> {
        self.check_poison()?;
        check_transfer(field, &region, self.layout.shape, host.shape())?;
        if field == Field::WaveSpeed {
            self.speed_unchecked = true;
            let (layout, images) = (&self.layout, &self.images);
            self.fields.upload_speed(&self.problem, layout, images, &region, &host);
        } else {
            let which = Fields::which(field, self.parity()).ok_or_else(|| Error::Unsupported {
                backend: BACKEND.into(),
                what: format!("uploading {field:?}"),
            })?;
            self.fields.upload_wavefield(which, &self.layout, &self.images, &region, &host);
        }
        Ok(())
    }

    fn download(&mut self, field: Field, region: Region, mut host: HostViewMut<'_>) -> Result<()> {
        self.check_poison()?;
        let which = self.wavefield(field)?;
        check_transfer(field, &region, self.layout.shape, host.shape())?;
        self.fields.download(which, &self.layout, &region, &mut host);
        Ok(())
    }

    fn snapshot(&mut self, field: Field, region: Region) -> Result<Ticket> {
        self.check_poison()?;
        let which = self.wavefield(field)?;
        region.check(self.layout.shape)?;
        let mut copy = Array3::<f32>::zeros(region.shape);
        self.fields.download(which, &self.layout, &region, &mut copy.view_mut().into());
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
        self.sources = Sources::new(sources, self.layout.shape)?;
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
        check_receivers(receivers, self.layout.shape)?;
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
            &self.images,
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
        let (largest, first_bad) = self.fields.largest(parity, &self.layout);
        let largest_in_layers = self.fields.largest_in_layers(&self.layout, parity);
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
        Ok(self.fields.save(&self.layout, parity, to)?)
    }

    fn restore(&mut self, from: &mut dyn Read) -> Result<()> {
        self.check_poison()?;
        // A refused head leaves the plan as it was; past it, half a state is no state.
        let step = StateHead::read(from, BACKEND, &self.variant.name, &self.problem)?;
        let before = std::mem::replace(&mut self.step, step);
        let parity = self.parity();
        self.fields.restore(&self.layout, parity, from).map_err(|error| {
            self.step = before;
            self.poison = Some(format!("restoring a state failed: {error}"));
            Error::Io(error)
        })?;
        self.first_sample = step;
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        self.fields.clear();
        self.step = 0;
        self.first_sample = 0;
        self.snapshots.clear();
        self.poison = None;
        Ok(())
    }
}
