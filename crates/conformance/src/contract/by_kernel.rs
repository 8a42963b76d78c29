//! Steps timed kernel by kernel.

use temblor_backend::{Backend, Error};
use temblor_physics::StepWork;

use super::{refused, small_of};
use crate::setup::Final;
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

/// Every kind of kernel, all of which the small problem has.
const KINDS: [&str; 5] = ["interior", "layers", "receivers", "sources", "walls"];

pub(super) fn same_step(backend: &dyn Backend, variant: &str) -> Outcomes {
    // Wide enough for an interior of its own where layers begin on a cache line.
    let case = small_of([24, 22, 90], 6)?;
    let mut plan = case.plan(backend, variant)?;
    let none = plan.advance_by_kernel(0)?;
    let mut outcomes = vec![Outcome::law(
        "no step takes no time",
        plan.step() == 0 && none.iter().all(|kind| kind.seconds.is_empty()),
    )];
    // An odd and an even number of steps, with plain ones between.
    let mut times = plan.advance_by_kernel(3)?;
    plan.advance(2)?;
    for (kind, more) in times.iter_mut().zip(plan.advance_by_kernel(case.steps - 5)?) {
        let law = format!("the same kinds in the same order: {}, {}", kind.name, more.name);
        outcomes.push(Outcome::law(law, kind.name == more.name));
        kind.seconds.extend(more.seconds);
    }
    let by = |error: &Error| matches!(error, Error::Invalid { .. });
    outcomes.push(refused("steps beyond the trace buffer", plan.advance_by_kernel(1), by));
    let run = Final::of(plan.as_mut(), &case)?;
    let differing = run.differing(&case.run(backend, variant)?);
    outcomes.push(Outcome::new("values that differ from those of advance", differing, 0.0));

    let mut names: Vec<_> = times.iter().map(|kind| kind.name.as_str()).collect();
    names.sort_unstable();
    outcomes.push(Outcome::law(format!("kinds are {KINDS:?} (got {names:?})"), names == KINDS));
    let (mut points, mut bytes) = (0, 0.0);
    for kind in &times {
        let steps = kind.seconds.len() == case.steps as usize - 2;
        outcomes.push(Outcome::law(format!("{}: a time per step", kind.name), steps));
        let sound = kind.seconds.iter().all(|time| time.is_finite() && *time >= 0.0);
        let spent = kind.seconds.iter().sum::<f64>() > 0.0 || kind.name != "interior";
        outcomes.push(Outcome::law(format!("{}: times are times", kind.name), sound && spent));
        if ["interior", "layers"].contains(&kind.name.as_str()) {
            points += kind.points;
            bytes += kind.bytes_per_step;
            let works = kind.points > 0 && kind.flops_per_step > 0.0 && kind.bytes_per_step > 0.0;
            outcomes.push(Outcome::law(format!("{} has nodes and work", kind.name), works));
        }
    }
    let (all, work) = (case.problem.grid.points(), StepWork::of(&case.problem));
    // Parts of the grid, or all of it with what layers add.
    let whole = points == all || points == all + work.layers.points;
    outcomes.push(Outcome::law(format!("{points} nodes are those of the grid"), whole));
    let least = work.bytes() as f64;
    outcomes.push(Outcome::new("bytes of a step, of which fused steps need less", bytes, least));
    Ok(outcomes)
}
