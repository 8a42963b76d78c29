//! The phase velocity of waves, from waves that stand between walls for many periods.
//!
//! Between rigid faces across x and y and free ones across z, products of cosines and a sine are
//! eigenmodes of the operator, whose eigenvalue is the sum of its symbols, whatever its weights: they turn
//! by `w dt` a step with `sin^2(w dt / 2) = -c^2 dt^2 sum S / 4`. The angle after many steps gives the velocity
//! against the prediction from the quantised operator's symbol. Modes do not repeat within the grid, so that
//! rounding is noise.

use std::f64::consts::PI;

use ndarray::Array3;
use temblor_backend::{Backend, Field, Region};
use temblor_physics::{
    Arithmetic, Boundary, Criterion, DigitKind, Face, Fit, Operator, QuantisedOperator,
    WaveProblem, dispersion,
};

use super::bounds::noise;
use super::{apply, offer};
use crate::orders::Orders;
use crate::{CheckError, Outcome};

const SHAPE: [usize; 3] = [23, 19, 31];
const STEPS: u32 = 100;

/// Half waves along (x, y, z): across most of a wavelength along z alone, and along a diagonal.
const MODES: [[usize; 3]; 2] = [[1, 1, 9], [5, 4, 6]];

/// Phase per node along each axis.
fn angles(mode: [usize; 3]) -> [f64; 3] {
    let spans = [SHAPE[0], SHAPE[1], SHAPE[2] - 1];
    std::array::from_fn(|a| PI * mode[a] as f64 / spans[a] as f64)
}

/// An eigenmode with a peak of nearly one.
fn eigenmode(mode: [usize; 3]) -> Array3<f64> {
    let [x, y, z] = angles(mode);
    Array3::from_shape_fn(SHAPE, |(i, j, k)| {
        (x * (i as f64 + 0.5)).cos() * (y * (j as f64 + 0.5)).cos() * (z * k as f64).sin()
    })
}

fn problem(
    operator: Operator,
    spacing: [f64; 3],
    arithmetic: Arithmetic,
) -> Result<WaveProblem, CheckError> {
    let mut problem = apply::problem(SHAPE, spacing, operator, arithmetic)?;
    for face in Face::ALL {
        let z = face.axis() == temblor_physics::Axis::Z;
        problem.boundaries.set(face, if z { Boundary::Free } else { Boundary::Rigid });
    }
    Ok(problem)
}

/// The angle of a step with an operator's weights.
fn turn(problem: &WaveProblem, weights: &[f64], mode: [usize; 3]) -> f64 {
    let sum: f64 = (angles(mode).into_iter().zip(problem.grid.spacing))
        .map(|(angle, h)| dispersion::symbol_of(weights, angle) / (h * h))
        .sum();
    let c2dt2 = (apply::WAVE_SPEED * apply::DT).powi(2);
    2.0 * (-0.25 * c2dt2 * sum).sqrt().asin()
}

/// The weights that an arithmetic multiplies with, and what it may change of the sum of symbols.
fn weights(problem: &WaveProblem) -> Result<Vec<f64>, CheckError> {
    Ok(match problem.arithmetic {
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Int8 => {
            QuantisedOperator::new(&problem.operator, digits.operator)?.weights()
        }
        _ => problem.operator.second_derivative(),
    })
}

/// The angle of a step as measured over all.
fn measured(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
    mode: [usize; 3],
    turn: f64,
) -> Result<f64, CheckError> {
    let whole = Region::whole(SHAPE);
    let shape = eigenmode(mode);
    let mut plan = apply::plan(backend, variant, problem)?;
    let past = &shape * turn.cos();
    plan.upload(Field::Pressure, whole, shape.view().into())?;
    plan.upload(Field::PressurePrevious, whole, past.view().into())?;
    plan.advance(STEPS)?;
    let norm: f64 = shape.iter().map(|m| m * m).sum();
    let mut share = |field| -> Result<f64, CheckError> {
        let mut values = Array3::<f64>::zeros(SHAPE);
        plan.download(field, whole, values.view_mut().into())?;
        Ok(values.iter().zip(&shape).map(|(p, m)| p * m).sum::<f64>() / norm)
    };
    // cos(n turn) and, from the step before, sin(n turn).
    let (cosine, earlier) = (share(Field::Pressure)?, share(Field::PressurePrevious)?);
    let angle = ((earlier - cosine * turn.cos()) / turn.sin()).atan2(cosine);
    let due = f64::from(STEPS) * turn;
    let late = (angle - due + PI).rem_euclid(2.0 * PI) - PI;
    Ok((due + late) / f64::from(STEPS))
}

