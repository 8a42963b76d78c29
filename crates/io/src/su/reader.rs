//! Reading SU traces in any order.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::positioned::read_exact_at;
use crate::segy::{RawTraceHeader, TRACE_HEADER_BYTES};
use crate::{ByteOrder, Element, Error, Result};

/// Traces whose length is compared with the first one's when a file is opened, evenly spread; the
/// rest are checked when they are read.
const PROBES: u64 = 256;
/// Traces that are walked through to say what is wrong with a file.
const WALK: u64 = 1 << 20;

/// What an SU file is told to be, against what it looks like.
#[derive(Debug, Clone, Copy, Default)]
pub struct SuOptions {
    /// Byte order; found from the trace lengths if absent.
    pub order: Option<ByteOrder>,
}

/// An open SU file whose traces have one length.
#[derive(Debug)]
pub struct SuReader {
    path: PathBuf,
    file: File,
    order: ByteOrder,
    samples: usize,
    traces: u64,
    first: RawTraceHeader,
    warnings: Vec<String>,
}

impl SuReader {
    /// Opens a file and finds its byte order, trace length and number of traces.
    ///
    /// # Errors
    /// [`Error::Format`] with what was tried if the file is no SU file or cut short,
    /// [`Error::Trace`] if its traces differ in length, [`Error::Io`].
    pub fn open(path: impl AsRef<Path>, options: &SuOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
        let size = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
        if size < (TRACE_HEADER_BYTES + 4) as u64 {
            let what = format!("{size} bytes are too few for one SU trace");
            return Err(Error::format(path, size, what, "check that it is one, copy it again"));
        }
        let candidate = |order| Candidate { path, file: &file, size, order };
        let orders = match options.order {
            Some(order) => vec![order],
            None => vec![ByteOrder::Little, ByteOrder::Big],
        };
        let mut fitting = Vec::new();
        for &order in &orders {
            if let Some(found) = candidate(order).fits()? {
                fitting.push((order, found));
            }
        }
        // The better header first; where both are equally good, what this machine would write.
        fitting.sort_by_key(|(_, found)| std::cmp::Reverse(plausible(&found.first)));
        let mut warnings = Vec::new();
        let Some((order, found)) = fitting.first() else {
            return Err(candidate(orders[0]).explain(&orders)?);
        };
        if let [(_, a), (_, b)] = &fitting[..]
            && plausible(&a.first) == plausible(&b.first)
        {
            warnings.push(format!(
                "both byte orders fit ({} and {} samples per trace): took little endian",
                a.samples, b.samples
            ));
        }
        let (order, samples, traces, first) = (*order, found.samples, found.traces, found.first);
        let mut reader =
            Self { path: path.to_owned(), file, order, samples, traces, first, warnings };
        reader.doubts();
        Ok(reader)
    }

    fn doubts(&mut self) {
        let (dt, d1) = (f64::from(self.first.interval_us()) / 1e6, self.f32(181));
        if dt == 0.0 && d1 <= 0.0 {
            self.warnings.push("no sample interval: dt and d1 are 0 in the first trace".into());
        } else if dt > 0.0 && d1 > 0.0 && (dt - d1).abs() > 1e-5 * dt {
            self.warnings.push(format!(
                "dt is {dt} s, d1 is {d1}: dt is taken for traces, d1 for the spacing of a model"
            ));
        }
    }

    fn f32(&self, byte: usize) -> f64 {
        f64::from(f32::from_bits(self.first.i32(byte).cast_unsigned()))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Byte order of headers and samples.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Samples per trace.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Number of traces.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.traces
    }

    /// Whether the first trace header looks like one, not like numbers that happen to fit.
    pub(crate) fn looks_like_su(&self) -> bool {
        plausible(&self.first) >= 5
    }

