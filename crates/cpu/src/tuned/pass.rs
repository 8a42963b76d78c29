//! One pass over the grid as its rows see it: layers, step, sources, images, in this order.
//!
//! A pass advances one or more steps; `lag` counts them. p^(n+lag) is read from one wavefield and
//! p^(n+lag+1) overwrites p^(n+lag-1) in the other, so wavefields and the layers' q swap roles with
//! the parity of the step.

#![allow(unsafe_code, reason = "launcher: threads write disjoint rows of shared arrays")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract covers all rows that a row's step touches"
)]

use std::ops::Range;

use temblor_backend::KernelKind as Kind;
use temblor_physics::Axis;

use super::images::Images;
use super::kernels::{Kernels, StepArgs, Weights};
use super::layers::{CpmlAxis, Layers, MinimodLayer, stretches};
use super::layout::Layout;
use super::plan::Steps;
use super::points::Sources;
use super::scheme::Scheme;
use super::timing::{Laps, Timer};
use crate::memory::AlignedVec;

/// Rows of one thread.
#[derive(Debug)]
pub(super) struct Scratch {
    /// What layers add to the operator, a row for either of two planes.
    pub(super) extra: Vec<f32>,
    /// The same where layers along z alone contribute; zero elsewhere.
    pub(super) extra_at_ends: Vec<f32>,
    /// phi along z before its step, zero outside the layers.
    pub(super) before: Vec<f32>,
    /// phi or q along z after its step.
    pub(super) after: Vec<f32>,
    /// Where the thread's time goes, if that is asked for.
    laps: Option<Laps>,
}

impl Scratch {
    fn new(layout: &Layout, laps: Option<Laps>) -> Self {
        let row = vec![0.0; layout.row];
        let extra = vec![0.0; 2 * layout.row];
        Self { extra_at_ends: extra.clone(), extra, before: row.clone(), after: row, laps }
    }

    /// Leaves out what the thread did since the last lap.
    pub(super) fn start(&mut self) {
        if let Some(laps) = &mut self.laps {
            laps.start();
        }
    }

    /// What the thread did since the last call belongs to `kind`.
    pub(super) fn lap(&mut self, kind: Kind) {
        if let Some(laps) = &mut self.laps {
            laps.lap(kind);
        }
    }
}

/// C-PML along one axis, with its arrays as shared pointers.
#[derive(Clone, Copy)]
pub(super) struct Cpml<'a> {
    pub(super) layer: &'a CpmlAxis,
    pub(super) q: [*mut f32; 2],
    pub(super) r: *mut f32,
}

/// Everything that the rows of a pass share.
pub(super) struct Pass<'a> {
    pub(super) layout: &'a Layout,
    pub(super) kernels: &'a Kernels,
    weights: &'a Weights,
    images: &'a Images,
    sources: &'a Sources,
    pub(super) wavefields: [*mut f32; 2],
    pub(super) c2: *const f32,
    pub(super) cpml: Vec<Cpml<'a>>,
    pub(super) minimod: Option<(&'a MinimodLayer, *mut f32)>,
    /// Where layers along z contribute on any row, multiples of [`WIDEST`], in order.
    pub(super) ends: &'a [(usize, usize)],
    pub(super) zeros: Vec<f32>,
    first_step: u64,
    pub(super) parity: usize,
    timer: Option<&'a Timer>,
}

// SAFETY: the pointers lead to arrays that are borrowed for 'a; who may touch which row when is the
// contract of `Pass::rows`.
unsafe impl Sync for Pass<'_> {}

/// Stretches of a row that layers along z reach.
pub(super) fn ends_along_z(layers: &Layers, layout: &Layout) -> Vec<(usize, usize)> {
    let along_z = layers.cpml.iter().find(|layer| layer.axis == Axis::Z);
    let cpml = along_z.map(|layer| (layer.ends, layout.radius));
    let minimod = layers.minimod.as_ref().map(|layer| (layer.ends[2], 0));
    let (ends, reach) = match cpml.or(minimod) {
        Some(found) => found,
        None => return Vec::new(),
    };
    stretches(&ends, reach, layout.row)
}

