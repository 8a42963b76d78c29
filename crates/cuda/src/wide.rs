//! `acoustic_iso_wide`: which of its tile shapes suits a box, and its launch.

use cudarc::driver::CudaStream;
use temblor_backend::Result;

use crate::arguments::TemblorStep;
use crate::layout::{Layout, NodeBox};
use crate::module::{Kernels, StepFields, int};
use crate::parameters::Choices;
use crate::tiles::{Spread, spread};
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
const HALO_Z: usize = 4;
const RING: usize = 4;

/// What a block costs on top of the planes that it gives out, in planes: it reads eight planes of p
/// more and waits for the first one (fitted to chunks of 100 to 400 planes on an H200).
const RAMP: usize = 6;

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

/// The width, of those that fit, whose busiest multiprocessor has the fewest nodes to step; the narrowest of
/// equals, which reads the fewest bytes.
fn choose(part: &NodeBox, widths: &[usize], units: usize, choices: Choices) -> (usize, Spread) {
    let of = |width| spread(part, tile(width), RAMP, units, choices.planes);
    let cost = |&width: &usize| {
        let [rows, columns] = tile(width);
        of(width).rounds * rows * columns
    };
    let asked = widths.iter().copied().find(|&width| width == choices.width);
    let width = asked.or_else(|| widths.iter().copied().min_by_key(cost)).unwrap_or(WIDTHS[0]);
    (width, of(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Queueing;
    use crate::tiles::FARTHEST;

    fn width_for(nodes: usize) -> usize {
        width_asked(nodes, 0)
    }

    fn width_asked(nodes: usize, width: usize) -> usize {
        let queueing = Queueing::default();
        let choices = Choices { width, tile: 0, planes: FARTHEST, queueing };
        choose(&NodeBox { begin: [0; 3], end: [nodes; 3] }, &WIDTHS, 132, choices).0
    }

    #[test]
    fn a_card_of_99_kib_a_block_gets_the_tiles_that_fit() {
        let (small, h200) = (99 << 10, 227 << 10);
        assert_eq!(fitting(h200, 4), WIDTHS);
        assert_eq!(fitting(small, 4), WIDTHS[..4]);
        assert_eq!(fitting(small, 2), WIDTHS);
        assert!(fitting(48 << 10, 4).is_empty());
        let choices =
            Choices { width: 0, tile: 0, planes: FARTHEST, queueing: Queueing::default() };
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
        // Gpts/s at 1024: 128 246, 160 233, 192 230, 256 239; at 800: 160 240, 256 232, 128 227; at
        // 768: 128 251, 256 245; at 512: 128 243, 256 232.
        assert_eq!([1024, 800, 768, 512].map(width_for), [128, 160, 128, 128]);
    }

    #[test]
    fn shared_memory_is_that_of_the_kernels_arrays() {
        // 136 x 40 and 264 x 24 nodes.
        assert_eq!(shared(128, 4), 4 * (5440 * 4 + 8));
        assert_eq!(shared(256, 4), 4 * (6336 * 4 + 8));
        // Two rows less on either side, and planes on 128 B: 136 x 38.
        assert_eq!(shared(128, 3), 4 * (5184 * 4 + 8));
    }
}
