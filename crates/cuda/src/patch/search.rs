//! Schedules found by timing: all candidates of a kernel on patches of the physics' initial state, the
//! fastest kept in the user's cache, a file per device, kernel and contraction.
//!
//! Which schedule is fastest follows from what a compiler makes of registers and from caches, and no
//! model here has told that in advance (docs/decisions/0012-patch-gpu.md). All candidates give the same
//! values, so that only their times are compared: the least of a few, since others only add to it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use temblor_backend::{Cell, PatchKernel as _, PatchOptions, Result};
use temblor_patch::emit::gpu::{self, Dialect, Layouts, Schedule, Way};
use temblor_patch::graph::Leaf;
use temblor_patch::physics::{Argument, arguments};
use temblor_patch::{Kernel, Output, Term};

use super::{compile, compile_ahead, kernel, schedules};
use crate::backend::Device;
use crate::sys::{self, capability};

/// The name that asks for a search.
pub(super) const SEARCH: &str = "search";

/// Voxels that are computed in a time, and bytes that patches may take.
const VOXELS: usize = 1 << 18;
const BYTES: u64 = 1 << 30;

/// What names of files end in.
const ENDING: &str = "schedule";

/// Times of a candidate.
const SAMPLES: u32 = 5;

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) schedule: String,
    /// What a report says of it.
    pub(super) note: String,
}

/// Name of the file of a kernel on a device.
fn file(device: &Device, kernel: &Kernel, contract: bool) -> Result<String> {
    let name = sys::describe(&device.context)?.name;
    // The text says all that a kernel is: physics, numbers, scheme, sizes.
    let way = if kernel.stages.len() == 1 { Way::Flat } else { Way::Unfused };
    let layouts = Layouts::chunks(kernel);
    let text = gpu::emit(kernel, &Schedule::new(way), &layouts, Dialect::Cuda)
        .map_err(|error| super::refused(&error))?;
    let about = format!("{name} {} {contract}", capability(&device.context)?);
    Ok(format!("{:032x}.{ENDING}", compile::hash(&[about.as_bytes(), text.source.as_bytes()])))
}

/// A schedule in the cache.
fn read(folder: &Path, file: &str) -> Option<Found> {
    let text = std::fs::read_to_string(folder.join(file)).ok()?;
    let (schedule, note) = text.trim_end().split_once(": ")?;
    Schedule::parse(schedule).ok()?;
    Some(Found { schedule: schedule.into(), note: note.into() })
}

/// Keeps a schedule; a cache that cannot be written costs a search, no more.
fn write(folder: &Path, file: &str, found: &Found) {
    let part = folder.join(format!("{file}.{}.part", std::process::id()));
    let text = format!("{}: {}\n", found.schedule, found.note);
    let kept = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&part, text))
        .and_then(|()| std::fs::rename(&part, folder.join(file)));
    if kept.is_err() {
        let _ = std::fs::remove_file(&part);
    }
}

/// What an earlier search found.
pub(super) fn known(device: &Device, kernel: &Kernel, contract: bool) -> Option<Found> {
    let folder = compile::folder()?;
    // Printing a kernel to find the name of its file takes longer than to see that there is none.
    let mut entries = std::fs::read_dir(&folder).ok()?.flatten();
    if !entries.any(|entry| entry.path().extension().is_some_and(|end| end == ENDING)) {
        return None;
    }
    read(&folder, &file(device, kernel, contract).ok()?)
}

/// What an earlier search found, or a new one.
///
/// # Errors
/// Those of the first candidate, where none runs.
pub(super) fn find(device: &Device, kernel: &Kernel, contract: bool) -> Result<Found> {
    let (folder, file) = (compile::folder(), file(device, kernel, contract)?);
    if let Some(found) = folder.as_deref().and_then(|folder| read(folder, &file)) {
        return Ok(found);
    }
    let names = schedules(device, kernel)?;
    compile_all(kernel, &names, capability(&device.context)?, contract);
    let mut times: Vec<(f64, &String)> = Vec::new();
    let mut failure = None;
    for name in &names {
        match time(device, kernel, name, contract) {
            Ok(seconds) => times.push((seconds, name)),
            // Some take more shared memory than a card has.
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((seconds, best)) = times.first() else {
        return Err(failure.unwrap_or_else(|| temblor_backend::Error::Unsupported {
            backend: crate::ID.into(),
            what: format!("any schedule of {}", kernel.name),
        }));
    };
    let rate = |seconds: f64| 1e-9 * (patches(kernel) * kernel.shape.voxels()) as f64 / seconds;
    let mut note = format!("{:.3} Gcell/s, fastest of {} schedules", rate(*seconds), times.len());
    if let Some((seconds, next)) = times.get(1) {
        note += &format!(", then {next} with {:.3}", rate(*seconds));
    }
    let found = Found { schedule: (*best).clone(), note };
    if let Some(folder) = folder {
        write(&folder, &file, &found);
    }
    Ok(found)
}

/// Compiles into the cache on all cores; what is refused is met again later.
fn compile_all(kernel: &Kernel, names: &[String], capability: i32, contract: bool) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(names.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let _ = compile_ahead(kernel, name, capability, contract, false);
                }
            });
        }
    });
}

