//! Damping profiles of Minimod's layer.
//!
//! Meng, J., Atle, A., Calandra, H., Araya-Polo, M. (2020), Minimod: a finite difference solver for
//! seismic modeling, arXiv:2007.06048. With eta the sum of one profile per axis, dimensionless
//! (already times dt), and one auxiliary field phi that starts at zero, the layer's nodes do
//!
//! ```text
//! p+   = [ (2 + 2 eta - eta^2) p - p- + dt^2 c^2 (L p + phi) ] / (1 + 2 eta)
//! phi+ = [ phi - sum_i (eta(+e_i) - eta(-e_i)) (p(+e_i) - p(-e_i)) / (4 h_i^2) ] / (1 + eta)
//! ```
//!
//! with p (not p+) in the second line and the old phi in the first. Elsewhere eta = phi = 0 and the
//! first line is the plain step. eta beyond the grid equals the outermost node's.

use crate::{Axis, Boundary, WaveProblem};

/// Damping along one axis, one value per node, zero outside the layers: a quadratic ramp that
/// reaches `eta_peak` at the outermost node.
#[must_use]
pub fn profile(problem: &WaveProblem, axis: Axis) -> Option<Vec<f64>> {
    let (at_min, at_max) = problem.ends(axis);
    let nodes = problem.grid.shape[axis.index()];
    let mut eta = None;
    for (boundary, min) in [(at_min, true), (at_max, false)] {
        if let Boundary::Minimod(layer) = boundary {
            let eta = eta.get_or_insert_with(|| vec![0.0; nodes]);
            for depth in 1..=layer.cells {
                let node =
                    if min { layer.cells - depth } else { nodes - 1 - (layer.cells - depth) };
                eta[node] = layer.eta_peak * (depth as f64 / layer.cells as f64).powi(2);
            }
        }
    }
    eta
}

/// Whether a node lies in the layer of any axis: where phi lives.
#[must_use]
pub fn in_layer(problem: &WaveProblem, node: [usize; 3]) -> bool {
    problem.grid.active_axes().any(|axis| {
        let (at_min, at_max) = problem.ends(axis);
        let layer = |b| if let Boundary::Minimod(layer) = b { layer.cells } else { 0 };
        let (i, nodes) = (node[axis.index()], problem.grid.shape[axis.index()]);
        i < layer(at_min) || i >= nodes - layer(at_max)
    })
}
