//! Which shots of a run are finished, on disk, one line each.
//!
//! The first line says of which run: a fingerprint of everything that decides the bytes of the
//! files. A line that a crash cut short does not count.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use temblor_solver::{Gather, Shot};

use crate::exit::Failure;

/// Checksums of what decides a run's results, by name of the part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Fingerprint(pub BTreeMap<String, String>);

impl Fingerprint {
    /// Adds a part by its value's JSON.
    ///
    /// # Panics
    /// Never: the values that are given here have JSON.
    pub fn add(&mut self, part: &str, value: &impl Serialize) {
        let json = serde_json::to_vec(value).expect("plain structures have JSON");
        self.0.insert(part.into(), format!("{:08x}", crc32fast::hash(&json)));
    }

    /// One checksum of all parts.
    #[must_use]
    pub fn digest(&self) -> String {
        let all: String = self.0.iter().map(|(part, sum)| format!("{part}={sum};")).collect();
        format!("{:08x}", crc32fast::hash(all.as_bytes()))
    }

    fn difference(&self, other: &Self) -> String {
        let keys = self.0.keys().chain(other.0.keys());
        let mut names: Vec<_> = keys.filter(|k| self.0.get(*k) != other.0.get(*k)).collect();
        names.sort();
        names.dedup();
        names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// A finished shot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedShot {
    /// Its number.
    pub shot: u32,
    /// Traces of this and all shots before.
    pub traces_so_far: u64,
    /// CRC-32 of its samples, little-endian.
    pub checksum: String,
    /// Bytes of its samples.
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    temblor_journal: u32,
    fingerprint: Fingerprint,
}

/// An open journal, locked against other runs.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    fingerprint: Fingerprint,
    finished: Vec<FinishedShot>,
    new: bool,
}

impl Journal {
    pub(super) fn create(path: &Path, fingerprint: &Fingerprint) -> Result<Self, Failure> {
        let failed = |e| cannot_write(path, &e);
        // Not truncated before it is known that no other run holds it.
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let mut file = file.map_err(failed)?;
        lock(path, &file)?;
        file.set_len(0).map_err(failed)?;
        let head = Head { temblor_journal: 1, fingerprint: fingerprint.clone() };
        let head = serde_json::to_string(&head).expect("plain structures have JSON");
        writeln!(file, "{head}").and_then(|()| file.sync_all()).map_err(failed)?;
        let (path, fingerprint) = (path.to_owned(), fingerprint.clone());
        Ok(Self { path, file, fingerprint, finished: Vec::new(), new: true })
    }

    pub(super) fn resume(path: &Path, fingerprint: &Fingerprint) -> Result<Self, Failure> {
        let failed = |e| cannot_write(path, &e);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        lock(path, &file)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let mut lines = text.split_inclusive(|&b| b == b'\n');
        let Some(head) = lines.next().and_then(complete::<Head>) else {
            // Killed before the first line was on disk: nothing can have been finished.
            drop(file);
            return Self::create(path, fingerprint);
        };
        if head.fingerprint != *fingerprint {
            return Err(Failure::BadInput(format!(
                "the run in {} was interrupted and is not this one; changed since: {}. Change it \
                 back to --resume, or use --force to throw the finished shots away",
                path.display(),
                head.fingerprint.difference(fingerprint)
            )));
        }
        let finished: Vec<FinishedShot> = lines.map_while(complete).collect();
        // A line that was cut short must not be continued by the next one.
        let kept: usize =
            text.split_inclusive(|&b| b == b'\n').take(1 + finished.len()).map(<[u8]>::len).sum();
        file.set_len(kept as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let (path, fingerprint) = (path.to_owned(), fingerprint.clone());
        Ok(Self { path, file, fingerprint, finished, new: false })
    }

    /// Number of shots that a journal says are finished, without opening it for writing.
    pub(super) fn finished_in(path: &Path) -> usize {
        let text = std::fs::read(path).unwrap_or_default();
        let lines = text.split_inclusive(|&b| b == b'\n').skip(1);
        lines.map_while(complete::<FinishedShot>).count()
    }

    pub(super) fn append(&mut self, shot: &Shot, gather: &Gather) -> Result<(), Failure> {
        let before = self.finished.last().map_or(0, |shot| shot.traces_so_far);
        let (traces, samples) = gather.samples.dim();
        let width = gather.samples.element_type().bytes();
        let entry = FinishedShot {
            shot: shot.id,
            traces_so_far: before + traces as u64,
            checksum: format!("{:08x}", gather.checksum()),
            bytes: (traces * samples * width) as u64,
        };
        let line = serde_json::to_string(&entry).expect("plain structures have JSON");
        writeln!(self.file, "{line}")
            .and_then(|()| self.file.sync_all())
            .map_err(|e| cannot_write(&self.path, &e))?;
        self.finished.push(entry);
        Ok(())
    }

    pub(super) const fn is_new(&self) -> bool {
        self.new
    }

    pub(super) const fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    pub(super) fn finished(&self) -> &[FinishedShot] {
        &self.finished
    }

    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn complete<T: serde::de::DeserializeOwned>(line: &[u8]) -> Option<T> {
    line.strip_suffix(b"\n").and_then(|line| serde_json::from_slice(line).ok())
}

fn lock(path: &Path, file: &File) -> Result<(), Failure> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Failure::Output(format!(
            "another run is writing {}: wait for it, or write under another name",
            path.display()
        ))),
        // Some network file systems know no locks; one run at a time is then the user's care.
        Err(TryLockError::Error(error)) => {
            tracing::warn!("{} cannot be locked: {error}", path.display());
            Ok(())
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let full =
        matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
    let remedy = if full { "free some space, then --resume" } else { "check the folder" };
    Failure::Output(format!("cannot write the journal {}: {error}; {remedy}", path.display()))
}
