//! Launchers of the kernels of reduced storage.
#![expect(unsafe_code, reason = "launches hand raw addresses to kernels")]

use cudarc::driver::CudaStream;
use temblor_backend::Result;

use super::maps::TensorMap;
use super::{Argument, Kernels, THREADS, blocks_of, int, striding_blocks};
use crate::arguments::{
    TemblorBoxes, TemblorCpml, TemblorMinimod, TemblorRegion, TemblorStep, TemblorStored,
    TemblorTiles,
};
use crate::layer_tiles::LayerTiles;

impl Argument for TemblorStored {}

/// The layer whose equations a launch steps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Layer<'a> {
    /// None.
    Plain,
    /// C-PML.
    Cpml(&'a TemblorCpml),
    /// Minimod's.
    Minimod(&'a TemblorMinimod),
}

impl<'a> Layer<'a> {
    /// What names of kernels call it.
    const fn name(self) -> &'static str {
        match self {
            Layer::Plain => "plain",
            Layer::Cpml(_) => "cpml",
            Layer::Minimod(_) => "minimod",
        }
    }

    /// What its kernels take between the boxes and the storage.
    fn argument(self) -> Option<&'a dyn Argument> {
        match self {
            Layer::Plain => None,
            Layer::Cpml(layer) => Some(layer),
            Layer::Minimod(layer) => Some(layer),
        }
    }
}

impl Kernels {
    /// One step in boxes of whole storage tiles; `storage` is what names of kernels end in.
    pub(crate) fn stored_boxes(
        &self,
        stream: &CudaStream,
        storage: &str,
        step: &TemblorStep,
        boxes: &TemblorBoxes,
        layer: Layer<'_>,
        stored: &TemblorStored,
    ) -> Result<()> {
        let mut arguments: Vec<&dyn Argument> = vec![step, boxes];
        arguments.extend(layer.argument());
        arguments.push(stored);
        let name = format!("acoustic_iso_stored_{}_{storage}", layer.name());
        // SAFETY: signatures of `acoustic_iso_stored_plain_*`, `_cpml_*` and `_minimod_*`; the plan
        // owns fields and memory variables.
        unsafe { self.launch(stream, &name, blocks_of(boxes), [THREADS, 1, 1], 0, &arguments) }
    }

    /// One step in the layers, by tiles.
    pub(crate) fn stored_layers(
        &self,
        stream: &CudaStream,
        tiles: &LayerTiles,
        step: &TemblorStep,
        layer: Layer<'_>,
        stored: &TemblorStored,
    ) -> Result<()> {
        let (table, shape) = (&tiles.table, &tiles.shape);
        let mut arguments: Vec<&dyn Argument> = vec![step, table];
        arguments.extend(layer.argument());
        arguments.push(stored);
        let (grid, block) = ([tiles.blocks(), 1, 1], [shape.threads, 1, 1]);
        // SAFETY: signature of `acoustic_iso_int16_*_cpml` and `_minimod`, whose tiles are made for the
        // one kind of layer; the plan owns fields and memory variables.
        unsafe { self.launch(stream, shape.kernel, grid, block, tiles.shared, &arguments) }
    }

    /// One step in the box of `step` by wide tiles; `maps` of p, p- (or the increment) and the wave
    /// speed, node 0 of which is element `origin` along (x, y, z).
    pub(crate) fn stored_wide(
        &self,
        stream: &CudaStream,
        name: &str,
        [blocks, threads, shared]: [usize; 3],
        step: &TemblorStep,
        tiles: &TemblorTiles,
        stored: &TemblorStored,
        maps: [&TensorMap; 3],
        origin: [i32; 3],
    ) -> Result<()> {
        let [p, before, speed] = maps;
        let [x, y, z] = &origin;
        let arguments: [&dyn Argument; 9] = [step, tiles, stored, p, before, speed, x, y, z];
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        // SAFETY: signature of `acoustic_iso_int16_*`; the plan owns the fields that pointers and
        // maps name.
        unsafe { self.launch(stream, name, [blocks, 1, 1], [threads, 1, 1], shared, &arguments) }
    }

