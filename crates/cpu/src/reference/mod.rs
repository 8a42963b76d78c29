//! `cpu-ref`: the oracle that every other backend is compared with.
//!
//! Plain loops, generic over f32 and f64: `p+ = 2p - p- + dt^2 c^2 (L p + s / (hx hy hz))` with the
//! layers and images of `temblor-physics`, whose weights and profiles are all that it shares with
//! tuned code. Weights, profiles and c^2 dt^2 are computed in f64 and rounded once; samples and
//! injections are summed in f64 and rounded once. Values below the smallest normal number are
//! stored as zero; so are intermediates where the processor can (they are slow at a wave's front).

mod layers;
mod layout;
mod plan;
mod points;
mod real;
mod step;

use temblor_backend::plan::choose_variant;
use temblor_backend::{
    Backend, Capabilities, DeviceInfo, Error, Footprint, Parameter, PatchKernel, PatchOptions,
    PlanOptions, Propagator, Result, StreamRequest, Variant, parameters,
};
use temblor_patch::Kernel;
use temblor_physics::{Arithmetic, BoundaryKind, Equation, WaveProblem};

use crate::memory::{available_memory, memory_limit};
use crate::tuned::Isa;
use crate::{patch, roofs};
use plan::Plan;

/// Backend id.
const BACKEND: &str = "cpu-ref";

/// The oracle; see the module's text.
#[derive(Debug)]
pub struct ReferenceBackend {
    device: DeviceInfo,
    capabilities: Capabilities,
}

impl ReferenceBackend {
    /// The reference on this host.
    #[must_use]
    pub fn new() -> Self {
        use BoundaryKind::{Cpml, Free, Minimod, Rigid, Zero};
        let device = DeviceInfo {
            backend: BACKEND.into(),
            name: "host processor, plain loops".into(),
            arch: std::env::consts::ARCH.into(),
            memory: memory_limit(),
            driver: std::env::consts::OS.into(),
            units: rayon::current_num_threads(),
        };
        let capabilities = Capabilities::new(
            vec![Equation::AcousticIso],
            vec![Arithmetic::F32, Arithmetic::F64],
            vec![Zero, Free, Rigid, Cpml, Minimod],
            (2, 16),
            vec!["loops".into()],
        );
        Self { device, capabilities }
    }
}

impl Default for ReferenceBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for ReferenceBackend {
    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn variants(&self, problem: &WaveProblem) -> Result<Vec<Variant>> {
        let bytes = match (problem.equation, problem.arithmetic) {
            (Equation::AcousticIso, Arithmetic::F32) => 4.0,
            (Equation::AcousticIso, Arithmetic::F64) => 8.0,
            (equation, arithmetic) => {
                let what = format!("{equation:?} in {arithmetic:?}");
                return Err(Error::Unsupported { backend: BACKEND.into(), what });
            }
        };
        // Equal spacing: per distance, 2 D - 1 additions, one multiplication, one addition; then
        // the centre's multiplication and four operations of leapfrog.
        let (radius, axes) = (problem.operator.radius() as f64, problem.grid.dimensions() as f64);
        let flops = radius * (2.0 * axes + 1.0) + 5.0;
        let about = "plain loops, the oracle";
        Ok(vec![Variant::new("loops", about, 4.0 * bytes, flops, 1)])
    }

    fn parameters(&self, problem: &WaveProblem, variant: &str) -> Result<Vec<Parameter>> {
        let options = PlanOptions::default().variant(variant);
        choose_variant(BACKEND, self.variants(problem)?, &options)?;
        Ok(Vec::new())
    }

    // The roofs of the machine, which `cpu` measures: the loops here have none of their own.
    fn stream(&self, request: &StreamRequest) -> Result<Vec<f64>> {
        roofs::stream(Isa::available()[0], request)
    }

    fn peak_flops(&self, samples: u32) -> Result<Vec<f64>> {
        Ok(roofs::peak_flops(Isa::available()[0], samples))
    }

    fn patch_schedules(&self, _: &Kernel) -> Result<Vec<String>> {
        Ok(patch::reference_schedules())
    }

    fn patch_kernel(
        &self,
        kernel: &Kernel,
        options: &PatchOptions,
    ) -> Result<Box<dyn PatchKernel>> {
        patch::reference(BACKEND, kernel, options)
    }

    fn footprint(&self, problem: &WaveProblem, options: &PlanOptions) -> Result<Footprint> {
        let variant = choose_variant(BACKEND, self.variants(problem)?, options)?;
        parameters::resolve(BACKEND, &variant.name, &[], &options.parameters)?;
        Ok(match problem.arithmetic {
            Arithmetic::F64 => plan::footprint::<f64>(problem, options),
            _ => plan::footprint::<f32>(problem, options),
        })
    }

    fn propagator(
        &self,
        problem: &WaveProblem,
        options: &PlanOptions,
    ) -> Result<Box<dyn Propagator>> {
        let variant = choose_variant(BACKEND, self.variants(problem)?, options)?;
        let (needed, available) = (self.footprint(problem, options)?.total(), available_memory());
        if needed > available {
            return Err(Error::OutOfMemory { needed, available });
        }
        Ok(match problem.arithmetic {
            Arithmetic::F64 => Box::new(Plan::<f64>::new(problem, options, variant)),
            _ => Box::new(Plan::<f32>::new(problem, options, variant)),
        })
    }
}
