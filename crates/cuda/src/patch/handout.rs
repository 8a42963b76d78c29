//! Results that come to the host a piece at a time, by one copy each, and that threads of the host hand out
//! to the places of their chunks while later pieces cross.
//!
//! A thread waits for a piece's copy, the others for that thread; all take parts of the piece until none
//! is left. Who needs the piece's memory again takes parts as well, so that a call ends even where no
//! thread of the pool is free.
#![expect(unsafe_code, reason = "threads write to disjoint chunks by their addresses")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use cudarc::driver::{CudaEvent, DriverError};

use crate::memory::{fence_past, store_past};

/// Bytes that a thread hands out at a time: some microseconds.
const PART: usize = 64 << 10;

/// What tells that a piece's results have come.
pub(super) trait Arrival: Send + Sync {
    /// Waits for it.
    fn wait(&self) -> Result<(), DriverError>;
}

impl Arrival for CudaEvent {
    fn wait(&self) -> Result<(), DriverError> {
        self.synchronize()
    }
}

/// Results of a piece, one after the other in memory of ours.
struct Piece<A> {
    arrival: Arc<A>,
    come: OnceLock<Result<(), DriverError>>,
    /// Address and values of the first result.
    from: usize,
    len: usize,
    /// Addresses where the results go.
    places: Vec<usize>,
    /// First chunk that nobody has taken.
    next: AtomicUsize,
    /// Chunks that are not in place.
    left: AtomicUsize,
}

/// Chunks that a thread has taken: off the count once they are in place, whatever happens.
struct Taken<'a>(&'a AtomicUsize, usize);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Release);
    }
}

impl<A: Arrival> Piece<A> {
    /// Waits for the results and hands out parts of them until all are taken.
    fn hand_out(&self) -> Result<(), DriverError> {
        (*self.come.get_or_init(|| self.arrival.wait()))?;
        let part = (PART / (8 * self.len)).max(1);
        loop {
            let first = self.next.fetch_add(part, Ordering::Relaxed);
            if first >= self.places.len() {
                return Ok(());
            }
            let places = &self.places[first..self.places.len().min(first + part)];
            let taken = Taken(&self.left, places.len());
            for (q, &place) in (first..).zip(places) {
                let from = std::ptr::with_exposed_provenance(self.from + 8 * q * self.len);
                let to = std::ptr::with_exposed_provenance_mut(place);
                // SAFETY: the results are there, in memory that is as it is until no chunk is left, as
                // whoever added the piece has promised.
                let from: &[f64] = unsafe { std::slice::from_raw_parts(from, self.len) };
                // SAFETY: the chunk is borrowed and apart from all others, as promised, and no other
                // thread has taken it.
                let to: &mut [f64] = unsafe { std::slice::from_raw_parts_mut(to, self.len) };
                // Through the caches: two thirds of the rate.
                store_past(to, from);
            }
            fence_past();
            drop(taken);
        }
    }
}

/// Pieces so far, and whether there are more to come.
struct Pieces<A> {
    all: Vec<Arc<Piece<A>>>,
    closed: bool,
}

/// The results of a call.
pub(super) struct HandOut<A> {
    pieces: Mutex<Pieces<A>>,
    changed: Condvar,
}

/// Ends the work of all threads, even of those whose pieces never came, when it goes.
struct Closing<'a, A>(&'a HandOut<A>);

impl<A> Drop for Closing<'_, A> {
    fn drop(&mut self) {
        self.0.pieces().closed = true;
        self.0.changed.notify_all();
    }
}

