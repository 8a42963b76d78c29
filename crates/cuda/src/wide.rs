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
    WIDTHS.map(|width| format!("acoustic_iso_wide_z{width}{}", suffix(radius)))
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

/// Dynamic shared memory of the largest tile, bytes.
pub(crate) const fn most_shared(radius: usize) -> usize {
    shared(256, radius)
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
        let (choice, spread) = choose(&layout.interior, units, choices);
        let name = names(radius)[choice].clone();
        kernels.allow_shared(&name)?;
        let shared = shared(WIDTHS[choice], radius);
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

/// The shape whose busiest multiprocessor has the fewest nodes to step; the narrowest of equals, which
/// reads the fewest bytes.
fn choose(part: &NodeBox, units: usize, choices: Choices) -> (usize, Spread) {
    let all = WIDTHS.map(|width| spread(part, tile(width), RAMP, units, choices.planes));
    let cost = |n: usize| {
        let [rows, width] = tile(WIDTHS[n]);
        all[n].rounds * rows * width
    };
    let asked = WIDTHS.iter().position(|&width| width == choices.width);
    let best = asked.or_else(|| (0..WIDTHS.len()).min_by_key(|&n| cost(n))).unwrap_or(0);
    (best, all[best])
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
        WIDTHS[choose(&NodeBox { begin: [0; 3], end: [nodes; 3] }, 132, choices).0]
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
        for radius in 2..=4 {
            assert!(WIDTHS.iter().all(|&width| shared(width, radius) <= most_shared(radius)));
        }
    }
}
