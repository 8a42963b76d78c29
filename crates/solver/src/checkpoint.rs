//! A running shot on disk: raw traces so far, then the plan's state.
//!
//! Layout, little-endian: the eight bytes `TEMBLORC`, shot number u32, bytes per sample u32,
//! receivers u64, steps recorded u64, the raw samples receiver by receiver, the plan's state.

use std::io::{Read, Write};

use temblor_backend::{ElementType, Propagator};

use crate::error::{Error, Result};
use crate::gather::RawTraces;
use crate::survey::Shot;

const MAGIC: &[u8; 8] = b"TEMBLORC";

/// Writes the running shot; all recorded samples must have been taken from the plan.
pub(crate) fn write(
    shot: &Shot,
    raw: &RawTraces,
    element: ElementType,
    plan: &mut dyn Propagator,
    to: &mut dyn Write,
) -> Result<()> {
    let head = |to: &mut dyn Write| -> std::io::Result<()> {
        to.write_all(MAGIC)?;
        to.write_all(&shot.id.to_le_bytes())?;
        to.write_all(&element_bytes(element).to_le_bytes())?;
        to.write_all(&(shot.receivers.len() as u64).to_le_bytes())?;
        to.write_all(&(raw.recorded() as u64).to_le_bytes())?;
        raw.write(to)
    };
    head(to).map_err(temblor_backend::Error::Io)?;
    Ok(plan.save(to)?)
}

/// Restores a shot into a plan that was reset and whose receivers are set.
pub(crate) fn read(
    shot: &Shot,
    raw: &mut RawTraces,
    steps: usize,
    element: ElementType,
    plan: &mut dyn Propagator,
    from: &mut dyn Read,
) -> Result<()> {
    let unfit = |what: String| Error::Checkpoint { shot: shot.id, what };
    let mut head = [0; 32];
    from.read_exact(&mut head).map_err(|e| unfit(e.to_string()))?;
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let recorded = long(24);
    let fits = &head[..8] == MAGIC
        && word(8) == shot.id
        && word(12) == element_bytes(element)
        && long(16) == shot.receivers.len() as u64
        && recorded <= steps as u64;
    if !fits {
        return Err(unfit("it belongs to another run".into()));
    }
    let recorded = usize::try_from(recorded).expect("bounded by the number of steps");
    raw.read(recorded, from).map_err(|e| unfit(e.to_string()))?;
    plan.restore(from).map_err(|e| unfit(e.to_string()))?;
    if plan.step() == recorded as u64 {
        Ok(())
    } else {
        Err(unfit(format!("traces end at step {recorded}, the state is of {}", plan.step())))
    }
}

const fn element_bytes(element: ElementType) -> u32 {
    match element {
        ElementType::F32 => 4,
        ElementType::F64 => 8,
    }
}
