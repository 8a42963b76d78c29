//! Patch kernels: what a backend makes of a [`Kernel`] of the patch language.
//!
//! Two ways to use one. [`PatchKernel::apply`] takes K chunks from the host and gives K back, as an
//! engine that offloads its cells needs it. [`PatchSet`] keeps K patches on the device, with all that
//! a time loop does to them: halo exchange, evaluation, Runge-Kutta stages, constraints.
//!
//! # Laws
//! - A patch's result depends on its own chunk, cell and step alone: not on K, nor on the order.
//! - With [`PatchOptions::contract`] off, results equal the interpreter's bit for bit wherever the
//!   kernel uses no function of the mathematics library beyond the square root, zeros of either sign
//!   counting as equal.
//! - Halo values that no stage reads, corners above all, have no influence.

pub use temblor_patch::Cell;
use temblor_patch::Kernel;

use crate::error::{Error, Result};

/// How a patch kernel is made.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PatchOptions {
    /// Whether `a * b + c` may be one rounding.
    pub contract: bool,
    /// Name of a schedule that [`crate::Backend::patch_schedules`] lists; none: the backend's choice.
    pub schedule: Option<String>,
}

impl PatchOptions {
    /// The backend's own schedule; contraction allowed or not.
    #[must_use]
    pub fn new(contract: bool) -> Self {
        Self { contract, schedule: None }
    }

    /// With a named schedule.
    #[must_use]
    pub fn with_schedule(mut self, schedule: impl Into<String>) -> Self {
        self.schedule = Some(schedule.into());
        self
    }
}

/// What became of a kernel on a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PatchReport {
    /// Schedule in use.
    pub schedule: String,
    /// Compiler or way of running it, such as `gcc 12.2`, `nvrtc 13.0`, `interpreter`.
    pub made_by: String,
    /// What the user should know, such as why the interpreter runs.
    pub note: Option<String>,
    /// Registers per thread, on GPUs.
    pub registers: Option<u32>,
    /// Bytes of registers spilled per thread.
    pub spills: Option<u32>,
    /// Shared memory of a block, bytes.
    pub shared: Option<u32>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Resident threads over those that the device could hold.
    pub occupancy: Option<f64>,
    /// Operations per voxel as scheduled, recomputation included.
    pub flops: f64,
    /// Least bytes per voxel, [`Kernel::least_bytes`].
    pub bytes: f64,
}

/// Memory on the host that a device reads and writes by itself.
pub trait HostMemory: Send {
    /// The values.
    fn values(&self) -> &[f64];

    /// The values, to write.
    fn values_mut(&mut self) -> &mut [f64];
}

impl HostMemory for Vec<f64> {
    fn values(&self) -> &[f64] {
        self
    }

    fn values_mut(&mut self) -> &mut [f64] {
        self
    }
}

impl HostMemory for &mut [f64] {
    fn values(&self) -> &[f64] {
        self
    }

    fn values_mut(&mut self) -> &mut [f64] {
        self
    }
}

/// A patch kernel on a device.
pub trait PatchKernel: Send {
    /// What was made.
    fn report(&self) -> &PatchReport;

    /// Sets the parameters: all of [`Kernel::parameters`] in order, `int` and frozen ones unchanged.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a wrong number, or another value for a parameter that is fixed.
    fn set_parameters(&mut self, parameters: &[f64]) -> Result<()>;

