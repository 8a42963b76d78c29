//! Sums of neighbours' fluxes: fluxes once per voxel and direction, then sums by rows.
//!
//! A kernel of one stage computes the flux of a voxel again for every neighbour that looks at it.
//! Where all the rest is a sum taken alike for all unknowns, as in central differences with
//! dissipation, it pays to keep a patch's fluxes (they stay in the cache) and to sum them by whole rows,
//! as [`super::flat`] does. Operations and their order stay, and with them all bits.

use std::collections::HashMap;

use super::flat;
use crate::emit::Scalars;
use crate::graph::{BlockId, Coordinate, Graph, Leaf, Node, Value};
use crate::kernel::{Block, INPUT, Kernel, OUTPUT, Stage, Write};

/// What a value loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Nothing,
    /// One voxel, and its one unknown if only one.
    Voxel([i8; 3], Option<u16>),
    Many,
}

/// A value of one neighbour's several unknowns that something of several voxels uses.
struct Point {
    value: Value,
    axis: usize,
    shift: i8,
    /// The same at the voxel itself, in a graph for all.
    class: Value,
}

/// A kernel of one stage taken apart: what is stored, and who uses it.
pub(super) struct Parts<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) stage: &'a Stage,
    /// Values at the voxel itself.
    pub(super) here: Graph,
    /// What is stored along each axis, in `here`; nothing where no neighbour is read.
    pub(super) values: [Vec<Value>; 3],
    /// Farthest neighbours along each axis, 0 among them.
    pub(super) reach: [[i16; 2]; 3],
    points: Vec<Point>,
    classes: HashMap<(usize, Value), usize>,
}

/// How a stage is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Tiles of any voxels, or rows where all unknowns are treated alike.
    Tiles,
    /// Vectors of any voxels, results by unknown: [`super::planar`].
    Points,
    /// Values by unknown turned to values by voxel: [`super::planar`].
    Sums,
}

/// The kernel with its fluxes stored, if that leaves a sum alike for all unknowns.
pub(super) fn stored(kernel: &Kernel) -> Option<(Kernel, Vec<Form>)> {
    let parts = parts(kernel)?;
    super::planar::stored(&parts).or_else(|| in_tiles(&parts))
}

fn parts(kernel: &Kernel) -> Option<Parts<'_>> {
    let [stage] = kernel.stages.as_slice() else { return None };
    let output = &kernel.blocks[usize::from(OUTPUT.0)];
    if stage.maximum.is_some() || (stage.low, stage.high) != (output.low, output.high) {
        return None;
    }
    let mut here = Graph::new();
    let points = points(&kernel.graph, stage, &mut here)?;
    // Unknown `u` of an axis's block is the one class that write `u` uses.
    let mut classes: HashMap<(usize, Value), usize> = HashMap::new();
    let mut blocks: [Vec<Option<Value>>; 3] = Default::default();
    let mut reach = [[0i16; 2]; 3];
    for (unknown, write) in stage.writes.iter().enumerate() {
        let needed = reachable_until(&kernel.graph, write.value, &points);
        for point in points.iter().filter(|point| needed[point.value.index()]) {
            let known = *classes.entry((point.axis, point.class)).or_insert(unknown);
            blocks[point.axis].resize(stage.writes.len(), None);
            let place = &mut blocks[point.axis][unknown];
            if known != unknown || place.is_some_and(|other| other != point.class) {
                return None;
            }
            *place = Some(point.class);
            let [low, high] = &mut reach[point.axis];
            (*low, *high) = ((*low).min(point.shift.into()), (*high).max(point.shift.into()));
        }
    }
    let [x, y, z] = blocks.map(|block| block.into_iter().collect::<Option<Vec<Value>>>());
    Some(Parts { kernel, stage, here, values: [x?, y?, z?], reach, points, classes })
}

