//! Chunks of the host through a kernel: packed into pinned memory in pieces, each with a stream of its
//! own, so that copies to the card, kernels, copies back and packing of the next piece overlap.
//!
//! Pieces bound the memory, whatever K is; where little of it is free they are smaller.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use rayon::prelude::*;
use temblor_backend::{Cell, Error, Result};
use temblor_patch::Kernel;
use temblor_patch::emit::gpu::{Layouts, Schedule, speed_of_key};

use super::program::{Loaded, Places};
use super::set::numbers;
use crate::memory::{Buffer, Pinned, free_bytes, record_event};
use crate::sys::failed;

/// Pieces under way at a time: one copied in, one computed, one copied out, one packed.
const SLOTS: usize = 4;

/// Bytes of a piece's larger side: long enough for a copy to reach its rate, short enough for a few
/// hundred chunks to overlap.
const PIECE: usize = 16 << 20;

/// Buffers of a piece.
struct Slot {
    stream: Arc<CudaStream>,
    packed: Pinned,
    cells: Pinned,
    results: Pinned,
    keys: Pinned,
    inputs: Buffer,
    outputs: Buffer,
    device_cells: Buffer,
    device_keys: Buffer,
    scratch: Buffer,
    tables: [Buffer; 2],
    /// Chunks under way and the end of their copy back.
    pending: Option<(Range<usize>, CudaEvent)>,
}

/// A program for chunks with its buffers.
pub(super) struct Pipeline {
    context: Arc<CudaContext>,
    program: Loaded,
    /// Values from a chunk to the next on the device.
    pitch: [usize; 2],
    lens: [usize; 2],
    /// Chunks of a piece.
    piece: usize,
    slots: Vec<Slot>,
}

/// Refuses lengths that do not fit.
pub(super) fn check(
    kernel: &Kernel,
    cells: &[Cell],
    inputs: &[&[f64]],
    outputs: &[&mut [f64]],
    speeds: &[f64],
) -> Result<()> {
    let count = cells.len();
    let wrong = |what: String, remedy: String| Err(Error::Invalid { what, remedy });
    if inputs.len() != count || outputs.len() != count {
        let what = format!("{} inputs and {} outputs", inputs.len(), outputs.len());
        return wrong(what, format!("give one of each for all {count} cells"));
    }
    if !(speeds.is_empty() || speeds.len() == count && kernel.speeds) {
        let what = format!("{} speeds for {count} cells of {}", speeds.len(), kernel.name);
        let remedy = if kernel.speeds {
            "give none, or a place per cell"
        } else {
            "give none: this kernel computes no speeds"
        };
        return wrong(what, remedy.into());
    }
    let (input, output) = (kernel.shape.input_len(), kernel.shape.output_len());
    if let Some(bad) = inputs.iter().find(|chunk| chunk.len() != input) {
        return wrong(format!("an input of {} values", bad.len()), format!("inputs have {input}"));
    }
    if let Some(bad) = outputs.iter().find(|chunk| chunk.len() != output) {
        return wrong(
            format!("an output of {} values", bad.len()),
            format!("outputs have {output}"),
        );
    }
    Ok(())
}

impl Pipeline {
    /// Compiles the kernel for chunks.
    pub(super) fn new(
        context: &Arc<CudaContext>,
        kernel: &Kernel,
        schedule: (&str, &Schedule),
        contract: bool,
    ) -> Result<Self> {
        let layouts = Layouts::chunks(kernel);
        let program = Loaded::new(context, kernel, schedule, &layouts, contract, false)?;
        let lens = [kernel.shape.input_len(), kernel.shape.output_len()];
        let pitch = lens.map(|len| len.next_multiple_of(16));
        let piece = (PIECE / (8 * pitch[0].max(pitch[1]))).max(1);
        Ok(Self { context: context.clone(), program, pitch, lens, piece, slots: Vec::new() })
    }

    /// Makes the buffers, once, for as many chunks as a piece may have.
    fn prepare(&mut self, count: usize) -> Result<()> {
        if !self.slots.is_empty() && (self.slots.len() == SLOTS || count <= self.piece) {
            return Ok(());
        }
        let scratch = self.program.scratch;
        let each = (8 * (self.pitch[0] + self.pitch[1] + scratch) + 96) as u64;
        let available = free_bytes(&self.context)?;
        let fits = usize::try_from(available / 2 / (SLOTS as u64 * each)).unwrap_or(usize::MAX);
        if fits == 0 {
            return Err(Error::OutOfMemory { needed: 2 * SLOTS as u64 * each, available });
        }
        self.piece = self.piece.min(fits);
        while self.slots.len() < SLOTS.min(count.div_ceil(self.piece)) {
            let slot = self.slot()?;
            self.slots.push(slot);
        }
        Ok(())
    }

