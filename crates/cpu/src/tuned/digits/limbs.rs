//! BF16 digits: limbs of each value by itself, products in FP32 sums.
//!
//! Limb b is what the limbs before it leave, rounded to the nearest BF16 number. The operator's digits
//! are its integers' bytes at their places, which BF16 holds exactly, so that constants still vanish and
//! long waves keep their speed; only the sums round. A product of two BF16 numbers is exact in FP32.

#![allow(unsafe_code, reason = "kernels for instruction sets that were detected")]

use super::tile::{Field, LENGTH, Tile};
use super::vector::Vectors;
use super::{Digital, Target};

/// Values that a lane's sums are taken over at once.
const LANES: usize = 16;

/// The nearest BF16 number, ties to even; what is not finite stays so.
#[inline(always)]
fn nearest(value: f32) -> f32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) & 0xffff_0000;
    // A NaN's payload must not carry into its sign.
    if value.is_nan() { value } else { f32::from_bits(rounded) }
}

/// Limbs of rows, by digit: `LENGTH` values and a halo on either side.
pub(super) type Row = [f32; LENGTH + 16];

/// Limbs of a row of values.
#[inline(always)]
fn slice(values: &[f32], digits: usize, rows: &mut [Row]) {
    let mut left = [0.0; LENGTH + 16];
    left[..values.len()].copy_from_slice(values);
    for row in &mut rows[..digits] {
        for k in 0..left.len() {
            row[k] = nearest(left[k]);
            left[k] -= row[k];
        }
    }
}

/// Sum of one axis at `LANES` nodes; `limb(b, r)` are those at distance r.
#[inline(always)]
fn sum<'a>(
    weights: &[Vec<f32>],
    pairs: &[(u8, u8)],
    limb: impl Fn(usize, isize) -> &'a [f32; LANES],
) -> [f32; LANES] {
    let mut sums = [[0.0; LANES]; 5];
    for &(a, b) in pairs {
        let (a, b) = (usize::from(a), usize::from(b));
        let mut partial = sums[a + b];
        let radius = weights[a].len().cast_signed() - 1;
        for r in -radius..=radius {
            let weight = weights[a][r.unsigned_abs()];
            let limbs = limb(b, r);
            for k in 0..LANES {
                partial[k] += weight * limbs[k];
            }
        }
        sums[a + b] = partial;
    }
    // From least to most significant.
    let mut all = sums[4];
    for sum in sums[..4].iter().rev() {
        for k in 0..LANES {
            all[k] += sum[k];
        }
    }
    all
}

/// A tile's Laplacian.
#[inline(always)]
fn laplacian(
    plan: &Digital,
    field: Field<'_>,
    tile: &Tile,
    limbs: &mut Vec<Row>,
    target: &mut Target<'_>,
) {
    let digits = usize::from(plan.digits.wavefield);
    let pairs: Vec<_> = plan.digits.pairs().collect();
    let weights: Vec<Vec<f32>> = (0..plan.digits.operator)
        .map(|a| {
            let place = f32::from(256_u16).powi(i32::from(plan.digits.operator - 1 - a));
            plan.operator.digit(a).into_iter().map(|n| f32::from(n) * place).collect()
        })
        .collect();
    let radius = field.layout.radius;
    let [nx, ny, nz] = tile.shape;
    let mut first = true;
    for axis in (0..3).filter(|&axis| field.layout.halo[axis] > 0) {
        // Lines across x, across y, and rows along z by themselves.
        let (lines, nodes) = [(ny, nx), (nx, ny), (nx * ny, 1)][axis];
        let reach = if axis == 2 { 0 } else { radius };
        limbs.resize(digits * (nodes + 2 * reach), [0.0; LENGTH + 16]);
        for line in 0..lines {
            let node = |n: isize| {
                let line = line.cast_signed();
                match axis {
                    0 => [n, line, 0],
                    1 => [line, n, 0],
                    _ => [line / ny.cast_signed(), line % ny.cast_signed(), -radius.cast_signed()],
                }
            };
            let count = if axis == 2 { nz + 2 * radius } else { nz };
            for n in 0..nodes + 2 * reach {
                let at = node(n.cast_signed() - reach.cast_signed());
                slice(field.row(tile, at, count), digits, &mut limbs[digits * n..]);
            }
            for n in 0..nodes {
                let [i, j, _] = node(n.cast_signed()).map(|n| n.max(0).cast_unsigned());
                let to = target.at(i, j);
                for k in (0..nz).step_by(LANES) {
                    let limb = |b: usize, r: isize| {
                        let (row, k) = if axis == 2 {
                            (b, (k + radius).cast_signed() + r)
                        } else {
                            let n = (n + radius).cast_signed() + r;
                            (digits * n.cast_unsigned() + b, k.cast_signed())
                        };
                        limbs[row][k.cast_unsigned()..]
                            .first_chunk::<LANES>()
                            .expect("rows hold a halo on either side")
                    };
                    let sums = sum(&weights, &pairs, limb);
                    let to = &mut target.values[to + k..][..LANES.min(nz - k)];
                    for (to, sum) in to.iter_mut().zip(sums) {
                        let part = sum * plan.scales[0][axis];
                        *to = if first { part } else { *to + part };
                    }
                }
            }
        }
        first = false;
    }
}

/// For whatever the compiler's base target has.
pub(super) fn portable(
    plan: &Digital,
    field: Field<'_>,
    tile: &Tile,
    limbs: &mut Vec<Row>,
    target: &mut Target<'_>,
) {
    laplacian(plan, field, tile, limbs, target);
}

/// The loops of this module for an instruction set.
macro_rules! instantiate {
    ($name:ident, $feature:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $feature)]
        unsafe fn $name(
            plan: &Digital,
            field: Field<'_>,
            tile: &Tile,
            limbs: &mut Vec<Row>,
            target: &mut Target<'_>,
        ) {
            laplacian(plan, field, tile, limbs, target);
        }
    };
}

instantiate!(avx512, "avx512f,avx512bw,avx512dq,avx512vl");
instantiate!(avx2, "avx2");

/// For an instruction set.
pub(super) fn vectors(
    vectors: Vectors,
    plan: &Digital,
    field: Field<'_>,
    tile: &Tile,
    limbs: &mut Vec<Row>,
    target: &mut Target<'_>,
) {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512Vnni => {
            // SAFETY: `Vectors` are made for instruction sets that were detected.
            unsafe { avx512(plan, field, tile, limbs, target) }
        }
        #[cfg(target_arch = "x86_64")]
        Vectors::AvxVnni | Vectors::Avx2 => {
            // SAFETY: as above.
            unsafe { avx2(plan, field, tile, limbs, target) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        _ => portable(plan, field, tile, limbs, target),
    }
}
