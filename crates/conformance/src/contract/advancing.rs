//! Steps, in pieces, side by side, and how they are numbered.

use ndarray::{Array2, concatenate, s};
use temblor_backend::{Backend, Propagator};
use temblor_physics::PointWeights;

use super::{small, small_of};
use crate::setup::{Case, Final};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

fn equal(what: &str, a: &Final, b: &Final) -> Outcome {
    Outcome::new(format!("values that differ: {what}"), a.differing(b), 0.0)
}

pub(super) fn zero_steps(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    plan.advance(0)?;
    let still = plan.step() == 0;
    let samples = plan.traces()?.samples.dim();
    plan.advance(3)?;
    plan.advance(0)?;
    let three = plan.step() == 3;
    plan.advance(case.steps - 3)?;
    let run = Final::of(plan.as_mut(), &case)?;
    let none = (case.receivers.points.len(), 0);
    Ok(vec![
        Outcome::law("step stays at 0", still),
        Outcome::law(format!("no samples (got {samples:?})"), samples == none),
        Outcome::law("step stays at 3", three),
        equal("with zero steps between", &run, &case.run(backend, variant)?),
    ])
}

/// Runs in pieces, taking the samples after each.
fn in_pieces(plan: &mut dyn Propagator, case: &Case, pieces: &[u32]) -> Result<Final, CheckError> {
    let mut traces = Array2::zeros((case.receivers.points.len(), 0));
    for &piece in pieces {
        plan.advance(piece)?;
        let more = plan.traces()?.samples.to_f64();
        traces = concatenate![ndarray::Axis(1), traces, more];
    }
    Ok(Final { traces, ..Final::of(plan, case)? })
}

pub(super) fn splitting(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut case = small()?;
    let mut outcomes = Vec::new();
    // 12 steps: whole passes and remainders of kernels that fuse 2, 3 or 4 steps.
    case.steps = 12;
    let whole = case.run(backend, variant)?;
    for pieces in [&[1; 12][..], &[3, 1, 4, 1, 3], &[5, 7], &[2, 2, 2, 2, 2, 2], &[11, 1]] {
        let run = in_pieces(case.plan(backend, variant)?.as_mut(), &case, pieces)?;
        outcomes.push(equal(&format!("12 steps as {pieces:?}"), &whole, &run));
    }
    Ok(outcomes)
}

pub(super) fn repeatable(backend: &dyn Backend, variant: &str) -> Outcomes {
    // Large enough for all threads to have work.
    let mut case = small_of([40, 36, 70], 3)?;
    case.steps = 12;
    let first = case.run(backend, variant)?;
    let moved =
        first.pressure.iter().zip(&case.pressure).any(|(a, b)| (a - f64::from(*b)).abs() > 0.1);
    Ok(vec![
        Outcome::law("the wavefield moved", moved),
        equal("a second run", &first, &case.run(backend, variant)?),
        equal("a third run", &first, &case.run(backend, variant)?),
    ])
}

pub(super) fn two_plans(backend: &dyn Backend, variant: &str) -> Outcomes {
    let (one, two) = (small()?, small_of([9, 14, 31], 4)?);
    let alone = [one.run(backend, variant)?, two.run(backend, variant)?];
    let (mut a, mut b) = (one.plan(backend, variant)?, two.plan(backend, variant)?);
    for piece in [1, 3, 2, 1] {
        a.advance(piece)?;
        b.advance(piece)?;
    }
    let interleaved = [Final::of(a.as_mut(), &one)?, Final::of(b.as_mut(), &two)?];
    let at_once = std::thread::scope(|scope| {
        let other = scope.spawn(|| two.run(backend, variant));
        let run = one.run(backend, variant);
        (run, other.join())
    });
    let (first, Ok(second)) = at_once else {
        return Ok(vec![Outcome::law("a run beside another one does not panic", false)]);
    };
    Ok(vec![
        equal("first, interleaved", &interleaved[0], &alone[0]),
        equal("second, interleaved", &interleaved[1], &alone[1]),
        equal("first, two threads", &first?, &alone[0]),
        equal("second, two threads", &second?, &alone[1]),
    ])
}