    /// Applies the kernel to K chunks on the host: `inputs` of [`temblor_patch::Shape::input_len`]
    /// values each, `outputs` of `output_len`, `speeds` (empty, or one per cell) the largest
    /// eigenvalue of each new patch, m/s. Chunks may lie anywhere; [`PatchKernel::host_memory`] says
    /// where they are fastest.
    ///
    /// # Errors
    /// [`Error::Invalid`] where lengths do not fit; [`Error::OutOfMemory`], [`Error::Driver`].
    fn apply(
        &mut self,
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()>;

    /// Memory for so many values, zero, in which [`PatchKernel::apply`] finds chunks fastest: where all
    /// inputs and outputs of a call lie in such memory of this kernel's backend, the device reads and
    /// writes them itself, without a copy on the host in between. Order and places within it are free.
    /// It is page-locked on GPUs: make it once and keep it, and leave the rest of the machine enough.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more values than can be addressed; [`Error::Driver`] where the machine
    /// does not give so much.
    fn host_memory(&self, values: usize) -> Result<Box<dyn HostMemory>> {
        let mut memory: Vec<f64> = Vec::new();
        memory.try_reserve_exact(values).map_err(|error| Error::Invalid {
            what: format!("{values} values of host memory ({error})"),
            remedy: "ask for fewer".into(),
        })?;
        memory.resize(values, 0.0);
        Ok(Box::new(memory))
    }

    /// Makes memory that the caller has already what [`PatchKernel::host_memory`] gives, for as long as
    /// the answer lives: chunks within its values are found as fast. Locking costs about as much as some
    /// calls with chunks in ordinary memory, so it pays where the same memory serves call after call.
    /// An answer that is forgotten (`std::mem::forget`) leaves the memory locked: results of chunks that
    /// come to lie there later are lost.
    ///
    /// # Errors
    /// [`Error::Invalid`] where some of the memory is locked already, pages of 4 KiB being locked as a
    /// whole; [`Error::Driver`] where the machine does not lock so much.
    fn pin<'a>(&self, memory: &'a mut [f64]) -> Result<Box<dyn HostMemory + 'a>> {
        Ok(Box::new(memory))
    }

    /// Bytes of a set of so many patches, states and rates.
    fn set_bytes(&self, patches: usize, states: usize, rates: usize) -> u64;

    /// Patches that stay on the device: `states` arrays with halo, `rates` arrays of time
    /// derivatives (N values, no halo).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] before anything is allocated, [`Error::Driver`].
    fn patches(&self, cells: &[Cell], states: usize, rates: usize) -> Result<Box<dyn PatchSet>>;
}

/// What lies behind a face of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// Another patch of the set (or the same), of the same size.
    Patch(usize),
    /// Nothing: the halo repeats the patch's outermost voxels.
    Outflow,
    /// Nothing: the halo keeps what was uploaded.
    Fixed,
}

/// A value that is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PatchFault {
    /// Patch.
    pub patch: usize,
    /// Voxel of the interior, (x, y, z).
    pub voxel: [u16; 3],
    /// Unknown.
    pub unknown: u16,
    /// Value.
    pub value: f64,
}

/// K patches on a device. Calls are queued in order; what is read back waits for them.
pub trait PatchSet: Send {
    /// Writes a patch of a state, halo included (`input_len` values).
    ///
    /// # Errors
    /// [`Error::Invalid`] where lengths or places do not fit, [`Error::Driver`]; so below.
    fn upload(&mut self, state: usize, patch: usize, values: &[f64]) -> Result<()>;

    /// Reads a patch of a state, halo included.
    ///
    /// # Errors
    /// As [`PatchSet::upload`].
    fn download(&mut self, state: usize, patch: usize, values: &mut [f64]) -> Result<()>;

    /// Says what lies behind the faces of every patch: `[axis][0 low, 1 high]`; axes beyond the
    /// dimension are ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a neighbour does not exist.
    fn set_neighbours(&mut self, neighbours: &[[[Beyond; 2]; 3]]) -> Result<()>;

    /// Fills the face halos of a state from the neighbours' interiors; edges and corners are not
    /// touched.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn exchange(&mut self, state: usize) -> Result<()>;

    /// Sets time and step of all patches, s.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn set_time(&mut self, time: f64, time_step: f64) -> Result<()>;

    /// Runs the kernel from a state: a step goes into the interior of state `into`, a rate into rate
    /// `into`. One launch.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a place does not exist or a step would overwrite its input.
    fn evaluate(&mut self, state: usize, into: usize) -> Result<()>;

