//! A kernel as the emitters take it: one scheme for one physics, dimension and patch size.
//!
//! The update of a patch is a list of stages. A stage visits every voxel of its range, in any order,
//! and writes values of the graph into blocks; a later stage may read what an earlier one wrote. Fully
//! fused, a kernel is one stage; unfused, a stage per statement of the scheme, with a block for each
//! temporary.

use std::sync::Arc;

use crate::graph::{BlockId, Flops, Graph, Leaf, Node, Value};
use crate::physics::{Parameter, Physics, Term};

/// Block of the input patch, halo included.
pub const INPUT: BlockId = BlockId(0);

/// Block of the result. Stages may read what an earlier one wrote there, as of any other block.
pub const OUTPUT: BlockId = BlockId(1);

/// What the output of a kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// The state after the step: N + M values per voxel, the fixed ones copied.
    Step,
    /// The time derivative: N values per voxel, for Runge-Kutta.
    Rate,
}

/// Sizes of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// d: 2 or 3.
    pub dimensions: u8,
    /// p: voxels per axis, halo apart.
    pub cells: u16,
    /// h: halo voxels on each side.
    pub halo: u16,
    /// N: evolved unknowns.
    pub unknowns: u16,
    /// M: fixed unknowns.
    pub auxiliary: u16,
    /// What the output holds.
    pub output: Output,
}

impl Shape {
    /// N + M.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.unknowns as usize + self.auxiliary as usize
    }

    /// Voxels along an axis, halo apart: p, or 1 beyond the dimension.
    #[must_use]
    pub const fn cells_along(&self, axis: usize) -> u16 {
        if axis < self.dimensions as usize { self.cells } else { 1 }
    }

    /// Values per voxel of the output.
    #[must_use]
    pub const fn output_width(&self) -> usize {
        match self.output {
            Output::Step => self.width(),
            Output::Rate => self.unknowns as usize,
        }
    }

    /// Voxels of a patch without its halo: p^d.
    #[must_use]
    pub fn voxels(&self) -> usize {
        usize::from(self.cells).pow(u32::from(self.dimensions))
    }

    /// Values of an input chunk: (p + 2 h)^d (N + M), unknown fastest, then x, y, z.
    #[must_use]
    pub fn input_len(&self) -> usize {
        usize::from(self.cells + 2 * self.halo).pow(u32::from(self.dimensions)) * self.width()
    }

    /// Values of an output chunk: p^d times [`Shape::output_width`].
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.voxels() * self.output_width()
    }
}

/// A dense array over a box of voxels, unknown fastest, then x, y, z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Name in the scheme.
    pub name: String,
    /// Values per voxel.
    pub width: u16,
    /// First voxel per axis; 0 is the first of the interior, axes beyond the dimension are 0.
    pub low: [i16; 3],
    /// One past the last voxel per axis; 1 for axes beyond the dimension.
    pub high: [i16; 3],
}

impl Block {
    /// Voxels.
    #[must_use]
    pub fn voxels(&self) -> usize {
        (0..3).map(|axis| usize::try_from(self.high[axis] - self.low[axis]).unwrap_or(0)).product()
    }

    /// Place of a voxel's first value.
    #[must_use]
    pub fn offset(&self, voxel: [i16; 3]) -> usize {
        let along = |axis: usize| usize::try_from(voxel[axis] - self.low[axis]).unwrap_or(0);
        let extent = |axis: usize| usize::try_from(self.high[axis] - self.low[axis]).unwrap_or(0);
        ((along(2) * extent(1) + along(1)) * extent(0) + along(0)) * usize::from(self.width)
    }
}

/// A matrix that is applied along an axis, rows by voxel.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Name in the scheme.
    pub name: String,
    /// Columns per row.
    pub columns: usize,
    /// Entries, row by row.
    pub entries: Vec<f64>,
}

/// One value written per voxel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Where to.
    pub block: BlockId,
    /// Which unknown of the voxel.
    pub unknown: u16,
    /// What.
    pub value: Value,
}

