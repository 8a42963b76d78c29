//! Writing SU traces one after the other, with a place to go on from after a crash.

use std::path::{Path, PathBuf};

use super::reordered;
use crate::growing::GrowingFile;
use crate::segy::{RawTraceHeader, TRACE_HEADER_BYTES, TraceHeader};
use crate::{ByteOrder, Element, Error, Result};

/// What all traces of an SU file share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuHeader {
    /// Byte order; SU reads that of its machine.
    pub order: ByteOrder,
    /// Samples per trace, at most 65,535.
    pub samples: usize,
    /// Time between samples, s, a whole number of microseconds; absent for models: `dt` is 0 then.
    pub sample_interval: Option<f64>,
    /// `d1` and `f1`: distance of samples and position of the first; the interval and the delay if
    /// absent.
    pub along_samples: Option<(f64, f64)>,
    /// `d2` and `f2`: distance of traces and position of the first.
    pub along_traces: Option<(f64, f64)>,
    /// As [`crate::segy::SegyHeader::coordinate_scalar`].
    pub coordinate_scalar: Option<i16>,
}

impl SuHeader {
    /// Little endian traces of `samples` samples, `sample_interval` s apart.
    #[must_use]
    pub fn new(sample_interval: f64, samples: usize) -> Self {
        Self {
            order: ByteOrder::Little,
            samples,
            sample_interval: Some(sample_interval),
            along_samples: None,
            along_traces: None,
            coordinate_scalar: None,
        }
    }

    /// Whether SU can hold it: samples and interval as `ns` and `dt` store them; `path` is named in
    /// the error.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the value and what would fit.
    pub fn check(&self, path: &Path) -> Result<(u16, u16)> {
        let samples = u16::try_from(self.samples).ok().filter(|&n| n > 0).ok_or_else(|| {
            let remedy = "SU holds 1 to 65,535 per trace: record less often or shorter, or write \
                          RSF or npy";
            Error::invalid(path, "the number of samples", self.samples, remedy)
        })?;
        let Some(interval) = self.sample_interval else { return Ok((samples, 0)) };
        let exact = interval * 1e6;
        let nearest = exact.round();
        if !((1.0..=65535.0).contains(&nearest) && (exact - nearest).abs() <= 1e-6 * nearest) {
            let got = format!("{interval} s");
            let remedy = "SU stores whole microseconds, 1 to 65,535: take such an interval, or \
                          write RSF or npy";
            return Err(Error::invalid(path, "the sample interval", got, remedy));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        #[expect(clippy::cast_sign_loss, reason = "the range was checked")]
        Ok((samples, nearest as u16))
    }
}

/// An SU file that grows by traces; the name is taken as given, as with
/// [`crate::segy::SegyWriter`].
#[derive(Debug)]
pub struct SuWriter {
    path: PathBuf,
    file: GrowingFile,
    header: SuHeader,
    samples: u16,
    interval_us: u16,
    buffer: Vec<u8>,
}

impl SuWriter {
    /// Starts a file, replacing what has the name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a header that SU cannot hold, [`Error::Io`], [`Error::DiskFull`].
    pub fn create(path: impl AsRef<Path>, header: &SuHeader) -> Result<Self> {
        let path = path.as_ref();
        let (samples, interval_us) = header.check(path)?;
        let file = GrowingFile::create(path, &[], row_bytes(samples))?;
        let (path, header, buffer) = (path.to_owned(), *header, Vec::new());
        Ok(Self { path, file, header, samples, interval_us, buffer })
    }

    /// Goes on with a file after its first `traces` traces; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file has fewer traces, [`Error::Io`].
    pub fn resume(path: impl AsRef<Path>, header: &SuHeader, traces: u64) -> Result<Self> {
        let path = path.as_ref();
        let (samples, interval_us) = header.check(path)?;
        let file = GrowingFile::resume(path, &[], row_bytes(samples), traces)?;
        let (path, header, buffer) = (path.to_owned(), *header, Vec::new());
        Ok(Self { path, file, header, samples, interval_us, buffer })
    }

