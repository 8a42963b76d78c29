//! Chunks in page-locked memory through a kernel: the card fetches them itself wherever they lie,
//! computes, and stores the results in place. The host touches no value, it only queues: pieces pass
//! three stages (fetch, compute, store) on streams of their own, and events keep their order.
//!
//! A piece whose chunks follow each other without a gap goes by one copy instead.
#![expect(unsafe_code, reason = "the device works on memory of the host by its addresses")]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use temblor_backend::{Cell, Error, Result};
use temblor_patch::emit::gpu::speed_of_key;

use super::program::{Loaded, Places, Way};
use super::set::numbers;
use crate::memory::{Buffer, Pinned, free_bytes, record_event};
use crate::sys::failed;

/// Pieces under way.
const SLOTS: usize = 6;

/// Bytes of a piece's larger side, at most: long enough that starts cost little, and so short that the
/// first fetch and the last store, beside which nothing runs, are a small part of a call.
const PIECE: usize = 4 << 20;

/// Bytes below which a piece is not cut further for the sake of overlap.
const LEAST: usize = 512 << 10;

/// Most chunks of which the addresses are on the card at a time.
const BATCH: usize = 1 << 18;

/// Words of a chunk in the list: its two addresses, its cell, the key of its speed, one unused so that
/// cells lie at multiples of 16 bytes.
const WORDS: usize = 12;

/// Buffers of a piece.
struct Slot {
    inputs: Buffer,
    outputs: Buffer,
    /// Places of chunks in the buffers: `pitch` values apart, and without gaps.
    spaced: [Buffer; 2],
    tight: [Buffer; 2],
    /// The kernel has read the inputs; the outputs are stored.
    read: Option<CudaEvent>,
    stored: Option<CudaEvent>,
}

/// Streams and buffers of the three stages.
pub(super) struct Fetch {
    pitch: [usize; 2],
    lens: [usize; 2],
    /// Most chunks of a piece.
    piece: usize,
    lists: Arc<CudaStream>,
    // Two each: the next piece starts while the last blocks of the one before are still at work.
    fetches: [Arc<CudaStream>; 2],
    compute: Arc<CudaStream>,
    stores: [Arc<CudaStream>; 2],
    slots: Vec<Slot>,
    scratch: Buffer,
    list: Pinned,
    device_list: Buffer,
}

/// The place of the first of chunks that follow each other without a gap.
fn adjacent<'a>(mut chunks: impl Iterator<Item = &'a [f64]>) -> Option<*const f64> {
    let first = chunks.next()?.as_ptr_range();
    let mut end = first.end;
    for chunk in chunks {
        let place = chunk.as_ptr_range();
        if place.start != end {
            return None;
        }
        end = place.end;
    }
    Some(first.start)
}

impl Fetch {
    pub(super) fn new(
        context: &Arc<CudaContext>,
        pitch: [usize; 2],
        lens: [usize; 2],
        scratch: usize,
    ) -> Result<Self> {
        let stream = || context.new_stream().map_err(failed("cuStreamCreate"));
        let each = (8 * (SLOTS * (pitch[0] + pitch[1] + 4) + scratch)) as u64;
        let available = free_bytes(context)?;
        let fits = usize::try_from(available / 2 / each).unwrap_or(usize::MAX);
        if fits == 0 {
            return Err(Error::OutOfMemory { needed: 2 * each, available });
        }
        let piece = (PIECE / (8 * pitch[0].max(pitch[1]))).clamp(1, fits);
        let compute = stream()?;
        let slot = || {
            let inputs = Buffer::zeros(&compute, 2 * piece * pitch[0])?;
            let outputs = Buffer::zeros(&compute, 2 * piece * pitch[1])?;
            let table = |buffer: &Buffer, pitch: usize| {
                let place = |k: usize| buffer.address() + 8 * (k * pitch) as u64;
                Buffer::of(&compute, &(0..piece).map(place).collect::<Vec<u64>>())
            };
            let spaced = [table(&inputs, pitch[0])?, table(&outputs, pitch[1])?];
            let tight = [table(&inputs, lens[0])?, table(&outputs, lens[1])?];
            Ok(Slot { inputs, outputs, spaced, tight, read: None, stored: None })
        };
        let slots = (0..SLOTS).map(|_| slot()).collect::<Result<_>>()?;
        let scratch = Buffer::zeros(&compute, 2 * piece * scratch)?;
        let list = Pinned::zeros(context, 0)?;
        let device_list = Buffer::zeros(&compute, 0)?;
        compute.synchronize().map_err(failed("cuStreamSynchronize"))?;
        let (lists, fetches, stores) = (stream()?, [stream()?, stream()?], [stream()?, stream()?]);
        Ok(Self {
            pitch,
            lens,
            piece,
            lists,
            fetches,
            compute,
            stores,
            slots,
            scratch,
            list,
            device_list,
        })
    }

    /// All chunks must lie in memory that the device reaches under the host's addresses.
    pub(super) fn apply(
        &mut self,
        program: &Loaded,
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        let batches = cells.chunks(BATCH).zip(inputs.chunks(BATCH)).zip(outputs.chunks_mut(BATCH));
        let mut rest = speeds;
        for ((cells, inputs), outputs) in batches {
            let count = cells.len();
            let (speeds, later) = rest.split_at_mut(count.min(rest.len()));
            rest = later;
            self.reserve(count)?;
            let bytes = 8 * self.pitch[0].max(self.pitch[1]);
            let piece = count.div_ceil(2 * SLOTS).max(LEAST / bytes).clamp(1, self.piece);
            let wanted = !speeds.is_empty();
            let queued = self.queue(program, parameters, (cells, inputs), outputs, piece, wanted);
            // Even after an error: what is queued works on the chunks.
            let ended = self.wait();
            queued.and(ended)?;
            let words = self.list.doubles()[..WORDS * count].chunks(WORDS * piece);
            for (speeds, words) in speeds.chunks_mut(piece).zip(words) {
                let keys = &words[10 * speeds.len()..];
                for (speed, key) in speeds.iter_mut().zip(keys) {
                    *speed = speed_of_key(key.to_bits());
                }
            }
        }
        Ok(())
    }

