//! Where the temporaries of a kernel lie: one slab, memory shared by those never needed together.
//!
//! A block lives from the stage that writes it to the last stage that reads it. Blocks are placed in
//! order of first use, each at the lowest offset free for its whole life (first fit).

use super::fuse::reads;
use crate::kernel::Kernel;

/// Layout of the temporaries of one patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// Offset of every block, values; none for input, output and blocks that no stage writes.
    pub offsets: Vec<Option<usize>>,
    /// Values of the slab.
    pub len: usize,
    /// Values of all temporaries without sharing.
    pub unshared: usize,
}

impl Scratch {
    /// Bytes of the slab.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.len * 8
    }
}

/// Lays out the temporaries of a kernel.
#[must_use]
pub fn scratch(kernel: &Kernel) -> Scratch {
    let count = kernel.blocks.len();
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; count];
    for (place, stage) in kernel.stages.iter().enumerate() {
        let written = stage.writes.iter().map(|write| write.block);
        for block in written.chain(reads(stage, &kernel.graph)) {
            let life = lives[usize::from(block.0)].get_or_insert((place, place));
            life.1 = place;
        }
    }
    let mut order: Vec<usize> = (2..count).filter(|&block| lives[block].is_some()).collect();
    order.sort_by_key(|&block| lives[block]);
    let size =
        |block: usize| kernel.blocks[block].voxels() * usize::from(kernel.blocks[block].width);
    let mut offsets: Vec<Option<usize>> = vec![None; count];
    let mut len = 0;
    for &block in &order {
        let Some((first, last)) = lives[block] else { continue };
        let mut taken: Vec<(usize, usize)> = order
            .iter()
            .filter_map(|&other| {
                let offset = offsets[other]?;
                let life = lives[other]?;
                (life.0 <= last && first <= life.1).then(|| (offset, offset + size(other)))
            })
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (start, end) in taken {
            if offset + size(block) <= start {
                break;
            }
            offset = offset.max(end);
        }
        offsets[block] = Some(offset);
        len = len.max(offset + size(block));
    }
    Scratch { offsets, len, unshared: order.iter().map(|&block| size(block)).sum() }
}
