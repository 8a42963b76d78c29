//! Where a patch's values lie in memory.

use crate::kernel::Block;

/// A patch: distances between values, counted in values.
///
/// Patches lie one after the other, or `lanes` of them side by side: value by value, those of `lanes`
/// patches follow each other. A row of a small patch is shorter than what memory delivers at a time,
/// and the corners of its halo lie between; side by side, all that is delivered is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Place of unknown 0 of the first voxel of the interior.
    pub base: i64,
    /// Distance of neighbours along x, y, z.
    pub voxel: [i64; 3],
    /// Distance of unknowns.
    pub unknown: i64,
    /// Values of the whole patch.
    pub len: usize,
    /// Patches that lie side by side; 1: none.
    pub lanes: u32,
}

impl Layout {
    /// As the contract has chunks: unknown fastest, then x, y, z.
    #[must_use]
    pub fn chunk(block: &Block) -> Self {
        let voxel = crate::emit::strides(block);
        let layout = Self {
            base: 0,
            voxel,
            unknown: 1,
            len: block.voxels() * usize::from(block.width),
            lanes: 1,
        };
        layout.at_interior(block)
    }

    /// An array per unknown, each x fastest: neighbouring threads read neighbouring values.
    #[must_use]
    pub fn planes(block: &Block) -> Self {
        let extent = |axis: usize| i64::from(block.high[axis] - block.low[axis]);
        let voxel = [1, extent(0), extent(0) * extent(1)];
        let unknown = voxel[2] * extent(2);
        let layout = Self {
            base: 0,
            voxel,
            unknown,
            len: block.voxels() * usize::from(block.width),
            lanes: 1,
        };
        layout.at_interior(block)
    }

    /// The same with patches side by side.
    #[must_use]
    pub fn beside(mut self, lanes: u32) -> Self {
        let times = |distance: i64| distance * i64::from(lanes);
        self.base = times(self.base);
        self.voxel = self.voxel.map(times);
        self.unknown = times(self.unknown);
        self.lanes *= lanes;
        self
    }

    /// Place of a patch's first value, in memory for patches of `pitch` values each.
    #[must_use]
    pub fn start(&self, patch: usize, pitch: usize) -> usize {
        let lanes = self.lanes as usize;
        patch / lanes * lanes * pitch + patch % lanes
    }

    /// Patches that the memory for so many has room for.
    #[must_use]
    pub fn padded(&self, patches: usize) -> usize {
        patches.next_multiple_of(self.lanes as usize)
    }

    fn at_interior(mut self, block: &Block) -> Self {
        self.base = (0..3).map(|axis| -i64::from(block.low[axis]) * self.voxel[axis]).sum();
        self
    }

    /// Place of a value; the interior starts at voxel 0, the halo has negative ones.
    #[must_use]
    pub fn place(&self, voxel: [i64; 3], unknown: i64) -> i64 {
        let along: i64 = (0..3).map(|axis| voxel[axis] * self.voxel[axis]).sum();
        self.base + along + unknown * self.unknown
    }
}
