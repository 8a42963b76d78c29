//! One leapfrog step, written as the equations stand.
//!
//! `p+ = 2p - p- + dt^2 c^2 L p` in place of p-; the layers as in `temblor_physics::cpml` and
//! `::minimod`. Rows along z are summed tap by tap in small buffers, which is plain and lets the
//! compiler vectorise. Values below the smallest normal number are stored as zero.

use rayon::prelude::*;
use temblor_physics::WaveProblem;

use crate::denormals::FlushDenormals;

use super::layers::{CpmlAxis, CpmlProfiles, MinimodLayer};
use super::layout::Layout;
use super::real::Real;

/// Weights per axis, divided by the spacing: first derivative by h, second by h^2.
#[derive(Debug)]
pub(super) struct Weights<T> {
    first: [Vec<T>; 3],
    second: [Vec<T>; 3],
    /// `1 / (4 h^2)`, Minimod's.
    quarter: [T; 3],
    active: Vec<usize>,
}

impl<T: Real> Weights<T> {
    pub(super) fn new(problem: &WaveProblem) -> Self {
        let spacing = problem.grid.spacing;
        let scaled = |weights: Vec<f64>, by: f64| -> Vec<T> {
            weights.into_iter().map(|w| T::from_f64(w / by)).collect()
        };
        Self {
            first: spacing.map(|h| scaled(problem.operator.first_derivative(), h)),
            second: spacing.map(|h| scaled(problem.operator.second_derivative(), h * h)),
            quarter: spacing.map(|h| T::from_f64(0.25 / (h * h))),
            active: problem.grid.active_axes().map(temblor_physics::Axis::index).collect(),
        }
    }
}

/// What all planes read.
struct Shared<'a, T> {
    layout: &'a Layout,
    weights: &'a Weights<T>,
    p: &'a [T],
    c2dt2: &'a [T],
    cpml: [Option<(&'a CpmlProfiles<T>, &'a [T])>; 3],
    minimod: Option<&'a MinimodLayer<T>>,
}

/// What one plane of constant x writes.
struct Plane<'a, T> {
    previous: &'a mut [T],
    r: [Option<&'a mut [T]>; 3],
    phi: Option<&'a mut [T]>,
}

/// Row buffers of one task.
struct Rows<T> {
    laplacian: Vec<T>,
    second: Vec<T>,
    first: Vec<T>,
    q_first: Vec<T>,
    /// q along z, zero between the layers, with halo.
    q: Vec<T>,
}

/// Overwrites p^(n-1) with p^(n+1) and steps the layers. The halo of `p` must be filled.
pub(super) fn step<T: Real>(
    layout: &Layout,
    weights: &Weights<T>,
    p: &[T],
    previous: &mut [T],
    c2dt2: &[T],
    cpml: &mut [Option<CpmlAxis<T>>; 3],
    minimod: &mut Option<MinimodLayer<T>>,
) {
    let [nx, _, nz] = layout.shape;
    let mut shared = Shared { layout, weights, p, c2dt2, cpml: [None, None, None], minimod: None };
    let mut planes: Vec<Plane<'_, T>> = previous
        .chunks_exact_mut(layout.stride[0])
        .skip(layout.halo[0])
        .take(nx)
        .map(|previous| Plane { previous, r: [None, None, None], phi: None })
        .collect();
    for (axis, layer) in cpml.iter_mut().enumerate() {
        if let Some(CpmlAxis { profiles, q, r }) = layer {
            let chunk = profiles.shape[1] * profiles.shape[2];
            for (slot, r) in r.chunks_exact_mut(chunk).enumerate() {
                let i = if axis == 0 { profiles.node(slot) } else { slot };
                planes[i].r[axis] = Some(r);
            }
            shared.cpml[axis] = Some((profiles, q));
        }
    }
    // phi is read at its own node only, so it can be lent out plane by plane.
    let mut phi = minimod.as_mut().map(|layer| std::mem::take(&mut layer.phi));
    if let Some(phi) = &mut phi {
        for (plane, phi) in planes.iter_mut().zip(phi.chunks_exact_mut(layout.shape[1] * nz)) {
            plane.phi = Some(phi);
        }
    }
    shared.minimod = minimod.as_ref();
    planes.par_iter_mut().enumerate().for_each_init(
        || {
            let row = || vec![T::default(); nz];
            let q = vec![T::default(); nz + 2 * layout.halo[2]];
            Rows { laplacian: row(), second: row(), first: row(), q_first: row(), q }
        },
        |rows, (i, plane)| {
            let _flush = FlushDenormals::new();
            shared.plane(i, plane, rows);
        },
    );
    drop(planes);
    if let (Some(layer), Some(phi)) = (minimod.as_mut(), phi) {
        layer.phi = phi;
    }
    for (axis, layer) in cpml.iter_mut().enumerate() {
        if let Some(layer) = layer {
            step_q(layout, &weights.first[axis], p, axis, layer);
        }
    }
}

