//! Cuts the values of a stage into pieces that a C compiler takes well.
//!
//! A piece is a loop over lanes. Values that a later piece needs cross in arrays, one entry per lane.
//! A call of the mathematics library keeps a loop from being vectorised, so it gets a piece of its
//! own; and a piece is never longer than a bound, since compilers take much more than twice the time
//! for twice the statements.

use crate::emit::{depth_first_until, is_library_call};
use crate::graph::{Graph, Node, Value};

/// Part of the values of a stage, in computing order.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    /// Values computed here.
    pub values: Vec<Value>,
    /// Values of earlier pieces that are needed here.
    pub reads: Vec<Value>,
    /// Values that later pieces, or the stage's writes, need from here.
    pub keeps: Vec<Value>,
    /// Whether the piece is calls of the mathematics library alone.
    pub library: bool,
}

/// Pieces of at most `longest` values that compute `outputs` (their values are all kept), leaving out
/// what `skip` says is known already; a value for which `given` holds needs no others.
pub(super) fn segments(
    graph: &Graph,
    outputs: &[Value],
    longest: usize,
    skip: &dyn Fn(Value) -> bool,
    given: &dyn Fn(Value) -> bool,
) -> Vec<Segment> {
    let order: Vec<Value> = depth_first_until(graph, outputs, given)
        .into_iter()
        .filter(|&value| !skip(value))
        .collect();
    // Calls wait for all that goes before them and everything waits for the calls it needs: a level
    // per call in the longest chain.
    let mut level = vec![0usize; graph.nodes().len()];
    for &value in order.iter().filter(|&&value| !given(value)) {
        let node = graph.node(value);
        let before = node.operands().into_iter().flatten().map(|o| level[o.index()]).max();
        let before = before.unwrap_or(0);
        level[value.index()] =
            if is_library_call(&node) { before | 1 } else { before.next_multiple_of(2) };
    }
    let last = order.iter().map(|value| level[value.index()]).max().unwrap_or(0);
    let mut pieces: Vec<Segment> = Vec::new();
    for now in 0..=last {
        let library = now % 2 == 1;
        let of_level: Vec<Value> =
            order.iter().copied().filter(|value| level[value.index()] == now).collect();
        for values in of_level.chunks(longest.max(1)) {
            pieces.push(Segment { values: values.to_vec(), library, ..Segment::default() });
        }
    }
    cross(graph, outputs, &mut pieces, skip, given);
    pieces
}

fn cross(
    graph: &Graph,
    outputs: &[Value],
    pieces: &mut [Segment],
    skip: &dyn Fn(Value) -> bool,
    given: &dyn Fn(Value) -> bool,
) {
    let mut home = vec![usize::MAX; graph.nodes().len()];
    for (place, piece) in pieces.iter().enumerate() {
        for value in &piece.values {
            home[value.index()] = place;
        }
    }
    let mut kept = vec![false; graph.nodes().len()];
    for &output in outputs {
        kept[output.index()] = true;
    }
    for place in 0..pieces.len() {
        let mut seen = std::collections::HashSet::new();
        let mut reads = Vec::new();
        for &value in pieces[place].values.iter().filter(|&&value| !given(value)) {
            for operand in graph.node(value).operands().into_iter().flatten() {
                let constant = matches!(graph.node(operand), Node::Constant(_));
                let outside = home[operand.index()] != place || pieces[place].library;
                if !constant && !skip(operand) && outside && seen.insert(operand) {
                    kept[operand.index()] = true;
                    reads.push(operand);
                }
            }
        }
        pieces[place].reads = reads;
    }
    for piece in pieces {
        piece.keeps = piece
            .values
            .iter()
            .copied()
            .filter(|value| kept[value.index()])
            .filter(|&value| !matches!(graph.node(value), Node::Constant(_)))
            .collect();
    }
}

/// Where kept values lie: a slot for each, shared by values that are never needed at once. Slots by
/// value, and their number; `outputs` stay to the end.
pub(super) fn slots(
    pieces: &[Segment],
    outputs: &[Value],
) -> (std::collections::HashMap<Value, usize>, usize) {
    let mut last = std::collections::HashMap::new();
    for (place, piece) in pieces.iter().enumerate() {
        for &value in &piece.reads {
            last.insert(value, place);
        }
    }
    for &output in outputs {
        last.insert(output, usize::MAX);
    }
    let mut slots = std::collections::HashMap::new();
    let (mut free, mut count) = (Vec::new(), 0);
    for (place, piece) in pieces.iter().enumerate() {
        for &value in &piece.keeps {
            let slot = free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            });
            slots.insert(value, slot);
        }
        // Only now: a piece may read what it would overwrite.
        let gone = |value: &&Value| last.get(*value) == Some(&place);
        let mut over: Vec<Value> = piece.reads.iter().filter(gone).copied().collect();
        over.sort_unstable();
        over.dedup();
        free.extend(over.iter().map(|value| slots[value]));
    }
    (slots, count)
}
