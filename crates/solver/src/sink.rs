//! Where results go: traits that the command line joins to files.

use std::io::{Read, Write};

use temblor_backend::HostArray;

use crate::error::{BoxError, Result};
use crate::gather::Gather;
use crate::survey::Shot;

/// The wavefield at a time, on a part of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Step n of p^n.
    pub step: u64,
    /// Its time, s.
    pub time: f64,
    /// Position of the first node, m.
    pub origin: [f64; 3],
    /// Distance between the nodes taken along (x, y, z), m.
    pub spacing: [f64; 3],
    /// Pressure, shape (x, y, z), Pa.
    pub values: HostArray,
}

/// Takes results; a shot's gather comes once, when the shot is complete.
pub trait Sink {
    /// Takes the gather of a finished shot; on return it is safe against a crash.
    ///
    /// # Errors
    /// Whatever writing meets.
    fn gather(&mut self, shot: &Shot, gather: &Gather) -> Result<(), BoxError>;

    /// Takes the traces of a shot that became unstable; from `step` on they are zero.
    ///
    /// # Errors
    /// Whatever writing meets.
    fn partial(&mut self, shot: &Shot, gather: &Gather, step: u64) -> Result<(), BoxError>;

    /// Takes a snapshot.
    ///
    /// # Errors
    /// Whatever writing meets.
    fn snapshot(&mut self, shot: &Shot, snapshot: &Snapshot) -> Result<(), BoxError>;

    /// Keeps what `write` writes as the running shot's checkpoint, in place of an earlier one, so
    /// that a crash leaves one of them whole.
    ///
    /// # Errors
    /// Whatever writing meets.
    fn save_checkpoint(
        &mut self,
        shot: &Shot,
        write: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
    ) -> Result<(), BoxError>;

    /// The checkpoint that a shot should be resumed from.
    ///
    /// # Errors
    /// Whatever opening meets.
    fn open_checkpoint(&mut self, shot: &Shot) -> Result<Option<Box<dyn Read>>, BoxError>;
}

/// Told how far a run is.
pub trait Progress {
    /// A shot starts at `first_step` (above zero when resumed).
    fn shot_started(&mut self, shot: &Shot, first_step: u64);

    /// The running shot has done `steps` steps.
    fn advanced(&mut self, steps: u64);

    /// The shot is complete and kept.
    fn shot_finished(&mut self, shot: &Shot);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn shot_started(&mut self, _: &Shot, _: u64) {}
    fn advanced(&mut self, _: u64) {}
    fn shot_finished(&mut self, _: &Shot) {}
}
