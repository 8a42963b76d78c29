//! Backends that run on the host's processors.
//!
//! `cpu-ref` ([`ReferenceBackend`]) is the oracle: plain loops in f64 and f32 that share nothing
//! with tuned code but `temblor-physics`.

pub mod reference;

pub use reference::ReferenceBackend;
