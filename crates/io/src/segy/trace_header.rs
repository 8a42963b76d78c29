//! The 240 bytes before each trace.

use std::path::Path;

use super::TRACE_HEADER_BYTES;
use crate::{ByteOrder, Error, Result};

/// Geometry and numbering of a trace, in metres and seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TraceHeader {
    /// Field record (FFID): the shot's number. Bytes 9-12.
    pub field_record: i32,
    /// Trace number within the field record, from 1. Bytes 13-16.
    pub trace_in_record: i32,
    /// Trace number within the line, from 1; 0 takes the number within the file. Bytes 1-4.
    pub trace_in_line: i32,
    /// Energy source point number. Bytes 17-20.
    pub source_point: i32,
    /// Source (x, y, depth), m. Bytes 73-80 and 49-52; depth is positive downwards.
    pub source: [f64; 3],
    /// Receiver (x, y, depth), m. Bytes 81-88 and, as elevation, 41-44 with the sign changed.
    pub receiver: [f64; 3],
    /// Source-receiver distance, m, stored in whole metres as the standard has no scalar for it;
    /// absent: the horizontal distance, negative where the receiver lies towards smaller x (or, at
    /// equal x, smaller y). Bytes 37-40.
    pub offset: Option<f64>,
    /// Time of the first sample, s. Bytes 109-110.
    pub delay: f64,
}

impl TraceHeader {
    /// [`TraceHeader::offset`], or the horizontal distance with its sign, m.
    #[must_use]
    pub fn offset_or_distance(&self) -> f64 {
        self.offset.unwrap_or_else(|| {
            let [dx, dy] = [0, 1].map(|a| self.receiver[a] - self.source[a]);
            let backwards = dx < 0.0 || (dx == 0.0 && dy < 0.0);
            dx.hypot(dy) * if backwards { -1.0 } else { 1.0 }
        })
    }

    /// The header's bytes, big endian; `trace` is the number within the file, from 1.
    pub(crate) fn encode(
        &self,
        path: &Path,
        trace: u64,
        samples: u16,
        interval_us: u16,
        scalar: Option<i16>,
    ) -> Result<[u8; TRACE_HEADER_BYTES]> {
        let fail = |what: String, remedy: &str| Error::Trace {
            path: path.to_owned(),
            trace,
            what,
            remedy: remedy.to_owned(),
        };
        let positions = [self.source, self.receiver];
        if let Some(bad) = positions.as_flattened().iter().find(|v| !v.is_finite()) {
            return Err(fail(format!("a coordinate is {bad}"), "give finite metres"));
        }
        let horizontal = [0, 1].map(|a| positions.map(|p| p[a]));
        let scale = |values: &[f64], wanted: Option<i16>| {
            wanted
                .or_else(|| coordinate_scalar(values))
                .filter(|&s| values.iter().all(|&v| scaled(v, s).is_some()))
        };
        let too_large = "move the origin nearer, or use a coarser coordinate scalar";
        let xy_scalar = scale(horizontal.as_flattened(), scalar)
            .ok_or_else(|| fail("a coordinate is too large".into(), too_large))?;
        let z_scalar = scale(&positions.map(|p| p[2]), scalar)
            .ok_or_else(|| fail("a depth is too large".into(), too_large))?;
        let (delay, delay_scalar) = delay_ms(self.delay).ok_or_else(|| {
            let what = format!("the delay of {} s cannot be stored", self.delay);
            fail(what, "use whole microseconds, at most 32.767 s in steps of 1 ms")
        })?;
        let offset = scaled(self.offset_or_distance(), 1)
            .ok_or_else(|| fail("the offset is too large".into(), too_large))?;
        let Ok(number) = i32::try_from(trace) else {
            return Err(fail("the trace number is too large".into(), "write several files"));
        };

        let mut raw = RawTraceHeader { bytes: [0; TRACE_HEADER_BYTES], order: ByteOrder::Big };
        raw.set_i32(1, if self.trace_in_line == 0 { number } else { self.trace_in_line });
        raw.set_i32(5, number);
        raw.set_i32(9, self.field_record);
        raw.set_i32(13, self.trace_in_record);
        raw.set_i32(17, self.source_point);
        raw.set_i16(29, 1); // seismic data
        raw.set_i16(31, 1); // one trace summed vertically
        raw.set_i16(33, 1); // and horizontally
        raw.set_i16(35, 1); // production
        raw.set_i32(37, offset);
        let fits = "checked when the scalar was chosen";
        raw.set_i32(41, -scaled(self.receiver[2], z_scalar).expect(fits));
        raw.set_i32(49, scaled(self.source[2], z_scalar).expect(fits));
        raw.set_i16(69, z_scalar);
        raw.set_i16(71, xy_scalar);
        raw.set_i32(73, scaled(self.source[0], xy_scalar).expect(fits));
        raw.set_i32(77, scaled(self.source[1], xy_scalar).expect(fits));
        raw.set_i32(81, scaled(self.receiver[0], xy_scalar).expect(fits));
        raw.set_i32(85, scaled(self.receiver[1], xy_scalar).expect(fits));
        raw.set_i16(89, 1); // lengths, not degrees
        raw.set_i16(109, delay);
        raw.set_i16(115, samples.cast_signed());
        raw.set_i16(117, interval_us.cast_signed());
        raw.set_i16(215, delay_scalar);
        Ok(raw.bytes)
    }
}