    /// What is doubtful, with both values.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Time between samples, s, of the first trace: `dt`, else `d1`.
    #[must_use]
    pub fn sample_interval(&self) -> Option<f64> {
        let (dt, d1) = (self.first.interval_us(), self.f32(181));
        match dt {
            0 => (d1.is_finite() && d1 > 0.0).then_some(d1),
            dt => Some(f64::from(dt) / 1e6),
        }
    }

    /// Spacing and origin along traces and samples where the first trace says them:
    /// `[(d2, f2), (d1, f1)]`, units as the file has them.
    #[must_use]
    pub fn axes(&self) -> [Option<(f64, f64)>; 2] {
        [(189, 193), (181, 185)].map(|(d, f)| {
            let (d, f) = (self.f32(d), self.f32(f));
            (d.is_finite() && d > 0.0 && f.is_finite()).then_some((d, f))
        })
    }

    fn trace_bytes(&self) -> u64 {
        (TRACE_HEADER_BYTES + 4 * self.samples) as u64
    }

    /// Header of a trace, counted from 0.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace or its length differs, [`Error::Io`].
    pub fn header(&self, trace: u64) -> Result<RawTraceHeader> {
        self.check(trace)?;
        let mut bytes = [0_u8; TRACE_HEADER_BYTES];
        let offset = trace * self.trace_bytes();
        self.read_at(&mut bytes, offset)?;
        self.checked(trace, RawTraceHeader { bytes, order: self.order.into() })
    }

    fn checked(&self, trace: u64, header: RawTraceHeader) -> Result<RawTraceHeader> {
        if usize::from(header.samples()) == self.samples {
            return Ok(header);
        }
        let offset = trace * self.trace_bytes() + 114;
        Err(differs(&self.path, trace, header.samples(), self.samples, offset))
    }

    /// Header and samples of a trace, counted from 0.
    ///
    /// # Errors
    /// As [`SuReader::header`].
    pub fn read(&self, trace: u64) -> Result<(RawTraceHeader, Vec<f32>)> {
        self.check(trace)?;
        let mut bytes = vec![0_u8; TRACE_HEADER_BYTES + 4 * self.samples];
        self.read_at(&mut bytes, trace * self.trace_bytes())?;
        let (head, data) = bytes.split_at(TRACE_HEADER_BYTES);
        let mut header = RawTraceHeader::zeros(self.order);
        header.bytes.copy_from_slice(head);
        let mut samples = vec![0.0; self.samples];
        Element::F32.decode(self.order, data, &mut samples);
        Ok((self.checked(trace, header)?, samples))
    }

    /// Part of the samples of a trace, from sample `start`; the header is checked.
    pub(crate) fn read_part(&self, trace: u64, start: usize, out: &mut [f32]) -> Result<()> {
        self.header(trace)?;
        let first = trace * self.trace_bytes() + (TRACE_HEADER_BYTES + 4 * start) as u64;
        let mut bytes = vec![0_u8; 4 * out.len()];
        self.read_at(&mut bytes, first)?;
        Element::F32.decode(self.order, &bytes, out);
        Ok(())
    }

    fn check(&self, trace: u64) -> Result<()> {
        if trace < self.traces {
            return Ok(());
        }
        Err(Error::Trace {
            path: self.path.clone(),
            trace: trace.saturating_add(1),
            what: "there is no such trace".into(),
            remedy: format!("the file has {}", self.traces),
        })
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(&self.file, bytes, offset).map_err(|e| Error::io(&self.path, "read", None, e))
    }
}

/// A trace whose length is not the first one's.
fn differs(path: &Path, trace: u64, found: u16, wanted: usize, offset: u64) -> Error {
    Error::Trace {
        path: path.to_owned(),
        trace: trace + 1,
        what: format!("it says {found} samples at byte {offset}, the first trace has {wanted}"),
        remedy: "traces of one length are read: cut or pad them to one length first".into(),
    }
}

