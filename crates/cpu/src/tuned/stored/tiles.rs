//! Rows of values to and from what they are stored as, the loops of every codec.
//!
//! A tile is 32 neighbouring nodes of a row along z, the row's last one 16 or 32: rows are whole
//! vectors, and what lies past the last node is zero. Tiles with an exponent e hold values below
//! 2^e: 16-bit integers times 2^(e-15), or halves times 2^(e-15). With `unit` half the weight of the
//! first bit that is dropped, relative to 2^e, e is the least integer for which the largest value
//! does not round up to 2^e; decoding and encoding again then finds the same e and the same codes.
//!
//! Errors, with M = 2^e the tile's bound (max|v| < M <= 2 max|v| but for what rounds up to M):
//!
//! ```text
//! int16        2^-16 M                        fp16   2^-11 |v| or 2^-25, the larger; |v| < 65520
//! fp16-scaled  2^-11 |v| or 2^-40 M           bf16   2^-8 |v|
//! a tile with max|v| < 2^-120: |v|            bf16x2 2^-17 |v| for |v| > 2^-110
//! ```
//!
//! Rounding to nearest even; stochastic rounding errs by up to twice as much and by nothing on average.

#![allow(unsafe_code, reason = "loops that are compiled for more than the base target")]

use super::halves::{Halves, INFINITY, from_bf16, lower, to_bf16};
use super::noise::Noise;

/// Nodes that share an exponent.
pub(super) const TILE: usize = 32;
/// Values per loop turn; divides a row and a tile.
pub(super) const LANES: usize = 16;

/// Exponent of a tile with a value that is not finite or not below 2^126.
pub(super) const NOT_FINITE: i8 = 127;
/// Exponent of a tile of zeros: all its values are below 2^-120.
pub(super) const ZERO: i8 = -120;
/// The largest exponent of a number.
const LARGEST: i32 = 126;

/// Bits of half a unit in the last place of an integer of 15 bits, and of a half.
const UNIT_INT16: u32 = 1 << 8;
const UNIT_HALF: u32 = 1 << 12;

/// Adding it leaves an integer of 22 bits in a single's last bits, rounded to nearest even.
const ROUNDER: f32 = 12_582_912.0;

/// The largest integer.
const MOST: f32 = 32767.0;

type Lanes = [f32; LANES];

/// Exponent of a tile from the bits of its largest magnitude.
#[inline(always)]
fn exponent(peak: u32, unit: u32) -> i8 {
    if peak >= INFINITY {
        return NOT_FINITE;
    }
    let exponent = ((peak + unit) >> 23).cast_signed() - 126;
    if exponent > LARGEST {
        return NOT_FINITE;
    }
    i8::try_from(exponent).map_or(ZERO, |e| e.max(ZERO))
}

/// Bits of the largest magnitude; of singles they order as magnitudes do, NaN above infinity.
#[inline(always)]
fn peak(values: &[Lanes]) -> u32 {
    let mut most = [0; LANES];
    for values in values {
        for l in 0..LANES {
            most[l] = most[l].max(values[l].to_bits() & 0x7fff_ffff);
        }
    }
    most.into_iter().fold(0, u32::max)
}

/// Two factors whose product is 2^n, each a normal single for |n| <= 252.
#[inline(always)]
fn power_of_two(n: i32) -> [f32; 2] {
    let single = |n: i32| f32::from_bits((n + 127).cast_unsigned() << 23);
    if (-126..=127).contains(&n) { [single(n), 1.0] } else { [single(n / 2), single(n - n / 2)] }
}

/// What a tile's codes are multiplied by.
#[inline(always)]
fn decoding(exponent: i8) -> [f32; 2] {
    if exponent == NOT_FINITE { [f32::NAN, 1.0] } else { power_of_two(i32::from(exponent) - 15) }
}

/// What a tile's values are multiplied by.
#[inline(always)]
fn encoding(exponent: i8) -> [f32; 2] {
    if exponent == ZERO { [0.0, 1.0] } else { power_of_two(15 - i32::from(exponent)) }
}

