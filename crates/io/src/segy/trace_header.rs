//! A trace's geometry and numbering, in metres and seconds, from and to header bytes.

use std::path::Path;

use super::coordinates::{apply_scalar, coordinate_scalar, delay_ms, scaled};
use super::field::{Field, Value, put};
use super::text::TextEncoding;
use super::{HeaderMap, RawTraceHeader, TRACE_HEADER_BYTES, WordOrder};
use crate::{Error, Result};

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
    /// Source (x, y, depth), m. Bytes 73-80 and 49-52; depth is positive downwards, below
    /// [`TraceHeader::source_elevation`].
    pub source: [f64; 3],
    /// Elevation of the surface at the source, m. Bytes 45-48; reading takes it off the depth and
    /// gives 0.
    pub source_elevation: f64,
    /// Receiver (x, y, depth), m. Bytes 81-88 and, as elevation, 41-44 with the sign changed.
    pub receiver: [f64; 3],
    /// Source-receiver distance, m, stored in whole metres as revision 1 has no scalar for it (and
    /// as a double in revision 2's extension 1); absent: the horizontal distance, negative where
    /// the receiver lies towards smaller x (or, at equal x, smaller y). Bytes 37-40.
    pub offset: Option<f64>,
    /// Time of the first sample, s. Bytes 109-110.
    pub delay: f64,
    /// Ensemble (CDP) number. Bytes 21-24.
    pub ensemble: i32,
    /// Position of the ensemble (x, y), m. Bytes 181-188.
    pub cdp: [f64; 2],
    /// Inline number. Bytes 189-192.
    pub inline: i32,
    /// Crossline number. Bytes 193-196.
    pub crossline: i32,
}

/// What the traces of a file share, as their headers repeat it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub(super) samples: usize,
    pub(super) interval_us: f64,
    pub(super) coordinate_scalar: Option<i16>,
    pub(super) order: WordOrder,
    pub(super) revision: u8,
    /// Trace header extensions that follow each header.
    pub(super) extensions: u16,
    pub(super) encoding: TextEncoding,
}

/// A trace's header bytes: with extension 1 or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded {
    pub(super) header: RawTraceHeader,
    pub(super) extension: Option<[u8; TRACE_HEADER_BYTES]>,
}

/// Fields of the trace header that a [`TraceHeader`] is made of.
mod own {
    use super::super::fields::{TRACE_FIELDS, known};
    use super::Field;
    pub(super) const SCALEL: Field = known(&TRACE_FIELDS, "scalel");
    pub(super) const SCALCO: Field = known(&TRACE_FIELDS, "scalco");
    pub(super) const SCALT: Field = known(&TRACE_FIELDS, "scalt");
    pub(super) const SDEPTH: Field = known(&TRACE_FIELDS, "sdepth");
    pub(super) const SELEV: Field = known(&TRACE_FIELDS, "selev");
    pub(super) const FLDR: Field = known(&TRACE_FIELDS, "fldr");
    pub(super) const TRACF: Field = known(&TRACE_FIELDS, "tracf");
    pub(super) const TRACL: Field = known(&TRACE_FIELDS, "tracl");
    pub(super) const EP: Field = known(&TRACE_FIELDS, "ep");
    pub(super) const SX: Field = known(&TRACE_FIELDS, "sx");
    pub(super) const SY: Field = known(&TRACE_FIELDS, "sy");
    pub(super) const GX: Field = known(&TRACE_FIELDS, "gx");
    pub(super) const GY: Field = known(&TRACE_FIELDS, "gy");
    pub(super) const GELEV: Field = known(&TRACE_FIELDS, "gelev");
    pub(super) const OFFSET: Field = known(&TRACE_FIELDS, "offset");
    pub(super) const DELRT: Field = known(&TRACE_FIELDS, "delrt");
    pub(super) const CDP: Field = known(&TRACE_FIELDS, "cdp");
    pub(super) const CDPX: Field = known(&TRACE_FIELDS, "cdpx");
    pub(super) const CDPY: Field = known(&TRACE_FIELDS, "cdpy");
    pub(super) const ILINE: Field = known(&TRACE_FIELDS, "iline");
    pub(super) const XLINE: Field = known(&TRACE_FIELDS, "xline");
}

/// Fields of extension 1 that override them.
mod more {
    use super::super::fields::{EXTENSION_FIELDS, known};
    use super::Field;
    pub(super) const SDEPTH: Field = known(&EXTENSION_FIELDS, "sdepth");
    pub(super) const SELEV: Field = known(&EXTENSION_FIELDS, "selev");
    pub(super) const FLDR: Field = known(&EXTENSION_FIELDS, "fldr");
    pub(super) const TRACL: Field = known(&EXTENSION_FIELDS, "tracl");
    pub(super) const SX: Field = known(&EXTENSION_FIELDS, "sx");
    pub(super) const SY: Field = known(&EXTENSION_FIELDS, "sy");
    pub(super) const GX: Field = known(&EXTENSION_FIELDS, "gx");
    pub(super) const GY: Field = known(&EXTENSION_FIELDS, "gy");
    pub(super) const GELEV: Field = known(&EXTENSION_FIELDS, "gelev");
    pub(super) const OFFSET: Field = known(&EXTENSION_FIELDS, "offset");
    pub(super) const CDP: Field = known(&EXTENSION_FIELDS, "cdp");
    pub(super) const CDPX: Field = known(&EXTENSION_FIELDS, "cdpx");
    pub(super) const CDPY: Field = known(&EXTENSION_FIELDS, "cdpy");
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

