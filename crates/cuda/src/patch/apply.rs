//! Chunks of the host through a kernel: in pieces, each packed into pinned memory, copied to the card,
//! computed, copied back and handed out by a thread with a stream of its own. Copies both ways, kernels
//! and packing of different pieces overlap.
//!
//! Chunks in memory that the card reaches by itself go another way (`fetch`).
//!
//! Pieces bound the memory, whatever K is; where little of it is free they are smaller.

use std::sync::{Arc, Mutex};

use cudarc::driver::{CudaContext, CudaStream};
use temblor_backend::patch::check_chunks;
use temblor_backend::{Cell, Error, Result};
use temblor_patch::Kernel;
use temblor_patch::emit::gpu::{Layouts, Schedule, Way, speed_of_key};

use super::crossing::Crossings;
use super::fetch::Fetch;
use super::host::Ranges;
use super::program::{Beside, Loaded, Places};
use super::set::numbers;
use crate::memory::{Buffer, Pinned, free_bytes};
use crate::sys::failed;

/// Most threads that pack, each with two pieces. One packs at a fifth of a copy's rate.
// 8 threads: a third slower on a host of 16 cores; 16: as fast.
const THREADS: usize = 12;

/// Bytes of a piece's larger side, at most: long enough for a copy to reach its rate, and so short that
/// all pieces stay in the host's caches, where the card's copies find them.
// Euler FV p = 6 on an H200, of the pinned copies: 2 MiB 71 %, 4 MiB 52 to 78 % from host to host,
// 8 MiB 48 %; stores past the caches 46 %; four pieces packed by all threads together 55 %.
const PIECE: usize = 2 << 20;

/// Bytes below which a piece is not cut further for the sake of another thread.
const LEAST: usize = 256 << 10;

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
}

/// Part of the chunks of a call.
struct Piece<'a, 'b, 'c> {
    cells: &'a [Cell],
    inputs: &'a [&'c [f64]],
    outputs: &'a mut [&'b mut [f64]],
    speeds: &'a mut [f64],
}

/// A program for chunks with its buffers.
pub(super) struct Pipeline {
    context: Arc<CudaContext>,
    program: Loaded,
    /// Values from a chunk to the next on the device.
    pitch: [usize; 2],
    lens: [usize; 2],
    /// Most chunks of a piece.
    piece: usize,
    slots: Vec<Slot>,
    /// For chunks that the device reaches; made at the first use.
    fetch: Option<Fetch>,
    /// Whether the program wants chunks at multiples of 16 bytes.
    aligned: bool,
}

/// Refuses chunks that do not fit, and speeds of a kernel that computes none.
pub(super) fn check(
    kernel: &Kernel,
    cells: &[Cell],
    inputs: &[&[f64]],
    outputs: &[&mut [f64]],
    speeds: &[f64],
) -> Result<()> {
    if !speeds.is_empty() && !kernel.speeds {
        return Err(Error::Invalid {
            what: format!("{} speeds for {} cells of {}", speeds.len(), cells.len(), kernel.name),
            remedy: "give none: this kernel computes no speeds".into(),
        });
    }
    check_chunks(kernel, cells.len(), inputs, outputs, speeds)
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
        let program = Loaded::new(context, kernel, schedule, &layouts, contract, Beside::Chunks)?;
        let lens = [kernel.shape.input_len(), kernel.shape.output_len()];
        let pitch = lens.map(|len| len.next_multiple_of(16));
        let piece = (PIECE / (8 * pitch[0].max(pitch[1]))).max(1);
        Ok(Self {
            context: context.clone(),
            program,
            pitch,
            lens,
            piece,
            slots: Vec::new(),
            fetch: None,
            aligned: schedule.1.way == Way::Bulk,
        })
    }

    /// Makes the buffers, once; chunks of a piece for so many in all.
    fn prepare(&mut self, count: usize) -> Result<usize> {
        let bytes = 8 * self.pitch[0].max(self.pitch[1]);
        let ways = 2 * THREADS.min(rayon::current_num_threads());
        if self.slots.is_empty() {
            let each = (8 * (self.pitch[0] + self.pitch[1] + self.program.scratch) + 96) as u64;
            let available = free_bytes(&self.context)?;
            let fits = usize::try_from(available / 2 / (ways as u64 * each)).unwrap_or(usize::MAX);
            if fits == 0 {
                return Err(Error::OutOfMemory { needed: 2 * ways as u64 * each, available });
            }
            self.piece = self.piece.min(fits);
        }
        let piece = count.div_ceil(2 * ways).max(LEAST / bytes).clamp(1, self.piece);
        while self.slots.len() < ways.min(count.div_ceil(piece)) {
            let slot = self.slot()?;
            self.slots.push(slot);
        }
        Ok(piece)
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
            stream,
        })
    }

    /// As [`Pipeline::apply`], of chunks that all lie in memory which the device reaches.
    pub(super) fn fetch(
        &mut self,
        (host, crossings): (&Ranges, &Crossings),
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        if self.fetch.is_none() {
            let scratch = self.program.scratch;
            let shape = (self.pitch, self.lens, scratch);
            self.fetch = Some(Fetch::new(&self.context, host, shape, self.aligned)?);
        }
        let fetch = self.fetch.as_mut().expect("made above");
        fetch.apply(&self.program, crossings, parameters, cells, inputs, outputs, speeds)
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
        let piece = self.prepare(cells.len())?;
        let mut pieces = Vec::with_capacity(cells.len().div_ceil(piece));
        let (mut rest, mut rest_speeds) = (outputs, speeds);
        for (cells, inputs) in cells.chunks(piece).zip(inputs.chunks(piece)) {
            let (outputs, later) = rest.split_at_mut(cells.len());
            let (speeds, later_speeds) =
                rest_speeds.split_at_mut(cells.len().min(rest_speeds.len()));
            pieces.push(Piece { cells, inputs, outputs, speeds });
            (rest, rest_speeds) = (later, later_speeds);
        }
        let pieces = Mutex::new(pieces.into_iter());
        let failure = Mutex::new(None);
        let (context, program) = (&self.context, &self.program);
        let (pitch, lens) = (self.pitch, self.lens);
        rayon::scope(|scope| {
            for pair in self.slots.chunks_mut(2) {
                let (pieces, failure) = (&pieces, &failure);
                scope.spawn(move |_| {
                    let next = || pieces.lock().ok().and_then(|mut pieces| pieces.next());
                    let done = context.bind_to_thread().map_err(failed("cuCtxSetCurrent"));
                    let work = Work { program, parameters, pitch, lens };
                    if let Err(error) = done.and_then(|()| work.all(pair, next)) {
                        // The others finish what they have and find nothing more to do.
                        if let Ok(mut pieces) = pieces.lock() {
                            pieces.by_ref().for_each(drop);
                        }
                        if let Ok(mut failure) = failure.lock() {
                            *failure = Some(error);
                        }
                    }
                });
            }
        });
        failure.into_inner().ok().flatten().map_or(Ok(()), Err)
    }
}

