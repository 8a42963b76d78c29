//! A plan: fields, layers, tables and their state; `steps.rs` queues what makes a step.

use std::io::{Read, Write};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use temblor_backend::{
    Error, Field, Health, HostArray, HostView, HostViewMut, KernelTime, PlanOptions, Propagator,
    ReceiverTable, Region, Result, SourceTable, Ticket, Traces, Variant,
};
use temblor_physics::WaveProblem;

use crate::arguments::{TemblorImages, TemblorStep};
use crate::backend::{self, Device};
use crate::fields::Fields;
use crate::graph::{Graphs, Queueing};
use crate::interior::{self, Interior};
use crate::layers::{self, Layers, whole_step};
use crate::layout::Layout;
use crate::memory::free_bytes;
use crate::module::Kernels;
use crate::parameters::Choices;
use crate::points::{Receivers, Sources};
use crate::samples::Samples;
use crate::stored::{self, Stored};
use crate::sys::failed;
use crate::timing::Timing;
use crate::transfer::Transfers;
use crate::{faults, state, sys, variants, walls};

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
    pub(crate) interior: Interior,
    /// Of reduced storage, in place of `interior` and of what else touches the fields.
    pub(crate) stored: Option<Stored>,
    pub(crate) images: Vec<TemblorImages>,
    pub(crate) sources: Option<Sources>,
    pub(crate) receivers: Option<Receivers>,
    pub(crate) samples: Samples,
    pub(crate) queueing: Queueing,
    pub(crate) graphs: Graphs,
    /// For what runs beside the interior, between `fork` and `join`.
    pub(crate) side: Arc<CudaStream>,
    pub(crate) fork: CudaEvent,
    pub(crate) join: CudaEvent,
    /// While steps are timed by kernel.
    pub(crate) timing: Option<Timing>,
    options: PlanOptions,
    pub(crate) step: u64,
    /// Wave speeds arrived since it was last found that all nodes have one.
    pub(crate) speed_unchecked: bool,
    /// The halo of p^n must be filled before the next step.
    pub(crate) images_stale: bool,
    /// The largest values of p^n must be found before the next step.
    pub(crate) peaks_stale: bool,
    poison: Option<String>,
    lost: faults::Lost,
}

impl CudaPlan {
    pub(crate) fn new(
        device: &Device,
        problem: &WaveProblem,
        options: &PlanOptions,
        variant: Variant,
        choices: Choices,
    ) -> Result<Self> {
        let (context, queueing) = (&device.context, choices.queueing);
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        let needed = backend::footprint(problem, options, &variant, queueing).total();
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
        let storage = stored::storage_of(problem);
        if storage.is_none() {
            names.extend(layers::kernel_names(context, problem, &layout)?);
            names.extend(interior::kernel_names(&variant.name, problem));
        }
        names.extend(stored::kernel_names(&variant.name, problem)?);
        let kernels = Kernels::load(&device.modules, &names)?;
        let fields = match storage {
            Some(storage) => stored::fields(&stream, &layout, storage)?,
            None => Fields::new(&stream, &layout, 2 * variant.steps_per_pass as usize)?,
        };
        let layer_kernels = storage.is_none().then_some(&kernels);
        let layers = Layers::new(&stream, problem, &layout, layer_kernels)?;
        let whole = whole_step(problem, &layout);
        let units = sys::units(context)?;
        let name = &variant.name;
        let stored = Stored::new(
            &stream, problem, options, &kernels, &layout, &fields, &layers, &whole, name, units,
            choices,
        )?;
        let interior = match &stored {
            Some(_) => Interior::none(&whole),
            None => Interior::new(
                name, problem, &whole, &kernels, &stream, &layout, &fields, units, choices,
            )?,
        };
        let rows = options.steps_between_traces;
        let graph_rows = backend::graph_rows(options, queueing);
        let samples = Samples::new(context, &stream, options.receivers, rows, graph_rows)?;
        let transfers = Transfers::new(context, &stream)?;
        let mut plan = Self {
            // Reduced storage mirrors as it reads.
            images: if stored.is_some() { Vec::new() } else { walls::images(problem) },
            stored,
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
            queueing,
            graphs: Graphs::default(),
            side: context.new_stream().map_err(failed("cuStreamCreate"))?,
            fork: context.new_event(None).map_err(failed("cuEventCreate"))?,
            join: context.new_event(None).map_err(failed("cuEventCreate"))?,
            timing: None,
            options: options.clone(),
            step: 0,
            speed_unchecked: true,
            images_stale: false,
            peaks_stale: false,
            poison: None,
            lost: device.lost.clone(),
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
            let source = std::error::Error::source(error).map(|s| format!(": {s}"));
            self.poison = Some(format!("{error}{}", source.unwrap_or_default()));
            self.lost.note(error);
        }
        result
    }

