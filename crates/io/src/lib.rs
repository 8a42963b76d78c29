//! Files of seismic modelling: velocity models and snapshots (npy, raw, VTI), traces (SEG-Y), point
//! lists (CSV). No physics, no dependence on the rest of temblor.
//!
//! Volumes have shape (nx, ny, nz), z (depth, positive downwards) fastest in memory; lengths are in
//! metres, times in seconds, whatever a file's own units are. Nothing here reads a whole volume
//! unless asked to: readers work by slabs, writers by the pieces they are given. Files that are
//! written whole appear under their name only when complete ([`AtomicFile`]).

pub mod array_writer;
mod ascii;
pub mod atomic;
pub mod csv_points;
pub mod element;
pub mod error;
pub mod growing;
pub mod identify;
mod mmap;
pub mod npy;
pub mod number_writer;
mod positioned;
pub mod raw;
pub mod rsf;
pub mod segy;
pub mod sps;
pub mod statistics;
mod store;
pub mod su;
pub mod trace_fields;
pub mod trace_writer;
pub mod traces;
pub mod volume;
pub mod vti;

pub use array_writer::ArrayWriter;
pub use atomic::AtomicFile;
pub use element::{ByteOrder, Element, Real, Sample};
pub use error::{Error, Result};
pub use identify::{Format, Identity, identify};
pub use number_writer::NumberWriter;
pub use statistics::Statistics;
pub use trace_writer::{TraceLayout, TraceWriter};
pub use traces::{TraceOptions, Traces};
pub use volume::{Volume, VolumeFormat, VolumeOptions};