/// What a pass is made of besides wavefields and layers.
pub(super) struct Setting<'a> {
    pub(super) scheme: &'a Scheme,
    pub(super) c2: *const f32,
    pub(super) ends: &'a [(usize, usize)],
    pub(super) sources: &'a Sources,
    /// n: p^n is in wavefield n mod 2.
    pub(super) step: u64,
    /// Where threads leave their times, if those are asked for.
    pub(super) timer: Option<&'a Timer>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(
        scheme: &'a Scheme,
        ends: &'a [(usize, usize)],
        c2: &'a AlignedVec,
        steps: &Steps<'a>,
    ) -> Self {
        let Steps { first: step, sources, timer, .. } = *steps;
        Self { scheme, c2: c2.as_ptr(), ends, sources, step, timer }
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        setting: &Setting<'a>,
        wavefields: [*mut f32; 2],
        layers: &'a mut Layers,
    ) -> Self {
        let scheme = setting.scheme;
        let pointers: Vec<_> = layers
            .cpml
            .iter_mut()
            .map(|axis| (axis.q.each_mut().map(AlignedVec::pointer), axis.r.pointer()))
            .collect();
        let phi = layers.minimod.as_mut().map(|layer| layer.phi.pointer());
        let layers: &'a Layers = layers;
        let cpml =
            layers.cpml.iter().zip(pointers).map(|(layer, (q, r))| Cpml { layer, q, r }).collect();
        let parity = usize::from(setting.step % 2 == 1);
        Self {
            layout: &scheme.layout,
            kernels: &scheme.kernels,
            weights: &scheme.weights,
            images: &scheme.images,
            sources: setting.sources,
            wavefields,
            c2: setting.c2,
            cpml,
            minimod: layers.minimod.as_ref().zip(phi),
            ends: setting.ends,
            zeros: vec![0.0; scheme.layout.row],
            first_step: setting.step,
            parity,
            timer: setting.timer,
        }
    }

    /// The same pass over wavefields and c^2 dt^2 that lie elsewhere.
    pub(super) fn over(&self, wavefields: [*mut f32; 2], c2: *const f32) -> Self {
        Self { wavefields, c2, cpml: self.cpml.clone(), zeros: self.zeros.clone(), ..*self }
    }

    /// What a thread needs for rows of this pass.
    pub(super) fn scratch(&self) -> Scratch {
        Scratch::new(self.layout, self.timer.map(|_| Laps::new()))
    }

    /// Takes in what a thread timed.
    pub(super) fn done(&self, scratch: &Scratch) {
        if let (Some(timer), Some(laps)) = (self.timer, &scratch.laps) {
            timer.add(laps);
        }
    }

    /// Steps rows j of `rows` in the planes i to i + `planes` - 1 (one or two) from p^(n+lag) to
    /// p^(n+lag+1).
    ///
    /// # Safety
    /// All rows within one radius along x and y of these have done `lag` steps in this pass, these
    /// have done `lag` steps and not more, and the caller's thread knows it (they happen before).
    /// Nobody else steps these rows meanwhile.
    pub(super) unsafe fn rows(
        &self,
        lag: usize,
        i: usize,
        planes: usize,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) {
        scratch.start();
        // SAFETY: the caller's contract.
        unsafe {
            if self.cpml.is_empty() && self.minimod.is_none() {
                if !rows.is_empty() {
                    let args = self.step_args(lag, i, rows.start, rows.len(), std::ptr::null());
                    (self.kernels.step[planes - 1])(&args);
                    scratch.lap(Kind::Interior);
                }
            } else {
                for j in rows.clone() {
                    self.layered(lag, i, planes, j, scratch);
                }
            }
            self.finish(lag, i, planes, rows, scratch);
        }
    }

    /// Injects into stepped rows and shows them across reflecting faces.
    ///
    /// # Safety
    /// As for [`Pass::rows`], once these are stepped.
    pub(super) unsafe fn finish(
        &self,
        lag: usize,
        i: usize,
        planes: usize,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            let next = self.wavefields[1 - (self.parity + lag) % 2];
            for i in i..i + planes {
                let sources = self.sources.on_plane(i);
                let images = !self.images.none_of_plane(i);
                if !sources && !images {
                    continue;
                }
                for j in rows.clone() {
                    if sources {
                        let at = self.layout.at(i.cast_signed(), j.cast_signed());
                        let nodes = self.layout.shape[2];
                        let next_row = std::slice::from_raw_parts_mut(next.wrapping_add(at), nodes);
                        let c2 = self.c2.wrapping_add(self.layout.at_c2(i, j));
                        let c2_row = std::slice::from_raw_parts(c2, nodes);
                        self.sources.inject(self.first_step + lag as u64, i, j, next_row, c2_row);
                        scratch.lap(Kind::Sources);
                    }
                    if images {
                        push_images(self.images, self.layout, next, i, j);
                        // Otherwise after all rows: images take about as long as reading the clock.
                        if sources {
                            scratch.lap(Kind::Walls);
                        }
                    }
                }
                if images {
                    scratch.lap(Kind::Walls);
                }
            }
        }
    }

    /// Arguments of a step of whole rows of the planes from i on.
    pub(super) fn step_args(
        &self,
        lag: usize,
        i: usize,
        j: usize,
        rows: usize,
        extra: *const f32,
    ) -> StepArgs<'a> {
        let layout = self.layout;
        let read = (self.parity + lag) % 2;
        let at = layout.at(i.cast_signed(), j.cast_signed());
        // Of a window the pointers lie outside it; only the sums are in it.
        let p = self.wavefields[read].wrapping_add(at).cast_const();
        let next = self.wavefields[1 - read].wrapping_add(at);
        let c2 = self.c2.wrapping_add(layout.at_c2(i, j));
        StepArgs {
            p,
            next,
            c2,
            extra,
            stride: [layout.plane.cast_signed(), layout.pitch.cast_signed()],
            c2_stride: [layout.rows_c2 * layout.row, layout.row],
            extra_stride: layout.row,
            rows,
            from: 0,
            to: layout.row,
            weights: self.weights,
        }
    }
}

