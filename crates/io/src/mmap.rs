//! Files mapped into memory, to be read in sequence without copies.
#![allow(unsafe_code, reason = "mapping a file is unsafe")]

use std::fs::File;
use std::io;

/// A whole file as bytes; it costs addresses, not memory: the system drops pages as it needs.
#[derive(Debug)]
pub(crate) struct Map {
    map: memmap2::Mmap,
}

impl Map {
    /// Maps a file as long as it is now.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the map is only read, as bytes, for which every value is valid, and it lives no
        // longer than this value, which owns it. That nobody changes the file meanwhile is up to
        // the user, as it is for every reader of files: changed bytes give other numbers, and a
        // file cut shorter ends the program by a signal when the missing pages are read; the
        // option `unmapped` of readers is for folders where that may happen.
        let map = unsafe { memmap2::Mmap::map(file)? };
        // Read-ahead matters on disks only; a refusal costs nothing.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Self { map })
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
