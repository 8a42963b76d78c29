//! Where nodes lie in memory: wavefields have a halo of the stencil's radius on active axes.

use temblor_physics::{Axis, WaveProblem, boundary};

use super::real::Real;

/// A halo node and the node it mirrors with its sign, in padded positions along one axis.
type Image = (usize, Option<(usize, f64)>);

/// Index arithmetic of one problem, in elements; (x, y, z) with z fastest.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Nodes along (x, y, z).
    pub(super) shape: [usize; 3],
    /// Halo nodes on either side; zero on an inactive axis.
    pub(super) halo: [usize; 3],
    /// Distance between neighbours along (x, y, z) in a wavefield.
    pub(super) stride: [usize; 3],
    /// Elements of a wavefield, halo included.
    pub(super) len: usize,
    images: [Vec<Image>; 3],
    /// Nodes per axis where a free surface holds p at zero.
    pub(super) free: [Vec<usize>; 3],
}

impl Layout {
    pub(super) fn new(problem: &WaveProblem) -> Self {
        let shape = problem.grid.shape;
        let radius = problem.operator.radius();
        let halo = Axis::ALL.map(|axis| if problem.grid.active(axis) { radius } else { 0 });
        let padded: [usize; 3] = std::array::from_fn(|a| shape[a] + 2 * halo[a]);
        let mut images: [Vec<_>; 3] = Default::default();
        let mut free: [Vec<usize>; 3] = Default::default();
        for axis in problem.grid.active_axes() {
            let a = axis.index();
            let (min, max) = problem.ends(axis);
            let nodes = shape[a].cast_signed();
            for m in 1..=radius.cast_signed() {
                for node in [-m, nodes - 1 + m] {
                    let image = boundary::image(node, shape[a], &min, &max);
                    let position = (node + radius.cast_signed()).cast_unsigned();
                    images[a].push((position, image.map(|(n, sign)| (n + radius, sign))));
                }
            }
            // The surface's own node is zero by the same rule that makes the images.
            free[a] = [0, shape[a] - 1]
                .into_iter()
                .filter(|&n| boundary::image(n.cast_signed(), shape[a], &min, &max).is_none())
                .collect();
        }
        Self {
            shape,
            halo,
            stride: [padded[1] * padded[2], padded[2], 1],
            len: padded.iter().product(),
            images,
            free,
        }
    }

    /// Nodes of the grid.
    pub(super) fn points(&self) -> usize {
        self.shape.iter().product()
    }

    /// Position of a node in a wavefield.
    pub(super) fn padded(&self, [i, j, k]: [usize; 3]) -> usize {
        let [hx, hy, hz] = self.halo;
        (i + hx) * self.stride[0] + (j + hy) * self.stride[1] + k + hz
    }

    /// Position of a node in an array without halo.
    pub(super) fn plain(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.shape[1] + j) * self.shape[2] + k
    }

    /// Whether a free surface holds p at zero here.
    pub(super) fn on_free_surface(&self, node: [usize; 3]) -> bool {
        (0..3).any(|a| self.free[a].contains(&node[a]))
    }

    /// Fills the halo from the nodes by images; corners are never read and stay as they are.
    pub(super) fn fill_halo<T: Real>(&self, p: &mut [T]) {
        use rayon::prelude::*;
        let [sx, sy, _] = self.stride;
        let signed = |value: T, sign: f64| if sign < 0.0 { -value } else { value };
        p.par_chunks_exact_mut(sx).skip(self.halo[0]).take(self.shape[0]).for_each(|plane| {
            for &(to, image) in &self.images[1] {
                for k in 0..sy {
                    let value = image.map_or(T::default(), |(n, s)| signed(plane[n * sy + k], s));
                    plane[to * sy + k] = value;
                }
            }
            for row in plane.chunks_exact_mut(sy).skip(self.halo[1]).take(self.shape[1]) {
                for &(to, image) in &self.images[2] {
                    row[to] = image.map_or(T::default(), |(n, s)| signed(row[n], s));
                }
            }
        });
        for &(to, image) in &self.images[0] {
            match image {
                None => p[to * sx..][..sx].fill(T::default()),
                Some((n, sign)) => {
                    p.copy_within(n * sx..(n + 1) * sx, to * sx);
                    if sign < 0.0 {
                        p[to * sx..][..sx].iter_mut().for_each(|v| *v = -*v);
                    }
                }
            }
        }
    }
}
