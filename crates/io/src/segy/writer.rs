//! Writing traces one after the other, with a place to go on from after a crash.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::field::{put, turn};
use super::fields::EXTENSION_FIELDS;
use super::samples::Losses;
use super::trace_header::Shared;
use super::{RawTraceHeader, SampleFormat, SegyHeader, TRACE_HEADER_BYTES, TraceHeader, WordOrder};
use crate::{Error, Result};

/// Bytes gathered before they are handed to the system: few enough to stay in the second-level
/// cache between conversion and copy.
const BUFFER_BYTES: usize = 256 << 10;

/// A SEG-Y file that grows by traces.
///
/// The name is taken as given: write to a `.part` name, [`SegyWriter::finish`], then
/// [`crate::atomic::rename_durably`]; what stands under the final name is then always whole.
///
/// ```
/// use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader};
/// # let folder = tempfile::tempdir().unwrap();
/// # let (part, path) = (folder.path().join("a.part"), folder.path().join("a.sgy"));
/// let mut header = SegyHeader::new(0.004, 3);
/// header.text.push("one shot".into());
/// let mut writer = SegyWriter::create(&part, &header)?;
/// let trace = TraceHeader {
///     field_record: 1,
///     trace_in_record: 1,
///     source: [100.0, 0.0, 5.0],
///     receiver: [350.0, 0.0, 10.0],
///     ..TraceHeader::default()
/// };
/// writer.write_trace(&trace, &[0.0, 1.0, 0.5])?;
/// writer.finish()?;
/// temblor_io::atomic::rename_durably(&part, &path)?;
/// # Ok::<(), temblor_io::Error>(())
/// ```
#[derive(Debug)]
pub struct SegyWriter {
    path: PathBuf,
    file: File,
    header_bytes: u64,
    shared: Shared,
    format: SampleFormat,
    variable: bool,
    traces: u64,
    /// Bytes for the file: the first `used` of these. It keeps its length, so that no zeros are
    /// written before samples are.
    buffer: Vec<u8>,
    used: usize,
    /// Whether bytes were lost, after which nothing more may follow them.
    broken: bool,
    losses: Losses,
}

/// Samples of a trace, in memory or as bytes of the file.
enum Samples<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    Stored(&'a [u8]),
}

impl SegyWriter {
    /// Starts a file, replacing what has the name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a header that the standard cannot hold, [`Error::Io`],
    /// [`Error::DiskFull`].
    pub fn create(path: impl AsRef<Path>, header: &SegyHeader) -> Result<Self> {
        let path = path.as_ref();
        // Encoded first: a refused header must not leave an empty file.
        let bytes = header.encode(path)?;
        let file = File::create(path).map_err(|e| Error::io(path, "create", None, e))?;
        let mut writer = Self::around(path, file, header, bytes.len() as u64, 0)?;
        writer.room(bytes.len())?.copy_from_slice(&bytes);
        Ok(writer)
    }

    /// Goes on with a file after its first `traces` traces; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file has another header or fewer traces, or traces of different
    /// lengths; [`Error::Io`].
    pub fn resume(path: impl AsRef<Path>, header: &SegyHeader, traces: u64) -> Result<Self> {
        let path = path.as_ref();
        let wanted = header.encode(path)?;
        if header.variable {
            let remedy = "only files of equal traces can be gone on with: start afresh";
            return Err(Error::invalid(path, "the trace length", "variable", remedy));
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| Error::io(path, "open", None, e))?;
        let mut found = vec![0_u8; wanted.len()];
        let same = file.read_exact(&mut found).map(|()| found == wanted);
        if !same.unwrap_or(false) {
            let remedy = "it belongs to another run: remove it and start afresh";
            return Err(Error::invalid(path, "the file header", "another one", remedy));
        }
        let io = |e| Error::io(path, "write", None, e);
        let size = file.metadata().map_err(io)?.len();
        let bytes = wanted.len() as u64;
        let mut writer = Self::around(path, file, header, bytes, traces)?;
        let keep = writer.file_bytes(traces).filter(|&keep| keep <= size);
        let Some(keep) = keep else {
            let whole = size.saturating_sub(bytes) / writer.trace_bytes();
            let remedy = format!("{traces} were to be kept: remove it and start afresh");
            return Err(Error::invalid(path, "the number of whole traces", whole, remedy));
        };
        writer.file.set_len(keep).map_err(io)?;
        writer.file.seek(SeekFrom::Start(keep)).map_err(io)?;
        Ok(writer)
    }

