//! Values of single unknowns that all unknowns have alike, such as a derivative of each.
//!
//! In a chunk a voxel's unknowns lie side by side, so such values are computed best with a vector of
//! unknowns: loads are contiguous and each unknown of a stencil is loaded once per voxel, where a
//! vector of voxels would gather every one of them. A family is a set of such values of equal form;
//! its members reach the lanes by one gather each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::emit::{Scalars, depth_first, place};
use crate::graph::{BlockId, Coordinate, Leaf, Node, Value};
use crate::kernel::Kernel;

/// Members that make a loop over unknowns worth it: two vectors.
const LEAST_MEMBERS: usize = 16;

/// Families of a stage that load from one block.
#[derive(Debug, Clone)]
pub(super) struct Families {
    pub(super) block: BlockId,
    /// A member of each family, all of the same unknown.
    pub(super) samples: Vec<Value>,
    /// First unknown of the loop, and how many.
    pub(super) first: u16,
    pub(super) count: usize,
    /// Family and unknown of every member.
    pub(super) members: HashMap<Value, (usize, u16)>,
}

impl Families {
    /// Values of a voxel's families, in doubles.
    pub(super) fn stride(&self) -> usize {
        self.samples.len() * self.count
    }

    /// Where a member lies among them.
    pub(super) fn place(&self, value: Value) -> Option<usize> {
        let (family, unknown) = self.members.get(&value)?;
        Some(family * self.count + usize::from(unknown - self.first))
    }
}

/// What a value loads, if one unknown of one block alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Nothing that varies.
    Nothing,
    One(BlockId, u16),
    /// Several unknowns, or something that is no load by shifts.
    Many,
}

/// The families of what `outputs` need, if they save loads.
pub(super) fn families(
    kernel: &Kernel,
    scalars: &Scalars,
    outputs: &[Value],
    voxel: [i16; 3],
) -> Option<Families> {
    let graph = &kernel.graph;
    let order = depth_first(graph, outputs);
    let mut sources = vec![Source::Nothing; graph.nodes().len()];
    let mut forms = vec![0u64; graph.nodes().len()];
    for &value in &order {
        (sources[value.index()], forms[value.index()]) =
            describe(graph.node(value), value, scalars, &sources, &forms);
    }
    // A member is a value of one unknown that something of several unknowns, or an output, uses.
    let mut used = vec![false; graph.nodes().len()];
    for &output in outputs {
        used[output.index()] = true;
    }
    for &value in &order {
        if sources[value.index()] == Source::Many {
            for operand in graph.node(value).operands().into_iter().flatten() {
                used[operand.index()] = true;
            }
        }
    }
    let mut groups: HashMap<(BlockId, u64), Vec<(u16, Value)>> = HashMap::new();
    let mut keys = Vec::new();
    for &value in &order {
        if let Source::One(block, unknown) = sources[value.index()]
            && used[value.index()]
            && !matches!(graph.node(value), Node::Leaf(_))
        {
            let key = (block, forms[value.index()]);
            if !groups.contains_key(&key) {
                keys.push(key);
            }
            groups.entry(key).or_default().push((unknown, value));
        }
    }
    let block = keys.iter().find(|key| groups[key].len() >= LEAST_MEMBERS)?.0;
    let chosen: Vec<&Vec<(u16, Value)>> = keys
        .iter()
        .filter(|key| key.0 == block)
        .map(|key| &groups[key])
        .filter(|group| group.len() >= LEAST_MEMBERS)
        .collect();
    let common = chosen[0].iter().map(|member| member.0).find(|unknown| {
        chosen.iter().all(|group| group.iter().any(|member| member.0 == *unknown))
    })?;
    let mut members = HashMap::new();
    let mut samples = Vec::new();
    for (family, group) in chosen.iter().enumerate() {
        for &(unknown, value) in *group {
            members.insert(value, (family, unknown));
            if unknown == common {
                samples.push(value);
            }
        }
    }
    if samples.len() != chosen.len() {
        return None;
    }
    let first = members.values().map(|member| member.1).min()?;
    let last = members.values().map(|member| member.1).max()?;
    let mut count = usize::from(last - first) + 1;
    let families = Families { block, samples, first, count, members };
    if !saves(kernel, outputs, &families) {
        return None;
    }
    // Whole vectors, where the chunk has values behind those of the last voxel.
    let padded = count.next_multiple_of(8);
    if reach(kernel, &families, voxel) + (padded - count) < super::length(kernel, block) {
        count = padded;
    }
    Some(Families { count, ..families })
}

