//! Sums of neighbours' fluxes in vectors of voxels, without gathers and scatters.
//!
//! Fluxes are computed once per voxel and direction, by vectors of any eight voxels, whose unknowns lie
//! side by side in the chunk and are turned by shuffles ([`super::turn`]). They are stored by unknown, so
//! that a vector of results is one store. Sums of fluxes are taken by vectors of a row's voxels and turned
//! back; what remains, sums of the chunk itself, goes by rows of voxels and unknowns in one
//! ([`super::flat`]).
//!
//! Surplus lanes of a row's last vector are computed from whatever lies there, and dropped.
// Fluxes of all axes at once by runs of four voxels along x, so that a voxel is turned once: slower
// (Euler, p = 6: 25 against 20 ns per voxel), since rows of whole runs leave the first-level cache.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::flat::{self, VECTOR};
use super::frame::{Frame, StageFrame, written};
use super::rows::{Form, Parts, block, by_axis, replaced, writes};
use super::turn;
use super::{length, loaded, uniform_leaf};
use crate::emit::{Scalars, depth_first, is_library_call, place, strides};
use crate::graph::{BlockId, Coordinate, Graph, Leaf, Node, Value};
use crate::kernel::{Block, INPUT, Kernel, Stage};

/// Most values in one loop: compilers take much more than twice the time for twice as many.
const LONGEST: usize = 400;

/// The kernel in fluxes, sums and rows, if it can be had so.
pub(super) fn stored(parts: &Parts) -> Option<(Kernel, Vec<Form>)> {
    let mut made = parts.bare();
    let mut graph = Graph::new();
    let ids = by_axis(parts, &mut made, &mut graph)?;
    let mut forms = vec![Form::Points; made.stages.len()];

    let rest = parts.rest(ids, &mut graph);
    let sums = sums(&graph, &rest)?;
    let simple = |values: &[Value]| {
        let order = depth_first(&graph, values);
        order.len() <= LONGEST && !order.iter().any(|&value| is_library_call(&graph.node(value)))
    };
    let output = parts.stage;
    if !made.stages.iter().all(|stage| simple(&stage.outputs())) || !simple(&sums) {
        return None;
    }
    forms.push(Form::Sums);
    if sums == rest {
        made.stages.push(parts.last(&rest));
        made.graph = graph;
        return Some((made, forms));
    }
    let id = block(&mut made, "sums", sums.len(), [output.low, output.high])?;
    let summed =
        Stage { name: "sums".into(), writes: writes(id, &sums).collect(), ..parts.last(&rest) };
    made.stages.push(summed);
    let load = |unknown| Leaf::Load { block: id, unknown, at: [Coordinate::Shift(0); 3] };
    let cut: HashMap<Value, Leaf> =
        sums.iter().zip(0u16..).map(|(&sum, unknown)| (sum, load(unknown))).collect();
    let before = graph.clone();
    let values = replaced(&before, &rest, &cut, &mut graph);
    made.graph = graph;
    made.stages.push(parts.last(&values));
    forms.push(Form::Tiles);
    let last = made.stages.last()?;
    flat::flat(&made, &Scalars::new(&made.graph), last).is_some().then_some((made, forms))
}

/// The largest part of each value that loads from what is stored alone; one each, or none at all.
fn sums(graph: &Graph, outputs: &[Value]) -> Option<Vec<Value>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Source {
        Nothing,
        Stored,
        Other,
    }
    let mut sources = vec![Source::Nothing; graph.nodes().len()];
    for (value, node) in graph.values() {
        let own = match node {
            Node::Leaf(Leaf::Load { block, .. }) if block != INPUT => Source::Stored,
            Node::Leaf(
                Leaf::Load { .. }
                | Leaf::Coefficient { .. }
                | Leaf::Position { .. }
                | Leaf::Argument(_),
            ) => Source::Other,
            _ => Source::Nothing,
        };
        let join = |a, b: Value| match (a, sources[b.index()]) {
            (one, Source::Nothing) | (Source::Nothing, one) => one,
            (one, other) if one == other => one,
            _ => Source::Other,
        };
        sources[value.index()] = node.operands().into_iter().flatten().fold(own, join);
    }
    let stored = |value: &Value| sources[value.index()] == Source::Stored;
    let part = |&output: &Value| {
        if stored(&output) {
            return Some(output);
        }
        let order = depth_first(graph, &[output]);
        let others = order.iter().filter(|value| sources[value.index()] == Source::Other);
        let operands = others.flat_map(|&value| graph.node(value).operands().into_iter().flatten());
        let parts: HashSet<Value> = operands.filter(stored).collect();
        (parts.len() == 1).then(|| parts.into_iter().next()).flatten()
    };
    let sums = outputs.iter().map(part).collect::<Option<Vec<Value>>>()?;
    let whole = sums.iter().zip(outputs).filter(|(sum, output)| sum == output).count();
    let different = sums.iter().collect::<HashSet<_>>().len() == sums.len();
    (different && (whole == 0 || whole == sums.len())).then_some(sums)
}

