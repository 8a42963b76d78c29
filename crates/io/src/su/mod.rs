//! SU, the files of Seismic Un*x: traces with the 240-byte header of SEG-Y, samples as IEEE singles,
//! no file header, in the byte order of the machine that wrote.
//!
//! Byte order and trace length come from `ns` (bytes 115-116, read as unsigned) of the first trace:
//! the order for which the file is a whole number of such traces that all say the same. Precedence:
//! `dt` (microseconds) over `d1` (seconds) for the sample interval of traces; `d1` and `d2` alone
//! for the spacing of models, since `dt` cannot say what it counts there.
//!
//! ```
//! use temblor_io::segy::TraceHeader;
//! use temblor_io::su::{self, SuHeader, SuOptions, SuReader, SuWriter};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("shot.su");
//! let mut writer = SuWriter::create(&path, &SuHeader::new(0.004, 3))?;
//! let header = TraceHeader { field_record: 1, receiver: [350.0, 0.0, 10.0], ..Default::default() };
//! writer.write_trace(&header, &[0.0, 1.0, 0.5])?;
//! writer.finish()?;
//! let reader = SuReader::open(&path, &SuOptions::default())?;
//! let (raw, samples) = reader.read(0)?;
//! assert_eq!(su::decode(&raw).receiver, [350.0, 0.0, 10.0]);
//! assert_eq!(samples, [0.0, 1.0, 0.5]);
//! # Ok::<(), temblor_io::Error>(())
//! ```
//!
//! Source: `segy.h` of the
//! CWP/SU distribution (Cohen and Stockwell, Colorado School of Mines).

mod reader;
mod writer;

pub use reader::{SuOptions, SuReader};
pub use writer::{SuHeader, SuWriter};

use crate::segy::{RawTraceHeader, TRACE_HEADER_BYTES, TraceHeader, WordOrder};
use crate::trace_fields::{LAST_COMMON_BYTE, fields};

/// The header in another byte order; with `su_tail` SU's own fields too, else bytes 181 to 240 are
/// zero, since SEG-Y has other fields there.
#[must_use]
pub fn reordered(
    header: &RawTraceHeader,
    order: impl Into<WordOrder>,
    su_tail: bool,
) -> RawTraceHeader {
    let order = order.into();
    let last = if su_tail { TRACE_HEADER_BYTES } else { LAST_COMMON_BYTE };
    let mut turned = RawTraceHeader::zeros(order);
    turned.bytes[..last].copy_from_slice(&header.bytes[..last]);
    if order != header.order {
        for field in fields(true).filter(|field| field.byte <= last) {
            let place = field.byte - 1..field.byte - 1 + field.kind.bytes();
            turn(&mut turned.bytes[place], header.order, order);
        }
    }
    turned
}

/// A word of 2 or 4 bytes in another order.
fn turn(word: &mut [u8], from: WordOrder, to: WordOrder) {
    if let Ok(bytes) = <[u8; 4]>::try_from(&*word) {
        word.copy_from_slice(&to.to_big(from.to_big(bytes)));
    } else if let Ok(bytes) = <[u8; 2]>::try_from(&*word) {
        word.copy_from_slice(&to.to_big(from.to_big(bytes)));
    }
}

/// Geometry and numbering of a trace of an SU file, m and s.
#[must_use]
pub fn decode(header: &RawTraceHeader) -> TraceHeader {
    reordered(header, header.order, false).decode()
}
