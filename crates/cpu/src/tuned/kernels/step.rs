//! One leapfrog step of a z row: `p+ = 2p - p- + c^2 dt^2 (L p + extra)`, in place over p-.
//!
//! L is the star-shaped operator of radius R, weights already divided by the squared spacing.
//! `extra` is what layers add to L p; it is read only where there is some. Reads p at 2R rows of
//! either other axis and R values beyond both ends; 16 bytes per point move through memory.

use super::simd::Simd;

/// Weights of the operator, per axis, divided by the spacing squared, 1/m^2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weights {
    /// Sum of the centre's weights over the active axes.
    pub(crate) centre: f32,
    /// Weight at distance r + 1 along (x, y, z).
    pub(crate) axes: [[f32; 8]; 3],
}

/// A z row to be stepped; pointers to its node 0.
pub(crate) struct StepArgs<'a> {
    /// p^n.
    pub(crate) p: *const f32,
    /// p^(n-1), becomes p^(n+1).
    pub(crate) next: *mut f32,
    /// `c^2 dt^2`, m^2; zero past the row's last node and where p is held at zero.
    pub(crate) c2: *const f32,
    /// What layers add to L p.
    pub(crate) extra: *const f32,
    /// Distance of neighbours along x and y in p, values.
    pub(crate) stride: [isize; 2],
    /// Nodes `from..to`, both multiples of 16.
    pub(crate) from: usize,
    /// See `from`.
    pub(crate) to: usize,
    /// Operator.
    pub(crate) weights: &'a Weights,
}

/// Steps a row. Y: there are neighbours along y; EXTRA: layers contribute.
///
/// # Safety
/// The processor has S; p is readable over the operator's reach around `from..to`, `next`, `c2` and
/// (with EXTRA) `extra` over `from..to`; nobody else touches `next` there.
#[inline(always)]
pub(super) unsafe fn step<S: Simd, const R: usize, const Y: bool, const EXTRA: bool>(
    a: &StepArgs<'_>,
) {
    let [sx, sy] = a.stride;
    // SAFETY: the caller keeps the contract above for all addresses formed here.
    unsafe {
        let two = S::splat(2.0);
        let centre = S::splat(a.weights.centre);
        let [weights_x, weights_y, weights_z] = &a.weights.axes;
        let (mut wx, mut wy, mut wz) = ([two; R], [two; R], [two; R]);
        for r in 0..R {
            wx[r] = S::splat(weights_x[r]);
            wy[r] = S::splat(weights_y[r]);
            wz[r] = S::splat(weights_z[r]);
        }
        let mut k = a.from;
        while k < a.to {
            let p = a.p.add(k);
            let here = S::load(p);
            let mut lap = S::mul(centre, here);
            // One accumulator per axis: the chain of dependent operations is a third as long.
            let mut lap_x = if EXTRA { S::load(a.extra.add(k)) } else { S::splat(0.0) };
            let mut lap_y = S::splat(0.0);
            for r in 0..R {
                let d = r.cast_signed() + 1;
                let x = S::add(S::load(p.offset(-d * sx)), S::load(p.offset(d * sx)));
                lap_x = if r == 0 && !EXTRA { S::mul(wx[r], x) } else { S::fma(wx[r], x, lap_x) };
                if Y {
                    let y = S::add(S::load(p.offset(-d * sy)), S::load(p.offset(d * sy)));
                    lap_y = if r == 0 { S::mul(wy[r], y) } else { S::fma(wy[r], y, lap_y) };
                }
                let z = S::add(S::load(p.offset(-d)), S::load(p.offset(d)));
                lap = S::fma(wz[r], z, lap);
            }
            if Y {
                lap_x = S::add(lap_x, lap_y);
            }
            lap = S::add(lap, lap_x);
            let next = a.next.add(k);
            let inertia = S::sub(S::mul(two, here), S::load(next));
            S::store(next, S::fma(S::load(a.c2.add(k)), lap, inertia));
            k += S::LANES;
        }
    }
}