impl<A: Arrival> HandOut<A> {
    /// Runs `queue`, which adds pieces, beside so many threads of the pool that hand out what comes.
    /// All that was added is in place when this returns, or has failed.
    pub(super) fn beside<E>(
        threads: usize,
        failed: impl FnOnce(DriverError) -> E,
        queue: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let pieces = Mutex::new(Pieces { all: Vec::new(), closed: false });
        let hand = Self { pieces, changed: Condvar::new() };
        let all = || {
            let _closing = Closing(&hand);
            let queued = queue(&hand);
            // Without this thread a pool that is busy otherwise would hand out nothing.
            let ended = (0..hand.count()).try_for_each(|n| hand.finish(n));
            queued.and(ended.map_err(failed))
        };
        if threads == 0 {
            return all();
        }
        rayon::in_place_scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|_| hand.work());
            }
            all()
        })
    }

    /// Adds a piece: results of `len` values from address `from` on for chunks at places.
    ///
    /// # Safety
    /// The results lie there once they have come, and nobody changes them until `finish` of this piece.
    /// The places are those of disjoint chunks that nobody else uses until `beside` returns.
    pub(super) unsafe fn add(
        &self,
        arrival: Arc<A>,
        (from, len): (usize, usize),
        places: Vec<usize>,
    ) {
        let (next, left) = (AtomicUsize::new(0), AtomicUsize::new(places.len()));
        let piece = Piece { arrival, come: OnceLock::new(), from, len, places, next, left };
        self.pieces().all.push(Arc::new(piece));
        self.changed.notify_all();
    }

    /// Pieces that were added.
    pub(super) fn count(&self) -> usize {
        self.pieces().all.len()
    }

    /// Returns when the `n`th piece is in place, or has not come.
    pub(super) fn finish(&self, n: usize) -> Result<(), DriverError> {
        let piece = self.pieces().all[n].clone();
        piece.hand_out()?;
        while piece.left.load(Ordering::Acquire) > 0 {
            // Parts of a few microseconds that others have taken.
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Hands out piece after piece until there are no more to come.
    fn work(&self) {
        for n in 0.. {
            let mut pieces = self.pieces();
            while pieces.all.len() <= n && !pieces.closed {
                pieces = self.changed.wait(pieces).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(piece) = pieces.all.get(n).cloned() else { return };
            drop(pieces);
            // A failure is told by `finish`.
            let _ = piece.hand_out();
        }
    }
}

impl<A> HandOut<A> {
    fn pieces(&self) -> MutexGuard<'_, Pieces<A>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Results that have come.
struct Come;

impl Arrival for Come {
    fn wait(&self) -> Result<(), DriverError> {
        Ok(())
    }
}

/// Rate at which threads of the host hand out results of `len` values from pieces of so many bytes that
/// lie in a ring of so many, B/s; best of five. Needs no device.
#[doc(hidden)]
#[must_use]
pub fn hand_out_rate(len: usize, (piece, ring): (usize, usize), threads: usize) -> f64 {
    let (chunks, pieces) = ((piece / (8 * len)).max(1), (256 << 20) / piece.max(1));
    let staging: Vec<Vec<f64>> = (0..ring.max(1)).map(|_| vec![1.0; chunks * len]).collect();
    // Gaps of an eighth of a chunk, chunks in a shuffled order.
    let (pitch, all) = (len + len / 8 + 1, pieces * chunks);
    let mut target = vec![0.0; all * pitch];
    let start = target.as_mut_ptr().expose_provenance();
    let mut places: Vec<usize> = (0..all).map(|k| start + 8 * pitch * k).collect();
    let mut state = 12345u32;
    for k in (1..all).rev() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        places.swap(k, (state >> 4) as usize % (k + 1));
    }
    let mut best = 0.0f64;
    for _ in 0..5 {
        let begun = Instant::now();
        let done = HandOut::<Come>::beside(
            threads,
            |error| error,
            |hand| {
                for (n, places) in places.chunks(chunks).enumerate() {
                    if n >= ring.max(1) {
                        hand.finish(n - ring.max(1))?;
                    }
                    let from = staging[n % staging.len()].as_ptr().expose_provenance();
                    // SAFETY: nobody writes to the staging memory; the places are chunks of `target`, all
                    // different, since the stride has no divisor in common with their number.
                    unsafe { hand.add(Arc::new(Come), (from, len), places.to_vec()) };
                }
                Ok(())
            },
        );
        let seconds = begun.elapsed().as_secs_f64();
        if done.is_ok() {
            best = best.max((8 * all * len) as f64 / seconds);
        }
    }
    std::hint::black_box(&target);
    best
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use cudarc::driver::sys::CUresult;

    use super::*;

    /// Comes after a while, or fails.
    struct Later {
        wait: Duration,
        fails: bool,
        waited: AtomicBool,
    }

    fn later(wait: u64, fails: bool) -> Arc<Later> {
        Arc::new(Later { wait: Duration::from_micros(wait), fails, waited: AtomicBool::new(false) })
    }

    impl Arrival for Later {
        fn wait(&self) -> Result<(), DriverError> {
            assert!(!self.waited.swap(true, Ordering::Relaxed), "one thread waits, once");
            std::thread::sleep(self.wait);
            if self.fails { Err(DriverError(CUresult::CUDA_ERROR_LAUNCH_FAILED)) } else { Ok(()) }
        }
    }

    const LEN: usize = 37;
    const PITCH: usize = 40;
    const CHUNKS: usize = 300;

    /// Hands out pieces, of which one may fail, from a ring of two; what comes of it, and the target.
    fn run(pieces: usize, bad: Option<usize>, threads: usize) -> (bool, Vec<f64>) {
        let mut ring = vec![vec![0.0f64; CHUNKS * LEN]; 2];
        let mut target = vec![-1.0f64; pieces * CHUNKS * PITCH];
        let start = target.as_mut_ptr().expose_provenance();
        let done = HandOut::beside(
            threads,
            |error| error,
            |hand| {
                for n in 0..pieces {
                    if n >= 2 {
                        hand.finish(n - 2)?;
                    }
                    // As the card would: the piece before in this place is out.
                    let staging = &mut ring[n % 2];
                    let first = n * CHUNKS * LEN;
                    staging.iter_mut().zip(first..).for_each(|(value, k)| *value = k as f64);
                    let from = staging.as_mut_ptr().expose_provenance();
                    let place = |q: usize| start + 8 * PITCH * (n * CHUNKS + (q * 7 + 3) % CHUNKS);
                    let (arrival, places) = (later(50, bad == Some(n)), (0..CHUNKS).map(place));
                    // SAFETY: the ring's memory is written again after `finish`; 7 and 300 have no divisor
                    // in common, so that all places differ.
                    unsafe { hand.add(arrival, (from, LEN), places.collect()) };
                }
                Ok(())
            },
        );
        (done.is_ok(), target)
    }

    fn check(target: &[f64], pieces: std::ops::Range<usize>) {
        for n in pieces {
            for q in 0..CHUNKS {
                let at = PITCH * (n * CHUNKS + (q * 7 + 3) % CHUNKS);
                let first = (n * CHUNKS + q) * LEN;
                let want = (first..first + LEN).map(|k| k as f64);
                assert!(target[at..at + LEN].iter().copied().eq(want), "piece {n}, chunk {q}");
                assert!(
                    target[at + LEN..at + PITCH].iter().all(|v| v.to_bits() == (-1.0f64).to_bits())
                );
            }
        }
    }

    #[test]
    fn all_results_are_in_place_by_any_number_of_threads() {
        for threads in [0, 1, 2, 7] {
            let (done, target) = run(9, None, threads);
            assert!(done);
            check(&target, 0..9);
        }
    }

    #[test]
    fn a_pool_that_is_busy_otherwise_holds_up_nothing() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let (done, target) = pool.install(|| run(5, None, 4));
        assert!(done);
        check(&target, 0..5);
    }

    #[test]
    fn results_that_do_not_come_are_told_and_not_handed_out() {
        for bad in [0, 3, 8] {
            let (done, target) = run(9, Some(bad), 2);
            assert!(!done, "piece {bad} failed");
            check(&target, 0..bad);
            let piece = bad * CHUNKS * PITCH..(bad + 1) * CHUNKS * PITCH;
            assert!(target[piece].iter().all(|v| v.to_bits() == (-1.0f64).to_bits()));
        }
    }

    #[test]
    fn an_error_of_who_queues_is_told_when_all_that_came_is_in_place() {
        let from = vec![2.0f64; LEN];
        let mut target = vec![-1.0f64; LEN];
        let (from, to) =
            (from.as_ptr().expose_provenance(), target.as_mut_ptr().expose_provenance());
        let done = HandOut::beside(
            1,
            |_| "not this",
            |hand| {
                // SAFETY: both arrays live until the end.
                unsafe { hand.add(later(2000, false), (from, LEN), vec![to]) };
                Err("this")
            },
        );
        assert_eq!(done, Err("this"));
        assert!(target.iter().all(|v| v.to_bits() == 2.0f64.to_bits()));
    }

    #[test]
    fn a_panic_of_who_queues_ends_the_threads() {
        let run = || {
            let wrong =
                |_: &HandOut<Later>| -> Result<(), DriverError> { panic!("while it queues") };
            HandOut::beside(2, |error| error, wrong)
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
