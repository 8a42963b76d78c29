//! One step over stored fields: strips of rows march along x through a window of FP32 planes.
//!
//! A task owns rows `j0..j1` of planes `i0..i1`. Its window holds p of the planes and rows within one
//! radius of those that it steps, each plane decoded once as the strip gets there; images across
//! faces are made in the window, so that stored fields have no halo and images cost no storage. When
//! the window is full, the planes that are still needed move to its front. Two more windows of one or
//! two planes hold p^(n-1), over which the kernels of the FP32 plans write p^(n+1), and c^2 dt^2
//! where that is stored as codes. Stored rows of p^(n-1) are overwritten by those of p^(n+1), which
//! no other row reads; in increment form the increment is, and p^(n+1) goes to a second array, since
//! other tasks still read p^n.
//!
//! In increment form `d = p^n - p^(n-1)` is kept. The step gives p^(n+1) from p and p - d, then
//! `d+ = round(p^(n+1) - p)` and `p+ = round(p + d+)`: what is stored of p moves by what is stored of
//! d, also in layers. d+, or without increments p+ of integers, is rounded stochastically; p+ = p + d+ and
//! halves to nearest.
//! Relative L2 of traces after 2,000 steps at 0.9 of the CFL limit, layered model, receivers near the
//! source / across three layers / both in a rigid box (`cargo run -p temblor-cpu --example stored`):
//!
//! ```text
//!                                    near     far      box
//! int16            to nearest       1.9e-3   1.2e-2   1.2e-3
//!                  stochastic       5.8e-4   2.0e-3   1.4e-3
//! int16-increment  to nearest       3.8e-4   2.5e-3   3.5e-4
//!                  p+ from d+ before its rounding, to nearest
//!                                   3.5e-4   2.3e-3   3.5e-4
//!                  d+ plus what the rounding of p+ left (compensated), whole / half of it
//!                                   5.5e-4   1.7e-3   2.3e-3
//!                                   5.0e-4   3.0e-3   6.7e-4
//!                  d+ less what it left, half / whole of it
//!                                   1.4e-3   9.4e-3   7.5e-4
//!                                   1.8e-3   1.2e-2   1.3e-3
//!                  d+ stochastic    1.4e-4   4.1e-4   3.4e-4
//!                  p+ stochastic    1.9e-4   6.8e-4   4.6e-4
//!                  both stochastic  1.8e-4   5.2e-4   5.0e-4
//! fp16-scaled      to nearest       4.9e-3   1.1e-2   2.8e-2
//!                  stochastic       5.7e-3   9.6e-3   1.2e-2
//! bf16             to nearest       6.3e-2   1.5e-1   2.0e-1
//!                  stochastic       4.8e-2   1.3e-1   1.1e-1
//! ```
//!
//! Stochastic rounding gains most where the wave has passed and is faint: to nearest, a field that
//! changes by less than half a code stands still. Halves gain little, and in a C-PML their noise grows (see
//! `noise`): they are rounded to nearest. A residual in d does not compensate, since d keeps it
//! in all later steps.

#![allow(unsafe_code, reason = "launcher: threads read and write rows of shared arrays")]

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use temblor_backend::KernelKind as Kind;
use temblor_physics::{Axis, WaveProblem, boundary};

use super::codecs::Codec;
use super::noise::Noise;
use super::packed::Shared;
use super::speed::Speed;
use crate::memory::AlignedVec;
use crate::tuned::images::Images;
use crate::tuned::kernels::WIDEST;
use crate::tuned::layout::Layout;
use crate::tuned::pass::{Pass, Scratch};
use crate::tuned::schedule::{Schedule, on_all_threads, tiles};

/// Planes that a window holds beyond those that a step needs: the more, the more rarely planes move
/// to its front, and the less of it stays in the cache.
const SPARE_PLANES: usize = 8;

