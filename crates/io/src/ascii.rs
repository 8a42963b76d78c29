//! Numbers as text, separated by white space, found again by an index of byte offsets: one pass
//! when the file is opened, then any part is read without the rest.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::element::Real;
use crate::positioned::read_exact_at;
use crate::{Error, Result};

/// Numbers between entries of the index.
const STRIDE: u64 = 1 << 12;
/// Bytes read at a time.
const BLOCK: usize = 1 << 16;
/// Longest text of one number, bytes.
const LONGEST: usize = 64;

/// Numbers in a text file.
#[derive(Debug)]
pub(crate) struct AsciiNumbers {
    path: PathBuf,
    file: File,
    /// Byte at which number `n * STRIDE` starts.
    index: Vec<u64>,
    pub(crate) count: u64,
    end: u64,
}

impl AsciiNumbers {
    /// Counts the numbers from byte `start` on.
    pub(crate) fn open(path: &Path, file: File, start: u64) -> Result<Self> {
        let end = file.metadata().map_err(|e| Error::io(path, "read", None, e))?.len();
        let mut numbers = Self { path: path.to_owned(), file, index: vec![], count: 0, end };
        let (mut index, mut count) = (Vec::new(), 0_u64);
        numbers.tokens(start, |at, _| {
            if count.is_multiple_of(STRIDE) {
                index.push(at);
            }
            count += 1;
            Ok(true)
        })?;
        (numbers.index, numbers.count) = (index, count);
        Ok(numbers)
    }

    /// Hands over tokens with their byte offsets until `take` says false.
    fn tokens(&self, start: u64, mut take: impl FnMut(u64, &str) -> Result<bool>) -> Result<()> {
        let mut block = vec![0_u8; BLOCK];
        let mut token: Vec<u8> = Vec::new();
        let mut at = start;
        while at < self.end {
            let length = usize::try_from(self.end - at).unwrap_or(BLOCK).min(BLOCK);
            read_exact_at(&self.file, &mut block[..length], at)
                .map_err(|e| Error::io(&self.path, "read", None, e))?;
            for (n, &byte) in block[..length].iter().enumerate() {
                let here = at + n as u64;
                if !byte.is_ascii_whitespace() {
                    token.push(byte);
                    if token.len() > LONGEST || !byte.is_ascii_graphic() {
                        return Err(self.not_a_number(here, &token));
                    }
                } else if !token.is_empty() {
                    if !self.hand_over(here, &token, &mut take)? {
                        return Ok(());
                    }
                    token.clear();
                }
            }
            at += length as u64;
        }
        if !token.is_empty() {
            self.hand_over(self.end, &token, &mut take)?;
        }
        Ok(())
    }

    fn hand_over(
        &self,
        end: u64,
        token: &[u8],
        take: &mut impl FnMut(u64, &str) -> Result<bool>,
    ) -> Result<bool> {
        let text = std::str::from_utf8(token).map_err(|_| self.not_a_number(end, token))?;
        take(end - token.len() as u64, text)
    }

    fn not_a_number(&self, offset: u64, token: &[u8]) -> Error {
        let text: String = String::from_utf8_lossy(token).chars().take(20).collect();
        let what = format!("`{text}` is not a number");
        Error::format(&self.path, offset, what, "give numbers separated by blanks")
    }

    /// Reads numbers `begin..begin + out.len()`.
    pub(crate) fn read<R: Real>(&self, begin: u64, out: &mut [R]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let entry = usize::try_from(begin / STRIDE).unwrap_or(usize::MAX);
        let start = self.index.get(entry).copied().unwrap_or(self.end);
        let (mut skip, mut filled) = (begin % STRIDE, 0);
        self.tokens(start, |at, text| {
            if skip > 0 {
                skip -= 1;
                return Ok(true);
            }
            let value = text.parse().map_err(|_| self.not_a_number(at, text.as_bytes()))?;
            out[filled] = R::of_f64(value);
            filled += 1;
            Ok(filled < out.len())
        })
    }
}
