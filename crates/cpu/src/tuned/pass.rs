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

use temblor_physics::Axis;

use super::images::Images;
use super::kernels::{CpmlArgs, Kernels, MinimodArgs, Profile, StepArgs, WIDEST, Weights};
use super::layers::{CpmlAxis, Layers, MinimodLayer};
use super::layout::Layout;
use super::points::Sources;
use crate::memory::AlignedVec;

/// Rows of one thread.
#[derive(Debug)]
pub(super) struct Scratch {
    /// What layers add to the operator.
    extra: Vec<f32>,
    /// A memory variable before its step, with a margin of zeros.
    before: Vec<f32>,
    /// The same after its step.
    after: Vec<f32>,
    /// r along z.
    r: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(layout: &Layout) -> Self {
        let row = vec![0.0; layout.row];
        let before = vec![0.0; layout.row + 2 * WIDEST];
        Self { extra: row.clone(), before, after: row.clone(), r: row }
    }
}

/// C-PML along one axis, with its arrays as shared pointers.
struct Cpml<'a> {
    layer: &'a CpmlAxis,
    q: [*mut f32; 2],
    r: *mut f32,
}

/// Everything that the rows of a pass share.
pub(super) struct Pass<'a> {
    pub(super) layout: &'a Layout,
    kernels: &'a Kernels,
    weights: &'a Weights,
    images: &'a Images,
    sources: &'a Sources,
    wavefields: [*mut f32; 2],
    c2: *const f32,
    cpml: Vec<Cpml<'a>>,
    minimod: Option<(&'a MinimodLayer, *mut f32)>,
    /// Where layers along z contribute on any row, multiples of [`WIDEST`], in order.
    ends: &'a [(usize, usize)],
    zeros: Vec<f32>,
    first_step: u64,
    parity: usize,
}

// SAFETY: the pointers lead to arrays that are borrowed for 'a; who may touch which row when is the
// contract of `Pass::row`.
unsafe impl Sync for Pass<'_> {}

/// Stretches of a row that layers along z reach, multiples of [`WIDEST`].
pub(super) fn ends_along_z(layers: &Layers, layout: &Layout) -> Vec<(usize, usize)> {
    let cpml = layers.cpml.iter().filter(|layer| layer.axis == Axis::Z);
    let cpml = cpml.map(|layer| (layer.ends, layout.radius));
    let minimod = layers.minimod.iter().map(|layer| (layer.ends[2], 0));
    let mut found = Vec::new();
    for (ends, reach) in cpml.chain(minimod) {
        let low = (ends.low + reach).next_multiple_of(WIDEST).min(layout.row);
        let high = ends.nodes.saturating_sub(ends.high + reach) / WIDEST * WIDEST;
        match (ends.low > 0, ends.high > 0) {
            (true, true) if high <= low => found.push((0, layout.row)),
            (has_low, has_high) => {
                if has_low {
                    found.push((0, low));
                }
                if has_high {
                    found.push((high, layout.row));
                }
            }
        }
    }
    found
}

