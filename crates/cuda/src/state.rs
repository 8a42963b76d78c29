//! Saving and restoring a plan: the head, then p^n and p^(n-1) (or its increment) as they are
//! stored, with their halos, then the memory variables that the next step reads.

use std::io::{Read, Write};

use temblor_backend::Result;
use temblor_backend::state::StateHead;

use crate::ID;
use crate::memory::Buffer;
use crate::plan::CudaPlan;
use crate::sys::failed;

/// Elements written at a time.
const PART: usize = 1 << 20;

fn buffers(plan: &CudaPlan) -> Vec<&Buffer> {
    let mut all = match &plan.stored {
        Some(stored) => stored.state(&plan.fields),
        None => vec![plan.fields.wave(0), plan.fields.wave(1)],
    };
    all.extend(plan.layers.state());
    all
}

/// Writes the state.
pub(crate) fn save(plan: &CudaPlan, to: &mut dyn Write) -> Result<()> {
    let head = StateHead {
        backend: ID.into(),
        variant: plan.variant.name.clone(),
        step: temblor_backend::Propagator::step(plan),
        problem: plan.problem.clone(),
    };
    head.write(to)?;
    let mut part = vec![0.0_f32; PART];
    for buffer in buffers(plan) {
        for first in (0..buffer.elements()).step_by(PART) {
            let part = &mut part[..PART.min(buffer.elements() - first)];
            buffer.read(&plan.stream, first, part)?;
            plan.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
            let bytes: Vec<u8> = part.iter().flat_map(|value| value.to_le_bytes()).collect();
            to.write_all(&bytes)?;
        }
    }
    Ok(())
}

/// Reads a state; gives its step.
pub(crate) fn restore(plan: &CudaPlan, from: &mut dyn Read) -> Result<u64> {
    let step = StateHead::read(from, ID, &plan.variant.name, &plan.problem)?;
    let mut bytes = vec![0_u8; 4 * PART];
    for buffer in buffers(plan) {
        for first in (0..buffer.elements()).step_by(PART) {
            let count = PART.min(buffer.elements() - first);
            from.read_exact(&mut bytes[..4 * count])?;
            let part: Vec<f32> = bytes[..4 * count]
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            buffer.fill_at(&plan.stream, first, &part)?;
        }
    }
    plan.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
    Ok(step)
}