    /// Appends a trace.
    ///
    /// # Errors
    /// [`Error::Trace`] if the number of samples differs or the geometry does not fit the header,
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn write_trace(&mut self, header: &TraceHeader, samples: &[f32]) -> Result<()> {
        let trace = self.file.rows() + 1;
        let scalar = self.header.coordinate_scalar;
        let order = self.header.order.into();
        let (samples_in, interval_us) = (self.samples, self.interval_us);
        let full = header.encode_su(&self.path, trace, samples_in, interval_us, scalar, order)?;
        let mut raw = reordered(&full, order, false);
        raw.set_i16(109, self.delay(&full)?);
        let interval = self.header.sample_interval.map(|dt| (dt, header.delay));
        let pairs =
            [(181, self.header.along_samples.or(interval)), (189, self.header.along_traces)];
        for (byte, pair) in pairs {
            let Some((d, f)) = pair else { continue };
            for (byte, value) in [(byte, d), (byte + 4, f)] {
                #[expect(clippy::cast_possible_truncation, reason = "SU holds singles")]
                raw.set_i32(byte, (value as f32).to_bits().cast_signed());
            }
        }
        self.write_raw(&raw, samples)
    }

    /// The error of a sample that is too large for a single.
    pub(crate) fn refused(&self, sample: usize, value: &dyn std::fmt::Display) -> Error {
        Error::Trace {
            path: self.path.clone(),
            trace: self.file.rows() + 1,
            what: format!("sample {} is {value}", sample + 1),
            remedy: "SU holds singles: write RSF or npy with f8".into(),
        }
    }

    /// `delrt` of a SEG-Y header: SU has no scalar of times.
    pub(crate) fn delay(&self, header: &RawTraceHeader) -> Result<i16> {
        if matches!(header.i16(215), 0 | 1) {
            return Ok(header.i16(109));
        }
        let delay = header.decode().delay * 1e3;
        let whole = delay.round();
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        if (delay - whole).abs() < 1e-6 && whole.abs() <= f64::from(i16::MAX) {
            return Ok(whole as i16);
        }
        Err(Error::Trace {
            path: self.path.clone(),
            trace: self.file.rows() + 1,
            what: format!("a delay of {delay} ms"),
            remedy: "SU stores whole milliseconds, at most 32,767: write SEG-Y or RSF".into(),
        })
    }

    /// Appends a trace with a header as another file has it, in its byte order; `ns` is set, and
    /// `dt` where the file has an interval.
    ///
    /// # Errors
    /// As [`SuWriter::write_trace`].
    ///
    /// # Panics
    /// Never: every single is an f4.
    pub fn write_raw(&mut self, header: &RawTraceHeader, samples: &[f32]) -> Result<()> {
        if samples.len() != usize::from(self.samples) {
            return Err(Error::Trace {
                path: self.path.clone(),
                trace: self.file.rows() + 1,
                what: format!("{} samples", samples.len()),
                remedy: format!("the file has {} in every trace", self.samples),
            });
        }
        let mut raw = reordered(header, self.header.order, true);
        raw.set_i16(115, self.samples.cast_signed());
        if self.interval_us > 0 {
            raw.set_i16(117, self.interval_us.cast_signed());
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(&raw.bytes);
        let fits = "every single is an f4";
        Element::F32.encode(self.header.order, samples, &mut self.buffer).expect(fits);
        self.file.append(&self.buffer)
    }

    /// Traces written so far, those kept by [`SuWriter::resume`] included.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.file.rows()
    }

    /// Puts all traces so far on the disk.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    /// Puts everything on the disk and closes the file.
    ///
    /// # Errors
    /// As [`SuWriter::sync`].
    pub fn finish(mut self) -> Result<()> {
        self.sync()
    }
}

fn row_bytes(samples: u16) -> usize {
    TRACE_HEADER_BYTES + 4 * usize::from(samples)
}
