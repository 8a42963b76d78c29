//! Wavefields in reduced storage: two bytes a value (four for two-limb BF16), arithmetic in FP32.
//!
//! int16 and scaled halves share a signed byte e per 32 nodes along z: the kernels' headers
//! (`csrc/cuda/int16.cuh`, `stored.cuh`) define codes and rounding. Increments d = p^n - p^(n-1) are
//! stored in place of p^(n-1): d+ = round(d + dt^2 c^2 L p), p+ = round(p + d+).
//! Values beyond reflecting faces are mirrored as they are read, so that images cost no rounding.
//! Layers beside reflecting faces, but for the one before node 0 along z, are stepped by the general kernels,
//! others by tuned ones where there are such.
//! A source is added to the rounded p+ (or d+, and p+ made again), whose tile is then rounded again.

mod layers;
mod speed;
mod wide;

use cudarc::driver::CudaStream;
use temblor_backend::{Error, Footprint, PlanOptions, Result};
use temblor_physics::boundary::image;
use temblor_physics::{Arithmetic, SpeedStorage, Storage, WaveProblem, WavefieldStorage};

use crate::arguments::{TemblorBoxes, TemblorRegion, TemblorStep, TemblorStored};
use crate::fields::Fields;
use crate::layer_tiles::LayerTiles;
use crate::layers::{Kind, Layers, boxes, scaled_step, single};
use crate::layout::{LINE, Layout, NodeBox};
use crate::memory::Buffer;
use crate::module::stored::Layer;
use crate::module::{Kernels, int};
use crate::parameters::Choices;
use crate::points::{Receivers, Sources};

use layers::{keep, meets_a_wall, tile_shape, tiles};
pub(crate) use speed::Coded;
use wide::Wide;
pub(crate) use wide::{WIDTHS, most_shared};

/// Names of the variants: tuned, and any radius and shape.
pub(crate) const NAMES: [&str; 2] = ["stored_wide", "stored"];

/// Rows behind a field's last plane, and elements behind those. Of them kernels read the exponent of one
/// tile, that behind the last row.
const ROOM: (usize, usize) = (64, 512);

/// Storage tiles that a block of the general kernels steps at a time, and planes that it marches, as in
/// `acoustic_iso_stored.cu`.
const TILES_PER_BLOCK: i32 = 8;
const MARCH: i32 = 16;

/// e of tiles at rest, where 2^e counts as zero.
const AT_REST: i8 = -127;

/// The storage of a problem's arithmetic, if it is one of reduced storage.
pub(crate) fn storage_of(problem: &WaveProblem) -> Option<Storage> {
    match problem.arithmetic {
        Arithmetic::Stored(storage) => Some(storage),
        _ => None,
    }
}

/// What names of kernels of a storage end in.
fn suffix(wavefields: WavefieldStorage) -> Result<&'static str> {
    Ok(match wavefields {
        WavefieldStorage::F32 => "f32",
        WavefieldStorage::Int16 | WavefieldStorage::Int16Increment => "int16",
        WavefieldStorage::Bf16 => "bf16",
        WavefieldStorage::Bf16Pair => "bf16x2",
        WavefieldStorage::Fp16 => "fp16",
        WavefieldStorage::Fp16Scaled => "fp16_scaled",
        other => {
            let what = format!("storage {}", other.name());
            return Err(Error::Unsupported { backend: crate::ID.into(), what });
        }
    })
}

/// Bytes of an element of a wavefield, and of the wave speed.
const fn bytes(storage: Storage) -> [usize; 2] {
    let wave = match storage.wavefields {
        WavefieldStorage::F32 | WavefieldStorage::Bf16Pair => 4,
        _ => 2,
    };
    [wave, if matches!(storage.speed, SpeedStorage::Uint16) { 2 } else { 4 }]
}

/// Whether tiles have an exponent.
const fn has_exponents(wavefields: WavefieldStorage) -> bool {
    use WavefieldStorage as W;
    matches!(wavefields, W::Int16 | W::Int16Increment | W::Fp16Scaled)
}

const fn is_increment(wavefields: WavefieldStorage) -> bool {
    matches!(wavefields, WavefieldStorage::Int16Increment)
}

