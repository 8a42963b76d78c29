//! The only place that names backends.

use serde::Serialize;
use temblor_backend::{Backend, DeviceInfo};
use temblor_cpu::{CpuBackend, ReferenceBackend};
use temblor_physics::WaveProblem;

use crate::exit::Failure;

/// A backend by name.
struct Entry {
    name: &'static str,
    about: &'static str,
    /// Whether its memory is the host's.
    on_host: bool,
    /// Opens a device by its number.
    open: fn(usize) -> Opened,
    list: fn() -> Result<Vec<Seen>, String>,
}

/// A device and the numbers of those of its backend whose memory it can access directly.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// What it is.
    #[serde(flatten)]
    pub info: DeviceInfo,
    /// Direct access.
    pub peers: Vec<usize>,
}

/// A device, or why it cannot be used.
pub type Seen = Result<Listed, String>;

/// A known backend, and what it can use here.
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// One line on it.
    pub about: &'static str,
    /// The backend on its first device, or why it cannot be used.
    pub backend: Opened,
    /// All its devices, by number; empty if they cannot be counted.
    pub devices: Vec<Seen>,
}

/// Known backends in the order in which `auto` tries them. A vendor's backend is one line with its
/// `#[cfg(feature = ..)]` above `cpu`; `cpu-ref` is last since `cpu` always works.
const BACKENDS: &[Entry] = &[
    #[cfg(feature = "cuda")]
    Entry { name: "cuda", about: "NVIDIA cards", on_host: false, open: cuda, list: cuda_devices },
    Entry {
        name: "cpu",
        about: "tuned, all cores",
        on_host: true,
        open: cpu,
        list: || only(&CpuBackend::new()),
    },
    Entry {
        name: "cpu-ref",
        about: "plain loops, the oracle",
        on_host: true,
        open: cpu_ref,
        list: || only(&ReferenceBackend::new()),
    },
];

#[expect(clippy::unnecessary_wraps, reason = "as the lists of vendors, which may fail")]
fn only(backend: &dyn Backend) -> Result<Vec<Seen>, String> {
    Ok(vec![Ok(Listed { info: backend.device().clone(), peers: Vec::new() })])
}

