//! What surrounds the tiles of the fused form: tables of offsets, uniform values, scratch, the loop
//! over patches.

use std::fmt::Write as _;

use super::families::{self, Families};
use super::flat::VECTOR;
use super::planar;
use super::rows::Form;
use super::turned::{self, Turned};
use super::{SIGNATURE, base, loaded, temporaries, uniform_leaf};
use crate::emit::{Scalars, graph_order, literal, place};
use crate::graph::{BlockId, Leaf, Node, Value};
use crate::kernel::{INPUT, Kernel, OUTPUT, Stage};

/// What lanes look up by voxel. The tables hold `ptrdiff_t`: as wide as a double, so that compilers
/// fill whole vectors with either (with `int`, gcc 12 halved all vectors).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// Offset of the voxel in a block, along these axes.
    Base(BlockId, [bool; 3]),
    /// Index of the voxel along an axis.
    Index(u8),
}

impl Table {
    /// Name of the pointer to a tile's entries.
    pub(super) fn name(&self) -> String {
        match *self {
            Self::Base(block, [true, true, true]) => format!("at{}", block.0),
            Self::Base(block, along) => {
                let axes: String =
                    along.iter().zip("xyz".chars()).filter(|(yes, _)| **yes).map(|a| a.1).collect();
                format!("at{}_{axes}", block.0)
            }
            Self::Index(axis) => format!("index{axis}"),
        }
    }
}

/// A stage with what its function needs.
pub(super) struct StageFrame<'a> {
    pub(super) stage: &'a Stage,
    pub(super) number: usize,
    pub(super) form: Form,
    /// Lanes of a tile.
    pub(super) lanes: usize,
    /// What is computed by vectors of unknowns, in a stage of tiles.
    pub(super) families: Option<Families>,
    /// What lanes have turned for them, if that is how they load.
    pub(super) turned: Option<Turned>,
    pub(super) tables: Vec<Table>,
    pub(super) voxels: usize,
    /// Voxels in whole tiles.
    pub(super) padded: usize,
}

impl StageFrame<'_> {
    /// Which of a tile's turned vectors holds a leaf's values.
    pub(super) fn vector(&self, leaf: Leaf) -> Option<usize> {
        self.turned.as_ref()?.vector(leaf)
    }

    /// Which of the tables has a block's offsets.
    pub(super) fn table(&self, block: BlockId) -> usize {
        let table = Table::Base(block, [true; 3]);
        self.tables.iter().position(|known| *known == table).unwrap_or(0)
    }
}

pub(super) struct Frame<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) scalars: Scalars<'a>,
    pub(super) lanes: usize,
    /// Uniform values that voxels use, in the order of the array `u`.
    pub(super) uniforms: Vec<Value>,
    pub(super) stages: Vec<StageFrame<'a>>,
}

impl<'a> Frame<'a> {
    /// `forms` has one per stage, or none where all are tiles.
    pub(super) fn new(kernel: &'a Kernel, forms: &[Form], lanes: usize) -> Self {
        let scalars = Scalars::new(&kernel.graph);
        let uniforms = uniforms(kernel, &scalars);
        let stage = |(number, stage)| {
            let form = forms.get(number).copied().unwrap_or(Form::Tiles);
            stage_frame(kernel, &scalars, lanes, form, number, stage)
        };
        let stages = kernel.stages.iter().enumerate().map(stage).collect();
        Self { kernel, scalars, lanes, uniforms, stages }
    }

    /// The functions for scratch, tables and all patches.
    pub(super) fn print_entry(&self, text: &mut String) {
        let (kernel, name) = (self.kernel, &self.kernel.name);
        let entries: usize =
            self.stages.iter().map(|stage| stage.tables.len() * stage.padded).sum();
        let (offsets, doubles) = pool(self);
        // The tables lie behind the temporaries.
        let _ = writeln!(
            text,
            "void {name}_prepare(double *scratch) {{\n  ptrdiff_t *table = (ptrdiff_t *)(scratch + {doubles});"
        );
        for stage in &self.stages {
            print_tables(kernel, stage, text);
        }
        let _ = writeln!(text, "  (void)table;\n}}\n");
        // Whole pairs of cache lines: threads of a team have one part after the other.
        let all = (doubles + entries).next_multiple_of(16);
        let _ = writeln!(
            text,
            "long {name}_scratch(int K) {{\n  (void)K;\n  return {all};\n}}\n\n\
             void {name}_run({SIGNATURE}, double *scratch) {{\n  \
             const ptrdiff_t *const tables = (const ptrdiff_t *)(scratch + {doubles});\n  for (int k = 0; k < K; k++) {{"
        );
        self.print_uniforms(text);
        self.print_calls(&offsets, text);
        text.push_str("  }\n}\n");
    }

