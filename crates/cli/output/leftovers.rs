//! Temporary files of runs that were killed.

use super::{file_for_all, parent_of};
use crate::runfile::OutputSpec;

/// Removes temporary files of this run's names; only called while the journal is locked.
///
/// They are called `.NAME.PID-N.tmp` by [`temblor_io::AtomicFile`].
pub(super) fn remove(spec: &OutputSpec) {
    let checkpoint = file_for_all(spec);
    let checkpoint = checkpoint.file_name().unwrap_or_default().to_string_lossy().into_owned();
    sweep(parent_of(&spec.traces), |name| name.starts_with(&format!("{checkpoint}.checkpoint.")));
    if let Some(report) = &spec.report {
        let report_name = report.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sweep(parent_of(report), |name| name.starts_with(&format!("{report_name}.")));
    }
    if let Some((.., folder)) = &spec.snapshots {
        sweep(folder, |name| name.starts_with("shot"));
    }
}

fn sweep(folder: &std::path::Path, ours: impl Fn(&str) -> bool) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let middle = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        let numbered =
            middle.and_then(|middle| middle.rsplit_once('.')).is_some_and(|(_, tail)| {
                tail.split_once('-').is_some_and(|(pid, count)| {
                    pid.parse::<u32>().is_ok() && count.parse::<u32>().is_ok()
                })
            });
        if numbered && middle.is_some_and(&ours) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
