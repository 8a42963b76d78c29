use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use temblor_backend::Error;

use super::*;

fn team() -> Hands {
    let compiler = super::super::compiler::Compiler::host().expect("these tests need a compiler");
    let team = super::super::team::host(&compiler);
    Hands::Team(team.expect("these tests need a compiler with OpenMP"))
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn tasks_are_worth_their_handing_out_and_share_patches_evenly() {
    // Microseconds per patch, threads.
    for (cost, threads) in [(0.6, 16), (5.2, 16), (100.0, 16), (0.6, 2), (2e-3, 3)] {
        for patches in [1, 2, 7, 15, 16, 17, 64, 1000, 1024, 16384] {
            let task = even(patches, cost, threads);
            let tasks = patches.div_ceil(task);
            let what = format!("{cost} us, {threads} threads, {patches} patches: {task} per task");
            let least = if tasks > threads { LEAST_OF_MANY } else { LEAST };
            assert!(tasks == 1 || task == 1 || task as f64 * cost >= 0.99 * least, "{what}");
            // All but the last as large, so none waits for more than one task.
            let least = (LEAST * threads as f64).max(LEAST_CALL);
            let enough = patches as f64 * cost >= least && patches >= threads;
            assert!(!enough || 2 * tasks > threads, "{what}");
        }
    }
    assert_eq!(even(64, 20.0, 16), 1);
    assert_eq!(even(40, 20.0, 16), 3);
    assert_eq!(even(8, 100.0, 16), 1);
    // 12 us in all: one thread; 16: four tasks.
    assert_eq!(even(12, 1.0, 16), 12);
    assert_eq!(even(16, 1.0, 16), 4);
    // 64 us in all: a task per thread and no more.
    assert_eq!(even(128, 0.5, 16), 8);
}

#[test]
fn patches_are_cut_where_they_are_few() {
    let cut = |patches| parts(patches, 16, [2, 4].into_iter());
    // 12 patches on 16 threads: three quarters of a patch each; 17: one and a quarter instead of two.
    assert_eq!([1, 4, 8, 12, 16, 17, 31].map(cut), [4; 7]);
    assert_eq!([32, 33, 64].map(cut), [1; 3]);
    // Two threads: of 3 patches in halves each has three.
    assert_eq!([1, 2, 3, 4].map(|patches| parts(patches, 2, [2, 3].into_iter())), [2, 3, 2, 1]);
    assert_eq!(parts(1, 1, [2, 4].into_iter()), 1);
    // A team: as coarse as gives every thread one, and finer only where that is worth the planes that are
    // computed twice.
    let cut = |patches| parts_of_team(patches, 16, [2, 4, 8, 16].into_iter());
    assert_eq!([1, 2, 3, 4, 8, 12, 16, 17, 24, 32].map(cut), [16, 8, 16, 4, 2, 4, 1, 8, 2, 1]);
    assert_eq!(parts(1, 16, std::iter::empty()), 1);
}

#[test]
fn every_item_is_worked_on_once_and_results_keep_their_order() {
    for (threads, hands) in [(1, Hands::Rayon), (2, Hands::Rayon), (5, Hands::Rayon), (5, team())] {
        for items in [0, 1, 2, 7, 100] {
            let counts: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
            let work = |item: usize| {
                counts[item].fetch_add(1, SeqCst);
                Ok(item * item)
            };
            // From a thread of the pool, and from one outside (of the global pool).
            let from_inside = pool(threads).install(|| each(hands, 0..items, work)).unwrap();
            let from_outside = each(hands, 0..items, work).unwrap();
            let squares: Vec<usize> = (0..items).map(|item| item * item).collect();
            assert_eq!(from_inside, squares);
            assert_eq!(from_outside, squares);
            assert!(counts.iter().all(|count| count.load(SeqCst) == 2));
        }
    }
}

#[test]
fn several_threads_work_at_once() {
    for hands in [Hands::Rayon, team()] {
        // Each waits for the other, so that one thread alone would never end.
        let met = std::sync::Barrier::new(2);
        pool(2).install(|| {
            each(hands, 0..2, |_| {
                met.wait();
                Ok(())
            })
            .unwrap();
        });
    }
}

#[test]
fn teams_share_tasks_evenly_and_leave_small_calls_to_one_thread() {
    for threads in [1, 2, 3, 16] {
        for tasks in [0, 1, 5, 16, 17, 100] {
            let shares = (0..threads).map(|thread| share(tasks, thread, threads));
            let all: Vec<usize> = shares.clone().flatten().collect();
            assert_eq!(all, (0..tasks).collect::<Vec<_>>());
            let longest = shares.map(|share| share.len()).max();
            assert_eq!(longest, Some(tasks.div_ceil(threads)));
        }
    }
    let task = |patches, cost| pool(16).install(|| team().task(patches, cost));
    assert_eq!([task(10, 1.0), task(11, 1.0), task(17, 1.0), task(2048, 1.0)], [10, 1, 2, 128]);
    assert_eq!(pool(1).install(|| team().task(2048, 1.0)), 2048);
}

#[test]
fn numbers_and_chunks_are_each_visited_once() {
    for hands in [Hands::Rayon, team()] {
        for (threads, count) in [(1, 7), (3, 0), (3, 7), (3, 100)] {
            let counts: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            let mut values = vec![0.0; 2 * count];
            pool(threads).install(|| {
                numbers(hands, count, 16, |number| {
                    counts[number].fetch_add(1, SeqCst);
                });
                chunks(hands, &mut values, 2, |number, chunk| chunk[1] += 1.0 + number as f64);
            });
            assert!(counts.iter().all(|count| count.load(SeqCst) == 1));
            let wanted = (0..count).flat_map(|number| [0.0, 1.0 + number as f64]);
            assert!(values.iter().copied().eq(wanted));
            let seek = |from: f64| {
                let late = |number: usize, chunk: &[f64]| (chunk[1] > from).then_some(number);
                pool(threads).install(|| first(hands, &values, 2, late))
            };
            assert_eq!([seek(5.0), seek(1e3)], [(count > 5).then_some(5), None]);
        }
    }
}

#[test]
fn a_panic_on_a_teams_thread_reaches_the_caller() {
    let ended = AtomicUsize::new(0);
    let done = std::panic::catch_unwind(|| {
        pool(3).install(|| {
            each(team(), 0..3, |item| {
                ended.fetch_add(1, SeqCst);
                assert_ne!(item, 2, "the third");
                Ok(())
            })
        })
    });
    let panic = done.unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("the third"), "{text}");
    assert_eq!(ended.load(SeqCst), 3);
}