/// Patches of a time.
fn patches(kernel: &Kernel) -> usize {
    let each = 16 * (kernel.shape.input_len() + kernel.shape.output_len()) as u64;
    let fits = usize::try_from(BYTES / each).unwrap_or(usize::MAX);
    (VOXELS / kernel.shape.voxels()).min(fits).max(1)
}

/// Least time of an evaluation of [`patches`] patches, s.
fn time(device: &Device, of: &Kernel, name: &str, contract: bool) -> Result<f64> {
    let count = patches(of);
    let made = kernel(device, of, &PatchOptions::new(contract).with_schedule(name))?;
    let cell = Cell { centre: [0.0; 3], size: [1.0; 3], time: 0.0, time_step: 1e-4 };
    let (states, rates) = match of.shape.output {
        Output::Step => (2, 0),
        Output::Rate => (1, 1),
    };
    let mut set = made.patches(&vec![cell; count], states, rates)?;
    let chunk = state(of).unwrap_or_else(|| vec![1.0; of.shape.input_len()]);
    for patch in 0..count {
        set.upload(0, patch, &chunk)?;
    }
    set.time(0, states - 1, 1)?;
    Ok(set.time(0, states - 1, SAMPLES)?.into_iter().fold(f64::INFINITY, f64::min))
}

/// A chunk of the physics' `initial` by its parameters' defaults, no two voxels alike; none where it
/// has no `initial`.
fn state(kernel: &Kernel) -> Option<Vec<f64>> {
    let physics = &kernel.physics;
    let function = physics.trace(Term::Initial, 0, &kernel.integers).ok()?;
    let needed = function.graph.reachable(&function.outputs);
    let width = kernel.shape.width();
    let known = arguments(Term::Initial, u16::try_from(width).ok()?);
    let (mut chunk, mut values) = (vec![0.0; kernel.shape.input_len()], Vec::new());
    for (number, voxel) in chunk.chunks_exact_mut(width).enumerate() {
        let at = |axis: u8| ((number * (7 + usize::from(axis))) % 101) as f64 / 101.0;
        function.graph.evaluate(&needed, &mut values, |leaf| match leaf {
            Leaf::Parameter(place) => {
                physics.parameters.get(usize::from(place)).map_or(0.0, |known| known.default)
            }
            Leaf::Argument(place) => match known[usize::from(place)] {
                Argument::Position(axis) => at(axis),
                Argument::Spacing(_) => 0.1,
                _ => 0.0,
            },
            _ => 0.0,
        });
        for (to, output) in voxel.iter_mut().zip(&function.outputs) {
            *to = values[output.index()];
        }
    }
    Some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_read_again_and_a_broken_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let found = Found { schedule: "flat-t256-l8".into(), note: "7.2 Gcell/s: so".into() };
        write(folder.path(), "a.schedule", &found);
        assert_eq!(read(folder.path(), "a.schedule"), Some(found));
        for text in ["", "flat-t256", "fastest: 1 Gcell/s"] {
            std::fs::write(folder.path().join("b.schedule"), text).unwrap();
            assert_eq!(read(folder.path(), "b.schedule"), None, "{text}");
        }
        assert_eq!(read(folder.path(), "c.schedule"), None);
    }

    #[test]
    fn euler_starts_from_states_with_density_and_pressure() {
        let physics = std::sync::Arc::new(temblor_patch::Physics::shipped("euler").unwrap());
        let scheme = temblor_patch::Scheme::shipped("fd4").unwrap();
        let request = temblor_patch::Request::new(3, 3);
        let kernel = temblor_patch::lower(&scheme, &physics, &request).unwrap();
        let state = state(&kernel).unwrap();
        assert_eq!(state.len(), 5 * 729);
        for q in state.chunks_exact(5) {
            let kinetic = 0.5 * (q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) / q[0];
            assert!(q[0] > 0.0 && q[4] > kinetic, "{q:?}");
        }
    }
}
