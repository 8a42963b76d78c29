//! Bytes in vectors: four taps per product, as a banded Toeplitz matrix.
//!
//! Along an axis, nodes come in aligned groups of four. A word holds one digit of a group's four
//! nodes; output 4 g + s is the sum over the groups around g of words times the band's row s, whose
//! zeros stand where the operator does not reach. Along x and y lanes are nodes of a row, so a word
//! joins a byte of four rows; along z lanes are groups and words lie in memory as they are, and outputs
//! are interleaved at the end. All axes so give a node's sum to the same place.
//!
//! Instructions multiply unsigned with signed bytes: digits carry 128 more, which a constant that the
//! sums start from takes away.

#![allow(unsafe_code, reason = "kernels work on raw rows through intrinsics")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one contract covers all addresses that a kernel forms"
)]

use temblor_physics::{Digits, QuantisedOperator};

use super::super::fields::largest_bits;
use super::tile::{Field, LENGTH, Tile, power_of_two};
use super::vector::{Vector, Vectors, Weight};
use super::{Digital, Slice, Target};

/// Nodes of a line of a tile at most, with halo: 32 and two groups on either side.
const MOST_GROUPS: usize = 32 / 4 + 4;

/// Nodes before and after a tile that a row of bytes along z holds.
const MARGIN: usize = 8;

/// A row of bytes along z.
const ROW: usize = LENGTH + 2 * MARGIN;

/// The operator's digits as vectors take them.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    /// By digit of the operator, output of a group (4), group around it (3 or 5).
    weights: Vec<Weight>,
    /// Groups around an output's: 3 up to radius 4, else 5.
    groups: usize,
    radius: usize,
    operator: usize,
    /// What sums start from, by digits of the wavefield and diagonal.
    start: [[i32; 5]; 3],
}

impl Packed {
    pub(super) fn new(operator: &QuantisedOperator, digits: Digits) -> Self {
        let radius = operator.integers.len() - 1;
        let groups = 2 * radius.div_ceil(4) + 1;
        let mut weights = Vec::new();
        let mut start = [[0; 5]; 3];
        for a in 0..operator.digits {
            let digit = operator.digit(a);
            for output in 0..4 {
                for group in 0..groups {
                    weights.push(Weight::new([0, 1, 2, 3].map(|c| {
                        let before = 4 * (groups / 2) + output;
                        digit.get((4 * group + c).abs_diff(before)).copied().unwrap_or(0)
                    })));
                }
            }
            let sides: i32 = digit[1..].iter().map(|&n| i32::from(n)).sum();
            let sum = i32::from(digit[0]) + 2 * sides;
            for w in 0..usize::from(digits.wavefield) {
                for (_, b) in digits.pairs().filter(|&(of, b)| of == a && usize::from(b) <= w) {
                    start[w][usize::from(a + b)] -= 128 * sum;
                }
            }
        }
        Self { weights, groups, radius, operator: usize::from(operator.digits), start }
    }
}

/// One digit of four nodes per word, by digit and group.
type Words = [[[u32; LENGTH]; MOST_GROUPS]; 3];

/// What a tile's lines share.
#[derive(Clone, Copy)]
struct Job<'a> {
    packed: &'a Packed,
    start: &'a [i32; 5],
    kept: usize,
    factors: [f32; 2],
}

/// A tile's Laplacian.
pub(super) fn laplacian(
    vectors: Vectors,
    plan: &Digital,
    field: Field<'_>,
    tile: &Tile,
    slice: &Slice,
    target: &mut Target<'_>,
) {
    let packed = &plan.packed;
    let function = vectors.tile(packed.operator, usize::from(slice.digits));
    // SAFETY: `Vectors` are made for instruction sets that were detected; targets hold whole vectors
    // of all rows of a tile.
    unsafe { function(packed, field, tile, slice, target) }
}

/// A tile's Laplacian with `A` digits of the operator and `W` of the wavefield.
type TileFn = unsafe fn(&Packed, Field<'_>, &Tile, &Slice, &mut Target<'_>);