    /// Makes room for the list of so many chunks.
    fn reserve(&mut self, count: usize) -> Result<()> {
        let elements = 2 * WORDS * count;
        if self.device_list.elements() < elements {
            self.list = Pinned::zeros(self.lists.context(), elements)?;
            self.device_list = Buffer::zeros(&self.lists, elements)?;
        }
        Ok(())
    }

    fn queue(
        &mut self,
        program: &Loaded,
        parameters: &[f64],
        (cells, inputs): (&[Cell], &[&[f64]]),
        outputs: &mut [&mut [f64]],
        piece: usize,
        speeds: bool,
    ) -> Result<()> {
        let (pitch, lens) = (self.pitch, self.lens);
        let after = |stream: &CudaStream, event: &CudaEvent| {
            stream.wait(event).map_err(failed("cuStreamWaitEvent"))
        };
        let pieces = cells.chunks(piece).zip(inputs.chunks(piece)).zip(outputs.chunks_mut(piece));
        for (n, ((cells, inputs), outputs)) in pieces.enumerate() {
            let (count, first) = (cells.len(), n * piece);
            let slot = &mut self.slots[n % SLOTS];
            let (fetch, store) = (&self.fetches[n % 2], &self.stores[n % 2]);

            // Addresses, cells, keys of zero.
            let words = &mut self.list.doubles_mut()[WORDS * first..WORDS * (first + count)];
            let (places, rest) = words.split_at_mut(2 * count);
            let (from, to) = places.split_at_mut(count);
            let (flat, rest) = rest.split_at_mut(8 * count);
            let bits = |place: *const f64| f64::from_bits(place as u64);
            from.iter_mut().zip(inputs).for_each(|(word, chunk)| *word = bits(chunk.as_ptr()));
            to.iter_mut()
                .zip(&mut *outputs)
                .for_each(|(word, chunk)| *word = bits(chunk.as_mut_ptr()));
            let flat = flat.chunks_exact_mut(8);
            flat.zip(cells).for_each(|(to, cell)| to.copy_from_slice(&numbers(cell)));
            rest.fill(0.0);
            self.device_list.fill_at(&self.lists, 2 * WORDS * first, words)?;
            let listed = record_event(&self.lists)?;
            let list = self.device_list.address() + 8 * (WORDS * first) as u64;
            let word = |n: usize| list + 8 * (n * count) as u64;

            after(fetch, &listed)?;
            if let Some(read) = &slot.read {
                after(fetch, read)?;
            }
            // The kernel wants chunks at multiples of 16 bytes.
            let whole = adjacent(inputs.iter().copied()).filter(|_| lens[0] % 2 == 0);
            let from = if let Some(start) = whole {
                // SAFETY: the chunks follow each other from there on, and are borrowed until `wait`.
                unsafe { slot.inputs.fill_from(fetch, start, count * lens[0]) }?;
                &slot.tight[0]
            } else {
                let (way, ends) = (Way::There, (word(0), slot.inputs.address()));
                // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                unsafe { program.move_chunks(fetch, way, ends, count, [lens[0], pitch[0]]) }?;
                &slot.spaced[0]
            };
            after(&self.compute, &record_event(fetch)?)?;

            if let Some(stored) = &slot.stored {
                after(&self.compute, stored)?;
            }
            let whole = adjacent(outputs.iter().map(|chunk| &**chunk)).filter(|_| lens[1] % 2 == 0);
            let to = if whole.is_some() { &slot.tight[1] } else { &slot.spaced[1] };
            let places = Places {
                inputs: from.address(),
                outputs: to.address(),
                cells: word(2),
                speeds: word(10),
                scratch: self.scratch.address(),
            };
            program.run(&self.compute, &places, parameters, count)?;
            let computed = record_event(&self.compute)?;

            after(store, &computed)?;
            slot.read = Some(computed);
            if whole.is_some() {
                let start = outputs[0].as_mut_ptr();
                // SAFETY: the chunks follow each other from there on, and are borrowed until `wait`.
                unsafe { slot.outputs.read_to(store, start, count * lens[1]) }?;
            } else {
                let (way, ends) = (Way::Back, (word(1), slot.outputs.address()));
                // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                unsafe { program.move_chunks(store, way, ends, count, [lens[1], pitch[1]]) }?;
            }
            if speeds {
                let at = WORDS * first + 10 * count;
                let keys = &mut self.list.doubles_mut()[at..at + count];
                self.device_list.read(store, 2 * at, keys)?;
            }
            slot.stored = Some(record_event(store)?);
        }
        Ok(())
    }

    /// Waits for all that is queued.
    fn wait(&self) -> Result<()> {
        let [f, g] = &self.fetches;
        let [s, t] = &self.stores;
        let mut done = Ok(());
        for stream in [&self.lists, f, g, &self.compute, s, t] {
            done = done.and(stream.synchronize().map_err(failed("cuStreamSynchronize")));
        }
        done
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        // Copies under way must end before their memory goes.
        let _ = self.wait();
    }
}
