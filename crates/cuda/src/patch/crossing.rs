//! How the chunks of a piece cross the bus: where they lie side by side by one copy, where they lie at
//! equal distances by copies of rows, where they are large by a copy each, else by a kernel that reaches
//! each at its place. Copies are preferred: while they come one way, a kernel that stores the other way
//! slows both. Small results anywhere may come by one copy, for the host to hand out (`handout`).
// Of the pinned copies, both ways at once, results by rows, a copy each and a kernel: Euler p = 16 (160 KiB)
// 91, 91 and 73 to 76 %, CCZ4 p = 6 (100 KiB) 94, 93 and 82 to 86 %, Euler p = 6 (8 KiB) 92, 83 and 82 to
// 86 %; inputs of 20 KiB by a copy each 10 %.

use super::host::Ranges;
use super::line::{Stretch, rows, stretch};
use crate::memory::HostRows;

/// Bytes that a copy of rows moves at least, on average, where one does not do: the copy engine takes a pause
/// between copies.
// 256 KiB: any two large chunks were such a copy, and Euler p = 16 crossed at 64 % of the pinned copies.
const COPY: usize = 2 << 20;

/// Bytes of a row at least.
const ROW: usize = 1 << 10;

/// Bytes of a chunk at least that has a copy of its own.
const LARGE: usize = 96 << 10;

/// Part of a call's inputs that its results are at least where the host hands them out: of few a kernel
/// slows the copies less than threads that are woken.
// Euler `fd4` p = 3 (results a 27th of the inputs) by a kernel 87, by the host 85 %.
const WORTH: usize = 8;

/// What is chosen for chunks in page-locked memory, of ways that were measured against each other.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossings {
    /// Bytes of a result at most that the host hands out, where results lie anywhere.
    pub handed: usize,
    /// Bytes of a call's results at least that it hands out.
    pub least: usize,
    /// Threads that hand out; the host does so only with as many in the pool.
    pub threads: usize,
    /// Bytes of memory for results that the host hands out; for six pieces at least.
    pub staging: usize,
    /// A copy may take one of so many values in vain.
    pub gaps: usize,
}

impl Default for Crossings {
    fn default() -> Self {
        Self {
            // By a kernel and by the host: Euler `rusanov` p = 3 (1080 B) 74 and 80 % of the pinned copies,
            // p = 6 (8640 B) 78 and 77 %.
            handed: 4 << 10,
            least: 4 << 20,
            // 4 and 12: a hundredth less; staging of 16 and 64 MiB: the same.
            threads: 8,
            staging: 32 << 20,
            // Gaps of 6 % in all, left out by a kernel and copied in vain: p = 3 76 and 80 %, p = 6 74 and
            // 78 %. Wider gaps cost a copy more than the kernel loses.
            gaps: 14,
        }
    }
}

impl Crossings {
    /// Whether the host hands out the results of so many chunks, of so many values there and back, with so
    /// many threads in the pool.
    pub(super) fn hands_out(
        &self,
        count: usize,
        lens: [usize; 2],
        threads: impl FnOnce() -> usize,
    ) -> bool {
        let [input, output] = lens.map(|len| 8 * len);
        output <= self.handed
            && WORTH * output >= input
            && count * output >= self.least
            && threads() >= self.threads
    }
}

/// A way across.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// One copy, small gaps included; only towards the card.
    Stretch(Stretch),
    /// Copies of rows, in the order of places.
    Rows(Vec<HostRows>),
    /// A copy for each chunk, queued by one call.
    Each,
    /// A kernel.
    Kernel,
    /// One copy to memory of ours, from which the host hands out; only back.
    Host,
}

/// What copies there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copies {
    /// Whether the driver takes many copies by one call.
    pub(super) each: bool,
    /// Whether inputs are wanted at multiples of 16 bytes on the card.
    pub(super) aligned: bool,
    /// Whether the host hands out small results that lie anywhere.
    pub(super) handed: bool,
    /// A copy may take one of so many values in vain.
    pub(super) gaps: usize,
}

/// Copies of rows that chunks may take, if few enough and each within one range.
fn few_rows(places: &[usize], len: usize, host: &Ranges) -> Option<Vec<HostRows>> {
    let most = (8 * len * places.len() / COPY).max(1);
    let found = rows(places, len, most)?;
    let within = |row: &HostRows| {
        host.span(row.start, row.start + 8 * (row.step * (row.count - 1) + row.len))
    };
    let wide = 8 * len >= ROW || found.iter().all(|row| row.step == len);
    (wide && found.iter().all(within)).then_some(found)
}

