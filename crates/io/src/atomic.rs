//! Files that appear under their name only when complete.
//!
//! The bytes go to a temporary name in the same folder (a rename across file systems is a copy),
//! are synced, and the name is changed last; what a reader sees under the name is whole, before and
//! after a crash.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

/// A file being written under a temporary name; removed again unless [`AtomicFile::commit`] is
/// called.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    needed: Option<u64>,
    file: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Starts a file that will be `path`; `needed` is its final size in bytes, where known, for the
    /// message of a full disk.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be written.
    pub fn create(path: impl AsRef<Path>, needed: Option<u64>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let temporary = temporary_name(&path)?;
        let file = File::create(&temporary).map_err(|e| Error::io(&path, "create", needed, e))?;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { path, temporary, needed, file })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(bytes).map_err(|e| Error::io(&self.path, "write", self.needed, e))
    }

    /// Syncs the bytes and gives the file its name, replacing what had it.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`]; the earlier file of that name is then untouched.
    pub fn commit(mut self) -> Result<()> {
        let Some(writer) = self.file.take() else { return Ok(()) };
        let finish = |writer: BufWriter<File>| -> std::io::Result<()> {
            let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.sync_all()
        };
        let synced = finish(writer).map_err(|e| Error::io(&self.path, "write", self.needed, e));
        let renamed = synced.and_then(|()| rename_durably(&self.temporary, &self.path));
        if renamed.is_err() {
            self.remove_temporary();
        }
        renamed
    }

    fn remove_temporary(&self) {
        // The error that led here is the one to report; a leftover says its purpose by its name.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(writer) = self.file.take() {
            // Dropping the writer would flush bytes that nobody will read.
            drop(writer.into_parts());
            self.remove_temporary();
        }
    }
}

/// A hidden name in the folder of `path` that no other file of this process has.
fn temporary_name(path: &Path) -> Result<PathBuf> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(Error::invalid(path, "the output path", "a folder", "name a file"));
    };
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    temporary_name.push(format!(".{}-{count}.tmp", std::process::id()));
    Ok(path.with_file_name(temporary_name))
}

/// A temporary name for a writer that opens its file by name; the file is removed again unless
/// [`PendingName::commit`] is called.
#[derive(Debug)]
pub struct PendingName {
    path: PathBuf,
    temporary: PathBuf,
    committed: bool,
}

impl PendingName {
    /// A temporary name for what will be `path`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `path` is a folder.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let temporary = temporary_name(&path)?;
        Ok(Self { path, temporary, committed: false })
    }

    /// The name to write to.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file, which its writer has closed and synced, its name.
    ///
    /// # Errors
    /// As [`rename_durably`].
    pub fn commit(mut self) -> Result<()> {
        rename_durably(&self.temporary, &self.path)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for PendingName {
    fn drop(&mut self) {
        if !self.committed {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Renames a complete, synced file and syncs the folder, so that the new name survives a crash.
///
/// # Errors
/// [`Error::Io`] if the rename is refused.
pub fn rename_durably(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let to = to.as_ref();
    std::fs::rename(from, to).map_err(|e| Error::io(to, "rename to", None, e))?;
    let folder = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Folders cannot be opened on every system and some file systems refuse to sync them; the
    // rename itself has worked.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Writes a whole file at once, atomically.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path, Some(bytes.len() as u64))?;
    file.write(bytes)?;
    file.commit()
}
