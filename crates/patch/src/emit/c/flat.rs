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
    text.push_str(&rows(low, high));
    let row = |block: BlockId| {
        let shape = &kernel.blocks[usize::from(block.0)];
        let origin = place(shape, 0, [Coordinate::Shift(0); 3]).constant;
        let [x, y, z] = strides(shape);
        let first = origin + x * i64::from(low[0]);
        format!("{first} + {y} * y + {z} * z")
    };
    for &block in &blocks {
        let _ = writeln!(text, "    const double *const q{0} = b{0} + {1};", block.0, row(block));
    }
    let width = usize::from(kernel.blocks[usize::from(to.0)].width);
    let count = usize::try_from(high[0] - low[0]).unwrap_or(0) * width;
    let result = scalars.operand(stage.stage.writes[0].value);
    let leaves = |leaf: Leaf| match leaf {
        Leaf::Load { block, at, .. } => {
            format!("q{}[i + {}]", block.0, from_origin(kernel, block, at))
        }
        other => uniform_leaf(kernel, other),
    };
    // Whole vectors where that is little more and the rows of all blocks are followed by others: the
    // remainder of a loop costs as much as several vectors (Euler, p = 6: a third of the stage).
    let whole = count.next_multiple_of(VECTOR);
    let surplus = whole - count;
    let reaches = |block: &BlockId| {
        *block != INPUT || end(kernel, stage.stage, order) + surplus <= length(kernel, INPUT)
    };
    let padded = 5 * whole <= 6 * count && surplus > 0 && blocks.iter().all(reaches);
    let (place, trip) = if padded { ("row", whole) } else { ("to", count) };
    let _ = writeln!(text, "    double *restrict const to = o{} + {};", to.0, row(to));
    if padded {
        let _ = writeln!(text, "    double row[{whole}];");
    }
    let scalar = |from: usize, text: &mut String| {
        let _ = writeln!(text, "#pragma omp simd\n    for (int i = {from}; i < {trip}; i++) {{");
        text.push_str(&scalars.statements(order, 6, &leaves));
        let _ = writeln!(text, "      {place}[i] = {result};\n    }}");
    };
    let full = trip / VECTOR * VECTOR;
    if full == 0 || !turn::is_printed(frame) || !order.iter().all(|&value| lanewise(kernel, value))
    {
        scalar(0, text);
    } else {
        // In vectors by name: of a loop over values gcc 12 keeps a pointer per neighbour, more than
        // there are registers (Euler, p = 16: 11 against 8 ns per voxel). The empty statement hides
        // from it where the pointers come from.
        let list = |item: &dyn Fn(u16) -> String| {
            blocks.iter().map(|block| item(block.0)).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(
            text,
            "#ifdef TEMBLOR_SHUFFLE\n#pragma GCC unroll 4\n    \
             for (int i = 0; i < {full}; i += {VECTOR}) {{\n      const double {};\n      \
             __asm__(\"\" : {});",
            list(&|block| format!("*a{block} = q{block} + i")),
            list(&|block| format!("\"+r\"(a{block})"))
        );
        let lanes = |leaf: Leaf| match leaf {
            Leaf::Load { block, at, .. } => {
                format!(
                    "*(const temblor_loose *)(a{} + {})",
                    block.0,
                    from_origin(kernel, block, at)
                )
            }
            other => uniform_leaf(kernel, other),
        };
        for &value in order {
            let (name, expression) = (scalars.operand(value), scalars.expression(value, &lanes));
            let _ = writeln!(text, "      const temblor_lanes {name} = {expression};");
        }
        let _ = writeln!(text, "      *(temblor_loose *)({place} + i) = {result};\n    }}");
        if full < trip {
            scalar(full, text);
        }
        text.push_str("#else\n");
        scalar(0, text);
        text.push_str("#endif\n");
    }
    if padded {
        let _ = writeln!(text, "    memcpy(to, row, {count} * sizeof(double));");
    }
    text.push_str("  }\n}\n\n");
}

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
