//! Chunks of a call in the order of their places on the host: those that lie side by side cross the bus
//! together, small gaps included, whatever the order in which they were given; those at equal distances
//! are rows of one copy.

use crate::memory::HostRows;

/// Values that a copy may take in vain, of all that it takes.
const GAPS: usize = 16;

/// A stretch of memory that holds chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Where it starts.
    pub(super) start: *const f64,
    /// Its values.
    pub(super) values: usize,
    /// Whether chunks follow each other without a gap.
    pub(super) dense: bool,
    /// Whether all chunks lie an even number of values from the start.
    pub(super) even: bool,
}

/// Numbers of chunks by the places of their inputs, kept from call to call.
#[derive(Debug, Default)]
pub(super) struct Line {
    given: Vec<usize>,
    order: Vec<usize>,
}

impl Line {
    /// The order for these chunks.
    pub(super) fn of(&mut self, inputs: &[&[f64]]) -> &[usize] {
        let places = || inputs.iter().map(|chunk| chunk.as_ptr() as usize);
        if !self.given.iter().copied().eq(places()) {
            self.given.clear();
            self.given.extend(places());
            self.order.clear();
            self.order.extend(0..inputs.len());
            if !self.given.is_sorted() {
                self.order.sort_unstable_by_key(|&k| self.given[k]);
            }
        }
        &self.order
    }
}

/// The stretch of chunks in the order of their places; none where they overlap or lie far apart.
pub(super) fn stretch<'a>(chunks: impl Iterator<Item = &'a [f64]>) -> Option<Stretch> {
    let mut chunks = chunks.peekable();
    let start = chunks.peek()?.as_ptr();
    let (mut end, mut taken, mut even) = (start as usize, 0, true);
    for chunk in chunks {
        let place = chunk.as_ptr_range();
        if (place.start as usize) < end {
            return None;
        }
        even &= (place.start as usize - start as usize).is_multiple_of(16);
        end = place.end as usize;
        taken += chunk.len();
    }
    let values = (end - start as usize) / size_of::<f64>();
    let near = values - taken <= values / GAPS;
    near.then_some(Stretch { start, values, dense: values == taken, even })
}

/// Values from a row to the next, at most: what a copy of rows takes (2^31 - 1 bytes).
const STEP: usize = (1 << 28) - 1;

/// Chunks of one length in the order of their places as rows of at most so many copies; none where they
/// overlap, or where more copies would be needed.
pub(super) fn rows<'a>(
    chunks: impl Iterator<Item = &'a [f64]>,
    most: usize,
) -> Option<Vec<HostRows>> {
    let mut all: Vec<HostRows> = Vec::new();
    let mut end = 0;
    for chunk in chunks {
        let (start, len) = (chunk.as_ptr(), chunk.len());
        if (start as usize) < end {
            return None;
        }
        end = start as usize + size_of_val(chunk);
        if let Some(last) = all.last_mut() {
            let step = (start as usize - last.start as usize) / size_of::<f64>();
            // The second row makes the distance, the others keep it.
            if last.count == 1 && step <= STEP {
                (last.step, last.count) = (step, 2);
                continue;
            }
            if step == last.count * last.step {
                last.count += 1;
                continue;
            }
        }
        if all.len() == most {
            return None;
        }
        all.push(HostRows { start, step: len, len, count: 1 });
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_ordered_by_place_and_again_when_they_move() {
        let values = vec![0.0; 100];
        let chunks = |places: &[usize]| -> Vec<&[f64]> {
            places.iter().map(|&place| &values[place..place + 10]).collect()
        };
        let mut line = Line::default();
        assert_eq!(line.of(&chunks(&[40, 0, 80, 20])), [1, 3, 0, 2]);
        assert_eq!(line.of(&chunks(&[40, 0, 80, 20])), [1, 3, 0, 2]);
        assert_eq!(line.of(&chunks(&[0, 10, 20])), [0, 1, 2]);
        assert_eq!(line.of(&chunks(&[20, 10])), [1, 0]);
        assert!(line.of(&[]).is_empty());
    }

    #[test]
    fn a_stretch_spans_small_gaps_and_no_others() {
        let values = vec![0.0; 1000];
        let of = |places: &[(usize, usize)]| {
            let found = stretch(places.iter().map(|&(from, to)| &values[from..to]));
            found.map(|s| (s.start == &raw const values[places[0].0], s.values, s.dense))
        };
        assert_eq!(of(&[(10, 110), (110, 210)]), Some((true, 200, true)));
        assert_eq!(of(&[(10, 110), (111, 211)]), Some((true, 201, false)));
        assert_eq!(of(&[(10, 110), (120, 170), (181, 330)]), None, "21 of 320 are too many");
        assert_eq!(of(&[(10, 110), (120, 320)]), Some((true, 310, false)));
        assert_eq!(of(&[(10, 110), (109, 209)]), None, "they overlap");
        assert_eq!(of(&[(110, 210), (10, 110)]), None, "not in order");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn chunks_at_equal_distances_are_rows_of_few_copies() {
        let values = vec![0.0; 1000];
        let of = |places: &[usize], most: usize| {
            let found = rows(places.iter().map(|&place| &values[place..place + 10]), most)?;
            let place = |row: &HostRows| {
                assert_eq!(row.len, 10);
                ((row.start as usize - values.as_ptr() as usize) / 8, row.step, row.count)
            };
            Some(found.iter().map(place).collect::<Vec<_>>())
        };
        assert_eq!(of(&[5, 17, 29, 41], 1), Some(vec![(5, 12, 4)]));
        assert_eq!(of(&[5, 15, 25], 1), Some(vec![(5, 10, 3)]), "without gaps");
        assert_eq!(of(&[7], 1), Some(vec![(7, 10, 1)]));
        let two = [0, 20, 40, 90, 101, 112];
        assert_eq!(of(&two, 2), Some(vec![(0, 20, 3), (90, 11, 3)]));
        assert_eq!(of(&two, 1), None, "more copies than were allowed");
        assert_eq!(of(&[0, 20, 29], 2), None, "they overlap");
        assert_eq!(of(&[20, 0], 2), None, "not in order");
        assert_eq!(of(&[], 2), None);
    }
}