    fn print_uniforms(&self, text: &mut String) {
        let (kernel, scalars) = (self.kernel, &self.scalars);
        let order = graph_order(&kernel.graph, &self.uniforms);
        text.push_str(&scalars.statements(&order, 4, &|leaf| uniform_leaf(kernel, leaf)));
        let mut values: Vec<String> =
            self.uniforms.iter().map(|&value| scalars.operand(value)).collect();
        for axis in 0..3 {
            values.push(format!("centre[k][{axis}] - 0.5 * size[k][{axis}]"));
            values.push(uniform_leaf(kernel, Leaf::Spacing(axis)));
        }
        let _ = writeln!(text, "    const double u[] = {{{}}};", values.join(", "));
    }

    fn print_calls(&self, offsets: &[usize], text: &mut String) {
        let (name, lanes) = (&self.kernel.name, self.lanes);
        let reduces = self.stages.iter().any(|stage| stage.stage.maximum.is_some());
        if reduces {
            let _ = writeln!(
                text,
                "    double maximum[{lanes}];\n    for (int l = 0; l < {lanes}; l++)\n      \
                 maximum[l] = {};",
                literal(super::LEAST)
            );
        }
        let block = |block: BlockId| match block {
            INPUT => "QIn[k]".into(),
            OUTPUT => "QOut[k]".into(),
            BlockId(other) => format!("scratch + {}", offsets[usize::from(other)]),
        };
        let mut start = 0;
        for stage in &self.stages {
            let loads = loaded(&self.kernel.graph, &stage.stage.outputs());
            let mut arguments: Vec<String> = loads.into_iter().map(block).collect();
            arguments.extend(written(stage.stage).into_iter().map(block));
            arguments.extend(["u".into(), format!("tables + {start}")]);
            if stage.stage.maximum.is_some() {
                arguments.push("maximum".into());
            }
            start += stage.tables.len() * stage.padded;
            let _ = writeln!(text, "    {name}_stage{}({});", stage.number, arguments.join(", "));
        }
        if reduces {
            let _ = writeln!(
                text,
                "    if (speed) {{\n      double largest = maximum[0];\n      \
                 for (int l = 1; l < {lanes}; l++)\n        \
                 largest = maximum[l] > largest ? maximum[l] : largest;\n      \
                 speed[k] = largest;\n    }}"
            );
        }
    }
}

fn stage_frame<'a>(
    kernel: &Kernel,
    scalars: &Scalars,
    lanes: usize,
    form: Form,
    number: usize,
    stage: &'a Stage,
) -> StageFrame<'a> {
    let needed = kernel.graph.reachable(&stage.outputs());
    let mut tables = Vec::new();
    let mut add = |table| {
        if !tables.contains(&table) {
            tables.push(table);
        }
    };
    for (_, node) in kernel.graph.values().filter(|(value, _)| needed[value.index()]) {
        match node {
            Node::Leaf(Leaf::Load { block, unknown, at }) => {
                let place = place(&kernel.blocks[usize::from(block.0)], unknown, at);
                add(Table::Base(block, place.along));
            }
            Node::Leaf(Leaf::Position { axis, .. } | Leaf::Coefficient { axis, .. }) => {
                add(Table::Index(axis));
            }
            _ => {}
        }
    }
    for write in &stage.writes {
        add(Table::Base(write.block, [true; 3]));
    }
    let extent = |axis: usize| usize::try_from(stage.high[axis] - stage.low[axis]).unwrap_or(0);
    let voxels = (0..3).map(extent).product::<usize>();
    let (mut whole, mut families, mut turned) = (lanes, None, None);
    match form {
        Form::Tiles => {
            let last = stage.high.map(|high| high - 1);
            families = families::families(kernel, scalars, &stage.outputs(), last);
            turned = turned::turned(kernel, scalars, stage, families.as_ref());
            if let Some(turned) = &turned {
                whole = VECTOR;
                // Rows of results lie in the order of the voxels.
                tables.retain(|table| {
                    !turned.rows || *table != Table::Base(stage.writes[0].block, [true; 3])
                });
            }
        }
        // Results lie in the order of the voxels.
        Form::Points => {
            whole = VECTOR;
            tables.retain(|table| matches!(table, Table::Base(INPUT, _)));
        }
        Form::Sums => tables.clear(),
    }
    let padded = voxels.next_multiple_of(whole);
    StageFrame { stage, number, form, lanes: whole, families, turned, tables, voxels, padded }
}

