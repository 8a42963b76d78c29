//! The tune cache as a table.

use temblor_backend::tuning::{Candidate, Faces, Measurement, TuneCache};

use crate::exit::Failure;
use crate::preflight::name_of;
use crate::{backends, tune_cache};

/// Columns of a candidate's name.
const NAME: usize = 44;

/// Prints all entries with their candidates, and whether runs use them.
///
/// # Errors
/// [`Failure::BadInput`] if nothing was measured yet.
pub(super) fn print(cache: &TuneCache) -> Result<(), Failure> {
    if cache.entries.is_empty() {
        return Err(Failure::BadInput(
            "nothing was measured on this machine yet: `temblor tune RUN_FILE` does".into(),
        ));
    }
    if let Some(path) = tune_cache::path() {
        println!("{}", path.display());
    }
    let here = backends::all();
    for entry in &cache.entries {
        let backend = here.iter().find_map(|known| {
            known.backend.as_ref().ok().filter(|b| b.device().backend == entry.backend)
        });
        let state = match backend {
            None => "its backend cannot be used here",
            Some(b) if b.device().name != entry.device => "not this machine's device 0",
            Some(b) if b.device().driver != entry.driver => "STALE: another driver",
            Some(b) if b.kernels() != entry.kernels => "STALE: other kernels",
            Some(_) => "in use",
        };
        println!("\n{} on {}: {state}", entry.backend, entry.device);
        println!("  {}", class(entry));
        candidates(Some(entry));
    }
    Ok(())
}

/// What an entry holds for.
pub(super) fn class(entry: &Measurement) -> String {
    let nodes = entry.shape_class.map(|power| {
        let least = 1_u64.checked_shl(power).unwrap_or(u64::MAX);
        if power == 0 { "1".into() } else { format!("{least}-{}", least.saturating_mul(2) - 1) }
    });
    let faces = match entry.faces {
        Faces::Zero => "zero",
        Faces::Walls => "walls",
        Faces::Minimod => "minimod",
        Faces::Cpml => "cpml",
    };
    format!("order {}, {faces}, {} nodes", entry.order, nodes.join(" x "))
}

/// Prints the candidates of an entry, the one that runs take marked.
pub(super) fn candidates(entry: Option<&Measurement>) {
    let Some(entry) = entry else { return };
    // Caches of older versions keep the winner alone.
    let only = [Candidate {
        variant: entry.variant.clone(),
        parameters: entry.parameters.clone(),
        gpts: Some(entry.gpts),
        spread: None,
        why: None,
    }];
    let all = if entry.candidates.is_empty() { &only[..] } else { &entry.candidates };
    for candidate in all {
        println!("  {}", line(candidate, entry));
    }
}

fn line(candidate: &Candidate, entry: &Measurement) -> String {
    let taken = candidate.variant == entry.variant && candidate.parameters == entry.parameters;
    let mark = if taken { '*' } else { ' ' };
    let name = name_of(&candidate.variant, &candidate.parameters);
    let name = format!("{mark} {name:NAME$}");
    match (candidate.gpts, candidate.spread) {
        (Some(gpts), Some(spread)) => {
            format!("{name} {gpts:9.3} Gpts/s +-{:4.1} %", 100.0 * spread)
        }
        (Some(gpts), None) => format!("{name} {gpts:9.3} Gpts/s"),
        (None, _) => {
            let why = candidate.why.as_deref().unwrap_or("it was not measured");
            format!("{}\n      no rate: {why}", name.trim_end())
        }
    }
}