/// Element of node 0: rows' first nodes lie on 128 B, which a row's first tile of zeros alone is not.
fn origin(layout: &Layout) -> usize {
    layout.origin() + LINE
}

/// Elements of a field: whole words of exponents.
fn elements(layout: &Layout) -> usize {
    (LINE + layout.elements() + ROOM.0 * layout.pitch + ROOM.1).next_multiple_of(4 * LINE)
}

/// Adds a plan's fields to its footprint.
pub(crate) fn footprint(layout: &Layout, storage: Storage, mut all: Footprint) -> Footprint {
    let elements = elements(layout);
    let [wave, speed] = bytes(storage).map(|bytes| (bytes * elements) as u64);
    let exponents = (elements / LINE) as u64;
    let third = is_increment(storage.wavefields).then_some("p - p of the step before");
    let second = if third.is_some() { "p of the next step" } else { "p of the step before" };
    for name in ["p", second].into_iter().chain(third) {
        all = all.with(name, wave);
        if has_exponents(storage.wavefields) {
            all = all.with(format!("exponents of {name}"), exponents);
        }
    }
    all.with(if speed == wave && speed == 2 * elements as u64 { "c" } else { "c^2 dt^2" }, speed)
}

/// Fields of a plan in its order: p^n, then p^(n-1) or the place of p^(n+1).
pub(crate) fn fields(stream: &CudaStream, layout: &Layout, storage: Storage) -> Result<Fields> {
    Fields::of_bytes(stream, elements(layout), origin(layout), 2, bytes(storage))
}

/// Entry points that a plan needs.
pub(crate) fn kernel_names(variant: &str, problem: &WaveProblem) -> Result<Vec<String>> {
    let Some(storage) = storage_of(problem) else { return Ok(Vec::new()) };
    let suffix = suffix(storage.wavefields)?;
    let layer = match Kind::of(problem) {
        Kind::None => None,
        Kind::Cpml => Some("acoustic_iso_stored_cpml"),
        Kind::Minimod => Some("acoustic_iso_stored_minimod"),
    };
    let kinds =
        ["record", "inject", "pack", "unpack", "health"].map(|kind| format!("stored_{kind}"));
    let kinds = kinds.into_iter().chain(["acoustic_iso_stored_plain".to_owned()]);
    let mut names: Vec<String> = kinds
        .chain(layer.map(String::from))
        .map(|kind| format!("{kind}_{suffix}"))
        .chain(["stored_speed".to_owned()])
        .collect();
    if variant == NAMES[0] {
        names.extend(wide::names(storage, problem.operator.radius()));
        names.extend(tile_shape(problem, storage).map(|shape| shape.kernel.to_owned()));
    }
    Ok(names)
}

/// What a plan holds besides its fields.
#[derive(Debug)]
pub(crate) struct Stored {
    /// What names of kernels end in.
    suffix: &'static str,
    /// Of each allocation of a wavefield; empty where tiles have none.
    exponents: Vec<Buffer>,
    /// p^n - p^(n-1) and its exponents.
    increment: Option<[Buffer; 2]>,
    /// Node 0 in bytes of a wavefield and of exponents.
    origins: [u64; 2],
    /// What does not change from step to step.
    fixed: TemblorStored,
    whole: TemblorStep,
    /// Of the wide kernel.
    interior: TemblorStep,
    empty: bool,
    interior_boxes: TemblorBoxes,
    wide: Option<Wide>,
    /// Of the layers, for the tuned kernels; the others are left to the general ones.
    layer_tiles: Option<LayerTiles>,
    layer_boxes: TemblorBoxes,
    /// Codes of the wave speed.
    pub(crate) coded: Option<Coded>,
}