/// A stage that is a call of a term as the user wrote it: its arguments, in the order of
/// [`crate::physics::arguments`]; the results go where the stage's writes say, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Term.
    pub term: Term,
    /// Direction, 0 where the term has none.
    pub direction: u8,
    /// Arguments.
    pub arguments: Vec<Value>,
}

/// Work on every voxel of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it is, for `--emit` and reports: the statement, or the statements it fuses.
    pub name: String,
    /// First voxel per axis.
    pub low: [i16; 3],
    /// One past the last voxel per axis.
    pub high: [i16; 3],
    /// What is written.
    pub writes: Vec<Write>,
    /// A value whose maximum over the range (and over stages) is the patch's largest eigenvalue; what
    /// is NaN does not count, and none at all gives -infinity.
    pub maximum: Option<Value>,
    /// Set where the stage does nothing but call a term, for emissions that keep calls.
    pub call: Option<Call>,
}

impl Stage {
    /// All values that the stage needs: those written, then the maximum.
    #[must_use]
    pub fn outputs(&self) -> Vec<Value> {
        self.writes.iter().map(|write| write.value).chain(self.maximum).collect()
    }
}

/// A kernel, ready for an emitter or the interpreter.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Identifier in C: physics, scheme, dimension, patch size, such as `euler_rusanov_d3_p6`.
    pub name: String,
    /// Sizes.
    pub shape: Shape,
    /// Physics.
    pub physics: Arc<Physics>,
    /// Parameters that reach the kernel as an array at run time, those of the physics and then those
    /// of the scheme; [`Leaf::Parameter`] is a place in this list. Defaults of `int` ones are the
    /// values chosen.
    pub parameters: Vec<Parameter>,
    /// Real parameters that are built in as numbers: place and value.
    pub frozen: Vec<(u16, f64)>,
    /// Values chosen for the `int` parameters.
    pub integers: Vec<(String, i64)>,
    /// Matrices.
    pub matrices: Vec<Matrix>,
    /// Input, output, then temporaries.
    pub blocks: Vec<Block>,
    /// Values.
    pub graph: Graph,
    /// Work, in order.
    pub stages: Vec<Stage>,
    /// Whether the largest eigenvalue of every patch is computed.
    pub speeds: bool,
    /// Whether the stages apply the physics' `post` to the new state, so that a driver need not.
    pub post: bool,
}

impl Kernel {
    /// Loads of the input that one voxel needs in a fused kernel, or all stages together.
    #[must_use]
    pub fn loads(&self) -> usize {
        let outputs: Vec<Value> = self.stages.iter().flat_map(Stage::outputs).collect();
        let needed = self.graph.reachable(&outputs);
        self.graph
            .values()
            .filter(|(value, node)| {
                needed[value.index()]
                    && matches!(node, Node::Leaf(Leaf::Load { block, .. }) if *block == INPUT)
            })
            .count()
    }

    /// Operations per voxel of the interior; a stage on a larger range counts in proportion.
    #[must_use]
    pub fn flops(&self) -> f64 {
        let voxels = |low: [i16; 3], high: [i16; 3]| -> f64 {
            (0..3).map(|axis| f64::from(high[axis] - low[axis])).product()
        };
        let per_stage = |stage: &Stage| {
            let flops: Flops = self.graph.flops(&stage.outputs());
            f64::from(flops.total()) * voxels(stage.low, stage.high)
        };
        let output = &self.blocks[usize::from(OUTPUT.0)];
        self.stages.iter().map(per_stage).sum::<f64>() / voxels(output.low, output.high)
    }

    /// Bytes that have to move per voxel of the interior when every input value is read once and
    /// every output written once: the faces of the halo alone, for schemes that read no corner.
    #[must_use]
    pub fn least_bytes(&self) -> f64 {
        let shape = &self.shape;
        let halo =
            2.0 * f64::from(shape.dimensions) * f64::from(shape.halo) / f64::from(shape.cells);
        let widths = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        8.0 * (widths(shape.width()) * (1.0 + halo) + widths(shape.output_width()))
    }
}
