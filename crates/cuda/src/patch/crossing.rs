//! How the chunks of a piece cross the bus: where they lie side by side by one copy, where they lie at
//! equal distances by copies of rows, else by a kernel that reaches each at its place.

use super::host::Ranges;
use super::line::{Stretch, rows, stretch};
use crate::memory::HostRows;

/// Bytes that a copy of rows moves at least, on average: the copy engine takes a pause between copies.
const COPY: usize = 256 << 10;

/// A way across.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// One copy, small gaps included; only towards the card.
    Stretch(Stretch),
    /// Copies of rows, in the order of places.
    Rows(Vec<HostRows>),
    /// A kernel.
    Kernel,
}

/// Copies of rows that chunks may take, if few enough and each within one range.
fn few_rows<'a>(
    chunks: impl ExactSizeIterator<Item = &'a [f64]>,
    len: usize,
    host: &Ranges,
) -> Option<Vec<HostRows>> {
    let most = (8 * len * chunks.len() / COPY).max(1);
    let found = rows(chunks, most)?;
    let within = |row: &HostRows| {
        let start = row.start as usize;
        host.span(start, start + 8 * (row.step * (row.count - 1) + row.len))
    };
    found.iter().all(within).then_some(found)
}

/// The way of inputs in the order of their places; a stretch takes `room` values at most.
pub(super) fn inputs<'a, I>(chunks: I, len: usize, room: usize, host: &Ranges) -> Crossing
where
    I: ExactSizeIterator<Item = &'a [f64]> + Clone,
{
    if let Some(found) = stretch(chunks.clone()) {
        let start = found.start as usize;
        if found.values <= room && host.span(start, start + 8 * found.values) {
            return Crossing::Stretch(found);
        }
    }
    few_rows(chunks, len, host).map_or(Crossing::Kernel, Crossing::Rows)
}

/// The way of results in the order of their places: nothing between them may be touched.
pub(super) fn outputs<'a>(
    chunks: impl ExactSizeIterator<Item = &'a [f64]>,
    len: usize,
    host: &Ranges,
) -> Crossing {
    few_rows(chunks, len, host).map_or(Crossing::Kernel, Crossing::Rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of `len` values at places, all in one range.
    fn ways(places: &[usize], len: usize) -> [Crossing; 2] {
        let values = vec![0.0; places.iter().max().expect("there are some") + len];
        let ranges = Ranges::default();
        let place = values.as_ptr_range();
        ranges.add(place.start as usize, place.end as usize);
        let chunks = || places.iter().map(|&place| &values[place..place + len]);
        [inputs(chunks(), len, 1 << 20, &ranges), outputs(chunks(), len, &ranges)]
    }

    #[test]
    fn gaps_are_copied_in_vain_towards_the_card_only() {
        let [there, back] = ways(&[0, 33, 66, 99], 32);
        assert!(matches!(there, Crossing::Stretch(whole) if whole.values == 131), "{there:?}");
        assert!(matches!(&back, Crossing::Rows(rows) if rows.len() == 1), "{back:?}");
    }

    #[test]
    fn wide_gaps_make_rows_both_ways() {
        for way in ways(&[0, 48, 96, 144], 32) {
            let Crossing::Rows(rows) = way else { panic!("{way:?}") };
            assert_eq!(
                rows.iter().map(|r| (r.step, r.len, r.count)).collect::<Vec<_>>(),
                [(48, 32, 4)]
            );
        }
    }

    #[test]
    fn chunks_at_any_places_are_reached_by_a_kernel_unless_they_are_large() {
        let places = [0, 1, 3, 6, 10, 15].map(|n| n * 40_000);
        assert_eq!(ways(&places, 100), [Crossing::Kernel, Crossing::Kernel]);
        // 312 KiB each: at most six copies, and three do.
        for way in ways(&places, 40_000) {
            assert!(matches!(&way, Crossing::Rows(rows) if rows.len() == 3), "{way:?}");
        }
    }

    #[test]
    fn rows_that_leave_their_range_are_reached_by_a_kernel() {
        let values = vec![0.0; 300];
        let ranges = Ranges::default();
        let place = |n: usize| &raw const values[n] as usize;
        ranges.add(place(0), place(110));
        ranges.add(place(190), place(299));
        let chunks = || [0, 100, 200].into_iter().map(|n| &values[n..n + 10]);
        assert_eq!(inputs(chunks(), 10, 300, &ranges), Crossing::Kernel);
        assert_eq!(outputs(chunks(), 10, &ranges), Crossing::Kernel);
        let two = || [0, 100].into_iter().map(|n| &values[n..n + 10]);
        assert!(matches!(outputs(two(), 10, &ranges), Crossing::Rows(_)));
    }

    #[test]
    fn a_stretch_takes_no_more_than_its_room() {
        let values = vec![0.0; 100];
        let ranges = Ranges::default();
        let place = values.as_ptr_range();
        ranges.add(place.start as usize, place.end as usize);
        let chunks = || values.chunks_exact(20);
        assert!(matches!(inputs(chunks(), 20, 100, &ranges), Crossing::Stretch(_)));
        assert!(matches!(inputs(chunks(), 20, 99, &ranges), Crossing::Rows(_)));
    }
}
