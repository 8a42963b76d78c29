//! Chunks in page-locked memory through a kernel: the card fetches them itself wherever they lie,
//! computes, and stores the results in place. The host touches no value, it only queues: pieces pass
//! three stages (fetch, compute, store) on streams of their own, and events keep their order. Results that
//! go by one copy to memory of ours are handed out by other threads (`handout`).
//!
//! A piece whose chunks lie side by side or at equal distances goes by copies instead (`crossing`); so
//! that this is what most pieces do, chunks are taken in the order of their places on the host.
#![expect(unsafe_code, reason = "the device works on memory of the host by its addresses")]

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use temblor_backend::{Cell, Error, Result};
use temblor_patch::emit::gpu::speed_of_key;

use super::crossing::{Copies, Crossing, Crossings};
use super::handout::HandOut;
use super::host::Ranges;
use super::line::Line;
use super::list::{Call, Ends, LINE, List, Planned};
use super::program::{Loaded, Places, Way};
use crate::memory::{Buffer, HostRows, Pinned, copy_each, free_bytes, record_event};
use crate::sys::{CopyBatch, copy_batch, failed};

/// Pieces under way.
const SLOTS: usize = 6;

/// Bytes of a piece's larger side, at most: long enough that starts cost little, and so short that the
/// first fetch and the last store, beside which nothing runs, are a small part of a call.
// Of the pinned copies, 4, 8 and 16 MiB: by rows, Euler p = 16 86, 86, 82 %, p = 6 88, 90, 87 %, p = 3 88, 91,
// 92 %, CCZ4 p = 6 88, 90, 87 %; by kernels at p = 6 79, 82, 81 %. All of 160 MiB in all.
const PIECE: usize = 8 << 20;

/// Bytes below which a piece is not cut further for the sake of overlap.
const LEAST: usize = 512 << 10;

/// Most chunks of which the addresses are on the card at a time.
const BATCH: usize = 1 << 18;

/// Most pieces whose words go to the card by one copy.
const TOGETHER: usize = 8;

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
    stored: Option<Arc<CudaEvent>>,
}

