//! Traces in sequence: from the mapped file, or by blocks.

use super::layout::Extent;
use super::{RawTraceHeader, SampleFormat, SegyReader, TRACE_HEADER_BYTES, TraceHeader, WordOrder};
use crate::mmap::Map;
use crate::{Error, Result};

/// Bytes read in one go where the file is not mapped: enough to hide the call, few enough to stay
/// in the second-level cache.
const BLOCK_BYTES: usize = 512 << 10;

/// Traces one after the other; see [`SegyReader::sequence`].
#[derive(Debug)]
pub struct Traces<'a> {
    reader: &'a SegyReader,
    next: u64,
    extent: Option<Extent>,
    map: Option<Map>,
    block: Vec<u8>,
    block_start: u64,
}

/// A trace of a file: its headers and samples as they are stored.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    reader: &'a SegyReader,
    number: u64,
    offset: u64,
    header: &'a [u8; TRACE_HEADER_BYTES],
    extensions: &'a [u8],
    samples: &'a [u8],
}

impl<'a> Traces<'a> {
    pub(super) fn new(reader: &'a SegyReader, first: u64, unmapped: bool) -> Self {
        // What cannot be mapped (a pipe's end, a strange file system) is read by calls.
        let map = (!unmapped).then(|| Map::new(reader.source().file()).ok()).flatten();
        let map = map.filter(|map| map.bytes().len() as u64 >= reader.size());
        Self { reader, next: first, extent: None, map, block: Vec::new(), block_start: 0 }
    }

    /// The next trace; `None` after the last.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Trace`] if a file of varying trace lengths changes while it is read.
    pub fn next_trace(&mut self) -> Result<Option<Trace<'_>>> {
        let number = self.next;
        if number >= self.reader.traces() {
            return Ok(None);
        }
        let extent = self.reader.next_extent(number, self.extent)?;
        self.extent = Some(extent);
        self.next += 1;
        let bytes =
            extent.header_bytes + u64::from(extent.samples) * self.reader.format().bytes() as u64;
        if self.map.is_none() {
            self.load(extent.offset, bytes)?;
        }
        let whole = match &self.map {
            Some(map) => slice(map.bytes(), extent.offset, bytes),
            None => slice(&self.block, extent.offset - self.block_start, bytes),
        };
        let parts = whole.and_then(|whole| {
            let (header, rest) = whole.split_first_chunk()?;
            let length = usize::try_from(extent.header_bytes).ok()? - TRACE_HEADER_BYTES;
            let (extensions, samples) = rest.split_at_checked(length)?;
            Some((header, extensions, samples))
        });
        let Some((header, extensions, samples)) = parts else {
            let what = "the file has changed since it was opened";
            let remedy = "wait until nobody writes it, open it again";
            return Err(self.reader.trace_error(number, what.into(), remedy));
        };
        let reader = self.reader;
        Ok(Some(Trace { reader, number, offset: extent.offset, header, extensions, samples }))
    }

    /// Has a range of the file in the block.
    fn load(&mut self, offset: u64, bytes: u64) -> Result<()> {
        let end = self.block_start + self.block.len() as u64;
        if offset >= self.block_start && offset + bytes <= end {
            return Ok(());
        }
        let left = self.reader.size().saturating_sub(offset);
        let length = bytes.max(BLOCK_BYTES as u64).min(left);
        let Ok(length) = usize::try_from(length) else {
            let what = format!("{bytes} bytes do not fit into memory");
            let trace = self.next;
            return Err(self.reader.trace_error(trace, what, "read it on a 64-bit machine"));
        };
        self.block.resize(length, 0);
        self.block_start = offset;
        self.reader.source().read(&mut self.block, offset).inspect_err(|_: &Error| {
            // What the block holds is not known after a failed read.
            self.block.clear();
        })
    }
}

fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let offset = usize::try_from(offset).ok()?;
    bytes.get(offset..)?.get(..usize::try_from(length).ok()?)
}

impl Trace<'_> {
    /// Its number within the file, from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Byte of the file where it begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its header.
    #[must_use]
    pub fn header(&self) -> RawTraceHeader {
        RawTraceHeader { bytes: *self.header, order: self.order() }
    }

    /// Extensions of its header, 240 bytes each.
    #[must_use]
    pub fn extensions(&self) -> &[u8] {
        self.extensions
    }

    /// Its geometry, as [`SegyReader::trace_header`].
    ///
    /// # Errors
    /// [`Error::Trace`] if its coordinates are geographic.
    pub fn geometry(&self) -> Result<TraceHeader> {
        self.reader.decode(self.number, &self.header(), self.extensions.first_chunk())
    }

    /// Its samples as they are stored.
    #[must_use]
    pub fn sample_bytes(&self) -> &[u8] {
        self.samples
    }

    /// Number of its samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples.len() / self.format().bytes()
    }

    /// Format of its samples.
    #[must_use]
    pub fn format(&self) -> SampleFormat {
        self.reader.format()
    }

    /// Byte order of its header and samples.
    #[must_use]
    pub fn order(&self) -> WordOrder {
        self.reader.order()
    }

    /// Its samples as singles in `out`, which takes their number.
    pub fn samples_into(&self, out: &mut Vec<f32>) {
        out.resize(self.samples(), 0.0);
        self.format().decode(self.order(), self.samples, out);
    }

    /// Its samples as doubles in `out`, which takes their number.
    pub fn samples_f64_into(&self, out: &mut Vec<f64>) {
        out.resize(self.samples(), 0.0);
        self.format().decode_f64(self.order(), self.samples, out);
    }
}
