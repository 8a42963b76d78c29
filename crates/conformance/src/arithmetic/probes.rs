//! Fields that show one axis, or one corner of a tile, and nothing else.

use ndarray::Array3;
use temblor_backend::Backend;
use temblor_physics::{Arithmetic, Axis, Operator, WaveProblem};

use super::exact::{inner, laplacian, peak, second_derivative};
use super::{apply, offer};
use crate::orders::Orders;
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

/// A field that varies along one axis alone; no period divides a tile.
fn along(problem: &WaveProblem, axis: Axis) -> Array3<f64> {
    Array3::from_shape_fn(problem.grid.shape, |(i, j, k)| {
        let n = [i, j, k][axis.index()] as f64;
        0.6 * (1.1 * n).sin() + 0.3 * (0.37 * n + 1.0).cos()
    })
}

/// Largest error away from the faces, over the largest second derivative. A derivative along another
/// axis, or one at another node, leaves an error of its own size.
pub(super) fn axes(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut outcomes = Vec::new();
    let operator = Operator::Direct { order: 8 };
    for arithmetic in offer::offered_by(backend, variant) {
        let problem = apply::problem([27, 25, 45], [10.0, 12.5, 8.0], operator, arithmetic)?;
        let weights = operator.second_derivative();
        for axis in Axis::ALL {
            let given = along(&problem, axis);
            let [held, got] = apply::laplacian(backend, variant, &problem, &given)?;
            let h = problem.grid.spacing[axis.index()];
            let wanted = second_derivative(&held, &weights, axis, h);
            let of = inner(&problem, operator.radius());
            let kept = |field: &Array3<f64>| -> Vec<f64> {
                field.indexed_iter().filter(|(n, _)| of(*n)).map(|(_, v)| *v).collect()
            };
            let off = peak(&kept(&(&got - &wanted))) / peak(&kept(&wanted));
            let what =
                format!("{arithmetic}, variation along {}: off its second derivative", axis.name());
            outcomes.push(Outcome::new(what, off, crude(arithmetic)));
        }
    }
    Ok(outcomes)
}

/// Where it is enough to tell right from wrong: what the coarsest digits or storage err by at a
/// node, over the largest second derivative. 8 bits of one digit, over three axes and 9 weights whose
/// magnitudes sum to 6.5 against a second derivative of 1.0 in the same unit: 6.5 2^-7 and as much again
/// for the operator. Others by their bits.
fn crude(arithmetic: Arithmetic) -> f64 {
    match arithmetic {
        Arithmetic::Digits(d) if d.operator.min(d.wavefield) == 1 || d.trim > 1 => 0.3,
        Arithmetic::Digits(d) if d.wavefield == 2 || d.trim > 0 => 3e-3,
        Arithmetic::Stored(_) => 3e-2,
        _ => 1e-4,
    }
}

/// A few nodes at one corner; the rest of the grid is at rest, but for the taps that reach it.
pub(super) fn blobs(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    let operator = Operator::Direct { order: 8 };
    let shape = [41, 43, 75];
    // Corners of the grid, and of tiles of 8, 16 and 32 nodes inside it.
    let corners = [
        [0, 0, 0],
        [40, 42, 74],
        [0, 42, 31],
        [16, 16, 32],
        [15, 8, 63],
        [32, 32, 64],
        [31, 7, 33],
    ];
    for arithmetic in offer::offered_by(backend, variant) {
        let problem = apply::problem(shape, [10.0; 3], operator, arithmetic)?;
        if !orders.take(backend, &problem)? {
            continue;
        }
        let (mut elsewhere, mut off) = (Vec::new(), Vec::new());
        for (number, corner) in corners.into_iter().enumerate() {
            let mut given = Array3::zeros(shape);
            for (n, value) in [0.75, -0.5, 0.25].into_iter().enumerate() {
                let mut at = corner;
                let axis = (number + n) % 3;
                at[axis] = if at[axis] + n < shape[axis] { at[axis] + n } else { at[axis] - n };
                given[at] = value;
            }
            let [held, got] = apply::laplacian(backend, variant, &problem, &given)?;
            let wanted = laplacian(&problem, &operator.second_derivative(), &held);
            let silent = got.iter().zip(&wanted).filter(|(_, w)| **w == 0.0);
            elsewhere.extend(silent.map(|(g, _)| *g));
            off.push(peak(&(&got - &wanted)) / peak(&wanted));
        }
        let what = |kind: &str| format!("{arithmetic}: {kind}");
        outcomes.push(Outcome::new(what("L p beyond all taps"), peak(&elsewhere), 0.0));
        outcomes.push(Outcome::new(what("off at the worst node"), peak(&off), crude(arithmetic)));
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}
