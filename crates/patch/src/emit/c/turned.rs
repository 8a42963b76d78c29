//! Tiles whose lanes gather nothing: what they load is turned to vectors first.
//!
//! A tile of eight voxels takes the unknowns of each neighbour that it reads by shuffles ([`super::turn`]),
//! four unknowns of eight voxels by eight loads, where gathers load each of the 32 values by itself; its
//! results, all unknowns of voxels that lie side by side, are turned back in the same way. What a stage
//! computes by vectors of unknowns ([`super::families`]) reaches the lanes in the same way.
// Euler by rusanov, ns per voxel at p = 3, 6, 16 (Zen 4): gathers in tiles of 16 lanes 30.7, 26.9, 26.8;
// this form 18.8, 15.5, 15.8; values sorted by direction, each voxel turned just before its use: 20.5,
// 16.8, 17.1. CCZ4 at p = 6: by rusanov 363 to 295; by fd4 301 to 297 with gathers of families, 243 without
// (p = 3: 324 to 284). Results of more unknowns turned back four at a time: no difference.

use std::collections::{BTreeMap, HashMap};

use super::families::Families;
use super::flat::flat;
use super::frame::written;
use super::turn;
use crate::emit::{Scalars, depth_first_until, place};
use crate::graph::{BlockId, Coordinate, Leaf, Node, Value};
use crate::kernel::{Kernel, Stage, Write};

/// Most loads of one function: with 57 gcc 12 takes ten times as long as for functions that call them.
const MOST: usize = 16;

/// What a tile has turned.
#[derive(Debug, Clone)]
pub(super) struct Turned {
    /// Which vector a load finds its values in.
    vectors: HashMap<Leaf, usize>,
    /// And a member of a family.
    members: HashMap<Value, usize>,
    loads: Vec<Load>,
    /// Whether results are all unknowns of voxels side by side, few enough to be turned back.
    pub(super) rows: bool,
}

/// Unknowns that are turned together.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// None for a voxel's families.
    block: Option<BlockId>,
    /// Values from a voxel's base, or from the first of its families, to the first that is taken.
    from: i64,
    unknowns: usize,
    /// First vector.
    vector: usize,
}

/// What a stage in tiles has turned: nothing where it goes by rows, or where no value is loaded by shifts
/// along all axes.
pub(super) fn turned(
    kernel: &Kernel,
    scalars: &Scalars,
    stage: &Stage,
    families: Option<&Families>,
) -> Option<Turned> {
    let graph = &kernel.graph;
    if flat(kernel, scalars, stage).is_some() {
        return None;
    }
    let mut used: BTreeMap<(BlockId, i64), (Vec<bool>, [Coordinate; 3])> = BTreeMap::new();
    let member = |value| families.and_then(|families| families.place(value));
    let mut places = Vec::new();
    for value in depth_first_until(graph, &stage.outputs(), &|value| member(value).is_some()) {
        if let Some(place) = member(value) {
            places.push((value, place));
            continue;
        }
        let Node::Leaf(Leaf::Load { block, unknown, at }) = graph.node(value) else { continue };
        let shape = &kernel.blocks[usize::from(block.0)];
        let voxel = place(shape, 0, at);
        if voxel.along == [true; 3] {
            let none = || (vec![false; usize::from(shape.width)], at);
            let (used, _) = used.entry((block, voxel.constant)).or_insert_with(none);
            used[usize::from(unknown)] = true;
        }
    }
    let mut turned = Turned {
        vectors: HashMap::new(),
        members: HashMap::new(),
        loads: Vec::new(),
        rows: rows(kernel, scalars, stage),
    };
    let mut vector = 0;
    for ((block, constant), (used, at)) in used {
        for (first, unknowns) in turn::takes(used.len(), &used) {
            let from = constant + i64::try_from(first).unwrap_or(0);
            turned.loads.push(Load { block: Some(block), from, unknowns, vector });
            for (unknown, vector) in (first..first + unknowns).zip(vector..) {
                let unknown = u16::try_from(unknown).unwrap_or(u16::MAX);
                turned.vectors.insert(Leaf::Load { block, unknown, at }, vector);
            }
            vector += unknowns;
        }
    }
    if let Some(families) = families {
        let mut used = vec![false; families.stride()];
        places.iter().for_each(|&(_, place)| used[place] = true);
        let mut at = vec![0; used.len()];
        for (first, unknowns) in turn::takes(used.len(), &used) {
            let from = i64::try_from(first).unwrap_or(0);
            turned.loads.push(Load { block: None, from, unknowns, vector });
            (first..first + unknowns).zip(vector..).for_each(|(place, vector)| at[place] = vector);
            vector += unknowns;
        }
        turned.members = places.iter().map(|&(value, place)| (value, at[place])).collect();
    }
    (vector > 0).then_some(turned)
}