    fn slot(&self) -> Result<Slot> {
        let (context, piece) = (&self.context, self.piece);
        let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
        let [input, output] = self.pitch;
        let inputs = Buffer::zeros(&stream, 2 * piece * input)?;
        let outputs = Buffer::zeros(&stream, 2 * piece * output)?;
        let table = |buffer: &Buffer, pitch: usize| {
            let start = buffer.address();
            let places: Vec<u64> = (0..piece).map(|k| start + 8 * (k * pitch) as u64).collect();
            Buffer::of(&stream, &places)
        };
        let tables = [table(&inputs, input)?, table(&outputs, output)?];
        Ok(Slot {
            packed: Pinned::zeros(context, 2 * piece * input)?,
            cells: Pinned::zeros(context, 2 * piece * 8)?,
            results: Pinned::zeros(context, 2 * piece * output)?,
            keys: Pinned::zeros(context, 2 * piece)?,
            device_cells: Buffer::zeros(&stream, 2 * piece * 8)?,
            device_keys: Buffer::zeros(&stream, 2 * piece)?,
            scratch: Buffer::zeros(&stream, 2 * piece * self.program.scratch)?,
            inputs,
            outputs,
            tables,
            pending: None,
            stream,
        })
    }

    pub(super) fn apply(
        &mut self,
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        if cells.is_empty() {
            return Ok(());
        }
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        self.prepare(cells.len())?;
        let result = self.pieces(parameters, cells, inputs, outputs, speeds);
        if result.is_err() {
            // What is still under way writes into buffers that live as long as the pipeline.
            self.slots.iter_mut().for_each(|slot| slot.pending = None);
        }
        result
    }

    fn pieces(
        &mut self,
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        let count = cells.len();
        let starts: Vec<usize> = (0..count).step_by(self.piece).collect();
        let ways = self.slots.len();
        for (n, &start) in starts.iter().enumerate() {
            let range = start..(start + self.piece).min(count);
            self.finish(n % ways, outputs, speeds)?;
            self.start(n % ways, range, parameters, cells, inputs)?;
        }
        for n in starts.len()..starts.len() + ways {
            self.finish(n % ways, outputs, speeds)?;
        }
        Ok(())
    }

    /// Packs a piece and queues what happens to it.
    fn start(
        &mut self,
        which: usize,
        range: Range<usize>,
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
    ) -> Result<()> {
        let ([pitch_in, pitch_out], len) = (self.pitch, self.lens[0]);
        let slot = &mut self.slots[which];
        let chunks = range.len();
        let packed = slot.packed.doubles_mut()[..chunks * pitch_in].par_chunks_mut(pitch_in);
        packed.zip(&inputs[range.clone()]).for_each(|(to, from)| to[..len].copy_from_slice(from));
        let flat = slot.cells.doubles_mut().chunks_exact_mut(8);
        flat.zip(&cells[range.clone()]).for_each(|(to, cell)| to.copy_from_slice(&numbers(cell)));
        let stream = &slot.stream;
        slot.inputs.fill(stream, &slot.packed.doubles()[..chunks * pitch_in])?;
        slot.device_cells.fill(stream, &slot.cells.doubles()[..chunks * 8])?;
        slot.device_keys.clear(stream)?;
        let places = Places {
            inputs: slot.tables[0].address(),
            outputs: slot.tables[1].address(),
            cells: slot.device_cells.address(),
            speeds: slot.device_keys.address(),
            scratch: slot.scratch.address(),
        };
        self.program.run(stream, &places, parameters, chunks)?;
        slot.outputs.read(stream, 0, &mut slot.results.doubles_mut()[..chunks * pitch_out])?;
        slot.device_keys.read(stream, 0, &mut slot.keys.doubles_mut()[..chunks])?;
        slot.pending = Some((range, record_event(stream)?));
        Ok(())
    }

    /// Waits for a piece and hands out its results.
    fn finish(
        &mut self,
        which: usize,
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        let (pitch, len) = (self.pitch[1], self.lens[1]);
        let slot = &mut self.slots[which];
        let Some((range, done)) = slot.pending.take() else { return Ok(()) };
        done.synchronize().map_err(failed("cuEventSynchronize"))?;
        let results = slot.results.doubles().par_chunks(pitch);
        let to = outputs[range.clone()].par_iter_mut();
        to.zip(results).for_each(|(to, from)| to.copy_from_slice(&from[..len]));
        if !speeds.is_empty() {
            for (speed, key) in speeds[range].iter_mut().zip(slot.keys.doubles()) {
                *speed = speed_of_key(key.to_bits());
            }
        }
        Ok(())
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // Copies under way must end before their memory goes.
        for slot in &self.slots {
            let _ = slot.stream.synchronize();
        }
    }
}
