//! `acoustic_iso_wide`: which of its tile shapes suits a box, and its launch.

use cudarc::driver::CudaStream;
use temblor_backend::Result;

use crate::arguments::TemblorStep;
use crate::layout::{Layout, NodeBox};
use crate::module::{Kernels, StepFields, int};
use crate::parameters::Choices;
use crate::tiles::{FARTHEST, Spread, spread};
use crate::variants::suffix;

/// Entry points for a radius by rising width of the tile.
pub(crate) fn names(radius: usize) -> [String; 5] {
    WIDTHS.map(|width| name(width, radius))
}

fn name(width: usize, radius: usize) -> String {
    format!("acoustic_iso_wide_z{width}{}", suffix(radius))
}

/// Widths of the tiles, nodes along z.
pub(crate) const WIDTHS: [usize; 5] = [128, 160, 192, 224, 256];

/// Threads of a block.
const THREADS: usize = 512;

/// Halo of a tile along z and planes of p in shared memory, as in the kernel.
const HALO_Z: usize = 8;
const RING: usize = 4;

/// What a block costs on top of the planes that it gives out, in planes: it reads eight planes of p
/// more and waits for the first one (fitted to chunks of 100 to 400 planes on an H200).
const RAMP: usize = 6;

/// Planes that blocks of the full waves march at most where nobody says. The narrow tile's read the fewest
/// bytes twice if they drift apart, and march on: on an H200 at 768^3 253 Gpts/s against 251, at 1024^3 249
/// against 247 and 244 against 243; the widest 241 against 248 and 238 against 244, 160 nodes at 800^3 244
/// against 246.
const fn farthest(width: usize) -> usize {
    if width == WIDTHS[0] { usize::MAX } else { FARTHEST }
}

/// Widths whose tiles fit in `room` bytes of shared memory for operators of a radius.
pub(crate) fn fitting(room: usize, radius: usize) -> Vec<usize> {
    WIDTHS.into_iter().filter(|&width| shared(width, radius) <= room).collect()
}

/// Tile along (y, z).
const fn tile(width: usize) -> [usize; 2] {
    [THREADS / (width / 4) * 2, width]
}

/// Dynamic shared memory, bytes: planes on 128 B and a barrier each.
const fn shared(width: usize, radius: usize) -> usize {
    let [rows, _] = tile(width);
    let plane = (width + 2 * HALO_Z) * (rows + 2 * radius);
    RING * (plane.next_multiple_of(32) * 4 + 8)
}

/// A tile shape and its blocks.
#[derive(Debug)]
pub(crate) struct Wide {
    /// Entry point.
    name: String,
    /// Dynamic shared memory, bytes.
    shared: usize,
    spread: Spread,
    /// One past the last element of a row, counted from node 0.
    row_end: i32,
}

impl Wide {
    /// The shape for the interior of `layout`: the one asked for, else the one that suits it best.
    pub(crate) fn new(
        kernels: &Kernels,
        layout: &Layout,
        radius: usize,
        units: usize,
        choices: Choices,
    ) -> Result<Self> {
        let widths = fitting(kernels.shared_limit(), radius);
        let (width, spread) = choose(&layout.interior, &widths, units, choices);
        let name = name(width, radius);
        kernels.allow_shared(&name)?;
        let shared = shared(width, radius);
        Ok(Self { name, shared, spread, row_end: int(layout.pitch - layout.halo[2]) })
    }

    /// Queues one step in the box of `step`.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &StepFields,
    ) -> Result<()> {
        let Spread { tiles, blocks, .. } = &self.spread;
        kernels.wide(stream, &self.name, *blocks, self.shared, step, tiles, fields, self.row_end)
    }
}

/// The width, of those that fit, whose busiest multiprocessor has the fewest nodes to step; the widest of
/// equals, which asks memory for the longest rows.
fn choose(part: &NodeBox, widths: &[usize], units: usize, choices: Choices) -> (usize, Spread) {
    let planes = |width| if choices.planes == 0 { farthest(width) } else { choices.planes };
    let of = |width| spread(part, tile(width), RAMP, units, planes(width));
    let cost = |&width: &usize| {
        let [rows, columns] = tile(width);
        of(width).rounds * rows * columns
    };
    let asked = widths.iter().copied().find(|&width| width == choices.width);
    let widest_first = || widths.iter().copied().rev();
    let width = asked.or_else(|| widest_first().min_by_key(cost)).unwrap_or(WIDTHS[0]);
    (width, of(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Queueing;

    fn width_for(nodes: usize) -> usize {
        width_asked(nodes, 0)
    }

    fn width_asked(nodes: usize, width: usize) -> usize {
        let queueing = Queueing::default();
        let choices = Choices { width, tile: 0, planes: 0, queueing };
        choose(&NodeBox { begin: [0; 3], end: [nodes; 3] }, &WIDTHS, 132, choices).0
    }

    #[test]
    fn a_card_of_99_kib_a_block_gets_the_tiles_that_fit() {
        let (small, h200) = (99 << 10, 227 << 10);
        assert_eq!(fitting(h200, 4), WIDTHS);
        assert_eq!(fitting(small, 4), WIDTHS[..4]);
        assert_eq!(fitting(small, 2), WIDTHS);
        assert!(fitting(48 << 10, 4).is_empty());
        let choices = Choices { width: 0, tile: 0, planes: 0, queueing: Queueing::default() };
        let part = NodeBox { begin: [0; 3], end: [1000; 3] };
        let of = |room| choose(&part, &fitting(room, 4), 132, choices).0;
        assert!(fitting(small, 4).contains(&of(small)));
        assert!(WIDTHS.contains(&of(h200)));
    }

    #[test]
    fn a_width_that_is_asked_for_is_taken() {
        assert_eq!(WIDTHS.map(|width| width_asked(512, width)), WIDTHS);
    }

    #[test]
    fn widths_are_those_that_an_h200_was_fastest_with() {
        // Gpts/s at 1024, in two runs: 128 249 and 244, 160 244, 256 244, 192 236; at 800: 160 246, 224 242,
        // 128 227; at 768: 128 253, 256 248; at 512: 256 243, 128 232; at 256: 256 201, 128 188.
        let best = [(1024, 128), (800, 160), (768, 128), (512, 256), (256, 256)];
        assert_eq!(best.map(|(nodes, _)| width_for(nodes)), best.map(|(_, width)| width));
    }

    #[test]
    fn shared_memory_is_that_of_the_kernels_arrays() {
        // 144 x 40 and 272 x 24 nodes.
        assert_eq!(shared(128, 4), 4 * (5760 * 4 + 8));
        assert_eq!(shared(256, 4), 4 * (6528 * 4 + 8));
        // A row less on either side, and planes on 128 B: 144 x 38.
        assert_eq!(shared(128, 3), 4 * (5472 * 4 + 8));
    }
}
