//! The run that a profiler sees: this program again, for one row and a few steps.

use temblor_bench::counters;
use temblor_bench::pose;
use temblor_bench::results::{Case, Counters, arithmetic_name};

use crate::backends;

/// Counters of a case, or why there are none; `named` are the backends as the command names them,
/// with their devices.
pub(super) fn counters(case: &Case, named: &[String]) -> Vec<Counters> {
    let of_case = |name: &&String| {
        backends::name_and_device(name).is_ok_and(|(backend, _)| backend == case.backend)
    };
    let backend = named.iter().find(of_case).unwrap_or(&case.backend);
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return counters::none(&format!("this program is not found: {error}")),
    };
    let child = |steps: u32| arguments(case, backend, steps);
    if case.backend == "cuda" {
        counters::by_ncu(&program, &child)
    } else if backends::on_host(&case.backend) {
        counters::by_perf(&program, &child)
    } else {
        counters::none("there is no profiler for this backend")
    }
}

/// Arguments that step a case's problem.
fn arguments(case: &Case, backend: &str, steps: u32) -> Vec<String> {
    let [nx, ny, nz] = case.shape;
    let order = pose::operator(&case.operator).map_or(8, |operator| 2 * operator.radius());
    let mut words: Vec<String> = [
        ("--bare", steps.to_string()),
        ("--backend", backend.to_owned()),
        ("--variant", case.variant.clone()),
        ("--size", format!("{nx}x{ny}x{nz}")),
        ("--order", order.to_string()),
        ("--boundary", case.boundary.name().to_owned()),
        ("--arithmetic", arithmetic_name(case.arithmetic)),
        ("--start", case.start.to_string()),
        ("--sources", case.sources.to_string()),
        ("--receivers", case.receivers.to_string()),
        ("--threads", rayon::current_num_threads().to_string()),
    ]
    .into_iter()
    .flat_map(|(name, value)| [name.to_owned(), value])
    .collect();
    if case.cells > 0 {
        words.extend(["--cells".to_owned(), case.cells.to_string()]);
    }
    for (name, value) in &case.parameters {
        words.extend(["--set".to_owned(), format!("{name}={value}")]);
    }
    std::iter::once("bench".to_owned()).chain(words).collect()
}
