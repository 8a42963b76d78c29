//! An open file: what it is, and its traces in any order.

use std::path::Path;

use super::dialect::{self, Dialect};
use super::layout::{Extent, Shape};
use super::plausibility::looks_ieee;
use super::source::Source;
use super::traces::Traces;
use super::{
    BinaryHeader, HeaderMap, RawTraceHeader, SampleFormat, SegyOptions, TEXT_BYTES,
    TRACE_HEADER_BYTES, TextEncoding, TraceHeader, Warning, WordOrder, text,
};
use crate::{Error, Result};

/// Bytes of traces read in one go when headers are scanned.
const SCAN_BYTES: usize = 1 << 20;
/// Metres of a foot (international).
const FOOT: f64 = 0.3048;

/// An open SEG-Y file of any revision.
///
/// Opening reads headers only; memory does not grow with the file, but for 8 bytes per 256 traces
/// where traces differ in length.
///
/// ```
/// use temblor_io::segy::{SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.sgy");
/// # let mut writer = SegyWriter::create(&path, &SegyHeader::new(0.004, 3))?;
/// # writer.write_trace(&TraceHeader::default(), &[0.0, 1.0, 0.5])?;
/// # writer.finish()?;
/// let reader = SegyReader::open(&path, &SegyOptions::default())?;
/// for warning in reader.warnings() {
///     eprintln!("{}: {warning}", path.display());
/// }
/// println!("{} traces of {} samples", reader.traces(), reader.samples());
/// // Any trace:
/// let last = reader.samples_of(reader.traces() - 1)?;
/// // All of them in sequence:
/// let mut traces = reader.sequence();
/// let mut samples = Vec::new();
/// while let Some(trace) = traces.next_trace()? {
///     trace.samples_into(&mut samples);
///     let peak = samples.iter().fold(0.0_f32, |peak, v| peak.max(v.abs()));
///     println!("shot {}: peak {peak}", trace.header().i32(9));
/// }
/// # assert_eq!(last, samples);
/// # Ok::<(), temblor_io::Error>(())
/// ```
#[derive(Debug)]
pub struct SegyReader {
    source: Source,
    dialect: Dialect,
    text: Vec<String>,
    encoding: TextEncoding,
    fields: HeaderMap,
    unmapped: bool,
}

/// A trace's header and its first extension.
pub(super) struct Headers<'a> {
    pub(super) raw: &'a RawTraceHeader,
    pub(super) extension: Option<&'a [u8; TRACE_HEADER_BYTES]>,
}

impl SegyReader {
    /// Opens a file and finds its dialect.
    ///
    /// Where headers contradict each other:
    /// - byte order: the constant of revision 2 (bytes 3297-3300), else the order in which the
    ///   format code is one, little endian and pairwise swapped told apart by 32-bit numbers;
    /// - samples per trace: the file header's number (the extended one first), then the first trace
    ///   header's, whichever makes the rest of the file a whole number of traces; then each trace's
    ///   own number, if the traces so found end where the file does;
    /// - sample interval: the file header's (the extended one first), then the first trace's;
    /// - number of traces: what the file's size makes;
    /// - first trace: the byte stated in revision 2, if it makes whole traces, else where the text
    ///   headers end.
    ///
    /// [`SegyReader::warnings`] says where that was decided, [`SegyOptions`] decides otherwise.
    ///
    /// # Errors
    /// [`Error::Format`] with what was tried if the file fits no dialect, [`Error::Io`].
    pub fn open(path: impl AsRef<Path>, options: &SegyOptions) -> Result<Self> {
        let source = Source::open(path.as_ref())?;
        if let Some(bad) = options.interval.filter(|dt| !(dt.is_finite() && *dt > 0.0)) {
            let remedy = "give a positive number of seconds";
            return Err(Error::invalid(source.path(), "the sample interval", bad, remedy));
        }
        let dialect = dialect::find(&source, options)?;
        let length = usize::try_from(dialect.text_bytes).unwrap_or(TEXT_BYTES).min(TEXT_BYTES);
        let mut bytes = source.first_bytes(dialect.text_start, length)?;
        if dialect.binary.order == WordOrder::Pairwise && text::is_swapped(&bytes) {
            text::swap(&mut bytes);
        }
        let mut reader = Self {
            text: text::decode(&bytes),
            encoding: text::encoding(&bytes),
            source,
            dialect,
            fields: options.fields.clone(),
            unmapped: options.unmapped,
        };
        if options.format.is_none() && reader.format() == SampleFormat::Ibm {
            let doubt = looks_ieee(&reader)?;
            reader.dialect.warnings.extend(doubt);
        }
        Ok(reader)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// Size of the file, bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Contradictions and doubts found when the file was opened.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.dialect.warnings
    }

