//! Sampling a model on a grid, slab by slab, with Gaussian smoothing if wanted.

use ndarray::{Array3, Axis};
use rayon::prelude::*;

use super::Earth;

/// Widths of the Gaussian after which it is cut: the rest is 0.3 % of its integral.
const CUT: f64 = 3.0;

/// Samples a model on a grid.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// The model.
    pub earth: Earth,
    /// Nodes along (x, y, z).
    pub shape: [usize; 3],
    /// Distance of nodes, m.
    pub spacing: [f64; 3],
    /// Standard deviation of the smoothing, m; 0 for none.
    pub smoothing: f64,
}

impl Sampler {
    /// Planes `start..start + count` along x, shape (count, ny, nz), m/s.
    pub fn planes(&self, start: usize, count: usize) -> Array3<f32> {
        let kernels = [0, 1, 2].map(|a| self.kernel(a));
        let margin = [0, 1, 2].map(|a| kernels[a].len() / 2);
        let [_, ny, nz] = self.shape;
        let size = [count + 2 * margin[0], ny + 2 * margin[1], nz + 2 * margin[2]];
        let position = |(i, j, k): (usize, usize, usize)| {
            let node = [start + i, j, k];
            std::array::from_fn(|a| (node[a] as f64 - margin[a] as f64) * self.spacing[a])
        };
        let mut values = Array3::zeros(size);
        // A new array lies in a row; the planes are cut from it, as ndarray has no parallel loop here.
        let row = values.as_slice_mut().unwrap_or_default();
        row.par_chunks_mut(size[1] * size[2]).enumerate().for_each(|(i, plane)| {
            for (n, value) in plane.iter_mut().enumerate() {
                let mut position: [f64; 3] = position((i, n / size[2], n % size[2]));
                // The surface layer goes on above the surface, so that smoothing does not lower it.
                position[2] = position[2].max(0.0);
                *value = self.earth.speed(position);
            }
        });
        for a in 0..3 {
            values = convolve(&values, a, &kernels[a]);
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is wanted")]
        let rounded = values.mapv(|v| v as f32);
        rounded
    }

    /// Weights that sum to one; a single one for axes that are not smoothed.
    fn kernel(&self, axis: usize) -> Vec<f64> {
        let width = self.smoothing / self.spacing[axis];
        if width <= 0.0 || self.shape[axis] == 1 {
            return vec![1.0];
        }
        #[expect(clippy::cast_possible_truncation, reason = "some hundred nodes at most")]
        let reach = (CUT * width).ceil() as i32;
        let raw: Vec<f64> =
            (-reach..=reach).map(|n| (-0.5 * (f64::from(n) / width).powi(2)).exp()).collect();
        let sum: f64 = raw.iter().sum();
        raw.into_iter().map(|w| w / sum).collect()
    }
}

/// Weighted sum along an axis; the result is shorter by the margin at both ends.
fn convolve(values: &Array3<f64>, axis: usize, kernel: &[f64]) -> Array3<f64> {
    if let [_] = kernel {
        return values.clone();
    }
    let length = values.len_of(Axis(axis)) + 1 - kernel.len();
    let part = |n: usize| values.slice_axis(Axis(axis), ndarray::Slice::from(n..n + length));
    let mut sum = part(0).mapv(|v| v * kernel[0]);
    for (n, &weight) in kernel.iter().enumerate().skip(1) {
        sum.scaled_add(weight, &part(n));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gradient, Layers};
    use ndarray::s;

    fn sampler(earth: Earth, smoothing: f64) -> Sampler {
        Sampler { earth, shape: [7, 3, 40], spacing: [10.0, 20.0, 5.0], smoothing }
    }

    #[test]
    fn slabs_are_parts_of_the_whole() {
        let layers = Layers { speeds: vec![1500.0, 2500.0], depths: vec![100.0] };
        for smoothing in [0.0, 25.0] {
            let sampler = sampler(Earth::Layers(layers.clone()), smoothing);
            let whole = sampler.planes(0, 7);
            assert_eq!(whole.dim(), (7, 3, 40));
            assert_eq!(sampler.planes(2, 3), whole.slice(s![2..5, .., ..]));
        }
    }

    #[test]
    fn smoothing_keeps_a_linear_model() {
        // A symmetric kernel with unit sum leaves straight lines alone, away from the surface.
        let gradient = Gradient { top: 1500.0, gradient: 2.0, most: f64::INFINITY };
        let planes = sampler(Earth::Gradient(gradient), 15.0).planes(0, 7);
        for k in 9..40 {
            let exact = 1500.0 + 2.0 * 5.0 * k as f32;
            assert!((planes[[3, 1, k]] - exact).abs() < 1e-3, "{k}: {}", planes[[3, 1, k]]);
        }
    }

    #[test]
    fn smoothed_step_is_the_error_function() {
        // Midway and one width beyond the interface: 1/2 and 0.8413 of the step, to the accuracy of
        // sums over nodes a fifth of a width apart and of the cut at three widths.
        let layers = Layers { speeds: vec![1000.0, 2000.0], depths: vec![97.5] };
        let mut sampler = sampler(Earth::Layers(layers), 25.0);
        sampler.shape[2] = 60;
        let planes = sampler.planes(3, 1);
        let middle = 0.5 * (planes[[0, 1, 19]] + planes[[0, 1, 20]]);
        assert!((middle - 1500.0).abs() < 1e-2, "{middle}");
        // Node 25 lies at 125 m, 1.1 widths below: Phi(1.1) = 0.86433.
        assert!((planes[[0, 1, 25]] - 1864.33).abs() < 3.0, "{}", planes[[0, 1, 25]]);
    }
}
