//! SU, the files of Seismic Un*x: traces with the 240-byte header of SEG-Y, samples as IEEE singles,
//! no file header, in the byte order of the machine that wrote.
//!
//! Byte order and trace length come from `ns` (bytes 115-116, read as unsigned) of the first trace:
//! the order for which the file is a whole number of such traces that all say the same. Precedence:
//! `dt` (microseconds) over `d1` (seconds) for the sample interval of traces; `d1` and `d2` alone
//! for the spacing of models, since `dt` cannot say what it counts there. Source: `segy.h` of the
//! CWP/SU distribution (Cohen and Stockwell, Colorado School of Mines).

mod reader;
mod writer;

pub use reader::{SuOptions, SuReader};
pub use writer::{SuHeader, SuWriter};

use crate::segy::{RawTraceHeader, TRACE_HEADER_BYTES};
use crate::{ByteOrder, trace_fields};

/// The header with its common fields in another byte order; with `su_tail` those of SU too, else
/// bytes 181 to 240 are zero, since SEG-Y has other fields there.
#[must_use]
pub fn reordered(header: &RawTraceHeader, order: ByteOrder, su_tail: bool) -> RawTraceHeader {
    let mut bytes = [0; TRACE_HEADER_BYTES];
    let last = if su_tail { TRACE_HEADER_BYTES } else { 180 };
    bytes[..last].copy_from_slice(&header.bytes[..last]);
    if order != header.order {
        for field in trace_fields::fields(true).filter(|field| field.byte <= last) {
            bytes[field.byte - 1..field.byte - 1 + field.bytes()].reverse();
        }
    }
    RawTraceHeader { bytes, order }
}
