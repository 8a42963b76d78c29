//! What would make a run die or lie, found before it starts.

use std::collections::HashMap;
use std::path::PathBuf;

use temblor_patch::{Output, Term, stability};
use temblor_solver::patches::StepRule;

use super::PatchJob;
use super::outputs::Kind;
use crate::exit::Failure;

/// Voxels of the initial state that are looked at: all of a small box, a share of a large one.
pub(super) const LOOK_AT: usize = 1 << 16;

/// Frames of an output, beyond which its interval is taken for a slip.
const MOST_FRAMES: f64 = 1e5;

const AXES: [&str; 3] = ["x", "y", "z"];

/// Checks a job and notes doubts.
pub(super) fn check(job: &mut PatchJob) -> anyhow::Result<()> {
    terms(job)?;
    order(job)?;
    step(job)?;
    ccz4(job)?;
    halo(job)?;
    outputs(job)
}

/// Files that overwrite each other, lines beyond the box, more frames than anybody looks at.
fn outputs(job: &PatchJob) -> anyhow::Result<()> {
    let (names, tiling) = (job.names(), &job.problem.tiling);
    let mut taken: HashMap<(PathBuf, bool), usize> = HashMap::new();
    for (spec, number) in job.outputs.iter().zip(1..) {
        for &unknown in &spec.unknowns {
            let file = spec.name(&names[unknown], None);
            let other = *taken.entry((file, spec.interval.is_some())).or_insert(number);
            if other != number {
                let message = format!("[[output]] {other} and {number} both write");
                let file = spec.file.display();
                return Err(Failure::input(format!("{message} {file}: rename one")).into());
            }
        }
        if let Kind::Line { through: Some(point), .. } = spec.kind {
            for axis in 0..usize::from(tiling.dimensions) {
                let (low, at) = (tiling.origin[axis], point[axis]);
                let high = low + tiling.spacing[axis] * tiling.voxels()[axis] as f64;
                if !(low..=high).contains(&at) {
                    let letter = AXES[axis];
                    return Err(Failure::input(format!(
                        "[[output]] {number}, through is {at} m along {letter}: the box reaches from \
                         {low} to {high} m"
                    ))
                    .into());
                }
            }
        }
        if let Some(interval) = spec.interval
            && job.end / interval > MOST_FRAMES
        {
            return Err(Failure::input(format!(
                "[[output]] {number}, interval is {interval} s and [time] end {} s: more than \
                 {MOST_FRAMES} files, give a longer one",
                job.end
            ))
            .into());
        }
    }
    Ok(())
}

fn terms(job: &PatchJob) -> Result<(), Failure> {
    let physics = &job.problem.kernel.physics;
    if !physics.has(Term::Initial) {
        return Err(Failure::input(format!(
            "{} has no `initial`, so there is nothing to start from: write `void initial(const \
             double *x, double *Q)` in a C file and name it in [physics] setup",
            physics.file
        )));
    }
    let adaptive = matches!(job.problem.spec.rule, StepRule::Courant(_));
    if adaptive && !physics.has(Term::Eigenvalue) {
        return Err(Failure::input(format!(
            "[time] courant needs the speeds and {} has no `eigenvalue`: add it, or give dt",
            physics.file
        )));
    }
    Ok(())
}

fn order(job: &PatchJob) -> Result<(), Failure> {
    let order = job.problem.spec.order;
    if !(1..=4).contains(&order) {
        let message = format!("[scheme] runge_kutta is {order}: give 1, 2, 3 or 4");
        return Err(Failure::input(message));
    }
    if order > 1 && job.problem.kernel.shape.output == Output::Step {
        return Err(Failure::input(format!(
            "[scheme] runge_kutta is {order} and {} takes an Euler step by itself: remove the key, or \
             take a scheme that gives a rate",
            job.scheme.name
        )));
    }
    Ok(())
}

