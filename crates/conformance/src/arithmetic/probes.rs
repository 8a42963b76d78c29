//! Fields that show one axis, or one corner of a tile, and nothing else.

use ndarray::Array3;
use temblor_backend::Backend;
use temblor_physics::{Axis, Operator, WaveProblem};

use super::bounds::at_worst;
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
            let largest = peak(&kept(&wanted));
            let off = peak(&kept(&(&got - &wanted))) / largest;
            let what =
                format!("{arithmetic}, variation along {}: off its second derivative", axis.name());
            outcomes.push(Outcome::new(what, off, most(&problem, &held, largest)));
        }
    }
    Ok(outcomes)
}

/// Most that L p may err by at a node, over the largest |L p|. A step's own bound holds for p+.
fn most(problem: &WaveProblem, p: &Array3<f64>, wanted: f64) -> f64 {
    let c2dt2 = (apply::WAVE_SPEED * apply::DT).powi(2);
    // p- = 2p is the largest value of the three.
    let largest = (2.0 * peak(p)).max(c2dt2 * wanted);
    at_worst(problem, c2dt2) * largest / (c2dt2 * wanted)
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
        let (mut elsewhere, mut off, mut bound) = (Vec::new(), Vec::new(), f64::INFINITY);
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
            bound = bound.min(most(&problem, &held, peak(&wanted)));
        }
        let what = |kind: &str| format!("{arithmetic}: {kind}");
        outcomes.push(Outcome::new(what("L p beyond all taps"), peak(&elsewhere), 0.0));
        outcomes.push(Outcome::new(what("off at the worst node"), peak(&off), bound));
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}
