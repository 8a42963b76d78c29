//! What `--emit` prints of a kernel on its way: the scheme, its statements for one physics with
//! directions written out, the stages with their memory, and the graph with its operations.

use std::fmt::Write as _;

use crate::graph::{Binary, Coordinate, Graph, Leaf, Logic, Node, Unary, Value};
use crate::kernel::{Kernel, Stage};
use crate::lower::{Resolved, scratch};
use crate::ranges::{Unused, infer};
use crate::scheme::{AXES, Action, OUTPUT, expanded_text};

/// Statements for one physics, directions written out, with the range of each.
pub(crate) fn expanded(resolved: &Resolved, axes: usize) -> crate::Result<String> {
    let scheme = &resolved.scheme;
    let ranges = infer(scheme, Unused::Dropped, axes)?;
    let mut lines = Vec::new();
    for statement in &scheme.statements {
        for axis in 0..if statement.directional { axes } else { 1 } {
            let range = match statement.action {
                Action::Assign { block, .. } if block != OUTPUT => match ranges.hull(block, axis) {
                    Some(hull) => hull,
                    None => continue,
                },
                _ => [crate::ranges::Margin::INTERIOR; 3],
            };
            let range: Vec<String> = range[..axes].iter().map(|margin| margin.text()).collect();
            lines.push((expanded_text(scheme, statement, axis, axes), range.join(", ")));
        }
    }
    Ok(lines.into_iter().fold(String::new(), |mut text, (statement, range)| {
        let _ = writeln!(text, "{statement}    # on {range}");
        text
    }))
}

/// Blocks with their memory, then stages with their work.
#[must_use]
pub fn lowered(kernel: &Kernel) -> String {
    let mut text = format!("kernel {}\n", kernel.name);
    let scratch = scratch(kernel);
    for (block, offset) in kernel.blocks.iter().zip(&scratch.offsets) {
        let range = range(kernel, block.low, block.high);
        let bytes = block.voxels() * usize::from(block.width) * 8;
        let place = offset.map_or_else(String::new, |offset| format!(" at {}", offset * 8));
        let _ = writeln!(
            text,
            "  block {} of {} on {range}: {bytes} B{place}",
            block.name, block.width
        );
    }
    let _ = writeln!(
        text,
        "  scratch of a patch: {} B, {} B if nothing were shared",
        scratch.bytes(),
        scratch.unshared * 8
    );
    for (place, stage) in kernel.stages.iter().enumerate() {
        let range = range(kernel, stage.low, stage.high);
        let flops = kernel.graph.flops(&stage.outputs());
        let _ = writeln!(text, "  stage {place} on {range}: {} flop per voxel", flops.total());
        let _ = writeln!(
            text,
            "    + - {}, * {}, / {}, functions {}, min max {}; {} loads, {} writes{}{}",
            flops.add,
            flops.multiply,
            flops.divide,
            flops.function,
            flops.extreme,
            loads(&kernel.graph, stage),
            stage.writes.len(),
            if stage.maximum.is_some() { ", a maximum" } else { "" },
            stage
                .call
                .as_ref()
                .map_or_else(String::new, |call| format!(", calls {} alone", call.term.name()))
        );
        for statement in stage.name.split("; ") {
            let _ = writeln!(text, "    {statement}");
        }
    }
    let _ = writeln!(
        text,
        "  {:.0} flop and at least {:.0} B per voxel of the patch",
        kernel.flops(),
        kernel.least_bytes()
    );
    text
}

/// Every stage as single assignments.
#[must_use]
pub fn graph(kernel: &Kernel) -> String {
    let mut text = String::new();
    for (place, stage) in kernel.stages.iter().enumerate() {
        let _ = writeln!(text, "stage {place}");
        let needed = kernel.graph.reachable(&stage.outputs());
        for (value, node) in kernel.graph.values() {
            if needed[value.index()] && !matches!(node, Node::Constant(_)) {
                let _ = writeln!(text, "  v{} = {}", value.index(), self::node(kernel, &node));
            }
        }
        for write in &stage.writes {
            let block = &kernel.blocks[usize::from(write.block.0)].name;
            let _ =
                writeln!(text, "  {block}.{} = {}", write.unknown, operand(kernel, write.value));
        }
        if let Some(maximum) = stage.maximum {
            let _ = writeln!(text, "  reduce max {}", operand(kernel, maximum));
        }
    }
    text
}

