//! Reading traces in any order.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{
    BINARY_BYTES, FILE_HEADER_BYTES, RawTraceHeader, SampleFormat, TEXT_BYTES, TRACE_HEADER_BYTES,
    text,
};
use crate::positioned::read_exact_at;
use crate::{ByteOrder, Error, Result};

/// Traces whose headers are read in one go when scanning.
const SCAN_BYTES: usize = 4 << 20;

/// What the file is told to be, against what its headers say.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegyOptions {
    /// Byte order; found from the format code if absent.
    pub order: Option<ByteOrder>,
    /// Sample format, such as IEEE for a file that says IBM wrongly.
    pub format: Option<SampleFormat>,
}

/// An open SEG-Y file of revision 0 or 1 whose traces have one length.
#[derive(Debug)]
pub struct SegyReader {
    path: PathBuf,
    file: File,
    order: ByteOrder,
    format: SampleFormat,
    text: Vec<String>,
    binary: Vec<u8>,
    samples: usize,
    interval_us: u16,
    first_trace: u64,
    traces: u64,
}

impl SegyReader {
    /// Opens a file and finds its byte order, sample format, trace length and number of traces.
    ///
    /// The length of traces is the file header's where the file's size is a whole number of such
    /// traces, else the first trace header's.
    ///
    /// # Errors
    /// [`Error::Format`] with what was tried if the file fits no dialect that is read,
    /// [`Error::Io`].
    pub fn open(path: impl AsRef<Path>, options: &SegyOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
        let size = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
        if size < (FILE_HEADER_BYTES + TRACE_HEADER_BYTES) as u64 {
            let what = format!("{size} bytes are too few for the headers of a SEG-Y file");
            return Err(Error::format(path, size, what, "check that it is one, copy it again"));
        }
        let read = |offset: u64, length: usize| {
            let mut bytes = vec![0_u8; length];
            read_exact_at(&file, &mut bytes, offset)
                .map_err(|e| Error::io(path, "read", None, e))?;
            Ok(bytes)
        };
        let text = text::decode(&read(0, TEXT_BYTES)?);
        let binary = read(TEXT_BYTES as u64, BINARY_BYTES)?;
        let (order, format) = dialect(path, &binary, options)?;
        let field = |byte: usize| u16_at(&binary, byte - TEXT_BYTES, order);
        let revision = field(3501);
        if revision >= 0x0200 && (field(3505) != 0 || field(3507) != 0) {
            let what = format!("revision {}.{} with extensions", revision >> 8, revision & 0xff);
            return Err(Error::format(path, 3500, what, "convert it to revision 1"));
        }
        let mut first_trace = FILE_HEADER_BYTES as u64;
        // Revision 0 left these bytes unassigned.
        let extensions = if revision == 0 { 0 } else { field(3505).cast_signed() };
        if extensions > 0 {
            first_trace += u64::from(extensions.unsigned_abs()) * TEXT_BYTES as u64;
        } else if extensions < 0 {
            loop {
                if first_trace + TEXT_BYTES as u64 > size {
                    let what = "extended text headers without ((SEG: EndText))";
                    return Err(Error::format(path, 3504, what, "repair the file header"));
                }
                let block = read(first_trace, TEXT_BYTES)?;
                first_trace += TEXT_BYTES as u64;
                if text::ends_extension(&block) {
                    break;
                }
            }
        }
        if first_trace + TRACE_HEADER_BYTES as u64 > size {
            let what = format!("{extensions} extended text headers leave no room for traces");
            return Err(Error::format(path, 3504, what, "repair the file header"));
        }
        let first = raw_header(&read(first_trace, TRACE_HEADER_BYTES)?, order);
        let body = size - first_trace;
        let whole = |samples: u16| {
            let bytes = TRACE_HEADER_BYTES as u64 + u64::from(samples) * format.bytes() as u64;
            (samples > 0 && body.is_multiple_of(bytes)).then(|| (samples, body / bytes))
        };
        let (in_file, in_trace) = (field(3221), first.samples());
        let Some((samples, traces)) = whole(in_file).or_else(|| whole(in_trace)) else {
            let what = format!(
                "{body} bytes of traces are no whole number of traces of {in_file} samples (file \
                 header) or {in_trace} (trace header) of {} bytes",
                format.bytes()
            );
            let remedy = "the file is cut short or its traces differ in length: copy it again or \
                          give the sample format";
            return Err(Error::format(path, first_trace, what, remedy));
        };
        let interval_us = match field(3217) {
            0 => first.interval_us(),
            interval => interval,
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            order,
            format,
            text,
            binary,
            samples: samples.into(),
            interval_us,
            first_trace,
            traces,
        })
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

