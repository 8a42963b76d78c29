//! The Laplacian of nodes in C-PML layers, in FP32.
//!
//! A C-PML adds terms with the operator's own weights to what it damps, and stretches long waves so much
//! that little holds them. Where the Laplacian is one of digits, weights of one digit disagree with those
//! terms and the field grows without bound, and the noise of three digits, which is relative to a tile's
//! largest value, leaves 6e-4 of the largest pressure where FP32 leaves 1e-9 (4000 steps). With FP32 in the
//! layers alone both are gone.

use temblor_physics::{Axis, Boundary, WaveProblem};

use super::super::layout::Layout;

/// See the module.
#[derive(Debug)]
pub(super) struct Outer {
    /// Nodes outside all layers, from and up to, by axis.
    inner: [[usize; 2]; 3],
    /// Weights over the spacing squared, 1/m^2, centre first; none on inactive axes.
    weights: [Vec<f32>; 3],
}

impl Outer {
    /// None without a C-PML.
    pub(super) fn new(problem: &WaveProblem) -> Option<Self> {
        let cells = |end| if let Boundary::Cpml(layer) = end { layer.cells } else { 0 };
        let inner = Axis::ALL.map(|axis| {
            let (min, max) = problem.ends(axis);
            let nodes = problem.grid.shape[axis.index()];
            [cells(min), nodes.saturating_sub(cells(max))]
        });
        let weights = problem.operator.second_derivative();
        let scaled = |axis: Axis| {
            let over_h2 = problem.grid.spacing[axis.index()].powi(-2);
            #[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
            let mut scaled: Vec<f32> = weights.iter().map(|w| (w * over_h2) as f32).collect();
            // Constants vanish as nearly as FP32 can say.
            let arms: f64 = scaled[1..].iter().map(|w| f64::from(*w)).sum();
            #[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
            let centre = (-2.0 * arms) as f32;
            scaled[0] = centre;
            scaled
        };
        let weights =
            Axis::ALL.map(|axis| if problem.grid.active(axis) { scaled(axis) } else { Vec::new() });
        let all = Axis::ALL.map(|axis| [0, problem.grid.shape[axis.index()]]);
        (inner != all).then_some(Self { inner, weights })
    }

    /// Puts the Laplacian of the nodes of row (i, j) that lie in layers in place of what is there.
    pub(super) fn row(&self, p: &[f32], layout: &Layout, [i, j]: [usize; 2], to: &mut [f32]) {
        let within =
            |axis: usize, n: usize| (self.inner[axis][0]..self.inner[axis][1]).contains(&n);
        let at = layout.at(i.cast_signed(), j.cast_signed());
        let nz = to.len();
        if !within(0, i) || !within(1, j) {
            return self.stretch(p, layout, at, to);
        }
        let [low, high] = self.inner[2].map(|n| n.min(nz));
        let high = high.max(low);
        self.stretch(p, layout, at, &mut to[..low]);
        self.stretch(p, layout, at + high, &mut to[high..]);
    }

    /// Neighbouring nodes from `at` on; operations in one order on every instruction set.
    fn stretch(&self, p: &[f32], layout: &Layout, at: usize, to: &mut [f32]) {
        to.fill(0.0);
        for (weights, stride) in self.weights.iter().zip([layout.plane, layout.pitch, 1]) {
            for (r, &weight) in weights.iter().enumerate() {
                let before = &p[at - r * stride..][..to.len()];
                let after = &p[at + r * stride..][..to.len()];
                if r == 0 {
                    to.iter_mut().zip(after).for_each(|(sum, p)| *sum += weight * p);
                } else {
                    let pairs = before.iter().zip(after);
                    to.iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum += weight * (a + b));
                }
            }
        }
    }
}
