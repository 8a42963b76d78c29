//! Files of seismic modelling: velocity models and snapshots (SEG-Y, SU, RSF, npy, raw, VTI), traces
//! (SEG-Y, SU, RSF, npy), points of a survey (CSV, SPS). No physics, no dependence on the rest of
//! temblor.
//!
//! [`identify()`] says what a file is, by its content. [`Volume`] opens it as a model of shape
//! (nx, ny, nz), z (depth, positive downwards) fastest in memory whatever it is on disk; [`Traces`]
//! opens it as traces, with headers where it has them. [`volume::write`] and [`TraceWriter`] write
//! them. Lengths are in metres, times in seconds, whatever a file's own units are. What is doubtful
//! about a file comes as warnings with both values; what fits no reading is an error that says where
//! and what to do.
//!
//! Nothing here reads a whole file unless asked to: readers work by slabs and traces, writers by the
//! pieces they are given. Files that are written whole appear under their name only when complete
//! ([`AtomicFile`]).
//!
//! ```
//! use temblor_io::{TraceOptions, Traces, Volume, VolumeOptions};
//! # use temblor_io::{Format, TraceLayout, TraceWriter, segy::TraceHeader, trace_writer::HeaderOf};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("line.su");
//! # let mut writer = TraceWriter::create(&path, &TraceLayout::new(Format::Su, 3, Some(0.004), 1))?;
//! # writer.write(HeaderOf::Decoded(&TraceHeader::default()), &[0.0_f32, 1.0, 0.5])?;
//! # writer.finish()?;
//! // As traces ...
//! let traces = Traces::open(&path, &TraceOptions::default())?;
//! assert_eq!((traces.traces(), traces.sample_interval()), (1, Some(0.004)));
//! assert_eq!(traces.samples_of(0)?, [0.0, 1.0, 0.5]);
//! // ... or, the same file, as a section of shape (traces, 1, samples).
//! let section = Volume::open(&path, &VolumeOptions::default())?;
//! assert_eq!(section.shape(), [1, 1, 3]);
//! # Ok::<(), temblor_io::Error>(())
//! ```

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