    /// Sample format.
    #[must_use]
    pub fn format(&self) -> SampleFormat {
        self.format
    }

    /// Revision as (major, minor).
    #[must_use]
    pub fn revision(&self) -> (u8, u8) {
        let [major, minor] = self.binary_u16(3501).to_be_bytes();
        (major, minor)
    }

    /// The text header's 40 lines, without trailing blanks.
    #[must_use]
    pub fn text(&self) -> &[String] {
        &self.text
    }

    /// The 16-bit field of the binary header that starts at a byte of the file, counted from 1 as
    /// in the standard: 3201 to 3599.
    ///
    /// # Panics
    /// If the byte is not within the binary header.
    #[must_use]
    pub fn binary_u16(&self, byte: usize) -> u16 {
        u16_at(&self.binary, byte - TEXT_BYTES, self.order)
    }

    /// Samples per trace.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Time between samples, s; 0 if no header says it.
    #[must_use]
    pub fn sample_interval(&self) -> f64 {
        f64::from(self.interval_us) / 1e6
    }

    /// Number of traces.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.traces
    }

    fn trace_bytes(&self) -> u64 {
        (TRACE_HEADER_BYTES + self.samples * self.format.bytes()) as u64
    }

    /// Header of a trace, counted from 0.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn header(&self, trace: u64) -> Result<RawTraceHeader> {
        self.check(trace)?;
        let mut bytes = [0_u8; TRACE_HEADER_BYTES];
        self.read_at(&mut bytes, self.first_trace + trace * self.trace_bytes())?;
        Ok(raw_header(&bytes, self.order))
    }

    /// Samples of a trace, counted from 0.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn samples_of(&self, trace: u64) -> Result<Vec<f32>> {
        self.check(trace)?;
        let mut bytes = vec![0_u8; self.samples * self.format.bytes()];
        let offset = self.first_trace + trace * self.trace_bytes() + TRACE_HEADER_BYTES as u64;
        self.read_at(&mut bytes, offset)?;
        let mut samples = vec![0.0; self.samples];
        self.format.decode(self.order, &bytes, &mut samples);
        Ok(samples)
    }

    /// Traces, counted from 0, for which `wanted` holds; reads headers only.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn find(&self, mut wanted: impl FnMut(u64, &RawTraceHeader) -> bool) -> Result<Vec<u64>> {
        let pitch = usize::try_from(self.trace_bytes()).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        // Short traces are read together, long ones skipped over.
        let group = (SCAN_BYTES / pitch).max(1) as u64;
        let mut bytes = Vec::new();
        for first in (0..self.traces).step_by(usize::try_from(group).unwrap_or(1)) {
            let count = group.min(self.traces - first);
            let length = (count - 1) * self.trace_bytes() + TRACE_HEADER_BYTES as u64;
            bytes.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
            self.read_at(&mut bytes, self.first_trace + first * self.trace_bytes())?;
            for (trace, start) in (first..first + count).zip((0..).step_by(pitch)) {
                let raw = raw_header(&bytes[start..start + TRACE_HEADER_BYTES], self.order);
                if wanted(trace, &raw) {
                    found.push(trace);
                }
            }
        }
        Ok(found)
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

fn u16_at(bytes: &[u8], byte: usize, order: ByteOrder) -> u16 {
    let word = [bytes[byte - 1], bytes[byte]];
    match order {
        ByteOrder::Big => u16::from_be_bytes(word),
        ByteOrder::Little => u16::from_le_bytes(word),
    }
}

fn raw_header(bytes: &[u8], order: ByteOrder) -> RawTraceHeader {
    let mut raw = RawTraceHeader { bytes: [0; TRACE_HEADER_BYTES], order };
    raw.bytes.copy_from_slice(bytes);
    raw
}

/// Byte order and sample format: the order in which the format code is one of the standard's.
fn dialect(path: &Path, binary: &[u8], options: &SegyOptions) -> Result<(ByteOrder, SampleFormat)> {
    let code = |order| u16_at(binary, 3225 - TEXT_BYTES, order);
    let orders = [ByteOrder::Big, ByteOrder::Little];
    let order =
        options.order.or_else(|| orders.into_iter().find(|&order| (1..=16).contains(&code(order))));
    let format = options.format.or_else(|| SampleFormat::from_code(code(order?)));
    if let Some(format) = format {
        return Ok((order.unwrap_or(ByteOrder::Big), format));
    }
    let [big, little] = orders.map(code);
    let what = format!(
        "the sample format code is {big} (big endian) or {little} (little endian); 1, 2, 3, 5 and \
         8 are read"
    );
    Err(Error::format(path, 3224, what, "give byte order and sample format, or convert the file"))
}
