//! Reading a volume: planes, boxes, statistics.

use ndarray::Array3;

use super::{Statistics, Volume, elements};
use crate::Result;
use crate::element::Real;
use crate::statistics::Tally;

/// Numbers read at a time.
const BUFFER_NUMBERS: usize = 1 << 20;

impl Volume {
    /// Planes `start..start + count` along x: shape (count, ny, nz), standard layout.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if the file cannot be read.
    ///
    /// # Panics
    /// If the planes reach past nx.
    pub fn read_planes(&self, start: usize, count: usize) -> Result<Array3<f32>> {
        self.read_region([start, 0, 0], [count, self.shape[1], self.shape[2]])
    }

    /// The whole volume, shape (nx, ny, nz).
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    pub fn read(&self) -> Result<Array3<f32>> {
        self.read_planes(0, self.shape[0])
    }

    /// The box of `shape` nodes from node `start`, standard layout.
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    ///
    /// # Panics
    /// If the box reaches outside.
    pub fn read_region(&self, start: [usize; 3], shape: [usize; 3]) -> Result<Array3<f32>> {
        self.read_region_as(start, shape)
    }

    /// As [`Volume::read_region`], in single or double precision.
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    ///
    /// # Panics
    /// If the box reaches outside.
    pub fn read_region_as<R: Real>(
        &self,
        start: [usize; 3],
        shape: [usize; 3],
    ) -> Result<Array3<R>> {
        R::read_region(self, start, shape)
    }

    pub(crate) fn region<R: Real>(
        &self,
        start: [usize; 3],
        shape: [usize; 3],
    ) -> Result<Array3<R>> {
        for a in 0..3 {
            let fits = start[a].checked_add(shape[a]).is_some_and(|end| end <= self.shape[a]);
            assert!(fits, "region {start:?} + {shape:?} in a volume of {:?}", self.shape);
        }
        let mut out = Array3::from_elem((shape[0], shape[1], shape[2]), R::default());
        if out.is_empty() {
            return Ok(out);
        }
        // On disk the array is (slow, middle, fast) in C order; axes says which of x, y, z each is.
        let axes = self.axes;
        let disk: [usize; 3] = axes.map(|a| self.shape[a]);
        let from: [usize; 3] = axes.map(|a| start[a]);
        let size: [usize; 3] = axes.map(|a| shape[a]);
        let mut reader = RowReader { volume: self, bytes: Vec::new(), values: Vec::new() };
        if let (false, true, Some(whole)) =
            (axes != [0, 1, 2], shape[1..] == self.shape[1..], out.as_slice_mut())
        {
            // Whole planes lie in a row on disk and in memory.
            let begin = (start[0] * disk[1] * disk[2]) as u64;
            reader.read(begin, whole.len(), |at, part| {
                whole[at..at + part.len()].copy_from_slice(part);
            })?;
            return Ok(out);
        }
        let mut target = out.view_mut().permuted_axes(axes);
        // Rows of the region that lie near each other are read together with what is between them.
        let group = (BUFFER_NUMBERS / disk[2].max(1)).clamp(1, size[1]);
        for i in 0..size[0] {
            for first in (0..size[1]).step_by(group) {
                let rows = group.min(size[1] - first);
                let row = (from[0] + i) * disk[1] + from[1] + first;
                let begin = row as u64 * disk[2] as u64 + from[2] as u64;
                let span = (rows - 1) * disk[2] + size[2];
                reader.read(begin, span, |at, part| {
                    scatter(at, part, disk[2], size[2], |j, k, value| {
                        target[[i, first + j, k]] = value;
                    });
                })?;
            }
        }
        Ok(out)
    }

    /// Statistics of all numbers, read once in the file's order; positions are nodes (x, y, z), and
    /// a first one is the first in C order.
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    pub fn statistics(&self) -> Result<Statistics> {
        self.statistics_with(|_| true).map(Tally::finish)
    }

    /// As [`Volume::statistics`]; `go_on` is told how many numbers are done and stops the pass by
    /// saying false.
    ///
    /// # Errors
    /// As [`Volume::read_planes`].
    pub fn statistics_with(&self, mut go_on: impl FnMut(u64) -> bool) -> Result<Tally<[usize; 3]>> {
        let disk = self.axes.map(|a| self.shape[a]);
        let node = |at: usize| {
            let mut node = [0; 3];
            node[self.axes[0]] = at / disk[2] / disk[1];
            node[self.axes[1]] = at / disk[2] % disk[1];
            node[self.axes[2]] = at % disk[2];
            node
        };
        let mut tally = Tally::default();
        let total = elements(self.shape).unwrap_or(0);
        let mut reader = RowReader { volume: self, bytes: Vec::new(), values: Vec::<f32>::new() };
        for begin in (0..total).step_by(BUFFER_NUMBERS) {
            let count = BUFFER_NUMBERS.min(total - begin);
            reader.read(begin as u64, count, |at, part| {
                tally.add(part, |n| node(begin + at + n));
            })?;
            if !go_on((begin + count) as u64) {
                break;
            }
        }
        Ok(tally)
    }
}

/// Hands the elements of a span that belong to a region's rows to `put(row, column, value)`; the
/// span starts at element `at` of the first row and rows are `pitch` elements apart.
fn scatter<R: Real>(
    at: usize,
    part: &[R],
    pitch: usize,
    width: usize,
    mut put: impl FnMut(usize, usize, R),
) {
    let (mut row, mut column) = (at / pitch, at % pitch);
    let mut n = 0;
    while n < part.len() {
        let run = width.saturating_sub(column).min(part.len() - n);
        for k in 0..run {
            put(row, column + k, part[n + k]);
        }
        n += (pitch - column).max(1);
        row += 1;
        column = 0;
    }
}

/// Reads spans of numbers through one buffer.
struct RowReader<'a, R> {
    volume: &'a Volume,
    bytes: Vec<u8>,
    values: Vec<R>,
}

impl<R: Real> RowReader<'_, R> {
    /// Reads `count` numbers from number `begin` of the file; `take` gets pieces with their position
    /// in the span.
    fn read(&mut self, begin: u64, count: usize, mut take: impl FnMut(usize, &[R])) -> Result<()> {
        let most = BUFFER_NUMBERS;
        self.values.resize(count.min(most), R::default());
        for at in (0..count).step_by(most) {
            let n = most.min(count - at);
            let values = &mut self.values[..n];
            let volume = self.volume;
            volume.store.read(&volume.path, begin + at as u64, &mut self.bytes, values)?;
            take(at, values);
        }
        Ok(())
    }
}