/// Stages of a step, and the limits of the scheme with them where they are known.
fn limits(job: &PatchJob) -> (u8, Option<stability::Limits>) {
    let problem = &job.problem;
    let stages = if problem.kernel.shape.output == Output::Step { 1 } else { problem.spec.order };
    let tiling = &problem.tiling;
    (stages, stability::limits(&job.scheme.name, tiling.dimensions, tiling.cells, stages))
}

fn step(job: &mut PatchJob) -> anyhow::Result<()> {
    let problem = &job.problem;
    problem.limits().check(problem.spec.rule)?;
    let (stages, known) = limits(job);
    match (problem.spec.rule, known) {
        (StepRule::Courant(factor), Some(known)) => {
            // Given for waves of one speed along all axes; along one axis alone d times as much.
            let scale = f64::from(2 * stages - 1);
            let all = known.courant * scale;
            let one = all * f64::from(problem.tiling.dimensions);
            if factor > one * (1.0 + 1e-9) {
                return Err(Failure::input(format!(
                    "[time] courant is {factor}: {} with {stages} stages is stable up to {all:.3}, and \
                     up to {one:.3} where waves run along one axis alone",
                    job.scheme.name
                ))
                .into());
            }
            if factor > all * (1.0 + 1e-9) {
                job.warnings.push(format!(
                    "courant is {factor}: where waves run along all axes the step is stable up to \
                     {all:.3}"
                ));
            }
        }
        (StepRule::Fixed(dt), _) if job.end / dt > 1e9 => {
            let message = format!("[time] dt is {dt} s and end {} s: a billion steps", job.end);
            return Err(Failure::input(message).into());
        }
        _ => {}
    }
    Ok(())
}

/// Warns of a fixed step that the speeds at the outset do not allow.
pub(super) fn fixed_step(job: &PatchJob, speed: f64) -> Option<String> {
    let StepRule::Fixed(dt) = job.problem.spec.rule else { return None };
    let tiling = &job.problem.tiling;
    let all = limits(job).1?.courant * tiling.finest() / speed;
    let one = all * f64::from(tiling.dimensions);
    (dt > all * (1.0 + 1e-9)).then(|| {
        format!(
            "dt is {dt} s: with waves of {speed:.3} m/s, as at the start, {} is stable up to {all:.3e} s \
             where they run along all axes, and up to {one:.3e} s along one alone",
            job.scheme.name
        )
    })
}

/// `s` and `bs` of CCZ4 go together: with s = 1 the shift's own advection must be on, with s = 0 the
/// auxiliary equations hold for no shift alone.
fn ccz4(job: &PatchJob) -> anyhow::Result<()> {
    let problem = &job.problem;
    if problem.kernel.physics.name != "ccz4" {
        return Ok(());
    }
    let (Some(shift), Some(advection)) = (problem.parameter("s"), problem.parameter("bs")) else {
        return Ok(());
    };
    let both = |value: f64| (shift - value).abs() + (advection - value).abs() <= 0.0;
    if both(1.0) {
        return Ok(());
    }
    let pair = format!("[parameters] s = {shift}, bs = {advection}");
    if !both(0.0) {
        return Err(Failure::input(format!(
            "{pair}: the equations are consistent for 1 and 1, or for 0 and 0 without a shift"
        ))
        .into());
    }
    let outset = problem.outset(LOOK_AT)?;
    for (name, range) in job.names().iter().zip(&outset.ranges) {
        let shifted = range.0 < 0.0 || range.1 > 0.0;
        if name.starts_with("beta") && shifted {
            return Err(Failure::input(format!(
                "{pair}, and `{name}` of the initial state reaches {}: without s and bs the shift has \
                 to be zero",
                if range.1 > 0.0 { range.1 } else { range.0 }
            ))
            .into());
        }
    }
    Ok(())
}

fn halo(job: &PatchJob) -> anyhow::Result<()> {
    let shape = &job.problem.kernel.shape;
    if shape.halo > shape.cells {
        return Err(Failure::input(format!(
            "[domain] cells is {} and {} reads {} voxels beyond a patch: a patch has to be at least \
             that wide",
            shape.cells, job.scheme.name, shape.halo
        ))
        .into());
    }
    Ok(())
}