pub(super) fn sample_numbers(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let mut outcomes = Vec::new();
    let mut expect = |what: &str, plan: &mut dyn Propagator, first: u64, count: usize| {
        let traces = plan.traces()?;
        let got = (traces.first_step, traces.samples.dim().1);
        let holds = got == (first, count);
        let law = format!("{what}: {count} samples from step {first} (got {got:?})");
        outcomes.push(Outcome::law(law, holds));
        Ok::<_, CheckError>(())
    };
    expect("at the start", plan.as_mut(), 0, 0)?;
    plan.advance(3)?;
    expect("after three steps", plan.as_mut(), 0, 3)?;
    expect("asked again", plan.as_mut(), 3, 0)?;
    plan.advance(2)?;
    plan.set_receivers(&case.receivers)?;
    plan.advance(1)?;
    expect("after set_receivers at step 5", plan.as_mut(), 5, 1)?;
    plan.advance(1)?;
    plan.reset()?;
    plan.advance(2)?;
    expect("after a reset", plan.as_mut(), 0, 2)?;
    Ok(outcomes)
}

pub(super) fn amplitude_numbers(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut case = small()?;
    let late = {
        let mut plan = case.bare(backend, variant)?;
        plan.set_receivers(&case.receivers)?;
        plan.advance(3)?;
        plan.set_sources(&case.sources)?;
        plan.advance(case.steps - 3)?;
        Final::of(plan.as_mut(), &case)?
    };
    case.pressure.fill(0.0);
    case.previous.fill(0.0);
    case.sources.amplitudes.slice_mut(s![..3, ..]).fill(0.0);
    let early_zero = case.run(backend, variant)?;
    let mut outcomes = vec![equal("sources set at step 3", &late, &early_zero)];
    let heard = late.traces.iter().any(|v| *v != 0.0);
    outcomes.push(Outcome::law("the sources are heard", heard));
    // A table that ends early is one that goes on with zeros.
    let mut short = case.clone();
    short.sources.amplitudes = case.sources.amplitudes.slice(s![..5, ..]).to_owned();
    case.sources.amplitudes.slice_mut(s![5.., ..]).fill(0.0);
    let (short, zeros) = (short.run(backend, variant)?, case.run(backend, variant)?);
    outcomes.push(equal("a table of 5 rows", &short, &zeros));
    Ok(outcomes)
}

/// Relative error of a sample of c^2 dt^2 w s if all three are rounded to f32, and both products.
const FIVE_ROUNDINGS: f64 = 2.5 * f32::EPSILON as f64;

pub(super) fn source_timing(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut case = small()?;
    let (node, weight, amplitude) = ([6, 5, 12], 0.3, 1e-3);
    let mut point = PointWeights::on_node(node);
    point.axes[0].weights[0] = weight;
    case.sources.points = vec![point];
    case.receivers.points = vec![PointWeights::on_node(node)];
    case.pressure.fill(0.0);
    case.previous.fill(0.0);
    let c2dt2 = (f64::from(case.wave_speed[node]) * case.problem.dt).powi(2);
    let expected = c2dt2 * weight * amplitude;
    let mut outcomes = Vec::new();
    // At an even and at an odd step.
    for step in [2, 3] {
        case.sources.amplitudes = Array2::zeros((case.steps as usize, 1));
        case.sources.amplitudes[[step, 0]] = amplitude;
        let traces = case.run(backend, variant)?.traces;
        let before = traces.slice(s![0, ..=step]).iter().all(|v| *v == 0.0);
        outcomes.push(Outcome::law(format!("nothing up to sample {step}"), before));
        let error = (traces[[0, step + 1]] / expected - 1.0).abs();
        let quantity = format!("relative error of sample {}", step + 1);
        outcomes.push(Outcome::new(quantity, error, FIVE_ROUNDINGS));
    }
    Ok(outcomes)
}
