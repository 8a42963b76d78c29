//! Backends that run on the host's processors.
//!
//! `cpu-ref` ([`ReferenceBackend`]) is the oracle: plain loops in f64 and f32 that share nothing
//! with tuned code but `temblor-physics` and the guard against denormals. `cpu` ([`CpuBackend`]) is tuned for caches and vectors.

mod denormals;
pub mod memory;
mod patch;
pub mod reference;
pub mod roofs;
pub mod tuned;

pub use reference::ReferenceBackend;
pub use tuned::{CpuBackend, Isa};
