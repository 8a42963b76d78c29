//! The least that a step must move through main memory, layers included.
//!
//! A node of the interior reads p, p- and c^2 dt^2 and writes p+: four values. In Minimod's layer phi
//! is read and written on top; in the C-PML two memory variables per axis that is damped there.
//! Damping profiles depend on one coordinate and count as nothing, nor does a halo that is read
//! twice. A method of one step per pass cannot do with less; one that fuses steps can.
//!
//! Operations are those of the recursions as written in [`crate::cpml`] and [`crate::minimod`], for
//! whose terms each is done once; a fused multiply-add counts as two.

use crate::{Arithmetic, Axis, BoundaryKind, WaveProblem};

/// Nodes of a region and the traffic of a step in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegionWork {
    /// Nodes.
    pub points: u64,
    /// Least traffic of a step, bytes.
    pub bytes: u64,
}

/// Nodes and least traffic of a step, outside and inside the absorbing layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepWork {
    /// Outside the layers.
    pub interior: RegionWork,
    /// Inside.
    pub layers: RegionWork,
    /// Operations of a step that layers add to the plain step.
    pub layer_flops: u64,
}

impl StepWork {
    /// Of a problem.
    #[must_use]
    pub fn of(problem: &WaveProblem) -> Self {
        // Memory variables of layers stay FP32 whatever p is stored in.
        let value = if problem.arithmetic == Arithmetic::F64 { 8 } else { 4 };
        let plain = problem.arithmetic.bytes_per_point();
        let shape = problem.grid.shape.map(|n| n as u64);
        let damped = Axis::ALL.map(|axis| {
            let (low, high) = problem.ends(axis);
            (low.cells() + high.cells()) as u64
        });
        let cpml = problem.boundaries.0.iter().any(|b| BoundaryKind::from(b) == BoundaryKind::Cpml);
        let (radius, axes) = (problem.operator.radius() as u64, problem.grid.dimensions() as u64);
        // Per damped axis: two first derivatives of 3 R - 1; t = (1 + b) p_xx + b_x p_x + q_x, 4;
        // (1 + b) t + r, 2; q and r, each a (old + b new), 3.
        let cpml_flops = 2 * (3 * radius - 1) + 4 + 2 + 2 * 3;
        // The pull of eta, 3 D - 1; eta of three axes and 1 + eta, 3; phi, 2, and its addition, 1;
        // (2 eta - eta^2) p added to p+, 4; divided by 1 + 2 eta, 3.
        let minimod_flops = 3 * axes + 12;
        let mut work = Self::default();
        // Every choice of axes along which a node lies in a layer.
        for choice in 0..8_u32 {
            let inside = |axis: usize| choice >> axis & 1 == 1;
            let points: u64 =
                (0..3).map(|a| if inside(a) { damped[a] } else { shape[a] - damped[a] }).product();
            let axes = u64::from(choice.count_ones());
            let more = if cpml { 4 * axes } else { 2 * axes.min(1) };
            let flops = if cpml { axes * cpml_flops } else { axes.min(1) * minimod_flops };
            let region = if axes > 0 { &mut work.layers } else { &mut work.interior };
            region.points += points;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small whole"
            )]
            let plain = plain as u64;
            region.bytes += points * (plain + more * value);
            work.layer_flops += points * flops;
        }
        work
    }

    /// Inside and outside, bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.interior.bytes + self.layers.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundaries, Boundary, Cpml, Grid, Minimod};

    fn work(shape: [usize; 3], boundary: Boundary) -> StepWork {
        let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
        let boundaries = Boundaries::uniform(boundary);
        StepWork::of(&WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build().unwrap())
    }

    #[test]
    fn minimods_shell_of_27_around_746_holds_19_percent_of_800_cubed() {
        // As the stencil paper counts, whose layer is 27 nodes on all six faces: 800 - 54 = 746.
        let all = work([800; 3], Boundary::Minimod(Minimod { cells: 27, eta_peak: 0.1 }));
        assert_eq!(all.interior.points, 746_u64.pow(3));
        assert_eq!(all.layers.points, 800_u64.pow(3) - 746_u64.pow(3));
        assert_eq!(all.interior.bytes, 16 * all.interior.points);
        assert_eq!(all.layers.bytes, 24 * all.layers.points);
        assert_eq!(all.layer_flops, 21 * all.layers.points);
    }

    #[test]
    fn edges_and_corners_of_a_cpml_hold_more() {
        let layer = Boundary::Cpml(Cpml { cells: 2, r0: 1e-3, peak_hz: 10.0, vmax: 2000.0 });
        let all = work([10, 12, 14], layer);
        // Faces 4 x (8 x 10, 6 x 10, 6 x 8), edges 16 x (10, 8, 6), corners 64.
        let (faces, edges, corners) = (4 * (80 + 60 + 48), 16 * (10 + 8 + 6), 64);
        assert_eq!(all.layers.points, faces + edges + corners);
        assert_eq!(all.layers.bytes, 32 * faces + 48 * edges + 64 * corners);
        // Order 8: 34 per damped axis.
        assert_eq!(all.layer_flops, 34 * (faces + 2 * edges + 3 * corners));
        assert_eq!(all.bytes(), 16 * 6 * 8 * 10 + all.layers.bytes);
    }

    #[test]
    fn without_layers_a_step_moves_four_values_per_node() {
        let all = work([5, 1, 7], Boundary::Free);
        assert_eq!((all.interior.points, all.bytes(), all.layer_flops), (35, 16 * 35, 0));
    }
}
