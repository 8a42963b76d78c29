//! The relative error of the Laplacian, not of p+, which hides a wrong one.

use temblor_backend::Backend;
use temblor_physics::{Arithmetic, Criterion, Fit, Operator, WaveProblem};

use super::bounds::{Applied, Data};
use super::exact::{inner, laplacian, peak, rms};
use super::{apply, fields, offer, storage};
use crate::orders::Orders;
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

const ORDER_8: Operator = Operator::Direct { order: 8 };
const EQUAL: [f64; 3] = [10.0; 3];
const UNEQUAL: [f64; 3] = [10.0, 12.5, 8.0];

/// Error and bound of one application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Relative root mean square error against f64.
    pub error: f64,
    /// Largest that passes.
    pub bound: f64,
    /// Largest change of a value by the upload, over what its storage may change it by.
    pub upload: f64,
}

/// Applies a plan's Laplacian to a field and compares.
fn compare(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
    data: Data,
    seed: u64,
) -> Result<Found, CheckError> {
    let shape = problem.grid.shape;
    let given = match data {
        Data::Uniform => fields::uniform(shape, seed),
        Data::Waves => fields::waves(problem, 8.0, seed),
    };
    let [held, got] = apply::laplacian(backend, variant, problem, &given)?;
    let exact = laplacian(problem, &problem.operator.second_derivative(), &held);
    // Beyond the faces there is silence, not a wave: only away from them is L p that of a wave.
    let away = if data == Data::Waves { problem.operator.radius() } else { 0 };
    let of = inner(problem, away);
    let c2dt2 = (apply::WAVE_SPEED * apply::DT).powi(2);
    let applied = Applied { problem, data, p: &held, exact: &exact, c2dt2, of: &of };
    let bound = applied.bound();
    let error = rms(&(&got - &exact), &of) / rms(&exact, &of);
    let steps = storage::of(problem.arithmetic, &given);
    let changes = (&held - &given).mapv(f64::abs) / steps;
    Ok(Found { error, bound, upload: peak(&changes) })
}

/// Compares in arithmetics that a variant has.
fn sweep(
    backend: &dyn Backend,
    variant: &str,
    cases: &[([usize; 3], [f64; 3], Operator)],
    data: &[Data],
    arithmetics: &[Arithmetic],
) -> Outcomes {
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    for (number, &(shape, spacing, operator)) in cases.iter().enumerate() {
        for &arithmetic in arithmetics {
            let problem = apply::problem(shape, spacing, operator, arithmetic)?;
            if !orders.take(backend, &problem)? {
                continue;
            }
            for &data in data {
                let seed = 40 + number as u64;
                let found = compare(backend, variant, &problem, data, seed)?;
                let what =
                    format!("{arithmetic}, {shape:?}, {spacing:?} m, {operator:?}, {data:?}");
                outcomes.push(Outcome::new(format!("{what}: L p"), found.error, found.bound));
                // Half a step and what the tile's exponent is uncertain by.
                outcomes.push(Outcome::new(format!("{what}: half steps"), found.upload, 1.001));
            }
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}

pub(super) fn uniform(backend: &dyn Backend, variant: &str) -> Outcomes {
    let all = offer::offered_by(backend, variant);
    sweep(backend, variant, &[([40, 32, 48], EQUAL, ORDER_8)], &[Data::Uniform], &all)
}

pub(super) fn waves(backend: &dyn Backend, variant: &str) -> Outcomes {
    let all = offer::offered_by(backend, variant);
    sweep(backend, variant, &[([40, 32, 48], EQUAL, ORDER_8)], &[Data::Waves], &all)
}

pub(super) fn shapes(backend: &dyn Backend, variant: &str) -> Outcomes {
    let cases = [
        ([33, 17, 65], EQUAL, ORDER_8),
        ([50, 41, 67], EQUAL, ORDER_8),
        ([33, 17, 65], UNEQUAL, ORDER_8),
    ];
    let some = offer::telling(backend, variant);
    sweep(backend, variant, &cases, &[Data::Uniform, Data::Waves], &some)
}

pub(super) fn planar(backend: &dyn Backend, variant: &str) -> Outcomes {
    let cases =
        [([61, 1, 75], EQUAL, ORDER_8), ([61, 1, 75], UNEQUAL, Operator::Direct { order: 4 })];
    let some = offer::telling(backend, variant);
    sweep(backend, variant, &cases, &[Data::Uniform, Data::Waves], &some)
}

pub(super) fn operators(backend: &dyn Backend, variant: &str) -> Outcomes {
    let fitted = |radius| Operator::Fitted(Fit::of_space(radius, Criterion::Minimax, 5.0));
    let cases: Vec<_> = [2, 4, 6, 10, 12, 14, 16]
        .map(|order| Operator::Direct { order })
        .into_iter()
        .chain([fitted(3), fitted(4), Operator::Implicit { radius: 4 }])
        .map(|operator| ([33, 19, 45], UNEQUAL, operator))
        .collect();
    let some = offer::telling(backend, variant);
    sweep(backend, variant, &cases, &[Data::Uniform, Data::Waves], &some)
}

/// Relative errors of order 8 on uniform data and on waves of 8 cells, for tables.
///
/// # Errors
/// Those of the backend.
pub fn errors(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
) -> Result<[Found; 2], CheckError> {
    let problem = apply::problem([40, 32, 48], EQUAL, ORDER_8, arithmetic)?;
    let of = |data| compare(backend, variant, &problem, data, 40);
    Ok([of(Data::Uniform)?, of(Data::Waves)?])
}