/// Values between an unknown and the next in a block that lies by unknown: whole vectors.
pub(super) fn step(block: &Block) -> usize {
    block.voxels().next_multiple_of(VECTOR)
}

/// Where a load finds its value in a block that lies by unknown, the voxel's own index apart.
fn by_unknown(block: &Block, unknown: u16, at: [Coordinate; 3]) -> i64 {
    let one = Block { width: 1, ..block.clone() };
    let start = usize::from(unknown) * step(block);
    place(&one, 0, at).constant + i64::try_from(start).unwrap_or(i64::MAX)
}

/// `a * x + b * y + c * z` in a block that lies by unknown.
fn base(block: &Block) -> String {
    let [_, y, z] = strides(&Block { width: 1, ..block.clone() });
    format!("x + {y} * y + {z} * z")
}

/// Opens the function of a stage: its arguments and uniform values.
fn open(frame: &Frame, stage: &StageFrame, order: &[Value], text: &mut String) {
    let (kernel, scalars) = (frame.kernel, &frame.scalars);
    let blocks = loaded(&kernel.graph, &stage.stage.outputs());
    let mut arguments: Vec<String> =
        blocks.iter().map(|block| format!("const double *const b{}", block.0)).collect();
    arguments
        .extend(written(stage.stage).iter().map(|block| format!("double *const o{}", block.0)));
    let _ = writeln!(
        text,
        "/* {} */\nstatic void {}_stage{}({}, const double *const u, const ptrdiff_t *tables) {{\n  \
         (void)tables, (void)u;",
        stage.stage.name.replace("*/", "* /"),
        kernel.name,
        stage.number,
        arguments.join(", ")
    );
    for (slot, &value) in frame.uniforms.iter().enumerate() {
        let used = order.iter().any(|&one| {
            kernel.graph.node(one).operands().into_iter().flatten().any(|other| other == value)
        }) || stage.stage.outputs().contains(&value);
        if used {
            let truth = kernel.graph.node(value).is_truth();
            let (kind, test) = if truth { ("int", " != 0.0") } else { ("double", "") };
            let _ = writeln!(text, "  const {kind} {} = u[{slot}]{test};", scalars.operand(value));
        }
    }
}

/// What a stage's values need, in computing order.
fn order(frame: &Frame, stage: &Stage) -> Vec<Value> {
    let varies = |value: &Value| !frame.scalars.is_uniform(*value);
    depth_first(&frame.kernel.graph, &stage.outputs()).into_iter().filter(varies).collect()
}

/// The function of a stage that leaves values by unknown.
pub(super) fn print_points(frame: &Frame, stage: &StageFrame, text: &mut String) {
    let (kernel, scalars) = (frame.kernel, &frame.scalars);
    let order = order(frame, stage.stage);
    open(frame, stage, &order, text);
    let input = &kernel.blocks[usize::from(INPUT.0)];
    let origin = place(input, 0, [Coordinate::Shift(0); 3]).constant;
    let _ = writeln!(
        text,
        "  for (int first = 0; first < {}; first += {VECTOR}, tables += {VECTOR}) {{\n    \
         double x[{}][{VECTOR}] {};\n    {}_take(b0 + {origin}, tables, x);\n\
         #pragma omp simd\n    for (int l = 0; l < {VECTOR}; l++) {{",
        stage.padded,
        input.width,
        turn::LINE,
        kernel.name,
    );
    let leaves = |leaf: Leaf| match leaf {
        Leaf::Load { unknown, .. } => format!("x[{unknown}][l]"),
        other => uniform_leaf(kernel, other),
    };
    text.push_str(&scalars.statements(&order, 6, &leaves));
    for write in &stage.stage.writes {
        let to = &kernel.blocks[usize::from(write.block.0)];
        let start = usize::from(write.unknown) * step(to);
        let value = scalars.operand(write.value);
        let _ = writeln!(text, "      o{}[{start} + first + l] = {value};", write.block.0);
    }
    text.push_str("    }\n  }\n}\n\n");
}

