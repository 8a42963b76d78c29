//! Backends and the plans they make.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use temblor_patch::Kernel;
use temblor_physics::WaveProblem;

use crate::patch::{self, PatchKernel, PatchOptions};
use crate::tuning::Choice;
use crate::{
    Capabilities, DeviceInfo, Error, Field, HostArray, HostView, HostViewMut, Nominal, Parameter,
    Parameters, ReceiverTable, Region, Result, SourceTable, StreamRequest, Traces,
};

/// One kernel family that solves a problem, with what a step costs at least.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Variant {
    /// Name as in `--variant`.
    pub name: String,
    /// One line on how it works.
    pub about: String,
    /// Least traffic with main memory outside layers, bytes per point and step.
    pub bytes_per_point: f64,
    /// Operations outside layers, per point and step.
    pub flops_per_point: f64,
    /// Time steps per pass over memory.
    pub steps_per_pass: u32,
}

impl Variant {
    /// All fields at once; for backends.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        about: impl Into<String>,
        bytes_per_point: f64,
        flops_per_point: f64,
        steps_per_pass: u32,
    ) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            bytes_per_point,
            flops_per_point,
            steps_per_pass,
        }
    }
}

/// How a plan is to be made; the defaults let the backend choose.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Variant by name; `None` takes the preferred one.
    pub variant: Option<String>,
    /// Values of some of the variant's [`Backend::parameters`]; the others keep their defaults.
    pub parameters: Parameters,
    /// Most receivers that [`Propagator::set_receivers`] will be given; sizes the trace buffer.
    pub receivers: usize,
    /// Most steps between two calls of [`Propagator::traces`]; sizes the trace buffer.
    pub steps_between_traces: usize,
    /// Least and largest wave speed that will be uploaded, m/s: what a two-byte wave speed needs to
    /// know before the first upload, and refuses to go without.
    pub speeds: Option<[f64; 2]>,
}

impl PlanOptions {
    /// Options for a number of receivers and of steps between two calls of `traces`.
    #[must_use]
    pub const fn new(receivers: usize, steps_between_traces: usize) -> Self {
        Self {
            variant: None,
            parameters: Parameters::new(),
            receivers,
            steps_between_traces,
            speeds: None,
        }
    }

    /// Asks for a variant by name.
    #[must_use]
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Says between which wave speeds all uploads will lie, m/s.
    #[must_use]
    pub const fn speeds(mut self, least: f64, largest: f64) -> Self {
        self.speeds = Some([least, largest]);
        self
    }

    /// Asks for values of the variant's parameters.
    #[must_use]
    pub fn parameters(mut self, parameters: Parameters) -> Self {
        self.parameters = parameters;
        self
    }
}

/// One allocation of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FootprintItem {
    /// What it holds.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// What a plan will allocate, known before anything is allocated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Footprint {
    /// Allocations.
    pub items: Vec<FootprintItem>,
}

impl Footprint {
    /// Adds an allocation.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, bytes: u64) -> Self {
        self.items.push(FootprintItem { name: name.into(), bytes });
        self
    }

    /// All bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.items.iter().map(|item| item.bytes).sum()
    }
}

/// State of the wavefield at a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Step of the check.
    pub step: u64,
    /// Largest |p^n|; infinite or NaN where the wavefield is.
    pub largest: f64,
    /// Largest absolute memory variable of the layers, in their own units; 0 without layers.
    pub largest_in_layers: f64,
    /// First node whose p^n is not finite.
    pub first_bad: Option<[usize; 3]>,
}

/// What a kernel does, as the time of a step is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KernelKind {
    /// Steps nodes outside the layers.
    Interior,
    /// Steps nodes of the absorbing layers.
    Layers,
    /// Fills images across reflecting faces.
    Walls,
    /// Injects.
    Sources,
    /// Records.
    Receivers,
}

impl KernelKind {
    /// All, in the order of their declaration.
    pub const ALL: [Self; 5] =
        [Self::Interior, Self::Layers, Self::Walls, Self::Sources, Self::Receivers];

    /// Name as in [`KernelTime::name`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interior => "interior",
            Self::Layers => "layers",
            Self::Walls => "walls",
            Self::Sources => "sources",
            Self::Receivers => "receivers",
        }
    }
}

