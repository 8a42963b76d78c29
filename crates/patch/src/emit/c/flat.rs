//! Stages that do the same to all unknowns: rows of voxels and unknowns in one.
//!
//! In a block all unknowns of a row along x lie side by side, so a sum of neighbours, taken alike for
//! every unknown, is a loop over the row's values with contiguous loads and stores: no lane is
//! gathered, none is scattered, and rows of few voxels still fill vectors.

use std::fmt::Write as _;

use super::alike::groups;
use super::frame::{Frame, StageFrame, written};
use super::{length, loaded, turn, uniform_leaf};
use crate::emit::{Scalars, depth_first, is_library_call, place, strides};
use crate::graph::{Binary, BlockId, Coordinate, Leaf, Node, Unary, Value};
use crate::kernel::{INPUT, Kernel, Stage};

/// Values of the widest vector, and those that a row may read beyond a temporary.
pub(super) const VECTOR: usize = 8;

/// What the first unknown's values need, in computing order, if a stage does the same to all.
pub(super) fn flat(kernel: &Kernel, scalars: &Scalars, stage: &Stage) -> Option<Vec<Value>> {
    let graph = &kernel.graph;
    let all = groups(graph, &stage.writes);
    let ([group], None) = (all.as_slice(), stage.maximum) else { return None };
    let width = kernel.blocks[usize::from(group.block.0)].width;
    if group.first != 0 || group.count != usize::from(width) {
        return None;
    }
    let order: Vec<Value> = depth_first(graph, &[group.value])
        .into_iter()
        .filter(|&value| !scalars.is_uniform(value))
        .collect();
    let moves = |value: &Value| match graph.node(*value) {
        Node::Leaf(Leaf::Load { block, unknown, at }) => {
            unknown == 0
                && block != group.block
                && kernel.blocks[usize::from(block.0)].width == width
                && at.iter().all(|axis| matches!(axis, Coordinate::Shift(_)))
        }
        Node::Leaf(_) => false,
        node => !is_library_call(&node) && group.moving.contains(value),
    };
    order.iter().all(moves).then_some(order)
}

/// The function of such a stage.
pub(super) fn print(frame: &Frame, stage: &StageFrame, order: &[Value], text: &mut String) {
    let (kernel, scalars) = (frame.kernel, &frame.scalars);
    let outputs = stage.stage.outputs();
    let (low, high) = (stage.stage.low, stage.stage.high);
    let blocks = loaded(&kernel.graph, &outputs);
    let to = written(stage.stage)[0];
    let mut arguments: Vec<String> =
        blocks.iter().map(|block| format!("const double *const b{}", block.0)).collect();
    arguments.push(format!("double *const o{}", to.0));
    let _ = writeln!(
        text,
        "/* {} */\nstatic void {}_stage{}({}, const double *const u, \
         const ptrdiff_t *const tables) {{\n  (void)tables, (void)u;",
        stage.stage.name.replace("*/", "* /"),
        kernel.name,
        stage.number,
        arguments.join(", ")
    );
    for (slot, &value) in frame.uniforms.iter().enumerate() {
        let used = order.iter().any(|&one| {
            kernel.graph.node(one).operands().into_iter().flatten().any(|other| other == value)
        });
        if used {
            let truth = kernel.graph.node(value).is_truth();
            let (kind, test) = if truth { ("int", " != 0.0") } else { ("double", "") };
            let _ = writeln!(text, "  const {kind} {} = u[{slot}]{test};", scalars.operand(value));
        }
    }
    let rows_of = Rows { frame, stage, order, blocks: &blocks, to };
    let shuffled = turn::has_sums(frame) && order.iter().all(|&value| lanewise(kernel, value));
    if shuffled {
        text.push_str("#ifdef TEMBLOR_SHUFFLE\n");
        rows_of.vectors(text);
        text.push_str("#else\n");
    }
    rows_of.open(&rows(low, high), text);
    rows_of.loop_from(0, [0; 2], text);
    text.push_str("  }\n");
    if shuffled {
        text.push_str("#endif\n");
    }
    text.push_str("}\n\n");
}

/// A stage by rows, being printed.
struct Rows<'a> {
    frame: &'a Frame<'a>,
    stage: &'a StageFrame<'a>,
    order: &'a [Value],
    /// Blocks that are read.
    blocks: &'a [BlockId],
    /// The block that is written.
    to: BlockId,
}

