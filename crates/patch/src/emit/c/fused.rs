//! The fused form: patches outermost, voxels in tiles of lanes.
//!
//! A lane reads its chunk in place, by a table of voxel offsets: no voxel is padded but in a patch's
//! last tile (where lanes repeat the last voxel), whatever the patch size, and no transposed copy is
//! made. The loops over lanes have a constant, small trip count, so that a vector compiler makes one
//! vector of each scalar.

use std::fmt::Write as _;

use super::frame::{Frame, StageFrame, Table, written};
use super::segments::{Segment, segments};
use super::{Options, loaded, position, uniform_leaf};
use crate::emit::place;
use crate::graph::{Coordinate, Leaf, Node, Value};
use crate::kernel::Kernel;

pub(super) fn emit(kernel: &Kernel, options: &Options, text: &mut String) {
    let frame = Frame::new(kernel, usize::from(options.lanes));
    for stage in &frame.stages {
        print_stage(&frame, options, stage, text);
    }
    frame.print_entry(text);
}

/// The value in the tile: an array's entry, or what is the same for all lanes.
fn in_tile(frame: &Frame, value: Value) -> String {
    if frame.scalars.is_uniform(value) {
        frame.scalars.operand(value)
    } else {
        format!("x{}[l]", value.index())
    }
}

fn print_stage(frame: &Frame, options: &Options, stage: &StageFrame, text: &mut String) {
    let (kernel, scalars, graph) = (frame.kernel, &frame.scalars, &frame.kernel.graph);
    let (lanes, count) = (frame.lanes, stage.voxels);
    let outputs = stage.stage.outputs();
    let pieces = segments(graph, &outputs, options.longest, &|value| scalars.is_uniform(value));
    let mut arguments: Vec<String> = Vec::new();
    for block in loaded(graph, &outputs) {
        arguments.push(format!("const double *const b{}", block.0));
    }
    for block in written(stage.stage) {
        arguments.push(format!("double *const o{}", block.0));
    }
    arguments.extend(["const double *const u".into(), "const int *const tables".into()]);
    if stage.stage.maximum.is_some() {
        arguments.push("double *const maximum".into());
    }
    let _ = writeln!(
        text,
        "/* {} */\nstatic void {}_stage{}({}) {{",
        stage.stage.name.replace("*/", "* /"),
        kernel.name,
        stage.number,
        arguments.join(", ")
    );
    let needed = graph.reachable(&outputs);
    for (slot, value) in frame.uniforms.iter().enumerate() {
        if needed[value.index()] {
            let truth = graph.node(*value).is_truth();
            let (kind, test) = if truth { ("int", " != 0.0") } else { ("double", "") };
            let _ = writeln!(text, "  const {kind} {} = u[{slot}]{test};", scalars.operand(*value));
        }
    }
    for axis in stage.tables.iter().filter_map(Table::axis) {
        let slot = frame.uniforms.len() + 2 * usize::from(axis);
        let _ = writeln!(text, "  const double low{axis} = u[{slot}], dx{axis} = u[{}];", slot + 1);
    }
    let _ = writeln!(text, "  for (int first = 0; first < {count}; first += {lanes}) {{");
    for (slot, table) in stage.tables.iter().enumerate() {
        let start = slot * stage.padded;
        let _ = writeln!(text, "    const int *const {} = tables + {start} + first;", table.name());
    }
    for value in pieces.iter().flat_map(|piece| &piece.keeps) {
        let _ = writeln!(text, "    double x{}[{lanes}];", value.index());
    }
    for piece in &pieces {
        print_piece(frame, piece, text);
    }
    if let Some(value) = stage.stage.maximum {
        let value = in_tile(frame, value);
        let _ = writeln!(
            text,
            "#pragma omp simd\n    for (int l = 0; l < {lanes}; l++)\n      \
             maximum[l] = {value} > maximum[l] ? {value} : maximum[l];"
        );
    }
    print_writes(frame, stage, text);
    text.push_str("  }\n}\n\n");
}

/// Copies the tile's results to their blocks; lanes beyond the range are dropped.
fn print_writes(frame: &Frame, stage: &StageFrame, text: &mut String) {
    let (lanes, count) = (frame.lanes, stage.voxels);
    let valid = if count % lanes == 0 {
        lanes.to_string()
    } else {
        format!("({count} - first < {lanes} ? {count} - first : {lanes})")
    };
    let _ = writeln!(text, "    for (int l = 0; l < {valid}; l++) {{");
    for block in written(stage.stage) {
        let table = Table::Base(block, [true; 3]).name();
        let shape = &frame.kernel.blocks[usize::from(block.0)];
        let origin = place(shape, 0, [Coordinate::Shift(0); 3]).constant;
        let number = block.0;
        let _ =
            writeln!(text, "      double *const to{number} = o{number} + {table}[l] + {origin};");
        for write in stage.stage.writes.iter().filter(|write| write.block == block) {
            let value = in_tile(frame, write.value);
            let _ = writeln!(text, "      to{number}[{}] = {value};", write.unknown);
        }
    }
    text.push_str("    }\n");
}

fn print_piece(frame: &Frame, piece: &Segment, text: &mut String) {
    let (kernel, scalars, graph) = (frame.kernel, &frame.scalars, &frame.kernel.graph);
    let lanes = frame.lanes;
    let leaves = |leaf: Leaf| lane_leaf(kernel, leaf);
    if piece.library {
        // A loop per call: the calls themselves are scalar.
        for &value in &piece.values {
            let call =
                scalars.expression_of(value, &leaves, &|operand| match graph.node(operand) {
                    Node::Constant(_) => scalars.operand(operand),
                    _ => in_tile(frame, operand),
                });
            let to = in_tile(frame, value);
            let _ = writeln!(text, "    for (int l = 0; l < {lanes}; l++)\n      {to} = {call};");
        }
        return;
    }
    let _ = writeln!(text, "#pragma omp simd\n    for (int l = 0; l < {lanes}; l++) {{");
    for &value in &piece.reads {
        let truth = graph.node(value).is_truth();
        let (kind, test) = if truth { ("int", " != 0.0") } else { ("double", "") };
        let (name, from) = (scalars.operand(value), in_tile(frame, value));
        let _ = writeln!(text, "      const {kind} {name} = {from}{test};");
    }
    text.push_str(&scalars.statements(&piece.values, 6, &leaves));
    for &value in &piece.keeps {
        let mut number = scalars.operand(value);
        if graph.node(value).is_truth() {
            number.push_str(" ? 1.0 : 0.0");
        }
        let _ = writeln!(text, "      {} = {number};", in_tile(frame, value));
    }
    text.push_str("    }\n");
}

/// Expression of a leaf in lane `l` of a tile.
fn lane_leaf(kernel: &Kernel, leaf: Leaf) -> String {
    match leaf {
        Leaf::Load { block, unknown, at } => {
            let place = place(&kernel.blocks[usize::from(block.0)], unknown, at);
            let table = Table::Base(block, place.along).name();
            format!("b{}[{table}[l] + {}]", block.0, place.constant)
        }
        Leaf::Coefficient { matrix, axis, column } => {
            let columns = kernel.matrices[usize::from(matrix)].columns;
            format!("matrix{matrix}[index{axis}[l] * {columns} + {column}]")
        }
        Leaf::Position { axis, halves } => position(axis, halves, &format!("index{axis}[l]")),
        other => uniform_leaf(kernel, other),
    }
}
