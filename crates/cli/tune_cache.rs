//! The user's tune cache: `temblor/tune.toml` in `XDG_CACHE_HOME`, else in `~/.cache`.

use std::path::PathBuf;

use temblor_backend::Backend;
use temblor_backend::tuning::{Cached, Choice, Measurement, TuneCache};
use temblor_physics::WaveProblem;

use crate::exit::Failure;

/// Where the cache is; `None` on a machine without a home.
#[must_use]
pub fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match set("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(set("HOME")?).join(".cache"),
    };
    Some(folder.join("temblor").join("tune.toml"))
}

/// The cache; empty if there is none or it cannot be read, which is said.
fn read() -> TuneCache {
    let Some(path) = path() else { return TuneCache::default() };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return TuneCache::default(),
        Err(error) => {
            tracing::warn!("{}: {error}; going on without it", path.display());
            return TuneCache::default();
        }
    };
    TuneCache::from_toml(&text).unwrap_or_else(|error| {
        tracing::warn!("{}: {error}; going on without it", path.display());
        TuneCache::default()
    })
}

/// What was measured on this machine for the class of a problem; a stale measurement is said and
/// ignored, as is one of a variant that does not solve it.
#[must_use]
pub fn choice(backend: &dyn Backend, problem: &WaveProblem) -> Option<Choice> {
    let (cache, device) = (read(), backend.device());
    match cache.lookup(device, &backend.kernels(), problem) {
        Cached::None => None,
        Cached::Stale(old) => {
            let changed =
                if old.driver == device.driver { "other kernels" } else { "another driver" };
            tracing::warn!(
                "the tune cache's {} for this class was measured with {changed} and is ignored: \
                 run `temblor tune` again",
                old.variant
            );
            None
        }
        Cached::Fresh(found) => {
            let listed = backend.variants(problem).ok()?;
            if listed.iter().all(|variant| variant.name != found.variant) {
                tracing::warn!(
                    "the tune cache's {} does not solve this problem and is ignored",
                    found.variant
                );
                return None;
            }
            let why = format!("measured here by `temblor tune`: {:.3} Gpts/s", found.gpts);
            Some(Choice { variant: found.variant.clone(), why })
        }
    }
}

/// Keeps a measurement; gives the file.
///
/// # Errors
/// [`Failure::Output`] if the file cannot be written.
pub fn keep(measurement: Measurement) -> Result<PathBuf, Failure> {
    let path = path().ok_or_else(|| {
        Failure::Output("neither XDG_CACHE_HOME nor HOME is set: nowhere to keep it".into())
    })?;
    let failed =
        |error: &dyn std::fmt::Display| Failure::Output(format!("{}: {error}", path.display()));
    let mut cache = read();
    cache.keep(measurement);
    let text = cache.to_toml().map_err(|e| failed(&e))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
    }
    // Another process that reads meanwhile finds the old file or the new one.
    let part = path.with_extension("toml.part");
    std::fs::write(&part, text).map_err(|e| failed(&e))?;
    std::fs::rename(&part, &path).map_err(|e| failed(&e))?;
    Ok(path)
}
