//! In which order rows are stepped, and on which threads.
//!
//! `blocked`: one step; tiles of rows march along x, so that the planes around a row are still in
//! the second-level cache when its neighbours need them. Rows are independent of each other.
//!
//! Wavefront: K steps in one sweep along x. Planes are stepped P at a time; step s lags step s - 1
//! by L P planes, the least multiple of P from one radius R on, and the tile's rows shift down by R
//! per step, so that tile b at position m needs only what tile b - 1 has done up to the same
//! position:
//!
//! ```text
//! tile b, position m, step s = 0..K:  planes P (m - s L) to P (m - s L) + P - 1,
//!                                     rows Y_b - s R to Y_(b+1) - s R - 1
//! ```
//!
//! with `Y_b` the tile's first row. Step s at (i, j) reads p of step s within one radius. Of those
//! rows, the ones from `Y_b - (s-1) R` on were stepped by this tile at position m or before, which
//! reached plane i + L P + P - 1, the ones below by earlier tiles, at position m or before. It
//! overwrites p of step s - 1 there, whose last readers are the same rows. An earlier tile that
//! runs ahead writes in step s rows below `Y_b - s R` only, and this tile reads in step s - 1 at
//! rows from there on. The layers' q obey the same rule with p; phi and r belong to their node
//! alone; a node's images are read by rows within one radius of the node only, so they follow it.

#![allow(unsafe_code, reason = "launcher: proves the contract of `Pass::rows`")]

use std::sync::atomic::{AtomicUsize, Ordering};

use temblor_backend::Parameter;

use super::layout::Layout;
use super::pass::{Pass, Scratch};
use crate::denormals::FlushDenormals;

/// What is free in the order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Rows of a tile at most; fewer where threads would have no tile.
    pub(super) rows: usize,
    /// Planes stepped together: 1 or 2.
    pub(super) planes: usize,
}

/// Parameters of every variant.
pub(super) fn parameters() -> Vec<Parameter> {
    let parameter = |name: &str, about: &str, values: &[u32], default| {
        let (name, about) = (name.into(), about.into());
        Parameter { name, about, values: values.to_vec(), default }
    };
    let about = "planes stepped together";
    let planes = parameter("planes", about, &[1, 2], 2);
    let about = "rows of a tile at most; 0: as many as half the second-level cache holds";
    vec![planes, parameter("rows", about, &[0, 8, 16, 24, 32, 48, 64, 96, 128, 256], 0)]
}

/// Calls `work` for tasks 0, 1, ... of a pass on the current pool's threads, each task claimed in
/// order, with denormals flushed.
pub(super) fn on_all_threads(
    pass: &Pass<'_>,
    tasks: usize,
    work: impl Fn(usize, &mut Scratch) + Sync,
) {
    let claimed = AtomicUsize::new(0);
    let run = || {
        let _flush = FlushDenormals::new();
        let mut scratch = pass.scratch();
        loop {
            let task = claimed.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                break;
            }
            work(task, &mut scratch);
        }
        pass.done(&scratch);
    };
    let threads = rayon::current_num_threads().min(tasks);
    if threads <= 1 {
        run();
    } else {
        rayon::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| run());
            }
            run();
        });
    }
}

/// Rows of the lowest tile: with fewer, halos outweigh what is reused.
const LEAST_ROWS: usize = 8;

/// Number of tiles of at most `rows` rows, enough for all threads to share the work evenly.
pub(super) fn tiles(layout: &Layout, rows: usize, threads: usize) -> usize {
    let ny = layout.shape[1];
    let wanted = if threads > 1 { 2 * threads } else { 1 };
    ny.div_ceil(rows).max(wanted.min(ny / LEAST_ROWS)).max(1)
}

/// Rows per tile whose working set of `planes` planes fills `bytes` of cache.
pub(super) fn rows_per_tile(layout: &Layout, planes: usize, bytes: usize) -> usize {
    let fit = bytes / (planes * layout.pitch * size_of::<f32>());
    fit.saturating_sub(2 * layout.radius).max(LEAST_ROWS)
}

/// First rows of `tiles` tiles that take equal time, and the end: threads that work on a slow tile at
/// either end of y would keep the others waiting.
fn bounds(pass: &Pass<'_>, tiles: usize) -> Vec<usize> {
    let ny = pass.layout.shape[1];
    let mut cost_before = vec![0; ny + 1];
    for j in 0..ny {
        cost_before[j + 1] = cost_before[j] + pass.row_cost(j);
    }
    let total = cost_before[ny];
    (0..=tiles)
        .map(|tile| cost_before.partition_point(|&cost| cost * tiles < tile * total))
        .collect()
}

/// One step, blocked.
pub(super) fn blocked(pass: &Pass<'_>, schedule: Schedule) {
    let Schedule { rows, planes } = schedule;
    let layout = pass.layout;
    let nx = layout.shape[0];
    let threads = rayon::current_num_threads();
    let tiles = tiles(layout, rows, threads);
    // Long runs along x reuse planes; where tiles along y are too few, x is cut as well.
    let wanted = if tiles.is_multiple_of(threads) { 1 } else { (4 * threads).div_ceil(tiles) };
    let cuts = wanted.min(nx / (8 * layout.radius)).max(1);
    let bounds = bounds(pass, tiles);
    on_all_threads(pass, tiles * cuts, |task, scratch| {
        let (cut, tile) = (task / tiles, task % tiles);
        let rows = bounds[tile]..bounds[tile + 1];
        let end = (cut + 1) * nx / cuts;
        for i in (cut * nx / cuts..end).step_by(planes) {
            // SAFETY: a pass of one step: rows read what no row of the pass writes, and tasks are
            // disjoint.
            unsafe { pass.rows(0, i, planes.min(end - i), rows.clone(), scratch) };
        }
    });
}

/// K steps in one sweep.
pub(super) fn wavefront(pass: &Pass<'_>, steps: usize, schedule: Schedule) {
    let Schedule { rows, planes } = schedule;
    let layout = pass.layout;
    let [nx, ny, _] = layout.shape;
    let radius = layout.radius;
    let lag = radius.div_ceil(planes);
    let tiles = tiles(layout, rows, rayon::current_num_threads());
    let bounds = bounds(pass, tiles);
    let positions: Vec<_> = (0..tiles).map(|_| AtomicUsize::new(0)).collect();
    on_all_threads(pass, tiles, |tile, scratch| {
        for m in 0..nx.div_ceil(planes) + (steps - 1) * lag {
            // Tiles are claimed in order, so the tile waited for is done or being worked on, and
            // the first of those waits for none.
            if tile > 0 {
                let mut turns = 0_u32;
                while positions[tile - 1].load(Ordering::Acquire) <= m {
                    turns += 1;
                    if turns < 64 { std::hint::spin_loop() } else { std::thread::yield_now() }
                }
            }
            for s in 0..steps {
                let Some(i) = m.checked_sub(s * lag).map(|m| m * planes).filter(|&i| i < nx) else {
                    continue;
                };
                let from = bounds[tile].saturating_sub(s * radius);
                let to = if tile + 1 == tiles {
                    ny
                } else {
                    bounds[tile + 1].saturating_sub(s * radius)
                };
                // SAFETY: the module's argument; the load above makes the earlier tiles' work
                // happen before.
                unsafe { pass.rows(s, i, planes.min(nx - i), from..to, scratch) };
            }
            positions[tile].store(m + 1, Ordering::Release);
        }
    });
}