impl Stored {
    /// Allocates what the fields do not hold, at rest.
    pub(crate) fn new(
        stream: &CudaStream,
        problem: &WaveProblem,
        options: &PlanOptions,
        kernels: &Kernels,
        layout: &Layout,
        fields: &Fields,
        layers: &Layers,
        whole: &TemblorStep,
        variant: &str,
        units: usize,
        choices: Choices,
    ) -> Result<Option<Self>> {
        let Some(storage) = storage_of(problem) else { return Ok(None) };
        let radius = problem.operator.radius();
        let coded = (storage.speed == SpeedStorage::Uint16)
            .then(|| Coded::new(options.speeds, layout.nodes))
            .transpose()?;
        let [bytes, _] = bytes(storage);
        let words = elements(layout) / (4 * LINE);
        let exponents = || Buffer::zeros(stream, words);
        let count = if has_exponents(storage.wavefields) { 2 } else { 0 };
        let mut increment = None;
        if is_increment(storage.wavefields) {
            increment = Some([Buffer::zeros(stream, elements(layout) * bytes / 4)?, exponents()?]);
        }
        let mut fixed = TemblorStored {
            increment: i32::from(increment.is_some()),
            radius: int(radius),
            image: [[-1; 16]; 3],
            ..Default::default()
        };
        if let Some(coded) = &coded {
            [fixed.least, fixed.slope] = coded.moved(problem.dt).map(single);
            fixed.code_offset = single(coded.offset());
        }
        mirror(problem, &mut fixed);
        let part = layout.interior;
        let (_, boxes_of_layers, _, _) = layers.arguments();
        let of_increment = increment.as_ref().map(|[d, _]| d);
        let wide = (variant == NAMES[0])
            .then(|| {
                Wide::new(kernels, layout, fields, of_increment, storage, radius, units, choices)
            })
            .transpose()?;
        let layer_tiles = wide.as_ref().and_then(|_| tiles(problem, layout, storage, units));
        let layer_tiles = layer_tiles.filter(|tiles| tiles.shared <= kernels.shared_limit());
        if let Some(tiles) = &layer_tiles {
            kernels.allow_shared(tiles.shape.kernel)?;
        }
        let mut general = *boxes_of_layers;
        if layer_tiles.is_some() {
            keep(&mut general, |n| meets_a_wall(problem, &layout.layers[n].1));
        }
        // The wide kernels square codes: c dt over the unit of a code.
        let unit = coded.as_ref().map_or(1.0, |coded| coded.moved(problem.dt)[1].powi(2));
        let weighted = scaled_step(problem, layout, unit);
        let stored = Self {
            suffix: suffix(storage.wavefields)?,
            exponents: (0..count).map(|_| exponents()).collect::<Result<_>>()?,
            increment,
            origins: [(bytes * origin(layout)) as u64, (origin(layout) / LINE) as u64],
            fixed,
            whole: *whole,
            interior: TemblorStep {
                begin: part.begin.map(int),
                end: part.end.map(int),
                ..weighted
            },
            empty: part.is_empty(),
            interior_boxes: tiled(boxes(&slabs_of(&part), (1, 256))),
            wide,
            layer_tiles,
            layer_boxes: tiled(general),
            coded,
        };
        stored.clear(stream)?;
        Ok(Some(stored))
    }

    /// At rest; the fields' words are zero.
    pub(crate) fn clear(&self, stream: &CudaStream) -> Result<()> {
        let exponents = self.exponents.iter().chain(self.increment.as_ref().map(|d| &d[1]));
        for buffer in exponents {
            buffer.set_bytes(stream, AT_REST.cast_unsigned())?;
        }
        self.increment.as_ref().map_or(Ok(()), |d| d[0].clear(stream))
    }

    /// What a step reads, in a fixed order.
    pub(crate) fn state<'a>(&'a self, fields: &'a Fields) -> Vec<&'a Buffer> {
        let mut all = vec![fields.wave(0)];
        all.extend(self.exponents.get(fields.slot(0)));
        if let Some(increment) = &self.increment {
            all.extend(increment);
        } else {
            all.push(fields.wave(1));
            all.extend(self.exponents.get(fields.slot(1)));
        }
        all
    }

