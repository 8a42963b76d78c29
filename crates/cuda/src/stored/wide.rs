//! `acoustic_iso_int16_*`: which of its tile shapes suits a box, and its launch.

use cudarc::driver::CudaStream;
use temblor_backend::Result;
use temblor_physics::{SpeedStorage, Storage};

use super::is_increment;
use crate::arguments::{TemblorStep, TemblorStored};
use crate::layout::NodeBox;
use crate::module::Kernels;
use crate::parameters::Choices;
use crate::tiles::{Spread, spread};
use crate::variants::suffix;

/// Widths of the tiles, nodes along z.
pub(crate) const WIDTHS: [usize; 4] = [128, 160, 192, 224];

/// Threads of a block.
const THREADS: usize = 512;

/// Halo of a tile along z and planes of codes in shared memory, as in the kernel.
const HALO_Z: usize = 4;
const RING: usize = 4;

/// What a block costs on top of the planes that it gives out, in planes; as for `acoustic_iso_wide`.
const RAMP: usize = 6;

/// Widths that there is a kernel for.
fn widths(coded: bool, radius: usize) -> &'static [usize] {
    if coded && radius == 4 { &WIDTHS } else { &WIDTHS[..2] }
}

fn name(storage: Storage, width: usize, radius: usize) -> String {
    let form = if is_increment(storage.wavefields) { "_increment" } else { "" };
    let speed = if storage.speed == SpeedStorage::Uint16 { "_u16" } else { "" };
    format!("acoustic_iso_int16{form}{speed}_z{width}{}", suffix(radius))
}

/// Entry points for a storage and a radius by rising width of the tile.
pub(crate) fn names(storage: Storage, radius: usize) -> Vec<String> {
    let coded = storage.speed == SpeedStorage::Uint16;
    widths(coded, radius).iter().map(|&width| name(storage, width, radius)).collect()
}

/// Tile along (y, z).
const fn tile(width: usize) -> [usize; 2] {
    [THREADS / (width / 4) * 2, width]
}

/// Dynamic shared memory, bytes: two planes of floats, and per plane of the ring what each thread
/// copies: three groups of p, two of p- or d, two of the wave speed.
const fn shared(width: usize, coded: bool, radius: usize) -> usize {
    let [rows, _] = tile(width);
    let plane = (width + 2 * HALO_Z) * (rows + 2 * radius);
    let slot = THREADS * (5 * 8 + 2 * if coded { 8 } else { 16 });
    RING * slot + 2 * plane * 4
}

/// Dynamic shared memory of the largest tile, bytes.
pub(crate) fn most_shared(storage: Storage, radius: usize) -> usize {
    let coded = storage.speed == SpeedStorage::Uint16;
    widths(coded, radius).iter().map(|&width| shared(width, coded, radius)).max().unwrap_or(0)
}

/// A tile shape and its blocks.
#[derive(Debug)]
pub(crate) struct Wide {
    /// Entry point.
    name: String,
    /// Dynamic shared memory, bytes.
    shared: usize,
    spread: Spread,
}

impl Wide {
    /// The shape for a box: the one asked for, else the one with the least work for the busiest
    /// multiprocessor, of equals the narrowest.
    pub(crate) fn new(
        kernels: &Kernels,
        part: &NodeBox,
        storage: Storage,
        radius: usize,
        units: usize,
        choices: Choices,
    ) -> Result<Self> {
        let coded = storage.speed == SpeedStorage::Uint16;
        let widths = widths(coded, radius);
        let spread = |width: usize| spread(part, tile(width), RAMP, units, choices.planes);
        let cost = |&width: &usize| spread(width).rounds * tile(width).iter().product::<usize>();
        let asked = widths.iter().copied().find(|&width| width == choices.width);
        let best = asked.or_else(|| widths.iter().copied().min_by_key(cost));
        let width = best.unwrap_or(WIDTHS[0]);
        let name = name(storage, width, radius);
        kernels.allow_shared(&name)?;
        Ok(Self { name, shared: shared(width, coded, radius), spread: spread(width) })
    }

    /// Queues one step in the box of `step`.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        stored: &TemblorStored,
    ) -> Result<()> {
        let Spread { tiles, blocks, .. } = &self.spread;
        kernels.stored_wide(stream, &self.name, *blocks, self.shared, step, tiles, stored)
    }
}

#[cfg(test)]
mod tests {
    use temblor_physics::WavefieldStorage;

    use super::*;

    #[test]
    fn shared_memory_is_that_of_the_kernels_arrays_and_fits() {
        // Seven groups of 8 B for 512 threads, four times; two planes of 168 x 32 floats.
        assert_eq!(shared(160, true, 4), 4 * 512 * 56 + 2 * 168 * 32 * 4);
        for wavefields in [WavefieldStorage::Int16, WavefieldStorage::Int16Increment] {
            for speed in [SpeedStorage::F32, SpeedStorage::Uint16] {
                for radius in 2..=4 {
                    assert!(most_shared(Storage { wavefields, speed }, radius) <= 227 * 1024);
                }
            }
        }
    }

    #[test]
    fn every_tile_shape_has_a_kernel() {
        let known: Vec<_> = crate::BLOBS.iter().flat_map(|blob| blob.kernels).collect();
        for wavefields in [WavefieldStorage::Int16, WavefieldStorage::Int16Increment] {
            for speed in [SpeedStorage::F32, SpeedStorage::Uint16] {
                for radius in 2..=4 {
                    for name in names(Storage { wavefields, speed }, radius) {
                        assert!(known.is_empty() || known.contains(&&name.as_str()), "{name}");
                    }
                }
            }
        }
    }
}
