//! Patches handed out to threads in tasks.
//!
//! A task needs some microseconds to reach a thread, as long as several patches of Euler take, so how
//! many there are follows from what they cost.

mod sys;

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;
use temblor_backend::Result;
use temblor_patch::Kernel;

use super::sys::Team;

/// Operations per microsecond of one thread, as Euler's kernels run.
const RATE: f64 = 2e4;

/// Least work of a call that other threads take part in, microseconds.
// Without it Euler at p = 6, K = 2 took 15 us for 11 and `fd4` 14 for 7; at p = 3, K = 16 17 for 14 and 15 for
// 13. At p = 3, K = 32, 18 and 21 by this estimate, several threads take 20 for 27 and 18 for 26.
const LEAST_CALL: f64 = 16.0;

/// Least work of a task that another thread may do, microseconds.
// Euler with 16 threads, 10, 5, 3.5, 2.5 and 1.5: at p = 3, K = 64 `rusanov` 42, 30, 22, 20, 28 us and
// `fd4` 31, 22, 21, 30, 29; at p = 6, K = 8 39, 37, 24, 23, 24 and 29, 19, 20, 19, 20.
const LEAST: f64 = 3.5;

/// Least work of a task where there are more tasks than threads, microseconds.
// 5: `fd4` at p = 6, K = 64 73 against 46 us, `rusanov` 66 and 70. Tasks that begin with a thread of their
// own, so that chunks stay in its cache: the same within a few percent.
const LEAST_OF_MANY: f64 = 20.0;

/// Most tasks per thread, so that a slow thread holds up little.
const MOST: usize = 8;

/// The same where threads of a team look for work.
// 16 threads (Emerald Rapids, one machine) and one, us: Euler `rusanov` p = 3, K = 8 (4.5 by this estimate) 8.4
// and 6.2, p = 3, K = 16 and p = 6, K = 2 (8.9) 10.5 and 13, 11.9 and 10.5; `fd4` p = 3, K = 16 and p = 6, K = 2
// (10.4) 10.5 and 9.6, 11.8 and 7.2; `rusanov` p = 3, K = 32 and p = 6, K = 4 (17.8) 13 and 23, 13 and 22.
const LEAST_CALL_OF_TEAM: f64 = 11.0;

/// Whose threads do the tasks: as many as rayon has, the calling one included.
#[derive(Clone, Copy)]
pub(super) enum Hands {
    /// Rayon's, which come when asked.
    Rayon,
    /// OpenMP's, which begin and end a call together, each with an even share.
    Team(&'static Team),
}

impl Hands {
    /// Patches per task, where a patch takes `cost` microseconds.
    pub(super) fn task(self, patches: usize, cost: f64) -> usize {
        let threads = rayon::current_num_threads();
        if threads == 1 {
            return patches.max(1);
        }
        match self {
            Self::Rayon => even(patches, cost, threads),
            Self::Team(_) if worth(patches, cost) < LEAST_CALL_OF_TEAM => patches.max(1),
            Self::Team(_) => patches.div_ceil(threads).max(1),
        }
    }

    /// Into how many of `choices` a patch is best cut.
    pub(super) fn parts(self, patches: usize, choices: impl Iterator<Item = usize>) -> usize {
        let threads = rayon::current_num_threads();
        match self {
            Self::Rayon => parts(patches, threads, choices),
            Self::Team(_) => parts_of_team(patches, threads, choices),
        }
    }
}

/// What a kernel takes for a patch, estimated, microseconds.
pub(super) fn cost(kernel: &Kernel) -> f64 {
    let output = &kernel.blocks[usize::from(temblor_patch::kernel::OUTPUT.0)];
    let voxels = u32::try_from(output.voxels()).unwrap_or(u32::MAX);
    (kernel.flops() * f64::from(voxels)).max(1.0) / RATE
}

/// What patches take in all, microseconds.
fn worth(patches: usize, cost: f64) -> f64 {
    u32::try_from(patches).map_or(f64::INFINITY, f64::from) * cost
}

/// Patches per task, all tasks but the last having as many: as many tasks as have work enough, so cut
/// that the thread with most patches has as few as can be.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn even(patches: usize, cost: f64, threads: usize) -> usize {
    let worth = worth(patches, cost);
    let tasks = |least: f64, most: usize| (worth / least).clamp(1.0, most as f64) as usize;
    if worth < LEAST_CALL {
        return patches.max(1);
    }
    let few = tasks(LEAST, threads);
    if few < threads {
        return patches.div_ceil(few).max(1);
    }
    let task = |rounds: usize| patches.div_ceil(rounds * threads).max(1);
    let busiest = |rounds: &usize| {
        let task = task(*rounds);
        (patches.div_ceil(task).div_ceil(threads) * task, usize::MAX - rounds)
    };
    let rounds = (tasks(LEAST_OF_MANY, threads * MOST) / threads).max(1);
    (1..=rounds).min_by_key(busiest).map_or(1, task)
}

/// Into how many of `choices` a patch is best cut, so that more threads have work where patches are
/// few. Of equal choices the finest: threads come one after the other.
// Euler at p = 16 with 16 threads, 1, 2 and 4 parts: K = 8 250, 134, 128 us and `fd4` 183, 130, 110;
// K = 16 250, 250, 229 and 197, 189, 174.
fn parts(patches: usize, threads: usize, choices: impl Iterator<Item = usize>) -> usize {
    if patches >= 2 * threads || threads == 1 {
        return 1;
    }
    let time = |&parts: &usize| (longest(patches, parts, threads), usize::MAX - parts);
    std::iter::once(1).chain(choices).min_by_key(time).unwrap_or(1)
}