impl Parts<'_> {
    /// A kernel without stages and temporaries.
    pub(super) fn bare(&self) -> Kernel {
        Kernel {
            blocks: self.kernel.blocks[..2].to_vec(),
            stages: Vec::new(),
            ..self.kernel.clone()
        }
    }

    /// What the stage writes, with all that is stored loaded from an axis's block.
    pub(super) fn rest(&self, ids: [BlockId; 3], graph: &mut Graph) -> Vec<Value> {
        let stored = |point: &Point| {
            let mut at = [Coordinate::Shift(0); 3];
            at[point.axis] = Coordinate::Shift(point.shift);
            let unknown = self.classes[&(point.axis, point.class)];
            let unknown = u16::try_from(unknown).unwrap_or(u16::MAX);
            (point.value, Leaf::Load { block: ids[point.axis], unknown, at })
        };
        let cut: HashMap<Value, Leaf> = self.points.iter().map(stored).collect();
        replaced(&self.kernel.graph, &self.stage.outputs(), &cut, graph)
    }

    /// The stage with other values.
    pub(super) fn last(&self, values: &[Value]) -> Stage {
        let mut last = self.stage.clone();
        for (write, &value) in last.writes.iter_mut().zip(values) {
            write.value = value;
        }
        last
    }
}

/// A block for what is stored along an axis.
pub(super) fn block(
    kernel: &mut Kernel,
    name: &str,
    width: usize,
    range: [[i16; 3]; 2],
) -> Option<BlockId> {
    let id = BlockId(u16::try_from(kernel.blocks.len()).ok()?);
    let [low, high] = range;
    kernel.blocks.push(Block { name: name.into(), width: u16::try_from(width).ok()?, low, high });
    Some(id)
}

/// Writes of values to a block's unknowns.
pub(super) fn writes(block: BlockId, values: &[Value]) -> impl Iterator<Item = Write> + '_ {
    (0u16..).zip(values).map(move |(unknown, &value)| Write { block, unknown, value })
}

/// Adds a stage and a block per axis for what is stored there.
// The interior of all axes in one stage, which halves gathers and divisions: Euler 2 % faster at p = 3,
// 5 % slower at 6 and 10 % at 16, where more is scattered at once.
pub(super) fn by_axis(parts: &Parts, made: &mut Kernel, graph: &mut Graph) -> Option<[BlockId; 3]> {
    let mut ids = [INPUT; 3];
    for axis in (0..3).filter(|&axis| !parts.values[axis].is_empty()) {
        let (mut low, mut high) = (parts.stage.low, parts.stage.high);
        low[axis] += parts.reach[axis][0];
        high[axis] += parts.reach[axis][1];
        let name = format!("values along {}", ["x", "y", "z"][axis]);
        let values = graph.graft(&parts.here, &parts.values[axis], Graph::leaf);
        ids[axis] = block(made, &name, values.len(), [low, high])?;
        let writes = writes(ids[axis], &values).collect();
        made.stages.push(Stage { name, low, high, writes, maximum: None, call: None });
    }
    Some(ids)
}

/// Stages in tiles, for what [`super::planar`] does not take.
fn in_tiles(parts: &Parts) -> Option<(Kernel, Vec<Form>)> {
    let mut made = parts.bare();
    let mut graph = Graph::new();
    let ids = by_axis(parts, &mut made, &mut graph)?;
    let values = parts.rest(ids, &mut graph);
    made.graph = graph;
    made.stages.push(parts.last(&values));
    let flat = flat::flat(&made, &Scalars::new(&made.graph), made.stages.last()?).is_some();
    let forms = vec![Form::Tiles; made.stages.len()];
    flat.then_some((made, forms))
}

