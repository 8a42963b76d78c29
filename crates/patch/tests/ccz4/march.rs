//! Marching on small grids by the lowered kernel's graph, voxel by voxel: no patches and no halo, only
//! a rule for where a shifted load comes from.

use std::sync::Arc;

use temblor_patch::graph::{
    Binary, Coordinate, Function, Leaf, Node, Value, apply_binary, apply_unary,
};
use temblor_patch::lower::{Request, lower};
use temblor_patch::{Kernel, Physics, Scheme, Term};

use crate::agreement::run;
use crate::transcription::State;

/// Kutta's 3/8 rule: weights of the earlier slopes per stage, then those of the step.
const STAGES: [&[f64]; 4] = [&[], &[1.0 / 3.0], &[-1.0 / 3.0, 1.0], &[1.0, -1.0, 1.0]];
const STEP: [f64; 4] = [1.0 / 8.0, 3.0 / 8.0, 3.0 / 8.0, 1.0 / 8.0];

/// Voxels computed together: reading a node costs more than computing it.
const LANES: usize = 8;

/// A scheme for CCZ4 with some constants.
pub(crate) struct March {
    kernel: Kernel,
    needed: Vec<bool>,
    outputs: Vec<Value>,
    parameters: Vec<f64>,
    values: Vec<[f64; LANES]>,
    post: Function,
}

impl March {
    /// `constants` name parameters of the physics or of the scheme.
    pub(crate) fn new(scheme: &str, dimensions: u8, constants: &[(&str, f64)]) -> Self {
        let physics = Arc::new(Physics::shipped("ccz4").unwrap());
        let given = |name: &str| constants.iter().find(|(known, _)| *known == name);
        #[allow(clippy::cast_possible_truncation, reason = "small whole numbers")]
        let integers: Vec<(String, i64)> = physics
            .parameters
            .iter()
            .filter(|parameter| parameter.integer)
            .filter_map(|parameter| {
                given(&parameter.name).map(|&(name, value)| (name.to_owned(), value as i64))
            })
            .collect();
        let request = Request::new(dimensions, 2).with_integers(integers.clone());
        let kernel = lower(&Scheme::shipped(scheme).unwrap(), &physics, &request).unwrap();
        assert_eq!(kernel.stages.len(), 1, "{} is fused", kernel.name);
        let parameters = kernel
            .parameters
            .iter()
            .map(|parameter| given(&parameter.name).map_or(parameter.default, |&(_, value)| value))
            .collect();
        let outputs = kernel.stages[0].outputs();
        let needed = kernel.graph.reachable(&outputs);
        let post = physics.trace(Term::Post, 0, &integers).unwrap();
        Self { kernel, needed, outputs, parameters, values: Vec::new(), post }
    }

    /// The kernel on every voxel of `state`, `from` giving the voxel that a shift leads to; with the
    /// largest speed where the scheme computes one.
    pub(crate) fn apply(
        &mut self,
        state: &[State],
        from: &impl Fn(usize, [i8; 3]) -> usize,
        dx: f64,
        dt: f64,
    ) -> (Vec<State>, f64) {
        assert_eq!(state.len() % LANES, 0, "lanes are full");
        let mut fastest = 0.0f64;
        let mut results = Vec::with_capacity(state.len());
        for first in (0..state.len()).step_by(LANES) {
            self.evaluate(state, first, from, dx, dt);
            for lane in 0..LANES {
                let at = |value: &Value| self.values[value.index()][lane];
                if self.outputs.len() > 59 {
                    fastest = fastest.max(at(&self.outputs[59]));
                }
                results.push(std::array::from_fn(|u| at(&self.outputs[u])));
            }
        }
        (results, fastest)
    }

