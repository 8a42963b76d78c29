//! Patch kernels: text printed by `temblor_patch::emit::gpu`, compiled when it is first needed.
//!
//! Patches that stay on the device lie there as an array per unknown ([`Layouts::resident`]), so that
//! neighbouring threads read neighbouring values; chunks of a host come as they are.

mod apply;
mod bandwidth;
pub mod compile;
mod crossing;
mod fetch;
mod handout;
mod host;
mod line;
mod list;
mod program;
mod search;
mod service;
mod set;
mod tuned;

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaContext;
use temblor_backend::patch::check_parameters;
use temblor_backend::{Cell, HostMemory, PatchKernel, PatchOptions, PatchReport, PatchSet, Result};
use temblor_patch::Kernel;
use temblor_patch::emit::gpu::{Layouts, Schedule, Way, candidates, post_kernel, speed_kernel};

use crate::ID;
use crate::backend::Device;
use crate::faults::Lost;
use crate::sys::{self, capability, shared_per_block};
use apply::Pipeline;
pub use bandwidth::PinnedCopies;
#[doc(hidden)]
pub use crossing::Crossings;
#[doc(hidden)]
pub use handout::hand_out_rate;
pub(crate) use host::Ranges;
use program::{Beside, Loaded, refused};
use set::CudaSet;

/// Schedules that are compiled at most to find one without spills.
const TRIED: usize = 4;

/// Schedules of a kernel on a device, preferred first: what was measured fastest, if it was.
pub(crate) fn schedules(device: &Device, kernel: &Kernel) -> Result<Vec<String>> {
    let shared = shared_per_block(&device.context)?;
    let bulk = capability(&device.context)? >= 90;
    let mut list = candidates(kernel, shared, bulk);
    if let Some(row) = tuned::find(&sys::describe(&device.context)?.name, kernel) {
        list.retain(|name| name != row.schedule);
        list.insert(0, row.schedule.into());
    }
    Ok(list)
}

/// Programs of a kernel, shared with its sets.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) kernel: Kernel,
    /// How patches lie on the device.
    pub(crate) layouts: Layouts,
    /// For patches that stay on the device, with the kernels around it.
    pub(crate) resident: Loaded,
    /// Largest eigenvalue of a state.
    pub(crate) speed: Option<Loaded>,
    /// The physics' `post`.
    pub(crate) post: Option<Loaded>,
}

/// A patch kernel on a device.
pub(crate) struct CudaPatchKernel {
    context: Arc<CudaContext>,
    lost: Lost,
    host: Ranges,
    crossings: Arc<Mutex<Crossings>>,
    programs: Arc<Programs>,
    name: String,
    schedule: Schedule,
    contract: bool,
    parameters: Vec<f64>,
    /// Program for chunks, and its buffers; made at the first use.
    pipeline: Option<Pipeline>,
}

/// Makes a kernel: by the schedule that is named, `search` standing for the fastest of all, else by what
/// a search has found, else by a measured or the first one.
pub(crate) fn kernel(
    device: &Device,
    kernel: &Kernel,
    options: &PatchOptions,
) -> Result<CudaPatchKernel> {
    device.lost.check()?;
    let context = &device.context;
    let contract = options.contract;
    let load = |name: &str| -> Result<(Schedule, Loaded)> {
        let schedule = Schedule::parse(name).map_err(|e| refused(&e))?;
        let layouts = Layouts::resident(kernel, &schedule);
        let loaded =
            Loaded::new(context, kernel, (name, &schedule), &layouts, contract, Beside::Set)?;
        Ok((schedule, loaded))
    };
    let found = match options.schedule.as_deref() {
        Some(search::SEARCH) => Some(search::find(device, kernel, contract)?),
        Some(_) => None,
        None => search::known(device, kernel, contract),
    };
    let named = options.schedule.as_ref().filter(|name| *name != search::SEARCH);
    let (schedule, mut resident) = match found.as_ref().map(|found| &found.schedule).or(named) {
        Some(name) => load(name)?,
        None => {
            let mut names = schedules(device, kernel)?.into_iter().take(TRIED);
            let first = names.next().unwrap_or_else(|| "unfused".into());
            let mut chosen = load(&first)?;
            // The first without spills, else the one with the fewest.
            for name in names {
                if chosen.1.report.spills == Some(0) {
                    break;
                }
                let next = load(&name)?;
                if next.1.report.spills < chosen.1.report.spills {
                    chosen = next;
                }
            }
            chosen
        }
    };
    // Said to who asked.
    let asked = options.schedule.is_some();
    resident.report.note = found.filter(|_| asked).map(|found| found.note);
    let name = resident.report.schedule.clone();
    let layouts = Layouts::resident(kernel, &schedule);
    let state = Layouts { output: layouts.input, ..layouts };
    let plain = |kernel: Option<Kernel>| -> Result<Option<Loaded>> {
        let schedule = Schedule::new(Way::Flat);
        kernel
            .map(|k| {
                Loaded::new(context, &k, ("flat", &schedule), &state, contract, Beside::Nothing)
            })
            .transpose()
    };
    let programs = Programs {
        layouts,
        resident,
        speed: plain(speed_kernel(kernel).map_err(|e| refused(&e))?)?,
        post: plain(post_kernel(kernel).map_err(|e| refused(&e))?)?,
        kernel: kernel.clone(),
    };
    let parameters = kernel.parameters.iter().map(|parameter| parameter.default).collect();
    Ok(CudaPatchKernel {
        context: context.clone(),
        lost: device.lost.clone(),
        host: device.host.clone(),
        crossings: device.crossings.clone(),
        programs: Arc::new(programs),
        name,
        schedule,
        contract,
        parameters,
        pipeline: None,
    })
}