/// Relative error of the velocity that noise and the operator's rounding leave.
///
/// A mode with `N/8` mean squares sees of white noise a part of `sqrt(8/N)`; a step that errs by that turns
/// the angle by as much over its sine, and n steps by `sqrt(n)` times that. Four standard deviations pass.
fn tolerance(problem: &WaveProblem, turn: f64) -> f64 {
    let c2dt2 = (apply::WAVE_SPEED * apply::DT).powi(2);
    let noise = noise(problem, c2dt2);
    let points = SHAPE.iter().product::<usize>() as f64;
    let heard = noise.white * (8.0 / points).sqrt() / turn.sin();
    let random = 4.0 * heard / (turn * f64::from(STEPS).sqrt());
    // d(turn) = d(c^2 dt^2 sum S) / (2 sin(turn)); weights and c^2 dt^2 in FP32 cost some 1e-7.
    random + noise.operator / (2.0 * turn.sin() * turn) + 1e-6
}

/// Both modes of one problem.
fn of(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
) -> Result<Vec<Outcome>, CheckError> {
    let (own, exact) = (weights(problem)?, problem.operator.second_derivative());
    let mut outcomes = Vec::new();
    for mode in MODES {
        let due = turn(problem, &own, mode);
        let found = measured(backend, variant, problem, mode, due)?;
        let shift = 100.0 * (due / turn(problem, &exact, mode) - 1.0);
        let periods = f64::from(STEPS) * due / (2.0 * PI);
        let what = format!(
            "{}, {:?}, {:?} m, mode {mode:?}: velocity over the symbol's, which quantisation moves by \
             {shift:+.4} %, in {periods:.0} periods",
            problem.arithmetic, problem.operator, problem.grid.spacing
        );
        let most = tolerance(problem, due);
        outcomes.push(Outcome::new(what, (found / due - 1.0).abs(), most));
    }
    Ok(outcomes)
}

pub(super) fn plane_waves(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let fitted = |radius| Operator::Fitted(Fit::of_space(radius, Criterion::Minimax, 5.0));
    let (equal, unequal) = ([10.0; 3], [10.0, 12.5, 8.0]);
    let cases = [
        (Operator::Direct { order: 8 }, equal),
        (Operator::Direct { order: 8 }, unequal),
        (Operator::Direct { order: 4 }, equal),
        (fitted(3), equal),
        (fitted(4), unequal),
        (Operator::Direct { order: 16 }, equal),
    ];
    let mut orders = Orders::new(backend, variant);
    for arithmetic in offer::telling(backend, variant) {
        for (operator, spacing) in cases {
            let problem = problem(operator, spacing, arithmetic)?;
            if !orders.take(backend, &problem)? {
                continue;
            }
            outcomes.extend(of(backend, variant, &problem)?);
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::fakes::{Fake, Fault};

    fn passes(name: &str, fake: &Fake) -> bool {
        let order8 = Operator::Direct { order: 8 };
        let problem = problem(order8, [10.0, 12.5, 8.0], name.parse().unwrap()).unwrap();
        let outcomes = of(fake, name, &problem).unwrap();
        for o in &outcomes {
            println!("{}: {:.3e} <= {:.3e}", o.quantity, o.measured, o.bound);
        }
        outcomes.iter().all(Outcome::passes)
    }

    #[test]
    fn a_wave_of_right_digits_travels_as_its_symbol_says() {
        for name in ["int8-2x1", "int16"] {
            assert!(passes(name, &Fake::new(name)), "{name}");
        }
    }

    #[test]
    fn a_wave_of_weights_without_a_refit_does_not() {
        for fault in [Fault::ScaleOfTwo, Fault::NoRefit] {
            assert!(!passes("int8-2x3", &Fake::broken("int8-2x3", fault)), "{fault:?}");
        }
    }
}
