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
//!
//! # Tasks
//! Read a file: [`SegyReader`]. Tell it what headers do not say, or say wrongly: [`SegyOptions`],
//! [`HeaderMap`]. Write a file: [`SegyWriter`]. Convert one: [`SegyHeader::like`]. Take one as a
//! velocity model: [`cube::SegyCube`]. Some others:
//!
//! Write IBM floats, and say what they could not hold.
//! ```
//! use temblor_io::segy::{SampleFormat, SegyHeader, SegyWriter, TraceHeader};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("a.sgy");
//! let mut header = SegyHeader::new(0.004, 3);
//! header.format = SampleFormat::Ibm;
//! header.text = vec!["Peak frequency: 8 Hz".into()];
//! let mut writer = SegyWriter::create(&path, &header)?;
//! writer.write_trace(&TraceHeader::default(), &[1.5, f32::INFINITY, -0.25])?;
//! let losses = writer.losses();
//! if !losses.is_empty() {
//!     eprintln!("{} samples were beyond the range of IBM floats", losses.saturated);
//! }
//! # assert_eq!(losses.saturated, 1);
//! writer.finish()?;
//! # Ok::<(), temblor_io::Error>(())
//! ```
//!
//! Print header fields as a table.
//! ```
//! use temblor_io::segy::{SegyOptions, SegyReader};
//! # use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("a.sgy");
//! # let mut writer = SegyWriter::create(&path, &SegyHeader::new(0.004, 1))?;
//! # writer.write_trace(&TraceHeader::default(), &[1.0])?;
//! # writer.finish()?;
//! let reader = SegyReader::open(&path, &SegyOptions::default())?;
//! let wanted = ["tracr", "fldr", "offset"];
//! let fields: Vec<_> = wanted.iter().filter_map(|name| reader.fields().field(name)).collect();
//! reader.scan(|_, header| {
//!     let row: Vec<String> = fields.iter().map(|field| header.get(field).to_string()).collect();
//!     println!("{}", row.join("\t"));
//!     Ok(())
//! })?;
//! # Ok::<(), temblor_io::Error>(())
//! ```
//!
//! Store an ultrasound scan, whose grid and interval revision 1 is too coarse for.
//! ```
//! use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader, coordinate_storage};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("a.sgy");
//! let positions = [0.0, 0.000_25, 0.000_5, 0.000_75];
//! let storage = coordinate_storage(&positions);
//! let mut header = SegyHeader::new(2.5e-9, 2);
//! header.coordinate_scalar = storage.scalar;
//! header.trace_extensions = storage.extended.into();
//! let mut writer = SegyWriter::create(&path, &header)?;
//! assert_eq!((writer.revision(), storage.extended), (2, true));
//! for x in positions {
//!     let trace = TraceHeader { receiver: [x, 0.0, 0.0], ..TraceHeader::default() };
//!     writer.write_trace(&trace, &[0.0, 1.0])?;
//! }
//! writer.finish()?;
//! # Ok::<(), temblor_io::Error>(())
//! ```

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
