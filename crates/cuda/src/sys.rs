//! The driver: is it there, is it new enough, which devices does it show.
//!
//! `cudarc` panics where the library or a symbol is missing, so both are looked for before the first
//! call; everything after [`open`] can rely on them.
#![expect(unsafe_code, reason = "the driver is a C library; this file asks whether it is usable")]

use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{CudaContext, DriverError, result, sys};
use temblor_backend::{DeviceInfo, Error, Result};

use crate::ID;
use crate::faults::Fault;

/// Oldest driver that the embedded machine code and the bindings work with.
const OLDEST_DRIVER: i32 = 13000;

/// Symbols of the driver that this backend calls, directly or through cudarc.
pub const DRIVER_SYMBOLS: [&str; 51] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxGetCurrent",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostGetDevicePointer_v2",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpy2DAsync_v2",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuFuncGetAttribute",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuLaunchKernel",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime_v2",
    "cuTensorMapEncodeTiled",
];

/// An error of a driver call as the contract has it.
pub(crate) fn failed(call: &str) -> impl FnOnce(DriverError) -> Error + '_ {
    move |error| Error::Driver {
        backend: ID.into(),
        call: call.into(),
        source: Box::new(Fault(error)),
    }
}

fn unusable(call: &str, what: String) -> Error {
    Error::Driver { backend: ID.into(), call: call.into(), source: what.into() }
}

/// Many copies by one call, as CUDA 13.0 has it: targets, sources, sizes, copies, attributes, the first copy
/// that each of these belongs to, attributes in all, stream.
pub(crate) type CopyBatch = unsafe extern "C" fn(
    *mut u64,
    *mut u64,
    *mut usize,
    usize,
    *mut sys::CUmemcpyAttributes,
    *mut usize,
    usize,
    sys::CUstream,
) -> sys::CUresult;

/// The driver's call for many copies, if it has one. It is asked for by name and version: libraries need not
/// export it.
pub(crate) fn copy_batch() -> Option<CopyBatch> {
    // SAFETY: loading the driver runs its initialisers, which is what any CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    // SAFETY: present, as tested above.
    let library = unsafe { sys::culib() };
    // SAFETY: only the address is looked up; nothing is called through it.
    let asks = unsafe { library.get::<*const ()>(b"cuGetProcAddress_v2") };
    asks.ok()?;
    let mut found = std::ptr::null_mut();
    let name = c"cuMemcpyBatchAsync".as_ptr();
    let nowhere = std::ptr::null_mut();
    // SAFETY: the call is there, as tested above; it writes one pointer.
    let done = unsafe { sys::cuGetProcAddress_v2(name, &raw mut found, 13_000, 0, nowhere) };
    if done.result().is_err() || found.is_null() {
        return None;
    }
    // SAFETY: the driver says that this is the call in the version of CUDA 13.0, whose type this is.
    Some(unsafe { std::mem::transmute::<*mut std::ffi::c_void, CopyBatch>(found) })
}

/// Makes sure that the driver can be called.
fn initialise() -> Result<()> {
    // SAFETY: loading the driver runs its initialisers, which is what any CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        let what = "there is no NVIDIA driver (libcuda.so.1) on this machine: install it, or use \
                    --backend cpu";
        return Err(unusable("dlopen(libcuda.so)", what.into()));
    }
    // SAFETY: present, as tested above.
    let library = unsafe { sys::culib() };
    for symbol in DRIVER_SYMBOLS {
        // SAFETY: only the address is looked up; nothing is called through it.
        let found = unsafe { library.get::<*const ()>(symbol.as_bytes()) };
        if found.is_err() {
            let what = format!(
                "the driver lacks {symbol}: update it to one for CUDA {} or newer",
                version_text(OLDEST_DRIVER)
            );
            return Err(unusable("dlsym", what));
        }
    }
    let mut version = 0;
    // SAFETY: the argument is a valid place for an int; this call needs no initialisation.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    status.result().map_err(failed("cuDriverGetVersion"))?;
    if version < OLDEST_DRIVER {
        let what = format!(
            "the driver serves CUDA {}, this build needs {}: update the driver",
            version_text(version),
            version_text(OLDEST_DRIVER)
        );
        return Err(unusable("cuDriverGetVersion", what));
    }
    result::init().map_err(failed("cuInit"))
}

fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Opens a device.
pub(crate) fn open(ordinal: usize) -> Result<Arc<CudaContext>> {
    initialise()?;
    let count = CudaContext::device_count().map_err(failed("cuDeviceGetCount"))?;
    if usize::try_from(count).is_ok_and(|count| ordinal >= count) {
        let what = format!("device {ordinal} was asked for and there are {count}");
        return Err(unusable("cuDeviceGet", what));
    }
    let context = CudaContext::new(ordinal).map_err(failed("cuDevicePrimaryCtxRetain"))?;
    // SAFETY: plans order their work by one stream and by events of their own.
    unsafe { context.disable_event_tracking() };
    Ok(context)
}

/// Compute capability as one number: 90 for 9.0.
pub(crate) fn capability(context: &CudaContext) -> Result<i32> {
    let (major, minor) = context.compute_capability().map_err(failed("cuDeviceGetAttribute"))?;
    Ok(10 * major + minor)
}

/// Most shared memory that a block may ask for, bytes.
pub(crate) fn shared_per_block(context: &CudaContext) -> Result<usize> {
    let bytes = context
        .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        .map_err(failed("cuDeviceGetAttribute"))?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Multiprocessors of a device.
pub(crate) fn units(context: &CudaContext) -> Result<usize> {
    let units = context
        .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        .map_err(failed("cuDeviceGetAttribute"))?;
    Ok(usize::try_from(units).unwrap_or(0))
}

/// Clocks and width that the driver gives; 0 where it does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clocks {
    /// Highest clock of the multiprocessors, Hz.
    pub(crate) core: f64,
    /// Highest clock of the memory, Hz.
    pub(crate) memory: f64,
    /// Width of the bus to memory, bits.
    pub(crate) bus_bits: i32,
}

/// Clocks of a device and the width of its bus.
pub(crate) fn clocks(context: &CudaContext) -> Result<Clocks> {
    use CUdevice_attribute as A;
    let number = |a| context.attribute(a).map_err(failed("cuDeviceGetAttribute"));
    Ok(Clocks {
        core: 1e3 * f64::from(number(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?),
        memory: 1e3 * f64::from(number(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?),
        bus_bits: number(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
    })
}

/// What a device is.
pub(crate) fn describe(context: &CudaContext) -> Result<DeviceInfo> {
    let mut version = 0;
    // SAFETY: the argument is a valid place for an int.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    status.result().map_err(failed("cuDriverGetVersion"))?;
    // The kernel module names the driver's own version, which the CUDA interface does not tell.
    let driver = std::fs::read_to_string("/sys/module/nvidia/version")
        .map_or_else(|_| String::new(), |v| format!(", driver {}", v.trim()));
    Ok(DeviceInfo {
        backend: ID.into(),
        name: context.name().map_err(failed("cuDeviceGetName"))?,
        arch: format!("sm_{}", capability(context)?),
        memory: context.total_mem().map_err(failed("cuDeviceTotalMem"))? as u64,
        driver: format!("CUDA {}{driver}", version_text(version)),
        units: units(context)?,
    })
}

/// A device of this machine and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is.
    pub info: DeviceInfo,
    /// Numbers of the devices whose memory it can access directly (P2P).
    pub peers: Vec<usize>,
}

/// All CUDA devices of this machine, by number; one that cannot be used does not hide the others.
///
/// # Errors
/// [`Error::Driver`] that says what is missing: driver, a new enough one, or a device.
pub fn devices() -> Result<Vec<Result<Listed>>> {
    initialise()?;
    let count = CudaContext::device_count().map_err(failed("cuDeviceGetCount"))?;
    let contexts: Vec<_> = (0..usize::try_from(count).unwrap_or(0)).map(open).collect();
    let listed = |n: usize, context: &CudaContext| {
        let mut peers = Vec::new();
        for (m, other) in contexts.iter().enumerate() {
            if let Ok(other) = other
                && m != n
                && can_access(context, other)?
            {
                peers.push(m);
            }
        }
        Ok(Listed { info: describe(context)?, peers })
    };
    let all = contexts.iter().enumerate().map(|(n, context)| match context {
        Ok(context) => listed(n, context),
        // The error cannot be cloned: the device is asked again.
        Err(_) => open(n).and_then(|context| listed(n, &context)),
    });
    Ok(all.collect())
}

/// Whether a device can access another one's memory directly.
fn can_access(from: &CudaContext, to: &CudaContext) -> Result<bool> {
    let mut can = 0;
    // SAFETY: the first argument is a valid place for an int, the devices are open.
    let status =
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, from.cu_device(), to.cu_device()) };
    status.result().map_err(failed("cuDeviceCanAccessPeer"))?;
    Ok(can != 0)
}