impl<T: Real> Shared<'_, T> {
    fn plane(&self, i: usize, plane: &mut Plane<'_, T>, rows: &mut Rows<T>) {
        let [_, ny, nz] = self.layout.shape;
        for j in 0..ny {
            rows.laplacian.fill(T::default());
            for &axis in &self.weights.active {
                self.second_derivative(axis, [i, j], &mut rows.second);
                if self.cpml[axis].is_some() {
                    self.stretch(axis, [i, j], plane.r[axis].as_deref_mut(), rows);
                }
                for k in 0..nz {
                    rows.laplacian[k] += rows.second[k];
                }
            }
            let at = self.layout.padded([i, j, 0]);
            let p = &self.p[at..][..nz];
            let c2dt2 = &self.c2dt2[self.layout.plain([i, j, 0])..][..nz];
            let previous = &mut plane.previous[at % self.layout.stride[0]..][..nz];
            if let (Some(layer), Some(phi)) = (self.minimod, &mut plane.phi) {
                let phi = &mut phi[j * nz..][..nz];
                self.damped_row(layer, [i, j], phi, previous, &rows.laplacian);
            } else {
                let laplacian = &rows.laplacian[..nz];
                for k in 0..nz {
                    previous[k] = (p[k] + p[k] - previous[k] + c2dt2[k] * laplacian[k]).flush();
                }
            }
            let free = &self.layout.free;
            if free[0].contains(&i) || free[1].contains(&j) {
                previous.fill(T::default());
            }
            for &k in &free[2] {
                previous[k] = T::default();
            }
        }
    }

    /// `p_aa` on a row.
    fn second_derivative(&self, axis: usize, [i, j]: [usize; 2], out: &mut [T]) {
        let weights = &self.weights.second[axis];
        let (at, nz) = (self.layout.padded([i, j, 0]), self.layout.shape[2]);
        let centre = &self.p[at..][..nz];
        for k in 0..nz {
            out[k] = weights[0] * centre[k];
        }
        for (r, &w) in weights.iter().enumerate().skip(1) {
            let reach = r * self.layout.stride[axis];
            let (plus, minus) = (&self.p[at + reach..][..nz], &self.p[at - reach..][..nz]);
            for k in 0..nz {
                out[k] += w * (plus[k] + minus[k]);
            }
        }
    }

    /// Turns `rows.second` from `p_aa` into the axis' term of the stretched Laplacian; steps r.
    fn stretch(&self, axis: usize, [i, j]: [usize; 2], r: Option<&mut [T]>, rows: &mut Rows<T>) {
        let Some((profiles, _)) = self.cpml[axis] else { return };
        if axis < 2 && !profiles.near([i, j][axis]) {
            return;
        }
        let first = &self.weights.first[axis];
        first_derivative(self.layout, first, self.p, axis, [i, j], &mut rows.first);
        self.q_first(axis, [i, j], rows);
        // t, then (1 + b) t; rows.first takes b t, which r needs.
        let (second, first, q_first) = (&mut rows.second, &mut rows.first, &rows.q_first);
        let nz = self.layout.shape[2];
        let mut stretch = |k: usize, b: T, slope: T| {
            let t = second[k] + b * second[k] + slope * first[k] + q_first[k];
            second[k] = t + b * t;
            first[k] = b * t;
        };
        let step_r = |a: T, r: &mut T, bt: T, term: &mut T| {
            *term += *r;
            *r = (a * (bt + *r)).flush();
        };
        let sz = profiles.shape[2];
        if axis == 2 {
            (0..nz).for_each(|k| stretch(k, profiles.b[k], profiles.b_slope[k]));
            let Some(r) = r else { return };
            for (slot, r) in r[j * sz..][..sz].iter_mut().enumerate() {
                let k = profiles.node(slot);
                step_r(profiles.a[k], r, first[k], &mut second[k]);
            }
        } else {
            let along = [i, j][axis];
            let (a, b, slope) = (profiles.a[along], profiles.b[along], profiles.b_slope[along]);
            (0..nz).for_each(|k| stretch(k, b, slope));
            if let (Some(slot), Some(r)) = (profiles.slot(along), r) {
                // r is the plane of this x: on the x axis its own y, on the y axis the slot.
                let row = if axis == 0 { j } else { slot };
                let r = &mut r[row * nz..][..nz];
                for k in 0..nz {
                    step_r(a, &mut r[k], first[k], &mut second[k]);
                }
            }
        }
    }

    /// `q_a` on a row; q is zero between the layers and beyond the grid.
    fn q_first(&self, axis: usize, [i, j]: [usize; 2], rows: &mut Rows<T>) {
        let Some((profiles, q)) = self.cpml[axis] else { return };
        let [_, sy, sz] = profiles.shape;
        let (nz, weights) = (self.layout.shape[2], &self.weights.first[axis]);
        let (out, spread) = (&mut rows.q_first, &mut rows.q);
        out.fill(T::default());
        if axis == 2 {
            let radius = self.layout.halo[2];
            spread.fill(T::default());
            for (slot, &q) in q[(i * sy + j) * sz..][..sz].iter().enumerate() {
                spread[profiles.node(slot) + radius] = q;
            }
            for (m, &w) in weights.iter().enumerate().skip(1) {
                let (plus, minus) = (&spread[radius + m..][..nz], &spread[radius - m..][..nz]);
                for k in 0..nz {
                    out[k] += w * (plus[k] - minus[k]);
                }
            }
            return;
        }
        let along = [i, j][axis];
        for (m, &w) in weights.iter().enumerate().skip(1) {
            for (node, w) in [(along.checked_add(m), w), (along.checked_sub(m), -w)] {
                if let Some(slot) = node.and_then(|n| profiles.slot(n)) {
                    let (x, y) = if axis == 0 { (slot, j) } else { (i, slot) };
                    let q = &q[(x * sy + y) * sz..][..nz];
                    for k in 0..nz {
                        out[k] += w * q[k];
                    }
                }
            }
        }
    }

    /// The step of a row of a problem with Minimod's layer; `previous` becomes p+, phi is stepped.
    fn damped_row(
        &self,
        layer: &MinimodLayer<T>,
        [i, j]: [usize; 2],
        phi: &mut [T],
        previous: &mut [T],
        laplacian: &[T],
    ) {
        let one = T::from_f64(1.0);
        let at = self.layout.padded([i, j, 0]);
        let c2dt2 = &self.c2dt2[self.layout.plain([i, j, 0])..];
        for k in 0..self.layout.shape[2] {
            let (node, p) = ([i, j, k], self.p[at + k]);
            if !layer.contains(node) {
                previous[k] = (p + p - previous[k] + c2dt2[k] * laplacian[k]).flush();
                continue;
            }
            let eta = layer.eta[0][i] + layer.eta[1][j] + layer.eta[2][k];
            let twice = eta + eta;
            previous[k] = (((one + one + twice - eta * eta) * p - previous[k]
                + c2dt2[k] * (laplacian[k] + phi[k]))
                / (one + twice))
                .flush();
            let mut coupling = T::default();
            for &axis in &self.weights.active {
                let stride = self.layout.stride[axis];
                coupling += layer.eta_difference(axis, node[axis])
                    * (self.p[at + k + stride] - self.p[at + k - stride])
                    * self.weights.quarter[axis];
            }
            phi[k] = ((phi[k] - coupling) / (one + eta)).flush();
        }
    }
}

