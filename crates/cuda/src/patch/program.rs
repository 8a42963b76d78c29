//! Compiled patch kernels on a device, and their launches.
#![expect(unsafe_code, reason = "launches hand raw addresses to kernels")]

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, result};
use cudarc::nvrtc::Ptx;
use temblor_backend::{Error, PatchReport, Result};
use temblor_patch::Kernel;
use temblor_patch::emit::gpu::{self, Dialect, Entry, Layouts, Program, Schedule};

use super::{compile, service};
use crate::ID;
use crate::sys::{capability, failed};

/// An error of the kernel language as the contract has it.
pub(crate) fn refused(error: &temblor_patch::Error) -> Error {
    Error::Unsupported { backend: ID.into(), what: error.to_string() }
}

/// A program's kernels.
#[derive(Debug)]
pub(crate) struct Loaded {
    entries: Vec<(CudaFunction, Entry)>,
    services: Vec<CudaFunction>,
    /// Values of temporaries per patch.
    pub(crate) scratch: usize,
    pub(crate) report: PatchReport,
}

/// What a launch of a program reads and writes, as addresses on the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Table of input patches.
    pub(crate) inputs: u64,
    /// Table of output patches.
    pub(crate) outputs: u64,
    /// Cells.
    pub(crate) cells: u64,
    /// Keys of the largest eigenvalues.
    pub(crate) speeds: u64,
    /// Temporaries.
    pub(crate) scratch: u64,
}

/// A Runge-Kutta sum as the kernel takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) factors: [f64; service::TERMS],
    pub(crate) rates: [u64; service::TERMS],
    pub(crate) count: i32,
}

/// Where chunks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the device.
    There,
    /// To the host.
    Back,
    /// From one place on the device to another.
    Within,
}

/// Kernels beside those of a patch kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// None.
    Nothing,
    /// Those of a set on the device.
    Set,
    /// Those that move chunks from and to the host.
    Chunks,
}

/// Prints a program with the kernels beside it.
pub(crate) fn print(
    kernel: &Kernel,
    schedule: &Schedule,
    layouts: &Layouts,
    beside: Beside,
) -> Result<Program> {
    let mut program =
        gpu::emit(kernel, schedule, layouts, Dialect::Cuda).map_err(|e| refused(&e))?;
    match beside {
        Beside::Nothing => {}
        Beside::Set => program.source.push_str(&service::source(&kernel.shape, layouts)),
        Beside::Chunks => program.source.push_str(service::CHUNKS),
    }
    Ok(program)
}

fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