    /// Largest absolute value and first bad node of the wave speed or of p^n, of which the largest
    /// memory variable too.
    fn survey(&self, speed: bool) -> Result<Health> {
        let result = &self.transfers.health;
        result.fill(&self.stream, &[0_u32, 0, u32::MAX, u32::MAX])?;
        let at = result.address();
        match &self.stored {
            Some(stored) if !speed => {
                stored.health(&self.stream, &self.kernels, &self.fields, [at, at + 8])?;
            }
            _ => {
                let field = if speed { self.fields.speed_node() } else { self.fields.node(0) };
                self.kernels.health(&self.stream, &self.whole, field, at, at + 8)?;
            }
        }
        for memory in if !speed { self.layers.state() } else { Vec::new() } {
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
        let coded = self.stored.as_ref().and_then(|stored| stored.coded.as_ref());
        let missing = match coded {
            Some(coded) => coded.missing(),
            None => self.survey(true)?.first_bad,
        };
        if let Some(node) = missing {
            return Err(Error::Invalid {
                what: format!("the wave speed at node {node:?} was never set or is not positive"),
                remedy: "upload Field::WaveSpeed on all nodes before the first step".into(),
            });
        }
        self.speed_unchecked = false;
        Ok(())
    }

    /// Refuses steps that the trace buffer has no room for, or while a node has no wave speed.
    fn prepare(&mut self, steps: u32) -> Result<()> {
        self.enter()?;
        let rows = self.options.steps_between_traces;
        let pending = self.samples.pending();
        if self.receivers.is_some() && pending + steps as usize > rows {
            return Err(Error::Invalid {
                what: format!(
                    "{steps} steps on top of {pending} would overflow a trace buffer of {rows}"
                ),
                remedy: "read the traces first, or plan for more steps_between_traces".into(),
            });
        }
        let result = self.check_speed();
        self.note(result)
    }

    fn clear(&mut self) -> Result<()> {
        self.lost.check()?;
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        self.fields.clear(&self.stream)?;
        if let Some(stored) = &self.stored {
            stored.clear(&self.stream)?;
        }
        self.layers.clear(&self.stream)?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        self.transfers.drop_snapshots()?;
        self.step = 0;
        self.samples.drop_rows();
        self.images_stale = false;
        self.peaks_stale = true;
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
        let (tiling, rows) = (self.interior.tiling(), self.queueing.rows());
        let zero = walls::zero_nodes(&self.problem);
        let result = Sources::new(&self.stream, &self.layout, sources, tiling, rows, zero);
        self.sources = self.note(result)?;
        let result = self.interior.watch(&self.stream, sources);
        self.note(result)?;
        self.graphs.clear();
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
        self.graphs.clear();
        self.samples.restart(receivers.points.len());
        Ok(())
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        self.prepare(steps)?;
        let result = self.advance_queued(steps);
        self.note(result)
    }

    fn advance_by_kernel(&mut self, steps: u32) -> Result<Vec<KernelTime>> {
        self.prepare(steps)?;
        let result = self.advance_timed(steps);
        self.note(result)
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn traces(&mut self) -> Result<Traces> {
        if self.poison.is_some() {
            // A fault may have cut the device off; what had arrived before is still here.
            let taken = self.samples.take(&self.stream, self.step);
            return Ok(taken.unwrap_or_else(|_| self.samples.take_arrived(self.step)));
        }
        let result = self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"));
        let result = result.and_then(|()| self.samples.take(&self.stream, self.step));
        self.note(result)
    }

    fn health(&mut self) -> Result<Health> {
        self.enter()?;
        let result = self.survey(false);
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
        self.peaks_stale = true;
        self.samples.drop_rows();
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        self.poison = None;
        let result = self.clear();
        self.note(result)
    }
}
