//! Kernels of a plan, and one typed launcher per kernel.
#![expect(unsafe_code, reason = "launches hand raw addresses to kernels")]

pub(crate) mod maps;
pub(crate) mod ozaki;
pub(crate) mod roofs;
pub(crate) mod stored;

use std::collections::HashMap;
use std::ffi::c_void;

use cudarc::driver::sys::CUfunction_attribute;
use cudarc::driver::{CudaFunction, CudaStream, result};
use temblor_backend::{Error, Result};

use self::maps::TensorMap;
use crate::ID;
use crate::arguments::{
    TemblorBoxes, TemblorCpml, TemblorFused, TemblorImages, TemblorLayerTiles, TemblorMinimod,
    TemblorRegion, TemblorStep, TemblorTiles,
};
use crate::layer_tiles::LayerTiles;
use crate::layout::Layout;
use crate::modules::Modules;
use crate::sys::failed;

/// Threads of a block in all kernels but the tuned ones.
const THREADS: u32 = 256;

/// Most blocks of a kernel whose threads stride over their work.
const STRIDING_BLOCKS: usize = 4096;

/// A kernel argument passed by value.
trait Argument {
    fn address(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }
}

impl Argument for i32 {}
impl Argument for i64 {}
impl Argument for u64 {}
impl Argument for f32 {}
impl Argument for TemblorStep {}
impl Argument for TemblorBoxes {}
impl Argument for TemblorCpml {}
impl Argument for TemblorLayerTiles {}
impl Argument for TemblorMinimod {}
impl Argument for TemblorImages {}
impl Argument for TemblorRegion {}
impl Argument for TemblorFused {}
impl Argument for TemblorTiles {}

/// Addresses of node 0 of the fields of a step; `next` may be `previous`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepFields {
    /// p^n.
    pub(crate) current: u64,
    /// p^(n-1).
    pub(crate) previous: u64,
    /// p^(n+1).
    pub(crate) next: u64,
    /// dt^2 c^2.
    pub(crate) speed: u64,
}

/// The kernels that a plan uses.
#[derive(Debug)]
pub(crate) struct Kernels {
    functions: HashMap<String, CudaFunction>,
    /// Most shared memory of a block, bytes.
    shared_limit: i32,
}

impl Kernels {
    /// Takes the named kernels out of their modules.
    pub(crate) fn load(modules: &Modules, names: &[String]) -> Result<Self> {
        let mut functions = HashMap::new();
        for name in names {
            functions.insert(name.clone(), modules.function(name)?);
        }
        Ok(Self { functions, shared_limit: modules.shared_limit()? })
    }

    /// Most shared memory that the device gives a block, bytes.
    pub(crate) fn shared_limit(&self) -> usize {
        usize::try_from(self.shared_limit).unwrap_or(0)
    }

