//! Merging of the tune cache's winners into a table that a backend embeds.
//!
//! Rows that are there are changed in place and keep their comments but the one behind their rate,
//! which says where the rate is from; new rows are added at the end.

use std::path::Path;

use temblor_backend::tuning::{Faces, Measurement, TuneCache, TuningTable};
use temblor_backend::{Backend, DeviceInfo};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use super::show::class;
use crate::exit::Failure;

/// Merges what was measured on the backend's device, with its present driver and kernels, into a
/// file.
///
/// # Errors
/// [`Failure::BadInput`] if nothing was measured on this device, or the table is none or for another
/// device; [`Failure::Output`].
pub(super) fn run(path: &Path, backend: &dyn Backend, cache: &TuneCache) -> Result<(), Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => new_table(backend.device()),
        Err(error) => return Err(Failure::BadInput(format!("{}: {error}", path.display()))),
    };
    let merged = merge(&text, backend.device(), &backend.kernels(), cache)
        .map_err(|error| Failure::BadInput(format!("{}: {error}", path.display())))?;
    temblor_io::atomic::write(path, merged.text.as_bytes()).map_err(Failure::output)?;
    for line in merged.said {
        println!("{line}");
    }
    println!("written: {}", path.display());
    Ok(())
}

fn new_table(device: &DeviceInfo) -> String {
    let name = Value::from(device.name.as_str());
    let measured = Value::from(format!("driver {}: temblor tune --export", device.driver));
    format!("devices = [{name}]\nmeasured = {measured}\n")
}

/// A table with what was merged into it.
#[derive(Debug)]
struct Merged {
    text: String,
    said: Vec<String>,
}

/// Keys of a table's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    order: usize,
    dimensions: usize,
    faces: Faces,
    points_from: u64,
}

fn merge(
    text: &str,
    device: &DeviceInfo,
    kernels: &str,
    cache: &TuneCache,
) -> Result<Merged, String> {
    let mut table = TuningTable::from_toml(text).map_err(|e| e.to_string())?;
    if !table.devices.contains(&device.name) {
        return Err(format!(
            "the table is for {}, and this device is {}: give the table of this device, or a new file",
            table.devices.join(", "),
            device.name
        ));
    }
    let mut document: DocumentMut = text.parse().map_err(|e| format!("{e}"))?;
    let rows = document.entry("entry").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let rows = rows
        .as_array_of_tables_mut()
        .ok_or("its rows are not written as [[entry]]: write them so, or give a new file")?;
    let mut said = Vec::new();
    let mut merged = 0;
    for entry in &cache.entries {
        let (name, what) = (&entry.device, class(entry));
        if entry.backend != device.backend || *name != device.name {
            said.push(format!("left out, of another device ({} on {name}): {what}", entry.backend));
            continue;
        }
        if entry.driver != device.driver || entry.kernels != kernels {
            said.push(format!("left out, measured with another driver or other kernels: {what}"));
            continue;
        }
        let key = key(entry);
        let place = table.entries.iter().position(|row| {
            let faces = row.faces;
            let (order, dimensions, points_from) = (row.order, row.dimensions, row.points_from);
            Key { order, dimensions, faces, points_from } == key
        });
        let row = match place {
            Some(at) => rows.get_mut(at).ok_or("its rows cannot be told apart")?,
            None => {
                rows.push(new_row(key));
                // Two classes of one size meet in one row: the later one holds.
                table.entries.push(temblor_backend::tuning::TuningEntry {
                    order: key.order,
                    dimensions: key.dimensions,
                    faces: key.faces,
                    points_from: key.points_from,
                    variant: entry.variant.clone(),
                    parameters: entry.parameters.clone(),
                    gpts: entry.gpts,
                });
                let last = rows.len() - 1;
                rows.get_mut(last).ok_or("its rows cannot be told apart")?
            }
        };
        fill(row, entry);
        merged += 1;
        said.push(format!(
            "{}: {what}: {}",
            if place.is_some() { "changed" } else { "added" },
            entry.variant
        ));
    }
    if merged == 0 {
        let more = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
        return Err(format!(
            "nothing was measured on {} with its present driver and kernels{more}: run `temblor tune \
             RUN_FILE` first",
            device.name
        ));
    }
    let text = document.to_string();
    // What a backend will embed must be a table.
    TuningTable::from_toml(&text).map_err(|e| e.to_string())?;
    Ok(Merged { text, said })
}

fn key(entry: &Measurement) -> Key {
    let powers: u32 = entry.shape_class.iter().sum();
    Key {
        order: entry.order,
        dimensions: entry.shape_class.iter().filter(|&&power| power > 0).count().max(2),
        faces: entry.faces,
        points_from: 1_u64.checked_shl(powers).unwrap_or(u64::MAX),
    }
}

fn new_row(key: Key) -> Table {
    let mut row = Table::new();
    let whole = |n: u64| toml_edit::value(i64::try_from(n).unwrap_or(i64::MAX));
    let faces = match key.faces {
        Faces::Zero => "zero",
        Faces::Walls => "walls",
        Faces::Minimod => "minimod",
        Faces::Cpml => "cpml",
    };
    row.insert("order", whole(key.order as u64));
    row.insert("dimensions", whole(key.dimensions as u64));
    row.insert("faces", toml_edit::value(faces));
    row.insert("points_from", whole(key.points_from));
    row
}

/// Sets what was measured, and says where the rate is from.
fn fill(row: &mut Table, entry: &Measurement) {
    set(row, "variant", Value::from(entry.variant.as_str()));
    if entry.parameters.is_empty() {
        row.remove("parameters");
    } else {
        let each = entry.parameters.iter();
        let parameters: InlineTable =
            each.map(|(name, &value)| (name.as_str(), i64::from(value))).collect();
        set(row, "parameters", Value::from(parameters));
    }
    // The rate stays last, as in rows written by hand.
    row.remove("gpts");
    let mut gpts = Value::from(entry.gpts);
    let next = entry.candidates.iter().find(|c| c.variant != entry.variant && c.gpts.is_some());
    let next = next
        .map_or_else(String::new, |c| format!("; {}: {}", c.variant, c.gpts.unwrap_or_default()));
    gpts.decor_mut().set_suffix(format!(" # {}, driver {}{next}", class(entry), entry.driver));
    row.insert("gpts", Item::Value(gpts));
}

/// Changes a value and keeps the comment behind it.
fn set(row: &mut Table, key: &str, mut value: Value) {
    if let Some(old) = row.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    row.insert(key, Item::Value(value));
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