/// The same for a team, whose threads begin together: the coarsest of equals, and a part costs a fiftieth
/// of a patch more.
// Euler at p = 16 in 8 and 16 parts takes one thread 1.08 and 1.29 times as long by `fd4`, 1.02 by `rusanov`.
fn parts_of_team(patches: usize, threads: usize, choices: impl Iterator<Item = usize>) -> usize {
    if patches >= 2 * threads || threads == 1 {
        return 1;
    }
    let time = |&parts: &usize| (longest(patches, parts, threads) * (50 + parts), parts);
    std::iter::once(1).chain(choices).min_by_key(time).unwrap_or(1)
}

/// Work of the thread that has most of it, in parts of a patch's that all choices up to 16 divide.
fn longest(patches: usize, parts: usize, threads: usize) -> usize {
    (patches * parts).div_ceil(threads) * 720_720 / parts
}

/// Does `work` for every item on the calling thread and others; the results in the order of the items.
///
/// # Errors
/// The first item's that has one; all are done nevertheless.
pub(super) fn each<T: Send, R: Send>(
    hands: Hands,
    items: impl Iterator<Item = T>,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = rayon::current_num_threads();
    let items: Vec<T> = items.collect();
    if items.len() <= 1 || threads <= 1 {
        return items.into_iter().map(work).collect();
    }
    enum State<T, R> {
        Given(T),
        Begun,
        Done(Result<R>),
    }
    let slots: Vec<Mutex<State<T, R>>> =
        items.into_iter().map(|item| Mutex::new(State::Given(item))).collect();
    let lock = |task: usize| slots[task].lock().expect("nothing panics under this lock");
    let one = |task| {
        let State::Given(item) = std::mem::replace(&mut *lock(task), State::Begun) else { return };
        let done = work(item);
        *lock(task) = State::Done(done);
    };
    match hands {
        Hands::Rayon => sys::spread(slots.len(), threads.min(slots.len()) - 1, &one),
        Hands::Team(team) => team.spread(threads, &|thread, threads| {
            share(slots.len(), thread, threads).for_each(one);
        }),
    }
    let done = |slot: Mutex<State<T, R>>| match slot.into_inner() {
        Ok(State::Done(done)) => done,
        _ => unreachable!("every task has ended, and none by a panic"),
    };
    slots.into_iter().map(done).collect()
}

/// A thread's share of so many tasks; the first threads have one more where they do not divide.
fn share(tasks: usize, thread: usize, threads: usize) -> Range<usize> {
    let (each, more) = (tasks / threads, tasks % threads);
    let first = thread * each + thread.min(more);
    first..first + each + usize::from(thread < more)
}

/// Calls `work` for every number below `count`, on threads with at least `least` of them each.
pub(super) fn numbers(hands: Hands, count: usize, least: usize, work: impl Fn(usize) + Sync) {
    let threads = rayon::current_num_threads();
    match hands {
        Hands::Rayon => (0..count).into_par_iter().with_min_len(least).for_each(&work),
        Hands::Team(team) if threads > 1 && count >= 2 * least => {
            team.spread(threads, &|thread, threads| {
                share(count, thread, threads).for_each(&work);
            });
        }
        Hands::Team(_) => (0..count).for_each(work),
    }
}

/// Calls `work` for every chunk of `length` values with its number.
pub(super) fn chunks(
    hands: Hands,
    values: &mut [f64],
    length: usize,
    work: impl Fn(usize, &mut [f64]) + Sync,
) {
    match hands {
        Hands::Rayon => {
            values
                .par_chunks_mut(length)
                .enumerate()
                .for_each(|(number, chunk)| work(number, chunk));
        }
        Hands::Team(_) => {
            let task = (values.len() / length).div_ceil(rayon::current_num_threads()).max(1);
            let all = values.chunks_mut(task * length).enumerate();
            let done = each(hands, all, |(place, values)| {
                let own = values.chunks_mut(length).enumerate();
                own.for_each(|(number, chunk)| work(place * task + number, chunk));
                Ok(())
            });
            done.expect("no chunk's work fails");
        }
    }
}

/// What `find` gives first among chunks of `length` values, in their order.
pub(super) fn first<R: Send>(
    hands: Hands,
    values: &[f64],
    length: usize,
    find: impl Fn(usize, &[f64]) -> Option<R> + Sync,
) -> Option<R> {
    match hands {
        Hands::Rayon => {
            let all = values.par_chunks(length).enumerate();
            all.find_map_first(|(number, chunk)| find(number, chunk))
        }
        Hands::Team(_) => {
            let task = (values.len() / length).div_ceil(rayon::current_num_threads()).max(1);
            let all = values.chunks(task * length).enumerate();
            let found = each(hands, all, |(place, values)| {
                let mut own = values.chunks(length).enumerate();
                Ok(own.find_map(|(number, chunk)| find(place * task + number, chunk)))
            });
            found.expect("no search fails").into_iter().flatten().next()
        }
    }
}

#[cfg(test)]
mod tests;