    /// Reads the fields from where `map` has them and applies the scalars; what extension 1 gives
    /// overrides the header where it is not zero.
    ///
    /// Lengths are taken as they are: [`super::SegyReader::trace_header`] knows the file's units.
    #[must_use]
    pub fn from_raw(
        raw: &RawTraceHeader,
        extension: Option<&[u8; TRACE_HEADER_BYTES]>,
        map: &HeaderMap,
    ) -> Self {
        let value = |standard: Field| raw.get(&map.place(standard));
        let extended = |field: Field| {
            let found = field.read(raw.order, extension?);
            (!found.is_zero()).then_some(found)
        };
        #[expect(clippy::cast_possible_truncation, reason = "what is beyond becomes the bound")]
        let whole = |value: Value| match value {
            Value::Int(v) => i32::try_from(v).unwrap_or(if v < 0 { i32::MIN } else { i32::MAX }),
            Value::Float(v) => v.round() as i32,
        };
        let scalar = |field| i16::try_from(value(field).to_i64().unwrap_or(0)).unwrap_or(0);
        let (z, xy, time) = (scalar(own::SCALEL), scalar(own::SCALCO), scalar(own::SCALT));
        let metres = |standard: Field, double: Field, scalar: i16| {
            let stored = || apply_scalar(value(standard).to_f64(), scalar);
            extended(double).map_or_else(stored, Value::to_f64)
        };
        let number =
            |standard: Field, long: Field| whole(extended(long).unwrap_or_else(|| value(standard)));
        // Some programs give receiver depth as a negative elevation only, source depth likewise.
        let source_depth =
            metres(own::SDEPTH, more::SDEPTH, z) - metres(own::SELEV, more::SELEV, z);
        Self {
            field_record: number(own::FLDR, more::FLDR),
            trace_in_record: whole(value(own::TRACF)),
            trace_in_line: number(own::TRACL, more::TRACL),
            source_point: whole(value(own::EP)),
            source: [metres(own::SX, more::SX, xy), metres(own::SY, more::SY, xy), source_depth],
            source_elevation: 0.0,
            receiver: [
                metres(own::GX, more::GX, xy),
                metres(own::GY, more::GY, xy),
                0.0 - metres(own::GELEV, more::GELEV, z),
            ],
            offset: Some(metres(own::OFFSET, more::OFFSET, 1)),
            delay: apply_scalar(value(own::DELRT).to_f64(), time) / 1e3,
            ensemble: number(own::CDP, more::CDP),
            cdp: [metres(own::CDPX, more::CDPX, xy), metres(own::CDPY, more::CDPY, xy)],
            inline: whole(value(own::ILINE)),
            crossline: whole(value(own::XLINE)),
        }
    }

