//! Says when steps stop coming back, as they do when a device hangs.
//!
//! No driver tells a hung kernel from a long one, and none can stop it: all that can be done is to say so, and
//! what the user can do. What is long is seen against what steps took before.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shortest silence that is reported.
const LEAST: Duration = Duration::from_secs(60);

/// How often as long as the longest time before a silence must be.
const TIMES: u32 = 10;

/// Longest time until the first steps come back that is taken to be as usual: uploads, kernels that load.
const FIRST: Duration = Duration::from_secs(30);

/// When something came back, and how long it took at most.
#[derive(Debug)]
struct State {
    last: Instant,
    longest: Duration,
    told: bool,
    ended: bool,
}

impl State {
    const fn new(now: Instant) -> Self {
        Self { last: now, longest: FIRST, told: false, ended: false }
    }

    fn beat(&mut self, now: Instant) {
        self.longest = self.longest.max(now.duration_since(self.last));
        (self.last, self.told) = (now, false);
    }

    /// How long a silence is borne.
    fn patience(&self, least: Duration) -> Duration {
        least.max(TIMES * self.longest)
    }
}

/// Reports a silence between calls of [`Watch::beat`], once each.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch; says what it finds as a warning.
    #[must_use]
    pub fn new() -> Self {
        Self::reporting(LEAST, |silent| {
            tracing::warn!(
                "no step has come back for {} s, far longer than before: the device may hang. nvidia-smi and \
                 dmesg (Xid) tell more; pressing Ctrl-C twice ends temblor, and --resume goes on from what is on \
                 disk",
                silent.as_secs()
            );
        })
    }

    fn reporting(least: Duration, report: impl Fn(Duration) + Send + 'static) -> Self {
        let shared = Arc::new((Mutex::new(State::new(Instant::now())), Condvar::new()));
        let watched = Arc::clone(&shared);
        let watch = move || {
            let (state, woken) = &*watched;
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            while !state.ended {
                let (silent, patience) = (state.last.elapsed(), state.patience(least));
                let wait = if silent < patience { patience - silent } else { patience };
                if silent >= patience && !state.told {
                    state.told = true;
                    report(silent);
                }
                state = woken.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        // Without a thread nothing is watched, and the run goes on.
        let thread = std::thread::Builder::new().name("watch".into()).spawn(watch).ok();
        Self { shared, thread }
    }

    fn change(&self, to: impl FnOnce(&mut State)) {
        to(&mut self.shared.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Something came back.
    pub fn beat(&self) {
        self.change(|state| state.beat(Instant::now()));
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.change(|state| state.ended = true);
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn patience_is_ten_times_the_longest_step_so_far() {
        let start = Instant::now();
        let mut state = State::new(start);
        assert_eq!(state.patience(LEAST), seconds(300));
        state.beat(start + seconds(2));
        assert_eq!(state.patience(LEAST), seconds(300));
        state.beat(start + seconds(102));
        state.beat(start + seconds(103));
        assert_eq!(state.patience(LEAST), seconds(1000));
    }

    #[test]
    fn a_silence_is_reported_once_and_the_next_one_again() {
        let (to, reports) = std::sync::mpsc::channel();
        let watch = Watch::reporting(Duration::ZERO, move |silent| {
            let _ = to.send(silent);
        });
        watch.change(|state| state.longest = Duration::from_millis(1));
        watch.shared.1.notify_all();
        let first = reports.recv_timeout(seconds(60)).unwrap();
        assert!(first >= Duration::from_millis(10), "{first:?}");
        assert!(reports.recv_timeout(Duration::from_millis(100)).is_err(), "it is said once");
        watch.change(|state| {
            state.beat(Instant::now());
            state.longest = Duration::from_millis(1);
        });
        watch.shared.1.notify_all();
        reports.recv_timeout(seconds(60)).unwrap();
    }
}
