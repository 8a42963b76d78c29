//! Health, saved states, poison and reset.

use ndarray::Array3;
use temblor_backend::{Backend, Error, Field, Propagator, Region};
use temblor_physics::WaveProblem;

use super::{plain, refused, small, small_of};
use crate::setup::{Case, Final};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

fn equal(what: &str, a: &Final, b: &Final) -> Outcome {
    Outcome::new(format!("values that differ: {what}"), a.differing(b), 0.0)
}

pub(super) fn health(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut outcomes = Vec::new();
    for (case, layers) in [(plain()?, false), (small()?, true)] {
        let mut plan = case.plan(backend, variant)?;
        plan.advance(5)?;
        let health = plan.health()?;
        let field = Final::of(plan.as_mut(), &case)?.pressure;
        let largest = field.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let exact = health.largest.to_bits() == largest.to_bits();
        outcomes.push(Outcome::law("largest |p| is that of a download", exact && largest > 0.0));
        let moving = health.largest_in_layers > 0.0;
        outcomes.push(Outcome::law(
            "memory variables are seen where there are layers",
            moving == layers && health.largest_in_layers.is_finite(),
        ));
        let sound = health.step == 5 && health.first_bad.is_none();
        outcomes.push(Outcome::law("a sound wavefield has no bad node", sound));
    }
    // Two bad nodes; the first in memory order is reported, though it is the second uploaded.
    let case = small()?;
    for (bad, other) in [(f32::NAN, f32::INFINITY), (f32::NEG_INFINITY, f32::NAN)] {
        let mut plan = case.plan(backend, variant)?;
        let upload = |plan: &mut dyn Propagator, node, value| {
            let one = Region { start: node, shape: [1; 3], stride: [1; 3] };
            plan.upload(Field::Pressure, one, Array3::from_elem([1; 3], value).view().into())
        };
        upload(plan.as_mut(), [9, 3, 3], other)?;
        upload(plan.as_mut(), [2, 10, 17], bad)?;
        let health = plan.health()?;
        let found = health.first_bad == Some([2, 10, 17]) && !health.largest.is_finite();
        outcomes.push(Outcome::law(format!("{bad} is found first: {health:?}"), found));
        plan.advance(1)?;
        let health = plan.health()?;
        let found = !health.largest_in_layers.is_finite() && health.first_bad.is_some();
        outcomes.push(Outcome::law(format!("{bad} is found in the layers: {health:?}"), found));
    }
    Ok(outcomes)
}

pub(super) fn save_restore(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut whole = case.plan(backend, variant)?;
    whole.advance(3)?;
    whole.traces()?;
    let mut state = Vec::new();
    whole.save(&mut state)?;
    let mut again = Vec::new();
    whole.save(&mut again)?;
    whole.advance(case.steps - 3)?;

    // What the solver sets again: wave speed, sources, receivers.
    let mut fresh = case.bare(backend, variant)?;
    fresh.set_sources(&case.sources)?;
    fresh.set_receivers(&case.receivers)?;
    fresh.advance(1)?;
    fresh.restore(&mut state.as_slice())?;
    let numbered = fresh.step() == 3;
    fresh.advance(1)?;
    let first = fresh.traces()?;
    let from_three = first.first_step == 3 && first.samples.dim().1 == 1;
    fresh.advance(case.steps - 4)?;
    let whole_end = Final::of(whole.as_mut(), &case)?;
    let mut fresh_end = Final::of(fresh.as_mut(), &case)?;
    fresh_end.traces =
        ndarray::concatenate![ndarray::Axis(1), first.samples.to_f64(), fresh_end.traces];
    Ok(vec![
        Outcome::law("saving changes nothing, so saving twice is the same", state == again),
        Outcome::law("the step is restored", numbered),
        Outcome::law("samples not read before restoring are dropped", from_three),
        equal("restored at step 3", &whole_end, &fresh_end),
    ])
}

