//! Chunks of a call in the order of their places on the host: those that lie side by side cross the bus
//! together, small gaps included, whatever the order in which they were given; those at equal distances
//! are rows of one copy.

use crate::memory::HostRows;

/// Bytes of a value.
const BYTES: usize = size_of::<f64>();

/// A stretch of memory that holds chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Address of its start.
    pub(super) start: usize,
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

/// The stretch of chunks of `len` values at addresses in their order; none where they overlap, or where more
/// than one of `gaps` values lies between them.
pub(super) fn stretch(places: &[usize], len: usize, gaps: usize) -> Option<Stretch> {
    let (start, last) = (*places.first()?, *places.last()?);
    if places.windows(2).any(|pair| pair[1] < pair[0] + BYTES * len) {
        return None;
    }
    let (values, taken) = ((last - start) / BYTES + len, len * places.len());
    let near = values - taken <= values / gaps;
    let even = || places.iter().all(|place| (place - start).is_multiple_of(2 * BYTES));
    near.then(|| Stretch { start, values, dense: values == taken, even: even() })
}

/// Values from a row to the next, at most: what a copy of rows takes (2^31 - 1 bytes).
const STEP: usize = (1 << 28) - 1;

/// Chunks of `len` values at addresses in their order as rows of at most so many copies; none where they
/// overlap, or where more copies would be needed.
pub(super) fn rows(places: &[usize], len: usize, most: usize) -> Option<Vec<HostRows>> {
    let mut all: Vec<HostRows> = Vec::new();
    let mut end = 0;
    for &start in places {
        if start < end {
            return None;
        }
        end = start + BYTES * len;
        if let Some(last) = all.last_mut() {
            let step = (start - last.start) / BYTES;
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

/// Chunks that are sorted by place for every call.
const FEW: usize = 256;

/// Numbers of chunks by their addresses, where that takes no longer than to list them: where there are few
/// chunks, or where they lie at equal distances. Else the numbers as they are.
pub(super) fn by_place(places: &[usize], order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..places.len());
    if places.is_sorted() {
        return;
    }
    if places.len() <= FEW {
        order.sort_unstable_by_key(|&q| places[q]);
        return;
    }
    let low = places.iter().min().expect("there are more than a few");
    let high = places.iter().max().expect("there are more than a few");
    let step = (high - low) / (places.len() - 1);
    if step == 0 {
        return;
    }
    // Chunks do not overlap: numbers below their count, all different, are all numbers.
    let number = |place: usize| {
        let n = (place - low) / step;
        (n * step == place - low && n < places.len()).then_some(n)
    };
    if places.iter().all(|&place| number(place).is_some()) {
        for (q, &place) in places.iter().enumerate() {
            order[number(place).expect("tested above")] = q;
        }
    }
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

    /// Addresses of values.
    fn at(places: &[usize]) -> Vec<usize> {
        places.iter().map(|place| 4096 + 8 * place).collect()
    }

    #[test]
    fn a_stretch_spans_small_gaps_and_no_others() {
        let of = |places: &[usize], len: usize| {
            let found = stretch(&at(places), len, 32)?;
            assert_eq!(found.start, 4096 + 8 * places[0]);
            Some((found.values, found.dense, found.even))
        };
        assert_eq!(of(&[10, 110], 100), Some((200, true, true)));
        assert_eq!(of(&[10, 111], 100), Some((201, false, false)));
        assert_eq!(of(&[10, 112], 100), Some((202, false, true)));
        assert_eq!(of(&[10, 110, 219], 100), Some((309, false, false)));
        assert_eq!(of(&[10, 110, 220], 100), None, "10 of 310 are too many");
        assert_eq!(of(&[10, 109], 100), None, "they overlap");
        assert_eq!(of(&[110, 10], 100), None, "not in order");
        assert_eq!(of(&[], 100), None);
    }

    #[test]
    fn chunks_at_equal_distances_are_rows_of_few_copies() {
        let of = |places: &[usize], most: usize| {
            let found = rows(&at(places), 10, most)?;
            let place = |row: &HostRows| {
                assert_eq!(row.len, 10);
                ((row.start - 4096) / 8, row.step, row.count)
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

    #[test]
    fn many_chunks_are_ordered_where_they_lie_at_equal_distances() {
        let mut order = Vec::new();
        by_place(&at(&[30, 10, 50]), &mut order);
        assert_eq!(order, [1, 0, 2], "few are ordered anyway");
        // 7 and 1000 have no common divisor: all places, in another order.
        let mut places: Vec<usize> = (0..1000).map(|k| 12 * (7 * k % 1000)).collect();
        by_place(&at(&places), &mut order);
        assert!(order.iter().enumerate().all(|(n, &q)| places[q] == 12 * n));
        // One off its place: left as they are.
        let last = places.iter().position(|&place| place == 12 * 500).expect("it is there");
        places[last] += 1;
        by_place(&at(&places), &mut order);
        assert!(order.iter().copied().eq(0..1000));
    }
}
