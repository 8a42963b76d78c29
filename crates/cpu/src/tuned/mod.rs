//! The tuned CPU backend `cpu`: rows in vectors, cache blocking, two steps per sweep, all cores.
//!
//! Three grids of f32 (p^n, p^(n-1), c^2 dt^2) and the layers, in place: p^(n+1) overwrites
//! p^(n-1).
//! Every variant steps the same rows by the same kernels and differs in their order alone, so all
//! variants give the same bits on the same processor.

mod digits;
mod fields;
mod images;
mod kernels;
mod layered;
mod layers;
mod layout;
mod pass;
mod plan;
mod points;
mod schedule;
mod scheme;
mod singles;
mod stored;
mod timing;

use temblor_backend::plan::choose_variant;
use temblor_backend::{
    Backend, Capabilities, DeviceInfo, Error, Footprint, Parameter, PatchKernel, PatchOptions,
    PlanOptions, Propagator, Result, StreamRequest, Variant, parameters,
};
use temblor_patch::Kernel;
use temblor_physics::{
    Arithmetic, Axis, BoundaryKind, DigitKind, Digits, Equation, Storage, WaveProblem,
};

pub use kernels::Isa;
pub(crate) use kernels::{RoofKernels, StreamArgs};

use self::digits::Digital;
use self::layers::Layers;
use self::layout::Layout;
use self::plan::{Plan, trace_samples};
use self::schedule::Schedule;
use self::singles::{Schedules, Singles};
use self::stored::{Sizes, Stored};
use crate::memory::{AlignedVec, available_memory, memory_limit};
use crate::{patch, roofs};

/// Backend id.
pub(crate) const BACKEND: &str = "cpu";

/// The variant of reduced storage.
const STORED: &str = "stored";

/// What fields can be stored as and computed with.
fn arithmetics() -> Vec<Arithmetic> {
    // Of digits two of many: any counts will do.
    let digits =
        [DigitKind::Int8, DigitKind::Bf16].map(|kind| Arithmetic::Digits(Digits::new(kind, 2, 3)));
    let stored = Storage::all().map(Arithmetic::Stored);
    [Arithmetic::F32].into_iter().chain(stored).chain(digits).collect()
}

/// The tuned CPU backend. Plans run on the rayon pool that `advance` is called in.
#[derive(Debug, Clone)]
pub struct CpuBackend {
    device: DeviceInfo,
    capabilities: Capabilities,
    isa: Isa,
    /// Second-level cache of one core, bytes.
    cache: usize,
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuBackend {
    /// The backend with the fastest instruction set of this processor.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Isa::available()[0])
    }

    /// The backend with an instruction set of choice; `None` if the processor lacks it.
    #[must_use]
    pub fn with_isa(isa: Isa) -> Option<Self> {
        Isa::available().contains(&isa).then(|| Self::with(isa))
    }

    fn with(isa: Isa) -> Self {
        let device = DeviceInfo {
            backend: BACKEND.into(),
            name: processor_name(),
            arch: isa.token().into(),
            memory: memory_limit(),
            driver: system_version(),
            units: rayon::current_num_threads(),
        };
        let capabilities = Capabilities::new(
            vec![Equation::AcousticIso],
            arithmetics(),
            vec![
                BoundaryKind::Zero,
                BoundaryKind::Free,
                BoundaryKind::Rigid,
                BoundaryKind::Cpml,
                BoundaryKind::Minimod,
            ],
            (2, 16),
            // Of FP32; reduced storage and digits have their own.
            vec!["wavefront2".into(), "blocked".into()],
        );
        Self { device, capabilities, isa, cache: second_level_cache() }
    }

