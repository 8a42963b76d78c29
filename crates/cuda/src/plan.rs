//! A plan: fields, layers, tables and the queue of launches that makes a step.

use std::io::{Read, Write};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use temblor_backend::tables::TraceSamples;
use temblor_backend::{
    Error, Field, Health, HostArray, HostView, HostViewMut, PlanOptions, Propagator, ReceiverTable,
    Region, Result, SourceTable, Ticket, Traces, Variant,
};
use temblor_physics::boundary::image;
use temblor_physics::{Axis, Boundary, WaveProblem};

use crate::arguments::{TemblorImages, TemblorStep};
use crate::fields::Fields;
use crate::interior::{self, Interior};
use crate::layers::{self, Layers, single, whole_step};
use crate::layout::Layout;
use crate::memory::{Buffer, free_bytes};
use crate::module::{Kernels, int};
use crate::points::{Receivers, Sources};
use crate::sys::failed;
use crate::transfer::Transfers;
use crate::{backend, state, sys, variants};

/// A plan of the CUDA backend. All work of a step is queued on one stream.
pub(crate) struct CudaPlan {
    pub(crate) problem: WaveProblem,
    pub(crate) variant: Variant,
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    pub(crate) layout: Layout,
    pub(crate) fields: Fields,
    pub(crate) layers: Layers,
    pub(crate) transfers: Transfers,
    /// Operator and strides; the box is the whole grid.
    pub(crate) whole: TemblorStep,
    interior: Interior,
    images: Vec<TemblorImages>,
    sources: Option<Sources>,
    receivers: Option<Receivers>,
    samples: Buffer,
    options: PlanOptions,
    step: u64,
    /// Rows of `samples` not yet read.
    pending: usize,
    /// Wave speeds arrived since it was last found that all nodes have one.
    pub(crate) speed_unchecked: bool,
    /// The halo of p^n must be filled before the next step.
    pub(crate) images_stale: bool,
    poison: Option<String>,
}

