//! How tiles of a box are spread over the multiprocessors.

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
/// all of them march far, but no more than `farthest` planes, the rest is cut so that it fills them
/// too.
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
        rounds: chunks * (planes + ramp) + rest_blocks.div_ceil(units) * (rest_planes + ramp),
    }
}

/// Planes per block such that the last wave of blocks is as full as may be.
fn balanced_planes(tiles: usize, planes: usize, units: usize, ramp: usize) -> usize {
    let cost = |chunk: usize| {
        let waves = (tiles * planes.div_ceil(chunk)).div_ceil(units);
        (waves * (chunk + ramp)) as f64
    };
    (1..=planes.div_ceil(16))
        .map(|chunks| planes.div_ceil(chunks))
        .min_by(|&a, &b| cost(a).total_cmp(&cost(b)))
        .unwrap_or(planes)
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
        for nodes in [464, 752, 768, 1024] {
            let t = spread(&cube(nodes), [24, 56], 8, 132, FARTHEST).tiles;
            let rounds = t.full_tiles / 132;
            let chunks = (int(nodes) + t.rest_planes - 1) / t.rest_planes.max(1);
            let rest = (t.rest_tiles * chunks + 131) / 132 * t.rest_planes;
            let tiles = nodes.div_ceil(24) * nodes.div_ceil(56);
            let ideal = (tiles * nodes) as f64 / 132.0;
            assert!(f64::from(rounds * int(nodes) + rest) < 1.08 * ideal, "{nodes}");
        }
    }
}