/// Planes of a window of p.
pub(super) const fn window_planes(radius: usize, planes: usize) -> usize {
    2 * radius + planes + SPARE_PLANES
}

/// Where the nodes of the halo come from: along x and y a node inside and a sign, or nothing.
#[derive(Debug)]
pub(super) struct Mirror {
    planes: Vec<Option<(usize, f32)>>,
    rows: Vec<Option<(usize, f32)>>,
}

impl Mirror {
    pub(super) fn new(problem: &WaveProblem, layout: &Layout) -> Self {
        let along = |axis: Axis| {
            let nodes = layout.shape[axis.index()];
            let (min, max) = problem.ends(axis);
            let reach = layout.halo[axis.index()].cast_signed();
            (-reach..nodes.cast_signed() + reach)
                .map(|node| {
                    let (source, sign) = boundary::image(node, nodes, &min, &max)?;
                    Some((source, if sign < 0.0 { -1.0 } else { 1.0 }))
                })
                .collect()
        };
        Self { planes: along(Axis::X), rows: along(Axis::Y) }
    }
}

/// FP32 planes of one thread.
#[derive(Debug)]
pub(super) struct Window {
    p: AlignedVec,
    next: AlignedVec,
    c2: AlignedVec,
}

impl Window {
    /// Values of p, of p^(n+1) and of c^2 dt^2.
    const fn sizes(layout: &Layout, planes: usize, codes: bool) -> [usize; 3] {
        let next = planes * layout.plane + 2 * WIDEST;
        let c2 = if codes { planes * layout.rows_c2 * layout.row } else { 0 };
        [layout.len, next, c2]
    }

    /// Bytes that [`Window::new`] allocates.
    pub(super) fn bytes(layout: &Layout, planes: usize, codes: bool) -> u64 {
        Self::sizes(layout, planes, codes).map(AlignedVec::bytes).iter().sum()
    }

    pub(super) fn new(layout: &Layout, planes: usize, codes: bool) -> Self {
        let [p, next, c2] = Self::sizes(layout, planes, codes).map(AlignedVec::zeroed);
        Self { p, next, c2 }
    }
}

/// What all strips of a step share.
pub(super) struct Sweep<'a> {
    pub(super) pass: Pass<'a>,
    pub(super) codec: &'a Codec,
    /// p^n.
    pub(super) p: Shared<'a>,
    /// p^(n-1), becomes p^(n+1).
    pub(super) other: Shared<'a>,
    /// p^n - p^(n-1), where that is kept.
    pub(super) increment: Option<Shared<'a>>,
    /// n.
    pub(super) step: u64,
    /// The wavefield that p^n is in: 0 or 1.
    pub(super) read: usize,
    pub(super) speed: &'a Speed,
    pub(super) mirror: &'a Mirror,
    /// All images, of which only those along z are looked at here.
    pub(super) images: &'a Images,
    pub(super) schedule: Schedule,
}