    /// Why a problem cannot be solved here, if it cannot.
    fn check(problem: &WaveProblem) -> Result<()> {
        let unsupported = |what: String| Err(Error::Unsupported { backend: BACKEND.into(), what });
        // Weights are data: any operator of radius 1 to 8 will do.
        match (problem.equation, problem.arithmetic) {
            (
                Equation::AcousticIso,
                Arithmetic::F32 | Arithmetic::Stored(_) | Arithmetic::Digits(_),
            ) => Ok(()),
            (Equation::AcousticIso, arithmetic) => {
                unsupported(format!("arithmetic {arithmetic} (cpu-ref has f64)"))
            }
            (equation, _) => unsupported(format!("{equation:?}")),
        }
    }

    /// The order of rows that options ask for, completed by defaults.
    fn schedules(
        &self,
        problem: &WaveProblem,
        layout: &Layout,
        variant: &Variant,
        options: &PlanOptions,
    ) -> Result<Schedules> {
        let known = parameters_of(problem);
        let asked = parameters::resolve(BACKEND, &variant.name, &known, &options.parameters)?;
        let asked = |name: &str| asked.get(name).map_or(0, |&value| value as usize);
        let radius = layout.radius;
        // Blocked: 2R + 1 planes of p, one each of p_prev and c^2 dt^2. Two steps: 2R + 1 planes of
        // either wavefield, R + 1 of c^2 dt^2.
        let schedule = |working_set| Schedule {
            rows: match asked("rows") {
                0 => schedule::rows_per_tile(layout, working_set, self.cache / 2),
                rows => rows,
            },
            planes: asked("planes"),
        };
        Ok(Schedules { blocked: schedule(2 * radius + 3), wavefront: schedule(5 * radius + 3) })
    }

    /// Sizes of a plan whose fields are stored in fewer bytes.
    fn sizes(
        &self,
        problem: &WaveProblem,
        storage: Storage,
        options: &PlanOptions,
    ) -> Result<Sizes> {
        let known = schedule::parameters();
        let asked = parameters::resolve(BACKEND, STORED, &known, &options.parameters)?;
        let [rows, planes] = ["rows", "planes"].map(|name| asked[name] as usize);
        Ok(Sizes::new(problem, storage, self.isa, [rows, planes], self.cache / 2))
    }
}

impl Backend for CpuBackend {
    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn variants(&self, problem: &WaveProblem) -> Result<Vec<Variant>> {
        Self::check(problem)?;
        let flops = flops_per_point(problem);
        if let Arithmetic::Stored(_) = problem.arithmetic {
            let bytes = problem.arithmetic.bytes_per_point();
            let about = "one step per sweep, codes decoded into FP32 windows of strips along x";
            return Ok(vec![Variant::new(STORED, about, bytes, flops, 1)]);
        }
        if let Arithmetic::Digits(digits) = problem.arithmetic {
            return digits::variants(problem, digits, self.isa);
        }
        let blocked = Variant::new(
            "blocked",
            "one step per sweep, tiles along y marching along x, vectors along z",
            16.0,
            flops,
            1,
        );
        let wavefront = Variant::new(
            "wavefront2",
            "two steps per sweep, in place, the second one radius behind the first",
            // p, p_prev and c^2 dt^2 read and both wavefields written once per two steps.
            10.0,
            flops,
            2,
        );
        // Tiles along y are what threads share; a 2-D problem has one, and fits the cache anyway.
        let three_d = problem.grid.active(Axis::Y);
        Ok(if three_d { vec![wavefront, blocked] } else { vec![blocked] })
    }

    fn parameters(&self, problem: &WaveProblem, variant: &str) -> Result<Vec<Parameter>> {
        let options = PlanOptions::default().variant(variant);
        choose_variant(BACKEND, self.variants(problem)?, &options)?;
        Ok(parameters_of(problem))
    }

    fn stream(&self, request: &StreamRequest) -> Result<Vec<f64>> {
        roofs::stream(self.isa, request)
    }

    fn peak_flops(&self, samples: u32) -> Result<Vec<f64>> {
        Ok(roofs::peak_flops(self.isa, samples))
    }

    fn patch_schedules(&self, kernel: &Kernel) -> Result<Vec<String>> {
        Ok(patch::schedules(kernel))
    }

