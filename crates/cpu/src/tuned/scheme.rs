//! What steps are made with: kernels, weights and images of a problem on an instruction set.

use temblor_physics::{Axis, WaveProblem};

use super::images::Images;
use super::kernels::{Isa, Kernels, Weights};
use super::layers::{axis_weights, to_f32};
use super::layout::Layout;

/// See the module.
#[derive(Debug)]
pub(super) struct Scheme {
    pub(super) layout: Layout,
    pub(super) kernels: Kernels,
    pub(super) weights: Weights,
    pub(super) images: Images,
}

impl Scheme {
    pub(super) fn new(problem: &WaveProblem, isa: Isa) -> Self {
        let layout = Layout::new(problem);
        let mut weights = Weights { centre: 0.0, axes: [[0.0; 8]; 3] };
        let mut centre = 0.0;
        for axis in problem.grid.active_axes() {
            let (second, _) = axis_weights(&problem.operator, problem.grid.spacing[axis.index()]);
            centre -= 2.0 * second[1..].iter().rev().map(|&w| f64::from(w)).sum::<f64>();
            weights.axes[axis.index()].copy_from_slice(&second[1..]);
        }
        weights.centre = to_f32([centre])[0];
        let kernels = Kernels::new(isa, layout.radius, problem.grid.active(Axis::Y));
        Self { kernels, weights, images: Images::new(problem, &layout), layout }
    }
}