#[cfg(feature = "cuda")]
fn cuda(device: usize) -> Opened {
    Ok(Box::new(temblor_cuda::CudaBackend::new(device).map_err(with_source)?))
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> Result<Vec<Seen>, String> {
    let devices = temblor_cuda::devices().map_err(with_source)?;
    let listed = |d: temblor_cuda::Listed| Listed { info: d.info, peers: d.peers };
    Ok(devices.into_iter().map(|device| device.map(listed).map_err(with_source)).collect())
}

#[cfg(feature = "cuda")]
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn with_source(error: temblor_backend::Error) -> String {
    match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Refuses all but device 0 of a backend that has one.
fn first_of_one(device: usize) -> Result<(), String> {
    if device == 0 {
        return Ok(());
    }
    Err(format!("device {device} was asked for and there is one, device 0"))
}

fn cpu(device: usize) -> Opened {
    first_of_one(device)?;
    Ok(Box::new(CpuBackend::new()))
}

fn cpu_ref(device: usize) -> Opened {
    first_of_one(device)?;
    Ok(Box::new(ReferenceBackend::new()))
}

/// Whether a backend's memory is the host's, so that plan and solver share it.
#[must_use]
pub fn on_host(id: &str) -> bool {
    BACKENDS.iter().any(|entry| entry.name == id && entry.on_host)
}

/// Host memory that is free for this process, bytes; a cgroup's limit counts.
#[must_use]
pub fn host_memory() -> u64 {
    temblor_cpu::memory::available_memory()
}

/// Names that `--backend` takes.
#[must_use]
pub fn names() -> Vec<&'static str> {
    std::iter::once("auto").chain(BACKENDS.iter().map(|entry| entry.name)).collect()
}

/// A backend, or why it cannot be used.
pub type Opened = Result<Box<dyn Backend>, String>;

/// Every known backend.
#[must_use]
pub fn all() -> Vec<Known> {
    let known = |entry: &Entry| Known {
        name: entry.name,
        about: entry.about,
        backend: (entry.open)(0),
        devices: (entry.list)().unwrap_or_default(),
    };
    BACKENDS.iter().map(known).collect()
}

/// Splits `cuda:1` into the backend's name and the number of a device, as `temblor devices` counts
/// them; without a number it is device 0.
///
/// # Errors
/// [`Failure::Unsupported`] if what follows the colon is no number.
pub fn name_and_device(name: &str) -> Result<(&str, usize), Failure> {
    let Some((backend, device)) = name.split_once(':') else { return Ok((name, 0)) };
    let device = device.parse().map_err(|_| {
        Failure::Unsupported(format!(
            "`{name}` names no device: write the backend, a colon and a number from `temblor \
             devices`, such as {backend}:1"
        ))
    })?;
    Ok((backend, device))
}

/// Opens several backends whose results stand beside each other by the backends' names.
///
/// # Errors
/// As for [`open`], and [`Failure::Unsupported`] if a backend is there twice.
pub fn open_each(names: &[String]) -> Result<Vec<Box<dyn Backend>>, Failure> {
    let mut seen = Vec::new();
    for name in names {
        let (backend, _) = name_and_device(name)?;
        if seen.contains(&backend) {
            return Err(Failure::Unsupported(format!(
                "backend `{backend}` is there twice: measure its devices one at a time"
            )));
        }
        seen.push(backend);
    }
    names.iter().map(|name| open(name)).collect()
}

/// Opens a backend, on device N for `NAME:N`; `auto` takes the first whose device works.
///
/// # Errors
/// [`Failure::Unsupported`] for an unknown name or a device that cannot be used.
pub fn open(name: &str) -> Result<Box<dyn Backend>, Failure> {
    if name == "auto" { open_first(|_| Ok(())) } else { open_named(name) }
}

/// Opens a backend for a problem; `auto` takes the first whose device works and that solves it.
///
/// # Errors
/// As for [`open`].
pub fn open_for(name: &str, problem: &WaveProblem) -> Result<Box<dyn Backend>, Failure> {
    open_where(name, |backend| backend.variants(problem).map(|_| ()).map_err(|why| why.to_string()))
}

/// Opens a backend; `auto` takes the first whose device works and of which `can` says that it will
/// do.
///
/// # Errors
/// As for [`open`].
pub fn open_where(
    name: &str,
    can: impl Fn(&dyn Backend) -> Result<(), String>,
) -> Result<Box<dyn Backend>, Failure> {
    if name == "auto" { open_first(can) } else { open_named(name) }
}

fn open_named(name: &str) -> Result<Box<dyn Backend>, Failure> {
    let (backend, device) = name_and_device(name)?;
    if backend == "auto" {
        let message = "auto chooses backend and device itself: name both, such as cuda:1";
        return Err(Failure::Unsupported(message.into()));
    }
    let Some(entry) = BACKENDS.iter().find(|entry| entry.name == backend) else {
        let names = names().join(", ");
        return Err(Failure::Unsupported(format!(
            "there is no backend `{backend}` in this build; it has: {names}"
        )));
    };
    (entry.open)(device)
        .map_err(|why| Failure::Unsupported(format!("backend `{name}` cannot be used: {why}")))
}

fn open_first(
    solves: impl Fn(&dyn Backend) -> Result<(), String>,
) -> Result<Box<dyn Backend>, Failure> {
    for entry in BACKENDS {
        match (entry.open)(0).and_then(|backend| solves(backend.as_ref()).map(|()| backend)) {
            Ok(backend) => {
                let device = backend.device();
                tracing::info!("backend auto: {} on {} ({})", entry.name, device.name, device.arch);
                return Ok(backend);
            }
            Err(why) => tracing::info!("backend auto: not {}: {why}", entry.name),
        }
    }
    Err(Failure::Unsupported("no backend of this build can be used for this problem".into()))
}
