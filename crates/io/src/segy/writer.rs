//! Writing traces one after the other, with a place to go on from after a crash.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{FILE_HEADER_BYTES, SegyHeader, TRACE_HEADER_BYTES, TraceHeader};
use crate::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

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
    file: BufWriter<File>,
    samples: u16,
    interval_us: u16,
    coordinate_scalar: Option<i16>,
    traces: u64,
    buffer: Vec<u8>,
}

impl SegyWriter {
    /// Starts a file, replacing what has the name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a header that revision 1 cannot hold, [`Error::Io`],
    /// [`Error::DiskFull`].
    pub fn create(path: impl AsRef<Path>, header: &SegyHeader) -> Result<Self> {
        let path = path.as_ref();
        // Encoded first: a refused header must not leave an empty file.
        let bytes = header.encode(path)?;
        let file = File::create(path).map_err(|e| Error::io(path, "create", None, e))?;
        let mut writer = Self::around(path, file, header, 0)?;
        writer.write_bytes(&bytes)?;
        Ok(writer)
    }

    /// Goes on with a file after its first `traces` traces; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file has another header or fewer traces, [`Error::Io`].
    pub fn resume(path: impl AsRef<Path>, header: &SegyHeader, traces: u64) -> Result<Self> {
        let path = path.as_ref();
        let wanted = header.encode(path)?;
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| Error::io(path, "open", None, e))?;
        let mut found = vec![0_u8; FILE_HEADER_BYTES];
        let same = file.read_exact(&mut found).map(|()| found == wanted);
        if !same.unwrap_or(false) {
            let remedy = "it belongs to another run: remove it and start afresh";
            return Err(Error::invalid(path, "the file header", "another one", remedy));
        }
        let io = |e| Error::io(path, "write", None, e);
        let size = file.metadata().map_err(io)?.len();
        let keep = file_bytes(header.samples, traces);
        if keep.is_none_or(|keep| keep > size) {
            let whole = size.saturating_sub(FILE_HEADER_BYTES as u64) / trace_bytes(header.samples);
            let remedy = format!("{traces} were to be kept: remove it and start afresh");
            return Err(Error::invalid(path, "the number of whole traces", whole, remedy));
        }
        let keep = keep.unwrap_or(size);
        file.set_len(keep).map_err(io)?;
        file.seek(SeekFrom::Start(keep)).map_err(io)?;
        Self::around(path, file, header, traces)
    }

    fn around(path: &Path, file: File, header: &SegyHeader, traces: u64) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            samples: header.samples_u16(path)?,
            interval_us: header.interval_us(path)?,
            coordinate_scalar: header.coordinate_scalar,
            traces,
            buffer: Vec::new(),
        })
    }

    /// Appends a trace of as many samples as the file header says.
    ///
    /// # Errors
    /// [`Error::Trace`] if the number of samples differs or the geometry does not fit the header,
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn write_trace(&mut self, header: &TraceHeader, samples: &[f32]) -> Result<()> {
        let trace = self.traces + 1;
        if samples.len() != usize::from(self.samples) {
            return Err(Error::Trace {
                path: self.path.clone(),
                trace,
                what: format!("{} samples", samples.len()),
                remedy: format!("the file header says {} for every trace", self.samples),
            });
        }
        let scalar = self.coordinate_scalar;
        let header = header.encode(&self.path, trace, self.samples, self.interval_us, scalar)?;
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.clear();
        bytes.extend_from_slice(&header);
        for sample in samples {
            bytes.extend_from_slice(&sample.to_be_bytes());
        }
        let written = self.write_bytes(&bytes);
        self.buffer = bytes;
        written?;
        self.traces = trace;
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.failed(e))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        let needed = file_bytes(self.samples.into(), self.traces + 1);
        Error::io(&self.path, "write", needed, source)
    }

    /// Traces written so far, those kept by [`SegyWriter::resume`] included.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.traces
    }

    /// Puts all traces so far on the disk; they survive a crash from here on.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn sync(&mut self) -> Result<()> {
        self.file.flush().map_err(|e| self.failed(e))?;
        self.file.get_ref().sync_data().map_err(|e| self.failed(e))
    }

    /// Puts everything on the disk and closes the file.
    ///
    /// # Errors
    /// As [`SegyWriter::sync`].
    pub fn finish(mut self) -> Result<()> {
        self.sync()
    }
}

/// Bytes of one trace with its header.
fn trace_bytes(samples: usize) -> u64 {
    (TRACE_HEADER_BYTES + 4 * samples) as u64
}

/// Bytes of a file of that many traces.
fn file_bytes(samples: usize, traces: u64) -> Option<u64> {
    trace_bytes(samples).checked_mul(traces)?.checked_add(FILE_HEADER_BYTES as u64)
}
