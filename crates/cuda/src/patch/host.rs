//! Page-locked memory that a backend gave out or locked for its owner, and where it lies: chunks in it
//! need no packing.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, RwLock};

use cudarc::driver::CudaContext;
use rayon::prelude::*;
use temblor_backend::{Error, HostMemory, Result};

use crate::memory::{Pinned, Registered};

/// Chunks that a thread looks up; of 10^5 one alone takes 2 % of the time in which they cross the bus.
const PART: usize = 1 << 13;

/// Where memory lies that the device reaches: from start to end, bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges(Arc<RwLock<BTreeMap<usize, usize>>>);

impl Ranges {
    pub(super) fn add(&self, start: usize, end: usize) {
        if let Ok(mut ranges) = self.0.write() {
            ranges.insert(start, end);
        }
    }

    fn remove(&self, start: usize) {
        if let Ok(mut ranges) = self.0.write() {
            ranges.remove(&start);
        }
    }

    /// Whether one range holds all from a place to another.
    pub(super) fn span(&self, start: usize, end: usize) -> bool {
        let Ok(ranges) = self.0.read() else { return false };
        ranges.range(..=start).next_back().is_some_and(|(_, &high)| end <= high)
    }

    /// Whether all chunks lie within, each in one range.
    pub(super) fn hold_all<C: Deref<Target = [f64]> + Sync>(&self, chunks: &[C]) -> bool {
        let hold = |chunks: &[C]| self.hold(chunks.iter().map(|chunk| &**chunk));
        if chunks.len() < 2 * PART { hold(chunks) } else { chunks.par_chunks(PART).all(hold) }
    }

    fn hold<'a>(&self, chunks: impl Iterator<Item = &'a [f64]>) -> bool {
        let Ok(ranges) = self.0.read() else { return false };
        // Most chunks lie in the range of the one before.
        let mut last = 0..0;
        for chunk in chunks {
            let place = chunk.as_ptr_range();
            let (start, end) = (place.start as usize, place.end as usize);
            if start < last.start || end > last.end {
                match ranges.range(..=start).next_back() {
                    Some((&low, &high)) if end <= high => last = low..high,
                    _ => return false,
                }
            }
        }
        true
    }
}

/// Page-locked memory; known to the backend for as long as it lives.
#[derive(Debug)]
pub(super) struct Locked {
    memory: Pinned,
    values: usize,
    ranges: Ranges,
}

impl Locked {
    /// So many values, zero.
    pub(super) fn new(context: &Arc<CudaContext>, ranges: &Ranges, values: usize) -> Result<Self> {
        if values > isize::MAX.unsigned_abs() / 16 {
            return Err(Error::Invalid {
                what: format!("{values} values of host memory"),
                remedy: "ask for fewer".into(),
            });
        }
        // One value more than is given out: so no two ranges touch, and chunks that follow each other
        // without a gap lie in one allocation, as a copy needs it.
        let memory = Pinned::zeros(context, 2 * (values + 1))?;
        let locked = Self { memory, values, ranges: ranges.clone() };
        if locked.memory.reachable() {
            let place = locked.values().as_ptr_range();
            ranges.add(place.start as usize, place.end as usize);
        }
        Ok(locked)
    }
}

impl HostMemory for Locked {
    fn values(&self) -> &[f64] {
        &self.memory.doubles()[..self.values]
    }

    fn values_mut(&mut self) -> &mut [f64] {
        &mut self.memory.doubles_mut()[..self.values]
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.ranges.remove(self.memory.doubles().as_ptr() as usize);
    }
}

/// Memory of the caller's; locked, and known to the backend, for as long as this lives.
#[derive(Debug)]
pub(super) struct Borrowed<'a> {
    memory: Registered<'a>,
    ranges: Ranges,
}

impl<'a> Borrowed<'a> {
    pub(super) fn new(
        context: &Arc<CudaContext>,
        ranges: &Ranges,
        memory: &'a mut [f64],
    ) -> Result<Self> {
        let memory = Registered::new(context, memory)?;
        if memory.reachable() {
            let place = memory.doubles().as_ptr_range();
            ranges.add(place.start as usize, place.end as usize);
        }
        Ok(Self { memory, ranges: ranges.clone() })
    }
}

impl HostMemory for Borrowed<'_> {
    fn values(&self) -> &[f64] {
        self.memory.doubles()
    }

    fn values_mut(&mut self) -> &mut [f64] {
        self.memory.doubles_mut()
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if !self.values().is_empty() {
            self.ranges.remove(self.values().as_ptr() as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(values: &[f64]) -> (usize, usize) {
        let place = values.as_ptr_range();
        (place.start as usize, place.end as usize)
    }

    #[test]
    fn chunks_are_held_wherever_they_lie_in_the_ranges() {
        let (first, second) = (vec![0.0; 100], vec![0.0; 50]);
        let ranges = Ranges::default();
        for values in [&first, &second] {
            let (start, end) = place(values);
            ranges.add(start, end);
        }
        let chunks = [&second[49..], &first[..7], &first[93..], &second[..], &first[50..57]];
        assert!(ranges.hold(chunks.into_iter()));
        assert!(ranges.hold(std::iter::empty()));
    }

    #[test]
    fn a_chunk_that_leaves_its_range_is_not_held() {
        let values = vec![0.0; 100];
        let ranges = Ranges::default();
        let (start, end) = place(&values[10..90]);
        ranges.add(start, end);
        assert!(ranges.hold([&values[10..90]].into_iter()));
        for outside in [&values[9..20], &values[80..91], &values[..], &values[..5], &values[95..]] {
            assert!(!ranges.hold([&values[20..30], outside].into_iter()), "{:?}", place(outside));
            let (low, high) = place(outside);
            assert!(!ranges.span(low, high), "{low} to {high}");
        }
        assert!(ranges.span(start + 8, end) && !ranges.span(start, end + 8));
    }

    #[test]
    fn one_of_many_chunks_that_lies_elsewhere_is_found() {
        let (values, elsewhere) = (vec![0.0; 1000], vec![0.0; 10]);
        let ranges = Ranges::default();
        let (start, end) = place(&values);
        ranges.add(start, end);
        let mut chunks: Vec<&[f64]> = values.chunks(10).cycle().take(5 * PART + 7).collect();
        assert!(ranges.hold_all(&chunks));
        for at in [0, PART, 5 * PART + 6] {
            let kept = std::mem::replace(&mut chunks[at], &elsewhere);
            assert!(!ranges.hold_all(&chunks), "chunk {at}");
            chunks[at] = kept;
        }
    }

    #[test]
    fn what_was_given_back_is_not_held() {
        let values = vec![0.0; 100];
        let ranges = Ranges::default();
        let (start, end) = place(&values);
        ranges.add(start, end);
        ranges.remove(start);
        assert!(!ranges.hold([&values[..]].into_iter()));
    }
}
