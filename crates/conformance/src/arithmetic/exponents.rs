//! Exponents that change faster than any guess: fronts that grow, spikes, silence, older states, values
//! at the end of the range.

use ndarray::{Array2, Array3};
use temblor_backend::{Backend, Field, Region, SourceTable};
use temblor_physics::{Arithmetic, Operator, PointWeights, WaveProblem, WavefieldStorage};

use super::beside::Beside;
use super::bounds::at_worst;
use super::exact::peak;
use super::{apply, fields, offer};
use crate::orders::Orders;
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

/// Corners of tiles inside it.
const SHAPE: [usize; 3] = [36, 34, 80];

/// Longer than what shares an exponent with either end.
const LONG: [usize; 3] = [20, 18, 300];

/// No multiple of a tile.
const SMALL: [usize; 3] = [19, 18, 45];

fn c2dt2() -> f64 {
    (apply::WAVE_SPEED * apply::DT).powi(2)
}

/// Whether values are stored as halves without an exponent: from 2^-24 to 65504 alone.
fn is_narrow(arithmetic: Arithmetic) -> bool {
    matches!(arithmetic, Arithmetic::Stored(s) if s.wavefields == WavefieldStorage::Fp16)
}

/// What is done with a problem on a variant, and where outcomes go.
type Case = fn(&dyn Backend, &str, &WaveProblem, &mut Vec<Outcome>) -> Result<(), CheckError>;