/// Integers of a row's values, 128 added to each digit.
#[inline(always)]
fn integers<const W: usize, const N: usize>(row: &[f32], factors: [f32; 2], to: &mut [u32; N]) {
    let [first, second] = factors;
    let bias = 0x0080_8080 >> (8 * (3 - W));
    let mut whole = [0.0; N];
    let row = match <&[f32; N]>::try_from(row) {
        Ok(row) => row,
        Err(_) => {
            whole[..row.len()].copy_from_slice(row);
            &whole
        }
    };
    for k in 0..N {
        let scaled = (row[k] * first * second).round_ties_even();
        // SAFETY: the exponent is that of the largest value, which is finite: integers of W digits.
        let integer: i32 = unsafe { scaled.to_int_unchecked() };
        to[k] = (integer + bias).cast_unsigned();
    }
    // The proof that nothing overflows, checked: all digits are bytes.
    debug_assert!(to.iter().all(|&n| n >> (8 * W) == 0), "an exponent is too small");
}

/// Words of four rows' integers, most significant digit first.
#[inline(always)]
fn words<const W: usize>(rows: &[[u32; LENGTH]; 4], group: usize, to: &mut Words) {
    for k in 0..LENGTH {
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| rows[n][k]);
        // Bytes 0 and 2 of a and b, side by side; of c and d.
        let even = |low: u32, high: u32| (low & 0x00ff_00ff) | (high & 0x00ff_00ff) << 8;
        let (even_ab, even_cd) = (even(a, b), even(c, d));
        to[W - 1][group][k] = (even_ab & 0xffff) | even_cd << 16;
        if W > 1 {
            let odd = |low: u32, high: u32| (low >> 8 & 0xff) | (high & 0xff00);
            to[W - 2][group][k] = odd(a, b) | odd(c, d) << 16;
        }
        if W > 2 {
            to[0][group][k] = even_ab >> 16 | (even_cd & 0xffff_0000);
        }
    }
}

/// Sums of `S` outputs of a group from output `first` on, joined to one number each.
///
/// # Safety
/// The processor has V; `data(b, g)` is readable for a vector.
#[inline(always)]
unsafe fn outputs<V: Vector, const A: usize, const W: usize, const S: usize>(
    job: &Job<'_>,
    first: usize,
    data: impl Fn(usize, usize) -> *const u8,
) -> [V::F; S] {
    let diagonals = A + W - 1;
    // SAFETY: the caller's contract.
    unsafe {
        let mut sums = [[V::splat(0); 5]; S];
        for d in 0..diagonals {
            let start = V::splat(job.start[d]);
            for s in 0..S {
                sums[s][d] = start;
            }
        }
        // Groups are counted at run time: unrolled, they quintuple the code and gain nothing.
        let groups = job.packed.groups;
        for b in 0..W {
            for a in 0..A {
                if a + b < job.kept {
                    let weights = job.packed.weights.as_ptr().add((a * 4 + first) * groups);
                    for g in 0..groups {
                        let bytes = V::load(data(b, g));
                        for s in 0..S {
                            let weight = &*weights.add(s * groups + g);
                            sums[s][a + b] = V::dot(sums[s][a + b], bytes, weight);
                        }
                    }
                }
            }
        }
        // No closure may hold an intrinsic: it would not be inlined where the instruction set is known.
        let mut joined = [V::splat_float(0.0); S];
        for n in 0..S {
            joined[n] = join::<V>(diagonals, &sums[n]);
        }
        joined
    }
}

/// As [`super::plain::join`].
///
/// # Safety
/// The processor has V.
#[inline(always)]
unsafe fn join<V: Vector>(diagonals: usize, sums: &[V::I; 5]) -> V::F {
    // SAFETY: the caller's contract.
    unsafe {
        if diagonals == 1 {
            return V::float(sums[0]);
        }
        let mut high = V::float(V::join(sums[0], sums[1]));
        if diagonals == 2 {
            return high;
        }
        let (place, low) = match diagonals {
            3 => (256.0, V::float(sums[2])),
            4 => (65536.0, V::float(V::join(sums[2], sums[3]))),
            _ => {
                let middle = V::float(V::join(sums[2], sums[3]));
                let middle = V::mul(V::splat_float(256.0), middle);
                (16_777_216.0, V::add(middle, V::float(sums[4])))
            }
        };
        high = V::mul(V::splat_float(place), high);
        V::add(high, low)
    }
}

/// How an axis's sums enter the Laplacian.
#[derive(Clone, Copy)]
struct Share {
    /// Scale of the axis.
    scale: f32,
    /// Whether no axis came before.
    first: bool,
    /// What the sum over the axes so far is multiplied by: one, or the tile's unit at the last.
    unit: f32,
}

