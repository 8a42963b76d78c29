//! A wavefield as codes, row by row, without a halo.

#![allow(
    unsafe_code,
    reason = "owner: codes and exponents lie in arrays of f32, threads share rows"
)]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one argument covers a row's address and its slice"
)]

use std::io::{Read, Write};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use rayon::prelude::*;

use super::codecs::Codec;
use super::noise::Noise;
use super::tiles::TILE;
use crate::denormals::FlushDenormals;
use crate::memory::AlignedVec;

/// Where rows lie.
#[derive(Debug, Clone, Copy)]
struct Shape {
    codec: Codec,
    /// Rows of the grid.
    rows: usize,
    /// Values of a row, whole vectors.
    row: usize,
}

impl Shape {
    /// Words of a row.
    const fn words(&self) -> usize {
        self.row * self.codec.words()
    }

    /// Exponents of a row.
    const fn exponents(&self) -> usize {
        self.codec.exponents(self.row)
    }

    /// Singles that all words take, and all exponents.
    const fn singles(&self) -> [usize; 2] {
        [self.rows * self.words() / 2, (self.rows * self.exponents()).div_ceil(4)]
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Packed {
    shape: Shape,
    words: AlignedVec,
    exponents: AlignedVec,
}

impl Packed {
    /// Bytes that [`Packed::new`] allocates.
    pub(super) fn bytes(codec: Codec, rows: usize, row: usize) -> u64 {
        Shape { codec, rows, row }.singles().map(AlignedVec::bytes).iter().sum()
    }

    /// Zeros; `row` is a multiple of 16.
    pub(super) fn new(codec: Codec, rows: usize, row: usize) -> Self {
        let shape = Shape { codec, rows, row };
        let [words, exponents] = shape.singles().map(AlignedVec::zeroed);
        Self { shape, words, exponents }
    }

    /// All values zero: so is a tile of zero codes, whatever its exponent.
    pub(super) fn clear(&mut self) {
        for array in [&mut self.words, &mut self.exponents] {
            array.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0));
        }
    }

    /// Rows that threads read and write.
    pub(super) fn shared(&mut self) -> Shared<'_> {
        let (words, exponents) = (self.words.pointer().cast(), self.exponents.pointer().cast());
        Shared { shape: self.shape, words, exponents, owner: PhantomData }
    }

    /// Codes and exponents of the values from `from` (a multiple of a tile) to `to` of a row.
    fn part(&self, r: usize, from: usize, to: usize) -> (&[u16], &[i8]) {
        let Shape { codec, rows, row } = self.shape;
        assert!(r < rows && from <= to && to <= row, "values {from} to {to} of row {r}");
        let words = codec.words();
        let first = r * self.shape.words() + from * words;
        let (tile, tiles) = (from / TILE, codec.exponents(to - from));
        // SAFETY: the row and its part lie inside by the assertion; any bits are codes.
        let codes = unsafe {
            let start = self.words.as_ptr().cast::<u16>().add(first);
            std::slice::from_raw_parts(start, (to - from) * words)
        };
        // SAFETY: as above.
        let exponents = unsafe {
            let start = self.exponents.as_ptr().cast::<i8>().add(r * self.shape.exponents() + tile);
            std::slice::from_raw_parts(start, tiles)
        };
        (codes, exponents)
    }

    /// Reads a row.
    pub(super) fn read(&self, r: usize, values: &mut [f32]) {
        let _flush = FlushDenormals::new();
        let (codes, exponents) = self.part(r, 0, self.shape.row);
        self.shape.codec.decode(codes, exponents, values);
    }

    /// Reads the nodes of a row into `values`, which grows to the tiles that hold them, and gives
    /// these nodes.
    pub(super) fn nodes<'a>(
        &self,
        r: usize,
        nodes: &Range<usize>,
        values: &'a mut Vec<f32>,
    ) -> &'a [f32] {
        let _flush = FlushDenormals::new();
        let from = nodes.start / TILE * TILE;
        let to = nodes.end.next_multiple_of(TILE).min(self.shape.row);
        values.resize(to - from, 0.0);
        let (codes, exponents) = self.part(r, from, to);
        self.shape.codec.decode(codes, exponents, values);
        &values[nodes.start - from..nodes.end - from]
    }

    /// Stores a row.
    pub(super) fn write(&mut self, r: usize, values: &[f32]) {
        let _flush = FlushDenormals::new();
        // SAFETY: the rows are borrowed exclusively.
        unsafe { self.shared().write(r, values) };
    }

    /// Writes all codes and exponents, little-endian.
    pub(super) fn save(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for r in 0..self.shape.rows {
            let (codes, exponents) = self.part(r, 0, self.shape.row);
            bytes.clear();
            bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
            bytes.extend(exponents.iter().map(|e| e.cast_unsigned()));
            to.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads what [`Packed::save`] wrote.
    pub(super) fn restore(&mut self, from: &mut dyn Read) -> std::io::Result<()> {
        let (words, tiles) = (self.shape.words(), self.shape.exponents());
        let mut bytes = vec![0; 2 * words + tiles];
        let rows = self.shape.rows;
        let shared = self.shared();
        for r in 0..rows {
            from.read_exact(&mut bytes)?;
            let (codes, exponents) = bytes.split_at(2 * words);
            // SAFETY: the rows are borrowed exclusively.
            let (to, to_exponents) = unsafe { shared.row(r) };
            for (to, code) in to.iter_mut().zip(codes.as_chunks::<2>().0) {
                *to = u16::from_le_bytes(*code);
            }
            to_exponents.iter_mut().zip(exponents).for_each(|(to, e)| *to = e.cast_signed());
        }
        Ok(())
    }
}

/// Zeroed words of 16 bits in large pages.
#[derive(Debug)]
pub(super) struct Words(AlignedVec);

impl Words {
    /// Bytes that [`Words::zeroed`] allocates.
    pub(super) const fn bytes(len: usize) -> u64 {
        AlignedVec::bytes(len.div_ceil(2))
    }

    /// `len` zeros, one more if that is odd.
    pub(super) fn zeroed(len: usize) -> Self {
        Self(AlignedVec::zeroed(len.div_ceil(2)))
    }
}

impl Deref for Words {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        // SAFETY: an f32 is two words, of any bits, and more strictly aligned.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 2 * self.0.len()) }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u16] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.pointer().cast(), 2 * self.0.len()) }
    }
}

