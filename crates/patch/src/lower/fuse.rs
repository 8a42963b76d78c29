//! Stages of equal ranges that do not wait for each other become one.

use std::collections::HashSet;

use crate::graph::{BlockId, Graph, Leaf, Node};
use crate::kernel::Stage;

/// Merges stages; their order stays one in which every block is written before it is read.
pub(super) fn fuse(stages: &mut Vec<Stage>, graph: &Graph) {
    let mut fused: Vec<Stage> = Vec::new();
    for stage in std::mem::take(stages) {
        let reads = reads(&stage, graph);
        let mut target = None;
        for (place, earlier) in fused.iter().enumerate().rev() {
            if earlier.writes.iter().any(|write| reads.contains(&write.block)) {
                break;
            }
            if (earlier.low, earlier.high) == (stage.low, stage.high) {
                target = Some(place);
            }
        }
        match target {
            Some(place) => {
                let into = &mut fused[place];
                into.name = format!("{}; {}", into.name, stage.name);
                into.writes.extend(stage.writes);
                into.maximum = into.maximum.or(stage.maximum);
            }
            None => fused.push(stage),
        }
    }
    *stages = fused;
}

/// Blocks that a stage reads.
pub(super) fn reads(stage: &Stage, graph: &Graph) -> HashSet<BlockId> {
    let needed = graph.reachable(&stage.outputs());
    graph
        .values()
        .filter(|(value, _)| needed[value.index()])
        .filter_map(|(_, node)| match node {
            Node::Leaf(Leaf::Load { block, .. }) => Some(block),
            _ => None,
        })
        .collect()
}