/// How long one kind of kernel took in the steps of [`Propagator::advance_by_kernel`].
///
/// Nodes and traffic are those of the launches that were timed: where layers have kernels of their own,
/// `interior` and `layers` are the two parts of the grid; where all nodes are stepped alike and layers
/// add to that, `interior` is the plain step of all nodes and `layers` what is added in theirs. The
/// traffic of the two is together the least that a step of the variant moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelTime {
    /// What it does, a [`KernelKind::name`].
    pub name: String,
    /// Nodes that a step of it updates; of `walls` nodes of the halo, of `receivers` samples.
    pub points: u64,
    /// Least traffic with main memory, bytes per step.
    pub bytes_per_step: f64,
    /// Operations per step.
    pub flops_per_step: f64,
    /// Time of each step, s.
    pub seconds: Vec<f64>,
}

/// A queued snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// A device with kernels.
pub trait Backend: Send + Sync {
    /// What the device is.
    fn device(&self) -> &DeviceInfo;

    /// What the backend can do.
    fn capabilities(&self) -> &Capabilities;

    /// Variants that solve `problem`, preferred first.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] that says why there is none.
    fn variants(&self, problem: &WaveProblem) -> Result<Vec<Variant>>;

    /// The variant that the backend's own measurements on this kind of device say is fastest, and
    /// where they are from; [`Backend::variants`] then lists it first.
    fn tuned(&self, problem: &WaveProblem) -> Option<Choice> {
        let _ = problem;
        None
    }

    /// Names the kernels, so that what was measured with others is not trusted: a hash of their
    /// sources, or the version.
    fn kernels(&self) -> String {
        env!("CARGO_PKG_VERSION").into()
    }

    /// What a variant can be tuned by for a problem.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] as for [`Backend::variants`], and for an unknown variant.
    fn parameters(&self, problem: &WaveProblem, variant: &str) -> Result<Vec<Parameter>> {
        let _ = (problem, variant);
        Ok(Vec::new())
    }

    /// What the vendor or the driver says of the device.
    fn nominal(&self) -> Nominal {
        Nominal::default()
    }

    /// Measures memory traffic, B/s, one value per sample.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`], [`crate::Error::Driver`]; [`crate::Error::Unsupported`] where
    /// it is not measured.
    fn stream(&self, request: &StreamRequest) -> Result<Vec<f64>> {
        let what = format!("measuring {} traffic", request.pattern.name());
        Err(Error::Unsupported { backend: self.device().backend.clone(), what })
    }

    /// Measures single-precision fused multiply-adds from registers, operations per second (two per
    /// fused multiply-add), one value per sample.
    ///
    /// # Errors
    /// [`crate::Error::Driver`]; [`crate::Error::Unsupported`] where it is not measured.
    fn peak_flops(&self, samples: u32) -> Result<Vec<f64>> {
        let what = format!("measuring operations per second ({samples} samples)");
        Err(Error::Unsupported { backend: self.device().backend.clone(), what })
    }

    /// Schedules of a patch kernel, preferred first.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] where the backend has no patch kernels or cannot take this one.
    fn patch_schedules(&self, kernel: &Kernel) -> Result<Vec<String>> {
        Err(patch::none(&self.device().backend, kernel))
    }

    /// Makes a patch kernel.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] as for [`Backend::patch_schedules`], and for an unknown schedule;
    /// [`crate::Error::Driver`] where a compiler or a driver fails.
    fn patch_kernel(
        &self,
        kernel: &Kernel,
        options: &PatchOptions,
    ) -> Result<Box<dyn PatchKernel>> {
        let _ = options;
        Err(patch::none(&self.device().backend, kernel))
    }

    /// What [`Backend::propagator`] would allocate.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] as for [`Backend::propagator`].
    fn footprint(&self, problem: &WaveProblem, options: &PlanOptions) -> Result<Footprint>;

    /// Makes a plan: fields at rest (p^0 = p^-1 = 0), wave speed unset, no sources, no receivers.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`], [`crate::Error::OutOfMemory`] (before anything is
    /// allocated), [`crate::Error::Driver`].
    fn propagator(
        &self,
        problem: &WaveProblem,
        options: &PlanOptions,
    ) -> Result<Box<dyn Propagator>>;
}

/// A plan: owns its fields in the vendor's layout.
///
/// All methods answer [`crate::Error::Poisoned`] after an error of the device or of the wavefield,
/// until [`Propagator::reset`]. An argument that is refused (shape, region, too many receivers)
/// changes nothing and does not poison.
pub trait Propagator: Send {
    /// The variant in use.
    fn variant(&self) -> &Variant;