    /// `state[into] = state[base] + sum of factor * rate` over the interior (evolved unknowns; fixed
    /// ones are copied). The factors carry the time step.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a place does not exist.
    fn combine(&mut self, into: usize, base: usize, terms: &[(f64, usize)]) -> Result<()>;

    /// Applies the physics' `post` to the interior of a state; nothing where there is none.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn post(&mut self, state: usize) -> Result<()>;

    /// Largest eigenvalue over the interior of a state, directions and patches, m/s; waits.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn speed(&mut self, state: usize) -> Result<f64>;

    /// First value of a state's interior that is not finite (lowest patch, voxel, unknown); waits.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn fault(&mut self, state: usize) -> Result<Option<PatchFault>>;

    /// Waits for everything queued.
    ///
    /// # Errors
    /// [`Error::Driver`]: earlier faults surface here.
    fn synchronize(&mut self) -> Result<()>;

    /// Runs [`PatchSet::evaluate`] so many times and gives the device's own time for each, s.
    ///
    /// # Errors
    /// As [`PatchSet::evaluate`].
    fn time(&mut self, state: usize, into: usize, samples: u32) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for _ in 0..samples {
            self.synchronize()?;
            let start = std::time::Instant::now();
            self.evaluate(state, into)?;
            self.synchronize()?;
            times.push(start.elapsed().as_secs_f64());
        }
        Ok(times)
    }
}

/// Refuses parameters that a kernel cannot take: a wrong number, or another value for one that is built
/// into it.
///
/// # Errors
/// [`Error::Invalid`] that names the parameter.
pub fn check_parameters(kernel: &Kernel, parameters: &[f64]) -> Result<()> {
    if parameters.len() != kernel.parameters.len() {
        return Err(Error::Invalid {
            what: format!("{} parameters for {}", parameters.len(), kernel.name),
            remedy: format!("give all {} in order", kernel.parameters.len()),
        });
    }
    for (n, (parameter, &value)) in kernel.parameters.iter().zip(parameters).enumerate() {
        let frozen = kernel.frozen.iter().find(|(place, _)| usize::from(*place) == n);
        let fixed = match frozen {
            Some(&(_, value)) => Some(value),
            None => parameter.integer.then_some(parameter.default),
        };
        if let Some(fixed) = fixed.filter(|fixed| fixed.to_bits() != value.to_bits()) {
            return Err(Error::Invalid {
                what: format!("{} = {value} in a kernel built with {fixed}", parameter.name),
                remedy: "build the kernel again with the other value".into(),
            });
        }
    }
    Ok(())
}

/// Refuses chunks of a call whose numbers or lengths do not fit a kernel.
///
/// # Errors
/// [`Error::Invalid`] with both numbers.
pub fn check_chunks(
    kernel: &Kernel,
    count: usize,
    inputs: &[&[f64]],
    outputs: &[&mut [f64]],
    speeds: &[f64],
) -> Result<()> {
    let wrong = |what: String, remedy: String| Err(Error::Invalid { what, remedy });
    if inputs.len() != count || outputs.len() != count {
        let what = format!("{} inputs and {} outputs", inputs.len(), outputs.len());
        return wrong(what, format!("give one of each for all {count} cells"));
    }
    if !(speeds.is_empty() || speeds.len() == count) {
        let what = format!("{} speeds for {count} cells of {}", speeds.len(), kernel.name);
        return wrong(what, "give none, or a place per cell".into());
    }
    let (input, output) = (kernel.shape.input_len(), kernel.shape.output_len());
    if let Some(bad) = inputs.iter().find(|chunk| chunk.len() != input) {
        return wrong(format!("an input of {} values", bad.len()), format!("inputs have {input}"));
    }
    if let Some(bad) = outputs.iter().find(|chunk| chunk.len() != output) {
        let what = format!("an output of {} values", bad.len());
        return wrong(what, format!("outputs have {output}"));
    }
    Ok(())
}

/// The answer of backends without patch kernels.
pub(crate) fn none(backend: &str, kernel: &Kernel) -> Error {
    Error::Unsupported { backend: backend.into(), what: format!("patch kernels ({})", kernel.name) }
}