    fn around(
        path: &Path,
        file: File,
        header: &SegyHeader,
        header_bytes: u64,
        traces: u64,
    ) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file,
            header_bytes,
            shared: header.shared(path)?,
            format: header.format,
            variable: header.variable,
            traces,
            buffer: vec![0; BUFFER_BYTES],
            used: 0,
            broken: false,
            losses: Losses::default(),
        })
    }

    /// Appends a trace of as many samples as the file header says, or fewer in a file of variable
    /// lengths.
    ///
    /// # Errors
    /// [`Error::Trace`] if the number of samples differs or the geometry does not fit the header,
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn write_trace(&mut self, header: &TraceHeader, samples: &[f32]) -> Result<()> {
        self.write_geometry(header, &Samples::F32(samples))
    }

    /// Appends a trace of doubles; as [`SegyWriter::write_trace`].
    ///
    /// # Errors
    /// As [`SegyWriter::write_trace`].
    pub fn write_trace_f64(&mut self, header: &TraceHeader, samples: &[f64]) -> Result<()> {
        self.write_geometry(header, &Samples::F64(samples))
    }

    /// Appends a trace with a header that is kept as it is, but for its byte order and its numbers
    /// of samples and microseconds; `extensions` are its extensions, 240 bytes each, which must be
    /// in the header's order and as many as each trace of the file has.
    ///
    /// # Errors
    /// As [`SegyWriter::write_trace`]; [`Error::Trace`] for a wrong number of extensions.
    pub fn write_raw(
        &mut self,
        header: &RawTraceHeader,
        extensions: &[u8],
        samples: &[f32],
    ) -> Result<()> {
        self.write_as_is(header, extensions, &Samples::F32(samples))
    }

    /// Appends a trace of doubles with a header that is kept; as [`SegyWriter::write_raw`].
    ///
    /// # Errors
    /// As [`SegyWriter::write_raw`].
    pub fn write_raw_f64(
        &mut self,
        header: &RawTraceHeader,
        extensions: &[u8],
        samples: &[f64],
    ) -> Result<()> {
        self.write_as_is(header, extensions, &Samples::F64(samples))
    }

    /// Appends a trace whose samples are stored as the file stores them, in its format and byte
    /// order; as [`SegyWriter::write_raw`].
    ///
    /// # Errors
    /// As [`SegyWriter::write_raw`].
    pub fn write_stored(
        &mut self,
        header: &RawTraceHeader,
        extensions: &[u8],
        samples: &[u8],
    ) -> Result<()> {
        self.write_as_is(header, extensions, &Samples::Stored(samples))
    }

    fn write_geometry(&mut self, header: &TraceHeader, samples: &Samples<'_>) -> Result<()> {
        let trace = self.traces + 1;
        let shared = Shared { samples: self.count(samples)?, ..self.shared };
        let encoded = header.encode(&self.path, trace, &shared)?;
        let mut extensions = vec![0; self.extension_bytes()];
        if let (Some(first), Some(bytes)) = (extensions.first_chunk_mut(), encoded.extension) {
            *first = bytes;
        }
        self.append(&encoded.header, &extensions, samples)
    }

    fn write_as_is(
        &mut self,
        header: &RawTraceHeader,
        extensions: &[u8],
        samples: &Samples<'_>,
    ) -> Result<()> {
        let count = self.count(samples)?;
        let wanted = self.extension_bytes();
        let refused = |what: String, remedy: String| Error::Trace {
            path: self.path.clone(),
            trace: self.traces + 1,
            what,
            remedy,
        };
        if extensions.len() != wanted {
            let what = format!("{} bytes of header extensions", extensions.len());
            return Err(refused(what, format!("each trace of this file has {wanted}")));
        }
        let mut extensions = extensions.to_vec();
        if header.order != self.shared.order && wanted > 0 {
            // What the user's own extensions hold is not known.
            if wanted > TRACE_HEADER_BYTES {
                let what = format!("header extensions in {} order", header.order);
                let remedy = format!("keep the order: this file is {}", self.shared.order);
                return Err(refused(what, remedy));
            }
            turn(&EXTENSION_FIELDS, header.order, self.shared.order, &mut extensions);
        }
        if let Some(long) = extensions.get_mut(136..140) {
            let count = u32::try_from(count).unwrap_or(0);
            put(self.shared.order, long, 0, count.to_be_bytes());
        }
        let mut header = header.in_order(self.shared.order);
        let interval = super::trace_header::rounded_us(self.shared.interval_us);
        header.set_i16(115, u16::try_from(count).unwrap_or(0).cast_signed());
        // An interval that differs from the file's is the trace's own.
        if header.interval_us() == 0 {
            header.set_i16(117, interval.cast_signed());
        }
        self.append(&header, &extensions, samples)
    }

    /// Number of samples, which must be the file's.
    fn count(&self, samples: &Samples<'_>) -> Result<usize> {
        let (count, left) = match samples {
            Samples::F32(values) => (values.len(), 0),
            Samples::F64(values) => (values.len(), 0),
            Samples::Stored(bytes) => {
                (bytes.len() / self.format.bytes(), bytes.len() % self.format.bytes())
            }
        };
        let wanted = self.shared.samples;
        let fits = if self.variable { (1..=wanted).contains(&count) } else { count == wanted };
        if fits && left == 0 {
            return Ok(count);
        }
        let most = if self.variable { "at most " } else { "" };
        Err(Error::Trace {
            path: self.path.clone(),
            trace: self.traces + 1,
            what: format!("{count} samples"),
            remedy: format!("the file header says {most}{wanted} for every trace"),
        })
    }

    fn append(
        &mut self,
        header: &RawTraceHeader,
        extensions: &[u8],
        samples: &Samples<'_>,
    ) -> Result<()> {
        let (format, order) = (self.format, self.shared.order);
        let bytes = match samples {
            Samples::F32(values) => values.len() * format.bytes(),
            Samples::F64(values) => values.len() * format.bytes(),
            Samples::Stored(bytes) => bytes.len(),
        };
        let room = self.room(TRACE_HEADER_BYTES + extensions.len() + bytes)?;
        let (headers, stored) = room.split_at_mut(TRACE_HEADER_BYTES + extensions.len());
        headers[..TRACE_HEADER_BYTES].copy_from_slice(&header.bytes);
        headers[TRACE_HEADER_BYTES..].copy_from_slice(extensions);
        let losses = match samples {
            Samples::F32(values) => format.encode(order, values, stored),
            Samples::F64(values) => format.encode_f64(order, values, stored),
            Samples::Stored(bytes) => {
                stored.copy_from_slice(bytes);
                Losses::default()
            }
        };
        self.losses += losses;
        self.traces += 1;
        Ok(())
    }

    /// The buffer's next bytes, which count as used; what was before them may go to the system.
    fn room(&mut self, bytes: usize) -> Result<&mut [u8]> {
        if self.used + bytes > self.buffer.len() {
            self.flush()?;
            if bytes > self.buffer.len() {
                self.buffer.resize(bytes, 0);
            }
        }
        let start = self.used;
        self.used += bytes;
        Ok(&mut self.buffer[start..self.used])
    }

    /// Hands the buffer to the system.
    fn flush(&mut self) -> Result<()> {
        if self.broken {
            return Err(self.failed(std::io::Error::other("an earlier write failed")));
        }
        let written = self.file.write_all(&self.buffer[..self.used]);
        self.used = 0;
        self.broken = written.is_err();
        written.map_err(|e| self.failed(e))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::io(&self.path, "write", self.file_bytes(self.traces + 1), source)
    }

    fn extension_bytes(&self) -> usize {
        TRACE_HEADER_BYTES * usize::from(self.shared.extensions)
    }

    /// Bytes of one trace with its headers.
    fn trace_bytes(&self) -> u64 {
        (TRACE_HEADER_BYTES + self.extension_bytes() + self.format.bytes() * self.shared.samples)
            as u64
    }

    /// Bytes of a file of that many traces.
    fn file_bytes(&self, traces: u64) -> Option<u64> {
        self.trace_bytes().checked_mul(traces)?.checked_add(self.header_bytes)
    }

    /// Traces written so far, those kept by [`SegyWriter::resume`] included.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.traces
    }

    /// Samples that the format could not hold, since the file was created or resumed.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Revision that is written, the major number.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.shared.revision
    }

    /// Byte order that is written.
    #[must_use]
    pub fn order(&self) -> WordOrder {
        self.shared.order
    }

    /// Puts all traces so far on the disk; they survive a crash from here on.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.file.sync_data().map_err(|e| self.failed(e))
    }

    /// Puts everything on the disk and closes the file.
    ///
    /// # Errors
    /// As [`SegyWriter::sync`].
    pub fn finish(mut self) -> Result<()> {
        self.sync()
    }
}

impl Drop for SegyWriter {
    fn drop(&mut self) {
        // As a buffered writer does: what was not finished is written as far as possible, and the
        // error is lost.
        let _ = self.flush();
    }
}