    /// Byte order of headers and samples.
    #[must_use]
    pub fn order(&self) -> WordOrder {
        self.dialect.binary.order
    }

    /// Sample format.
    #[must_use]
    pub fn format(&self) -> SampleFormat {
        self.dialect.format
    }

    /// Revision as (major, minor).
    #[must_use]
    pub fn revision(&self) -> (u8, u8) {
        self.dialect.revision
    }

    /// The text header's 40 lines, without trailing blanks.
    #[must_use]
    pub fn text(&self) -> &[String] {
        &self.text
    }

    /// How the text header is encoded.
    #[must_use]
    pub fn text_encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// The text header's bytes as they are.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn text_bytes(&self) -> Result<Vec<u8>> {
        let length = usize::try_from(self.dialect.text_bytes).unwrap_or(TEXT_BYTES);
        self.source.first_bytes(self.dialect.text_start, length)
    }

    /// Number of extended text headers.
    #[must_use]
    pub fn extended_text_headers(&self) -> u32 {
        self.dialect.extended_text
    }

    /// Bytes of an extended text header, counted from 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none of that number, [`Error::Io`].
    pub fn extended_text_bytes(&self, number: u32) -> Result<Vec<u8>> {
        if number >= self.dialect.extended_text {
            let remedy = format!("there are {}", self.dialect.extended_text);
            let what = "the number of an extended text header";
            return Err(Error::invalid(self.path(), what, number, remedy));
        }
        let start = self.dialect.text_start + self.dialect.text_bytes + super::BINARY_BYTES as u64;
        self.source.first_bytes(start + u64::from(number) * TEXT_BYTES as u64, TEXT_BYTES)
    }

    /// Lines of an extended text header, counted from 0.
    ///
    /// # Errors
    /// As [`SegyReader::extended_text_bytes`].
    pub fn extended_text(&self, number: u32) -> Result<Vec<String>> {
        Ok(text::decode(&self.extended_text_bytes(number)?))
    }

    /// The binary file header.
    #[must_use]
    pub fn binary(&self) -> &BinaryHeader {
        &self.dialect.binary
    }

    /// The 16-bit field of the binary header that starts at a byte of the file, counted from 1 as
    /// in the standard: 3201 to 3599.
    ///
    /// # Panics
    /// If the byte is not within the binary header.
    #[must_use]
    pub fn binary_u16(&self, byte: usize) -> u16 {
        self.dialect.binary.u16(byte)
    }

    /// Samples per trace, the largest number where traces differ.
    #[must_use]
    pub fn samples(&self) -> usize {
        usize::try_from(self.dialect.layout.samples).unwrap_or(usize::MAX)
    }

    /// Whether traces differ in their numbers of samples.
    #[must_use]
    pub fn is_variable(&self) -> bool {
        matches!(self.dialect.layout.shape, Shape::Variable(_))
    }

    /// Trace header extensions of 240 bytes that follow each trace header.
    #[must_use]
    pub fn trace_extensions(&self) -> u16 {
        self.dialect.layout.extensions
    }

    /// Time between samples, s; 0 if no header says it.
    #[must_use]
    pub fn sample_interval(&self) -> f64 {
        self.dialect.interval_us / 1e6
    }

    /// Number of traces.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.dialect.layout.traces
    }

    /// Where trace header fields stand.
    #[must_use]
    pub fn fields(&self) -> &HeaderMap {
        &self.fields
    }

    /// Byte of the file where a trace, counted from 0, begins.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn offset_of(&self, trace: u64) -> Result<u64> {
        Ok(self.extent(trace)?.offset)
    }

    /// Samples of a trace, counted from 0.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn samples_in(&self, trace: u64) -> Result<usize> {
        Ok(usize::try_from(self.extent(trace)?.samples).unwrap_or(usize::MAX))
    }

    /// Header of a trace, counted from 0.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn header(&self, trace: u64) -> Result<RawTraceHeader> {
        let bytes = self.source.array(self.extent(trace)?.offset)?;
        Ok(RawTraceHeader { bytes, order: self.order() })
    }

    /// Bytes of the extensions of a trace's header, 240 each; empty if there are none.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn header_extensions(&self, trace: u64) -> Result<Vec<u8>> {
        let extent = self.extent(trace)?;
        let first = TRACE_HEADER_BYTES as u64;
        let length = usize::try_from(extent.header_bytes - first).unwrap_or(usize::MAX);
        self.source.first_bytes(extent.offset + first, length)
    }

    /// Geometry of a trace, counted from 0: fields from where [`SegyReader::fields`] has them,
    /// scalars applied, feet converted to metres.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace or its coordinates are geographic, [`Error::Io`].
    pub fn trace_header(&self, trace: u64) -> Result<TraceHeader> {
        let extensions = self.header_extensions(trace)?;
        self.decode(trace, &self.header(trace)?, extensions.first_chunk())
    }

    pub(super) fn decode(
        &self,
        trace: u64,
        raw: &RawTraceHeader,
        extension: Option<&[u8; TRACE_HEADER_BYTES]>,
    ) -> Result<TraceHeader> {
        let units = self.fields.field("counit").and_then(|field| raw.get(&field).to_i64());
        if let Some(units @ 2..=4) = units {
            let what = format!("coordinate units are {units}, which are angles");
            let remedy = "project the coordinates to metres, or set bytes 89-90 to 1";
            return Err(self.trace_error(trace, what, remedy));
        }
        let mut header = TraceHeader::from_raw(raw, extension, &self.fields);
        if self.binary_u16(3255) == 2 {
            let lengths = header.source.iter_mut().chain(&mut header.receiver);
            for length in lengths.chain(&mut header.cdp).chain(&mut header.offset) {
                *length *= FOOT;
            }
        }
        Ok(header)
    }

    /// Samples of a trace, counted from 0, as singles.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn samples_of(&self, trace: u64) -> Result<Vec<f32>> {
        let bytes = self.sample_bytes_of(trace)?;
        let mut samples = vec![0.0; bytes.len() / self.format().bytes()];
        self.format().decode(self.order(), &bytes, &mut samples);
        Ok(samples)
    }

    /// Samples of a trace, counted from 0, as doubles: exact but for 64-bit integers beyond 2^53.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn samples_f64_of(&self, trace: u64) -> Result<Vec<f64>> {
        let bytes = self.sample_bytes_of(trace)?;
        let mut samples = vec![0.0; bytes.len() / self.format().bytes()];
        self.format().decode_f64(self.order(), &bytes, &mut samples);
        Ok(samples)
    }

    /// Samples of a trace, counted from 0, as they are stored.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn sample_bytes_of(&self, trace: u64) -> Result<Vec<u8>> {
        let extent = self.extent(trace)?;
        let length = u64::from(extent.samples) * self.format().bytes() as u64;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.source.first_bytes(extent.offset + extent.header_bytes, length)
    }

    /// All traces, one after the other.
    #[must_use]
    pub fn sequence(&self) -> Traces<'_> {
        self.sequence_from(0)
    }

    /// The traces from one, counted from 0, to the last.
    #[must_use]
    pub fn sequence_from(&self, first: u64) -> Traces<'_> {
        Traces::new(self, first, self.unmapped)
    }

    /// Calls `see` with every trace's header, reading headers only where traces are long.
    ///
    /// # Errors
    /// [`Error::Io`], or what `see` returns, which ends the scan.
    pub fn scan(&self, mut see: impl FnMut(u64, &RawTraceHeader) -> Result<()>) -> Result<()> {
        self.scan_headers(|trace, headers| see(trace, headers.raw))
    }

    /// [`SegyReader::scan`] with the first extension of each header.
    pub(super) fn scan_headers(
        &self,
        mut see: impl FnMut(u64, &Headers<'_>) -> Result<()>,
    ) -> Result<()> {
        let order = self.order();
        let extended = self.trace_extensions() > 0;
        let header_bytes = TRACE_HEADER_BYTES * if extended { 2 } else { 1 };
        let mut show = |trace: u64, bytes: &[u8]| {
            let Some((&bytes, rest)) = bytes.split_first_chunk() else { return Ok(()) };
            let extension = if extended { rest.first_chunk() } else { None };
            see(trace, &Headers { raw: &RawTraceHeader { bytes, order }, extension })
        };
        if self.is_variable() {
            let mut extent = None;
            for trace in 0..self.traces() {
                let found = self.next_extent(trace, extent)?;
                let length = found.header_bytes.min(header_bytes as u64);
                let length = usize::try_from(length).unwrap_or(header_bytes);
                show(trace, &self.source.first_bytes(found.offset, length)?)?;
                extent = Some(found);
            }
            return Ok(());
        }
        let pitch = self.fixed_pitch();
        // Short traces are read together, long ones skipped over.
        let group = (SCAN_BYTES as u64 / pitch).max(1);
        let mut bytes = Vec::new();
        let mut first = 0;
        while first < self.traces() {
            let count = group.min(self.traces() - first);
            let length = (count - 1) * pitch + header_bytes as u64;
            bytes.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
            self.source.read(&mut bytes, self.dialect.layout.first_trace + first * pitch)?;
            let pitch = usize::try_from(pitch).unwrap_or(usize::MAX);
            for (trace, from) in (first..first + count).zip((0..).step_by(pitch)) {
                show(trace, &bytes[from..from + header_bytes])?;
            }
            first += count;
        }
        Ok(())
    }

    /// Traces, counted from 0, for which `wanted` holds; reads headers only.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn find(&self, mut wanted: impl FnMut(u64, &RawTraceHeader) -> bool) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        self.scan(|trace, raw| {
            if wanted(trace, raw) {
                found.push(trace);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Bytes from a trace to the next where all are alike.
    fn fixed_pitch(&self) -> u64 {
        let layout = &self.dialect.layout;
        let headers = (1 + u64::from(layout.extensions)) * TRACE_HEADER_BYTES as u64;
        headers + u64::from(layout.samples) * self.format().bytes() as u64
    }

    pub(super) fn extent(&self, trace: u64) -> Result<Extent> {
        if trace >= self.traces() {
            let remedy = format!("the file has {}", self.traces());
            return Err(self.trace_error(trace, "there is no such trace".into(), &remedy));
        }
        let layout = &self.dialect.layout;
        match &layout.shape {
            Shape::Fixed => Ok(Extent {
                offset: layout.first_trace + trace * self.fixed_pitch(),
                header_bytes: (1 + u64::from(layout.extensions)) * TRACE_HEADER_BYTES as u64,
                samples: layout.samples,
            }),
            Shape::Variable(index) => self.sound(trace, index.extent(&self.source, trace)?),
        }
    }

    /// The extent of a trace, given that of the one before it.
    pub(super) fn next_extent(&self, trace: u64, previous: Option<Extent>) -> Result<Extent> {
        match (&self.dialect.layout.shape, previous) {
            (Shape::Variable(index), Some(previous)) => {
                self.sound(trace, index.next(&self.source, &previous)?)
            }
            _ => self.extent(trace),
        }
    }

    /// An extent found by walking, which must still be as it was when the file was opened.
    fn sound(&self, trace: u64, extent: Option<Extent>) -> Result<Extent> {
        let within = |extent: &Extent| {
            let bytes = u64::from(extent.samples) * self.format().bytes() as u64;
            extent.samples <= self.dialect.layout.samples
                && extent.offset + extent.header_bytes + bytes <= self.size()
        };
        extent.filter(within).ok_or_else(|| {
            let remedy = "wait until nobody writes it, open it again";
            self.trace_error(trace, "the file has changed since it was opened".into(), remedy)
        })
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn trace_error(&self, trace: u64, what: String, remedy: &str) -> Error {
        Error::Trace {
            path: self.path().to_owned(),
            trace: trace.saturating_add(1),
            what,
            remedy: remedy.to_owned(),
        }
    }
}