/// Uniform values that something of a voxel uses, or that are written or reduced.
fn uniforms(kernel: &Kernel, scalars: &Scalars) -> Vec<Value> {
    let graph = &kernel.graph;
    let outputs: Vec<Value> = kernel.stages.iter().flat_map(Stage::outputs).collect();
    let needed = graph.reachable(&outputs);
    let mut used = vec![false; graph.nodes().len()];
    for &output in &outputs {
        used[output.index()] = true;
    }
    for (value, node) in graph.values() {
        if needed[value.index()] && !scalars.is_uniform(value) {
            for operand in node.operands().into_iter().flatten() {
                used[operand.index()] = true;
            }
        }
    }
    let wanted = |(value, node): &(Value, Node)| {
        used[value.index()] && scalars.is_uniform(*value) && !matches!(node, Node::Constant(_))
    };
    graph.values().filter(wanted).map(|(value, _)| value).collect()
}

/// Blocks that a stage writes.
pub(super) fn written(stage: &Stage) -> Vec<BlockId> {
    let mut blocks: Vec<BlockId> = stage.writes.iter().map(|write| write.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

fn print_tables(kernel: &Kernel, stage: &StageFrame, text: &mut String) {
    let (low, high) = (stage.stage.low, stage.stage.high);
    for table in &stage.tables {
        let expression = match *table {
            Table::Base(block, along) => base(kernel, block, along),
            Table::Index(axis) => ["x", "y", "z"][usize::from(axis)].into(),
        };
        let _ = writeln!(
            text,
            "  for (int z = {}; z < {}; z++)\n    for (int y = {}; y < {}; y++)\n      \
             for (int x = {}; x < {}; x++)\n        *table++ = {expression};",
            low[2], high[2], low[1], high[1], low[0], high[0]
        );
        let rest = stage.padded - stage.voxels;
        if rest > 0 {
            let _ = writeln!(
                text,
                "  for (int l = 0; l < {rest}; l++, table++)\n    *table = table[-1];"
            );
        }
    }
}

/// Where temporaries lie in a patch's scratch, and its size, doubles: blocks never alive together
/// share room, first fit.
fn pool(frame: &Frame) -> (Vec<usize>, usize) {
    let kernel = frame.kernel;
    let mut offsets = vec![0usize; kernel.blocks.len()];
    let mut end = 0;
    let touches: Vec<Vec<BlockId>> = kernel
        .stages
        .iter()
        .map(|stage| {
            let mut blocks = written(stage);
            blocks.extend(loaded(&kernel.graph, &stage.outputs()));
            blocks
        })
        .collect();
    let mut placed: Vec<[usize; 4]> = Vec::new();
    for block in temporaries(kernel) {
        let first = touches.iter().position(|blocks| blocks.contains(&block));
        let last = touches.iter().rposition(|blocks| blocks.contains(&block));
        let (Some(first), Some(last)) = (first, last) else { continue };
        let size = planar::size(frame, block);
        let alive = |other: &&[usize; 4]| other[0] <= last && first <= other[1];
        let mut taken: Vec<[usize; 4]> = placed.iter().filter(alive).copied().collect();
        taken.sort_unstable_by_key(|other| other[2]);
        let mut at = 0;
        for other in taken {
            if at + size <= other[2] {
                break;
            }
            at = at.max(other[3]);
        }
        placed.push([first, last, at, at + size]);
        offsets[usize::from(block.0)] = at;
        end = end.max(at + size);
    }
    // Rows of whole vectors read beyond the last.
    (offsets, if end > 0 { end + super::flat::VECTOR } else { 0 })
}
