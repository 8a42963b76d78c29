//! What threads need for a call and keep for the next one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lists that threads share; more threads than that share a list.
const LISTS: usize = 32;

/// Things that no thread uses at the moment, each where the thread that used it last looks first: in its
/// cache, and without waiting for others that begin at the same time.
#[derive(Debug)]
pub(crate) struct Idle<T>(Vec<List<T>>);

/// Apart from others by two cache lines, which processors fetch together.
#[derive(Debug)]
#[repr(align(128))]
struct List<T>(Mutex<Vec<T>>);

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self((0..LISTS).map(|_| List(Mutex::default())).collect())
    }
}

/// Number of the calling thread, in the order in which threads first asked.
fn thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    // A thread that is ending has none left.
    OWN.try_with(|own| *own).unwrap_or(0)
}

impl<T> Idle<T> {
    /// Something from the thread's own list, else from another's, so that there are no more than threads
    /// have been at work at once.
    pub(crate) fn take(&self) -> Option<T> {
        let own = thread();
        (own..own + LISTS).find_map(|place| self.list(place).pop())
    }

    /// Keeps something for the next call.
    pub(crate) fn keep(&self, thing: T) {
        self.list(thread()).push(thing);
    }

    fn list(&self, place: usize) -> std::sync::MutexGuard<'_, Vec<T>> {
        self.0[place % LISTS].0.lock().expect("no thread panics while it holds the list")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_finds_its_own_first_and_takes_from_others_where_it_has_none() {
        let idle = Idle::default();
        idle.keep(1);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                idle.keep(2);
                let own = idle.take();
                let (others, none) = (idle.take(), idle.take());
                idle.keep(3);
                (own, others, none)
            });
            assert_eq!(other.join().unwrap(), (Some(2), Some(1), None));
        });
        assert_eq!((idle.take(), idle.take()), (Some(3), None));
    }
}