    /// All values of the graph for the voxels from `first` on, node by node.
    fn evaluate(
        &mut self,
        state: &[State],
        first: usize,
        from: &impl Fn(usize, [i8; 3]) -> usize,
        dx: f64,
        dt: f64,
    ) {
        self.values.resize(self.kernel.graph.nodes().len(), [0.0; LANES]);
        for (place, node) in self.kernel.graph.nodes().iter().enumerate() {
            if !self.needed[place] {
                continue;
            }
            let at = |value: Value| self.values[value.index()];
            let pairs = |a: Value, b: Value, f: fn(f64, f64) -> f64| {
                let (a, b) = (at(a), at(b));
                std::array::from_fn(|lane| f(a[lane], b[lane]))
            };
            self.values[place] = match *node {
                Node::Constant(bits) => [f64::from_bits(bits); LANES],
                Node::Leaf(Leaf::Parameter(place)) => [self.parameters[usize::from(place)]; LANES],
                Node::Leaf(Leaf::Load { unknown, at, .. }) => {
                    let shift = at.map(|along| match along {
                        Coordinate::Shift(shift) => shift,
                        Coordinate::At(index) => panic!("a load at index {index}"),
                    });
                    std::array::from_fn(|lane| {
                        state[from(first + lane, shift)][usize::from(unknown)]
                    })
                }
                Node::Leaf(Leaf::Spacing(_)) => [dx; LANES],
                Node::Leaf(Leaf::TimeStep) => [dt; LANES],
                Node::Unary(function, a) => at(a).map(|a| apply_unary(function, a)),
                Node::Binary(Binary::Add, a, b) => pairs(a, b, |a, b| a + b),
                Node::Binary(Binary::Subtract, a, b) => pairs(a, b, |a, b| a - b),
                Node::Binary(Binary::Multiply, a, b) => pairs(a, b, |a, b| a * b),
                Node::Binary(function, a, b) => {
                    let (a, b) = (at(a), at(b));
                    std::array::from_fn(|lane| apply_binary(function, a[lane], b[lane]))
                }
                ref other => panic!("the kernel holds {other:?}"),
            };
        }
    }

    /// One step by Kutta's 3/8 rule (`stages` 4) or Euler's (1), constraints enforced at its end.
    pub(crate) fn step(
        &mut self,
        state: &mut [State],
        from: &impl Fn(usize, [i8; 3]) -> usize,
        dx: f64,
        dt: f64,
        stages: usize,
    ) {
        let mut slopes: Vec<Vec<State>> = Vec::new();
        let combined = |state: &[State], slopes: &[Vec<State>], weights: &[f64]| -> Vec<State> {
            let mut sum = state.to_vec();
            for (slope, weight) in slopes.iter().zip(weights) {
                for (voxel, rate) in sum.iter_mut().zip(slope) {
                    voxel.iter_mut().zip(rate).for_each(|(q, r)| *q += dt * weight * r);
                }
            }
            sum
        };
        for weights in &STAGES[..stages] {
            let stage = combined(state, &slopes, weights);
            slopes.push(self.apply(&stage, from, dx, dt).0);
        }
        let weights: &[f64] = if stages == 1 { &[1.0] } else { &STEP };
        let after = combined(state, &slopes, weights);
        for (voxel, after) in state.iter_mut().zip(after) {
            let mut given = after.to_vec();
            given.resize(59 + 8, 0.0);
            *voxel = run(&self.post, &given, &self.parameters).try_into().unwrap();
        }
    }
}

/// A periodic line along x, uniform along y and z.
pub(crate) fn along_x(voxels: usize) -> impl Fn(usize, [i8; 3]) -> usize {
    move |voxel, shift| wrapped(voxel, isize::from(shift[0]), voxels)
}

/// A periodic square whose state depends on x - y alone: its voxel (i, j) is voxel i - j of the line.
pub(crate) fn along_diagonal(voxels: usize) -> impl Fn(usize, [i8; 3]) -> usize {
    move |voxel, shift| wrapped(voxel, isize::from(shift[0]) - isize::from(shift[1]), voxels)
}

/// Shifts are shorter than the line; a division per load would cost more than the arithmetic.
fn wrapped(voxel: usize, shift: isize, voxels: usize) -> usize {
    let there = (voxel + voxels).wrapping_add_signed(shift);
    if there >= 2 * voxels {
        there - 2 * voxels
    } else if there >= voxels {
        there - voxels
    } else {
        there
    }
}
