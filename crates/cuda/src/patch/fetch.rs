//! Chunks in page-locked memory through a kernel: the card fetches them itself wherever they lie,
//! computes, and stores the results in place. The host touches no value, it only queues: pieces pass
//! three stages (fetch, compute, store) on streams of their own, and events keep their order.
//!
//! A piece whose chunks lie side by side or at equal distances goes by copies instead (`crossing`); so
//! that this is what most pieces do, chunks are taken in the order of their places on the host.
#![expect(unsafe_code, reason = "the device works on memory of the host by its addresses")]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use temblor_backend::{Cell, Error, Result};
use temblor_patch::emit::gpu::speed_of_key;

use super::crossing::{self, Crossing};
use super::host::Ranges;
use super::line::Line;
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

/// Words of a chunk in the list: its two addresses, its cell, the key of its speed, the place of its
/// results on the card. Cells lie at multiples of 16 bytes.
const WORDS: usize = 12;

/// Values of a line of memory: results that a kernel stores lie on the card as they do on the host,
/// from a boundary of 128 bytes on.
const LINE: usize = 16;

/// Buffers of a piece.
struct Slot {
    /// A stretch of the host's memory as it is.
    raw: Buffer,
    inputs: Buffer,
    outputs: Buffer,
    /// Places of chunks in `inputs`, `pitch` values apart.
    spaced: Buffer,
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
    /// Chunks of a piece in the order of their outputs' places.
    back: Vec<usize>,
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
        let each = (8 * (SLOTS * (raw + pitch[0] + pitch[1] + LINE + 1) + scratch)) as u64;
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
            let outputs = Buffer::zeros(&compute, 2 * piece * (pitch[1] + LINE))?;
            let place = |k: usize| inputs.address() + 8 * (k * pitch[0]) as u64;
            let spaced = Buffer::of(&compute, &(0..piece).map(place).collect::<Vec<u64>>())?;
            Ok(Slot { raw, inputs, outputs, spaced, read: None, stored: None })
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
            back: Vec::new(),
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

    fn queue(
        &mut self,
        program: &Loaded,
        parameters: &[f64],
        call: &Call<'_>,
        outputs: &mut [&mut [f64]],
    ) -> Result<()> {
        let ([pitch, pitch_out], [len, len_out]) = (self.pitch, self.lens);
        let after = |stream: &CudaStream, event: &CudaEvent| {
            stream.wait(event).map_err(failed("cuStreamWaitEvent"))
        };
        for (n, part) in call.order.chunks(call.piece).enumerate() {
            let (count, first) = (part.len(), n * call.piece);
            let slot = &mut self.slots[n % SLOTS];
            let (fetch, store) = (&self.fetches[n % 2], &self.stores[n % 2]);
            let host = &self.host;
            // A bulk copy may take a value more, to an even number.
            let room = slot.raw.elements() / 2 - 1;
            let there = crossing::inputs(part.iter().map(|&k| call.inputs[k]), len, room, host);
            let place_of = |q: usize| outputs[part[q]].as_ptr() as usize;
            self.back.clear();
            self.back.extend(0..count);
            if !self.back.is_sorted_by_key(|&q| place_of(q)) {
                self.back.sort_unstable_by_key(|&q| place_of(q));
            }
            let back =
                crossing::outputs(self.back.iter().map(|&q| &*outputs[part[q]]), len_out, host);

            // Addresses, cells, keys of zero, places of results on the card.
            let words = &mut self.list.doubles_mut()[WORDS * first..WORDS * (first + count)];
            let (from, rest) = words.split_at_mut(count);
            let (to, rest) = rest.split_at_mut(count);
            let (flat, rest) = rest.split_at_mut(8 * count);
            let (keys, results) = rest.split_at_mut(count);
            // Where inputs are when the list is read: on the host, or in the stretch on the card.
            let moved = match &there {
                Crossing::Stretch(whole) => slot.raw.address().wrapping_sub(whole.start as u64),
                _ => 0,
            };
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
            keys.fill(0.0);
            let pitch_out = match &back {
                Crossing::Rows(rows) if rows.len() == 1 && rows[0].step == len_out => len_out,
                Crossing::Rows(_) => pitch_out,
                _ => pitch_out + LINE,
            };
            for (r, &q) in self.back.iter().enumerate() {
                let shift = match &back {
                    Crossing::Kernel => outputs[part[q]].as_ptr() as usize / 8 % LINE,
                    _ => 0,
                };
                let place = slot.outputs.address() + 8 * (r * pitch_out + shift) as u64;
                results[q] = f64::from_bits(place);
            }
            self.device_list.fill_at(&self.lists, 2 * WORDS * first, words)?;
            let listed = record_event(&self.lists)?;
            let list = self.device_list.address() + 8 * (WORDS * first) as u64;
            let word = |n: usize| list + 8 * (n * count) as u64;

            after(fetch, &listed)?;
            if let Some(read) = &slot.read {
                after(fetch, read)?;
            }
            let ends = (word(0), slot.spaced.address());
            match &there {
                Crossing::Stretch(whole) => {
                    // SAFETY: the stretch lies in one range of page-locked memory, and the chunks, all
                    // that is read of what is copied, are borrowed until `wait`.
                    unsafe { slot.raw.fill_from(fetch, whole.start, whole.values) }?;
                }
                Crossing::Rows(rows) => {
                    let mut at = 0;
                    for rows in rows {
                        // SAFETY: the rows are chunks that are borrowed until `wait`.
                        unsafe { slot.inputs.fill_rows(fetch, (at, pitch), rows) }?;
                        at += rows.count * pitch;
                    }
                }
                Crossing::Kernel => {
                    // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                    unsafe { program.move_chunks(fetch, Way::There, ends, count, len) }?;
                }
            }
            after(&self.compute, &record_event(fetch)?)?;
            let from = match &there {
                Crossing::Stretch(_) if even || !self.aligned => word(0),
                Crossing::Stretch(_) => {
                    // SAFETY: the list holds the places of chunks in the stretch on the card.
                    unsafe { program.move_chunks(&self.compute, Way::There, ends, count, len) }?;
                    slot.spaced.address()
                }
                _ => slot.spaced.address(),
            };

            if let Some(stored) = &slot.stored {
                after(&self.compute, stored)?;
            }
            // Results are stored value by value, at any place.
            let places = Places {
                inputs: from,
                outputs: word(11),
                cells: word(2),
                speeds: word(10),
                scratch: self.scratch.address(),
            };
            program.run(&self.compute, &places, parameters, count)?;
            let computed = record_event(&self.compute)?;

            after(store, &computed)?;
            slot.read = Some(computed);
            match &back {
                Crossing::Rows(rows) => {
                    let mut at = 0;
                    for rows in rows {
                        // SAFETY: the rows are chunks that are borrowed until `wait`.
                        unsafe { slot.outputs.read_rows(store, (at, pitch_out), rows) }?;
                        at += rows.count * pitch_out;
                    }
                }
                _ => {
                    let ends = (word(1), word(11));
                    // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                    unsafe { program.move_chunks(store, Way::Back, ends, count, len_out) }?;
                }
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
