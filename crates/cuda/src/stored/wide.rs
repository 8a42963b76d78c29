//! `acoustic_iso_int16_*`: which of its tile shapes suits a box, its maps for tensor copies and its
//! launch.

use cudarc::driver::CudaStream;
use temblor_backend::Result;
use temblor_physics::{SpeedStorage, Storage};

use super::{bytes, is_increment};
use crate::arguments::{TemblorStep, TemblorStored};
use crate::fields::Fields;
use crate::layout::{LINE, Layout, NodeBox};
use crate::memory::Buffer;
use crate::module::maps::{Element, TensorMap, tensor_map};
use crate::module::{Kernels, int};
use crate::parameters::Choices;
use crate::tiles::{Spread, spread};
use crate::variants::suffix;

/// Widths of the tiles, nodes along z, and their pairs of rows.
const TILES: [(usize, usize); 3] = [(96, 20), (128, 15), (160, 12)];

/// Widths of the tiles, nodes along z.
pub(crate) const WIDTHS: [usize; 3] = [TILES[0].0, TILES[1].0, TILES[2].0];

/// Halo of a tile along z, of floats and of codes, and planes of codes in shared memory, as in the
/// kernel.
const HALO_Z: usize = 4;
const HALO_CODES: usize = 8;
const RING: usize = 4;

/// What a block costs on top of the planes that it gives out, in planes; as for `acoustic_iso_wide`.
const RAMP: usize = 6;

/// Tiles that there is a kernel for.
fn tiles(radius: usize) -> &'static [(usize, usize)] {
    if radius == 4 { &TILES } else { &TILES[1..] }
}

fn name(storage: Storage, width: usize, radius: usize) -> String {
    let form = if is_increment(storage.wavefields) { "_increment" } else { "" };
    let speed = if storage.speed == SpeedStorage::Uint16 { "_u16" } else { "" };
    format!("acoustic_iso_int16{form}{speed}_z{width}{}", suffix(radius))
}

/// Entry points for a storage and a radius by rising width of the tile.
pub(crate) fn names(storage: Storage, radius: usize) -> Vec<String> {
    tiles(radius).iter().map(|&(width, _)| name(storage, width, radius)).collect()
}

/// Tile along (y, z).
const fn tile((width, lines): (usize, usize)) -> [usize; 2] {
    [2 * lines, width]
}

/// Threads of a block: four nodes of two rows each, and a warp that feeds them.
const fn threads((width, lines): (usize, usize)) -> usize {
    width / 4 * lines + 32
}

/// Dynamic shared memory, bytes: rings of planes of codes and speeds, two planes of floats, two of
/// what exponents are worth (eight bytes each) in p and in p- or d, and a barrier per plane and one.
const fn shared(shape: (usize, usize), coded: bool, radius: usize) -> usize {
    let [rows, width] = tile(shape);
    let rows_read = rows + 2 * radius;
    let codes = (2 * (width + 2 * HALO_CODES) * rows_read).next_multiple_of(128);
    let before = (2 * rows * width).next_multiple_of(128);
    let speed = (if coded { 2 } else { 4 } * rows * width).next_multiple_of(128);
    let floats = 2 * 4 * (width + 2 * HALO_Z) * rows_read;
    // Both by pairs of rows, the first of which begins on an even one of the tile's own.
    let pairs = (rows_read + radius % 2).div_ceil(2);
    let units = 4 * 16 * pairs * (width / LINE + 2);
    (RING * (codes + before + speed) + floats + units + 8 * (RING + 1)).next_multiple_of(8)
}

/// Dynamic shared memory of the largest tile, bytes.
pub(crate) fn most_shared(storage: Storage, radius: usize) -> usize {
    let coded = storage.speed == SpeedStorage::Uint16;
    tiles(radius).iter().map(|&shape| shared(shape, coded, radius)).max().unwrap_or(0)
}

