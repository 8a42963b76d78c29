//! SEG-Y, the trade's exchange format for traces.
//!
//! Standards: Barry, Cavers and Kneale (1975, revision 0), SEG Technical Standards Committee (2002,
//! revision 1; 2017, revision 2.0; 2023, revision 2.1). Byte numbers in comments are the standard's,
//! counted from 1; traces are counted from 0 in arguments and from 1 in messages.
//!
//! [`SegyReader`] reads all revisions in three byte orders, with all sample formats but the obsolete
//! fixed point with gain, and says what is doubtful; [`SegyOptions`] says what a file does not.
//! [`SegyWriter`] writes revision 1, or 2.1 where that is needed, with bytes that depend on the
//! input alone (no dates); it never cuts a number short. [`SegyHeader::like`] converts.
//!
//! Lengths are in metres and times in seconds on this side of the API. Depth is positive
//! downwards: a source's depth goes to the source depth (bytes 49-52, positive), a receiver's depth
//! to the group elevation (bytes 41-44) with its sign changed, since elevations are positive
//! upwards.

mod binary_header;
mod coordinates;
pub mod cube;
mod dialect;
mod field;
mod fields;
mod file_header;
mod header_map;
mod ibm;
mod index;
mod layout;
mod options;
mod order;
mod plausibility;
mod raw_header;
mod reader;
mod samples;
mod source;
mod text;
mod trace_header;
mod traces;
mod vector;
mod warning;
mod writer;

pub use binary_header::BinaryHeader;
pub use coordinates::{CoordinateStorage, apply_scalar, coordinate_scalar, coordinate_storage};
pub use field::{Field, FieldType, Value};
pub use fields::{BINARY_FIELDS, EXTENSION_FIELDS, TRACE_FIELDS};
pub use file_header::{FileHeaders, SegyHeader};
pub use header_map::HeaderMap;
pub use ibm::{f32_to_ibm, f64_to_ibm, ibm_to_f32, ibm_to_f64};
pub use options::SegyOptions;
pub use order::WordOrder;
pub use raw_header::RawTraceHeader;
pub use reader::SegyReader;
pub use samples::{Losses, SampleFormat};
pub use text::TextEncoding;
pub use trace_header::TraceHeader;
pub use traces::{Trace, Traces};
pub use warning::Warning;
pub use writer::SegyWriter;

/// Bytes of the text header.
pub const TEXT_BYTES: usize = 3200;
/// Bytes of the binary file header.
pub const BINARY_BYTES: usize = 400;
/// Bytes of a trace header.
pub const TRACE_HEADER_BYTES: usize = 240;
/// Bytes before the first trace of a file without extended text headers.
pub const FILE_HEADER_BYTES: usize = TEXT_BYTES + BINARY_BYTES;
