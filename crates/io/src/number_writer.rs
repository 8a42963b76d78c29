//! Numbers of any element type and byte order between a header and a trailer, written piece by
//! piece in the order of the file.

use std::path::{Path, PathBuf};

use crate::element::Real;
use crate::{AtomicFile, ByteOrder, Element, Error, Result};

/// Numbers encoded at a time.
const CHUNK: usize = 1 << 16;

/// A file of numbers that appears under its name when [`NumberWriter::finish`] is called with all of
/// them written.
#[derive(Debug)]
pub struct NumberWriter {
    path: PathBuf,
    file: AtomicFile,
    element: Element,
    order: ByteOrder,
    expected: u64,
    written: u64,
    buffer: Vec<u8>,
}

impl NumberWriter {
    /// Starts a file of `count` numbers behind `header`.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Invalid`] if the size passes 2^64 bytes.
    pub fn create(
        path: impl AsRef<Path>,
        header: &[u8],
        count: u64,
        element: Element,
        order: ByteOrder,
    ) -> Result<Self> {
        let path = path.as_ref();
        let bytes = count
            .checked_mul(element.bytes() as u64)
            .and_then(|n| n.checked_add(header.len() as u64));
        let Some(bytes) = bytes else {
            return Err(Error::invalid(path, "number of elements", count, "lower the shape"));
        };
        let mut file = AtomicFile::create(path, Some(bytes))?;
        file.write(header)?;
        let (path, buffer) = (path.to_owned(), Vec::new());
        Ok(Self { path, file, element, order, expected: count, written: 0, buffer })
    }

    /// Appends numbers; integer elements take the nearest whole number.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a number that the element cannot hold or if there are too many,
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn write<R: Real>(&mut self, values: &[R]) -> Result<()> {
        let before = self.written;
        self.written += values.len() as u64;
        if self.written > self.expected {
            return Err(self.miscounted());
        }
        for (part, chunk) in values.chunks(CHUNK).enumerate() {
            self.buffer.clear();
            self.element.encode(self.order, chunk, &mut self.buffer).map_err(|n| {
                let at = before + (part * CHUNK + n) as u64 + 1;
                let other = if self.element == Element::F32 { "f8" } else { "f4 or f8" };
                let remedy = format!("{} cannot hold it: write {other}", self.element.name());
                Error::invalid(&self.path, format!("number {at}"), chunk[n], remedy)
            })?;
            self.file.write(&self.buffer)?;
        }
        Ok(())
    }

    fn miscounted(&self) -> Error {
        let remedy = format!("the shape holds {}; give it as many", self.expected);
        Error::invalid(&self.path, "number of elements written", self.written, remedy)
    }

    /// Appends the trailer, syncs the file and gives it its name.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`], and [`Error::Invalid`] if numbers are missing.
    pub fn finish(mut self, trailer: &[u8]) -> Result<()> {
        if self.written != self.expected {
            return Err(self.miscounted());
        }
        self.file.write(trailer)?;
        self.file.commit()
    }
}
