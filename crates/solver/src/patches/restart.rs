//! A march on disk.
//!
//! Layout, little-endian: the eight bytes `TEMBLORP`, the length of the fingerprint u64 and its
//! bytes, step u64, time f64, patches u64, values per patch u64, all time steps f64, all patches f64
//! with their halos, and the CRC-32 of everything before it. What a march computes after
//! [`March::restore`] is bitwise what it would have computed without.

use std::io::{Read, Write};

use super::march::March;
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"TEMBLORP";

/// Counts what passes through.
struct Summed<T> {
    inner: T,
    sum: crc32fast::Hasher,
}

impl<W: Write> Summed<W> {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }

    fn put_all(&mut self, values: &[f64]) -> std::io::Result<()> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.put(&bytes)
    }
}

impl<R: Read> Summed<R> {
    fn take(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.inner.read_exact(bytes).map_err(|error| unread(&error))?;
        self.sum.update(bytes);
        Ok(())
    }

    fn take_long(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.take(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn take_all(&mut self, count: usize) -> Result<Vec<f64>> {
        let mut bytes = vec![0; 8 * count];
        self.take(&mut bytes)?;
        let values = bytes.chunks_exact(8);
        Ok(values.map(|v| f64::from_le_bytes(v.try_into().expect("eight bytes"))).collect())
    }
}

fn unread(error: &std::io::Error) -> Error {
    let cut = error.kind() == std::io::ErrorKind::UnexpectedEof;
    unfit(if cut { "it ends too early".into() } else { error.to_string() })
}

fn unfit(what: impl Into<String>) -> Error {
    Error::Restart { what: what.into() }
}

impl March {
    /// Writes the march; `fingerprint` says what it belongs to.
    ///
    /// # Errors
    /// [`Error::Backend`] where the device or `to` fails.
    pub fn save(&mut self, fingerprint: &str, to: &mut dyn Write) -> Result<()> {
        let failed = |error| Error::Backend(temblor_backend::Error::Io(error));
        let mut to = Summed { inner: to, sum: crc32fast::Hasher::new() };
        let mut head = MAGIC.to_vec();
        head.extend((fingerprint.len() as u64).to_le_bytes());
        head.extend(fingerprint.bytes());
        head.extend(self.step.to_le_bytes());
        head.extend(self.time.to_le_bytes());
        head.extend((self.tiling.count() as u64).to_le_bytes());
        head.extend((self.shape.input_len() as u64).to_le_bytes());
        to.put(&head).map_err(failed)?;
        to.put_all(&self.history).map_err(failed)?;
        let mut chunk = vec![0.0; self.shape.input_len()];
        for patch in 0..self.tiling.count() {
            self.download(patch, &mut chunk)?;
            to.put_all(&chunk).map_err(failed)?;
        }
        let sum = to.sum.clone().finalize();
        to.inner.write_all(&sum.to_le_bytes()).map_err(failed)
    }

    /// Takes up a march where [`March::save`] left it.
    ///
    /// # Errors
    /// [`Error::Restart`] for a file of something else, or one that is damaged; the march has then to
    /// be filled anew.
    pub fn restore(&mut self, fingerprint: &str, from: &mut dyn Read) -> Result<()> {
        let mut from = Summed { inner: from, sum: crc32fast::Hasher::new() };
        let mut magic = [0; 8];
        from.take(&mut magic)?;
        if &magic != MAGIC {
            return Err(unfit("it is no restart file"));
        }
        let length = from.take_long()?;
        if length != fingerprint.len() as u64 {
            return Err(unfit("it belongs to another run"));
        }
        let mut theirs = vec![0; fingerprint.len()];
        from.take(&mut theirs)?;
        if theirs != fingerprint.as_bytes() {
            return Err(unfit("it belongs to another run"));
        }
        let step = from.take_long()?;
        let time = f64::from_bits(from.take_long()?);
        let (patches, values) = (from.take_long()?, from.take_long()?);
        let (count, len) = (self.tiling.count(), self.shape.input_len());
        if (patches, values) != (count as u64, len as u64) {
            return Err(unfit(format!(
                "it holds {patches} patches of {values} values, the run has {count} of {len}"
            )));
        }
        let mut history = Vec::new();
        for _ in 0..step {
            history.push(f64::from_bits(from.take_long()?));
        }
        for patch in 0..count {
            let chunk = from.take_all(len)?;
            self.upload(patch, &chunk)?;
        }
        let mut sum = [0; 4];
        from.inner.read_exact(&mut sum).map_err(|error| unread(&error))?;
        if u32::from_le_bytes(sum) != from.sum.finalize() {
            return Err(unfit("its checksum is wrong: it is damaged"));
        }
        self.begin(step, time, history);
        Ok(())
    }
}