/// `p_a` on a row.
fn first_derivative<T: Real>(
    layout: &Layout,
    weights: &[T],
    p: &[T],
    axis: usize,
    [i, j]: [usize; 2],
    out: &mut [T],
) {
    let (at, nz) = (layout.padded([i, j, 0]), layout.shape[2]);
    out.fill(T::default());
    for (r, &w) in weights.iter().enumerate().skip(1) {
        let reach = r * layout.stride[axis];
        let (plus, minus) = (&p[at + reach..][..nz], &p[at - reach..][..nz]);
        for k in 0..nz {
            out[k] += w * (plus[k] - minus[k]);
        }
    }
}

/// `q = a (b p_a + q)`, after every r that reads the old q has been stepped.
fn step_q<T: Real>(layout: &Layout, weights: &[T], p: &[T], axis: usize, layer: &mut CpmlAxis<T>) {
    let CpmlAxis { profiles, q, .. } = layer;
    let [_, sy, sz] = profiles.shape;
    q.par_chunks_exact_mut(sy * sz).enumerate().for_each(|(x, q)| {
        let _flush = FlushDenormals::new();
        let mut first = vec![T::default(); layout.shape[2]];
        let i = if axis == 0 { profiles.node(x) } else { x };
        for (y, q) in q.chunks_exact_mut(sz).enumerate() {
            let j = if axis == 1 { profiles.node(y) } else { y };
            first_derivative(layout, weights, p, axis, [i, j], &mut first);
            for (z, q) in q.iter_mut().enumerate() {
                let k = if axis == 2 { profiles.node(z) } else { z };
                let along = [i, j, k][axis];
                *q = (profiles.a[along] * (profiles.b[along] * first[k] + *q)).flush();
            }
        }
    });
}
