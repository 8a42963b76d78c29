//! The CUDA backend: kernels for NVIDIA cards, embedded at build time; the driver is loaded at run
//! time, so one binary starts on machines with and without it.
//!
//! Order 8 in 3-D has kernels tuned for `sm_90` (bulk tensor copies); every other order, shape and
//! 2-D run a plain kernel. Absorbing layers have kernels and memory of their own.

mod backend;
mod bricks;
mod faults;
mod fields;
mod graph;
mod interior;
mod layer_tiles;
mod layers;
mod layout;
mod limbs;
mod memory;
mod module;
mod modules;
mod operator;
mod ozaki;
mod parameters;
pub mod patch;
mod plan;
mod points;
mod roofs;
mod samples;
mod state;
mod steps;
mod stored;
mod sys;
mod tiles;
mod timing;
mod transfer;
mod variants;
mod walls;
mod wide;

pub use backend::CudaBackend;
pub use graph::Queueing;
pub use sys::{DRIVER_SYMBOLS, Listed, devices};

/// Backend id.
pub const ID: &str = "cuda";

/// An embedded kernel file.
#[derive(Debug, Clone, Copy)]
pub struct Blob {
    /// Source file without its extension.
    pub name: &'static str,
    /// What it holds: `sm_*` machine code, `compute_*` PTX.
    pub archs: &'static [&'static str],
    /// Entry points, sorted.
    pub kernels: &'static [&'static str],
    /// Fat binary.
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
include!(concat!(env!("OUT_DIR"), "/tuning.rs"));

/// What the assembler reported for every kernel, as JSON: registers, spills, stack, shared memory.
pub const RESOURCES: &str = include_str!(concat!(env!("OUT_DIR"), "/resources.json"));

/// Argument structs, translated from `csrc/include/temblor_cuda.h`.
pub(crate) mod arguments {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}