/// The way of what is no stretch and no rows.
fn scattered(len: usize, copies: Copies) -> Crossing {
    if copies.each && 8 * len >= LARGE { Crossing::Each } else { Crossing::Kernel }
}

/// The way of inputs at addresses in their order; a stretch takes `room` values at most.
pub(super) fn inputs(
    places: &[usize],
    (len, room): (usize, usize),
    copies: Copies,
    host: &Ranges,
) -> Crossing {
    let whole = stretch(places, len, copies.gaps).filter(|whole| {
        whole.values <= room && host.span(whole.start, whole.start + 8 * whole.values)
    });
    match whole {
        Some(whole) if whole.dense && (whole.even || !copies.aligned) => Crossing::Stretch(whole),
        // Rows and copies of their own are laid out on the card as the kernel wants them.
        _ => few_rows(places, len, host)
            .filter(|_| 8 * len >= ROW)
            .map(Crossing::Rows)
            .or(whole.filter(|_| scattered(len, copies) == Crossing::Kernel).map(Crossing::Stretch))
            .unwrap_or_else(|| scattered(len, copies)),
    }
}

/// The way of results at addresses in their order: nothing between them may be touched.
pub(super) fn outputs(places: &[usize], len: usize, copies: Copies, host: &Ranges) -> Crossing {
    few_rows(places, len, host).map_or_else(
        || match scattered(len, copies) {
            Crossing::Kernel if copies.handed => Crossing::Host,
            way => way,
        },
        Crossing::Rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Copies = Copies { each: true, aligned: true, handed: false, gaps: 32 };
    const FEW: Copies = Copies { each: false, aligned: false, handed: false, gaps: 32 };
    const HOST: Copies = Copies { handed: true, ..ALL };

    /// One range of so many values, and addresses in it.
    fn held(values: usize, places: &[usize]) -> (Ranges, Vec<usize>) {
        let ranges = Ranges::default();
        ranges.add(4096, 4096 + 8 * values);
        (ranges, places.iter().map(|place| 4096 + 8 * place).collect())
    }

    /// Ways of chunks of `len` values at places, all in one range.
    fn ways(places: &[usize], len: usize, copies: Copies) -> [Crossing; 2] {
        let (ranges, at) = held(places.iter().max().expect("there are some") + len, places);
        [inputs(&at, (len, 1 << 20), copies, &ranges), outputs(&at, len, copies, &ranges)]
    }

    /// Steps and counts of rows.
    fn rows_of(way: &Crossing) -> Vec<(usize, usize)> {
        let Crossing::Rows(rows) = way else { panic!("{way:?}") };
        rows.iter().map(|rows| (rows.step, rows.count)).collect()
    }

    #[test]
    fn chunks_without_gaps_cross_as_one_and_are_laid_out_where_they_must_be_aligned() {
        for (len, copies, plain) in
            [(200, ALL, true), (201, FEW, true), (201, ALL, false), (5, ALL, true)]
        {
            let [there, back] = ways(&[0, len, 2 * len], len, copies);
            let whole = matches!(there, Crossing::Stretch(whole) if whole.dense);
            assert_eq!(whole, plain, "{len} values: {there:?}");
            assert_eq!(rows_of(&back), [(len, 3)]);
        }
    }

    #[test]
    fn chunks_at_equal_distances_are_rows_both_ways() {
        for gap in [1, 100] {
            for way in ways(&[0, 200 + gap, 2 * (200 + gap)], 200, ALL) {
                assert_eq!(rows_of(&way), [(200 + gap, 3)]);
            }
        }
    }

    #[test]
    fn rows_of_few_bytes_are_taken_in_one_stretch_there_and_by_a_kernel_back() {
        let [there, back] = ways(&[0, 33, 66, 99], 32, ALL);
        assert!(matches!(there, Crossing::Stretch(whole) if whole.values == 131), "{there:?}");
        assert_eq!(back, Crossing::Kernel);
        assert_eq!(ways(&[0, 48, 96], 32, ALL), [Crossing::Kernel, Crossing::Kernel]);
    }

    #[test]
    fn small_gaps_of_all_sizes_are_copied_in_vain_towards_the_card_only() {
        let [there, back] = ways(&[0, 201, 403, 603], 200, ALL);
        assert!(matches!(there, Crossing::Stretch(whole) if !whole.dense), "{there:?}");
        assert_eq!(back, Crossing::Kernel);
    }

    #[test]
    fn large_chunks_anywhere_have_copies_of_their_own_where_the_driver_can() {
        let places = [0, 1, 3, 6, 10, 15].map(|n| n * 40_000);
        assert_eq!(ways(&places, 200, ALL), [Crossing::Kernel, Crossing::Kernel]);
        assert_eq!(ways(&places, 13_000, ALL), [Crossing::Each, Crossing::Each]);
        assert_eq!(ways(&places, 13_000, FEW), [Crossing::Kernel, Crossing::Kernel]);
        assert_eq!(
            ways(&places, 40_000, ALL),
            [Crossing::Each, Crossing::Each],
            "no pairs as rows"
        );
    }

    #[test]
    fn the_host_hands_out_results_that_a_kernel_would_store_and_no_others() {
        let places = [0, 1, 3, 6, 10, 15].map(|n| n * 40_000);
        assert_eq!(ways(&places, 200, HOST), [Crossing::Kernel, Crossing::Host]);
        let few = Copies { handed: true, ..FEW };
        assert_eq!(ways(&places, 13_000, few), [Crossing::Kernel, Crossing::Host]);
        assert_eq!(ways(&places, 13_000, HOST), [Crossing::Each, Crossing::Each]);
        assert_eq!(ways(&[0, 33, 66, 99], 32, HOST)[1], Crossing::Host, "rows of few bytes");
        for regular in [[0, 200, 400], [0, 300, 600]] {
            let [_, back] = ways(&regular, 200, HOST);
            assert!(matches!(back, Crossing::Rows(_)), "{back:?}");
        }
    }

    #[test]
    fn the_host_hands_out_many_small_results_where_threads_are_enough() {
        let some = Crossings { handed: 2048, least: 1 << 20, threads: 4, ..Crossings::default() };
        let hands_out = |count, lens, threads| some.hands_out(count, lens, || threads);
        assert!(hands_out(512, [1024, 256], 4) && hands_out(513, [2048, 256], 64));
        assert!(!hands_out(511, [1024, 256], 4), "too few bytes in all");
        assert!(!hands_out(512, [1024, 257], 4), "too large each");
        assert!(!hands_out(512, [2049, 256], 4), "few beside the inputs");
        assert!(!hands_out(512, [1024, 256], 3), "too few threads");
    }

    #[test]
    fn wider_gaps_are_copied_in_vain_where_that_is_chosen() {
        let places = [0, 212, 420, 640];
        assert_eq!(ways(&places, 200, ALL)[0], Crossing::Kernel);
        let [there, _] = ways(&places, 200, Copies { gaps: 14, ..ALL });
        assert!(matches!(there, Crossing::Stretch(whole) if whole.values == 840), "{there:?}");
    }

    #[test]
    fn chunks_of_few_pools_are_rows_of_few_copies() {
        // 4.9 MiB: at most two copies.
        let pools =
            |count: usize| (0..16).map(move |n| (n % (16 / count) + n * count / 16 * 20) * 50_000);
        for way in ways(&pools(2).collect::<Vec<_>>(), 40_000, ALL) {
            assert_eq!(rows_of(&way), [(50_000, 8), (50_000, 8)]);
        }
        let many = pools(4).collect::<Vec<_>>();
        assert_eq!(ways(&many, 40_000, ALL), [Crossing::Each, Crossing::Each]);
    }

    #[test]
    fn rows_that_leave_their_range_are_reached_by_a_kernel() {
        let (ranges, at) = held(1200, &[0, 1000, 2000]);
        ranges.add(4096 + 8 * 1900, 4096 + 8 * 3000);
        assert_eq!(inputs(&at, (150, 3000), ALL, &ranges), Crossing::Kernel);
        assert_eq!(outputs(&at, 150, ALL, &ranges), Crossing::Kernel);
        assert_eq!(rows_of(&outputs(&at[..2], 150, ALL, &ranges)), [(1000, 2)]);
    }

    #[test]
    fn a_stretch_takes_no_more_than_its_room() {
        let (ranges, at) = held(1000, &[0, 200, 400, 600, 800]);
        let of = |room: usize| inputs(&at, (200, room), ALL, &ranges);
        assert!(matches!(of(1000), Crossing::Stretch(_)));
        assert!(matches!(of(999), Crossing::Rows(_)));
    }
}