    /// Sets a part of a field. Wave speed must be set on all nodes before the first step; where
    /// c^2 dt^2 is zero or not finite it counts as not set. Pressure on a free surface's own nodes
    /// stays zero, whatever is given.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::Outside`], [`crate::Error::Unsupported`] for
    /// [`Field::Layers`].
    fn upload(&mut self, field: Field, region: Region, host: HostView<'_>) -> Result<()>;

    /// Reads a part of a field, after all queued steps.
    ///
    /// # Errors
    /// As for [`Propagator::upload`]; [`crate::Error::Unsupported`] for [`Field::WaveSpeed`].
    fn download(&mut self, field: Field, region: Region, host: HostViewMut<'_>) -> Result<()>;

    /// Queues a copy of a part of a field as it is after the steps queued so far; later steps may
    /// overlap it.
    ///
    /// # Errors
    /// As for [`Propagator::download`].
    fn snapshot(&mut self, field: Field, region: Region) -> Result<Ticket>;

    /// Gives out a queued copy, once.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for an unknown ticket.
    fn wait(&mut self, ticket: Ticket) -> Result<HostArray>;

    /// Replaces the sources. Row n of the amplitudes belongs to step n, counted from the last
    /// reset.
    ///
    /// # Errors
    /// [`crate::Error::Outside`] if a node is; [`crate::Error::Invalid`] if the table's shapes
    /// disagree.
    fn set_sources(&mut self, sources: &SourceTable) -> Result<()>;

    /// Replaces the receivers and drops samples not yet read.
    ///
    /// # Errors
    /// [`crate::Error::Outside`] if a node is; [`crate::Error::Invalid`] if there are more than
    /// planned for.
    fn set_receivers(&mut self, receivers: &ReceiverTable) -> Result<()>;

    /// Queues time steps; each records, then injects.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if the wave speed was never set or the trace buffer would
    /// overflow (neither poisons); [`crate::Error::Driver`].
    fn advance(&mut self, steps: u32) -> Result<()>;

    /// Steps like [`Propagator::advance`], bit for bit, one kind of kernel after the other, and says
    /// how long each took; the sum is more than a step of `advance` takes where that overlaps them.
    ///
    /// # Errors
    /// As for [`Propagator::advance`]; [`crate::Error::Unsupported`] where kernels are not told apart.
    fn advance_by_kernel(&mut self, steps: u32) -> Result<Vec<KernelTime>> {
        let _ = steps;
        let what = "time by kernel".into();
        Err(Error::Unsupported { backend: self.variant().name.clone(), what })
    }

    /// Steps queued since the last reset: n of p^n.
    fn step(&self) -> u64;

    /// Samples recorded since the last call; works on a poisoned plan.
    ///
    /// # Errors
    /// [`crate::Error::Driver`].
    fn traces(&mut self) -> Result<Traces>;

    /// Looks for values that are not finite and for the largest ones, layers included.
    ///
    /// # Errors
    /// [`crate::Error::Driver`]. A bad wavefield is a finding, not an error.
    fn health(&mut self) -> Result<Health>;

    /// Waits for all queued work; earlier faults surface here.
    ///
    /// # Errors
    /// [`crate::Error::Driver`].
    fn synchronize(&mut self) -> Result<()>;

    /// Writes the state: fields, memory variables, step. Not the wave speed, sources, receivers
    /// and samples, which the solver sets again.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Driver`].
    fn save(&mut self, to: &mut dyn Write) -> Result<()>;

    /// Reads a state that the same problem, backend and variant saved; going on is then bit for
    /// bit the same as never having stopped. Samples not yet read are dropped on success.
    ///
    /// # Errors
    /// [`crate::Error::State`] if it belongs to another plan (nothing has changed then);
    /// [`crate::Error::Io`], which poisons: fields may be half read.
    fn restore(&mut self, from: &mut dyn Read) -> Result<()>;

    /// Back to rest at step 0: fields and memory variables zero, samples and snapshots dropped; wave
    /// speed, sources and receivers kept. Clears poison.
    ///
    /// # Errors
    /// [`crate::Error::Driver`].
    fn reset(&mut self) -> Result<()>;
}

/// The variant that a plan should use: the one asked for, else the first.
///
/// # Errors
/// [`crate::Error::Unsupported`] if the name is unknown, with the names that exist.
pub fn choose_variant(
    backend: &str,
    variants: Vec<Variant>,
    options: &PlanOptions,
) -> Result<Variant> {
    let names: Vec<_> = variants.iter().map(|v| v.name.clone()).collect();
    let wanted = options.variant.as_ref();
    variants.into_iter().find(|v| wanted.is_none_or(|name| *name == v.name)).ok_or_else(|| {
        crate::Error::Unsupported {
            backend: backend.into(),
            what: format!(
                "variant '{}' for this problem (there are: {})",
                wanted.map_or("", String::as_str),
                names.join(", ")
            ),
        }
    })
}
