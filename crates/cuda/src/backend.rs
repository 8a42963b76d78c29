//! A CUDA device as a backend.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use temblor_backend::{
    Backend, Capabilities, DeviceInfo, Footprint, PlanOptions, Propagator, Result, Variant, plan,
};
use temblor_physics::{Arithmetic, BoundaryKind, Equation, WaveProblem};

use crate::plan::CudaPlan;
use crate::variants::{self, Limits};
use crate::{ID, layers, sys, transfer};

/// One NVIDIA device.
#[derive(Debug)]
pub struct CudaBackend {
    context: Arc<CudaContext>,
    device: DeviceInfo,
    capabilities: Capabilities,
    limits: Limits,
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
            vec![Arithmetic::F32],
            boundaries,
            (2, 16),
            variants::NAMES.map(String::from).to_vec(),
        );
        Ok(Self { device: sys::describe(&context)?, context, capabilities, limits })
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
        variants::list(problem, self.limits)
    }

    fn footprint(&self, problem: &WaveProblem, options: &PlanOptions) -> Result<Footprint> {
        let variant = plan::choose_variant(ID, self.variants(problem)?, options)?;
        Ok(footprint(problem, options, &variant))
    }

    fn propagator(
        &self,
        problem: &WaveProblem,
        options: &PlanOptions,
    ) -> Result<Box<dyn Propagator>> {
        let variant = plan::choose_variant(ID, self.variants(problem)?, options)?;
        Ok(Box::new(CudaPlan::new(&self.context, problem, options, variant)?))
    }
}

/// All allocations of a plan but the tables of sources and receivers, whose size is not known yet.
pub(crate) fn footprint(
    problem: &WaveProblem,
    options: &PlanOptions,
    variant: &Variant,
) -> Footprint {
    let layout = variants::layout(problem, &variant.name);
    let field = 4 * layout.elements() as u64;
    let mut footprint = Footprint::default().with("p", field).with("p of the step before", field);
    if variant.steps_per_pass > 1 {
        footprint = footprint.with("p one step ahead", field).with("p two steps ahead", field);
    }
    footprint = footprint.with("c^2 dt^2", field);
    for (name, elements) in layers::memory_elements(problem, &layout) {
        footprint = footprint.with(name, 4 * elements as u64);
    }
    let samples = options.receivers * options.steps_between_traces;
    footprint.with("samples", 4 * samples as u64).with("staging", 4 * transfer::STAGING as u64)
}
