//! Raw arrays: elements in C order, z fastest, and nothing else. Shape and byte order must be known
//! from elsewhere; [`crate::Volume`] reads them with [`crate::VolumeOptions`].

use std::path::Path;

use crate::{ArrayWriter, ByteOrder, Result, Sample};

/// Starts a raw file of `elements` numbers.
///
/// # Errors
/// As [`crate::AtomicFile::create`].
pub fn writer<T: Sample>(
    path: impl AsRef<Path>,
    elements: u64,
    order: ByteOrder,
) -> Result<ArrayWriter<T>> {
    ArrayWriter::create(path.as_ref(), &[], elements, order)
}
