//! How tiles of a box are spread over the multiprocessors.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::arguments::TemblorTiles;
use crate::layout::NodeBox;
use crate::module::int;

/// Which blocks a launch has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    /// Which tile and planes a block takes.
    pub(crate) tiles: TemblorTiles,
    /// Blocks.
    pub(crate) blocks: usize,
    /// Planes that the busiest multiprocessor works on, with what its blocks cost on top.
    pub(crate) rounds: usize,
}

/// Planes that a block marches at most unless a plan asks for other ones: blocks that drift apart no longer meet in L2.
pub(crate) const FARTHEST: usize = 400;

/// Spreads the tiles of a box over `units` multiprocessors, one block each: as many tiles as fill
/// all of them march far, but no more than `farthest` planes, the rest is cut so that all of them end
/// together.
pub(crate) fn spread(
    part: &NodeBox,
    tile: [usize; 2],
    ramp: usize,
    units: usize,
    farthest: usize,
) -> Spread {
    let units = units.max(1);
    let tiles_z = part.extent(2).div_ceil(tile[1]);
    let tiles = part.extent(1).div_ceil(tile[0]) * tiles_z;
    let extent = part.extent(0);
    let full = tiles / units * units;
    let planes = extent.div_ceil(extent.div_ceil(farthest).max(1)).max(1);
    let full_blocks = full * extent.div_ceil(planes);
    let rest = tiles - full;
    let rest_planes = balanced_planes(rest, extent, units, ramp).max(1);
    let chunks = (full / units) * extent.div_ceil(planes);
    let tiles = TemblorTiles {
        tiles_z: int(tiles_z),
        full_tiles: int(full),
        full_blocks: int(full_blocks),
        planes: int(planes),
        rest_tiles: int(rest),
        rest_planes: int(rest_planes),
    };
    let rest_blocks = rest * extent.div_ceil(rest_planes);
    Spread {
        tiles,
        blocks: full_blocks + rest_blocks,
        rounds: chunks * (planes + ramp) + makespan(rest, extent, rest_planes, units, ramp),
    }
}

/// Planes per block such that the last blocks end as early as may be.
fn balanced_planes(tiles: usize, planes: usize, units: usize, ramp: usize) -> usize {
    (planes.min(16)..=planes)
        .min_by_key(|&chunk| (makespan(tiles, planes, chunk, units, ramp), planes - chunk))
        .unwrap_or(planes)
}

/// When the last of `units` is done with blocks of `chunk` planes of each tile, taken in launch order,
/// in planes.
fn makespan(tiles: usize, planes: usize, chunk: usize, units: usize, ramp: usize) -> usize {
    let mut free: BinaryHeap<_> = (0..units.max(1)).map(|_| Reverse(0)).collect();
    for first in (0..planes).step_by(chunk.max(1)) {
        let length = chunk.min(planes - first) + ramp;
        for _ in 0..tiles {
            if let Some(mut next) = free.peek_mut() {
                next.0 += length;
            }
        }
    }
    free.into_iter().map(|Reverse(end)| end).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(nodes: usize) -> NodeBox {
        NodeBox { begin: [0; 3], end: [nodes; 3] }
    }

    #[test]
    fn every_plane_of_every_tile_has_one_block() {
        for nodes in [5, 64, 208, 464, 752, 800, 1024] {
            for tile in [[64, 64], [24, 56], [32, 128], [24, 160]] {
                for farthest in [100, FARTHEST] {
                    let Spread { tiles: t, blocks, .. } =
                        spread(&cube(nodes), tile, 4, 132, farthest);
                    assert!(int(farthest) >= t.planes);
                    let tiles = nodes.div_ceil(tile[0]) * nodes.div_ceil(tile[1]);
                    let mut planes = vec![0; tiles];
                    for block in 0..int(blocks) {
                        let (tile, chunk, size) = if block < t.full_blocks {
                            (block % t.full_tiles, block / t.full_tiles, t.planes)
                        } else {
                            let b = block - t.full_blocks;
                            (t.full_tiles + b % t.rest_tiles, b / t.rest_tiles, t.rest_planes)
                        };
                        let first = chunk * size;
                        assert!(first < int(nodes));
                        planes[usize::try_from(tile).unwrap()] +=
                            (first + size).min(int(nodes)) - first;
                    }
                    assert!(planes.iter().all(|&n| n == int(nodes)), "{nodes} {tile:?}");
                }
            }
        }
    }

    #[test]
    fn multiprocessors_have_about_equal_work() {
        for nodes in [464, 752, 768, 800, 1024] {
            let rounds = spread(&cube(nodes), [24, 56], 8, 132, FARTHEST).rounds;
            let tiles = nodes.div_ceil(24) * nodes.div_ceil(56);
            let ideal = (tiles * nodes) as f64 / 132.0;
            let most = 1.06 * ideal;
            assert!((rounds as f64) < most, "{nodes}: {rounds}, {ideal}");
        }
    }
}
