//! The headers of a file: text and binary.

use std::path::Path;

use super::trace_header::{Shared, rounded_us};
use super::{
    BINARY_BYTES, BinaryHeader, SampleFormat, SegyReader, TEXT_BYTES, TextEncoding, WordOrder, text,
};
use crate::{Error, Result};

/// Largest 16-bit count that every reader takes right: beyond it many see a negative number.
const SAFE_COUNT: usize = 32_767;

/// What a SEG-Y file says once for all its traces.
///
/// The revision is 1, or 2.1 where that is needed: for more than 32,767 samples per trace or traces
/// per record, an interval that is no whole number of microseconds, doubles for coordinates,
/// sample formats of revision 2, another byte order than big endian.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SegyHeader {
    /// Lines for the text header, without `C 1`; wrapped at 76 characters.
    pub text: Vec<String>,
    /// Extended text headers (revision 1), each of up to 40 lines of 80 characters.
    pub extended_text: Vec<Vec<String>>,
    /// How text is encoded.
    pub encoding: TextEncoding,
    /// Time between samples, s.
    pub sample_interval: f64,
    /// Samples per trace; the largest number where traces differ.
    pub samples: usize,
    /// Whether traces may have fewer samples than that, each as many as its header says.
    pub variable: bool,
    /// Traces of one shot (data traces per ensemble); 0 if they differ.
    pub traces_per_record: usize,
    /// Power of ten by which coordinates are stored, as the standard's scalar: -1000 for
    /// millimetres, -100 for centimetres, 1 for metres. If absent, each trace takes the finest that
    /// its coordinates need and that fits; [`super::coordinate_scalar`] finds one for a survey.
    pub coordinate_scalar: Option<i16>,
    /// Trace header extensions of each trace (revision 2), 240 bytes each: 1 for doubles of
    /// coordinates and offset, which [`super::coordinate_storage`] finds a survey to need or not;
    /// further ones are the user's own.
    pub trace_extensions: u16,
    /// Sample format; IEEE singles by default.
    pub format: SampleFormat,
    /// Byte order; big endian by default, as revisions 0 and 1 demand.
    pub order: WordOrder,
    /// Revision to write (0, 1 or 2); the lowest that holds everything, but at least 1, if absent.
    pub revision: Option<u8>,
    /// Headers of another file to keep: what is not about numbers of samples and their format.
    pub like: Option<FileHeaders>,
}

/// The headers of an existing file, kept as they are when it is converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHeaders {
    /// The text header, 3200 bytes.
    pub text: Vec<u8>,
    /// Extended text headers, 3200 bytes each.
    pub extended_text: Vec<u8>,
    /// The binary header.
    pub binary: BinaryHeader,
}

impl FileHeaders {
    /// The headers of an open file; text whose pairs of bytes are exchanged is put right.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of(reader: &SegyReader) -> Result<Self> {
        let mut extended_text = Vec::new();
        for number in 0..reader.extended_text_headers() {
            extended_text.extend(reader.extended_text_bytes(number)?);
        }
        let mut text = reader.text_bytes()?;
        if reader.order() == WordOrder::Pairwise && text::is_swapped(&text) {
            text::swap(&mut text);
            text::swap(&mut extended_text);
        }
        text.resize(TEXT_BYTES, 0x40);
        Ok(Self { text, extended_text, binary: *reader.binary() })
    }
}

impl SegyHeader {
    /// A header for traces of `samples` samples, `sample_interval` s apart.
    #[must_use]
    pub fn new(sample_interval: f64, samples: usize) -> Self {
        Self { sample_interval, samples, ..Self::default() }
    }