/// Writes the images of row (i, j) to the halo of a wavefield.
///
/// # Safety
/// `wavefield` has this layout; nobody else touches the row nor its images meanwhile.
unsafe fn push_images(images: &Images, layout: &Layout, wavefield: *mut f32, i: usize, j: usize) {
    let nodes = layout.shape[2];
    let (row, plane) = (j.cast_signed(), i.cast_signed());
    // SAFETY: all offsets are those of nodes and of their images, which lie in the halo.
    unsafe {
        let here = wavefield.add(layout.at(plane, row));
        for &(to, from, sign) in &images.nodes {
            *here.offset(to) = sign * *here.add(from);
        }
        let copy = |to: usize, sign: f32| {
            let from = std::slice::from_raw_parts(here.cast_const(), nodes);
            let to = std::slice::from_raw_parts_mut(wavefield.add(to), nodes);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = sign * from);
        };
        for &(halo, sign) in &images.rows[j] {
            copy(layout.at(plane, halo), sign);
        }
        for &(halo, sign) in &images.planes[i] {
            copy(layout.at(halo, row), sign);
        }
    }
}

/// Writes all images of a wavefield that was set from outside.
pub(super) fn fill_images(images: &Images, layout: &Layout, wavefield: &mut AlignedVec) {
    let field = wavefield.pointer();
    for i in 0..layout.shape[0] {
        for j in 0..layout.shape[1] {
            // SAFETY: the wavefield is borrowed exclusively and has this layout.
            unsafe { push_images(images, layout, field, i, j) };
        }
    }
}