/// The function of a stage that sums what lies by unknown and leaves it by voxel.
pub(super) fn print_sums(frame: &Frame, stage: &StageFrame, text: &mut String) {
    let (kernel, scalars) = (frame.kernel, &frame.scalars);
    let order = order(frame, stage.stage);
    open(frame, stage, &order, text);
    let (low, high) = (stage.stage.low, stage.stage.high);
    text.push_str(&flat::rows(low, high));
    let to = written(stage.stage)[0];
    let width = usize::from(kernel.blocks[usize::from(to.0)].width);
    let cells = usize::try_from(high[0] - low[0]).unwrap_or(0);
    for (first, last, valid) in
        [(0, cells / VECTOR * VECTOR, VECTOR), (cells / VECTOR * VECTOR, cells, cells % VECTOR)]
    {
        if first == last {
            continue;
        }
        let from = i64::from(low[0]) + i64::try_from(first).unwrap_or(0);
        let _ = writeln!(
            text,
            "  for (int x = {from}; x < {}; x += {VECTOR}) {{",
            from + i64::try_from(last - first).unwrap_or(0)
        );
        for block in loaded(&kernel.graph, &stage.stage.outputs()) {
            let shape = &kernel.blocks[usize::from(block.0)];
            let origin = by_unknown(shape, 0, [Coordinate::Shift(0); 3]);
            let _ = writeln!(
                text,
                "    const double *const q{0} = b{0} + {origin} + {1};",
                block.0,
                base(shape)
            );
        }
        let leaves = |leaf: Leaf| match leaf {
            Leaf::Load { block, unknown, at } => {
                let shape = &kernel.blocks[usize::from(block.0)];
                let origin = by_unknown(shape, 0, [Coordinate::Shift(0); 3]);
                format!("q{}[l + {}]", block.0, by_unknown(shape, unknown, at) - origin)
            }
            other => uniform_leaf(kernel, other),
        };
        // Rows of few voxels by half vectors, and rows that fill none stored value by value: Euler by
        // fd4 at p = 3 16.4 against 21.9 ns per voxel, at p = 6 14.3 against 14.9 (Zen 4).
        let lanes = if valid <= VECTOR / 2 { VECTOR / 2 } else { VECTOR };
        let _ = writeln!(
            text,
            "    double r[{width}][{VECTOR}] {};\n\
             #pragma omp simd\n    for (int l = 0; l < {lanes}; l++) {{",
            turn::LINE
        );
        text.push_str(&scalars.statements(&order, 6, &leaves));
        for write in &stage.stage.writes {
            let value = scalars.operand(write.value);
            let _ = writeln!(text, "      r[{}][l] = {value};", write.unknown);
        }
        let shape = &kernel.blocks[usize::from(to.0)];
        let origin = place(shape, 0, [Coordinate::Shift(0); 3]).constant;
        let [step, y, z] = strides(shape);
        let _ = writeln!(
            text,
            "    }}\n    double *const row = o{} + {origin} + {step} * x + {y} * y + {z} * z;",
            to.0,
        );
        let _ = if valid == VECTOR {
            writeln!(text, "    {}_put{width}(r, row);\n  }}", kernel.name)
        } else {
            writeln!(
                text,
                "    for (int l = 0; l < {valid}; l++)\n      for (int u = 0; u < {width}; u++)\n        \
                 row[{width} * l + u] = r[u][l];\n  }}"
            )
        };
    }
    text.push_str("  }\n}\n\n");
}

/// Values of a block, padding included.
pub(super) fn size(frame: &Frame, block: BlockId) -> usize {
    let points =
        |stage: &StageFrame| stage.form == Form::Points && written(stage.stage).contains(&block);
    let shape = &frame.kernel.blocks[usize::from(block.0)];
    if frame.stages.iter().any(points) {
        step(shape) * usize::from(shape.width)
    } else {
        length(frame.kernel, block).next_multiple_of(VECTOR)
    }
}