fn range(kernel: &Kernel, low: [i16; 3], high: [i16; 3]) -> String {
    let axes = usize::from(kernel.shape.dimensions);
    let all: Vec<String> = (0..axes).map(|axis| format!("{}..{}", low[axis], high[axis])).collect();
    all.join(", ")
}

fn loads(graph: &Graph, stage: &Stage) -> usize {
    let needed = graph.reachable(&stage.outputs());
    let load = |node: &Node| matches!(node, Node::Leaf(Leaf::Load { .. }));
    graph.values().filter(|(value, node)| needed[value.index()] && load(node)).count()
}

fn operand(kernel: &Kernel, value: Value) -> String {
    match kernel.graph.constant_of(value) {
        Some(number) => format!("{number}"),
        None => format!("v{}", value.index()),
    }
}

fn node(kernel: &Kernel, node: &Node) -> String {
    let at = |value: Value| operand(kernel, value);
    match *node {
        Node::Constant(bits) => format!("{}", f64::from_bits(bits)),
        Node::Leaf(start) => leaf(kernel, start),
        Node::Unary(Unary::Negate, a) => format!("-{}", at(a)),
        Node::Unary(function, a) => format!("{}({})", unary(function), at(a)),
        Node::Binary(function, a, b) => match function {
            Binary::Add => format!("{} + {}", at(a), at(b)),
            Binary::Subtract => format!("{} - {}", at(a), at(b)),
            Binary::Multiply => format!("{} * {}", at(a), at(b)),
            Binary::Divide => format!("{} / {}", at(a), at(b)),
            Binary::Minimum => format!("min({}, {})", at(a), at(b)),
            Binary::Maximum => format!("max({}, {})", at(a), at(b)),
            Binary::Power => format!("pow({}, {})", at(a), at(b)),
            Binary::ArcTangent2 => format!("atan2({}, {})", at(a), at(b)),
        },
        Node::Logic(logic, a, b) => {
            let sign = match logic {
                Logic::Less => "<",
                Logic::LessEqual => "<=",
                Logic::Equal => "==",
                Logic::And => "and",
                Logic::Or => "or",
            };
            format!("{} {sign} {}", at(a), at(b))
        }
        Node::Not(a) => format!("not {}", at(a)),
        Node::Select(c, a, b) => format!("{} if {} else {}", at(a), at(c), at(b)),
    }
}

const fn unary(function: Unary) -> &'static str {
    match function {
        Unary::Absolute => "abs",
        other => crate::emit::unary_name(other),
    }
}

fn leaf(kernel: &Kernel, leaf: Leaf) -> String {
    let axis_name = |axis: u8| AXES.get(usize::from(axis)).copied().unwrap_or("?");
    match leaf {
        Leaf::Argument(place) => format!("argument {place}"),
        Leaf::Parameter(place) => {
            let known = kernel.parameters.get(usize::from(place));
            known.map_or_else(|| format!("parameter {place}"), |known| known.name.clone())
        }
        Leaf::Load { block, unknown, at } => {
            let mut text = format!("{}.{unknown}", kernel.blocks[usize::from(block.0)].name);
            let axes = usize::from(kernel.shape.dimensions);
            let place: Vec<String> = (0..axes)
                .filter_map(|axis| match at[axis] {
                    Coordinate::Shift(0) => None,
                    Coordinate::Shift(shift) => Some(format!("{}{shift:+}", AXES[axis])),
                    Coordinate::At(index) => Some(format!("{} at {index}", AXES[axis])),
                })
                .collect();
            if !place.is_empty() {
                let _ = write!(text, "[{}]", place.join(", "));
            }
            text
        }
        Leaf::Coefficient { matrix, axis, column } => {
            let name = &kernel.matrices[usize::from(matrix)].name;
            format!("{name}[{}][{column}]", axis_name(axis))
        }
        Leaf::Spacing(axis) => format!("dx({})", axis_name(axis)),
        Leaf::Position { axis, halves: 0 } => format!("position({})", axis_name(axis)),
        Leaf::Position { axis, halves } => format!("position({} {halves:+}/2)", axis_name(axis)),
        Leaf::Time => "t".into(),
        Leaf::TimeStep => "dt".into(),
    }
}