/// What a thread does with pieces.
struct Work<'a> {
    program: &'a Loaded,
    parameters: &'a [f64],
    pitch: [usize; 2],
    lens: [usize; 2],
}

impl Work<'_> {
    /// Works on pieces until there is none; one is packed while the one before is under way.
    fn all<'a, 'b: 'a, 'c: 'a>(
        &self,
        slots: &mut [Slot],
        mut next: impl FnMut() -> Option<Piece<'a, 'b, 'c>>,
    ) -> Result<()> {
        let mut before: Option<(usize, Piece<'a, 'b, 'c>)> = None;
        for which in (0..slots.len()).cycle() {
            let piece = next();
            if slots.len() == 1
                && let Some((slot, mut piece)) = before.take()
            {
                self.finish(&mut slots[slot], &mut piece)?;
            }
            if let Some(piece) = &piece {
                self.start(&mut slots[which], piece)?;
            }
            let last = piece.is_none();
            if let Some((slot, mut piece)) = before.take() {
                self.finish(&mut slots[slot], &mut piece)?;
            }
            if last {
                break;
            }
            before = piece.map(|piece| (which, piece));
        }
        Ok(())
    }

    /// Packs a piece and queues what happens to it.
    fn start(&self, slot: &mut Slot, piece: &Piece<'_, '_, '_>) -> Result<()> {
        let ([pitch_in, pitch_out], len) = (self.pitch, self.lens[0]);
        let chunks = piece.cells.len();
        let packed = slot.packed.doubles_mut().chunks_exact_mut(pitch_in);
        packed.zip(piece.inputs).for_each(|(to, from)| to[..len].copy_from_slice(from));
        let flat = slot.cells.doubles_mut().chunks_exact_mut(8);
        flat.zip(piece.cells).for_each(|(to, cell)| to.copy_from_slice(&numbers(cell)));
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
        self.program.run(stream, &places, self.parameters, chunks)?;
        slot.outputs.read(stream, 0, &mut slot.results.doubles_mut()[..chunks * pitch_out])?;
        if !piece.speeds.is_empty() {
            slot.device_keys.read(stream, 0, &mut slot.keys.doubles_mut()[..chunks])?;
        }
        Ok(())
    }

    /// Waits for a piece and hands out its results.
    fn finish(&self, slot: &mut Slot, piece: &mut Piece<'_, '_, '_>) -> Result<()> {
        let (pitch, len) = (self.pitch[1], self.lens[1]);
        slot.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        let results = slot.results.doubles().chunks_exact(pitch);
        for (to, from) in piece.outputs.iter_mut().zip(results) {
            to.copy_from_slice(&from[..len]);
        }
        for (speed, key) in piece.speeds.iter_mut().zip(slot.keys.doubles()) {
            *speed = speed_of_key(key.to_bits());
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
