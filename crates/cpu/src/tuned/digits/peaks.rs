//! Largest magnitudes of tiles, carried from the step that wrote them.
//!
//! A tile's exponent must hold its own values and those of its halo. The halo lies in the tiles within
//! one radius along each axis, or shows nodes of those (an image lies no further inside than the halo
//! outside), so the largest of their carried magnitudes is an upper bound, and the step that wrote the
//! values has them in the cache. They are the exact magnitudes of the values in memory, so what is found
//! anew after an upload or a restored state is what would have been carried.

use std::sync::atomic::{AtomicU32, Ordering};

use super::super::layout::Layout;
use super::tile::Tile;

/// See the module.
#[derive(Debug)]
pub(super) struct Peaks {
    /// Nodes of a tile.
    shape: [usize; 3],
    /// Tiles along (x, y, z).
    tiles: [usize; 3],
    /// Bits of the largest magnitude, which order as magnitudes do, by wavefield.
    bits: [Vec<AtomicU32>; 2],
}

impl Peaks {
    pub(super) fn new(layout: &Layout, shape: [usize; 3]) -> Self {
        let tiles = [0, 1, 2].map(|a| layout.shape[a].div_ceil(shape[a]));
        let all = || (0..tiles.iter().product()).map(|_| AtomicU32::new(0)).collect();
        Self { shape, tiles, bits: [all(), all()] }
    }

    /// Bytes of the peaks of a problem's tiles.
    pub(super) fn bytes(layout: &Layout, shape: [usize; 3]) -> u64 {
        let tiles = [0, 1, 2].map(|a| layout.shape[a].div_ceil(shape[a]) as u64);
        8 * tiles.iter().product::<u64>()
    }

    const fn at(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.tiles[1] + j) * self.tiles[2] + k
    }

    /// Sets a tile's.
    pub(super) fn set(&self, which: usize, tile: &Tile, bits: u32) {
        let index = self.at([0, 1, 2].map(|a| tile.first[a] / self.shape[a]));
        // Steps are ordered by the pool's joins.
        self.bits[which][index].store(bits, Ordering::Relaxed);
    }

    /// At least the largest magnitude of a tile and its halo; not finite if a value is not.
    pub(super) fn around(&self, which: usize, tile: &Tile, layout: &Layout) -> f32 {
        let own = [0, 1, 2].map(|a| tile.first[a] / self.shape[a]);
        let mut bits = 0;
        for axis in 0..3 {
            let (first, halo) = (tile.first[axis], layout.halo[axis]);
            let low = first.saturating_sub(halo) / self.shape[axis];
            let last = (first + tile.shape[axis] + halo).min(layout.shape[axis]) - 1;
            for n in low..=last / self.shape[axis] {
                let mut index = own;
                index[axis] = n;
                bits = bits.max(self.bits[which][self.at(index)].load(Ordering::Relaxed));
            }
        }
        f32::from_bits(bits)
    }
}