    /// Arguments of a step from wavefield 0.
    pub(crate) fn arguments(&self, fields: &Fields) -> TemblorStored {
        let exponents = |n: usize| {
            let buffer = self.exponents.get(fields.slot(n));
            buffer.map_or(0, |buffer| buffer.address() + self.origins[1])
        };
        let mut all = TemblorStored {
            p: fields.node(0),
            p_exponents: exponents(0),
            before: fields.node(1),
            before_exponents: exponents(1),
            next: fields.node(1),
            next_exponents: exponents(1),
            speed: fields.speed_node(),
            ..self.fixed
        };
        if let Some([d, exponents]) = &self.increment {
            all.before = d.address() + self.origins[0];
            all.before_exponents = exponents.address() + self.origins[1];
        }
        all
    }

    /// The same for kernels that make step `n`, which round by noise of their own.
    fn stepping(&self, fields: &Fields, n: u64) -> TemblorStored {
        TemblorStored { seed: seed(n).cast_signed(), ..self.arguments(fields) }
    }

    /// Queues the interior of step `n`.
    pub(crate) fn step_interior(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        n: u64,
    ) -> Result<()> {
        let arguments = self.stepping(fields, n);
        match &self.wide {
            _ if self.empty => Ok(()),
            Some(wide) => wide.step(stream, kernels, fields, &self.interior, &arguments),
            None => {
                let (step, boxes) = (&self.whole, &self.interior_boxes);
                kernels.stored_boxes(stream, self.suffix, step, boxes, Layer::Plain, &arguments)
            }
        }
    }

    /// Queues step `n` of the layers and of what lies along walls.
    pub(crate) fn step_layers(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        layers: &mut Layers,
        n: u64,
    ) -> Result<()> {
        if layers.is_empty() {
            return Ok(());
        }
        let (kind, _, cpml, minimod) = layers.arguments();
        let layer = match kind {
            Kind::None => Layer::Plain,
            Kind::Cpml => Layer::Cpml(cpml),
            Kind::Minimod => Layer::Minimod(minimod),
        };
        let (arguments, boxes) = (self.stepping(fields, n), &self.layer_boxes);
        if let Some(tiles) = &self.layer_tiles {
            kernels.stored_layers(stream, tiles, &self.whole, layer, &arguments)?;
        }
        if boxes.count > 0 {
            kernels.stored_boxes(stream, self.suffix, &self.whole, boxes, layer, &arguments)?;
        }
        if kind == Kind::Cpml {
            layers.turn();
        }
        Ok(())
    }

    /// Queues the injection of step `step`.
    pub(crate) fn inject(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        sources: &Sources,
        step: u64,
    ) -> Result<()> {
        sources.inject_stored(stream, kernels, step, self.suffix, &self.arguments(fields))
    }

    /// Queues a sample per receiver.
    pub(crate) fn record(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        receivers: &Receivers,
        samples: u64,
    ) -> Result<()> {
        let (arguments, tables) = (self.arguments(fields), receivers.tables());
        let count = receivers.count;
        kernels.stored_record(stream, self.suffix, &self.whole, &arguments, count, tables, samples)
    }

    /// Queues a copy of rows of a wavefield (0: p^n, 1: p^(n-1)) to a compact array, or back.
    pub(crate) fn transfer(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        pack: bool,
        wave: usize,
        region: &TemblorRegion,
        compact: u64,
    ) -> Result<()> {
        let (arguments, previous) = (self.arguments(fields), wave == 1);
        if pack {
            kernels.stored_pack(stream, self.suffix, region, &arguments, previous, compact)
        } else {
            kernels.stored_unpack(stream, self.suffix, region, &arguments, previous, compact)
        }
    }

    /// Queues the search for the largest |p| and the first bad node.
    pub(crate) fn health(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        results: [u64; 2],
    ) -> Result<()> {
        let arguments = self.arguments(fields);
        kernels.stored_health(stream, self.suffix, &self.whole, &arguments, results)
    }
}

/// What the noise of a step is hashed from: bits that depend on all bits of its number.
#[expect(clippy::cast_possible_truncation, reason = "the halves are taken apart")]
const fn seed(n: u64) -> u32 {
    let word = (n as u32) ^ ((n >> 32) as u32).wrapping_mul(0x9e37_79b1);
    let word = (word ^ (word >> 16)).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ (word >> 13)).wrapping_mul(0xc2b2_ae35);
    word ^ (word >> 16)
}

