//! What a C-PML adds to the operator along one axis, and the step of its memory variables.
//!
//! The recursion is that of `temblor_physics::cpml`: with t = (1 + b) `p_xx` + `b_x` `p_x` + `q_x`, the
//! axis' term is (1 + b) t + r, of which `p_xx` is left to the plain kernel. Profiles are one value
//! per row along x and y, one per node along z.

use super::simd::Simd;

/// Profiles where a row lies: pointers to one value, or to the row's values along z.
#[derive(Clone, Copy)]
pub(crate) struct Profile {
    /// Decay a.
    pub(crate) a: *const f32,
    /// Gain b.
    pub(crate) b: *const f32,
    /// 1 + b.
    pub(crate) one_plus_b: *const f32,
    /// Derivative of b, 1/m.
    pub(crate) slope: *const f32,
}

/// A z row of an axis' layer; pointers to its node 0.
pub(crate) struct CpmlArgs<'a> {
    /// p^n.
    pub(crate) p: *const f32,
    /// Distance of neighbours along the axis in p, values.
    pub(crate) stride: isize,
    /// Second derivative along the axis, centre first, 1/m^2.
    pub(crate) second: &'a [f32; 9],
    /// First derivative along the axis, at +r, 1/m.
    pub(crate) first: &'a [f32; 9],
    /// q of step n-1 at -1, +1, -2, +2, ... along the axis, rows of zeros outside the layer.
    pub(crate) q_around: &'a [*const f32; 16],
    /// q of step n-1 at the row itself.
    pub(crate) q: *const f32,
    /// Where q of step n goes; may be `q`'s own row when nobody else reads that.
    pub(crate) q_next: *mut f32,
    /// r, in place.
    pub(crate) r: *mut f32,
    /// Profiles.
    pub(crate) profile: Profile,
    /// Added to: the term less `p_xx`.
    pub(crate) extra: *mut f32,
    /// Nodes `from..to`, both multiples of 16.
    pub(crate) from: usize,
    /// See `from`.
    pub(crate) to: usize,
}

/// `q_x` at node k.
///
/// # Safety
/// The processor has S; the rows around are readable at k.
#[inline(always)]
unsafe fn slope_of_q<S: Simd, const R: usize>(a: &CpmlArgs<'_>, k: usize) -> S::V {
    // SAFETY: the caller's contract.
    unsafe {
        let mut slope = S::splat(0.0);
        for r in 0..R {
            let q =
                S::sub(S::load(a.q_around[2 * r + 1].add(k)), S::load(a.q_around[2 * r].add(k)));
            slope = S::fma(S::splat(a.first[r + 1]), q, slope);
        }
        slope
    }
}

/// A row within one radius of the layer, outside it: there b = r = 0, and only `q_x` is left.
///
/// # Safety
/// The processor has S; the rows around are readable and `extra` is writable over `from..to`.
#[inline(always)]
pub(super) unsafe fn near<S: Simd, const R: usize>(a: &CpmlArgs<'_>) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut k = a.from;
        while k < a.to {
            let extra = a.extra.add(k);
            S::store(extra, S::add(S::load(extra), slope_of_q::<S, R>(a, k)));
            k += S::LANES;
        }
    }
}

/// A row in the layer. VARY: the profiles vary along the row.
///
/// # Safety
/// The processor has S; all rows are valid over `from..to`, p and the rows around also over the
/// operator's reach along the axis; nobody else touches `q_next`, `r` and `extra`.
#[inline(always)]
pub(super) unsafe fn inside<S: Simd, const R: usize, const VARY: bool>(a: &CpmlArgs<'_>) {
    // SAFETY: the caller's contract.
    unsafe {
        let value = |row: *const f32, k: usize| {
            if VARY { S::load(row.add(k)) } else { S::splat(*row) }
        };
        let mut k = a.from;
        while k < a.to {
            let p = a.p.add(k);
            let mut p_xx = S::mul(S::splat(a.second[0]), S::load(p));
            let mut p_x = S::splat(0.0);
            for r in 1..R + 1 {
                let d = r.cast_signed() * a.stride;
                let (before, after) = (S::load(p.offset(-d)), S::load(p.offset(d)));
                p_xx = S::fma(S::splat(a.second[r]), S::add(before, after), p_xx);
                p_x = S::fma(S::splat(a.first[r]), S::sub(after, before), p_x);
            }
            let one_plus_b = value(a.profile.one_plus_b, k);
            let (decay, gain) = (value(a.profile.a, k), value(a.profile.b, k));
            let bent = S::fma(value(a.profile.slope, k), p_x, slope_of_q::<S, R>(a, k));
            let t = S::fma(one_plus_b, p_xx, bent);
            let r = S::load(a.r.add(k));
            let extra = a.extra.add(k);
            let more = S::sub(S::fma(one_plus_b, t, r), p_xx);
            S::store(extra, S::add(S::load(extra), more));
            S::store(a.r.add(k), S::mul(decay, S::fma(gain, t, r)));
            let q = S::load(a.q.add(k));
            S::store(a.q_next.add(k), S::mul(decay, S::fma(gain, p_x, q)));
            k += S::LANES;
        }
    }
}