#[test]
fn a_call_ends_although_no_thread_comes_to_help() {
    let pool = pool(2);
    let (begin, end) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            // On one of two threads, while the other is held up here.
            begin.wait();
            assert_eq!(each(Hands::Rayon, 0..50, Ok).unwrap().len(), 50);
            end.wait();
        });
        scope.spawn(|_| {
            begin.wait();
            end.wait();
        });
    });
}

#[test]
fn the_caller_sleeps_until_the_last_task_has_ended() {
    let ended = AtomicUsize::new(0);
    pool(3).install(|| {
        each(Hands::Rayon, 0..3, |item| {
            std::thread::sleep(Duration::from_millis(20 * item));
            ended.fetch_add(1, SeqCst);
            Ok(())
        })
        .unwrap();
        assert_eq!(ended.load(SeqCst), 3);
    });
}

#[test]
fn the_first_items_error_reaches_the_caller() {
    let fail = |item: usize| match item {
        3 | 7 => Err(Error::Invalid { what: format!("item {item}"), remedy: "none".into() }),
        _ => Ok(()),
    };
    for threads in [1, 4] {
        let error = pool(threads).install(|| each(Hands::Rayon, 0..9, fail)).unwrap_err();
        assert!(error.to_string().contains("item 3"), "{error}");
    }
}

#[test]
fn a_panic_reaches_the_caller_after_all_tasks_have_ended() {
    let ended = AtomicUsize::new(0);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool(3).install(|| {
            each(Hands::Rayon, 0..6, |item| {
                assert_ne!(item, 2, "of item two");
                ended.fetch_add(1, SeqCst);
                Ok(())
            })
        })
    }));
    let message = caught.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(message.contains("of item two"), "{message}");
    assert_eq!(ended.load(SeqCst), 5);
}