/// Whether a stage writes all unknowns of one block's voxels, one value each.
fn rows(kernel: &Kernel, scalars: &Scalars, stage: &Stage) -> bool {
    let [block] = written(stage)[..] else { return false };
    let shape = &kernel.blocks[usize::from(block.0)];
    let width = usize::from(shape.width);
    let mut unknowns: Vec<u16> = stage.writes.iter().map(|write| write.unknown).collect();
    let mut values: Vec<Value> = stage.writes.iter().map(|write| write.value).collect();
    unknowns.sort_unstable();
    values.sort_unstable();
    values.dedup();
    (shape.low, shape.high) == (stage.low, stage.high)
        && width <= turn::MOST
        && unknowns.len() == width
        && unknowns.windows(2).all(|pair| pair[0] < pair[1])
        && values.len() == width
        && !values.iter().any(|&value| scalars.is_uniform(value))
}

impl Turned {
    /// Vectors.
    pub(super) fn count(&self) -> usize {
        self.loads.iter().map(|load| load.unknowns).sum()
    }

    /// Which vector holds a leaf's values.
    pub(super) fn vector(&self, leaf: Leaf) -> Option<usize> {
        self.vectors.get(&leaf).copied()
    }

    /// Which vector holds a member of a family.
    pub(super) fn member(&self, value: Value) -> Option<usize> {
        self.members.get(&value).copied()
    }

    /// Functions that share the turning.
    pub(super) fn parts(&self) -> usize {
        self.loads.len().div_ceil(MOST)
    }

    /// Calls of one of these functions, which fill its part of the array `q`; `table` names the offsets
    /// of a block, or of the lanes' families in `f`.
    pub(super) fn calls(
        &self,
        part: usize,
        name: &str,
        table: &dyn Fn(Option<BlockId>) -> String,
    ) -> Vec<String> {
        let call = |load: &Load| {
            let array = load.block.map_or_else(|| "f".into(), |block| format!("b{}", block.0));
            let from = format!("{array} + {}", load.from);
            let to = format!("q[{}]", load.vector);
            turn::call(name, &from, &table(load.block), load.unknowns, &to)
        };
        self.loads.iter().skip(part * MOST).take(MOST).map(call).collect()
    }
}

/// Changes which slots values have so that what is written lies in the order of its unknowns.
pub(super) fn in_order(slots: &mut HashMap<Value, usize>, writes: &[Write]) {
    for write in writes {
        let (from, to) = (slots[&write.value], usize::from(write.unknown));
        for slot in slots.values_mut() {
            *slot = match *slot {
                slot if slot == from => to,
                slot if slot == to => from,
                slot => slot,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Options, Style, emit};
    use crate::{Physics, Plan, Request, Scheme, lower};

    fn text(physics: &str, scheme: &str, dimensions: u8) -> String {
        let physics = Arc::new(Physics::shipped(physics).unwrap());
        let request = Request::new(dimensions, 3).with_plan(Plan::Fused);
        let kernel = lower(&Scheme::shipped(scheme).unwrap(), &physics, &request).unwrap();
        emit(&kernel, &Options::new(Style::Fused)).unwrap()
    }

    #[test]
    fn finite_volumes_gather_and_scatter_nothing() {
        for (physics, scheme, dimensions) in [
            ("euler", "rusanov", 3),
            ("euler", "godunov", 2),
            ("shallow_water", "rusanov", 2),
            ("advection", "rusanov", 3),
            ("elastics", "rusanov", 3),
            ("ccz4", "rusanov", 3),
        ] {
            let text = text(physics, scheme, dimensions);
            assert!(text.contains(" = q[0][l];"), "{physics}, {scheme}");
            assert!(!text.contains("b0[at0[l]"), "{physics}, {scheme}");
            // More unknowns than are shuffled are stored one by one.
            let many = ["elastics", "ccz4"].contains(&physics);
            assert_eq!(text.contains("to1["), many, "{physics}, {scheme}");
        }
    }

    #[test]
    fn members_of_families_are_turned_and_not_gathered() {
        let text = text("ccz4", "fd4", 3);
        assert!(
            text.contains("(f + 0, ") && text.contains("stage0_lane, &q["),
            "families are turned"
        );
        assert!(text.contains(" = q[0][l];"));
        assert!(!text.contains("b0[at0[l]") && !text.contains("f[ccz4"), "nothing is gathered");
    }

    #[test]
    fn four_unknowns_are_turned_where_two_of_them_are_used() {
        let takes = |used: &str| {
            let used: Vec<bool> = used.chars().map(|mark| mark == 'x').collect();
            super::turn::takes(used.len(), &used)
        };
        assert_eq!(takes("x"), [(0, 1)]);
        assert_eq!(takes("xxx"), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(takes("xxxxx"), [(0, 4), (4, 1)]);
        assert_eq!(takes("x....x"), [(0, 1), (5, 1)]);
        // The four end with the voxel.
        assert_eq!(takes("....xx"), [(2, 4)]);
        assert_eq!(takes(".x.xxx"), [(1, 4), (5, 1)]);
    }
}