/// Compiles all that [`temblor_backend::Backend::patch_kernel`] would need on a card of a compute
/// capability (90 for 9.0) into the cache, without a card or a driver; `chunks` adds what
/// [`PatchKernel::apply`] needs.
///
/// # Errors
/// [`temblor_backend::Error::Unsupported`] for a schedule that does not go with the kernel;
/// [`temblor_backend::Error::Driver`] from the compiler.
pub fn compile_ahead(
    kernel: &Kernel,
    schedule: &str,
    capability: i32,
    contract: bool,
    chunks: bool,
) -> Result<()> {
    let parsed = Schedule::parse(schedule).map_err(|e| refused(&e))?;
    let resident = Layouts::resident(kernel, &parsed);
    let program = program::print(kernel, &parsed, &resident, Beside::Set)?;
    compile::cubin(&program.source, capability, contract)?;
    let state = Layouts { output: resident.input, ..resident };
    let points = [speed_kernel(kernel), post_kernel(kernel)];
    for point in points {
        if let Some(point) = point.map_err(|e| refused(&e))? {
            let program =
                program::print(&point, &Schedule::new(Way::Flat), &state, Beside::Nothing)?;
            compile::cubin(&program.source, capability, contract)?;
        }
    }
    if chunks {
        let program = program::print(kernel, &parsed, &Layouts::chunks(kernel), Beside::Chunks)?;
        compile::cubin(&program.source, capability, contract)?;
    }
    Ok(())
}

impl CudaPatchKernel {
    fn noted<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.lost.note(error))
    }

    fn pipeline(&mut self) -> Result<&mut Pipeline> {
        if self.pipeline.is_none() {
            let made = Pipeline::new(
                &self.context,
                &self.programs.kernel,
                (&self.name, &self.schedule),
                self.contract,
            );
            self.pipeline = Some(self.noted(made)?);
        }
        Ok(self.pipeline.as_mut().expect("made above"))
    }
}

impl PatchKernel for CudaPatchKernel {
    fn report(&self) -> &PatchReport {
        &self.programs.resident.report
    }

    fn set_parameters(&mut self, parameters: &[f64]) -> Result<()> {
        check_parameters(&self.programs.kernel, parameters)?;
        self.parameters = parameters.to_vec();
        Ok(())
    }

    fn apply(
        &mut self,
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        self.lost.check()?;
        apply::check(&self.programs.kernel, cells, inputs, outputs, speeds)?;
        let parameters = self.parameters.clone();
        let reachable = self.host.hold_all(inputs) && self.host.hold_all(outputs);
        let host = self.host.clone();
        let crossings = *self.crossings.lock().unwrap_or_else(PoisonError::into_inner);
        let pipeline = self.pipeline()?;
        let done = if reachable {
            pipeline.fetch((&host, &crossings), &parameters, cells, inputs, outputs, speeds)
        } else {
            pipeline.apply(&parameters, cells, inputs, outputs, speeds)
        };
        self.noted(done)
    }

    fn host_memory(&self, values: usize) -> Result<Box<dyn HostMemory>> {
        self.lost.check()?;
        Ok(Box::new(self.noted(host::Locked::new(&self.context, &self.host, values))?))
    }

    fn pin<'a>(&self, memory: &'a mut [f64]) -> Result<Box<dyn HostMemory + 'a>> {
        self.lost.check()?;
        Ok(Box::new(self.noted(host::Borrowed::new(&self.context, &self.host, memory))?))
    }

    fn set_bytes(&self, patches: usize, states: usize, rates: usize) -> u64 {
        set::bytes(&self.programs, patches, states, rates)
    }

    fn patches(&self, cells: &[Cell], states: usize, rates: usize) -> Result<Box<dyn PatchSet>> {
        self.lost.check()?;
        let set = CudaSet::new(
            &self.context,
            &self.lost,
            &self.programs,
            &self.parameters,
            cells,
            [states, rates],
        );
        Ok(Box::new(self.noted(set)?))
    }
}

impl std::fmt::Debug for CudaPatchKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {ID} by {}", self.programs.kernel.name, self.name)
    }
}
