//! Arrays written piece by piece, in memory order, behind whatever header the format has.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use ndarray::ArrayView3;

use crate::{AtomicFile, ByteOrder, Error, Result, Sample};

/// Elements encoded at a time.
const CHUNK: usize = 1 << 16;

/// An npy or raw file being written; [`crate::npy::writer`] and [`crate::raw::writer`] start one.
/// The file appears when [`ArrayWriter::finish`] is called with all elements written.
#[derive(Debug)]
pub struct ArrayWriter<T> {
    path: PathBuf,
    file: AtomicFile,
    order: ByteOrder,
    expected: u64,
    written: u64,
    buffer: Vec<u8>,
    element: PhantomData<T>,
}

impl<T: Sample> ArrayWriter<T> {
    pub(crate) fn create(
        path: &Path,
        header: &[u8],
        elements: u64,
        order: ByteOrder,
    ) -> Result<Self> {
        let bytes = elements
            .checked_mul(T::ELEMENT.bytes() as u64)
            .and_then(|n| n.checked_add(header.len() as u64));
        let Some(bytes) = bytes else {
            return Err(Error::invalid(path, "number of elements", elements, "lower the shape"));
        };
        let mut file = AtomicFile::create(path, Some(bytes))?;
        file.write(header)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            order,
            expected: elements,
            written: 0,
            buffer: Vec::new(),
            element: PhantomData,
        })
    }

    /// Appends elements in the order of memory.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], or [`Error::Invalid`] if the shape has no room for them.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.reserve(values.len())?;
        for chunk in values.chunks(CHUNK) {
            self.write_chunk(chunk.iter().copied())?;
        }
        Ok(())
    }

    /// Appends planes along x: shape (planes, ny, nz), any strides.
    ///
    /// # Errors
    /// As [`ArrayWriter::write`].
    pub fn write_planes(&mut self, planes: &ArrayView3<'_, T>) -> Result<()> {
        if let Some(values) = planes.as_slice() {
            return self.write(values);
        }
        self.reserve(planes.len())?;
        for row in planes.rows() {
            self.write_chunk(row.iter().copied())?;
        }
        Ok(())
    }

    fn reserve(&mut self, more: usize) -> Result<()> {
        self.written += more as u64;
        if self.written > self.expected { Err(self.miscounted()) } else { Ok(()) }
    }

    fn write_chunk(&mut self, values: impl Iterator<Item = T>) -> Result<()> {
        self.buffer.clear();
        for value in values {
            value.encode(self.order, &mut self.buffer);
        }
        self.file.write(&self.buffer)
    }

    fn miscounted(&self) -> Error {
        let remedy = format!("the shape holds {}; give it as many", self.expected);
        Error::invalid(&self.path, "number of elements written", self.written, remedy)
    }

    /// Syncs the file and gives it its name.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`], and [`Error::Invalid`] if elements are missing.
    pub fn finish(self) -> Result<()> {
        if self.written == self.expected { self.file.commit() } else { Err(self.miscounted()) }
    }
}
