//! Files of a head and rows of equal length that grow row by row and can be gone on with after a
//! crash.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

/// A file that grows by rows. The name is taken as given: write to a `.part` name, finish, then
/// [`crate::atomic::rename_durably`].
#[derive(Debug)]
pub struct GrowingFile {
    path: PathBuf,
    file: BufWriter<File>,
    head_bytes: u64,
    row_bytes: u64,
    rows: u64,
}

impl GrowingFile {
    /// Starts a file with its head, replacing what has the name.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn create(path: impl AsRef<Path>, head: &[u8], row_bytes: usize) -> Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|e| Error::io(path, "create", None, e))?;
        let mut growing = Self::around(path, file, head, row_bytes, 0);
        growing.put(head)?;
        Ok(growing)
    }

    /// Goes on after the first `rows` rows; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file has another head or fewer rows, [`Error::Io`].
    pub fn resume(
        path: impl AsRef<Path>,
        head: &[u8],
        row_bytes: usize,
        rows: u64,
    ) -> Result<Self> {
        let path = path.as_ref();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| Error::io(path, "open", None, e))?;
        let mut found = vec![0_u8; head.len()];
        if file.read_exact(&mut found).is_err() || found != head {
            let remedy = "it belongs to another run: remove it and start afresh";
            return Err(Error::invalid(path, "the file header", "another one", remedy));
        }
        let io = |e| Error::io(path, "write", None, e);
        let size = file.metadata().map_err(io)?.len();
        let keep = rows.checked_mul(row_bytes as u64).map(|n| n.saturating_add(head.len() as u64));
        let Some(keep) = keep.filter(|&keep| keep <= size) else {
            let whole = (size - head.len() as u64) / (row_bytes as u64).max(1);
            let remedy = format!("{rows} were to be kept: remove it and start afresh");
            return Err(Error::invalid(path, "the number of whole traces", whole, remedy));
        };
        file.set_len(keep).map_err(io)?;
        file.seek(SeekFrom::Start(keep)).map_err(io)?;
        Ok(Self::around(path, file, head, row_bytes, rows))
    }

    fn around(path: &Path, file: File, head: &[u8], row_bytes: usize, rows: u64) -> Self {
        Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            head_bytes: head.len() as u64,
            row_bytes: row_bytes as u64,
            rows,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows so far, those kept by [`GrowingFile::resume`] included.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    ///
    /// # Panics
    /// If the bytes are no whole number of rows.
    pub fn append(&mut self, rows: &[u8]) -> Result<()> {
        let count = rows.len() as u64 / self.row_bytes;
        assert_eq!(count * self.row_bytes, rows.len() as u64, "rows of {} bytes", self.row_bytes);
        self.put(rows)?;
        self.rows += count;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.failed(e))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        let needed = (self.rows + 1).checked_mul(self.row_bytes).map(|n| n + self.head_bytes);
        Error::io(&self.path, "write", needed, source)
    }

    /// Puts all rows so far on the disk; they survive a crash from here on.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn sync(&mut self) -> Result<()> {
        self.file.flush().map_err(|e| self.failed(e))?;
        self.file.get_ref().sync_data().map_err(|e| self.failed(e))
    }
}
