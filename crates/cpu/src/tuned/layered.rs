//! The rows of a pass where there are layers: what they add to the operator, their memory
//! variables, and Minimod's damping of the stepped row.

#![allow(unsafe_code, reason = "launcher: see `pass`")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract covers all rows that a row's step touches"
)]

use temblor_backend::KernelKind as Kind;
use temblor_physics::Axis;

use super::kernels::{CpmlArgs, MinimodArgs, Profile, WIDEST};
use super::layers::{MARGIN, MinimodLayer};
use super::pass::{Cpml, Pass, Scratch};

/// Asks for values that the thread's next row needs; any address will do.
fn prefetch(from: *const f32, values: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..values.div_ceil(WIDEST) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is no access.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line * WIDEST).cast()) };
    }
}

/// A row in a layer takes about twice the time of one that only meets the layers along z.
const LAYERED_ROW_COST: usize = 2;

impl Pass<'_> {
    /// Steps row j of one or two planes where there are layers.
    ///
    /// # Safety
    /// As for [`Pass::rows`].
    pub(super) unsafe fn layered(
        &self,
        lag: usize,
        i: usize,
        planes: usize,
        j: usize,
        scratch: &mut Scratch,
    ) {
        let layout = self.layout;
        let read = (self.parity + lag) % 2;
        // SAFETY: the caller's contract.
        unsafe {
            let mut whole = false;
            for plane in 0..planes {
                whole |= self.reached(i + plane, j);
            }
            let extra =
                if whole { &mut scratch.extra } else { &mut scratch.extra_at_ends }.as_mut_ptr();
            for plane in 0..planes {
                let extra = extra.add(plane * layout.row);
                self.layers(read, i + plane, j, whole, extra, scratch);
            }
            scratch.lap(Kind::Layers);
            // One call for all of a row: zeros cost less than the weights that calls load.
            let args = self.step_args(lag, i, j, 1, extra);
            if whole || !self.ends.is_empty() {
                (self.kernels.step_extra[planes - 1])(&args);
            } else {
                (self.kernels.step[planes - 1])(&args);
            }
            scratch.lap(Kind::Interior);
            self.damp(i, planes, j, read, extra);
            scratch.lap(Kind::Layers);
        }
    }

    /// Minimod's damping of a stepped row of one or two planes.
    ///
    /// # Safety
    /// As for [`Pass::rows`], once the row is stepped.
    pub(super) unsafe fn damp(
        &self,
        i: usize,
        planes: usize,
        j: usize,
        read: usize,
        extra: *mut f32,
    ) {
        let Some((layer, _)) = self.minimod else { return };
        for i in i..i + planes {
            let Some((_, whole)) = layer.at(self.layout, i, j) else { continue };
            let mut args = self.minimod_args(layer, read, i, j, extra);
            let all = [(0, self.layout.row)];
            for &(from, to) in if whole { &all[..] } else { self.ends } {
                (args.from, args.to) = (from, to);
                // SAFETY: the caller's contract.
                unsafe { (self.kernels.minimod_damp)(&args) };
            }
        }
    }

    /// Time that row j takes, in units of a plain one's, away from the layers along x.
    pub(super) fn row_cost(&self, j: usize) -> usize {
        if self.reached(self.layout.shape[0] / 2, j) { LAYERED_ROW_COST } else { 1 }
    }

    /// Whether layers along x or y reach the row (i, j), so that all of it has an `extra`.
    pub(super) fn reached(&self, i: usize, j: usize) -> bool {
        let cpml = self.cpml.iter().any(|cpml| match cpml.layer.axis {
            Axis::X => cpml.layer.ends.near(i, self.layout.radius),
            Axis::Y => cpml.layer.ends.near(j, self.layout.radius),
            Axis::Z => false,
        });
        cpml || self
            .minimod
            .and_then(|(layer, _)| layer.at(self.layout, i, j))
            .is_some_and(|(_, whole)| whole)
    }

    /// Fills a row's `extra`, on all of it (`whole`) or on `self.ends`, and steps the layers'
    /// memory variables.
    ///
    /// # Safety
    /// As for [`Pass::rows`].
    pub(super) unsafe fn layers(
        &self,
        read: usize,
        i: usize,
        j: usize,
        whole: bool,
        extra: *mut f32,
        scratch: &mut Scratch,
    ) {
        let layout = self.layout;
        // SAFETY: the caller's contract; layers' rows are touched by their own row only, but for q
        // of the last step, which only the next step overwrites.
        unsafe {
            let all = [(0, layout.row)];
            for &(from, to) in if whole { &all[..] } else { self.ends } {
                std::slice::from_raw_parts_mut(extra.add(from), to - from).fill(0.0);
            }
            let node = layout.at(i.cast_signed(), j.cast_signed());
            let p = self.wavefields[read].wrapping_add(node).cast_const();
            for cpml in &self.cpml {
                let ends = &cpml.layer.ends;
                match cpml.layer.axis {
                    Axis::X if !ends.near(i, layout.radius) => {}
                    Axis::Y if !ends.near(j, layout.radius) => {}
                    Axis::X | Axis::Y => self.cpml_across(cpml, read, i, j, p, extra),
                    Axis::Z => self.cpml_along(cpml, i, j, p, extra, scratch),
                }
            }
            if let Some((layer, phi)) = self.minimod
                && let Some((offset, all)) = layer.at(layout, i, j)
            {
                let args = self.minimod_args(layer, read, i, j, extra);
                self.minimod_phi(layer, phi.add(offset), all, args, scratch);
            }
        }
    }

    /// Minimod's phi on a row, which starts at `phi`: all of it, or its ends.
    ///
    /// # Safety
    /// As for [`Pass::rows`].
    unsafe fn minimod_phi(
        &self,
        layer: &MinimodLayer,
        phi: *mut f32,
        all: bool,
        mut args: MinimodArgs,
        scratch: &mut Scratch,
    ) {
        // SAFETY: the caller's contract; phi's stretch belongs to this row alone.
        unsafe {
            if all {
                (args.phi, args.phi_next) = (phi.cast_const(), phi);
                (self.kernels.minimod)(&args);
                return;
            }
            let ends = layer.ends[2];
            let high = ends.nodes - ends.high;
            let row = std::slice::from_raw_parts_mut(phi, ends.cells());
            let (low_part, high_part) = row.split_at_mut(ends.low);
            scratch.before[..ends.low].copy_from_slice(low_part);
            scratch.before[high..ends.nodes].copy_from_slice(high_part);
            args.phi = scratch.before.as_ptr();
            args.phi_next = scratch.after.as_mut_ptr();
            for &(from, to) in self.ends {
                (args.from, args.to) = (from, to);
                (self.kernels.minimod)(&args);
            }
            low_part.copy_from_slice(&scratch.after[..ends.low]);
            high_part.copy_from_slice(&scratch.after[high..ends.nodes]);
        }
    }

    /// C-PML of x or y.
    ///
    /// # Safety
    /// As for [`Pass::rows`].
    unsafe fn cpml_across(
        &self,
        cpml: &Cpml<'_>,
        read: usize,
        i: usize,
        j: usize,
        p: *const f32,
        extra: *mut f32,
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
        let all = [(0, layout.row)];
        let mut args = CpmlArgs {
            p,
            stride: stride.cast_signed(),
            second: &layer.second,
            first: &layer.first,
            q_around: &around,
            q: std::ptr::null_mut(),
            q_next: std::ptr::null_mut(),
            r: std::ptr::null_mut(),
            profile: Profile {
                a: &raw const layer.profiles.a[node],
                b: &raw const layer.profiles.b[node],
                one_plus_b: &raw const layer.profiles.one_plus_b[node],
                slope: &raw const layer.profiles.slope[node],
            },
            extra,
            stretches: &all,
        };
        // SAFETY: offsets are those of the row in the layer's arrays; the rest is the caller's.
        unsafe {
            if let Some(position) = layer.ends.index(node) {
                let offset = layer.at(layout, i, j, position);
                args.q = cpml.q[read].add(offset);
                args.q_next = cpml.q[1 - read].add(offset);
                args.r = cpml.r.add(offset);
                prefetch(args.q_next.wrapping_add(layer.pitch), layout.row);
                prefetch(args.r.wrapping_add(layer.pitch), layout.row);
                prefetch(around[2 * layout.radius - 1].wrapping_add(layer.pitch), layout.row);
                (self.kernels.cpml)(&args);
            } else {
                (self.kernels.cpml_near)(&args);
            }
        }
    }

    /// C-PML of z: q is read in place, also beside the stretch, and replaced when all of it is
    /// read.
    ///
    /// # Safety
    /// As for [`Pass::rows`].
    unsafe fn cpml_along(
        &self,
        cpml: &Cpml<'_>,
        i: usize,
        j: usize,
        p: *const f32,
        extra: *mut f32,
        scratch: &mut Scratch,
    ) {
        let layer = cpml.layer;
        let offset = layer.at(self.layout, i, j, 0);
        let profiles = &layer.profiles;
        // SAFETY: the offset is that of the row's q and r, which belong to this row alone and hold
        // the stretches one after the other, a margin of zeros before and after.
        let (q, r) = unsafe { (cpml.q[0].add(offset), cpml.r.add(offset)) };
        let around = [q.cast_const(); 16];
        let args = CpmlArgs {
            p,
            stride: 1,
            second: &layer.second,
            first: &layer.first,
            q_around: &around,
            q,
            q_next: scratch.after.as_mut_ptr(),
            r,
            profile: Profile {
                a: profiles.a.as_ptr(),
                b: profiles.b.as_ptr(),
                one_plus_b: profiles.one_plus_b.as_ptr(),
                slope: profiles.slope.as_ptr(),
            },
            extra,
            stretches: self.ends,
        };
        // The row after this one's.
        prefetch(q.wrapping_add(layer.pitch), layer.pitch);
        prefetch(r.wrapping_add(layer.pitch), layer.pitch - MARGIN);
        // SAFETY: the caller's contract, and q is readable a radius around the stretches.
        unsafe { (self.kernels.cpml_z)(&args) };
    }

    /// Arguments of Minimod's kernels for a whole row, without phi.
    fn minimod_args(
        &self,
        layer: &MinimodLayer,
        read: usize,
        i: usize,
        j: usize,
        extra: *mut f32,
    ) -> MinimodArgs {
        let layout = self.layout;
        let at = layout.at(i.cast_signed(), j.cast_signed());
        let y = if layout.halo[1] > 0 { layout.pitch.cast_signed() } else { 0 };
        MinimodArgs {
            p: self.wavefields[read].wrapping_add(at).cast_const(),
            stride: [layout.plane.cast_signed(), y],
            gradient: [layer.gradient[0][i], layer.gradient[1][j]],
            gradient_z: layer.gradient[2].as_ptr(),
            eta: layer.eta[0][i] + layer.eta[1][j],
            eta_z: layer.eta[2].as_ptr(),
            phi: std::ptr::null(),
            phi_next: std::ptr::null_mut(),
            extra,
            next: self.wavefields[1 - read].wrapping_add(at),
            from: 0,
            to: layout.row,
        }
    }
}
