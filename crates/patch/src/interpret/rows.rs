//! A stage's part of the graph, computed for a row of voxels along x at a time.
//!
//! Node by node over the row: every value is computed as [`Graph::evaluate`] does, and the cost of
//! finding out what a node is is paid once per row.

use crate::cell::Cell;
use crate::graph::{
    Binary, BlockId, Coordinate, Graph, Leaf, Node, Value, apply_binary, apply_unary, compare,
};
use crate::kernel::{Call, INPUT, Kernel, OUTPUT, Stage};

/// A stage with the part of the graph that it needs.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) stage: Stage,
    graph: Graph,
    /// Values written, or the arguments of the call; then the maximum.
    outputs: Vec<Value>,
    /// Voxels of a row.
    pub(super) len: usize,
}

/// What a chunk holds while it is in work.
pub(super) struct Memory<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) parameters: &'a [f64],
    pub(super) cell: &'a Cell,
    pub(super) input: &'a [f64],
    pub(super) output: &'a [f64],
    pub(super) temporaries: &'a [Vec<f64>],
}

impl Program {
    pub(super) fn new(kernel: &Kernel, stage: &Stage) -> Self {
        let wanted = match &stage.call {
            Some(Call { arguments, .. }) => {
                arguments.iter().copied().chain(stage.maximum).collect()
            }
            None => stage.outputs(),
        };
        let mut graph = Graph::new();
        let outputs = graph.graft(&kernel.graph, &wanted, Graph::leaf);
        let len = usize::try_from(stage.high[0] - stage.low[0]).unwrap_or(0);
        Self { stage: stage.clone(), graph, outputs, len }
    }

    /// Values of the outputs at a place of the row.
    pub(super) fn results(&self, values: &[f64], lane: usize) -> Vec<f64> {
        self.outputs.iter().map(|value| values[value.index() * self.len + lane]).collect()
    }

    /// Computes all nodes for the row at (y, z).
    pub(super) fn row(&self, memory: &Memory<'_>, row: [i16; 2], values: &mut Vec<f64>) {
        let len = self.len;
        values.resize(self.graph.nodes().len() * len, 0.0);
        for (place, node) in self.graph.nodes().iter().enumerate() {
            let (before, rest) = values.split_at_mut(place * len);
            let result = &mut rest[..len];
            let at = |value: Value| &before[value.index() * len..][..len];
            match *node {
                Node::Constant(bits) => result.fill(f64::from_bits(bits)),
                Node::Leaf(leaf) => self.leaf(memory, row, leaf, result),
                Node::Unary(function, a) => {
                    for (result, a) in result.iter_mut().zip(at(a)) {
                        *result = apply_unary(function, *a);
                    }
                }
                Node::Binary(function, a, b) => {
                    let (a, b) = (at(a), at(b));
                    // The common ones as loops of their own, which become vector instructions.
                    match function {
                        Binary::Add => zip(result, a, b, |a, b| a + b),
                        Binary::Subtract => zip(result, a, b, |a, b| a - b),
                        Binary::Multiply => zip(result, a, b, |a, b| a * b),
                        Binary::Divide => zip(result, a, b, |a, b| a / b),
                        other => zip(result, a, b, |a, b| apply_binary(other, a, b)),
                    }
                }
                Node::Logic(logic, a, b) => {
                    zip(result, at(a), at(b), |a, b| f64::from(u8::from(compare(logic, a, b))));
                }
                Node::Not(a) => {
                    for (result, a) in result.iter_mut().zip(at(a)) {
                        *result = f64::from(u8::from(*a == 0.0));
                    }
                }
                Node::Select(condition, a, b) => {
                    let (condition, a, b) = (at(condition), at(a), at(b));
                    for lane in 0..len {
                        result[lane] = if condition[lane] == 0.0 { b[lane] } else { a[lane] };
                    }
                }
            }
        }
    }

    fn leaf(&self, memory: &Memory<'_>, [y, z]: [i16; 2], leaf: Leaf, result: &mut [f64]) {
        let kernel = memory.kernel;
        let first = self.stage.low[0];
        let lanes = (first..).zip(result.iter_mut());
        match leaf {
            Leaf::Argument(_) => result.fill(f64::NAN),
            Leaf::Parameter(place) => result.fill(memory.parameters[usize::from(place)]),
            Leaf::Load { block, unknown, at } => {
                let mut from = [first, y, z];
                for axis in 0..3 {
                    match at[axis] {
                        Coordinate::Shift(shift) => from[axis] += i16::from(shift),
                        Coordinate::At(index) => from[axis] = index,
                    }
                }
                let layout = &kernel.blocks[usize::from(block.0)];
                let start = layout.offset(from) + usize::from(unknown);
                let fixed = matches!(at[0], Coordinate::At(_));
                let stride = if fixed { 0 } else { usize::from(layout.width) };
                let data = match block {
                    INPUT => memory.input,
                    OUTPUT => memory.output,
                    BlockId(other) => &memory.temporaries[usize::from(other)],
                };
                for (lane, result) in result.iter_mut().enumerate() {
                    *result = data[start + lane * stride];
                }
            }
            Leaf::Coefficient { matrix, axis, column } => {
                let matrix = &kernel.matrices[usize::from(matrix)];
                for (x, result) in lanes {
                    let row = usize::try_from([x, y, z][usize::from(axis)]).unwrap_or(usize::MAX);
                    *result = matrix.entries[row * matrix.columns + usize::from(column)];
                }
            }
            Leaf::Spacing(axis) => {
                result.fill(memory.cell.spacing(&kernel.shape, usize::from(axis)));
            }
            Leaf::Position { axis, halves } => {
                let axis = usize::from(axis);
                for (x, result) in lanes {
                    let voxel = [x, y, z][axis];
                    *result = memory.cell.position(&kernel.shape, axis, voxel, halves);
                }
            }
            Leaf::Time => result.fill(memory.cell.time),
            Leaf::TimeStep => result.fill(memory.cell.time_step),
        }
    }
}

fn zip(result: &mut [f64], a: &[f64], b: &[f64], function: impl Fn(f64, f64) -> f64) {
    for ((result, a), b) in result.iter_mut().zip(a).zip(b) {
        *result = function(*a, *b);
    }
}
