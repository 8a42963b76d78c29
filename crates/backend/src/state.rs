//! Head of a saved state, the same for all backends: who saved it, of which problem, at which step.
//!
//! Layout: the eight bytes `TEMBLOR1`, the head's length as little-endian u64, the head as JSON;
//! the backend's own arrays follow, little-endian.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use temblor_physics::WaveProblem;

use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"TEMBLOR1";

/// Largest head that is read: a problem is a few hundred bytes.
const LARGEST_HEAD: u64 = 1 << 20;

/// Who saved a state, of which problem, at which step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateHead {
    /// Backend id.
    pub backend: String,
    /// Variant name.
    pub variant: String,
    /// Steps done.
    pub step: u64,
    /// The problem.
    pub problem: WaveProblem,
}

impl StateHead {
    /// Writes the head.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, to: &mut dyn Write) -> Result<()> {
        let head = serde_json::to_vec(self).map_err(std::io::Error::from)?;
        to.write_all(MAGIC)?;
        to.write_all(&(head.len() as u64).to_le_bytes())?;
        to.write_all(&head)?;
        Ok(())
    }

    /// Reads a head and checks that it belongs to this backend, variant and problem; gives the step.
    ///
    /// # Errors
    /// [`Error::State`] if it does not, [`Error::Io`].
    pub fn read(
        from: &mut dyn Read,
        backend: &str,
        variant: &str,
        problem: &WaveProblem,
    ) -> Result<u64> {
        let mut magic = [0; 8];
        let mut length = [0; 8];
        from.read_exact(&mut magic)?;
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if &magic != MAGIC || length > LARGEST_HEAD {
            return Err(Error::State { what: "it is not a temblor state".into() });
        }
        let mut head = Vec::new();
        from.take(length).read_to_end(&mut head)?;
        let head: Self = serde_json::from_slice(&head)
            .map_err(|e| Error::State { what: format!("its head cannot be read ({e})") })?;
        if head.backend != backend || head.variant != variant {
            let what = format!(
                "it was saved by {}/{} and this is {backend}/{variant}",
                head.backend, head.variant
            );
            return Err(Error::State { what });
        }
        if head.problem != *problem {
            return Err(Error::State { what: "it was saved for another problem".into() });
        }
        Ok(head.step)
    }
}
