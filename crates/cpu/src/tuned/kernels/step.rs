//! One leapfrog step of z rows: `p+ = 2p - p- + c^2 dt^2 (L p + extra)`, in place over p-.
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

/// Rows to be stepped: `rows` along y in P neighbouring planes; pointers to the first row's node 0.
pub(crate) struct StepArgs<'a> {
    /// p^n.
    pub(crate) p: *const f32,
    /// p^(n-1), becomes p^(n+1).
    pub(crate) next: *mut f32,
    /// `c^2 dt^2`, m^2; zero past a row's last node and where p is held at zero.
    pub(crate) c2: *const f32,
    /// What layers add to L p; used with a single row per plane.
    pub(crate) extra: *const f32,
    /// Distance of neighbours along x and y in p and `next`, values.
    pub(crate) stride: [isize; 2],
    /// Distance of neighbours along x and y in `c2`, values.
    pub(crate) c2_stride: [usize; 2],
    /// Distance of planes in `extra`, values.
    pub(crate) extra_stride: usize,
    /// Rows along y.
    pub(crate) rows: usize,
    /// Nodes `from..to` of each row, both multiples of 16.
    pub(crate) from: usize,
    /// See `from`.
    pub(crate) to: usize,
    /// Operator.
    pub(crate) weights: &'a Weights,
}

/// Steps rows of P planes, 1 or 2. Two planes at once share what they read along x: 5 instead of 9
/// rows per row stepped at radius 4, most of which come from the second-level cache.
/// Y: there are neighbours along y; EXTRA: layers contribute.
///
/// # Safety
/// The processor has S; p is readable over the operator's reach around the rows' `from..to`,
/// `next`, `c2` and (with EXTRA) `extra` over `from..to`; nobody else touches `next` there.
#[inline(always)]
pub(super) unsafe fn step<
    S: Simd,
    const R: usize,
    const Y: bool,
    const EXTRA: bool,
    const P: usize,
>(
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
        for row in 0..a.rows {
            let p_row = a.p.offset(row.cast_signed() * sy);
            let next_row = a.next.offset(row.cast_signed() * sy);
            let c2_row = a.c2.add(row * a.c2_stride[1]);
            let mut k = a.from;
            while k < a.to {
                let first = p_row.add(k);
                // Along x, the rows on either side and the planes' own.
                let (mut before, mut here, mut after) = ([two; R], [two; P], [two; R]);
                for r in 0..R {
                    let d = r.cast_signed() + 1;
                    before[r] = S::load(first.offset(-d * sx));
                    after[r] = S::load(first.offset((d + P.cast_signed() - 1) * sx));
                }
                for plane in 0..P {
                    here[plane] = S::load(first.offset(plane.cast_signed() * sx));
                }
                for plane in 0..P {
                    let p = first.offset(plane.cast_signed() * sx);
                    let mut lap = S::mul(centre, here[plane]);
                    // One sum per axis: the chain of dependent operations is a third as long.
                    let mut lap_x = two;
                    let mut lap_y = two;
                    if EXTRA {
                        lap_x = S::load(a.extra.add(plane * a.extra_stride + k));
                    }
                    for r in 0..R {
                        let d = r + 1;
                        let low = if plane >= d { here[plane - d] } else { before[d - plane - 1] };
                        let high =
                            if plane + d < P { here[plane + d] } else { after[plane + d - P] };
                        let x = S::add(low, high);
                        lap_x = if r == 0 && !EXTRA {
                            S::mul(wx[r], x)
                        } else {
                            S::fma(wx[r], x, lap_x)
                        };
                        let d = d.cast_signed();
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
                    let next = next_row.offset(plane.cast_signed() * sx).add(k);
                    let c2 = c2_row.add(plane * a.c2_stride[0] + k);
                    let inertia = S::sub(S::mul(two, here[plane]), S::load(next));
                    S::store(next, S::fma(S::load(c2), lap, inertia));
                }
                k += S::LANES;
            }
        }
    }
}
