//! Chunks in page-locked memory through a kernel: the card fetches them itself wherever they lie,
//! computes, and stores the results in place. The host touches no value, it only queues: pieces pass
//! three stages (fetch, compute, store) on streams of their own, and events keep their order.
//!
//! A piece whose chunks lie side by side goes by one copy instead, small gaps between inputs included;
//! so that this is what most pieces do, chunks are taken in the order of their places on the host.
#![expect(unsafe_code, reason = "the device works on memory of the host by its addresses")]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use temblor_backend::{Cell, Error, Result};
use temblor_patch::emit::gpu::speed_of_key;

use super::host::Ranges;
use super::line::{Line, Stretch, stretch};
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
    /// A stretch of the host's memory as it is.
    raw: Buffer,
    inputs: Buffer,
    outputs: Buffer,
    /// Places of chunks in the buffers: `pitch` values apart, and, of outputs, without gaps.
    spaced: [Buffer; 2],
    tight: Buffer,
    /// The kernel has read the inputs; the outputs are stored.
    read: Option<CudaEvent>,
    stored: Option<CudaEvent>,
}

/// What is asked for.
struct Call<'a> {
    cells: &'a [Cell],
    inputs: &'a [&'a [f64]],
    /// Numbers of the chunks in the order in which they are taken.
    order: &'a [usize],
    /// Chunks of a piece.
    piece: usize,
    speeds: bool,
}

