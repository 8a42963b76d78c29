//! The file being read: reads at an offset, never beyond its end.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::positioned::read_exact_at;
use crate::{Error, Result};

/// An open file and its size when it was opened.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, "open", None, e))?;
        let size = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
        Ok(Self { path: path.to_owned(), file, size })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(&self.file, bytes, offset).map_err(|e| Error::io(&self.path, "read", None, e))
    }

    pub(super) fn array<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Up to `length` bytes, fewer at the end of the file.
    pub(super) fn first_bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let left = self.size.saturating_sub(offset);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(length).min(length)];
        self.read(&mut bytes, offset)?;
        Ok(bytes)
    }
}
