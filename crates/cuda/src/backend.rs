//! A CUDA device as a backend.

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaContext;
use temblor_backend::tuning::{Choice, TuningTable};
use temblor_backend::{
    Backend, Capabilities, DeviceInfo, Footprint, Nominal, Parameter, PatchKernel, PatchOptions,
    PlanOptions, Propagator, Result, StreamRequest, Variant, plan,
};
use temblor_patch::Kernel;
use temblor_physics::{
    Arithmetic, BoundaryKind, DigitKind, Digits, Equation, Storage, WaveProblem,
};

use crate::faults::Lost;
use crate::graph::Queueing;
use crate::memory::free_bytes;
use crate::modules::Modules;
use crate::ozaki;
use crate::parameters::{Choices, Setting};
use crate::patch::{Crossings, Ranges};
use crate::plan::CudaPlan;
use crate::variants::{self, Limits};
use crate::{ID, TUNING, layers, limbs, parameters, patch, roofs, stored, sys, transfer};

/// What all plans of a device share.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) modules: Modules,
    pub(crate) queueing: Queueing,
    pub(crate) lost: Lost,
    /// Page-locked memory that was given out.
    pub(crate) host: Ranges,
    /// What is chosen for chunks in it.
    pub(crate) crossings: Arc<Mutex<Crossings>>,
}

/// One NVIDIA device.
#[derive(Debug)]
pub struct CudaBackend {
    shared: Device,
    device: DeviceInfo,
    capabilities: Capabilities,
    limits: Limits,
    nominal: Nominal,
    /// Embedded tuning tables with their files' names.
    tables: Vec<(&'static str, TuningTable)>,
}

impl CudaBackend {
    /// Opens device `ordinal`, counted from 0.
    ///
    /// # Errors
    /// [`temblor_backend::Error::Driver`] that says what is missing: driver, a new enough one, or
    /// the device.
    pub fn new(ordinal: usize) -> Result<Self> {
        let context = sys::open(ordinal)?;
        let limits = Limits {
            capability: sys::capability(&context)?,
            shared: sys::shared_per_block(&context)?,
        };
        let boundaries = vec![
            BoundaryKind::Zero,
            BoundaryKind::Free,
            BoundaryKind::Rigid,
            BoundaryKind::Cpml,
            BoundaryKind::Minimod,
        ];
        let capabilities = Capabilities::new(
            vec![Equation::AcousticIso],
            arithmetics(),
            boundaries,
            (2, 16),
            variants::NAMES.into_iter().chain(stored::NAMES).map(String::from).collect(),
        );
        let shared = Device {
            modules: Modules::new(&context),
            queueing: Queueing::default(),
            host: Ranges::default(),
            crossings: Arc::default(),
            lost: Lost::default(),
            context,
        };
        let tables = TUNING
            .iter()
            .map(|&(name, text)| Ok((name, TuningTable::from_toml(text)?)))
            .collect::<Result<_>>()?;
        let device = sys::describe(&shared.context)?;
        let nominal =
            roofs::nominal(sys::clocks(&shared.context)?, device.units, limits.capability);
        Ok(Self { shared, device, capabilities, limits, nominal, tables })
    }

    /// Bytes that are free on the device.
    ///
    /// # Errors
    /// [`temblor_backend::Error::Driver`].
    pub fn free_memory(&self) -> Result<u64> {
        free_bytes(&self.shared.context)
    }

    /// Chooses how chunks in page-locked memory cross, from now on, also for kernels that were made before.
    #[doc(hidden)]
    pub fn set_crossings(&self, crossings: Crossings) {
        *self.shared.crossings.lock().unwrap_or_else(PoisonError::into_inner) = crossings;
    }

    /// What a plan's options choose.
    fn choices(
        &self,
        variant: &str,
        problem: &WaveProblem,
        options: &PlanOptions,
    ) -> Result<Choices> {
        parameters::choose(variant, options, self.setting(problem))
    }

    /// What the parameters of a problem's variants depend on.
    fn setting(&self, problem: &WaveProblem) -> Setting {
        Setting {
            arithmetic: problem.arithmetic,
            radius: problem.operator.radius(),
            shared: self.limits.shared,
            queueing: self.shared.queueing,
        }
    }

    /// Remembers a fault that ended the context.
    fn measured<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.shared.lost.note(error))
    }

    /// Lets plans made from now on queue their steps in another way.
    ///
    /// # Panics
    /// If the steps of a graph are no multiple of four.
    #[must_use]
    pub fn with_queueing(mut self, queueing: Queueing) -> Self {
        let steps = queueing.steps_per_graph;
        assert!(steps.is_multiple_of(4), "{steps} steps per graph are no multiple of 4");
        self.shared.queueing = queueing;
        self
    }
}

impl Backend for CudaBackend {
    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn variants(&self, problem: &WaveProblem) -> Result<Vec<Variant>> {
        let mut list = variants::list(problem, self.limits)?;
        let tuned = self.tuned(problem);
        // A table may name what this problem has no kernel for; then it says nothing.
        if let Some(n) = tuned.and_then(|t| list.iter().position(|v| v.name == t.variant)) {
            list[..=n].rotate_right(1);
        }
        Ok(list)
    }

