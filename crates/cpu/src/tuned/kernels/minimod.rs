//! Minimod's layer on a z row: what phi adds to the operator, phi's step, and the damping of p+.
//!
//! The equations are those of `temblor_physics::minimod`. The plain step leaves
//! `2p - p- + dt^2 c^2 (L p + phi)`; [`damp`] adds `(2 eta - eta^2) p` and divides by 1 + 2 eta.

use super::simd::Simd;

/// A z row in the layer; pointers to its node 0.
pub(crate) struct MinimodArgs {
    /// p^n.
    pub(crate) p: *const f32,
    /// Distance of neighbours along x and y in p, values; 0 along an axis without neighbours.
    pub(crate) stride: [isize; 2],
    /// `(eta(+1) - eta(-1)) / (4 h^2)` along x and y, 1/m^2.
    pub(crate) gradient: [f32; 2],
    /// The same along z, one value per node.
    pub(crate) gradient_z: *const f32,
    /// eta of x and y together.
    pub(crate) eta: f32,
    /// eta of z, one value per node.
    pub(crate) eta_z: *const f32,
    /// phi of step n.
    pub(crate) phi: *const f32,
    /// phi of step n + 1; may be the same row.
    pub(crate) phi_next: *mut f32,
    /// Added to: phi of step n.
    pub(crate) extra: *mut f32,
    /// The stepped row, p^(n+1) before damping.
    pub(crate) next: *mut f32,
    /// Nodes `from..to`, both multiples of 16.
    pub(crate) from: usize,
    /// See `from`.
    pub(crate) to: usize,
}

/// Adds phi to `extra` and steps phi.
///
/// # Safety
/// The processor has S; all rows but `next` are valid over `from..to`, p also one node around;
/// nobody else touches `phi_next` and `extra`.
#[inline(always)]
pub(super) unsafe fn auxiliary<S: Simd>(a: &MinimodArgs) {
    let [sx, sy] = a.stride;
    // SAFETY: the caller's contract.
    unsafe {
        let (gx, gy) = (S::splat(a.gradient[0]), S::splat(a.gradient[1]));
        let eta = S::splat(1.0 + a.eta);
        let mut k = a.from;
        while k < a.to {
            let p = a.p.add(k);
            let across = |s: isize| S::sub(S::load(p.offset(s)), S::load(p.offset(-s)));
            let mut pull = S::mul(gx, across(sx));
            pull = S::fma(gy, across(sy), pull);
            pull = S::fma(S::load(a.gradient_z.add(k)), across(1), pull);
            let phi = S::load(a.phi.add(k));
            let extra = a.extra.add(k);
            S::store(extra, S::add(S::load(extra), phi));
            let weight = S::add(eta, S::load(a.eta_z.add(k)));
            S::store(a.phi_next.add(k), S::div(S::sub(phi, pull), weight));
            k += S::LANES;
        }
    }
}

/// Damps the stepped row.
///
/// # Safety
/// The processor has S; p, `eta_z` and `next` are valid over `from..to`; nobody else touches `next`.
#[inline(always)]
pub(super) unsafe fn damp<S: Simd>(a: &MinimodArgs) {
    // SAFETY: the caller's contract.
    unsafe {
        let (one, two) = (S::splat(1.0), S::splat(2.0));
        let eta_xy = S::splat(a.eta);
        let mut k = a.from;
        while k < a.to {
            let eta = S::add(eta_xy, S::load(a.eta_z.add(k)));
            let gain = S::mul(eta, S::sub(two, eta));
            let next = a.next.add(k);
            let sum = S::fma(gain, S::load(a.p.add(k)), S::load(next));
            S::store(next, S::div(sum, S::fma(two, eta, one)));
            k += S::LANES;
        }
    }
}