    /// The header of an open file, to write another one like it: same text, numbers and format.
    /// Data trailers behind the traces are not taken along.
    ///
    /// ```
    /// use temblor_io::segy::{SampleFormat, SegyHeader, SegyOptions, SegyReader, SegyWriter};
    /// # use temblor_io::segy::TraceHeader;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (ieee, ibm) = (folder.path().join("a.sgy"), folder.path().join("b.sgy"));
    /// # let mut writer = SegyWriter::create(&ieee, &SegyHeader::new(0.004, 2))?;
    /// # writer.write_trace(&TraceHeader::default(), &[0.5, 1.0])?;
    /// # writer.finish()?;
    /// // IEEE floats to IBM floats, all headers kept.
    /// let reader = SegyReader::open(&ieee, &SegyOptions::default())?;
    /// let mut header = SegyHeader::like(&reader)?;
    /// header.format = SampleFormat::Ibm;
    /// let mut writer = SegyWriter::create(&ibm, &header)?;
    /// let (mut traces, mut samples) = (reader.sequence(), Vec::new());
    /// while let Some(trace) = traces.next_trace()? {
    ///     trace.samples_into(&mut samples);
    ///     writer.write_raw(&trace.header(), trace.extensions(), &samples)?;
    /// }
    /// assert!(writer.losses().is_empty());
    /// writer.finish()?;
    /// # Ok::<(), temblor_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn like(reader: &SegyReader) -> Result<Self> {
        Ok(Self {
            sample_interval: reader.sample_interval(),
            samples: reader.samples(),
            variable: reader.is_variable(),
            encoding: reader.text_encoding(),
            trace_extensions: reader.trace_extensions(),
            format: reader.format(),
            order: reader.order(),
            like: Some(FileHeaders::of(reader)?),
            ..Self::default()
        })
    }

    /// The interval, us: the nearest whole number if it is one but for rounding.
    fn interval_us(&self) -> f64 {
        let exact = self.sample_interval * 1e6;
        let nearest = exact.round();
        // 1e-9 of a sample over 2^31 samples is two of them; seconds times 1e6 is far closer.
        if (exact - nearest).abs() <= 1e-9 * nearest { nearest } else { exact }
    }

    /// The revision that is written, and why if it is not 1.
    fn needed(&self) -> (u8, &'static str) {
        let interval = self.interval_us();
        let needs = [
            (self.samples > SAFE_COUNT, "more than 32,767 samples per trace"),
            (self.traces_per_record > SAFE_COUNT, "more than 32,767 traces per record"),
            (interval.fract() != 0.0 || interval > 65535.0, "the sample interval"),
            (self.trace_extensions > 0, "extended trace headers"),
            (self.format.revision() == 2, "the sample format"),
            (self.order != WordOrder::Big, "the byte order"),
        ];
        if let Some((_, why)) = needs.into_iter().find(|(needed, _)| *needed) {
            return (2, why);
        }
        let text = !self.extended_text.is_empty()
            || self.like.as_ref().is_some_and(|like| !like.extended_text.is_empty());
        match (self.format.revision(), text || self.variable) {
            (1, _) => (1, "the sample format"),
            (_, true) => (1, "extended text headers or traces of different lengths"),
            _ => (0, ""),
        }
    }

    /// The revision that is written.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the one asked for does not exist or holds less than is needed.
    fn revision(&self, path: &Path) -> Result<u8> {
        let (needed, why) = self.needed();
        let copied = self.like.as_ref().map(|like| like.binary.revision().0.min(2));
        match self.revision {
            Some(revision) if revision < needed => {
                let remedy = format!("{why} needs revision {needed}");
                Err(Error::invalid(path, "the SEG-Y revision", revision, remedy))
            }
            Some(revision) if revision > 2 => {
                Err(Error::invalid(path, "the SEG-Y revision", revision, "there are 0, 1 and 2"))
            }
            Some(revision) => Ok(revision),
            None => Ok(needed.max(copied.unwrap_or(1))),
        }
    }

    /// Whether the standard can hold it; `path` is named in the error.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the value and what would fit.
    pub fn check(&self, path: &Path) -> Result<()> {
        self.encode(path).map(drop)
    }

    /// What trace headers repeat.
    pub(super) fn shared(&self, path: &Path) -> Result<Shared> {
        Ok(Shared {
            samples: self.samples,
            interval_us: self.interval_us(),
            coordinate_scalar: self.coordinate_scalar,
            order: self.order,
            revision: self.revision(path)?,
            extensions: self.trace_extensions,
            encoding: self.encoding,
        })
    }

    fn check_numbers(&self, path: &Path) -> Result<()> {
        let interval = self.interval_us();
        if !(interval.is_finite() && interval > 0.0) {
            let got = format!("{} s", self.sample_interval);
            let remedy = "give a positive number of seconds";
            return Err(Error::invalid(path, "the sample interval", got, remedy));
        }
        if self.samples == 0 {
            let remedy = "give at least one sample";
            return Err(Error::invalid(path, "the number of samples", 0, remedy));
        }
        let most = usize::try_from(i32::MAX).unwrap_or(usize::MAX);
        for (what, count) in
            [("the number of samples", self.samples), ("traces per shot", self.traces_per_record)]
        {
            if count > most {
                let remedy = format!("SEG-Y holds {most}: write npy");
                return Err(Error::invalid(path, what, count, remedy));
            }
        }
        if self.variable && self.samples > usize::from(u16::MAX) && self.trace_extensions == 0 {
            let remedy = "traces of different lengths say theirs in 16 bits: write one extension of \
                          trace headers, or equal traces";
            return Err(Error::invalid(path, "the number of samples", self.samples, remedy));
        }
        if self.order == WordOrder::Pairwise && self.format.bytes() % 2 == 1 {
            let remedy = "samples of one or three bytes have no pairs: use another byte order";
            return Err(Error::invalid(path, "the byte order", self.order, remedy));
        }
        Ok(())
    }

    /// Text and binary header, and extended text headers.
    pub(super) fn encode(&self, path: &Path) -> Result<Vec<u8>> {
        self.check_numbers(path)?;
        let revision = self.revision(path)?;
        let (mut bytes, extended) = match &self.like {
            Some(like) => (like.text.clone(), like.extended_text.clone()),
            None => {
                let mark = ["", "SEG Y REV1", "SEG-Y_REV2.1"][usize::from(revision)];
                let mut extended = Vec::new();
                for lines in &self.extended_text {
                    extended.extend(text::encode_extended(path, lines, self.encoding)?);
                }
                (text::encode(path, &self.text, mark, self.encoding)?, extended)
            }
        };
        bytes.resize(TEXT_BYTES, 0x40);
        let Ok(extended_count) = i16::try_from(extended.len() / TEXT_BYTES) else {
            let count = extended.len() / TEXT_BYTES;
            let remedy = "SEG-Y holds 32,767";
            return Err(Error::invalid(path, "extended text headers", count, remedy));
        };
        bytes.extend(self.binary(revision, extended_count).bytes);
        bytes.extend(extended);
        Ok(bytes)
    }

    fn binary(&self, revision: u8, extended_text: i16) -> BinaryHeader {
        let mut binary = match &self.like {
            Some(like) => like.binary.in_order(self.order),
            None => fresh(self.order),
        };
        let short = |count: usize| u16::try_from(count).unwrap_or(0);
        let interval = self.interval_us();
        if self.like.is_none() || self.traces_per_record != 0 {
            binary.put(3213, short(self.traces_per_record).to_be_bytes());
        }
        binary.put(3217, rounded_us(interval).to_be_bytes());
        binary.put(3221, short(self.samples).to_be_bytes());
        if self.like.is_none() {
            binary.put(3219, rounded_us(interval).to_be_bytes());
            binary.put(3223, short(self.samples).to_be_bytes());
        }
        binary.put(3225, self.format.code().to_be_bytes());
        binary.put(3501, [0; 2]);
        binary.bytes[300] = revision;
        if revision < 2 && self.like.as_ref().is_some_and(|like| like.binary.revision().0 == 2) {
            // What revision 2 added.
            binary.bytes[60..100].fill(0);
            binary.bytes[306..332].fill(0);
        }
        if revision >= 1 {
            binary.put(3503, u16::from(!self.variable).to_be_bytes());
            binary.put(3505, extended_text.to_be_bytes());
        } else if self.like.is_some() {
            binary.put(3503, [0; 2]);
            binary.put(3505, [0; 2]);
        }
        if revision >= 2 {
            binary.bytes[301] = 1;
            self.put_revision_2(&mut binary, extended_text);
        }
        binary
    }

    fn put_revision_2(&self, binary: &mut BinaryHeader, extended_text: i16) {
        let long = |count: usize| u32::try_from(count).unwrap_or(0);
        if self.like.is_none() || self.traces_per_record != 0 {
            binary.put(3261, long(self.traces_per_record).to_be_bytes());
        }
        binary.put(3269, long(self.samples).to_be_bytes());
        binary.put(3273, self.interval_us().to_be_bytes());
        binary.put(3297, 0x0102_0304_u32.to_be_bytes());
        binary.put(3507, self.trace_extensions.to_be_bytes());
        // The number of traces is not known while they are written, and there are no trailers.
        binary.put(3513, 0_u64.to_be_bytes());
        let text = TEXT_BYTES * usize::from(extended_text.unsigned_abs());
        let first = (TEXT_BYTES + BINARY_BYTES + text) as u64;
        binary.put(3521, first.to_be_bytes());
        binary.put(3529, 0_u32.to_be_bytes());
    }
}

/// A binary header that says what every modelled file has in common.
fn fresh(order: WordOrder) -> BinaryHeader {
    let mut binary = BinaryHeader::zeros(order);
    for number in [3201, 3205, 3209] {
        binary.put(number, 1_u32.to_be_bytes()); // job, line, reel
    }
    let common = [
        (3227, 1), // ensemble fold
        (3229, 1), // as recorded
        (3231, 1), // no vertical sum
        (3249, 1), // not correlated
        (3253, 1), // no gain recovery
        (3255, 1), // metres
        (3257, 2), // increase of pressure is a positive number
    ];
    for (byte, value) in common {
        binary.put(byte, u16::to_be_bytes(value));
    }
    binary
}
