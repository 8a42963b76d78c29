//! Second derivatives by plain loops in double precision, zero beyond all faces, and norms.

use ndarray::{Array3, Axis as Dimension, Slice};
use temblor_physics::{Axis, WaveProblem};

/// Second derivative along one axis with weights for unit spacing, centre first, over `h^2`.
pub(super) fn second_derivative(
    p: &Array3<f64>,
    weights: &[f64],
    axis: Axis,
    h: f64,
) -> Array3<f64> {
    let dimension = Dimension(axis.index());
    let nodes = p.len_of(dimension);
    let mut out = p * (weights[0] / (h * h));
    for (r, weight) in weights.iter().enumerate().skip(1).take_while(|(r, _)| *r < nodes) {
        let weight = weight / (h * h);
        let (low, high) = (Slice::from(..nodes - r), Slice::from(r..));
        out.slice_axis_mut(dimension, high).scaled_add(weight, &p.slice_axis(dimension, low));
        out.slice_axis_mut(dimension, low).scaled_add(weight, &p.slice_axis(dimension, high));
    }
    out
}

/// L p, in 1/m^2 of p, with weights for unit spacing.
pub(super) fn laplacian(problem: &WaveProblem, weights: &[f64], p: &Array3<f64>) -> Array3<f64> {
    let mut sum = Array3::zeros(p.raw_dim());
    for axis in problem.grid.active_axes() {
        let h = problem.grid.spacing[axis.index()];
        sum += &second_derivative(p, weights, axis, h);
    }
    sum
}

/// Nodes at least `away` from every face of an active axis.
pub(super) fn inner(problem: &WaveProblem, away: usize) -> impl Fn((usize, usize, usize)) -> bool {
    let (shape, active) = (problem.grid.shape, Axis::ALL.map(|axis| problem.grid.active(axis)));
    move |(i, j, k)| {
        let node = [i, j, k];
        (0..3).all(|a| !active[a] || (node[a] >= away && node[a] + away < shape[a]))
    }
}

/// Root of the mean square over the nodes that `of` keeps; NaN if it keeps none.
pub(super) fn rms(values: &Array3<f64>, of: impl Fn((usize, usize, usize)) -> bool) -> f64 {
    let kept = values.indexed_iter().filter(|(node, _)| of(*node));
    let (sum, count) = kept.fold((0.0, 0.0), |(sum, count), (_, v)| (sum + v * v, count + 1.0));
    (sum / count).sqrt()
}

/// Largest magnitude; NaN where there is one.
pub(super) fn peak<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |m, v| if m >= v.abs() || f64::is_nan(m) { m } else { v.abs() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use temblor_physics::Grid;

    fn problem(shape: [usize; 3]) -> WaveProblem {
        let grid = Grid::new(shape, [10.0, 12.5, 8.0], [0.0; 3]).unwrap();
        WaveProblem::builder(grid, 1e-3).build().unwrap()
    }

    #[test]
    fn a_square_has_the_second_derivative_two_away_from_the_faces() {
        let problem = problem([13, 12, 14]);
        let weights = problem.operator.second_derivative();
        let square = Array3::from_shape_fn([13, 12, 14], |(_, j, _)| (12.5 * j as f64).powi(2));
        let l = laplacian(&problem, &weights, &square);
        let off = &l - 2.0;
        assert!(rms(&off, inner(&problem, 4)) < 1e-10);
        // Nodes within a radius of a face see zeros beyond it.
        assert!(rms(&off, |_| true) > 1.0);
    }

    #[test]
    fn an_axis_shorter_than_the_stencil_has_the_taps_that_fit() {
        let p = Array3::ones([1, 2, 1]);
        let l = second_derivative(&p, &[-2.5, 1.3, -0.1], Axis::Y, 1.0);
        assert!(l.iter().all(|v| (v + 1.2).abs() < 1e-12));
    }

    #[test]
    fn a_nan_is_a_peak() {
        assert!(peak(&[1.0, f64::NAN, 2.0]).is_nan());
    }
}