    fn tuned(&self, problem: &WaveProblem) -> Option<Choice> {
        self.tables.iter().find_map(|(name, table)| {
            let entry = table.lookup(&self.device, problem)?;
            let why = format!(
                "fastest where this class was measured on {}: {} Gpts/s (csrc/cuda/tuning/{name})",
                self.device.name, entry.gpts
            );
            let (variant, parameters) = (entry.variant.clone(), entry.parameters.clone());
            Some(Choice { variant, parameters, why })
        })
    }

    fn kernels(&self) -> String {
        format!("{:016x}", crate::SOURCES)
    }

    fn parameters(&self, problem: &WaveProblem, variant: &str) -> Result<Vec<Parameter>> {
        let options = PlanOptions::default().variant(variant);
        let variant = plan::choose_variant(ID, self.variants(problem)?, &options)?;
        Ok(parameters::known(&variant.name, self.setting(problem)))
    }

    fn nominal(&self) -> Nominal {
        self.nominal
    }

    fn stream(&self, request: &StreamRequest) -> Result<Vec<f64>> {
        self.shared.lost.check()?;
        self.measured(roofs::stream(&self.shared, request))
    }

    fn peak_flops(&self, samples: u32) -> Result<Vec<f64>> {
        self.shared.lost.check()?;
        self.measured(roofs::peak_flops(&self.shared, samples))
    }

    fn patch_schedules(&self, kernel: &Kernel) -> Result<Vec<String>> {
        patch::schedules(&self.shared, kernel)
    }

    fn patch_kernel(
        &self,
        kernel: &Kernel,
        options: &PatchOptions,
    ) -> Result<Box<dyn PatchKernel>> {
        Ok(Box::new(self.measured(patch::kernel(&self.shared, kernel, options))?))
    }

    fn footprint(&self, problem: &WaveProblem, options: &PlanOptions) -> Result<Footprint> {
        let variant = plan::choose_variant(ID, self.variants(problem)?, options)?;
        let choices = self.choices(&variant.name, problem, options)?;
        Ok(footprint(problem, options, &variant, choices.queueing))
    }

    fn propagator(
        &self,
        problem: &WaveProblem,
        options: &PlanOptions,
    ) -> Result<Box<dyn Propagator>> {
        self.shared.lost.check()?;
        let variant = plan::choose_variant(ID, self.variants(problem)?, options)?;
        let choices = self.choices(&variant.name, problem, options)?;
        let plan = CudaPlan::new(&self.shared, problem, options, variant, choices);
        if let Err(error) = &plan {
            self.shared.lost.note(error);
        }
        Ok(Box::new(plan?))
    }
}

/// Single precision, all reduced storage, and one count of either kind of digits, which stands for all.
fn arithmetics() -> Vec<Arithmetic> {
    let digits =
        [DigitKind::Int8, DigitKind::Bf16].map(|kind| Arithmetic::Digits(Digits::new(kind, 2, 3)));
    let stored = Storage::all().map(Arithmetic::Stored);
    [Arithmetic::F32].into_iter().chain(stored).chain(digits).collect()
}

/// All allocations of a plan but the tables of sources and receivers, whose size is not known yet.
pub(crate) fn footprint(
    problem: &WaveProblem,
    options: &PlanOptions,
    variant: &Variant,
    queueing: Queueing,
) -> Footprint {
    let layout = variants::layout(problem, &variant.name);
    let field = 4 * layout.elements() as u64;
    let mut footprint = Footprint::default();
    if let Some(storage) = stored::storage_of(problem) {
        footprint = stored::footprint(&layout, storage, footprint);
    } else {
        footprint = footprint.with("p", field).with("p of the step before", field);
        if variant.steps_per_pass > 1 {
            footprint = footprint.with("p one step ahead", field).with("p two steps ahead", field);
        }
        footprint = footprint.with("c^2 dt^2", field);
    }
    for (name, elements) in layers::memory_elements(problem, &layout) {
        footprint = footprint.with(name, 4 * elements as u64);
    }
    let by_limbs = limbs::digits(&variant.name, problem.arithmetic).is_some();
    if ozaki::is_variant(&variant.name) && !by_limbs {
        for (name, elements) in ozaki::memory_elements(problem, &layout) {
            footprint = footprint.with(name, 4 * elements as u64);
        }
    }
    let samples = options.receivers * options.steps_between_traces;
    let in_graph = options.receivers * graph_rows(options, queueing);
    footprint
        .with("samples", 4 * samples as u64)
        .with("samples of a graph", 4 * in_graph as u64)
        .with("staging", 4 * transfer::STAGING as u64)
}

/// Rows that a graph records: none where the trace buffer holds fewer, since no graph runs then.
pub(crate) fn graph_rows(options: &PlanOptions, queueing: Queueing) -> usize {
    if options.steps_between_traces < queueing.rows() { 0 } else { queueing.rows() }
}