impl Loaded {
    /// Compiles a program and loads it.
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        kernel: &Kernel,
        (name, schedule): (&str, &Schedule),
        layouts: &Layouts,
        contract: bool,
        beside: Beside,
    ) -> Result<Self> {
        let program = print(kernel, schedule, layouts, beside)?;
        let cubin = compile::cubin(&program.source, capability(context)?, contract)?;
        let module = context
            .load_module(Ptx::from_binary(cubin.bytes))
            .map_err(failed("cuModuleLoadData(patch kernel)"))?;
        let function = |name: &str| {
            module.load_function(name).map_err(failed(&format!("cuModuleGetFunction({name})")))
        };
        let mut report = PatchReport {
            schedule: name.into(),
            made_by: cubin.made_by,
            flops: program.flops,
            bytes: kernel.least_bytes(),
            ..PatchReport::default()
        };
        let mut entries = Vec::new();
        for entry in program.entries {
            let function = function(&entry.name)?;
            describe(context, &function, &entry, &mut report)?;
            entries.push((function, entry));
        }
        let names: &[&str] = match beside {
            Beside::Nothing => &[],
            Beside::Set => &service::NAMES,
            Beside::Chunks => &service::MOVES,
        };
        let services = names.iter().map(|name| function(name)).collect::<Result<_>>()?;
        Ok(Self { entries, services, scratch: program.scratch, report })
    }

    /// Runs the program over so many patches.
    pub(crate) fn run(
        &self,
        stream: &CudaStream,
        places: &Places,
        parameters: &[f64],
        patches: usize,
    ) -> Result<()> {
        let count = i32::try_from(patches).map_err(|_| too_many(patches))?;
        let values: &[f64] = if parameters.is_empty() { &[0.0] } else { parameters };
        for (function, entry) in &self.entries {
            let arguments = [
                address(&places.inputs),
                address(&places.outputs),
                address(&places.cells),
                address(&places.speeds),
                address(&places.scratch),
                values.as_ptr().cast_mut().cast(),
                address(&count),
            ];
            // SAFETY: the arguments of a generated kernel, in order: five addresses, the parameters
            // (as many as the text was printed for), the number of patches; whoever made the places
            // owns that memory until the stream is done.
            unsafe {
                launch(
                    stream,
                    function,
                    entry.blocks(patches),
                    (entry.threads, entry.shared),
                    &arguments,
                )
            }?;
        }
        Ok(())
    }

    /// Fills face halos of `patches` patches.
    pub(crate) fn exchange(
        &self,
        stream: &CudaStream,
        state: u64,
        neighbours: u64,
        values: i64,
    ) -> Result<()> {
        let arguments = [address(&state), address(&neighbours), address(&values)];
        // SAFETY: signature of `exchange` in the service text; the set owns states and neighbours.
        unsafe { self.service(stream, 0, values, &arguments) }
    }

    /// A Runge-Kutta sum.
    pub(crate) fn combine(
        &self,
        stream: &CudaStream,
        (into, base): (u64, u64),
        terms: &Terms,
        values: i64,
    ) -> Result<()> {
        let arguments = [address(&into), address(&base), address(terms), address(&values)];
        // SAFETY: signature of `combine` in the service text; the set owns states and rates.
        unsafe { self.service(stream, 1, values, &arguments) }
    }

    /// Sets time and step of all cells.
    pub(crate) fn set_time(
        &self,
        stream: &CudaStream,
        cells: u64,
        (time, time_step): (f64, f64),
        patches: usize,
    ) -> Result<()> {
        let count = i32::try_from(patches).map_err(|_| too_many(patches))?;
        let arguments = [address(&cells), address(&time), address(&time_step), address(&count)];
        // SAFETY: signature of `set_time` in the service text; the set owns the cells.
        unsafe { self.service(stream, 2, i64::from(count), &arguments) }
    }

    /// Looks for a value that is not finite.
    pub(crate) fn find_fault(
        &self,
        stream: &CudaStream,
        state: u64,
        found: u64,
        values: i64,
    ) -> Result<()> {
        let arguments = [address(&state), address(&found), address(&values)];
        // SAFETY: signature of `find_fault` in the service text; the set owns both.
        unsafe { self.service(stream, 3, values, &arguments) }
    }

    /// A patch that lies in one piece to its place on the device, or back.
    pub(crate) fn lay(
        &self,
        stream: &CudaStream,
        way: Way,
        (to, from): (u64, u64),
        values: i64,
    ) -> Result<()> {
        let arguments = [address(&to), address(&from), address(&values)];
        let which = if way == Way::There { 4 } else { 5 };
        // SAFETY: signature of both in the service text; the set owns both places.
        unsafe { self.service(stream, which, values, &arguments) }
    }

    /// Moves chunks of `len` values between places on the host and on the device: two tables on the
    /// device of their addresses, both at multiples of 8 bytes.
    ///
    /// # Safety
    /// The tables' addresses are those of so many chunks in memory that the device can reach and that
    /// nobody else uses until the stream is done.
    pub(crate) unsafe fn move_chunks(
        &self,
        stream: &CudaStream,
        way: Way,
        (host, device): (u64, u64),
        chunks: usize,
        len: usize,
    ) -> Result<()> {
        let int = |value: usize| i32::try_from(value).map_err(|_| too_many(value));
        let (count, len) = (int(chunks)?, int(len)?);
        let arguments = [address(&host), address(&device), address(&count), address(&len)];
        let blocks = u64::from(service::MOVERS[way as usize]);
        let function = &self.services[usize::from(way == Way::Back)];
        let shape = (service::THREADS, 0);
        // SAFETY: signature of both in the service text; the places as promised by the caller.
        unsafe { launch(stream, function, blocks, shape, &arguments) }
    }

    /// Launches a service kernel with a thread per item.
    ///
    /// # Safety
    /// As [`launch`].
    unsafe fn service(
        &self,
        stream: &CudaStream,
        which: usize,
        items: i64,
        arguments: &[*mut c_void],
    ) -> Result<()> {
        let blocks = u64::try_from(items).unwrap_or(0).div_ceil(u64::from(service::THREADS));
        let shape = (service::THREADS, 0);
        // SAFETY: as promised by the caller.
        unsafe { launch(stream, &self.services[which], blocks, shape, arguments) }
    }
}