/// The rows of a wavefield as threads of a step share them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'a> {
    shape: Shape,
    words: *mut u16,
    exponents: *mut i8,
    owner: PhantomData<&'a mut Packed>,
}

// SAFETY: the arrays are borrowed exclusively for 'a; who touches which row when is the contract of
// the methods.
unsafe impl Sync for Shared<'_> {}
// SAFETY: as above.
unsafe impl Send for Shared<'_> {}

impl Shared<'_> {
    /// Codes and exponents of a row.
    ///
    /// # Safety
    /// Nobody else touches the row while the slices live.
    #[expect(clippy::mut_from_ref, reason = "rows are shared out by the caller")]
    unsafe fn row(&self, r: usize) -> (&mut [u16], &mut [i8]) {
        assert!(r < self.shape.rows, "row {r}");
        let (words, tiles) = (self.shape.words(), self.shape.exponents());
        // SAFETY: the row lies inside by the assertion; the caller keeps it to itself.
        let codes = unsafe { std::slice::from_raw_parts_mut(self.words.add(r * words), words) };
        // SAFETY: as above.
        let exponents =
            unsafe { std::slice::from_raw_parts_mut(self.exponents.add(r * tiles), tiles) };
        (codes, exponents)
    }

    /// Reads a row, with denormals as the thread has them.
    ///
    /// # Safety
    /// Nobody writes the row meanwhile.
    pub(super) unsafe fn read(&self, r: usize, values: &mut [f32]) {
        assert!(r < self.shape.rows, "row {r}");
        let (words, tiles) = (self.shape.words(), self.shape.exponents());
        // SAFETY: the row lies inside by the assertion; the caller says that nobody writes it.
        let codes = unsafe { std::slice::from_raw_parts(self.words.add(r * words), words) };
        // SAFETY: as above.
        let exponents = unsafe { std::slice::from_raw_parts(self.exponents.add(r * tiles), tiles) };
        self.shape.codec.decode(codes, exponents, values);
    }

    /// Stores a row, rounded stochastically, with denormals as the thread has them.
    ///
    /// # Safety
    /// Nobody else touches the row meanwhile.
    pub(super) unsafe fn write_noisy(&self, r: usize, values: &[f32], noise: Noise) {
        // SAFETY: the caller's contract.
        let (codes, exponents) = unsafe { self.row(r) };
        self.shape.codec.encode_noisy(values, codes, exponents, noise);
    }

    /// Stores a row, with denormals as the thread has them.
    ///
    /// # Safety
    /// Nobody else touches the row meanwhile.
    pub(super) unsafe fn write(&self, r: usize, values: &[f32]) {
        // SAFETY: the caller's contract.
        let (codes, exponents) = unsafe { self.row(r) };
        self.shape.codec.encode(values, codes, exponents);
    }
}