impl CudaPlan {
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        problem: &WaveProblem,
        options: &PlanOptions,
        variant: Variant,
    ) -> Result<Self> {
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        let needed = backend::footprint(problem, options, &variant).total();
        let available = free_bytes(context)?;
        if needed > available {
            return Err(Error::OutOfMemory { needed, available });
        }
        let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
        let mut names: Vec<String> =
            ["record", "inject", "images", "pack", "unpack", "health", "largest_of"]
                .map(String::from)
                .to_vec();
        let layout = variants::layout(problem, &variant.name);
        names.extend(layers::kernel_names(context, problem, &layout)?);
        names.extend(interior::kernel_names(&variant.name, problem));
        let kernels = Kernels::load(context, &names)?;
        let fields = Fields::new(&stream, &layout, 2 * variant.steps_per_pass as usize)?;
        let layers = Layers::new(&stream, problem, &layout, &kernels)?;
        let whole = whole_step(problem, &layout);
        let units = sys::describe(context)?.units;
        let interior =
            Interior::new(&variant.name, problem, &whole, &kernels, &layout, &fields, units)?;
        let samples = Buffer::zeros(&stream, options.receivers * options.steps_between_traces)?;
        let transfers = Transfers::new(context, &stream)?;
        let mut plan = Self {
            images: images(problem),
            problem: problem.clone(),
            variant,
            context: context.clone(),
            stream,
            kernels,
            layout,
            fields,
            layers,
            transfers,
            whole,
            interior,
            sources: None,
            receivers: None,
            samples,
            options: options.clone(),
            step: 0,
            pending: 0,
            speed_unchecked: true,
            images_stale: false,
            poison: None,
        };
        plan.forget_speed()?;
        Ok(plan)
    }

    /// Refuses a poisoned plan and makes the context current.
    fn enter(&self) -> Result<()> {
        if let Some(cause) = &self.poison {
            return Err(Error::Poisoned { cause: cause.clone() });
        }
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))
    }

    /// Poisons the plan if a driver call failed.
    fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error @ (Error::Driver { .. } | Error::Io(_))) = &result {
            self.poison = Some(error.to_string());
        }
        result
    }

    /// Queues one step; `n` is its number.
    fn one_step(&mut self, n: u64) -> Result<()> {
        self.record(0)?;
        let fields = self.fields.step(0, 1, 1);
        self.interior.step(&self.stream, &self.kernels, &self.fields)?;
        self.layers.step(&self.stream, &self.kernels, &self.whole, &fields)?;
        if let Some(sources) = &self.sources {
            sources.inject(&self.stream, &self.kernels, n, &fields)?;
        }
        self.fields.swap();
        self.fill_images(0)
    }

    /// Queues two steps, the first of which is number `n`. The layers make their two steps first, on
    /// the interior's rim one step ahead; then the interior makes its two, reading the layers' first.
    fn two_steps(&mut self, n: u64) -> Result<()> {
        self.record(0)?;
        let (first, second) = (self.fields.step(0, 1, 2), self.fields.step(2, 0, 3));
        if !self.layers.is_empty() {
            self.layers.step(&self.stream, &self.kernels, &self.whole, &first)?;
            self.interior.step_rim(&self.stream, &self.kernels, &first)?;
            if let Some(sources) = &self.sources {
                sources.inject(&self.stream, &self.kernels, n, &first)?;
            }
            self.fill_images(2)?;
            self.layers.step(&self.stream, &self.kernels, &self.whole, &second)?;
        }
        let sources = self.sources.as_ref();
        self.interior.two_steps(&self.stream, &self.kernels, &self.fields, sources, n)?;
        if let Some(sources) = sources {
            sources.inject(&self.stream, &self.kernels, n + 1, &second)?;
        }
        self.fill_images(3)?;
        self.record(2)?;
        self.fields.turn();
        Ok(())
    }

    /// Queues a sample of wavefield `wave` into the next row.
    fn record(&mut self, wave: usize) -> Result<()> {
        let Some(receivers) = &self.receivers else { return Ok(()) };
        let row = self.samples.address() + 4 * (self.pending * receivers.count) as u64;
        let field = self.fields.node(wave);
        receivers.record(&self.stream, &self.kernels, &self.layout, field, row)?;
        self.pending += 1;
        Ok(())
    }

    /// Fills the halo of a wavefield across reflecting faces.
    fn fill_images(&mut self, wave: usize) -> Result<()> {
        let field = self.fields.node(wave);
        for images in &self.images {
            self.kernels.images(&self.stream, &self.whole, images, field)?;
        }
        self.images_stale = false;
        Ok(())
    }

    fn advance_queued(&mut self, steps: u32) -> Result<()> {
        if self.images_stale && steps > 0 {
            self.fill_images(0)?;
        }
        let mut left = steps;
        while left > 0 {
            if left >= 2 && self.interior.fuses() {
                self.two_steps(self.step)?;
                self.step += 2;
                left -= 2;
            } else {
                self.one_step(self.step)?;
                self.step += 1;
                left -= 1;
            }
        }
        Ok(())
    }

    fn read_traces(&mut self) -> Result<Traces> {
        let count = self.receivers.as_ref().map_or(0, |r| r.count);
        let rows = self.pending;
        let mut by_step = vec![0.0_f32; rows * count];
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        self.samples.read(&self.stream, 0, &mut by_step)?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        let samples =
            ndarray::Array2::from_shape_fn((count, rows), |(r, n)| by_step[n * count + r]);
        self.pending = 0;
        let first_step = self.step - rows as u64;
        Ok(Traces { first_step, samples: TraceSamples::F32(samples) })
    }

    /// Largest absolute value and first bad node of the field with node 0 at `field`, and the
    /// largest memory variable if `layers`.
    fn survey(&self, field: u64, layers: bool) -> Result<Health> {
        let result = &self.transfers.health;
        result.fill(&self.stream, &[0_u32, 0, u32::MAX, u32::MAX])?;
        let at = result.address();
        self.kernels.health(&self.stream, &self.whole, field, at, at + 8)?;
        for memory in if layers { self.layers.state() } else { Vec::new() } {
            let (elements, values) = (memory.elements(), memory.address());
            self.kernels.largest_of(&self.stream, elements, values, at + 4)?;
        }
        let mut words = [0_u32; 4];
        result.read(&self.stream, 0, &mut words)?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        let bad = (u64::from(words[3]) << 32) | u64::from(words[2]);
        let [_, ny, nz] = self.layout.nodes;
        let first_bad = (bad != u64::MAX).then(|| {
            let n = usize::try_from(bad).unwrap_or(0);
            [n / (ny * nz), n / nz % ny, n % nz]
        });
        Ok(Health {
            step: self.step,
            largest: f64::from(f32::from_bits(words[0])),
            largest_in_layers: f64::from(f32::from_bits(words[1])),
            first_bad,
        })
    }

    /// Refuses to step while a node has no wave speed: those hold the NaN of their birth.
    fn check_speed(&mut self) -> Result<()> {
        if !self.speed_unchecked {
            return Ok(());
        }
        if let Some(node) = self.survey(self.fields.speed_node(), false)?.first_bad {
            return Err(Error::Invalid {
                what: format!("the wave speed at node {node:?} was never set or is not positive"),
                remedy: "upload Field::WaveSpeed on all nodes before the first step".into(),
            });
        }
        self.speed_unchecked = false;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        self.fields.clear(&self.stream)?;
        self.layers.clear(&self.stream)?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        self.transfers.drop_snapshots()?;
        self.step = 0;
        self.pending = 0;
        self.images_stale = false;
        Ok(())
    }
}