/// Rows of a codec: `values` and `codes` are as long as each other but for the codec's words per
/// value, whole vectors; `exponents` has one per tile, none where the codec has no exponents.
pub(super) trait Rows {
    /// # Safety
    /// The processor has what [`Halves`] of the codec names.
    unsafe fn encode(values: &[f32], codes: &mut [u16], exponents: &mut [i8]);
    /// Rounds stochastically, codecs whose codes share an exponent; others round to nearest.
    ///
    /// # Safety
    /// The processor has what [`Halves`] of the codec names.
    unsafe fn encode_noisy(values: &[f32], codes: &mut [u16], exponents: &mut [i8], _: Noise) {
        // SAFETY: the caller's contract.
        unsafe { Self::encode(values, codes, exponents) }
    }

    /// # Safety
    /// The processor has what [`Halves`] of the codec names.
    unsafe fn decode(codes: &[u16], exponents: &[i8], values: &mut [f32]);
}

/// Singles as they are, in two words.
pub(super) struct Single;

impl Rows for Single {
    #[inline(always)]
    unsafe fn encode(values: &[f32], codes: &mut [u16], _: &mut [i8]) {
        for (code, value) in codes.as_chunks_mut::<2>().0.iter_mut().zip(values) {
            let bits = value.to_bits();
            *code = [lower(bits), lower(bits >> 16)];
        }
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16], _: &[i8], values: &mut [f32]) {
        for (value, &[low, high]) in values.iter_mut().zip(codes.as_chunks::<2>().0) {
            *value = f32::from_bits(u32::from(low) | u32::from(high) << 16);
        }
    }
}

/// Integers with an exponent per tile.
pub(super) struct Int16;

/// Stores a row of integers; with NOISY noise is added to the values in codes.
#[inline(always)]
fn encode_int16<const NOISY: bool>(
    values: &[f32],
    codes: &mut [u16],
    exponents: &mut [i8],
    noise: Noise,
) {
    let tiles = values.chunks(TILE).zip(codes.chunks_mut(TILE));
    for (tile, ((values, codes), to)) in tiles.zip(exponents).enumerate() {
        let (values, codes) = (values.as_chunks().0, codes.as_chunks_mut::<LANES>().0);
        *to = exponent(peak(values), UNIT_INT16);
        if *to == NOT_FINITE {
            codes.as_flattened_mut().fill(0);
            continue;
        }
        let [first, second] = encoding(*to);
        for (part, (values, codes)) in values.iter().zip(codes).enumerate() {
            let noise = noise.from(tile * TILE + part * LANES);
            for l in 0..LANES {
                let mut scaled = values[l] * first * second;
                if NOISY {
                    scaled += noise.unit(l);
                    // Not `clamp`, which takes care of NaN.
                    scaled = if scaled > MOST { MOST } else { scaled };
                    scaled = if scaled < -MOST { -MOST } else { scaled };
                }
                codes[l] = lower((scaled + ROUNDER).to_bits());
            }
        }
    }
}

impl Rows for Int16 {
    #[inline(always)]
    unsafe fn encode(values: &[f32], codes: &mut [u16], exponents: &mut [i8]) {
        encode_int16::<false>(values, codes, exponents, Noise::new(0, 0));
    }

    #[inline(always)]
    unsafe fn encode_noisy(values: &[f32], codes: &mut [u16], exponents: &mut [i8], noise: Noise) {
        encode_int16::<true>(values, codes, exponents, noise);
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16], exponents: &[i8], values: &mut [f32]) {
        let tiles = codes.chunks(TILE).zip(values.chunks_mut(TILE));
        for ((codes, values), &exponent) in tiles.zip(exponents) {
            let (values, codes) = (values.as_chunks_mut::<LANES>().0, codes.as_chunks().0);
            let [first, second] = decoding(exponent);
            for (values, codes) in values.iter_mut().zip(codes) {
                let codes: &[u16; LANES] = codes;
                for l in 0..LANES {
                    values[l] = f32::from(codes[l].cast_signed()) * first * second;
                }
            }
        }
    }
}

/// Halves.
pub(super) struct Fp16<H>(std::marker::PhantomData<H>);