impl Sweep<'_> {
    /// Steps all rows.
    pub(super) fn run(&self, windows: &mut Vec<Window>) {
        let layout = self.pass.layout;
        let [nx, ny, _] = layout.shape;
        let threads = rayon::current_num_threads();
        let tiles = tiles(layout, self.schedule.rows, threads);
        // Long strips decode fewer planes twice; where there are too few, x is cut as well.
        let wanted = if tiles.is_multiple_of(threads) { 1 } else { (4 * threads).div_ceil(tiles) };
        let cuts = wanted.min(nx / (8 * layout.radius)).max(1);
        let tasks = tiles * cuts;
        while windows.len() < threads.min(tasks) {
            let codes = matches!(self.speed, Speed::Codes(_));
            windows.push(Window::new(layout, self.schedule.planes, codes));
        }
        let free = Mutex::new(windows.iter_mut().collect::<Vec<_>>());
        on_all_threads(&self.pass, tasks, |task, scratch| {
            let lock = || free.lock().unwrap_or_else(PoisonError::into_inner);
            let window = lock().pop().expect("there is a window per thread");
            let (cut, tile) = (task / tiles, task % tiles);
            let planes = cut * nx / cuts..(cut + 1) * nx / cuts;
            let rows = tile * ny / tiles..(tile + 1) * ny / tiles;
            // SAFETY: strips are disjoint and all of them are of this step.
            unsafe { self.strip(window, planes, rows, scratch) };
            lock().push(window);
        });
    }

    /// Steps a strip.
    ///
    /// # Safety
    /// Nobody else steps these rows in this step, nor writes p^n.
    unsafe fn strip(
        &self,
        window: &mut Window,
        planes: Range<usize>,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) {
        let layout = self.pass.layout;
        let together = self.schedule.planes;
        let halo = layout.halo[0].cast_signed();
        let slots = window_planes(layout.radius, together).cast_signed();
        let first_row = rows.start.cast_signed() - layout.halo[1].cast_signed();
        // The plane in slot 0, and the first one that is not decoded yet.
        let mut origin = planes.start.cast_signed() - halo;
        let mut decoded = origin;
        let mut pass = self.pass.over([std::ptr::null_mut(); 2], std::ptr::null());
        for i in planes.clone().step_by(together) {
            scratch.start();
            let count = together.min(planes.end - i);
            let needed = (i + count).cast_signed() + halo;
            if needed - origin > slots {
                let kept = i.cast_signed() - halo;
                let at = |plane: isize| (plane - origin).cast_unsigned() * layout.plane;
                let end = at(decoded) + 2 * WIDEST;
                window.p.copy_within(at(kept)..end, 0);
                origin = kept;
            }
            while decoded < needed {
                let slot = (decoded - origin).cast_unsigned() * layout.plane;
                let plane = &mut window.p[slot..][..layout.plane + 2 * WIDEST];
                // SAFETY: the caller's contract.
                unsafe { self.decode_plane(decoded, first_row, rows.len(), plane) };
                decoded += 1;
            }
            // SAFETY: the caller's contract.
            unsafe { self.decode_others(window, i..i + count, rows.clone(), [origin, first_row]) };
            let start = layout.at(i.cast_signed(), rows.start.cast_signed());
            let p = window.p.pointer().wrapping_add(WIDEST);
            let next = window.next.pointer().wrapping_add(WIDEST);
            pass.wavefields[self.read] = p.wrapping_sub(layout.at(origin, first_row));
            pass.wavefields[1 - self.read] = next.wrapping_sub(start);
            pass.c2 = match self.speed {
                Speed::Singles(c2) => c2.as_ptr(),
                Speed::Codes(_) => window.c2.as_ptr().wrapping_sub(layout.at_c2(i, rows.start)),
            };
            scratch.lap(Kind::Interior);
            // SAFETY: the window holds p around these rows, p^(n-1) on them and c^2 dt^2; the layers'
            // rows are stepped by this task alone.
            unsafe { pass.rows(0, i, count, rows.clone(), scratch) };
            // SAFETY: the caller's contract.
            unsafe { self.encode(window, i..i + count, rows.clone(), [origin, first_row]) };
            scratch.lap(Kind::Interior);
        }
    }

    /// p of a plane, which may lie in the halo, on rows from `first_row` on.
    ///
    /// # Safety
    /// Nobody writes p^n.
    unsafe fn decode_plane(&self, i: isize, first_row: isize, rows: usize, plane: &mut [f32]) {
        let layout = self.pass.layout;
        let [_, ny, _] = layout.shape;
        let from_plane = self.mirror.planes[(i + layout.halo[0].cast_signed()).cast_unsigned()];
        let first = (first_row + layout.halo[1].cast_signed()).cast_unsigned();
        for n in 0..rows + 2 * layout.halo[1] {
            let row = &mut plane[n * layout.pitch..][..layout.pitch + WIDEST];
            let nodes = &mut row[WIDEST..][..layout.row];
            if let (Some((i, sign_x)), Some((j, sign_y))) =
                (from_plane, self.mirror.rows[first + n])
            {
                // SAFETY: the caller's contract.
                unsafe { self.p.read(i * ny + j, nodes) };
                if sign_x * sign_y < 0.0 {
                    nodes.iter_mut().for_each(|p| *p = -*p);
                }
            } else {
                nodes.fill(0.0);
            }
            let at = |node: isize| (WIDEST.cast_signed() + node).cast_unsigned();
            for &(to, from, sign) in &self.images.nodes {
                row[at(to)] = sign * row[WIDEST + from];
            }
        }
    }

    /// p^(n-1) and, from codes, c^2 dt^2 on the rows of a step.
    ///
    /// # Safety
    /// Nobody else touches these rows of p^(n-1) and of the increment.
    unsafe fn decode_others(
        &self,
        window: &mut Window,
        planes: Range<usize>,
        rows: Range<usize>,
        origin: [isize; 2],
    ) {
        let layout = self.pass.layout;
        let [_, ny, _] = layout.shape;
        for (plane, i) in planes.enumerate() {
            for (n, j) in rows.clone().enumerate() {
                let at = WIDEST + plane * layout.plane + n * layout.pitch;
                let next = &mut window.next[at..][..layout.row];
                if let Some(increment) = self.increment {
                    // SAFETY: the caller's contract.
                    unsafe { increment.read(i * ny + j, next) };
                    let p = &window.p[in_window(layout, i, j, origin)..][..layout.row];
                    self.codec.combine(next, [-1.0, 1.0], p);
                } else {
                    // SAFETY: the caller's contract.
                    unsafe { self.other.read(i * ny + j, next) };
                }
                if let Speed::Codes(codes) = self.speed {
                    let at = plane * layout.rows_c2 * layout.row + n * layout.row;
                    let c2 = &mut window.c2[at..][..layout.row];
                    codes.read(self.codec, layout, self.images, [i, j], c2);
                }
            }
        }
    }

    /// Stores p^(n+1), and the increment where that is kept.
    ///
    /// # Safety
    /// Nobody else touches these rows of p^(n-1) and of the increment.
    unsafe fn encode(
        &self,
        window: &mut Window,
        planes: Range<usize>,
        rows: Range<usize>,
        origin: [isize; 2],
    ) {
        let layout = self.pass.layout;
        let [_, ny, nz] = layout.shape;
        for (plane, i) in planes.enumerate() {
            for (n, j) in rows.clone().enumerate() {
                let at = WIDEST + plane * layout.plane + n * layout.pitch;
                let next = &mut window.next[at..][..layout.row];
                // The kernels ran over images past the last node.
                next[nz..].fill(0.0);
                let r = i * ny + j;
                let noise = Noise::new(self.step, r);
                if let Some(increment) = self.increment {
                    let p = &window.p[in_window(layout, i, j, origin)..][..nz];
                    self.codec.combine(&mut next[..nz], [1.0, -1.0], p);
                    // SAFETY: the caller's contract.
                    unsafe { increment.write_noisy(r, next, noise) };
                    // SAFETY: the caller's contract.
                    unsafe { increment.read(r, next) };
                    self.codec.combine(&mut next[..nz], [1.0, 1.0], p);
                    // SAFETY: the caller's contract.
                    unsafe { self.other.write(r, next) };
                } else {
                    // SAFETY: the caller's contract.
                    unsafe { self.other.write_noisy(r, next, noise) };
                }
            }
        }
    }
}

/// Offset of node (i, j, 0) in a window whose first plane and row are `origin`.
const fn in_window(layout: &Layout, i: usize, j: usize, [plane, row]: [isize; 2]) -> usize {
    layout.at(i.cast_signed(), j.cast_signed()) - layout.at(plane, row) + WIDEST
}