/// The points of a stage; none if there are none, or loads that are not by shifts of the input.
fn points(graph: &Graph, stage: &Stage, here: &mut Graph) -> Option<Vec<Point>> {
    let needed = graph.reachable(&stage.outputs());
    let mut sources = vec![Source::Nothing; graph.nodes().len()];
    let mut used = vec![false; graph.nodes().len()];
    for (value, node) in graph.values().filter(|(value, _)| needed[value.index()]) {
        let mut source = match node {
            Node::Leaf(Leaf::Load { block, unknown, at }) => {
                let mut shifts = [0; 3];
                for axis in 0..3 {
                    let Coordinate::Shift(shift) = at[axis] else { return None };
                    shifts[axis] = shift;
                }
                if block != INPUT {
                    return None;
                }
                Source::Voxel(shifts, Some(unknown))
            }
            Node::Leaf(Leaf::Position { .. } | Leaf::Coefficient { .. }) => Source::Many,
            _ => Source::Nothing,
        };
        for operand in node.operands().into_iter().flatten() {
            source = match (source, sources[operand.index()]) {
                (one, Source::Nothing) | (Source::Nothing, one) => one,
                (Source::Voxel(at, a), Source::Voxel(other, b)) if at == other => {
                    Source::Voxel(at, if a == b { a } else { None })
                }
                _ => Source::Many,
            };
        }
        if source == Source::Many {
            for operand in node.operands().into_iter().flatten() {
                used[operand.index()] = true;
            }
        }
        sources[value.index()] = source;
    }
    let mut points = Vec::new();
    for (value, node) in graph.values().filter(|(value, _)| used[value.index()]) {
        let Source::Voxel(at, None) = sources[value.index()] else { continue };
        let mut axes = (0..3).filter(|&axis| at[axis] != 0);
        let (Some(axis), None, false) = (axes.next(), axes.next(), node.is_truth()) else {
            continue;
        };
        let own = here.graft(graph, &[value], |here, leaf| match leaf {
            Leaf::Load { block, unknown, .. } => {
                here.leaf(Leaf::Load { block, unknown, at: [Coordinate::Shift(0); 3] })
            }
            other => here.leaf(other),
        });
        points.push(Point { value, axis, shift: at[axis], class: own[0] });
    }
    (!points.is_empty()).then_some(points)
}

/// For every node whether `output` needs it, points taken as given.
fn reachable_until(graph: &Graph, output: Value, points: &[Point]) -> Vec<bool> {
    let mut given = vec![false; graph.nodes().len()];
    for point in points {
        given[point.value.index()] = true;
    }
    let mut needed = vec![false; graph.nodes().len()];
    for value in crate::emit::depth_first_until(graph, &[output], &|value| given[value.index()]) {
        needed[value.index()] = true;
    }
    needed
}

/// Adds to `to` what `outputs` need, with the values of `cut` loaded.
pub(super) fn replaced(
    from: &Graph,
    outputs: &[Value],
    cut: &HashMap<Value, Leaf>,
    to: &mut Graph,
) -> Vec<Value> {
    let mut here: HashMap<Value, Value> = HashMap::new();
    // In the graph's own order, which sums keep their operands in: alike stays alike.
    let mut order =
        crate::emit::depth_first_until(from, outputs, &|value| cut.contains_key(&value));
    order.sort_unstable();
    for value in order {
        let at = |operand: Value| here[&operand];
        let made = match (cut.get(&value), from.node(value)) {
            (Some(&leaf), _) | (None, Node::Leaf(leaf)) => to.leaf(leaf),
            (None, Node::Constant(bits)) => to.constant(f64::from_bits(bits)),
            (None, Node::Unary(function, a)) => to.unary(function, at(a)),
            (None, Node::Binary(function, a, b)) => to.binary(function, at(a), at(b)),
            (None, Node::Logic(logic, a, b)) => to.logic(logic, at(a), at(b)),
            (None, Node::Not(a)) => to.not(at(a)),
            (None, Node::Select(c, a, b)) => to.select(at(c), at(a), at(b)),
        };
        here.insert(value, made);
    }
    outputs.iter().map(|output| here[output]).collect()
}
