//! The only place that names backends.

use temblor_backend::Backend;
use temblor_cpu::{CpuBackend, ReferenceBackend};
use temblor_physics::WaveProblem;

use crate::exit::Failure;

/// A backend by name.
struct Entry {
    name: &'static str,
    about: &'static str,
    /// Whether its memory is the host's.
    on_host: bool,
    open: fn() -> Opened,
}

/// Known backends in the order in which `auto` tries them. A vendor's backend is one line with its
/// `#[cfg(feature = ..)]` above `cpu`; `cpu-ref` is last since `cpu` always works.
const BACKENDS: &[Entry] = &[
    #[cfg(feature = "cuda")]
    Entry { name: "cuda", about: "NVIDIA cards", on_host: false, open: cuda },
    Entry { name: "cpu", about: "tuned, all cores", on_host: true, open: cpu },
    Entry { name: "cpu-ref", about: "plain loops, the oracle", on_host: true, open: cpu_ref },
];

#[cfg(feature = "cuda")]
fn cuda() -> Opened {
    use std::error::Error;
    let backend = temblor_cuda::CudaBackend::new(0).map_err(|error| match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    })?;
    Ok(Box::new(backend))
}

fn cpu() -> Opened {
    Ok(Box::new(CpuBackend::new()))
}

fn cpu_ref() -> Opened {
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

/// Every known backend: its name, one line on it, and the backend or why it cannot be used.
#[must_use]
pub fn all() -> Vec<(&'static str, &'static str, Opened)> {
    BACKENDS.iter().map(|entry| (entry.name, entry.about, (entry.open)())).collect()
}

/// Opens a backend; `auto` takes the first whose device works.
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
    if name != "auto" {
        return open_named(name);
    }
    open_first(|backend| backend.variants(problem).map(|_| ()).map_err(|why| why.to_string()))
}

fn open_named(name: &str) -> Result<Box<dyn Backend>, Failure> {
    let Some(entry) = BACKENDS.iter().find(|entry| entry.name == name) else {
        let names = names().join(", ");
        return Err(Failure::Unsupported(format!(
            "there is no backend `{name}` in this build; it has: {names}"
        )));
    };
    (entry.open)()
        .map_err(|why| Failure::Unsupported(format!("backend `{name}` cannot be used: {why}")))
}

fn open_first(
    solves: impl Fn(&dyn Backend) -> Result<(), String>,
) -> Result<Box<dyn Backend>, Failure> {
    for entry in BACKENDS {
        match (entry.open)().and_then(|backend| solves(backend.as_ref()).map(|()| backend)) {
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