/// The standard's scalar for coordinates in metres: -1000 (millimetres) where that is exact and
/// fits 32 bits, -10000 where tenths of millimetres are needed, else the finest that fits. None if
/// even metres do not fit.
pub fn coordinate_scalar(coordinates: &[f64]) -> Option<i16> {
    let fits = |scalar| coordinates.iter().all(|&v| scaled(v, scalar).is_some());
    let exact = |scalar: i16| {
        coordinates.iter().all(|&v| {
            let value = v * f64::from(scalar.unsigned_abs());
            (value - value.round()).abs() <= 1e-6
        })
    };
    if fits(-10000) && !exact(-1000) && exact(-10000) {
        return Some(-10000);
    }
    [-1000, -100, -10, 1].into_iter().find(|&scalar| fits(scalar))
}

/// `metres` in the units of a scalar, rounded, where that fits; the most negative number is left
/// out so that the sign can be changed.
fn scaled(metres: f64, scalar: i16) -> Option<i32> {
    let factor = f64::from(scalar.unsigned_abs().max(1));
    let value = if scalar < 0 { metres * factor } else { metres / factor }.round();
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (value.abs() <= f64::from(i32::MAX)).then_some(value as i32)
}

/// Delay as whole milliseconds times the standard's scalar: (value, scalar), the scalar 0 for 1.
fn delay_ms(delay: f64) -> Option<(i16, i16)> {
    [(1.0, 0), (10.0, -10), (100.0, -100), (1000.0, -1000)].into_iter().find_map(
        |(factor, scalar)| {
            let value = delay * 1e3 * factor;
            let whole = value.round();
            let exact = (value - whole).abs() <= 1e-6 * whole.abs().max(1.0);
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
            (exact && whole.abs() <= f64::from(i16::MAX)).then_some((whole as i16, scalar))
        },
    )
}

/// Trace header bytes with the byte order of their file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawTraceHeader {
    /// The bytes.
    pub bytes: [u8; TRACE_HEADER_BYTES],
    /// Their order.
    pub order: ByteOrder,
}

impl RawTraceHeader {
    fn word<const N: usize>(&self, byte: usize) -> [u8; N] {
        let mut word = [0; N];
        word.copy_from_slice(&self.bytes[byte - 1..byte - 1 + N]);
        if self.order == ByteOrder::Little {
            word.reverse();
        }
        word
    }

    /// The 32-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    #[must_use]
    pub fn i32(&self, byte: usize) -> i32 {
        i32::from_be_bytes(self.word(byte))
    }

    /// The 16-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    #[must_use]
    pub fn i16(&self, byte: usize) -> i16 {
        i16::from_be_bytes(self.word(byte))
    }

    fn put<const N: usize>(&mut self, byte: usize, mut word: [u8; N]) {
        if self.order == ByteOrder::Little {
            word.reverse();
        }
        self.bytes[byte - 1..byte - 1 + N].copy_from_slice(&word);
    }

    /// Sets the 32-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    pub fn set_i32(&mut self, byte: usize, value: i32) {
        self.put(byte, value.to_be_bytes());
    }

    /// Sets the 16-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    pub fn set_i16(&mut self, byte: usize, value: i16) {
        self.put(byte, value.to_be_bytes());
    }

    /// Samples of this trace as its header says; 0 means as in the file header.
    #[must_use]
    pub fn samples(&self) -> u16 {
        self.i16(115).cast_unsigned()
    }

    /// Sample interval of this trace as its header says, us; 0 means as in the file header.
    #[must_use]
    pub fn interval_us(&self) -> u16 {
        self.i16(117).cast_unsigned()
    }

    /// The fields with their scalars applied, m and s.
    #[must_use]
    pub fn decode(&self) -> TraceHeader {
        let (z, xy) = (self.i16(69), self.i16(71));
        let metres = |byte, scalar| apply(f64::from(self.i32(byte)), scalar);
        // Some programs give receiver depth as a negative elevation only, source depth likewise.
        let source_depth = metres(49, z) - metres(45, z);
        TraceHeader {
            field_record: self.i32(9),
            trace_in_record: self.i32(13),
            trace_in_line: self.i32(1),
            source_point: self.i32(17),
            source: [metres(73, xy), metres(77, xy), source_depth],
            receiver: [metres(81, xy), metres(85, xy), 0.0 - metres(41, z)],
            offset: Some(f64::from(self.i32(37))),
            delay: apply(f64::from(self.i16(109)), self.i16(215)) / 1e3,
        }
    }
}

/// Applies a scalar to a stored number: negative divides, positive multiplies, zero counts as one.
fn apply(value: f64, scalar: i16) -> f64 {
    match scalar {
        0 => value,
        // Division, not multiplication by 1e-3, so that 12345 mm is the double nearest to 12.345 m.
        s if s < 0 => value / f64::from(s.unsigned_abs()),
        s => value * f64::from(s),
    }
}