/// Puts a vector of an axis's sums into the Laplacian.
///
/// # Safety
/// The processor has V; `to` is valid for a vector.
#[inline(always)]
unsafe fn put<V: Vector>(share: Share, sum: V::F, to: *mut f32) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut sum = V::mul(sum, V::splat_float(share.scale));
        if !share.first {
            sum = V::add(V::load_float(to), sum);
        }
        V::store_float(to, V::mul(sum, V::splat_float(share.unit)));
    }
}

/// Products along x or y for the nodes of one line of rows.
///
/// # Safety
/// The processor has V; `to(n)` is valid for a row of a tile, n in `0..nodes`.
#[inline(always)]
unsafe fn line<'a, V: Vector, const A: usize, const W: usize>(
    job: &Job<'_>,
    share: Share,
    nodes: usize,
    row: impl Fn(isize) -> &'a [f32],
    to: impl Fn(usize) -> *mut f32,
    buffer: &mut Words,
) {
    let reach = (4 * (job.packed.groups / 2)).cast_signed();
    let radius = job.packed.radius.cast_signed();
    let zero = 0x0080_8080 >> (8 * (3 - W));
    let groups = nodes.div_ceil(4);
    let mut rows = [[0_u32; LENGTH]; 4];
    for group in 0..groups + job.packed.groups - 1 {
        for (c, integer) in rows.iter_mut().enumerate() {
            let n = (4 * group + c).cast_signed() - reach;
            if (-radius..nodes.cast_signed() + radius).contains(&n) {
                integers::<W, LENGTH>(row(n), job.factors, integer);
            } else {
                // Weights are zero there.
                *integer = [zero; LENGTH];
            }
        }
        words::<W>(&rows, group, buffer);
    }
    // SAFETY: the caller's contract; words are read where they were written.
    unsafe {
        for group in 0..groups {
            for lane in (0..LENGTH).step_by(V::LANES) {
                let data =
                    |b: usize, g: usize| buffer[b][group + g].as_ptr().add(lane).cast::<u8>();
                if V::OUTPUTS == 4 {
                    let sums = outputs::<V, A, W, 4>(job, 0, data);
                    for s in 0..4.min(nodes - 4 * group) {
                        put::<V>(share, sums[s], to(4 * group + s).add(lane));
                    }
                } else {
                    for first in [0, 2] {
                        let sums = outputs::<V, A, W, 2>(job, first, data);
                        for s in first..(first + 2).min(nodes - 4 * group) {
                            put::<V>(share, sums[s - first], to(4 * group + s).add(lane));
                        }
                    }
                }
            }
        }
    }
}

/// Products along z for one row of a tile.
///
/// # Safety
/// The processor has V; `to` is valid for a row of a tile.
#[inline(always)]
unsafe fn along<V: Vector, const A: usize, const W: usize>(
    job: &Job<'_>,
    share: Share,
    row: &[f32],
    to: *mut f32,
) {
    // What lies beyond the operator's reach meets weights of zero, but must not overflow.
    let mut values = [0.0; ROW];
    values[MARGIN - job.packed.radius..][..row.len()].copy_from_slice(row);
    let mut whole = [0_u32; ROW];
    integers::<W, ROW>(&values, job.factors, &mut whole);
    let mut bytes = [[0_u8; ROW]; 3];
    for b in 0..W {
        for k in 0..ROW {
            #[expect(clippy::cast_possible_truncation, reason = "one digit of several")]
            let digit = (whole[k] >> (8 * (W - 1 - b))) as u8;
            bytes[b][k] = digit;
        }
    }
    // SAFETY: the caller's contract; a margin holds two groups, as many as are read around.
    unsafe {
        for lane in (0..LENGTH / 4).step_by(V::LANES) {
            let data = |b: usize, g: usize| {
                bytes[b].as_ptr().add(MARGIN + 4 * (lane + g) - 4 * (job.packed.groups / 2))
            };
            let sums = if V::OUTPUTS == 4 {
                outputs::<V, A, W, 4>(job, 0, data)
            } else {
                let [a, b] = outputs::<V, A, W, 2>(job, 0, data);
                let [c, d] = outputs::<V, A, W, 2>(job, 2, data);
                [a, b, c, d]
            };
            for (part, sum) in V::interleave(sums).into_iter().enumerate() {
                put::<V>(share, sum, to.add(4 * lane + part * V::LANES));
            }
        }
    }
}

