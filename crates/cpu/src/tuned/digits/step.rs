//! One step whose Laplacian comes from digits: blocks of planes and rows, all of z.
//!
//! A block's Laplacian is taken tile by tile into a thread's memory; its rows are then stepped as
//! everywhere, p+ = 2p - p- + c^2 dt^2 (L p + extra), with what layers add in FP32. Blocks read p^n and
//! overwrite p^(n-1) of their own nodes alone, so their order does not matter.

#![allow(unsafe_code, reason = "launcher: threads write disjoint rows of shared arrays")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract covers all rows that a row's step touches"
)]

use temblor_backend::KernelKind as Kind;

use super::super::kernels::Isa;
use super::super::pass::{Pass, Scratch};
use super::super::schedule::on_all_threads;
use super::tile::{Field, LENGTH};
use super::{Digital, Workspace};

/// One step of all nodes.
pub(in super::super) fn step(pass: &Pass<'_>, digital: &Digital) {
    let [nx, ny, _] = pass.layout.shape;
    let [planes, rows, _] = digital.shape;
    let across = ny.div_ceil(rows);
    on_all_threads(pass, nx.div_ceil(planes) * across, |task, scratch| {
        let (i, j) = (task / across * planes, task % across * rows);
        let mut workspace = digital.take_workspace();
        // SAFETY: blocks are disjoint, and nothing that they read is written in this pass.
        unsafe {
            block(
                pass,
                digital,
                [i, j],
                [planes.min(nx - i), rows.min(ny - j)],
                scratch,
                &mut workspace,
            );
        }
        digital.give_back(workspace);
    });
}

/// Steps the nodes of `shape` planes and rows from (i, j) on.
///
/// # Safety
/// Nobody else steps these rows meanwhile, and nobody writes p^n.
unsafe fn block(
    pass: &Pass<'_>,
    digital: &Digital,
    [i, j]: [usize; 2],
    shape: [usize; 2],
    scratch: &mut Scratch,
    workspace: &mut Workspace,
) {
    scratch.start();
    let layout = pass.layout;
    let nz = layout.shape[2];
    let row = nz.next_multiple_of(LENGTH);
    let plane = shape[1] * row;
    workspace.laplacian.resize(shape[0] * plane, 0.0);
    let read = pass.parity;
    // SAFETY: nobody writes p^n in this pass.
    let p = unsafe { std::slice::from_raw_parts(pass.wavefields[read].cast_const(), layout.len) };
    let field = Field { p, layout };
    for k in (0..nz).step_by(LENGTH) {
        let tile = digital.tile(layout, [i, j, k]);
        let peak = digital.peaks.around(read, &tile, layout);
        digital.laplacian(field, &tile, peak, workspace, [k, plane, row]);
    }
    scratch.lap(Kind::Interior);
    let layers = !pass.cpml.is_empty() || pass.minimod.is_some();
    for a in 0..shape[0] {
        for b in 0..shape[1] {
            let (i, j) = (i + a, j + b);
            let laplacian = &mut workspace.laplacian[a * plane + b * row..][..nz];
            if let Some(outer) = &digital.outer {
                outer.row(p, layout, [i, j], laplacian);
            }
            let at = layout.at(i.cast_signed(), j.cast_signed());
            // SAFETY: the caller's contract, and what `Pass::layers` and `Pass::damp` say.
            unsafe {
                let mut extra = std::ptr::null_mut();
                if layers {
                    let whole = pass.reached(i, j);
                    extra = if whole { &mut scratch.extra } else { &mut scratch.extra_at_ends }
                        .as_mut_ptr();
                    pass.layers(read, i, j, whole, extra, scratch);
                    let extra = std::slice::from_raw_parts(extra.cast_const(), nz);
                    laplacian.iter_mut().zip(extra).for_each(|(sum, more)| *sum += more);
                    scratch.lap(Kind::Layers);
                }
                let next = std::slice::from_raw_parts_mut(pass.wavefields[1 - read].add(at), nz);
                let c2 = std::slice::from_raw_parts(pass.c2.add(layout.at_c2(i, j)), nz);
                leapfrog(digital.isa, next, &p[at..at + nz], c2, laplacian);
                scratch.lap(Kind::Interior);
                if layers {
                    pass.damp(i, 1, j, read, extra);
                    scratch.lap(Kind::Layers);
                }
            }
        }
        // SAFETY: the caller's contract; the rows are stepped.
        unsafe { pass.finish(0, i + a, 1, j..j + shape[1], scratch) };
    }
    if digital.has_peaks() {
        carry(pass, digital, [i, j], shape);
        scratch.lap(Kind::Interior);
    }
}

/// Leaves the peaks of a block's stepped tiles, injection and damping included, to the next step.
fn carry(pass: &Pass<'_>, digital: &Digital, [i, j]: [usize; 2], shape: [usize; 2]) {
    let (layout, written) = (pass.layout, 1 - pass.parity);
    for k in (0..layout.shape[2]).step_by(LENGTH) {
        let tile = digital.tile(layout, [i, j, k]);
        let mut bits = 0;
        for i in i..i + shape[0] {
            for j in j..j + shape[1] {
                let at = layout.at(i.cast_signed(), j.cast_signed()) + k;
                // SAFETY: the row belongs to this thread's block, which is stepped.
                let row = unsafe {
                    let first = pass.wavefields[written].add(at).cast_const();
                    std::slice::from_raw_parts(first, tile.shape[2])
                };
                bits = bits.max(digital.largest(row));
            }
        }
        digital.peaks.set(written, &tile, bits);
    }
}

/// `next = 2p - next + c2 laplacian`, each operation rounded: the same bits on every instruction set.
fn leapfrog(isa: Isa, next: &mut [f32], p: &[f32], c2: &[f32], laplacian: &[f32]) {
    // SAFETY: a plan's instruction set is one of this processor's.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512(next, p, c2, laplacian),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(next, p, c2, laplacian),
            _ => portable(next, p, c2, laplacian),
        }
    }
}

#[inline(always)]
fn portable(next: &mut [f32], p: &[f32], c2: &[f32], laplacian: &[f32]) {
    for (((next, p), c2), laplacian) in next.iter_mut().zip(p).zip(c2).zip(laplacian) {
        *next = 2.0 * p - *next + c2 * laplacian;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(next: &mut [f32], p: &[f32], c2: &[f32], laplacian: &[f32]) {
    portable(next, p, c2, laplacian);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(next: &mut [f32], p: &[f32], c2: &[f32], laplacian: &[f32]) {
    portable(next, p, c2, laplacian);
}