impl Rows<'_> {
    /// Values of a row.
    fn count(&self) -> usize {
        let stage = self.stage.stage;
        let width = usize::from(self.frame.kernel.blocks[usize::from(self.to.0)].width);
        usize::try_from(stage.high[0] - stage.low[0]).unwrap_or(0) * width
    }

    /// Opens loops over rows and says where the row (y, z) lies in each block.
    fn open(&self, loops: &str, text: &mut String) {
        let (kernel, low) = (self.frame.kernel, self.stage.stage.low);
        text.push_str(loops);
        let row = |block: BlockId| {
            let shape = &kernel.blocks[usize::from(block.0)];
            let origin = place(shape, 0, [Coordinate::Shift(0); 3]).constant;
            let [x, y, z] = strides(shape);
            let first = origin + x * i64::from(low[0]);
            format!("{first} + {y} * y + {z} * z")
        };
        for &block in self.blocks {
            let (n, row) = (block.0, row(block));
            let _ = writeln!(text, "    const double *const q{n} = b{n} + {row};");
        }
        let _ =
            writeln!(text, "    double *restrict const to = o{} + {};", self.to.0, row(self.to));
    }

    /// Distance of the row `at` (along y, along z) from the first of a block of rows.
    fn beside(&self, block: BlockId, at: [i64; 2]) -> i64 {
        let [_, y, z] = strides(&self.frame.kernel.blocks[usize::from(block.0)]);
        at[0] * y + at[1] * z
    }

    /// A loop over the values of a row from `from` on.
    fn loop_from(&self, from: usize, at: [i64; 2], text: &mut String) {
        let (kernel, scalars) = (self.frame.kernel, &self.frame.scalars);
        let leaves = |leaf: Leaf| match leaf {
            Leaf::Load { block, at: shifts, .. } => {
                let place = from_origin(kernel, block, shifts) + self.beside(block, at);
                format!("q{}[i + {place}]", block.0)
            }
            other => uniform_leaf(kernel, other),
        };
        let count = self.count();
        let result = scalars.operand(self.stage.stage.writes[0].value);
        let _ = writeln!(text, "#pragma omp simd\n    for (int i = {from}; i < {count}; i++) {{");
        text.push_str(&scalars.statements(self.order, 6, &leaves));
        let place = self.beside(self.to, at);
        let _ = writeln!(text, "      to[i + {place}] = {result};\n    }}");
    }

    /// Rows along y and along z that are taken together, so that a neighbour is loaded once for all
    /// of them.
    // Euler by fd4, ns per voxel by rows along y x z, p = 3, 6, 16: 1 x 1 19.6, 17.6, 16.0 (loops over
    // four rows along z and remainders by a vector with room: 20.9, 17.1, 15.0); 2 x 2 15.9 and 14.0;
    // 3 x 1 18.9; 3 x 2 15.8; 4 x 2 13.8; 2 x 4 14.0. Sums of fluxes in the same loop: 13.5 at
    // p = 16, 16.4 to 17.6 at p = 6.
    fn together(&self) -> [i64; 2] {
        let (low, high) = (self.stage.stage.low, self.stage.stage.high);
        let divides = |axis: usize, n: &i64| i64::from(high[axis] - low[axis]) % n == 0;
        let y = [4, 3, 2].into_iter().find(|n| divides(1, n)).unwrap_or(1);
        let z = [2].into_iter().find(|n| divides(2, n)).unwrap_or(1);
        let most = i64::try_from(LONGEST / self.order.len().max(1)).unwrap_or(1);
        if y * z <= most { [y, z] } else { [if y <= most { y } else { 1 }, 1] }
    }

    /// Blocks of rows in vectors by name: of a loop over values gcc 12 keeps a pointer per neighbour,
    /// more than there are registers (Euler, p = 16: 11 against 8 ns per voxel).
    fn vectors(&self, text: &mut String) {
        let stage = self.stage.stage;
        let (low, high) = (stage.low, stage.high);
        let [rows_y, rows_z] = self.together();
        let loops = format!(
            "  for (int y = {}; y < {}; y += {rows_y})\n  for (int z = {}; z < {}; z += {rows_z}) {{\n",
            low[1], high[1], low[2], high[2]
        );
        self.open(&loops, text);
        let block: Vec<[i64; 2]> =
            (0..rows_z).flat_map(|z| (0..rows_y).map(move |y| [y, z])).collect();
        let count = self.count();
        let full = count / VECTOR * VECTOR;
        if full > 0 {
            let head = format!("    for (int i = 0; i < {full}; i += {VECTOR}) {{\n");
            self.vector(&head, &block, VECTOR, text);
        }
        if full < count && self.may_pad() {
            let head = format!("    {{\n      enum {{ i = {full} }};\n");
            self.vector(&head, &block, count - full, text);
        } else if full < count {
            block.iter().for_each(|&at| self.loop_from(full, at, text));
        }
        text.push_str("  }\n");
    }

    /// Whether the last vector of a row may read beyond it: where that is little more than the row, and
    /// rows of all blocks are followed by others. The remainder of a loop costs as much as several
    /// vectors (Euler, p = 6: a third of the stage).
    fn may_pad(&self) -> bool {
        let (kernel, count) = (self.frame.kernel, self.count());
        let whole = count.next_multiple_of(VECTOR);
        let end = end(kernel, self.stage.stage, self.order) + whole - count;
        let reaches = |block: &BlockId| *block != INPUT || end <= length(kernel, INPUT);
        5 * whole <= 6 * count && self.blocks.iter().all(reaches)
    }

    /// A vector of every row of a block, of which `valid` values are stored.
    fn vector(&self, head: &str, rows: &[[i64; 2]], valid: usize, text: &mut String) {
        let (kernel, scalars) = (self.frame.kernel, &self.frame.scalars);
        let list = |item: &dyn Fn(u16) -> String| {
            self.blocks.iter().map(|block| item(block.0)).collect::<Vec<_>>().join(", ")
        };
        // The empty statement hides from the compiler where the pointers come from.
        let _ = writeln!(
            text,
            "{head}      const double {};\n      __asm__(\"\" : {});",
            list(&|block| format!("*a{block} = q{block} + i")),
            list(&|block| format!("\"+r\"(a{block})"))
        );
        let name = |value: Value, row: usize| {
            if scalars.is_uniform(value) {
                scalars.operand(value)
            } else {
                format!("{}_{row}", scalars.operand(value))
            }
        };
        for (row, &at) in rows.iter().enumerate() {
            let lanes = |leaf: Leaf| match leaf {
                Leaf::Load { block, at: shifts, .. } => {
                    let place = from_origin(kernel, block, shifts) + self.beside(block, at);
                    format!("*(const temblor_loose *)(a{} + {place})", block.0)
                }
                other => uniform_leaf(kernel, other),
            };
            for &value in self.order {
                let expression = scalars.expression_of(value, &lanes, &|value| name(value, row));
                let name = name(value, row);
                let _ = writeln!(text, "      const temblor_lanes {name} = {expression};");
            }
        }
        let result = self.stage.stage.writes[0].value;
        for (row, &at) in rows.iter().enumerate() {
            let (name, place) = (name(result, row), self.beside(self.to, at));
            let _ = if valid == VECTOR {
                writeln!(text, "      *(temblor_loose *)(to + {place} + i) = {name};")
            } else {
                writeln!(text, "      memcpy(to + {place} + i, &{name}, {valid} * sizeof(double));")
            };
        }
        text.push_str("    }\n");
    }
}

