//! SEG-Y, the trade's exchange format for traces.
//!
//! Standard: SEG-Y revision 1 (SEG Technical Standards Committee, 2002); byte numbers in comments
//! are the standard's, counted from 1. [`SegyWriter`] writes revision 1, big endian, IEEE floats,
//! with bytes that depend on the input alone (no dates). [`SegyReader`] reads revisions 0 and 1 in
//! either byte order, with IBM or IEEE floats or 8-, 16- and 32-bit integers.
//!
//! Lengths are in metres and times in seconds on this side of the API. Depth is positive
//! downwards: a source's depth goes to the source depth (bytes 49-52, positive), a receiver's depth
//! to the group elevation (bytes 41-44) with its sign changed, since elevations are positive
//! upwards.

mod file_header;
mod reader;
mod samples;
mod text;
mod trace_header;
mod writer;

pub use file_header::SegyHeader;
pub use reader::{SegyOptions, SegyReader};
pub use samples::{SampleFormat, ibm_to_f32};
pub use trace_header::{RawTraceHeader, TraceHeader, coordinate_scalar};
pub use writer::SegyWriter;

/// Bytes of the text header.
pub const TEXT_BYTES: usize = 3200;
/// Bytes of the binary file header.
pub const BINARY_BYTES: usize = 400;
/// Bytes of a trace header.
pub const TRACE_HEADER_BYTES: usize = 240;
/// Bytes before the first trace of a file without extended text headers.
pub const FILE_HEADER_BYTES: usize = TEXT_BYTES + BINARY_BYTES;