fn slabs_of(part: &NodeBox) -> Vec<(usize, NodeBox)> {
    if part.is_empty() { Vec::new() } else { vec![(0, *part)] }
}

/// The same boxes in blocks of whole storage tiles.
fn tiled(mut boxes: TemblorBoxes) -> TemblorBoxes {
    let count = usize::try_from(boxes.count).unwrap_or(0);
    let mut blocks = 0;
    for b in 0..count {
        boxes.first_block[b] = blocks;
        let extent: [i32; 3] = std::array::from_fn(|a| boxes.end[b][a] - boxes.begin[b][a]);
        let along_z = (extent[2] + int(LINE) - 1) / int(LINE);
        let marches = (extent[0] + MARCH - 1) / MARCH;
        let tiles = i64::from(marches) * i64::from(extent[1]) * i64::from(along_z);
        let more = (tiles + i64::from(TILES_PER_BLOCK) - 1) / i64::from(TILES_PER_BLOCK);
        blocks = blocks.saturating_add(i32::try_from(more).unwrap_or(i32::MAX));
    }
    boxes.first_block[count] = blocks;
    boxes
}

/// Writes which nodes lie behind the nodes beyond each face.
fn mirror(problem: &WaveProblem, stored: &mut TemblorStored) {
    for axis in problem.grid.active_axes() {
        let (min, max) = problem.ends(axis);
        let a = axis.index();
        let nodes = problem.grid.shape[a];
        for r in 0..8_usize {
            let beyond = [(r, -1 - r.cast_signed()), (8 + r, (nodes + r).cast_signed())];
            for (place, node) in beyond {
                if let Some((source, sign)) = image(node, nodes, &min, &max) {
                    stored.image[a][place] = int(source);
                    stored.sign[a][place] = single(sign);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Boundaries, Boundary, Face, Grid};

    use super::*;

    #[test]
    fn free_and_rigid_faces_mirror_and_others_are_silent() {
        let grid = Grid::new([9, 1, 12], [10.0; 3], [0.0; 3]).unwrap();
        let mut boundaries = Boundaries::uniform(Boundary::Zero);
        boundaries.set(Face::ZMin, Boundary::Free);
        boundaries.set(Face::XMax, Boundary::Rigid);
        let problem = WaveProblem::builder(grid, 1e-4).boundaries(boundaries).build().unwrap();
        let mut stored = TemblorStored { image: [[-1; 16]; 3], ..Default::default() };
        mirror(&problem, &mut stored);
        assert_eq!(stored.image[0], [-1, -1, -1, -1, -1, -1, -1, -1, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(stored.image[2], [1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1, -1, -1, -1, -1]);
        assert_eq!(stored.image[1], [-1; 16]);
        assert!(stored.sign[2][..8].iter().all(|s| s.to_bits() == (-1.0_f32).to_bits()));
        assert!(stored.sign[0][8..].iter().all(|s| s.to_bits() == 1.0_f32.to_bits()));
    }

    #[test]
    fn rows_begin_on_a_cache_line_and_a_tile_lies_behind_the_last() {
        for shape in [[9, 11, 800], [9, 11, 33], [5, 1, 64]] {
            let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
            let layout = Layout::stored(&WaveProblem::builder(grid, 1e-4).build().unwrap());
            assert_eq!((origin(&layout) % 64, layout.pitch % 64), (0, 0), "{shape:?}");
            let end = origin(&layout)
                + layout.offset(shape.map(|n| n - 1))
                + layout.halo[0] * layout.stride_x();
            // Of what lies behind, kernels read the exponent of the next storage tile.
            assert!(elements(&layout) > end + LINE, "{shape:?}");
        }
    }

    #[test]
    fn blocks_cover_all_tiles_of_all_boxes() {
        let slab = |begin, end| (0, NodeBox { begin, end });
        let slabs = [slab([0; 3], [17, 5, 70]), slab([17, 0, 0], [18, 5, 32])];
        let boxes = tiled(boxes(&slabs, (1, 256)));
        // 30 and 5 tiles, marched along x.
        assert_eq!(boxes.first_block[..3], [0, 4, 5]);
    }
}
