//! What a C-PML adds to the operator along one axis, and the step of its memory variables.
//!
//! The recursion is that of `temblor_physics::cpml`: with t = (1 + b) `p_xx` + `b_x` `p_x` + `q_x`,
//! the axis' term is (1 + b) t + r, of which `p_xx` is left to the plain kernel. Profiles are one
//! value per row along x and y, one per node along z.

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
    /// q of step n-1 at -1, +1, -2, +2, ... along the axis, rows of zeros outside the layer;
    /// not used along z.
    pub(crate) q_around: &'a [*const f32; 16],
    /// q of step n-1 at the row itself; along z its stretches one after the other, in place.
    pub(crate) q: *mut f32,
    /// Where q of step n goes; along z a scratch row, where it waits until all of q is read.
    pub(crate) q_next: *mut f32,
    /// r, in place; along z its stretches one after the other.
    pub(crate) r: *mut f32,
    /// Profiles.
    pub(crate) profile: Profile,
    /// Added to: the term less `p_xx`.
    pub(crate) extra: *mut f32,
    /// Nodes `from..to` of each stretch, all multiples of 16, in order.
    pub(crate) stretches: &'a [(usize, usize)],
}

/// A row within one radius of the layer, outside it: there b = r = 0, and only `q_x` is left.
///
/// # Safety
/// The processor has S; the rows around are readable and `extra` is writable over the stretches.
#[inline(always)]
pub(super) unsafe fn near<S: Simd, const R: usize>(a: &CpmlArgs<'_>) {
    let around = *a.q_around;
    // SAFETY: the caller's contract.
    unsafe {
        let mut first = [S::splat(0.0); R];
        for r in 0..R {
            first[r] = S::splat(a.first[r + 1]);
        }
        for &(from, to) in a.stretches {
            let mut k = from;
            while k < to {
                let extra = a.extra.add(k);
                let mut sum = S::load(extra);
                for r in 0..R {
                    let (before, after) =
                        (S::load(around[2 * r].add(k)), S::load(around[2 * r + 1].add(k)));
                    sum = S::fma(first[r], S::sub(after, before), sum);
                }
                S::store(extra, sum);
                k += S::LANES;
            }
        }
    }
}

/// A row in the layer. VARY: along z, where the profiles vary and q's neighbours lie in the same
/// row; all of a row's stretches in one call, since each call loads all weights.
///
/// # Safety
/// The processor has S; all rows are valid over the stretches, p and the rows around (with VARY: q)
/// also over the operator's reach along the axis; nobody else touches `q_next`, `r` and `extra`,
/// and those do not overlap the other rows but where `q_next` is `q` without VARY.
#[inline(always)]
pub(super) unsafe fn inside<S: Simd, const R: usize, const VARY: bool>(a: &CpmlArgs<'_>) {
    // Copies, since stores to the rows could change what `a` refers to, as far as the compiler
    // knows.
    let around = *a.q_around;
    let (p_row, q_next, extra_row) = (a.p, a.q_next, a.extra);
    let (profile, stride, stretches) = (a.profile, a.stride, a.stretches);
    let (q_kept, r_kept) = (a.q, a.r);
    // SAFETY: the caller's contract.
    unsafe {
        let zero = S::splat(0.0);
        let centre = S::splat(a.second[0]);
        let (mut second, mut first) = ([zero; R], [zero; R]);
        for r in 0..R {
            second[r] = S::splat(a.second[r + 1]);
            first[r] = S::splat(a.first[r + 1]);
        }
        let (mut decay, mut gain) = (zero, zero);
        let (mut one_plus_b, mut slope) = (zero, zero);
        if !VARY {
            (decay, gain) = (S::splat(*profile.a), S::splat(*profile.b));
            (one_plus_b, slope) = (S::splat(*profile.one_plus_b), S::splat(*profile.slope));
        }
        // Values of stretches before.
        let mut done = 0;
        for &(from, to) in stretches {
            // Where node 0 of the row would be.
            let (mut q_row, mut r_row) = (q_kept, r_kept);
            if VARY {
                q_row = q_row.wrapping_add(done).wrapping_sub(from);
                r_row = r_row.wrapping_add(done).wrapping_sub(from);
            }
            let mut k = from;
            while k < to {
                let p = p_row.add(k);
                let mut p_xx = S::mul(centre, S::load(p));
                let (mut p_x, mut q_x) = (zero, zero);
                for r in 0..R {
                    let d = r.cast_signed() + 1;
                    let (before, after) =
                        (S::load(p.offset(-d * stride)), S::load(p.offset(d * stride)));
                    p_xx = S::fma(second[r], S::add(before, after), p_xx);
                    p_x = S::fma(first[r], S::sub(after, before), p_x);
                    let (before, after) = if VARY {
                        (
                            S::load(q_row.wrapping_add(k).offset(-d)),
                            S::load(q_row.wrapping_add(k).offset(d)),
                        )
                    } else {
                        (S::load(around[2 * r].add(k)), S::load(around[2 * r + 1].add(k)))
                    };
                    q_x = S::fma(first[r], S::sub(after, before), q_x);
                }
                if VARY {
                    (decay, gain) = (S::load(profile.a.add(k)), S::load(profile.b.add(k)));
                    one_plus_b = S::load(profile.one_plus_b.add(k));
                    slope = S::load(profile.slope.add(k));
                }
                let t = S::fma(one_plus_b, p_xx, S::fma(slope, p_x, q_x));
                let r = S::load(r_row.wrapping_add(k));
                let extra = extra_row.add(k);
                let more = S::sub(S::fma(one_plus_b, t, r), p_xx);
                S::store(extra, S::add(S::load(extra), more));
                S::store(r_row.wrapping_add(k), S::mul(decay, S::fma(gain, t, r)));
                let q = S::load(q_row.wrapping_add(k));
                S::store(q_next.add(k), S::mul(decay, S::fma(gain, p_x, q)));
                k += S::LANES;
            }
            done += to - from;
        }
        if VARY {
            let mut q = q_kept;
            for &(from, to) in stretches {
                let mut k = from;
                while k < to {
                    S::store(q, S::load(q_next.add(k)));
                    q = q.add(S::LANES);
                    k += S::LANES;
                }
            }
        }
    }
}