impl<H: Halves> Rows for Fp16<H> {
    #[inline(always)]
    unsafe fn encode(values: &[f32], codes: &mut [u16], _: &mut [i8]) {
        for (values, codes) in values.as_chunks().0.iter().zip(codes.as_chunks_mut().0) {
            // SAFETY: the caller's contract.
            unsafe { H::encode(values, codes) };
        }
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16], _: &[i8], values: &mut [f32]) {
        for (codes, values) in codes.as_chunks().0.iter().zip(values.as_chunks_mut().0) {
            // SAFETY: the caller's contract.
            unsafe { H::decode(codes, values) };
        }
    }
}

/// Halves with an exponent per tile.
pub(super) struct Fp16Scaled<H>(std::marker::PhantomData<H>);

impl<H: Halves> Rows for Fp16Scaled<H> {
    #[inline(always)]
    unsafe fn encode(values: &[f32], codes: &mut [u16], exponents: &mut [i8]) {
        let tiles = values.chunks(TILE).zip(codes.chunks_mut(TILE));
        for ((values, codes), to) in tiles.zip(exponents) {
            let (values, codes) = (values.as_chunks::<LANES>().0, codes.as_chunks_mut().0);
            *to = exponent(peak(values), UNIT_HALF);
            if *to == NOT_FINITE {
                codes.as_flattened_mut().fill(0);
                continue;
            }
            let [first, second] = encoding(*to);
            for (values, codes) in values.iter().zip(codes) {
                let scaled = values.map(|v| v * first * second);
                // SAFETY: the caller's contract.
                unsafe { H::encode(&scaled, codes) };
            }
        }
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16], exponents: &[i8], values: &mut [f32]) {
        let tiles = codes.chunks(TILE).zip(values.chunks_mut(TILE));
        for ((codes, values), &exponent) in tiles.zip(exponents) {
            let (values, codes) = (values.as_chunks_mut::<LANES>().0, codes.as_chunks().0);
            let [first, second] = decoding(exponent);
            for (values, codes) in values.iter_mut().zip(codes) {
                // SAFETY: the caller's contract.
                unsafe { H::decode(codes, values) };
                *values = values.map(|v| v * first * second);
            }
        }
    }
}

/// Upper halves of singles.
pub(super) struct Bf16;

impl Rows for Bf16 {
    #[inline(always)]
    unsafe fn encode(values: &[f32], codes: &mut [u16], _: &mut [i8]) {
        for (value, code) in values.iter().zip(codes) {
            *code = to_bf16(*value);
        }
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16], _: &[i8], values: &mut [f32]) {
        for (code, value) in codes.iter().zip(values) {
            *value = from_bf16(*code);
        }
    }
}

/// Two of those, sixteen of the first before sixteen of the second.
pub(super) struct Bf16Pair;

impl Rows for Bf16Pair {
    #[inline(always)]
    unsafe fn encode(values: &[f32], codes: &mut [u16], _: &mut [i8]) {
        let codes = codes.as_chunks_mut::<{ 2 * LANES }>().0;
        for (values, codes) in values.as_chunks::<LANES>().0.iter().zip(codes) {
            let (high, low) = codes.split_at_mut(LANES);
            for l in 0..LANES {
                high[l] = to_bf16(values[l]);
                low[l] = to_bf16(values[l] - from_bf16(high[l]));
            }
        }
    }

    #[inline(always)]
    unsafe fn decode(codes: &[u16], _: &[i8], values: &mut [f32]) {
        let codes = codes.as_chunks::<{ 2 * LANES }>().0;
        for (codes, values) in codes.iter().zip(values.as_chunks_mut::<LANES>().0) {
            let (high, low) = codes.split_at(LANES);
            for l in 0..LANES {
                values[l] = from_bf16(high[l]) + from_bf16(low[l]);
            }
        }
    }
}

/// `row = a row + b p`; with factors of 1 and -1 rounded once.
#[inline(always)]
pub(super) fn combine(row: &mut [f32], [a, b]: [f32; 2], p: &[f32]) {
    for (row, p) in row.iter_mut().zip(p) {
        *row = a * *row + b * *p;
    }
}

/// Wave speeds from codes: `c^2 dt^2 = (least dt + code step dt)^2`.
#[inline(always)]
pub(super) fn decode_speed(codes: &[u16], least: f32, step: f32, c2: &mut [f32]) {
    for (code, c2) in codes.iter().zip(c2) {
        let moved = least + f32::from(*code) * step;
        *c2 = moved * moved;
    }
}