/// How much a header looks like one: the fields whose values are all but always in a small range.
fn plausible(header: &RawTraceHeader) -> u32 {
    let small = |byte, range: std::ops::RangeInclusive<i16>| range.contains(&header.i16(byte));
    [
        small(29, -1..=200),
        small(35, 0..=2),
        small(89, 0..=4),
        (1..=32_000).contains(&header.interval_us()),
        small(71, -10_000..=10_000),
        small(157, 0..=2100),
    ]
    .into_iter()
    .map(u32::from)
    .sum()
}

struct Found {
    samples: usize,
    traces: u64,
    first: RawTraceHeader,
}

/// A file taken in one byte order.
struct Candidate<'a> {
    path: &'a Path,
    file: &'a File,
    size: u64,
    order: ByteOrder,
}

impl Candidate<'_> {
    fn header_at(&self, offset: u64) -> Result<RawTraceHeader> {
        let mut bytes = [0_u8; TRACE_HEADER_BYTES];
        read_exact_at(self.file, &mut bytes, offset)
            .map_err(|e| Error::io(self.path, "read", None, e))?;
        Ok(RawTraceHeader { bytes, order: self.order.into() })
    }

    /// Whether the file is a whole number of traces of the first one's length that all say so.
    fn fits(&self) -> Result<Option<Found>> {
        let first = self.header_at(0)?;
        let samples = first.samples();
        let pitch = (TRACE_HEADER_BYTES + 4 * usize::from(samples)) as u64;
        if samples == 0 || !self.size.is_multiple_of(pitch) {
            return Ok(None);
        }
        let traces = self.size / pitch;
        let step = (traces / PROBES).max(1);
        for trace in (0..traces).step_by(usize::try_from(step).unwrap_or(1)).chain([traces - 1]) {
            if self.header_at(trace * pitch)?.samples() != samples {
                return Ok(None);
            }
        }
        Ok(Some(Found { samples: samples.into(), traces, first }))
    }

    /// What is wrong with a file that fits no byte order.
    fn explain(&self, orders: &[ByteOrder]) -> Result<Error> {
        let mut cut: Option<(u64, Error)> = None;
        let mut tried = Vec::new();
        for &order in orders {
            let candidate = Candidate { order, ..*self };
            let first = candidate.header_at(0)?.samples();
            tried.push(format!("{first} samples ({order:?} endian)").to_lowercase());
            let (mut at, mut trace, mut other) = (0_u64, 0_u64, None);
            while first > 0 && trace < WALK && at + TRACE_HEADER_BYTES as u64 <= self.size {
                let samples = candidate.header_at(at)?.samples();
                if samples != first && other.is_none() {
                    other = Some(differs(self.path, trace, samples, first.into(), at + 114));
                }
                let next = at + (TRACE_HEADER_BYTES + 4 * usize::from(samples)) as u64;
                if samples == 0 || next > self.size {
                    break;
                }
                (at, trace) = (next, trace + 1);
            }
            let pitch = (TRACE_HEADER_BYTES + 4 * usize::from(first)) as u64;
            // Whole in its own lengths, or but for one header whole in the first one's.
            let whole = at == self.size || self.size.is_multiple_of(pitch);
            if let Some(other) = other.filter(|_| whole) {
                return Ok(other);
            }
            let likely = first > 0 && plausible(&candidate.header_at(0)?) >= 5;
            if likely && cut.as_ref().is_none_or(|(traces, _)| *traces < trace) {
                let what = format!(
                    "{} bytes are {trace} whole traces of {first} samples and {} bytes of the next",
                    self.size,
                    self.size - at
                );
                let remedy = "the file is cut short or no SU file: copy it again";
                cut = Some((trace, Error::format(self.path, at, what, remedy)));
            }
        }
        Ok(cut.map_or_else(
            || {
                let what = format!(
                    "{} bytes are no whole number of SU traces; the first says {}",
                    self.size,
                    tried.join(" or ")
                );
                Error::format(self.path, 114, what, "check that it is an SU file, copy it again")
            },
            |(_, error)| error,
        ))
    }
}
