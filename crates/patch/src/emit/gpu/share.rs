//! Values that neighbours would compute too: a division or a root of one voxel's unknowns is done once
//! per voxel of a tile and kept in shared memory, not once by every thread that reads the voxel.
//!
//! The same operations in the same order, so the same bits.

use std::collections::HashMap;

use crate::emit::uniform;
use crate::graph::{Binary, BlockId, Coordinate, Graph, Leaf, Node, Unary, Value};
use crate::kernel::{Block, INPUT, Kernel, Stage, Write};

/// Work that makes a value worth a place: reading it back costs some four operations each time.
const WORTH: u32 = 8;

/// Voxels at which a value must be wanted.
const READERS: usize = 3;

/// A kernel split in two.
pub(super) struct Shared {
    /// One stage over all voxels of the input, halo included, into the last block.
    pub(super) points: Kernel,
    /// The kernel, reading what the points wrote.
    pub(super) rest: Kernel,
}

fn weight(node: Node) -> u32 {
    match node {
        Node::Unary(Unary::Negate | Unary::Absolute, _) => 0,
        Node::Unary(..) | Node::Binary(Binary::Divide, ..) => 10,
        Node::Binary(Binary::Power | Binary::ArcTangent2, ..) => 40,
        Node::Binary(..) | Node::Select(..) => 1,
        _ => 0,
    }
}

/// The voxel whose unknowns, and nothing else that differs from voxel to voxel, a node hangs on.
fn homes(graph: &Graph) -> Vec<Option<[i8; 3]>> {
    let same = uniform(graph);
    let mut homes: Vec<Option<[i8; 3]>> = vec![None; graph.nodes().len()];
    for (value, node) in graph.values() {
        homes[value.index()] = match node {
            Node::Leaf(Leaf::Load { block: INPUT, at, .. }) => {
                let shift = |coordinate| match coordinate {
                    Coordinate::Shift(shift) => Some(shift),
                    Coordinate::At(_) => None,
                };
                let [x, y, z] = at.map(shift);
                x.zip(y).zip(z).map(|((x, y), z)| [x, y, z])
            }
            Node::Leaf(_) | Node::Constant(_) => None,
            _ => {
                let operands = node.operands().into_iter().flatten();
                let mut varying = operands.filter(|o| !same[o.index()]).map(|o| homes[o.index()]);
                let first = varying.next().flatten();
                if varying.all(|home| home == first) { first } else { None }
            }
        };
    }
    homes
}

/// Adds a node to a graph, its operands given.
fn add(graph: &mut Graph, node: Node, at: impl Fn(Value) -> Value) -> Value {
    match node {
        Node::Constant(bits) => graph.constant(f64::from_bits(bits)),
        Node::Leaf(leaf) => graph.leaf(leaf),
        Node::Unary(function, a) => graph.unary(function, at(a)),
        Node::Binary(function, a, b) => graph.binary(function, at(a), at(b)),
        Node::Logic(logic, a, b) => graph.logic(logic, at(a), at(b)),
        Node::Not(a) => graph.not(at(a)),
        Node::Select(c, a, b) => graph.select(at(c), at(a), at(b)),
    }
}

/// Splits a fused kernel; none where neighbours share nothing worth it.
pub(super) fn split(kernel: &Kernel) -> Option<Shared> {
    let [stage] = kernel.stages.as_slice() else { return None };
    let graph = &kernel.graph;
    let outputs = stage.outputs();
    let needed = graph.reachable(&outputs);
    let (same, homes) = (uniform(graph), homes(graph));
    // Every node of one voxel as if it were voxel 0: equal functions become one value.
    let mut points = Graph::new();
    let mut canonical: Vec<Option<Value>> = vec![None; graph.nodes().len()];
    let mut readers: HashMap<Value, Vec<[i8; 3]>> = HashMap::new();
    for (value, node) in graph.values().filter(|(v, _)| needed[v.index()]) {
        let home = homes[value.index()];
        if home.is_none() && !same[value.index()] {
            continue;
        }
        let at_zero = match node {
            Node::Leaf(Leaf::Load { block, unknown, .. }) => {
                points.leaf(Leaf::Load { block, unknown, at: [Coordinate::Shift(0); 3] })
            }
            _ => add(&mut points, node, |o| canonical[o.index()].expect("operands come first")),
        };
        canonical[value.index()] = Some(at_zero);
        if let Some(home) = home {
            let list = readers.entry(at_zero).or_default();
            if !list.contains(&home) {
                list.push(home);
            }
        }
    }
    // In computing order, so that what hangs on a kept value counts only what it adds.
    let point_same = uniform(&points);
    let mut kept: Vec<Value> = Vec::new();
    for (value, node) in points.values() {
        let wanted = readers.get(&value).is_some_and(|list| list.len() >= READERS);
        if !wanted || point_same[value.index()] || node.is_truth() {
            continue;
        }
        let mut seen = vec![value];
        let mut next = 0;
        let mut work = 0;
        while next < seen.len() {
            let node = points.node(seen[next]);
            next += 1;
            work += weight(node);
            for operand in node.operands().into_iter().flatten() {
                let fixed = point_same[operand.index()] || kept.contains(&operand);
                if !fixed && !seen.contains(&operand) {
                    seen.push(operand);
                }
            }
        }
        if work >= WORTH {
            kept.push(value);
        }
    }
    if kept.is_empty() {
        return None;
    }
    let block = BlockId(u16::try_from(kernel.blocks.len()).ok()?);
    let input = &kernel.blocks[usize::from(INPUT.0)];
    let mut blocks = kernel.blocks.clone();
    blocks.push(Block {
        name: "points".into(),
        width: u16::try_from(kept.len()).ok()?,
        low: input.low,
        high: input.high,
    });
    let mut rest = Graph::new();
    let mut here: Vec<Option<Value>> = vec![None; graph.nodes().len()];
    for (value, node) in graph.values().filter(|(v, _)| needed[v.index()]) {
        let place = canonical[value.index()].and_then(|c| kept.iter().position(|&k| k == c));
        here[value.index()] = Some(match (place, homes[value.index()]) {
            (Some(place), Some(home)) => rest.leaf(Leaf::Load {
                block,
                unknown: u16::try_from(place).ok()?,
                at: home.map(Coordinate::Shift),
            }),
            _ => add(&mut rest, node, |o| here[o.index()].expect("operands come first")),
        });
    }
    let at = |value: Value| here[value.index()].expect("outputs are needed");
    let writes = stage.writes.iter().map(|write| Write { value: at(write.value), ..*write });
    let stage_of_rest =
        Stage { writes: writes.collect(), maximum: stage.maximum.map(at), ..stage.clone() };
    let writes = (0u16..).zip(&kept).map(|(unknown, &value)| Write { block, unknown, value });
    let stage_of_points = Stage {
        name: "values of a voxel that its neighbours read".into(),
        low: input.low,
        high: input.high,
        writes: writes.collect(),
        maximum: None,
        call: None,
    };
    let with = |graph: Graph, stage: Stage| Kernel {
        graph,
        stages: vec![stage],
        blocks: blocks.clone(),
        ..kernel.clone()
    };
    Some(Shared { points: with(points, stage_of_points), rest: with(rest, stage_of_rest) })
}