/// Streams and buffers of the three stages.
pub(super) struct Fetch {
    pitch: [usize; 2],
    lens: [usize; 2],
    copies: Copies,
    each: Option<CopyBatch>,
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
    list: List,
    /// Results that the host hands out, made when they are first needed, and how many there may be.
    staging: Vec<Pinned>,
    stages: usize,
    /// Keys of the largest eigenvalues, on both sides.
    keys: Pinned,
    device_keys: Buffer,
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
        let (list, keys) = (List::new(&compute)?, Pinned::zeros(context, 0)?);
        let device_keys = Buffer::zeros(&compute, 0)?;
        compute.synchronize().map_err(failed("cuStreamSynchronize"))?;
        let (lists, fetches, stores) = (stream()?, [stream()?, stream()?], [stream()?, stream()?]);
        let each = copy_batch();
        Ok(Self {
            pitch,
            lens,
            copies: Copies { each: each.is_some(), aligned, handed: false, gaps: 1 },
            each,
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
            staging: Vec::new(),
            stages: SLOTS,
            keys,
            device_keys,
        })
    }

    /// All chunks must lie in memory that the device reaches under the host's addresses.
    pub(super) fn apply(
        &mut self,
        program: &Loaded,
        crossings: &Crossings,
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        self.copies.gaps = crossings.gaps;
        self.stages = (crossings.staging / (8 * self.piece * self.lens[1])).max(SLOTS);
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
            let call = Call { cells, inputs, order, speeds: !speeds.is_empty() };
            self.copies.handed = crossings.hands_out(count, self.lens, rayon::current_num_threads);
            let hands = if self.copies.handed { crossings.threads } else { 0 };
            let queued = HandOut::beside(hands, failed("cuEventSynchronize"), |hand| {
                self.queue(program, parameters, &call, piece, outputs, hand)
            });
            // Even after an error: what is queued works on the chunks.
            let ended = self.wait();
            if queued.is_ok() && ended.is_ok() && call.speeds {
                for (&k, key) in order.iter().zip(self.keys.doubles()) {
                    speeds[k] = speed_of_key(key.to_bits());
                }
            }
            self.line = line;
            queued.and(ended)?;
        }
        Ok(())
    }

    /// Makes room for what the card must know of so many chunks.
    fn reserve(&mut self, count: usize) -> Result<()> {
        self.list.reserve(&self.lists, count)?;
        if self.device_keys.elements() < 2 * count {
            self.keys = Pinned::zeros(self.lists.context(), 2 * count)?;
            self.device_keys = Buffer::zeros(&self.lists, 2 * count)?;
        }
        Ok(())
    }

    fn queue(
        &mut self,
        program: &Loaded,
        parameters: &[f64],
        call: &Call<'_>,
        piece: usize,
        outputs: &mut [&mut [f64]],
        hand: &HandOut<CudaEvent>,
    ) -> Result<()> {
        let count = call.order.len();
        self.device_keys.clear(&self.lists)?;
        // The first piece is on its way as soon as may be, then more and more are listed together.
        let (mut first, mut together) = (0, 1);
        while first < count {
            let end = count.min(first + together * piece);
            let starts: Vec<usize> = (first..end).step_by(piece).collect();
            let mut planned = Vec::with_capacity(starts.len());
            for &start in &starts {
                let part = &call.order[start..end.min(start + piece)];
                let slot = &self.slots[start / piece % SLOTS];
                let ends = Ends {
                    // A bulk copy may take a value more, to an even number.
                    raw: (slot.raw.address(), slot.raw.elements() / 2 - 1),
                    outputs: slot.outputs.address(),
                    lens: self.lens,
                    pitch: self.pitch[1],
                    copies: self.copies,
                };
                planned.push(self.list.write((start, part), call, outputs, &ends, &self.host));
            }
            self.list.send(&self.lists, first..end)?;
            let listed = record_event(&self.lists)?;
            for (&start, planned) in starts.iter().zip(planned) {
                let chunks = start..end.min(start + piece);
                self.piece(program, parameters, (start / piece, chunks), planned, &listed, hand)?;
            }
            (first, together) = (end, TOGETHER.min(2 * together));
        }
        if call.speeds {
            self.device_keys.read(&self.compute, 0, &mut self.keys.doubles_mut()[..count])?;
        }
        Ok(())
    }

    /// Queues the three stages of a piece, the `n`th.
    fn piece(
        &mut self,
        program: &Loaded,
        parameters: &[f64],
        (n, chunks): (usize, Range<usize>),
        planned: Planned,
        listed: &CudaEvent,
        hand: &HandOut<CudaEvent>,
    ) -> Result<()> {
        let ([len, len_out], count) = (self.lens, chunks.len());
        let after = |stream: &CudaStream, event: &CudaEvent| {
            stream.wait(event).map_err(failed("cuStreamWaitEvent"))
        };
        let slot = &mut self.slots[n % SLOTS];
        let (fetch, store) = (&self.fetches[n % 2], &self.stores[n % 2]);

        after(fetch, listed)?;
        if let Some(read) = &slot.read {
            after(fetch, read)?;
        }
        let (pitch, tables) = (self.pitch[0], (planned.inputs(), slot.spaced.address()));
        match &planned.there {
            Crossing::Stretch(whole) => {
                // SAFETY: the stretch lies in one range of page-locked memory, and the chunks, all that
                // is read of what is copied, are borrowed until `wait`.
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
            Crossing::Each => {
                let mut from = addresses(self.list.inputs(chunks.start, count));
                let place = |q: usize| slot.inputs.address() + 8 * (q * pitch) as u64;
                let mut to: Vec<u64> = (0..count).map(place).collect();
                let call = self.each.expect("else there is no such crossing");
                // SAFETY: chunks that are borrowed until `wait`, and their places in the slot.
                unsafe { copy_each(call, fetch, [&mut from, &mut to], 8 * len, true) }?;
            }
            _ => {
                // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                unsafe { program.move_chunks(fetch, Way::There, tables, count, len) }?;
            }
        }
        after(&self.compute, &record_event(fetch)?)?;
        let inputs = match &planned.there {
            Crossing::Stretch(whole) if !self.copies.aligned || whole.even => planned.inputs(),
            Crossing::Stretch(_) => {
                // SAFETY: the list holds the places of chunks in the stretch on the card.
                unsafe { program.move_chunks(&self.compute, Way::Within, tables, count, len) }?;
                slot.spaced.address()
            }
            _ => slot.spaced.address(),
        };

        if let Some(stored) = &slot.stored {
            after(&self.compute, stored)?;
        }
        let places = Places {
            inputs,
            outputs: planned.results(),
            cells: planned.cells(),
            speeds: self.device_keys.address() + 8 * chunks.start as u64,
            scratch: self.scratch.address(),
        };
        program.run(&self.compute, &places, parameters, count)?;
        let computed = record_event(&self.compute)?;

        after(store, &computed)?;
        slot.read = Some(computed);
        match &planned.back {
            Crossing::Rows(rows) => {
                let mut at = 0;
                for rows in rows {
                    // SAFETY: the rows are chunks that are borrowed until `wait`.
                    unsafe { slot.outputs.read_rows(store, (at, planned.pitch), rows) }?;
                    at += rows.count * planned.pitch;
                }
            }
            Crossing::Each => {
                let (to, from) = self.list.outputs(chunks.start, count);
                let (mut to, mut from) = (addresses(to), addresses(from));
                let call = self.each.expect("else there is no such crossing");
                // SAFETY: chunks that are borrowed until `wait`, and their places in the slot.
                unsafe { copy_each(call, store, [&mut from, &mut to], 8 * len_out, false) }?;
            }
            Crossing::Host => {
                let n = hand.count();
                if let Some(before) = n.checked_sub(self.stages) {
                    hand.finish(before).map_err(failed("cuEventSynchronize"))?;
                }
                if n % self.stages == self.staging.len() {
                    let elements = 2 * self.piece * len_out;
                    self.staging.push(Pinned::zeros(store.context(), elements)?);
                }
                let staging = self.staging[n % self.stages].doubles_mut();
                let start = staging[..count * len_out].as_mut_ptr().expose_provenance();
                let rows = HostRows { start, step: len_out, len: len_out, count };
                // SAFETY: memory of ours, whose results before are handed out.
                unsafe { slot.outputs.read_rows(store, (0, len_out), &rows) }?;
                let stored = Arc::new(record_event(store)?);
                slot.stored = Some(stored.clone());
                // SAFETY: nothing is copied there before this piece is finished; the chunks are disjoint
                // and borrowed until all pieces are.
                unsafe { hand.add(stored, (start, len_out), planned.targets) };
                return Ok(());
            }
            _ => {
                let tables = (planned.outputs(), planned.results());
                // SAFETY: the list holds the places of chunks that are borrowed until `wait`.
                unsafe { program.move_chunks(store, Way::Back, tables, count, len_out) }?;
            }
        }
        slot.stored = Some(Arc::new(record_event(store)?));
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

/// Words of a list as addresses.
fn addresses(words: &[f64]) -> Vec<u64> {
    words.iter().map(|word| word.to_bits()).collect()
}