/// What a value loads and the form of its expression, in which the unknown is left out.
fn describe(
    node: Node,
    value: Value,
    scalars: &Scalars,
    sources: &[Source],
    forms: &[u64],
) -> (Source, u64) {
    let mut hasher = DefaultHasher::new();
    if scalars.is_uniform(value) {
        (0u8, value.index()).hash(&mut hasher);
        return (Source::Nothing, hasher.finish());
    }
    if let Node::Leaf(leaf) = node {
        return match leaf {
            Leaf::Load { block, unknown, at }
                if at.iter().all(|axis| matches!(axis, Coordinate::Shift(_))) =>
            {
                (1u8, block, at).hash(&mut hasher);
                (Source::One(block, unknown), hasher.finish())
            }
            _ => (Source::Many, 0),
        };
    }
    // Library calls have loops of their own.
    let mut source = if crate::emit::is_library_call(&node) || node.is_truth() {
        Source::Many
    } else {
        Source::Nothing
    };
    for operand in node.operands().into_iter().flatten() {
        source = match (source, sources[operand.index()]) {
            (one, Source::Nothing) | (Source::Nothing, one) => one,
            (one, other) if one == other => one,
            _ => Source::Many,
        };
        forms[operand.index()].hash(&mut hasher);
    }
    match node {
        Node::Unary(function, _) => (2u8, function).hash(&mut hasher),
        Node::Binary(function, ..) => (3u8, function).hash(&mut hasher),
        _ => 4u8.hash(&mut hasher),
    }
    (source, hasher.finish())
}

/// Whether gathers become markedly fewer.
fn saves(kernel: &Kernel, outputs: &[Value], families: &Families) -> bool {
    let graph = &kernel.graph;
    let loads = |values: &[Value]| {
        let load = |value: &&Value| matches!(graph.node(**value), Node::Leaf(Leaf::Load { block, .. }) if block == families.block);
        values.iter().filter(load).count()
    };
    let before = loads(&depth_first(graph, outputs));
    let mut needed = vec![false; graph.nodes().len()];
    for &output in outputs {
        needed[output.index()] = true;
    }
    let mut after = Vec::new();
    let all: Vec<(Value, Node)> = graph.values().collect();
    for &(value, node) in all.iter().rev() {
        if !needed[value.index()] {
            continue;
        }
        after.push(value);
        if !families.members.contains_key(&value) {
            for operand in node.operands().into_iter().flatten() {
                needed[operand.index()] = true;
            }
        }
    }
    2 * (loads(&after) + families.members.len()) < before
}

/// The last place that the loop over unknowns reads for a voxel.
fn reach(kernel: &Kernel, families: &Families, voxel: [i16; 3]) -> usize {
    let block = &kernel.blocks[usize::from(families.block.0)];
    let last = families.first + u16::try_from(families.count - 1).unwrap_or(0);
    depth_first(&kernel.graph, &families.samples)
        .into_iter()
        .filter_map(|value| match kernel.graph.node(value) {
            Node::Leaf(Leaf::Load { at, .. }) => {
                let constant = place(block, last, at).constant;
                let strides = crate::emit::strides(block);
                let base: i64 = (0..3).map(|axis| i64::from(voxel[axis]) * strides[axis]).sum();
                usize::try_from(constant + base).ok()
            }
            _ => None,
        })
        .max()
        .unwrap_or(0)
}