    /// Records a sample per receiver; `tables` of points and weights.
    pub(crate) fn stored_record(
        &self,
        stream: &CudaStream,
        storage: &str,
        step: &TemblorStep,
        stored: &TemblorStored,
        receivers: usize,
        tables: [u64; 2],
        samples: u64,
    ) -> Result<()> {
        let count = int(receivers);
        let arguments: [&dyn Argument; 6] =
            [step, stored, &count, &tables[0], &tables[1], &samples];
        let (name, grid) = (format!("stored_record_{storage}"), [receivers.div_ceil(8), 1, 1]);
        // SAFETY: signature of `stored_record_*`; the tables were checked against the grid.
        unsafe { self.launch(stream, &name, grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Adds one step's sources; `tiles`: number of storage tiles with sources and their table.
    pub(crate) fn stored_inject(
        &self,
        stream: &CudaStream,
        storage: &str,
        stored: &TemblorStored,
        tiles: (usize, u64),
        table: [u64; 4],
        amplitudes: u64,
    ) -> Result<()> {
        let count = int(tiles.0);
        let [node, first, source, weight] = &table;
        let arguments: [&dyn Argument; 8] =
            [stored, &count, &tiles.1, node, first, source, weight, &amplitudes];
        let (name, grid) = (format!("stored_inject_{storage}"), [tiles.0.div_ceil(8), 1, 1]);
        // SAFETY: signature of `stored_inject_*`; the tables were checked against the grid.
        unsafe { self.launch(stream, &name, grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Decodes rows of a region into a compact array: p, or p- if `previous`.
    pub(crate) fn stored_pack(
        &self,
        stream: &CudaStream,
        storage: &str,
        region: &TemblorRegion,
        stored: &TemblorStored,
        previous: bool,
        compact: u64,
    ) -> Result<()> {
        let previous = i32::from(previous);
        let grid = [striding_blocks(region.rows * i64::from(region.shape[2])), 1, 1];
        let arguments: [&dyn Argument; 4] = [region, stored, &previous, &compact];
        let name = format!("stored_pack_{storage}");
        // SAFETY: signature of `stored_pack_*`; the region was checked against the grid.
        unsafe { self.launch(stream, &name, grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Encodes a compact array into rows of a region of p, or p- if `previous`.
    pub(crate) fn stored_unpack(
        &self,
        stream: &CudaStream,
        storage: &str,
        region: &TemblorRegion,
        stored: &TemblorStored,
        previous: bool,
        compact: u64,
    ) -> Result<()> {
        let (p, exponents, previous) = (stored.p, stored.p_exponents, i32::from(previous));
        // A warp per storage tile.
        let nodes = i64::from(region.shape[2]) * i64::from(region.stride[2]) + 64;
        let grid = [striding_blocks(region.rows * nodes), 1, 1];
        let arguments: [&dyn Argument; 6] = [region, stored, &p, &exponents, &previous, &compact];
        let name = format!("stored_unpack_{storage}");
        // SAFETY: signature of `stored_unpack_*`; the region was checked against the grid.
        unsafe { self.launch(stream, &name, grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Writes codes of the wave speed, given as floats, into rows of a region.
    pub(crate) fn stored_speed(
        &self,
        stream: &CudaStream,
        region: &TemblorRegion,
        codes: u64,
        compact: u64,
    ) -> Result<()> {
        let grid = [striding_blocks(region.rows * i64::from(region.shape[2])), 1, 1];
        let arguments: [&dyn Argument; 3] = [region, &codes, &compact];
        // SAFETY: signature of `stored_speed`; the region was checked against the grid.
        unsafe { self.launch(stream, "stored_speed", grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Largest absolute value and first bad node of p, into the places given.
    pub(crate) fn stored_health(
        &self,
        stream: &CudaStream,
        storage: &str,
        step: &TemblorStep,
        stored: &TemblorStored,
        results: [u64; 2],
    ) -> Result<()> {
        let points = step.nodes.iter().map(|&n| i64::from(n)).product();
        let arguments: [&dyn Argument; 4] = [step, stored, &results[0], &results[1]];
        let (name, grid) = (format!("stored_health_{storage}"), [striding_blocks(points), 1, 1]);
        // SAFETY: signature of `stored_health_*`; the result's places belong to the plan.
        unsafe { self.launch(stream, &name, grid, [THREADS, 1, 1], 0, &arguments) }
    }
}