/// A tile's Laplacian.
///
/// # Safety
/// The processor has V; the target holds rows of [`LENGTH`] values for the tile.
#[inline(always)]
unsafe fn tile<V: Vector, const A: usize, const W: usize>(
    packed: &Packed,
    field: Field<'_>,
    tile: &Tile,
    slice: &Slice,
    target: &mut Target<'_>,
) {
    let job =
        Job { packed, start: &packed.start[W - 1], kept: slice.kept, factors: slice.factors() };
    let [nx, ny, nz] = tile.shape;
    let active = field.layout.halo.map(|halo| halo > 0);
    let first = active.iter().position(|&active| active);
    let last = active.iter().rposition(|&active| active);
    let share = |axis: usize| Share {
        scale: slice.scales[axis],
        first: first == Some(axis),
        unit: if last == Some(axis) { power_of_two(slice.exponent) } else { 1.0 },
    };
    let mut buffer = [[[0; LENGTH]; MOST_GROUPS]; 3];
    let base = target.values.as_mut_ptr();
    // SAFETY: the caller's contract.
    unsafe {
        let to = |i, j| base.add(target.at(i, j));
        if active[0] {
            for j in 0..ny {
                let row = |i| field.row(tile, [i, j.cast_signed(), 0], nz);
                line::<V, A, W>(&job, share(0), nx, row, |i| to(i, j), &mut buffer);
            }
        }
        if active[1] {
            for i in 0..nx {
                let row = |j| field.row(tile, [i.cast_signed(), j, 0], nz);
                line::<V, A, W>(&job, share(1), ny, row, |j| to(i, j), &mut buffer);
            }
        }
        if active[2] {
            let reach = packed.radius;
            for i in 0..nx {
                for j in 0..ny {
                    let at = [i.cast_signed(), j.cast_signed(), -reach.cast_signed()];
                    let row = field.row(tile, at, nz + 2 * reach);
                    along::<V, A, W>(&job, share(2), row, to(i, j));
                }
            }
        }
    }
}

/// One function per count of digits, for an instruction set.
macro_rules! instantiate {
    ($module:ident, $vector:ident, $feature:literal) => {
        #[cfg(target_arch = "x86_64")]
        mod $module {
            use super::super::vector::$vector;
            use super::*;

            #[target_feature(enable = $feature)]
            unsafe fn tile<const A: usize, const W: usize>(
                packed: &Packed,
                field: Field<'_>,
                tile: &Tile,
                slice: &Slice,
                target: &mut Target<'_>,
            ) {
                // SAFETY: the same contract.
                unsafe { super::tile::<$vector, A, W>(packed, field, tile, slice, target) }
            }

            #[target_feature(enable = $feature)]
            pub(super) unsafe fn largest(row: &[f32]) -> u32 {
                largest_bits(row)
            }

            pub(super) fn select(a: usize, w: usize) -> TileFn {
                match (a, w) {
                    (1, 1) => tile::<1, 1>,
                    (1, 2) => tile::<1, 2>,
                    (1, 3) => tile::<1, 3>,
                    (2, 1) => tile::<2, 1>,
                    (2, 2) => tile::<2, 2>,
                    (2, 3) => tile::<2, 3>,
                    (3, 1) => tile::<3, 1>,
                    (3, 2) => tile::<3, 2>,
                    _ => tile::<3, 3>,
                }
            }
        }
    };
}

instantiate!(avx512, Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni");
instantiate!(avx_vnni, AvxVnni, "avx2,avxvnni");
instantiate!(avx2, Avx2, "avx2");

impl Vectors {
    fn tile(self, a: usize, w: usize) -> TileFn {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => avx512::select(a, w),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => avx_vnni::select(a, w),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::select(a, w),
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("no processor here has these vectors: {a} {w}"),
        }
    }

    /// Bits of the largest magnitude of a row.
    pub(super) fn largest(self, row: &[f32]) -> u32 {
        // SAFETY: `Vectors` are made for instruction sets that were detected.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Avx512Vnni => avx512::largest(row),
                #[cfg(target_arch = "x86_64")]
                Self::AvxVnni => avx_vnni::largest(row),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2::largest(row),
                #[cfg(not(target_arch = "x86_64"))]
                _ => largest_bits(row),
            }
        }
    }
}