impl Propagator for CudaPlan {
    fn variant(&self) -> &Variant {
        &self.variant
    }

    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()> {
        self.enter()?;
        let result = self.upload_region(field, &region, &host);
        self.note(result)
    }

    fn download(&mut self, field: Field, region: Region, host: HostViewMut<'_>) -> Result<()> {
        self.enter()?;
        let result = self.download_region(field, &region, host);
        self.note(result)
    }

    fn snapshot(&mut self, field: Field, region: Region) -> Result<Ticket> {
        self.enter()?;
        let result = self.queue_snapshot(field, &region);
        self.note(result)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<HostArray> {
        self.enter()?;
        let result = self.finish_snapshot(ticket);
        self.note(result)
    }

    fn set_sources(&mut self, sources: &SourceTable) -> Result<()> {
        self.enter()?;
        let result = Sources::new(&self.stream, &self.layout, sources, self.interior.tiling());
        self.sources = self.note(result)?;
        Ok(())
    }

    fn set_receivers(&mut self, receivers: &ReceiverTable) -> Result<()> {
        self.enter()?;
        if receivers.points.len() > self.options.receivers {
            return Err(Error::Invalid {
                what: format!(
                    "{} receivers in a plan for {}",
                    receivers.points.len(),
                    self.options.receivers
                ),
                remedy: "make the plan with a larger PlanOptions::receivers".into(),
            });
        }
        let result = Receivers::new(&self.stream, &self.layout, receivers);
        self.receivers = self.note(result)?;
        self.pending = 0;
        Ok(())
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        self.enter()?;
        let rows = self.options.steps_between_traces;
        if self.receivers.is_some() && self.pending + steps as usize > rows {
            return Err(Error::Invalid {
                what: format!(
                    "{steps} steps on top of {} would overflow a trace buffer of {rows}",
                    self.pending
                ),
                remedy: "read the traces first, or plan for more steps_between_traces".into(),
            });
        }
        let result = self.check_speed();
        self.note(result)?;
        let result = self.advance_queued(steps);
        self.note(result)
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn traces(&mut self) -> Result<Traces> {
        let result = self.read_traces();
        self.note(result)
    }

    fn health(&mut self) -> Result<Health> {
        self.enter()?;
        let result = self.survey(self.fields.node(0), true);
        self.note(result)
    }

    fn synchronize(&mut self) -> Result<()> {
        self.enter()?;
        let result = self.stream.synchronize().map_err(failed("cuStreamSynchronize"));
        self.note(result)
    }

    fn save(&mut self, to: &mut dyn Write) -> Result<()> {
        self.enter()?;
        let result = state::save(self, to);
        self.note(result)
    }

    fn restore(&mut self, from: &mut dyn Read) -> Result<()> {
        self.enter()?;
        let result = state::restore(self, from);
        let step = self.note(result)?;
        self.step = step;
        self.pending = 0;
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        self.poison = None;
        let result = self.clear();
        self.note(result)
    }
}

/// Halo nodes that mirror nodes inside, per axis with a reflecting face.
fn images(problem: &WaveProblem) -> Vec<TemblorImages> {
    let reflects = |boundary: &Boundary| matches!(boundary, Boundary::Free | Boundary::Rigid);
    let mut all = Vec::new();
    for axis in problem.grid.active_axes() {
        let (min, max) = problem.ends(axis);
        if !reflects(&min) && !reflects(&max) {
            continue;
        }
        let nodes = problem.grid.shape[axis.index()];
        let (radius, end) = (problem.operator.radius().cast_signed(), nodes.cast_signed());
        let mut images = TemblorImages { axis: int(axis.index()), ..Default::default() };
        for target in (-radius..0).chain(end..end + radius) {
            // Where nothing is mirrored the halo is zero from the start.
            let Some((source, sign)) = image(target, nodes, &min, &max) else { continue };
            let n = usize::try_from(images.count).unwrap_or(0);
            images.target[n] = i32::try_from(target).unwrap_or(i32::MAX);
            images.source[n] = int(source);
            images.sign[n] = single(sign);
            images.count += 1;
        }
        all.push(images);
    }
    all
}

/// Nodes of each axis that lie on a free surface and stay zero: low and high, or -1.
pub(crate) fn zero_nodes(problem: &WaveProblem) -> [[i32; 2]; 3] {
    let mut zero = [[-1; 2]; 3];
    for axis in Axis::ALL {
        let (min, max) = problem.ends(axis);
        let a = axis.index();
        if matches!(min, Boundary::Free) {
            zero[a][0] = 0;
        }
        if matches!(max, Boundary::Free) {
            zero[a][1] = int(problem.grid.shape[a]) - 1;
        }
    }
    zero
}
