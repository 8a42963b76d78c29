//! What the card must know of the chunks of a call: places on both sides and cells, piece by piece, written
//! by the host into page-locked memory and copied for several pieces at a time, since the copy engine
//! takes a pause before each copy, short ones too.

use cudarc::driver::CudaStream;
use temblor_backend::{Cell, Result};

use super::crossing::{self, Crossing};
use super::host::Ranges;
use super::line::by_place;
use super::set::numbers;
use crate::memory::{Buffer, Pinned};

/// Words of a chunk: its two addresses, its cell, the place of its results on the card, one unused so that
/// cells lie at multiples of 16 bytes.
const WORDS: usize = 12;

/// Values of a line of memory: results that a kernel stores lie on the card as they do on the host,
/// from a boundary of 128 bytes on.
pub(super) const LINE: usize = 16;

/// What is asked for.
pub(super) struct Call<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) inputs: &'a [&'a [f64]],
    /// Numbers of the chunks in the order in which they are taken.
    pub(super) order: &'a [usize],
    pub(super) speeds: bool,
}

/// Where the buffers of a piece are, and what goes into them.
pub(super) struct Ends {
    /// Address of, and values in, the buffer for a stretch.
    pub(super) raw: (u64, usize),
    /// Address of the results.
    pub(super) outputs: u64,
    /// Values of an input and of a result.
    pub(super) lens: [usize; 2],
    /// Values from a result to the next on the card, where nothing else is wanted.
    pub(super) pitch: usize,
    /// What copies may be made of.
    pub(super) copies: crossing::Copies,
}

/// How a piece goes.
pub(super) struct Planned {
    pub(super) there: Crossing,
    pub(super) back: Crossing,
    /// Values from a result to the next on the card.
    pub(super) pitch: usize,
    /// Addresses on the host of the results in the order in which they lie on the card.
    pub(super) targets: Vec<usize>,
    /// Address of the piece's words on the card, and its chunks.
    at: u64,
    count: usize,
}

impl Planned {
    fn word(&self, n: usize) -> u64 {
        self.at + 8 * (n * self.count) as u64
    }

    /// Table of inputs: on the host, or within the stretch on the card.
    pub(super) fn inputs(&self) -> u64 {
        self.word(0)
    }

    /// Table of outputs on the host.
    pub(super) fn outputs(&self) -> u64 {
        self.word(1)
    }

    /// Cells.
    pub(super) fn cells(&self) -> u64 {
        self.word(2)
    }

    /// Table of results on the card.
    pub(super) fn results(&self) -> u64 {
        self.word(10)
    }
}

/// The words of all chunks of a batch, on both sides.
pub(super) struct List {
    host: Pinned,
    card: Buffer,
    /// Of a piece: addresses on one side, and chunks in the order of their outputs' addresses.
    places: Vec<usize>,
    back: Vec<usize>,
}

impl List {
    pub(super) fn new(stream: &CudaStream) -> Result<Self> {
        let host = Pinned::zeros(stream.context(), 0)?;
        let card = Buffer::zeros(stream, 0)?;
        Ok(Self { host, card, places: Vec::new(), back: Vec::new() })
    }

    /// Makes room for so many chunks.
    pub(super) fn reserve(&mut self, stream: &CudaStream, count: usize) -> Result<()> {
        let elements = 2 * WORDS * count;
        if self.card.elements() < elements {
            self.host = Pinned::zeros(stream.context(), elements)?;
            self.card = Buffer::zeros(stream, elements)?;
        }
        Ok(())
    }

    /// Queues the copy of the words of chunks.
    pub(super) fn send(&self, stream: &CudaStream, chunks: std::ops::Range<usize>) -> Result<()> {
        let words = &self.host.doubles()[WORDS * chunks.start..WORDS * chunks.end];
        self.card.fill_at(stream, 2 * WORDS * chunks.start, words)
    }

    /// Writes the words of a piece, the chunks from `first` on in the order of the call.
    pub(super) fn write(
        &mut self,
        (first, part): (usize, &[usize]),
        call: &Call<'_>,
        outputs: &mut [&mut [f64]],
        ends: &Ends,
        host: &Ranges,
    ) -> Planned {
        let (count, [len, len_out]) = (part.len(), ends.lens);
        let (raw, room) = ends.raw;
        let copies = ends.copies;
        let words = &mut self.host.doubles_mut()[WORDS * first..WORDS * (first + count)];
        let (from, rest) = words.split_at_mut(count);
        let (to, rest) = rest.split_at_mut(count);
        let (flat, results) = rest.split_at_mut(8 * count);

        let places = &mut self.places;
        places.clear();
        places.extend(part.iter().map(|&k| call.inputs[k].as_ptr() as usize));
        let there = crossing::inputs(places, (len, room), copies, host);
        let moved = match &there {
            Crossing::Stretch(whole) => raw.wrapping_sub(whole.start as u64),
            _ => 0,
        };
        for (word, &place) in from.iter_mut().zip(&*places) {
            *word = f64::from_bits((place as u64).wrapping_add(moved));
        }

        places.clear();
        places.extend(part.iter().map(|&k| outputs[k].as_mut_ptr() as usize));
        for (word, &place) in to.iter_mut().zip(&*places) {
            *word = f64::from_bits(place as u64);
        }
        by_place(places, &mut self.back);
        let targets: Vec<usize> = self.back.iter().map(|&q| places[q]).collect();
        let back = crossing::outputs(&targets, len_out, copies, host);

        let flat = flat.chunks_exact_mut(8);
        flat.zip(part).for_each(|(to, &k)| to.copy_from_slice(&numbers(&call.cells[k])));
        let pitch = match &back {
            // Without gaps on the card either, so that the rows are one.
            Crossing::Rows(rows) if rows.len() == 1 && rows[0].step == len_out => len_out,
            Crossing::Host => len_out,
            Crossing::Kernel => ends.pitch + LINE,
            _ => ends.pitch,
        };
        for (r, &q) in self.back.iter().enumerate() {
            let shift = match &back {
                Crossing::Kernel => places[q] / 8 % LINE,
                _ => 0,
            };
            results[q] = f64::from_bits(ends.outputs + 8 * (r * pitch + shift) as u64);
        }
        let at = self.card.address() + 8 * (WORDS * first) as u64;
        Planned { there, back, pitch, targets, at, count }
    }

    /// Places of the outputs of a piece on the host and of its results on the card.
    pub(super) fn outputs(&self, first: usize, count: usize) -> (&[f64], &[f64]) {
        let words = &self.host.doubles()[WORDS * first..WORDS * (first + count)];
        (&words[count..2 * count], &words[10 * count..11 * count])
    }

    /// Places of the inputs of a piece on the host.
    pub(super) fn inputs(&self, first: usize, count: usize) -> &[f64] {
        &self.host.doubles()[WORDS * first..WORDS * first + count]
    }
}
