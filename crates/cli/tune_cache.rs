//! The user's tune cache: `temblor/tune.toml` in `XDG_CACHE_HOME`, else in `~/.cache`.

use std::path::PathBuf;

use temblor_backend::tuning::{Cached, Choice, Measurement, TuneCache};
use temblor_backend::{Backend, parameters};
use temblor_physics::WaveProblem;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value};

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
#[must_use]
pub fn read() -> TuneCache {
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
            // Kernels are the same, but a user may have edited the file.
            let known = backend.parameters(problem, &found.variant).ok()?;
            let id = &device.backend;
            if let Err(error) = parameters::resolve(id, &found.variant, &known, &found.parameters) {
                tracing::warn!("the tune cache's entry for this class is ignored: {error}");
                return None;
            }
            let why = format!("measured here by `temblor tune`: {:.3} Gpts/s", found.gpts);
            let (variant, parameters) = (found.variant.clone(), found.parameters.clone());
            Some(Choice { variant, parameters, why })
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
    let text = readable(&cache.to_toml().map_err(|e| failed(&e))?);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
    }
    // Another process that reads meanwhile finds the old file or the new one.
    let part = path.with_extension("toml.part");
    std::fs::write(&part, text).map_err(|e| failed(&e))?;
    std::fs::rename(&part, &path).map_err(|e| failed(&e))?;
    Ok(path)
}

/// A cache with a candidate per line, and its measurement's own values before them.
fn readable(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    let entries = document.get_mut("entry").and_then(Item::as_array_of_tables_mut);
    for entry in entries.into_iter().flat_map(ArrayOfTables::iter_mut) {
        inline(entry, "parameters");
        let Some(Item::ArrayOfTables(candidates)) = entry.remove("candidates") else { continue };
        let mut lines = Array::new();
        for mut candidate in candidates {
            inline(&mut candidate, "parameters");
            let mut line = Value::from(candidate.into_inline_table());
            line.decor_mut().set_prefix("\n    ");
            lines.push_formatted(line);
        }
        lines.set_trailing_comma(true);
        lines.set_trailing("\n");
        entry.insert("candidates", Item::Value(Value::from(lines)));
    }
    document.to_string()
}

/// Turns a table within a table into `{ ... }`.
fn inline(table: &mut Table, key: &str) {
    if let Some(Item::Table(inner)) = table.get(key) {
        let inner = inner.clone().into_inline_table();
        table.insert(key, Item::Value(Value::from(inner)));
    }
}

#[cfg(test)]
mod tests {
    use temblor_backend::tuning::{Candidate, Faces};

    use super::*;

    #[test]
    fn a_cache_has_a_candidate_per_line() {
        let candidate = |variant: &str, rows| Candidate {
            variant: variant.into(),
            parameters: [("rows".to_owned(), rows)].into(),
            gpts: Some(1.5),
            spread: Some(0.01),
            why: None,
        };
        let measurement = Measurement {
            backend: "b".into(),
            device: "d".into(),
            driver: "1".into(),
            kernels: "k".into(),
            order: 8,
            shape_class: [7; 3],
            faces: Faces::Zero,
            variant: "v".into(),
            parameters: [("rows".to_owned(), 8)].into(),
            gpts: 1.5,
            candidates: vec![candidate("v", 8), candidate("w", 16)],
        };
        let other = Measurement { order: 4, ..measurement.clone() };
        let cache = TuneCache { entries: vec![measurement, other] };
        let text = readable(&cache.to_toml().unwrap());
        let line =
            "    { variant = \"w\", gpts = 1.5, spread = 0.01, parameters = { rows = 16 } },";
        assert!(text.lines().filter(|l| *l == line).count() == 2, "{text}");
        assert!(text.contains("\nparameters = { rows = 8 }\n"), "{text}");
        assert_eq!(TuneCache::from_toml(&text).unwrap(), cache);
    }
}