/// Streams and buffers of the three stages.
pub(super) struct Fetch {
    pitch: [usize; 2],
    lens: [usize; 2],
    /// Whether the program wants chunks at multiples of 16 bytes.
    aligned: bool,
    host: Ranges,
    line: Line,
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

impl Fetch {
    pub(super) fn new(
        context: &Arc<CudaContext>,
        host: &Ranges,
        (pitch, lens, scratch): ([usize; 2], [usize; 2], usize),
        aligned: bool,
    ) -> Result<Self> {
        let stream = || context.new_stream().map_err(failed("cuStreamCreate"));
        let raw = pitch[0] + pitch[0].div_ceil(8);
        let each = (8 * (SLOTS * (raw + pitch[0] + pitch[1] + 4) + scratch)) as u64;
        let available = free_bytes(context)?;
        let fits = usize::try_from(available / 2 / each).unwrap_or(usize::MAX);
        if fits == 0 {
            return Err(Error::OutOfMemory { needed: 2 * each, available });
        }
        let piece = (PIECE / (8 * pitch[0].max(pitch[1]))).clamp(1, fits);
        let compute = stream()?;
        let slot = || {
            let raw = Buffer::zeros(&compute, 2 * piece * raw)?;
            let inputs = Buffer::zeros(&compute, 2 * piece * pitch[0])?;
            let outputs = Buffer::zeros(&compute, 2 * piece * pitch[1])?;
            let table = |buffer: &Buffer, pitch: usize| {
                let place = |k: usize| buffer.address() + 8 * (k * pitch) as u64;
                Buffer::of(&compute, &(0..piece).map(place).collect::<Vec<u64>>())
            };
            let spaced = [table(&inputs, pitch[0])?, table(&outputs, pitch[1])?];
            let tight = table(&outputs, lens[1])?;
            Ok(Slot { raw, inputs, outputs, spaced, tight, read: None, stored: None })
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
            aligned,
            host: host.clone(),
            line: Line::default(),
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
            let mut line = std::mem::take(&mut self.line);
            let order = line.of(inputs);
            let call = Call { cells, inputs, order, piece, speeds: !speeds.is_empty() };
            let queued = self.queue(program, parameters, &call, outputs);
            // Even after an error: what is queued works on the chunks.
            let ended = self.wait();
            if queued.is_ok() && ended.is_ok() && call.speeds {
                let words = self.list.doubles()[..WORDS * count].chunks(WORDS * piece);
                for (part, words) in order.chunks(piece).zip(words) {
                    for (&k, key) in part.iter().zip(&words[10 * part.len()..]) {
                        speeds[k] = speed_of_key(key.to_bits());
                    }
                }
            }
            self.line = line;
            queued.and(ended)?;
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

    /// The stretch of a piece's inputs, where one copy fetches it.
    fn whole(&self, slot: &Slot, part: &[usize], inputs: &[&[f64]]) -> Option<Stretch> {
        let found = stretch(part.iter().map(|&k| inputs[k]))?;
        let start = found.start as usize;
        // A bulk copy may take a value more, to an even number.
        let fits = 2 * (found.values + 1) <= slot.raw.elements();
        (fits && self.host.span(start, start + 8 * found.values)).then_some(found)
    }

    fn queue(
        &mut self,
        program: &Loaded,
        parameters: &[f64],
        call: &Call<'_>,
        outputs: &mut [&mut [f64]],
    ) -> Result<()> {
        let (pitch, lens) = (self.pitch, self.lens);
        let after = |stream: &CudaStream, event: &CudaEvent| {
            stream.wait(event).map_err(failed("cuStreamWaitEvent"))
        };
        for (n, part) in call.order.chunks(call.piece).enumerate() {
            let (count, first) = (part.len(), n * call.piece);
            let whole = self.whole(&self.slots[n % SLOTS], part, call.inputs);
            let slot = &mut self.slots[n % SLOTS];
            let (fetch, store) = (&self.fetches[n % 2], &self.stores[n % 2]);

            // Addresses, cells, keys of zero.
            let words = &mut self.list.doubles_mut()[WORDS * first..WORDS * (first + count)];
            let (places, rest) = words.split_at_mut(2 * count);
            let (from, to) = places.split_at_mut(count);
            let (flat, rest) = rest.split_at_mut(8 * count);
            // Where inputs are when the list is read: on the host, or in the stretch on the card.
            let moved =
                whole.map_or(0, |whole| slot.raw.address().wrapping_sub(whole.start as u64));
            let mut even = true;
            for (word, &k) in from.iter_mut().zip(part) {
                let place = (call.inputs[k].as_ptr() as u64).wrapping_add(moved);
                even &= place.is_multiple_of(16);
                *word = f64::from_bits(place);
            }
            for (word, &k) in to.iter_mut().zip(part) {
                *word = f64::from_bits(outputs[k].as_mut_ptr() as u64);
            }
            let flat = flat.chunks_exact_mut(8);
            flat.zip(part).for_each(|(to, &k)| to.copy_from_slice(&numbers(&call.cells[k])));
            rest.fill(0.0);
            self.device_list.fill_at(&self.lists, 2 * WORDS * first, words)?;
            let listed = record_event(&self.lists)?;
            let list = self.device_list.address() + 8 * (WORDS * first) as u64;
            let word = |n: usize| list + 8 * (n * count) as u64;

            after(fetch, &listed)?;
            if let Some(read) = &slot.read {
                after(fetch, read)?;
            }
            let (way, ends) = (Way::There, (word(0), slot.inputs.address()));
            if let Some(whole) = whole {
                // SAFETY: the stretch lies in one range of page-locked memory, and the chunks, all that
                // is read of what is copied, are borrowed until `wait`.
                unsafe { slot.raw.fill_from(fetch, whole.start, whole.values) }?;
            } else {
                // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                unsafe { program.move_chunks(fetch, way, ends, count, [lens[0], pitch[0]]) }?;
            }
            after(&self.compute, &record_event(fetch)?)?;
            let from = if whole.is_none() {
                slot.spaced[0].address()
            } else if even || !self.aligned {
                word(0)
            } else {
                // SAFETY: the list holds the places of chunks in the stretch on the card.
                unsafe {
                    program.move_chunks(&self.compute, way, ends, count, [lens[0], pitch[0]])
                }?;
                slot.spaced[0].address()
            };

            if let Some(stored) = &slot.stored {
                after(&self.compute, stored)?;
            }
            // Results are stored value by value, at any place.
            let whole = stretch(part.iter().map(|&k| &*outputs[k])).filter(|found| found.dense);
            let to = if whole.is_some() { &slot.tight } else { &slot.spaced[1] };
            let places = Places {
                inputs: from,
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
                let start = outputs[part[0]].as_mut_ptr();
                // SAFETY: the chunks follow each other from there on, and are borrowed until `wait`.
                unsafe { slot.outputs.read_to(store, start, count * lens[1]) }?;
            } else {
                let (way, ends) = (Way::Back, (word(1), slot.outputs.address()));
                // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                unsafe { program.move_chunks(store, way, ends, count, [lens[1], pitch[1]]) }?;
            }
            if call.speeds {
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