/// What a pass is made of besides wavefields and layers.
pub(super) struct Setting<'a> {
    pub(super) layout: &'a Layout,
    pub(super) kernels: &'a Kernels,
    pub(super) weights: &'a Weights,
    pub(super) images: &'a Images,
    pub(super) sources: &'a Sources,
    pub(super) c2: &'a AlignedVec,
    pub(super) ends: &'a [(usize, usize)],
    /// n: p^n is in wavefield n mod 2.
    pub(super) step: u64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        setting: &Setting<'a>,
        wavefields: &'a mut [AlignedVec; 2],
        layers: &'a mut Layers,
    ) -> Self {
        let wavefields = wavefields.each_mut().map(AlignedVec::pointer);
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
            layout: setting.layout,
            kernels: setting.kernels,
            weights: setting.weights,
            images: setting.images,
            sources: setting.sources,
            wavefields,
            c2: setting.c2.as_ptr(),
            cpml,
            minimod: layers.minimod.as_ref().zip(phi),
            ends: setting.ends,
            zeros: vec![0.0; setting.layout.row],
            first_step: setting.step,
            parity,
        }
    }

    /// Steps the row (i, j) from p^(n+lag) to p^(n+lag+1).
    ///
    /// # Safety
    /// All rows within one radius along x and y have done `lag` steps in this pass, this row has
    /// done `lag` steps and not more, and the caller's thread knows it (they happen before). Nobody
    /// else steps this row meanwhile.
    pub(super) unsafe fn row(&self, lag: usize, i: usize, j: usize, scratch: &mut Scratch) {
        let layout = self.layout;
        let read = (self.parity + lag) % 2;
        let at = layout.at(i.cast_signed(), j.cast_signed());
        // SAFETY: (i, j) is a node of the grid, so all offsets lie in their arrays; rows around
        // are complete and not being written by this function's contract.
        unsafe {
            let p = self.wavefields[read].add(at).cast_const();
            let next = self.wavefields[1 - read].add(at);
            let c2 = self.c2.add(layout.at_c2(i, j));
            let whole = self.layers(read, i, j, p, next, scratch);
            let step = |from: usize, to: usize, extra: bool| {
                let stride = [layout.plane.cast_signed(), layout.pitch.cast_signed()];
                let extra_row = scratch.extra.as_ptr();
                let args = StepArgs {
                    p,
                    next,
                    c2,
                    extra: extra_row,
                    stride,
                    from,
                    to,
                    weights: self.weights,
                };
                let kernel = if extra { self.kernels.step_extra } else { self.kernels.step };
                if from < to {
                    kernel(&args);
                }
            };
            if whole {
                step(0, layout.row, true);
            } else {
                let mut done = 0;
                for &(from, to) in self.ends {
                    step(done, from, false);
                    step(from, to, true);
                    done = to;
                }
                step(done, layout.row, false);
            }
            if let Some((layer, _)) = self.minimod
                && let Some((_, whole)) = layer.at(layout, i, j)
            {
                let mut args = self.minimod_args(layer, i, j, p, next, scratch);
                let all = [(0, layout.row)];
                for &(from, to) in if whole { &all[..] } else { self.ends } {
                    (args.from, args.to) = (from, to);
                    (self.kernels.minimod_damp)(&args);
                }
            }
            let nodes = layout.shape[2];
            let next_row = std::slice::from_raw_parts_mut(next, nodes);
            let c2_row = std::slice::from_raw_parts(c2, nodes);
            self.sources.inject(self.first_step + lag as u64, i, j, next_row, c2_row);
            push_images(self.images, layout, self.wavefields[1 - read], i, j);
        }
    }

    /// Fills the row's `extra` and steps the layers' memory variables; says whether the whole row has
    /// an `extra`, else it is on `self.ends`.
    ///
    /// # Safety
    /// As for [`Pass::row`].
    #[inline]
    unsafe fn layers(
        &self,
        read: usize,
        i: usize,
        j: usize,
        p: *const f32,
        next: *mut f32,
        scratch: &mut Scratch,
    ) -> bool {
        let layout = self.layout;
        let mut whole = false;
        let index = |axis: Axis| if axis == Axis::X { i } else { j };
        let across = self.cpml.iter().filter(|cpml| cpml.layer.axis != Axis::Z);
        for cpml in across.clone() {
            whole |= cpml.layer.ends.near(index(cpml.layer.axis), layout.radius);
        }
        let minimod = self.minimod.and_then(|(layer, phi)| {
            let (offset, all) = layer.at(layout, i, j)?;
            whole |= all;
            Some((layer, phi, offset, all))
        });
        if whole {
            scratch.extra.fill(0.0);
        } else {
            self.ends.iter().for_each(|&(from, to)| scratch.extra[from..to].fill(0.0));
        }
        // SAFETY: the caller's contract; layers' rows are touched by their own row only, but for q
        // of the last step, which only the next step overwrites.
        unsafe {
            for cpml in across {
                if cpml.layer.ends.near(index(cpml.layer.axis), layout.radius) {
                    self.cpml_across(cpml, read, i, j, p, scratch);
                }
            }
            if let Some(cpml) = self.cpml.last().filter(|cpml| cpml.layer.axis == Axis::Z) {
                self.cpml_along(cpml, i, j, p, scratch);
            }
            if let Some((layer, phi, offset, all)) = minimod {
                let mut args = self.minimod_args(layer, i, j, p, next, scratch);
                if all {
                    let row = phi.add(offset);
                    (args.phi, args.phi_next) = (row.cast_const(), row);
                    (self.kernels.minimod)(&args);
                } else {
                    let nodes = layer.ends[2];
                    let high = nodes.nodes - nodes.high;
                    let row = std::slice::from_raw_parts_mut(phi.add(offset), nodes.cells());
                    let (low_part, high_part) = row.split_at_mut(nodes.low);
                    scratch.before[..nodes.low].copy_from_slice(low_part);
                    scratch.before[high..nodes.nodes].copy_from_slice(high_part);
                    args.phi = scratch.before.as_ptr();
                    args.phi_next = scratch.after.as_mut_ptr();
                    for &(from, to) in self.ends {
                        (args.from, args.to) = (from, to);
                        (self.kernels.minimod)(&args);
                    }
                    low_part.copy_from_slice(&scratch.after[..nodes.low]);
                    high_part.copy_from_slice(&scratch.after[high..nodes.nodes]);
                }
            }
        }
        whole
    }

    /// C-PML of x or y.
    ///
    /// # Safety
    /// As for [`Pass::row`].
    unsafe fn cpml_across(
        &self,
        cpml: &Cpml<'_>,
        read: usize,
        i: usize,
        j: usize,
        p: *const f32,
        scratch: &mut Scratch,
    ) {
        let (layout, layer) = (self.layout, cpml.layer);
        let (node, stride) =
            if layer.axis == Axis::X { (i, layout.plane) } else { (j, layout.pitch) };
        let mut around = [self.zeros.as_ptr(); 16];
        for r in 1..=layout.radius {
            for (slot, neighbour) in
                [(2 * r - 2, node.checked_sub(r)), (2 * r - 1, node.checked_add(r))]
            {
                if let Some(position) = neighbour.and_then(|n| layer.ends.index(n)) {
                    let offset = layer.at(layout, i, j, position);
                    // SAFETY: the offset is that of a row of the layer.
                    around[slot] = unsafe { cpml.q[read].add(offset) }.cast_const();
                }
            }
        }
        let mut args = CpmlArgs {
            p,
            stride: stride.cast_signed(),
            second: &layer.second,
            first: &layer.first,
            q_around: &around,
            q: self.zeros.as_ptr(),
            q_next: std::ptr::null_mut(),
            r: std::ptr::null_mut(),
            profile: Profile {
                a: &raw const layer.profiles.a[node],
                b: &raw const layer.profiles.b[node],
                one_plus_b: &raw const layer.profiles.one_plus_b[node],
                slope: &raw const layer.profiles.slope[node],
            },
            extra: scratch.extra.as_mut_ptr(),
            from: 0,
            to: layout.row,
        };
        // SAFETY: offsets are those of the row in the layer's arrays; the rest is the caller's.
        unsafe {
            if let Some(position) = layer.ends.index(node) {
                let offset = layer.at(layout, i, j, position);
                args.q = cpml.q[read].add(offset).cast_const();
                args.q_next = cpml.q[1 - read].add(offset);
                args.r = cpml.r.add(offset);
                (self.kernels.cpml)(&args);
            } else {
                (self.kernels.cpml_near)(&args);
            }
        }
    }

    /// C-PML of z: the ends are copied to scratch rows that are zero elsewhere.
    ///
    /// # Safety
    /// As for [`Pass::row`].
    unsafe fn cpml_along(
        &self,
        cpml: &Cpml<'_>,
        i: usize,
        j: usize,
        p: *const f32,
        scratch: &mut Scratch,
    ) {
        let (layout, layer) = (self.layout, cpml.layer);
        let offset = layer.at(layout, i, j, 0);
        let (low, cells) = (layer.ends.low, layer.ends.cells());
        let high = layer.ends.nodes - layer.ends.high;
        let nodes = layer.ends.nodes;
        // SAFETY: both stretches belong to this row alone.
        let (q, r) = unsafe {
            (
                std::slice::from_raw_parts_mut(cpml.q[0].add(offset), cells),
                std::slice::from_raw_parts_mut(cpml.r.add(offset), cells),
            )
        };
        let before = &mut scratch.before[WIDEST..];
        before[..low].copy_from_slice(&q[..low]);
        before[high..nodes].copy_from_slice(&q[low..]);
        scratch.r[..low].copy_from_slice(&r[..low]);
        scratch.r[high..nodes].copy_from_slice(&r[low..]);
        let mut around = [before.as_ptr(); 16];
        for r in 1..=layout.radius {
            around[2 * r - 2] = before.as_ptr().wrapping_sub(r);
            around[2 * r - 1] = before.as_ptr().wrapping_add(r);
        }
        let profiles = &layer.profiles;
        let mut args = CpmlArgs {
            p,
            stride: 1,
            second: &layer.second,
            first: &layer.first,
            q_around: &around,
            q: before.as_ptr(),
            q_next: scratch.after.as_mut_ptr(),
            r: scratch.r.as_mut_ptr(),
            profile: Profile {
                a: profiles.a.as_ptr(),
                b: profiles.b.as_ptr(),
                one_plus_b: profiles.one_plus_b.as_ptr(),
                slope: profiles.slope.as_ptr(),
            },
            extra: scratch.extra.as_mut_ptr(),
            from: 0,
            to: 0,
        };
        for &(from, to) in self.ends {
            (args.from, args.to) = (from, to);
            // SAFETY: scratch rows span the row, `before` with a margin of a radius.
            unsafe { (self.kernels.cpml_z)(&args) };
        }
        q[..low].copy_from_slice(&scratch.after[..low]);
        q[low..].copy_from_slice(&scratch.after[high..nodes]);
        r[..low].copy_from_slice(&scratch.r[..low]);
        r[low..].copy_from_slice(&scratch.r[high..nodes]);
    }

    /// Arguments of Minimod's kernels for a whole row, without phi.
    fn minimod_args(
        &self,
        layer: &MinimodLayer,
        i: usize,
        j: usize,
        p: *const f32,
        next: *mut f32,
        scratch: &mut Scratch,
    ) -> MinimodArgs {
        let layout = self.layout;
        let y = if layout.halo[1] > 0 { layout.pitch.cast_signed() } else { 0 };
        MinimodArgs {
            p,
            stride: [layout.plane.cast_signed(), y],
            gradient: [layer.gradient[0][i], layer.gradient[1][j]],
            gradient_z: layer.gradient[2].as_ptr(),
            eta: layer.eta[0][i] + layer.eta[1][j],
            eta_z: layer.eta[2].as_ptr(),
            phi: std::ptr::null(),
            phi_next: std::ptr::null_mut(),
            extra: scratch.extra.as_mut_ptr(),
            next,
            from: 0,
            to: layout.row,
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
