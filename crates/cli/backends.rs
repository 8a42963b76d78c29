//! The only place that names backends.

use temblor_backend::Backend;
use temblor_cpu::ReferenceBackend;

use crate::exit::Failure;

/// A backend by name; `Err` says why its device cannot be used.
struct Entry {
    name: &'static str,
    about: &'static str,
    open: fn() -> Opened,
}

/// Known backends in the order in which `auto` tries them; `cpu-ref` is only taken by name.
const BACKENDS: &[Entry] = &[
    // #[cfg(feature = "cuda")] and its kin go here, one line each.
    Entry {
        name: "cpu-ref",
        about: "plain loops, the oracle",
        open: || Ok(Box::new(ReferenceBackend::new())),
    },
];

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
    if name != "auto" {
        let Some(entry) = BACKENDS.iter().find(|entry| entry.name == name) else {
            let names = names().join(", ");
            return Err(Failure::Unsupported(format!(
                "there is no backend `{name}` in this build; it has: {names}"
            )));
        };
        return (entry.open)().map_err(|why| {
            Failure::Unsupported(format!("backend `{name}` cannot be used: {why}"))
        });
    }
    for entry in BACKENDS {
        match (entry.open)() {
            Ok(backend) => {
                let device = backend.device();
                tracing::info!("backend auto: {} on {} ({})", entry.name, device.name, device.arch);
                return Ok(backend);
            }
            Err(why) => tracing::info!("backend auto: not {}: {why}", entry.name),
        }
    }
    Err(Failure::Unsupported("no backend of this build can be used here".into()))
}
