//! A call's tasks on threads that may come too late.
//!
//! The calling thread works too and asks rayon's threads for help. A scope of rayon waits for every
//! closure it was given, also for those that find nothing left to do when a sleeping thread has woken
//! at last; that wait is as long as a short call. Here a helper that comes late sees so by a count that
//! it shares with the call, looks no further, and nobody has waited for it.
// 16 threads, calls of 4 tasks of 5 us back to back from a thread outside: 11 us so, 19 to 21 by a
// scope, 27 by a parallel iterator; of 16 tasks 13, 13 to 20, 22. A caller that is one of rayon's threads
// gains nothing more: 13 and 12.

#![allow(unsafe_code, reason = "helpers that outlive a call share its closure")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::sync::{Arc, Mutex};
use std::thread::Thread;

/// What a helper, once it is there, asks for before it works.
const MORE: usize = 2;

/// Most helpers awaited: with more, calls go without.
const MOST: usize = 1000;

/// Turns that the caller looks for others' last tasks, some 50 us, before it sleeps.
const TURNS: usize = 1000;

/// Helpers asked for that have not come, of all calls. While rayon's threads are busy with other things
/// none comes, and what was asked for would pile up.
static AWAITED: AtomicUsize = AtomicUsize::new(0);

/// A task's closure, without the call's lifetime.
struct Work(*const (dyn Fn(usize) + Sync));

// SAFETY: the closure may be called from any thread, being `Sync`; when it may be, [`Call`] says.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

/// What a call shares with its helpers, late ones included.
struct Call {
    /// Tasks begun; beyond [`Call::tasks`], who asked in vain.
    begun: AtomicUsize,
    /// Tasks ended, whatever their end.
    ended: AtomicUsize,
    /// Helpers that may still be asked for.
    helpers: AtomicUsize,
    tasks: usize,
    /// May be called by who has begun a task and not ended it: until all tasks have ended, the caller
    /// does not return.
    work: Work,
    /// Whether the caller sleeps.
    asleep: AtomicBool,
    caller: Thread,
    /// What a task panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Call {
    /// Does tasks as long as there are any.
    fn work(&self) {
        loop {
            let task = self.begun.fetch_add(1, Relaxed);
            if task >= self.tasks {
                return;
            }
            // SAFETY: this task has begun and has not ended, so that the caller is still in `spread`,
            // whose argument the closure is.
            let work = unsafe { &*self.work.0 };
            // A panic must not leave the task unended, for whose end the caller waits, nor reach rayon, which
            // ends the program by it; the caller has it instead.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(task))) {
                self.panic.lock().expect("nothing panics under this lock").get_or_insert(panic);
            }
            if self.ended.fetch_add(1, SeqCst) + 1 == self.tasks && self.asleep.load(SeqCst) {
                self.caller.unpark();
            }
        }
    }

    /// Asks for up to `count` helpers while tasks are left.
    fn ask(self: &Arc<Self>, count: usize) {
        for _ in 0..count {
            let left = |helpers: usize| helpers.checked_sub(1);
            if self.begun.load(Relaxed) >= self.tasks
                || self.helpers.fetch_update(Relaxed, Relaxed, left).is_err()
            {
                return;
            }
            AWAITED.fetch_add(1, Relaxed);
            let call = self.clone();
            rayon::spawn(move || {
                AWAITED.fetch_sub(1, Relaxed);
                call.ask(MORE);
                call.work();
            });
        }
    }

    /// Waits until all tasks have ended.
    fn wait(&self) {
        let ended = || self.ended.load(Acquire) == self.tasks;
        for _ in 0..TURNS {
            if ended() {
                return;
            }
            std::hint::spin_loop();
        }
        self.asleep.store(true, SeqCst);
        fence(SeqCst);
        while !ended() {
            std::thread::park();
        }
    }
}

/// Runs `work` for every task from 0 to `tasks`, on the calling thread and up to `helpers` others of the
/// pool of rayon that the caller belongs to, else of the global one.
///
/// # Panics
/// With what a task panicked with, after all have ended.
pub(super) fn spread(tasks: usize, helpers: usize, work: &(dyn Fn(usize) + Sync)) {
    let work: *const (dyn Fn(usize) + Sync + '_) = work;
    // SAFETY: the same pointer, but for a lifetime; what it may be used for, `Call::work` says.
    let work: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(work) };
    let busy = AWAITED.load(Relaxed) > MOST;
    let call = Arc::new(Call {
        begun: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        helpers: AtomicUsize::new(if busy { 0 } else { helpers }),
        tasks,
        work: Work(work),
        asleep: AtomicBool::new(false),
        caller: std::thread::current(),
        panic: Mutex::default(),
    });
    call.ask(1);
    call.work();
    call.wait();
    let panic = call.panic.lock().expect("nothing panics under this lock").take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}