/// A tile shape, its blocks, and what they copy from.
#[derive(Debug)]
pub(crate) struct Wide {
    /// Entry point.
    name: String,
    threads: usize,
    /// Dynamic shared memory, bytes.
    shared: usize,
    spread: Spread,
    /// Of each wavefield, as p and as p-.
    waves: Vec<[TensorMap; 2]>,
    increment: Option<TensorMap>,
    speed: TensorMap,
    /// Elements before node 0 along (x, y, z).
    origin: [i32; 3],
}

impl Wide {
    /// The shape for a box: the one asked for, else the one with the least work for the busiest
    /// multiprocessor, of equals the narrowest.
    pub(crate) fn new(
        kernels: &Kernels,
        layout: &Layout,
        fields: &Fields,
        increment: Option<&Buffer>,
        storage: Storage,
        radius: usize,
        units: usize,
        choices: Choices,
    ) -> Result<Self> {
        let part: &NodeBox = &layout.interior;
        let coded = storage.speed == SpeedStorage::Uint16;
        let tiles = tiles(radius);
        let all: Vec<_> = tiles
            .iter()
            .map(|&shape| spread(part, tile(shape), RAMP, units, choices.planes))
            .collect();
        let cost = |&n: &usize| all[n].rounds * tile(tiles[n]).iter().product::<usize>();
        let asked = tiles.iter().position(|&(width, _)| width == choices.width);
        let best = asked.or_else(|| (0..tiles.len()).min_by_key(cost)).unwrap_or(0);
        let (shape, spread) = (tiles[best], all[best]);
        let name = name(storage, shape.0, radius);
        kernels.allow_shared(&name)?;
        let [rows, width] = tile(shape);
        let boxed = |rows: usize, width: usize| [rows, width].map(|n| int(n).cast_unsigned());
        let of_p = boxed(rows + 2 * radius, width + 2 * HALO_CODES);
        let stream = boxed(rows, width);
        let [wave, speed] = bytes(storage).map(|bytes| (bytes * LINE) as u64);
        let map = |buffer: &Buffer, boxed| {
            tensor_map(buffer.address() + wave, layout, boxed, Element::U16)
        };
        let of_speed = if coded { Element::U16 } else { Element::F32 };
        Ok(Self {
            threads: threads(shape),
            shared: shared(shape, coded, radius),
            spread,
            waves: fields
                .all()
                .iter()
                .map(|buffer| Ok([map(buffer, of_p)?, map(buffer, stream)?]))
                .collect::<Result<_>>()?,
            increment: increment.map(|buffer| map(buffer, stream)).transpose()?,
            speed: tensor_map(fields.speed.address() + speed, layout, stream, of_speed)?,
            origin: layout.halo.map(int),
            name,
        })
    }

    /// Queues one step in the box of `step`.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        step: &TemblorStep,
        stored: &TemblorStored,
    ) -> Result<()> {
        let Spread { tiles, blocks, .. } = &self.spread;
        let before = self.increment.as_ref().unwrap_or(&self.waves[fields.slot(1)][1]);
        let maps = [&self.waves[fields.slot(0)][0], before, &self.speed];
        let sizes = [*blocks, self.threads, self.shared];
        kernels.stored_wide(stream, &self.name, sizes, step, tiles, stored, maps, self.origin)
    }
}

#[cfg(test)]
mod tests {
    use temblor_physics::WavefieldStorage;

    use super::*;

    #[test]
    fn shared_memory_is_that_of_the_kernels_arrays_and_fits() {
        // Four planes of 176 x 32 codes and of 160 x 24 codes of p- and c, two planes of 168 x 32
        // floats, four of 7 x 32 pairs of floats, five barriers.
        let codes = 4 * 2 * (176 * 32 + 2 * 160 * 24);
        assert_eq!(shared((160, 12), true, 4), codes + 2 * 168 * 32 * 4 + 4 * 7 * 32 * 8 + 40);
        // 30 rows, of which the tile's own begin on the fourth: 16 pairs.
        let codes = 4 * (2_usize * 176 * 30).next_multiple_of(128) + 4 * 2 * 2 * 160 * 24;
        assert_eq!(shared((160, 12), true, 3), codes + 2 * 168 * 30 * 4 + 4 * 7 * 16 * 16 + 40);
        assert_eq!(TILES.map(threads), [512; 3]);
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