pub(super) fn foreign_state(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let by = |error: &Error| matches!(error, Error::State { .. });
    let mut other_dt: WaveProblem = case.problem.clone();
    other_dt.dt *= 0.5;
    let mut outcomes = Vec::new();
    let mut plan = case.plan(backend, variant)?;
    for (what, other) in [
        ("of another dt", Case { problem: other_dt, ..case.clone() }),
        ("of another shape", small_of([13, 12, 26], 1)?),
    ] {
        let mut state = Vec::new();
        other.plan(backend, variant)?.save(&mut state)?;
        outcomes.push(refused(what, plan.restore(&mut state.as_slice()), by));
    }
    let nonsense = [0x5a_u8; 4096];
    outcomes.push(refused("what is no state", plan.restore(&mut nonsense.as_slice()), by));
    plan.advance(case.steps)?;
    let run = Final::of(plan.as_mut(), &case)?;
    outcomes.push(equal("after what was refused", &run, &case.run(backend, variant)?));
    Ok(outcomes)
}

pub(super) fn poison(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    plan.advance(3)?;
    let ticket = plan.snapshot(Field::Pressure, case.whole())?;
    let mut state = Vec::new();
    plan.save(&mut state)?;
    let cut = state.len() - 100;
    let answer = plan.restore(&mut &state[..cut]);
    let mut outcomes =
        vec![refused("a state cut short", answer, |error| matches!(error, Error::Io(_)))];

    let by = |error: &Error| matches!(error, Error::Poisoned { .. });
    let mut host = case.pressure.clone();
    let (p, whole) = (Field::Pressure, case.whole());
    outcomes.extend([
        refused("upload after it", plan.upload(p, whole, host.view().into()), by),
        refused("download after it", plan.download(p, whole, host.view_mut().into()), by),
        refused("snapshot after it", plan.snapshot(p, whole), by),
        refused("wait after it", plan.wait(ticket), by),
        refused("set_sources after it", plan.set_sources(&case.sources), by),
        refused("advance after it", plan.advance(1), by),
        refused("health after it", plan.health(), by),
        refused("synchronize after it", plan.synchronize(), by),
        refused("save after it", plan.save(&mut Vec::new()), by),
        refused("restore after it", plan.restore(&mut state.as_slice()), by),
        refused("set_receivers after it", plan.set_receivers(&case.receivers), by),
    ]);

    let traces = plan.traces()?.samples.to_f64();
    let expected = case.run(backend, variant)?;
    let before = expected.traces.slice(ndarray::s![.., ..3]);
    let same = traces.dim() == before.dim()
        && traces.iter().zip(before).all(|(a, b)| a.to_bits() == b.to_bits());
    outcomes.push(Outcome::law("samples from before it are readable", same));

    plan.reset()?;
    case.fill(plan.as_mut())?;
    plan.advance(case.steps)?;
    outcomes.push(equal("after a reset", &Final::of(plan.as_mut(), &case)?, &expected));
    Ok(outcomes)
}

pub(super) fn reset(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    plan.advance(5)?;
    let ticket = plan.snapshot(Field::Pressure, case.whole())?;
    plan.reset()?;
    let dropped = |error: &Error| matches!(error, Error::Invalid { .. });
    let snapshot = refused("a snapshot from before a reset", plan.wait(ticket), dropped);
    let health = plan.health()?;
    let rest = Final::of(plan.as_mut(), &case)?;
    let still = health.largest == 0.0
        && health.largest_in_layers == 0.0
        && rest.previous.iter().all(|v| *v == 0.0);
    let mut outcomes = vec![
        snapshot,
        Outcome::law("at rest", still),
        Outcome::law("at step 0", plan.step() == 0 && health.step == 0),
        Outcome::law("samples are dropped", rest.traces.dim().1 == 0),
    ];
    // Wave speed, sources and receivers are kept: only the fields are set again.
    plan.upload(Field::Pressure, case.whole(), case.pressure.view().into())?;
    plan.upload(Field::PressurePrevious, case.whole(), case.previous.view().into())?;
    plan.advance(case.steps)?;
    let run = Final::of(plan.as_mut(), &case)?;
    outcomes.push(equal("the run after a reset", &run, &case.run(backend, variant)?));
    Ok(outcomes)
}
