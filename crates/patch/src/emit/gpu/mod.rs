//! Kernels for GPUs: one text for CUDA, HIP and `OpenCL` C.
//!
//! A thread computes a voxel by straight-line code from the kernel's graph. What is the same for all
//! voxels of a patch is computed once per patch and block, into shared memory. Several patches share a
//! block where they are small; the largest eigenvalue of a patch is an atomic maximum over ordered
//! integers, so it depends on no order.
//!
//! Arguments of every entry: a table of pointers to the input chunks, one to the output chunks, the
//! cells, the keys of the largest eigenvalues (zero before the launch; [`speed_of_key`]), scratch
//! memory for temporaries ([`Program::scratch`] values per patch), the parameters, the number of
//! patches.

mod body;
mod cuda;
mod dialect;
mod entry;
mod fit;
mod hip;
mod layout;
mod opencl;
pub(crate) mod order;
mod points;
mod schedule;
mod share;
mod voxel;

use crate::error::{Error, Result};
use crate::graph::{BlockId, Coordinate, Leaf, Node};
use crate::kernel::{INPUT, Kernel, OUTPUT, Output};

pub use dialect::Dialect;
pub use layout::Layout;
pub use order::Order;
pub use points::{post_kernel, speed_kernel};
pub use schedule::{Schedule, Way, candidates};

/// Where input and output lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layouts {
    /// Of the input, halo included.
    pub input: Layout,
    /// Of the output; the interior of a state with halo, or a block of its own.
    pub output: Layout,
}

impl Layouts {
    /// Chunks as the contract has them on both sides.
    #[must_use]
    pub fn chunks(kernel: &Kernel) -> Self {
        Self {
            input: Layout::chunk(&kernel.blocks[usize::from(INPUT.0)]),
            output: Layout::chunk(&kernel.blocks[usize::from(OUTPUT.0)]),
        }
    }

    /// States and rates of patches that stay on a device: an array per unknown, with as many patches
    /// side by side as the schedule says. A step goes into the interior of a state, a rate has no halo.
    #[must_use]
    pub fn resident(kernel: &Kernel, schedule: &Schedule) -> Self {
        let of = |block: BlockId| {
            Layout::planes(&kernel.blocks[usize::from(block.0)]).beside(schedule.lanes)
        };
        let input = of(INPUT);
        let output = match kernel.shape.output {
            Output::Step => input,
            Output::Rate => of(OUTPUT),
        };
        Self { input, output }
    }
}

/// A kernel of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, bytes.
    pub shared: u32,
    /// Work items of a block: patches, or voxels in a row.
    pub items: u64,
    /// Work items of a patch.
    pub per_patch: u64,
    /// Groups of outputs.
    pub groups: u32,
    /// Patches that work items are dealt out to by turns.
    pub lanes: u32,
}

impl Entry {
    /// Blocks for so many patches.
    #[must_use]
    pub fn blocks(&self, patches: usize) -> u64 {
        let patches = (patches as u64).next_multiple_of(u64::from(self.lanes));
        (patches * self.per_patch).div_ceil(self.items) * u64::from(self.groups)
    }
}

/// The text of a kernel and how to launch it.
#[derive(Debug, Clone)]
pub struct Program {
    /// Text.
    pub source: String,
    /// Kernels in the order in which they run.
    pub entries: Vec<Entry>,
    /// Values of temporaries per patch.
    pub scratch: usize,
    /// Operations per voxel as scheduled, recomputation by groups included.
    pub flops: f64,
    /// Values moved to and from shared memory per voxel, to keep registers free.
    pub moves: usize,
    /// Loads per voxel, repeated ones included.
    pub loads: usize,
    /// Most values alive at once, wherever they are.
    pub pressure: usize,
    /// Real parameters that the text expects.
    pub parameters: usize,
}

/// Prints a kernel for a GPU.
///
/// # Errors
/// [`Error::Mismatch`] for a schedule that does not go with the kernel: several stages take `unfused`.
pub fn emit(
    kernel: &Kernel,
    schedule: &Schedule,
    layouts: &Layouts,
    dialect: Dialect,
) -> Result<Program> {
    if kernel.stages.len() != 1 && schedule.way != Way::Unfused {
        return Err(Error::Mismatch(format!(
            "{} has {} stages: schedule unfused runs them one by one; other schedules take a fused \
             kernel",
            kernel.name,
            kernel.stages.len()
        )));
    }
    if schedule.way == Way::Bulk && dialect != Dialect::Cuda {
        return Err(Error::Mismatch("schedule bulk is for CUDA: use tile".into()));
    }
    if schedule.lanes > 1 && !matches!(schedule.way, Way::Direct | Way::Flat) {
        return Err(Error::Mismatch(
            "patches side by side (-l) go with direct and flat: other schedules want whole patches"
                .into(),
        ));
    }
    if schedule.planes > 0 {
        let shape = &kernel.shape;
        let columns = kernel.graph.nodes().iter().any(|node| {
            matches!(node, Node::Leaf(Leaf::Load { at: [_, _, Coordinate::At(_)], .. }))
        });
        let tiled = matches!(schedule.way, Way::Tile | Way::Bulk);
        let fits = shape.dimensions == 3 && u32::from(shape.cells).is_multiple_of(schedule.planes);
        if !tiled || columns || !fits {
            return Err(Error::Mismatch(format!(
                "slabs of {} planes do not go with {}: take tile or bulk, three dimensions, a \
                 divisor of {} planes and no matrix along z",
                schedule.planes, kernel.name, shape.cells
            )));
        }
    }
    Ok(body::program(kernel, schedule, layouts, dialect))
}

/// Speed behind a key of the largest eigenvalue; a patch without any has key 0.
#[must_use]
pub fn speed_of_key(key: u64) -> f64 {
    if key == 0 {
        return f64::NEG_INFINITY;
    }
    f64::from_bits(if key >> 63 == 1 { key ^ (1 << 63) } else { !key })
}