    /// The header's bytes; `trace` is the number within the file, from 1.
    pub(super) fn encode(&self, path: &Path, trace: u64, shared: &Shared) -> Result<Encoded> {
        let fail = |what: String, remedy: &str| Error::Trace {
            path: path.to_owned(),
            trace,
            what,
            remedy: remedy.to_owned(),
        };
        let [source, receiver] = [self.source, self.receiver];
        let horizontal = [source[0], source[1], receiver[0], receiver[1], self.cdp[0], self.cdp[1]];
        let depths = [source[2], receiver[2], self.source_elevation];
        let all = || horizontal.iter().chain(&depths);
        if let Some(bad) = all().find(|v| !v.is_finite()) {
            return Err(fail(format!("a coordinate is {bad}"), "give finite metres"));
        }
        let scale = |values: &[f64]| {
            shared
                .coordinate_scalar
                .or_else(|| coordinate_scalar(values))
                .filter(|&s| values.iter().all(|&v| scaled(v, s).is_some()))
        };
        let too_large = "move the origin nearer, use a coarser coordinate scalar, or the extended \
                         trace headers of revision 2";
        // Where extension 1 holds the numbers, zeros in the header are overridden by it.
        let scalar = |values: &[f64], what: &str| match scale(values) {
            Some(scalar) => Ok(Some(scalar)),
            None if shared.extensions > 0 => Ok(None),
            None => Err(fail(format!("a {what} is too large"), too_large)),
        };
        let xy_scalar = scalar(&horizontal, "coordinate")?;
        let z_scalar = scalar(&depths, "depth")?;
        let (delay, delay_scalar) = delay_ms(self.delay).ok_or_else(|| {
            let what = format!("the delay of {} s cannot be stored", self.delay);
            fail(what, "use whole microseconds, at most 32.767 s in steps of 1 ms")
        })?;
        let offset = match scaled(self.offset_or_distance(), 1) {
            Some(offset) => offset,
            None if shared.extensions > 0 => 0,
            None => return Err(fail("the offset is too large".into(), too_large)),
        };
        let number = match i32::try_from(trace) {
            Ok(number) => number,
            Err(_) if shared.extensions > 0 => i32::MAX,
            Err(_) => {
                return Err(fail("the trace number is too large".into(), "write several files"));
            }
        };

        let mut raw = RawTraceHeader::zeros(shared.order);
        raw.set_i32(1, if self.trace_in_line == 0 { number } else { self.trace_in_line });
        raw.set_i32(5, number);
        raw.set_i32(9, self.field_record);
        raw.set_i32(13, self.trace_in_record);
        raw.set_i32(17, self.source_point);
        raw.set_i32(21, self.ensemble);
        raw.set_i16(29, 1); // seismic data
        raw.set_i16(31, 1); // one trace summed vertically
        raw.set_i16(33, 1); // and horizontally
        raw.set_i16(35, 1); // production
        raw.set_i32(37, offset);
        let fits = "checked when the scalar was chosen";
        if let Some(scalar) = z_scalar {
            raw.set_i32(41, -scaled(receiver[2], scalar).expect(fits));
            raw.set_i32(45, scaled(self.source_elevation, scalar).expect(fits));
            raw.set_i32(49, scaled(source[2], scalar).expect(fits));
        }
        raw.set_i16(69, z_scalar.unwrap_or(1));
        raw.set_i16(71, xy_scalar.unwrap_or(1));
        if let Some(scalar) = xy_scalar {
            for (byte, metres) in [73, 77, 81, 85, 181, 185].into_iter().zip(horizontal) {
                raw.set_i32(byte, scaled(metres, scalar).expect(fits));
            }
        }
        raw.set_i16(89, 1); // lengths, not degrees
        raw.set_i16(109, delay);
        // What does not fit is in the file header and extension 1.
        raw.set_i16(115, u16::try_from(shared.samples).unwrap_or(0).cast_signed());
        raw.set_i16(117, rounded_us(shared.interval_us).cast_signed());
        raw.set_i32(189, self.inline);
        raw.set_i32(193, self.crossline);
        raw.set_i16(215, delay_scalar);
        if shared.revision >= 2 {
            raw.bytes[232..240].copy_from_slice(&shared.encoding.word(*b"SEG00000"));
        }
        let extension = (shared.extensions > 0).then(|| self.extension(trace, shared));
        Ok(Encoded { header: raw, extension })
    }

    /// The header as SU has it, which is revision 1's.
    pub(crate) fn encode_su(
        &self,
        path: &Path,
        trace: u64,
        samples: u16,
        interval_us: u16,
        coordinate_scalar: Option<i16>,
        order: WordOrder,
    ) -> Result<RawTraceHeader> {
        let shared = Shared {
            samples: samples.into(),
            interval_us: interval_us.into(),
            coordinate_scalar,
            order,
            revision: 1,
            extensions: 0,
            encoding: TextEncoding::default(),
        };
        Ok(self.encode(path, trace, &shared)?.header)
    }

    /// Trace header extension 1.
    fn extension(&self, trace: u64, shared: &Shared) -> [u8; TRACE_HEADER_BYTES] {
        let mut bytes = [0; TRACE_HEADER_BYTES];
        let mut int = |byte: usize, value: i64| {
            put(shared.order, &mut bytes, byte - 1, value.to_be_bytes());
        };
        let number = i64::try_from(trace).unwrap_or(i64::MAX);
        int(1, if self.trace_in_line == 0 { number } else { self.trace_in_line.into() });
        int(9, number);
        int(17, self.field_record.into());
        int(25, self.ensemble.into());
        let mut float = |byte: usize, value: f64| {
            put(shared.order, &mut bytes, byte - 1, value.to_be_bytes());
        };
        float(33, 0.0 - self.receiver[2]);
        float(49, self.source_elevation);
        float(57, self.source[2]);
        float(97, self.source[0]);
        float(105, self.source[1]);
        float(113, self.receiver[0]);
        float(121, self.receiver[1]);
        float(129, self.offset_or_distance());
        float(145, shared.interval_us);
        float(161, self.cdp[0]);
        float(169, self.cdp[1]);
        let samples = u32::try_from(shared.samples).unwrap_or(u32::MAX);
        put(shared.order, &mut bytes, 136, samples.to_be_bytes());
        put(shared.order, &mut bytes, 156, shared.extensions.to_be_bytes());
        bytes[232..240].copy_from_slice(&shared.encoding.word(*b"SEG00001"));
        bytes
    }
}

/// An interval as revision 1 stores it, rounded; 0 where it has no such number.
pub(super) fn rounded_us(interval_us: f64) -> u16 {
    let nearest = interval_us.round();
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    #[expect(clippy::cast_sign_loss, reason = "the range is checked")]
    if (1.0..=65535.0).contains(&nearest) { nearest as u16 } else { 0 }
}