fn too_many(patches: usize) -> Error {
    Error::Invalid {
        what: format!("{patches} patches in one launch"),
        remedy: "use fewer than 2^31 patches".into(),
    }
}

fn address<T>(value: &T) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

/// Launches a kernel; nothing for no blocks.
///
/// # Safety
/// The arguments are those of the kernel in number, order and type, and addresses among them name
/// memory that is large enough and lives until the kernel has run.
unsafe fn launch(
    stream: &CudaStream,
    function: &CudaFunction,
    blocks: u64,
    (threads, shared): (u32, u32),
    arguments: &[*mut c_void],
) -> Result<()> {
    if blocks == 0 {
        return Ok(());
    }
    let grid = u32::try_from(blocks).map_err(|_| Error::Invalid {
        what: format!("{blocks} blocks in one launch"),
        remedy: "use fewer patches".into(),
    })?;
    let mut arguments = arguments.to_vec();
    // SAFETY: as promised by the caller; the driver copies the arguments before this returns.
    unsafe {
        result::launch_kernel(
            function.cu_function(),
            (grid, 1, 1),
            (threads, 1, 1),
            shared,
            stream.cu_stream(),
            &mut arguments,
        )
    }
    .map_err(failed("cuLaunchKernel(patch kernel)"))
}

/// Lets an entry use its shared memory, and adds what it takes to a report: the most of all entries.
fn describe(
    context: &Arc<CudaContext>,
    function: &CudaFunction,
    entry: &Entry,
    report: &mut PatchReport,
) -> Result<()> {
    let bytes = i32::try_from(entry.shared).unwrap_or(i32::MAX);
    function
        .set_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
        .map_err(|error| {
            if entry.shared > 48 << 10 {
                Error::Unsupported {
                    backend: ID.into(),
                    what: format!(
                        "a patch kernel with {} bytes of shared memory per block ({error}): take \
                         another schedule",
                        entry.shared
                    ),
                }
            } else {
                failed("cuFuncSetAttribute")(error)
            }
        })?;
    // As much of the first-level cache as shared memory as the blocks want, the rest as cache.
    let read = failed("cuFuncGetAttribute");
    let registers = unsigned(function.num_regs().map_err(read)?);
    let spills = unsigned(function.local_size_bytes().map_err(failed("cuFuncGetAttribute"))?);
    let blocks = function
        .occupancy_max_active_blocks_per_multiprocessor(entry.threads, entry.shared as usize, None)
        .map_err(failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))?;
    let most = context
        .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
        .map_err(failed("cuDeviceGetAttribute"))?;
    let occupancy = f64::from(blocks * entry.threads) / f64::from(most.max(1));
    let most_of = |old: Option<u32>, new: u32| Some(old.map_or(new, |old| old.max(new)));
    report.registers = most_of(report.registers, registers);
    report.spills = most_of(report.spills, spills);
    report.shared = most_of(report.shared, entry.shared);
    report.threads = most_of(report.threads, entry.threads);
    report.occupancy = Some(report.occupancy.map_or(occupancy, |old| old.min(occupancy)));
    Ok(())
}