/// Most values in one loop: compilers take much more than twice the time for twice as many.
const LONGEST: usize = 600;

/// Rows along y that are taken along z together.
const NEAR: i16 = 4;

/// Opens the loops over a range's rows.
///
/// Large patches are taken by columns of a few rows, along z, so that the neighbours along z of a row
/// are still in the first-level cache (Euler, p = 16: 16.7 against 15.1 ns per voxel; p = 6, whose
/// planes are small, 1 % the other way).
pub(super) fn rows(low: [i16; 3], high: [i16; 3]) -> String {
    let ([_, y0, z0], [_, y1, z1]) = (low, high);
    if y1 - y0 <= 2 * NEAR || z1 - z0 < 2 {
        return format!(
            "  for (int z = {z0}; z < {z1}; z++)\n  for (int y = {y0}; y < {y1}; y++) {{\n"
        );
    }
    format!(
        "  for (int near = {y0}; near < {y1}; near += {NEAR})\n  \
         for (int z = {z0}; z < {z1}; z++)\n  \
         for (int y = near; y < {y1} && y < near + {NEAR}; y++) {{\n"
    )
}

/// Values from a voxel's first to what a load reads.
fn from_origin(kernel: &Kernel, block: BlockId, at: [Coordinate; 3]) -> i64 {
    let shape = &kernel.blocks[usize::from(block.0)];
    place(shape, 0, at).constant - place(shape, 0, [Coordinate::Shift(0); 3]).constant
}

/// Whether C can take a value's operation on whole vectors.
fn lanewise(kernel: &Kernel, value: Value) -> bool {
    matches!(
        kernel.graph.node(value),
        Node::Leaf(_)
            | Node::Unary(Unary::Negate, _)
            | Node::Binary(Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide, ..)
    )
}

/// One past the last place of the input that a stage's rows read.
fn end(kernel: &Kernel, stage: &Stage, order: &[Value]) -> usize {
    let shape = &kernel.blocks[usize::from(INPUT.0)];
    let strides = strides(shape);
    let last: i64 = (0..3).map(|axis| i64::from(stage.high[axis] - 1) * strides[axis]).sum();
    let read = |&value: &Value| match kernel.graph.node(value) {
        Node::Leaf(Leaf::Load { block: INPUT, at, .. }) => {
            usize::try_from(place(shape, 0, at).constant + last + i64::from(shape.width)).ok()
        }
        _ => None,
    };
    order.iter().filter_map(read).max().unwrap_or(0)
}