/// Runs a case in every telling arithmetic of a variant.
fn each(backend: &dyn Backend, variant: &str, shape: [usize; 3], case: Case) -> Outcomes {
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    for arithmetic in offer::telling(backend, variant) {
        let order8 = Operator::Direct { order: 8 };
        let problem = apply::problem(shape, [10.0; 3], order8, arithmetic)?;
        if orders.take(backend, &problem)? {
            case(backend, variant, &problem, &mut outcomes)?;
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}

/// A source whose amplitude grows by `bits` a step.
fn growing(problem: &WaveProblem, node: [usize; 3], steps: usize, bits: f64) -> SourceTable {
    let mut point = PointWeights::on_node(node);
    point.axes[0].weights[0] = 1.0 / problem.grid.cell_measure();
    let scale = problem.grid.cell_measure() / c2dt2();
    let column = (0..steps).map(|n| scale * (bits * n as f64).exp2());
    let amplitudes = Array2::from_shape_vec((steps, 1), column.collect());
    SourceTable { points: vec![point], amplitudes: amplitudes.expect("one column") }
}

pub(super) fn front(backend: &dyn Backend, variant: &str) -> Outcomes {
    each(backend, variant, SHAPE, |backend, variant, problem, outcomes| {
        const STEPS: usize = 4;
        let arithmetic = problem.arithmetic;
        let mut worst = Vec::new();
        let mut growth = f64::INFINITY;
        // In corners of tiles and one node beside them.
        for node in [[16, 15, 31], [15, 16, 32], [7, 8, 64], [31, 7, 0]] {
            let sources = growing(problem, node, STEPS, 4.0);
            let mut beside = Beside::new(backend, variant, problem, &sources)?;
            worst.push(beside.step()?);
            let first = peak(&beside.get(Field::Pressure)?);
            for _ in 1..STEPS {
                worst.push(beside.step()?);
            }
            growth = growth.min(peak(&beside.get(Field::Pressure)?) / first);
        }
        let what = format!("{arithmetic}: error of a step over the largest value around");
        outcomes.push(Outcome::new(what, peak(&worst), at_worst(problem, c2dt2())));
        let law = format!(
            "{arithmetic}: the front has grown 2^{:.1} in {} steps",
            growth.log2(),
            STEPS - 1
        );
        outcomes.push(Outcome::law(law, growth >= 1024.0));
        Ok(())
    })
}

/// Sets one node of p and p-.
fn spike(beside: &mut Beside, node: [usize; 3], value: f64) -> Result<(), CheckError> {
    let one = Region { start: node, shape: [1; 3], stride: [1; 3] };
    let host = Array3::from_elem([1; 3], value);
    beside.plan.upload(Field::Pressure, one, host.view().into())?;
    Ok(beside.plan.upload(Field::PressurePrevious, one, host.view().into())?)
}

/// Quiet waves with a step's error in each of the states that follow one another.
pub(super) fn broken(backend: &dyn Backend, variant: &str) -> Outcomes {
    each(backend, variant, LONG, |backend, variant, problem, outcomes| {
        let arithmetic = problem.arithmetic;
        let bound = at_worst(problem, c2dt2());
        let what = |kind: &str| format!("{arithmetic}: error of a step {kind}");
        let quiet = fields::waves(problem, 8.0, 61) * 2.0_f64.powi(-6);
        let sources =
            growing(problem, [2, 16, 297], 14, if is_narrow(arithmetic) { 1.0 } else { 4.0 });
        let mut beside = Beside::new(backend, variant, problem, &sources)?;
        beside.set(&quiet)?;
        let first = beside.step()?;
        outcomes.push(Outcome::new(what("of quiet waves"), first, bound));

        // At a tile's corner, so that what is near must rise and what is far must not.
        let loud = if is_narrow(arithmetic) { 4096.0 } else { 2.0_f64.powi(14) };
        spike(&mut beside, [15, 15, 15], loud)?;
        let after = [beside.step()?, beside.step()?];
        outcomes.push(Outcome::new(what("beside a spike 2^20 times larger"), peak(&after), bound));

        let mut state = Vec::new();
        beside.plan.save(&mut state)?;
        // Not so small that flushed terms of the stencil count.
        let tiny = if is_narrow(arithmetic) { -4 } else { -90 };
        beside.set(&(&quiet * 2.0_f64.powi(tiny)))?;
        // The source is loud in its corner; elsewhere there is next to nothing.
        let after = [beside.step()?, beside.step()?];
        outcomes.push(Outcome::new(what("of tiny waves"), peak(&after), bound));

        beside.set(&Array3::zeros(LONG))?;
        let after = [beside.step()?, beside.step()?];
        outcomes.push(Outcome::new(what("of silence and a source"), peak(&after), bound));

        beside.set(&(&quiet * 2.0_f64.powi(6)))?;
        let after = [beside.step()?, beside.step()?];
        outcomes.push(Outcome::new(what("of loud waves after silence"), peak(&after), bound));
        restored(&mut beside, &state, outcomes)
    })
}

/// A state that was saved when exponents were others goes on as it did.
fn restored(
    beside: &mut Beside,
    state: &[u8],
    outcomes: &mut Vec<Outcome>,
) -> Result<(), CheckError> {
    let mut ends = Vec::new();
    for before in [None, Some(0.0), Some(2.0_f64.powi(10))] {
        if let Some(value) = before {
            beside.set(&Array3::from_elem(LONG, value))?;
            beside.plan.advance(1)?;
        }
        beside.plan.restore(&mut &state[..])?;
        beside.plan.advance(3)?;
        ends.push([beside.get(Field::Pressure)?, beside.get(Field::PressurePrevious)?]);
    }
    let bits = |end: &[Array3<f64>; 2]| -> Vec<u64> {
        end.iter().flatten().map(|v| v.to_bits()).collect()
    };
    let differing = |n: usize| {
        bits(&ends[n]).iter().zip(bits(&ends[0])).filter(|(a, b)| **a != *b).count() as f64
    };
    let name = beside.plan.variant().name.clone();
    for (n, kind) in [(1, "silence"), (2, "a loud wavefield")] {
        let what = format!("{name}: values that differ after a restore from {kind}");
        outcomes.push(Outcome::new(what, differing(n), 0.0));
    }
    Ok(())
}

pub(super) fn underflow(backend: &dyn Backend, variant: &str) -> Outcomes {
    each(backend, variant, SMALL, |backend, variant, problem, outcomes| {
        let arithmetic = problem.arithmetic;
        let waves = fields::waves(problem, 8.0, 62);
        let mut beside = Beside::new(backend, variant, problem, &SourceTable::none())?;
        // From what all hold to what is a denormal of f32, and less than the least of them.
        for power in [-100, -116, -119, -121, -124, -128, -140, -160] {
            let size = 2.0_f64.powi(power);
            beside.set(&(&waves * size))?;
            beside.plan.advance(2)?;
            let left = beside.get(Field::Pressure)?;
            // Two steps of what is stable at most double and redouble it.
            let law = format!("{arithmetic}: a peak of 2^{power} stays finite and small");
            outcomes.push(Outcome::law(law, peak(&left) <= 16.0 * size));
            // In double precision it has not: that holds more than the fields of any backend.
            if power < -126 && arithmetic != Arithmetic::F64 {
                let law = format!("{arithmetic}: a peak of 2^{power} has become zero");
                outcomes.push(Outcome::law(law, peak(&left) == 0.0));
            }
            let sound = beside.plan.health()?.first_bad.is_none();
            outcomes.push(Outcome::law(format!("{arithmetic}: 2^{power} is found sound"), sound));
        }
        Ok(())
    })
}

pub(super) fn not_finite(backend: &dyn Backend, variant: &str) -> Outcomes {
    each(backend, variant, SMALL, |backend, variant, problem, outcomes| {
        let arithmetic = problem.arithmetic;
        let waves = fields::waves(problem, 8.0, 63);
        for (node, value) in [
            ([16, 3, 40], f64::NAN),
            ([0, 0, 31], f64::INFINITY),
            ([18, 17, 44], f64::NEG_INFINITY),
        ] {
            let mut beside = Beside::new(backend, variant, problem, &SourceTable::none())?;
            beside.set(&waves)?;
            beside.plan.advance(2)?;
            let one = Region { start: node, shape: [1; 3], stride: [1; 3] };
            let host = Array3::from_elem([1; 3], value);
            beside.plan.upload(Field::Pressure, one, host.view().into())?;
            let mut bad = Vec::new();
            for steps in [1, 1, 1, 4] {
                beside.plan.advance(steps)?;
                let found = beside.plan.health()?.first_bad.is_some();
                let count = beside.get(Field::Pressure)?.iter().filter(|v| !v.is_finite()).count();
                bad.push((found, count));
            }
            let found = bad.iter().all(|(found, count)| *found && *count > 0);
            let spreads = bad.windows(2).all(|pair| pair[0].1 <= pair[1].1);
            let law = format!("{arithmetic}: {value} at {node:?} is found and spreads: {bad:?}");
            outcomes.push(Outcome::law(law, found && spreads));
        }
        Ok(())
    })
}