    /// Lets a kernel use as much dynamic shared memory as the device gives a block. Not what a plan
    /// needs: plans share the kernel, and the next one may need less than an earlier one launches with.
    pub(crate) fn allow_shared(&self, name: &str) -> Result<()> {
        self.functions[name]
            .set_attribute(
                CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                self.shared_limit,
            )
            .map_err(failed("cuFuncSetAttribute"))
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel in number, order and type, and addresses among them
    /// name memory that is large enough and lives until the kernel has run.
    unsafe fn launch(
        &self,
        stream: &CudaStream,
        name: &str,
        grid: [usize; 3],
        block: [u32; 3],
        shared: usize,
        arguments: &[&dyn Argument],
    ) -> Result<()> {
        let function = self.functions.get(name).ok_or_else(|| Error::Unsupported {
            backend: ID.into(),
            what: format!("kernel {name}, which this plan did not load"),
        })?;
        let mut addresses: Vec<_> = arguments.iter().map(|a| a.address()).collect();
        let grid = grid.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let shared = u32::try_from(shared).unwrap_or(u32::MAX);
        // SAFETY: as promised by the caller; the addresses live in `arguments` until this returns,
        // and the driver copies what they point to.
        unsafe {
            result::launch_kernel(
                function.cu_function(),
                grid.into(),
                block.into(),
                shared,
                stream.cu_stream(),
                &mut addresses,
            )
        }
        .map_err(failed(&format!("cuLaunchKernel({name})")))
    }

    /// One step in the box of `step`, any order, by a kernel with a thread per node or column.
    pub(crate) fn any_order(
        &self,
        stream: &CudaStream,
        name: &str,
        step: &TemblorStep,
        fields: &StepFields,
    ) -> Result<()> {
        let extent: [usize; 3] = std::array::from_fn(|a| extent(step, a));
        let arguments: [&dyn Argument; 5] =
            [step, &fields.current, &fields.previous, &fields.next, &fields.speed];
        // Blocks along x: of the baseline take every 65535th plane (the limit of the grid's third
        // dimension), of the columns march at least 64.
        let (block, along_x) = if name.starts_with("acoustic_iso_shared") {
            ([32, 16, 1], (extent[0] / 64).clamp(1, 65535))
        } else {
            ([32, 8, 1], extent[0].min(65535))
        };
        let grid = [extent[2].div_ceil(32), extent[1].div_ceil(block[1] as usize), along_x];
        // SAFETY: signature of `acoustic_iso_baseline_r*` and `acoustic_iso_shared_r*`; the plan
        // owns the fields, laid out as `step` says.
        unsafe { self.launch(stream, name, grid, block, 0, &arguments) }
    }

    /// One step in the layers.
    pub(crate) fn cpml(
        &self,
        stream: &CudaStream,
        name: &str,
        threads: u32,
        step: &TemblorStep,
        boxes: &TemblorBoxes,
        layer: &TemblorCpml,
        fields: &StepFields,
    ) -> Result<()> {
        let arguments: [&dyn Argument; 7] =
            [step, boxes, layer, &fields.current, &fields.previous, &fields.next, &fields.speed];
        // SAFETY: signature of `acoustic_iso_cpml_*`; the plan owns fields and memory variables.
        unsafe { self.launch(stream, name, blocks_of(boxes), [threads, 1, 1], 0, &arguments) }
    }

    /// Two steps of the whole grid; `maps` of p, p- and v, `results` of p one and two steps ahead.
    pub(crate) fn fused2(
        &self,
        stream: &CudaStream,
        shape: &TmaShape,
        step: &TemblorStep,
        fused: &TemblorFused,
        maps: [&TensorMap; 3],
        results: [&TensorMap; 2],
    ) -> Result<()> {
        let [p, previous, speed] = maps;
        let arguments: [&dyn Argument; 8] =
            [step, &shape.tiles, fused, p, previous, speed, results[0], results[1]];
        let grid = [shape.blocks, 1, 1];
        // SAFETY: signature of `acoustic_iso_fused2`; maps and results are fields of the plan.
        unsafe {
            self.launch(stream, shape.kernel, grid, [shape.threads, 1, 1], shape.shared, &arguments)
        }
    }

    /// One step in Minimod's layer.
    pub(crate) fn minimod(
        &self,
        stream: &CudaStream,
        name: &str,
        step: &TemblorStep,
        boxes: &TemblorBoxes,
        layer: &TemblorMinimod,
        fields: &StepFields,
    ) -> Result<()> {
        let arguments: [&dyn Argument; 7] =
            [step, boxes, layer, &fields.current, &fields.previous, &fields.next, &fields.speed];
        // SAFETY: signature of `acoustic_iso_minimod_r*`; the plan owns fields and phi.
        unsafe { self.launch(stream, name, blocks_of(boxes), [THREADS, 1, 1], 0, &arguments) }
    }

    /// One step in the C-PML, by tiles.
    pub(crate) fn cpml_tiles(
        &self,
        stream: &CudaStream,
        tiles: &LayerTiles,
        step: &TemblorStep,
        layer: &TemblorCpml,
        fields: &StepFields,
    ) -> Result<()> {
        self.layer_tiles(stream, tiles, step, layer, fields)
    }

    /// One step in Minimod's layer, by tiles.
    pub(crate) fn minimod_tiles(
        &self,
        stream: &CudaStream,
        tiles: &LayerTiles,
        step: &TemblorStep,
        layer: &TemblorMinimod,
        fields: &StepFields,
    ) -> Result<()> {
        self.layer_tiles(stream, tiles, step, layer, fields)
    }

    fn layer_tiles(
        &self,
        stream: &CudaStream,
        tiles: &LayerTiles,
        step: &TemblorStep,
        layer: &dyn Argument,
        fields: &StepFields,
    ) -> Result<()> {
        let (table, shape) = (&tiles.table, &tiles.shape);
        let arguments: [&dyn Argument; 7] =
            [step, table, layer, &fields.current, &fields.previous, &fields.next, &fields.speed];
        let grid = [tiles.blocks(), 1, 1];
        // SAFETY: signature of `acoustic_iso_cpml` and `acoustic_iso_minimod`, whose tiles are made
        // for the one kind of layer; the plan owns fields and memory variables.
        unsafe {
            self.launch(stream, shape.kernel, grid, [shape.threads, 1, 1], tiles.shared, &arguments)
        }
    }

    /// One step in the box of `step`, tiles fed by bulk tensor copies; `maps` of p, p- and v.
    pub(crate) fn tma(
        &self,
        stream: &CudaStream,
        shape: &TmaShape,
        step: &TemblorStep,
        maps: [&TensorMap; 3],
        fields: &StepFields,
        halo: [i32; 3],
    ) -> Result<()> {
        let arguments: [&dyn Argument; 10] = [
            step,
            maps[0],
            maps[1],
            maps[2],
            &fields.current,
            &fields.next,
            &shape.tiles,
            &halo[0],
            &halo[1],
            &halo[2],
        ];
        let grid = [shape.blocks, 1, 1];
        // SAFETY: signature of `acoustic_iso_tma`; the maps describe fields of the plan.
        unsafe {
            self.launch(stream, shape.kernel, grid, [shape.threads, 1, 1], shape.shared, &arguments)
        }
    }

    /// One step in the box of `step` by wide tiles; `row_end` is one past a row's last element,
    /// counted from node 0.
    pub(crate) fn wide(
        &self,
        stream: &CudaStream,
        name: &str,
        blocks: usize,
        shared: usize,
        step: &TemblorStep,
        tiles: &TemblorTiles,
        fields: &StepFields,
        row_end: i32,
    ) -> Result<()> {
        let arguments: [&dyn Argument; 6] =
            [step, tiles, &fields.current, &fields.next, &fields.speed, &row_end];
        // SAFETY: signature of `acoustic_iso_wide_z*`; the plan owns the fields, whose p- is the
        // result's place, and rows end where `row_end` says.
        unsafe { self.launch(stream, name, [blocks, 1, 1], [512, 1, 1], shared, &arguments) }
    }

    /// Records a sample per receiver.
    pub(crate) fn record(
        &self,
        stream: &CudaStream,
        receivers: usize,
        points: u64,
        weights: u64,
        field: u64,
        layout: &Layout,
        samples: u64,
    ) -> Result<()> {
        let (count, sx, sy) = (int(receivers), long(layout.stride_x()), long(layout.stride_y()));
        let arguments: [&dyn Argument; 7] = [&count, &points, &weights, &field, &sx, &sy, &samples];
        let grid = [receivers.div_ceil(8), 1, 1];
        // SAFETY: signature of `record`; the tables were checked against the grid.
        unsafe { self.launch(stream, "record", grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Adds one step's sources; addresses as in the kernel.
    pub(crate) fn inject(
        &self,
        stream: &CudaStream,
        nodes: usize,
        table: [u64; 4],
        amplitudes: u64,
        fields: &StepFields,
    ) -> Result<()> {
        let count = int(nodes);
        let arguments: [&dyn Argument; 8] = [
            &count,
            &table[0],
            &table[1],
            &table[2],
            &table[3],
            &amplitudes,
            &fields.speed,
            &fields.next,
        ];
        let grid = [nodes.div_ceil(THREADS as usize), 1, 1];
        // SAFETY: signature of `inject`; the tables were checked against the grid.
        unsafe { self.launch(stream, "inject", grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Fills the halo along one axis.
    pub(crate) fn images(
        &self,
        stream: &CudaStream,
        step: &TemblorStep,
        images: &TemblorImages,
        field: u64,
    ) -> Result<()> {
        let others: i64 = (0..3)
            .filter(|&a| i32::try_from(a) != Ok(images.axis))
            .map(|a| i64::from(step.nodes[a]))
            .product();
        let grid = [usize::try_from(others).unwrap_or(0).div_ceil(THREADS as usize), 1, 1];
        let arguments: [&dyn Argument; 3] = [step, images, &field];
        // SAFETY: signature of `images`; targets lie in the halo of the plan's fields.
        unsafe { self.launch(stream, "images", grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Copies rows of a region from a field to a compact array (`pack`) or back (`unpack`).
    pub(crate) fn transfer(
        &self,
        stream: &CudaStream,
        name: &str,
        region: &TemblorRegion,
        field: u64,
        compact: u64,
    ) -> Result<()> {
        let grid = [striding_blocks(region.rows * i64::from(region.shape[2])), 1, 1];
        let arguments: [&dyn Argument; 3] = [region, &field, &compact];
        // SAFETY: signature of `pack` and `unpack`; the region was checked against the grid.
        unsafe { self.launch(stream, name, grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Largest absolute value and first bad node of a field.
    pub(crate) fn health(
        &self,
        stream: &CudaStream,
        step: &TemblorStep,
        field: u64,
        largest: u64,
        first_bad: u64,
    ) -> Result<()> {
        let points = step.nodes.iter().map(|&n| i64::from(n)).product();
        let arguments: [&dyn Argument; 4] = [step, &field, &largest, &first_bad];
        let grid = [striding_blocks(points), 1, 1];
        // SAFETY: signature of `health`; the result's places belong to the plan.
        unsafe { self.launch(stream, "health", grid, [THREADS, 1, 1], 0, &arguments) }
    }

    /// Largest absolute value of an array.
    pub(crate) fn largest_of(
        &self,
        stream: &CudaStream,
        elements: usize,
        values: u64,
        largest: u64,
    ) -> Result<()> {
        let count = long(elements);
        let arguments: [&dyn Argument; 3] = [&count, &values, &largest];
        let grid = [striding_blocks(count), 1, 1];
        // SAFETY: signature of `largest_of`; the array holds `elements` elements.
        unsafe { self.launch(stream, "largest_of", grid, [THREADS, 1, 1], 0, &arguments) }
    }
}

/// Tile and launch figures of a tensor-copy kernel; the same numbers as in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TmaShape {
    /// Entry point.
    pub(crate) kernel: &'static str,
    /// Nodes that a tile updates along (y, z).
    pub(crate) tile: [usize; 2],
    /// Nodes of the boxes copied along (y, z): p, then p- and v.
    pub(crate) boxes: [[u32; 2]; 2],
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of shared memory.
    pub(crate) shared: usize,
    /// What a block costs on top of the planes that it gives out, in planes.
    pub(crate) ramp: usize,
    /// Which tile and planes a block takes.
    pub(crate) tiles: TemblorTiles,
    /// Blocks.
    pub(crate) blocks: usize,
}

fn extent(step: &TemblorStep, axis: usize) -> usize {
    usize::try_from(step.end[axis] - step.begin[axis]).unwrap_or(0)
}

fn blocks_of(boxes: &TemblorBoxes) -> [usize; 3] {
    let count = usize::try_from(boxes.count).unwrap_or(0);
    [usize::try_from(boxes.first_block[count]).unwrap_or(0), 1, 1]
}

fn striding_blocks(work: i64) -> usize {
    let blocks = usize::try_from(work).unwrap_or(0).div_ceil(THREADS as usize);
    blocks.clamp(1, STRIDING_BLOCKS)
}

/// A count as the kernels take it; grids beyond 2^31 nodes along an axis are refused earlier.
pub(crate) fn int(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// An element count or stride as the kernels take it.
pub(crate) fn long(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
