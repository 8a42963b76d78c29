//! Writes that do the same for one unknown after the other, so that a loop can do them.

use std::collections::{HashMap, HashSet};

use crate::graph::{BlockId, Graph, Leaf, Node, Value};
use crate::kernel::Write;

/// Least writes that are worth a loop.
const LEAST: usize = 3;

/// Writes of one value each to the unknowns `first`, `first + 1`, ... of a block.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) block: BlockId,
    pub(super) first: u16,
    pub(super) count: usize,
    /// The first unknown's value.
    pub(super) value: Value,
    /// Values of the first unknown's that differ from unknown to unknown; loads among them move by
    /// one unknown at a time.
    pub(super) moving: HashSet<Value>,
    /// Operands of moving values that are the same for all.
    pub(super) fixed: Vec<Value>,
}

/// Writes, alike ones together, in order.
pub(super) fn groups(graph: &Graph, mut writes: &[Write]) -> Vec<Group> {
    let mut groups = Vec::new();
    while let [first, rest @ ..] = writes {
        let mut group = Group {
            block: first.block,
            first: first.unknown,
            count: 1,
            value: first.value,
            moving: HashSet::new(),
            fixed: Vec::new(),
        };
        for write in rest {
            let next = usize::from(first.unknown) + group.count;
            if write.block != first.block || usize::from(write.unknown) != next {
                break;
            }
            let Some((moving, fixed)) = alike(graph, first, write) else { break };
            if group.count > 1 && moving != group.moving {
                break;
            }
            (group.moving, group.fixed) = (moving, fixed);
            group.count += 1;
        }
        if group.count < LEAST {
            group.count = 1;
            group.moving.clear();
        }
        writes = &writes[group.count..];
        groups.push(group);
    }
    groups
}

/// The values of `first` that differ from those of `other`, and the operands that do not, if both do
/// the same with loads that lie as many unknowns apart as the writes.
fn alike(graph: &Graph, first: &Write, other: &Write) -> Option<(HashSet<Value>, Vec<Value>)> {
    let apart = other.unknown - first.unknown;
    let mut pairs = HashMap::new();
    if first.value == other.value || !pair(graph, first.value, other.value, apart, &mut pairs) {
        return None;
    }
    let moving: HashSet<Value> = pairs.keys().filter(|(a, b)| a != b).map(|pair| pair.0).collect();
    let mut fixed: Vec<Value> = pairs.keys().filter(|(a, b)| a == b).map(|pair| pair.0).collect();
    fixed.sort_unstable();
    // A value with two partners, or one that moves here and stays there, is beyond a loop.
    let partners = moving.len() + fixed.len() == pairs.len();
    (partners && !fixed.iter().any(|value| moving.contains(value))).then_some((moving, fixed))
}

fn pair(
    graph: &Graph,
    a: Value,
    b: Value,
    apart: u16,
    pairs: &mut HashMap<(Value, Value), bool>,
) -> bool {
    if a == b {
        pairs.insert((a, b), true);
        return true;
    }
    if let Some(&known) = pairs.get(&(a, b)) {
        return known;
    }
    let mut both = |x: Value, y: Value| pair(graph, x, y, apart, pairs);
    let same = match (graph.node(a), graph.node(b)) {
        (
            Node::Leaf(Leaf::Load { block, unknown, at }),
            Node::Leaf(Leaf::Load { block: other_block, unknown: other, at: other_at }),
        ) => block == other_block && at == other_at && unknown + apart == other,
        (Node::Unary(f, x), Node::Unary(g, y)) => f == g && both(x, y),
        (Node::Not(x), Node::Not(y)) => both(x, y),
        (Node::Binary(f, x, x2), Node::Binary(g, y, y2)) => f == g && both(x, y) && both(x2, y2),
        (Node::Logic(f, x, x2), Node::Logic(g, y, y2)) => f == g && both(x, y) && both(x2, y2),
        (Node::Select(c, x, x2), Node::Select(d, y, y2)) => {
            both(c, d) && both(x, y) && both(x2, y2)
        }
        _ => false,
    };
    pairs.insert((a, b), same);
    same
}