    fn patch_kernel(
        &self,
        kernel: &Kernel,
        options: &PatchOptions,
    ) -> Result<Box<dyn PatchKernel>> {
        patch::compiled(BACKEND, kernel, options)
    }

    fn footprint(&self, problem: &WaveProblem, options: &PlanOptions) -> Result<Footprint> {
        let variant = choose_variant(BACKEND, self.variants(problem)?, options)?;
        let add = |footprint: Footprint, name: &str, bytes| {
            if bytes > 0 { footprint.with(name, bytes) } else { footprint }
        };
        if let Arithmetic::Stored(storage) = problem.arithmetic {
            let footprint = stored::footprint(problem, &self.sizes(problem, storage, options)?);
            return Ok(add(footprint, "traces", AlignedVec::bytes(trace_samples(options))));
        }
        let layout = Layout::new(problem);
        self.schedules(problem, &layout, &variant, options)?;
        let footprint = Footprint::default()
            .with("p", AlignedVec::bytes(layout.len))
            .with("p_prev", AlignedVec::bytes(layout.len))
            .with("c^2 dt^2", AlignedVec::bytes(layout.len_c2()));
        let footprint = add(footprint, "layers", Layers::bytes(problem, &layout));
        let digits = match problem.arithmetic {
            Arithmetic::Digits(_) => Digital::bytes(problem, &layout),
            _ => 0,
        };
        let footprint = add(footprint, "digits", digits);
        Ok(add(footprint, "traces", AlignedVec::bytes(trace_samples(options))))
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
        if let Arithmetic::Stored(storage) = problem.arithmetic {
            let sizes = self.sizes(problem, storage, options)?;
            let store = Stored::new(problem, options, &sizes, self.isa)?;
            return Ok(Box::new(Plan::new(problem, options, variant, store)));
        }
        let schedules = self.schedules(problem, &Layout::new(problem), &variant, options)?;
        let mut store = Singles::new(problem, self.isa, schedules);
        if let Arithmetic::Digits(digits) = problem.arithmetic {
            store = store.with_digits(Digital::new(problem, digits, &variant, self.isa)?);
        }
        Ok(Box::new(Plan::new(problem, options, variant, store)))
    }
}

/// What variants for a problem can be tuned by. Tiles of digits are part of the arithmetic: others give
/// other bits.
fn parameters_of(problem: &WaveProblem) -> Vec<Parameter> {
    let digits = matches!(problem.arithmetic, Arithmetic::Digits(_));
    if digits { Vec::new() } else { schedule::parameters() }
}

/// Operations per point and step outside layers, with neighbours summed before they are weighted:
/// for radius R and D dimensions 2 D R - 1 + R additions and R + 1 products for the operator when
/// all spacings are equal, else (3 R D + 1), and 4 for the step. Order 8 in 3-D with equal spacing:
/// 33.
fn flops_per_point(problem: &WaveProblem) -> f64 {
    let (radius, dimensions) = (problem.operator.radius(), problem.grid.dimensions());
    let mut spacings = problem.grid.active_axes().map(|axis| problem.grid.spacing[axis.index()]);
    let first = spacings.next().unwrap_or(1.0).to_bits();
    let operator = if spacings.all(|h| h.to_bits() == first) {
        radius * (2 * dimensions + 1) + 1
    } else {
        3 * radius * dimensions + 1
    };
    (operator + 4) as f64
}

/// The processor's name as the system gives it.
fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|line| {
            line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim())
        })
        .unwrap_or(std::env::consts::ARCH)
        .to_owned()
}

fn system_version() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned()
}

/// Second-level cache of one core, bytes; 1 MiB where the system does not say.
fn second_level_cache() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size");
    text.ok()
        .and_then(|text| text.trim().strip_suffix('K')?.parse::<usize>().ok())
        .map_or(1 << 20, |kib| kib << 10)
}

#[cfg(test)]
mod tests;
