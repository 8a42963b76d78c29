//! IBM System/360 single precision: sign, exponent of 16 in excess 64, fraction of 24 bits;
//! the value is (-1)^s 16^(e - 64) f / 2^24 (System/360 Principles of Operation, 1964).
//!
//! Both directions are written without branches or tables, so that compilers make vectors of them.

/// Largest magnitude, 16^63 (1 - 2^-24), about 7.24e75.
pub(super) const LARGEST: u32 = 0x7fff_ffff;

/// Value of an IBM word.
///
/// Rounded to the nearest single, ties to even; only words below 2^-126 need it, since 24 bits of
/// fraction are a single's. What is beyond a single's range becomes infinite, what is below it
/// subnormal or zero; the sign of zero is kept.
#[inline]
#[must_use]
pub fn ibm_to_f32(word: u32) -> f32 {
    // 2^(4e - 280) in two factors that are normal singles. The first keeps the product exact (the
    // fraction is 1 to 2^24, so it is at least 2^-126 or, where it is infinite, the value is too),
    // the second rounds once. Exponents are kept in place, in bits 23 to 31.
    let exponent = (word << 1) & 0xfe00_0000;
    let first = exponent.clamp(154 << 23, 407 << 23);
    let rest = (exponent.wrapping_sub(first).cast_signed() + (127 << 23)).max(1 << 23);
    // 24 bits are exact in a single; the signed conversion is one instruction.
    let fraction = (word & 0x00ff_ffff).cast_signed() as f32;
    let magnitude =
        fraction * f32::from_bits(first - (153 << 23)) * f32::from_bits(rest.cast_unsigned());
    f32::from_bits(magnitude.to_bits() | (word & 0x8000_0000))
}

/// Value of an IBM word, exact.
#[inline]
#[must_use]
pub fn ibm_to_f64(word: u32) -> f64 {
    let exponent = u64::from((word >> 24) & 0x7f);
    // 2^(4e - 280) is a normal double for every e.
    let scale = f64::from_bits((4 * exponent + 1023 - 280) << 52);
    let magnitude = f64::from(word & 0x00ff_ffff) * scale;
    f64::from_bits(magnitude.to_bits() | (u64::from(word >> 31) << 63))
}

/// The IBM word nearest to a single, ties to even, normalised; infinities and NaN become the
/// largest word of their sign.
///
/// A hexadecimal digit may begin with up to three zero bits, so up to three bits are rounded away:
/// the relative error is at most 2^-21. Every finite single is within range, subnormals included.
#[inline]
#[must_use]
pub fn f32_to_ibm(value: f32) -> u32 {
    let bits = value.to_bits();
    let (sign, magnitude) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    // Subnormals are made normal by 2^24, exactly; 24 is a multiple of 4. Zero stays zero.
    let tiny = magnitude < 0x0080_0000;
    let scaled =
        if tiny { (f32::from_bits(magnitude) * 16_777_216.0).to_bits() } else { magnitude };
    // 1.m 2^(b - 127) = 0.1m 2^(b - 126); 256 makes the excess of 64. The exponent of 16 is a quarter
    // of it, rounded up.
    let power = (scaled >> 23) + (256 - 126);
    let hex = (power + 3) >> 2;
    // The sum with 2^23 units of the last of 24 bits is rounded to such units by the addition itself.
    // Rounding up never needs another digit: where it rounds, the leading digit is below 8.
    let unit = (hex << 25).wrapping_sub(130 << 23);
    let sum = (f32::from_bits(scaled) + f32::from_bits(unit)).to_bits();
    let exact = power & 3 == 0;
    let whole = (scaled & 0x007f_ffff) | 0x0080_0000;
    let fraction = if exact { whole } else { sum.wrapping_sub(unit) };
    let word = (hex.wrapping_sub(if tiny { 6 } else { 0 }) << 24) | fraction;
    let finite = if magnitude == 0 { 0 } else { word };
    sign | if magnitude >= 0x7f80_0000 { LARGEST } else { finite }
}

/// [`f32_to_ibm`] for zero and normal singles, given as bits: two thirds of the work.
#[inline]
pub(super) fn normal_to_ibm(bits: u32) -> u32 {
    let magnitude = bits & 0x7fff_ffff;
    let power = (magnitude >> 23) + (256 - 126);
    let hex = (power + 3) >> 2;
    let unit = (hex << 25).wrapping_sub(130 << 23);
    let sum = (f32::from_bits(magnitude) + f32::from_bits(unit)).to_bits();
    let whole = (magnitude & 0x007f_ffff) | 0x0080_0000;
    let fraction = if power & 3 == 0 { whole } else { sum.wrapping_sub(unit) };
    let word = if magnitude == 0 { 0 } else { (hex << 24) | fraction };
    (bits & 0x8000_0000) | word
}

/// The IBM word nearest to a double, ties to even, normalised where the range allows, and whether
/// it was beyond the range: infinities, NaN and what is larger become the largest word of their
/// sign. Below 16^-65 the fraction loses leading digits, as a subnormal's does, down to zero.
#[inline]
#[must_use]
pub fn f64_to_ibm(value: f64) -> (u32, bool) {
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u32) << 31;
    let magnitude = value.abs();
    if magnitude.is_nan() || magnitude.is_infinite() {
        return (sign | LARGEST, true);
    }
    // Below half of the smallest fraction, 2^-24 16^-64 = 2^-280, all is zero; so are subnormals.
    if magnitude <= f64::from_bits((1023 - 281) << 52) {
        return (sign, false);
    }
    let binary = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1022;
    // The fraction in units of 2^-24 16^hex, rounded by the addition of 2^52.
    let mut hex = (binary + 3).div_euclid(4).max(-64);
    let round = |hex: i32| {
        let scale = f64::from_bits(u64::from((1023 + 24 - 4 * hex).unsigned_abs()) << 52);
        let unit = 4_503_599_627_370_496.0_f64;
        (magnitude * scale + unit) - unit
    };
    if hex > 63 {
        return (sign | LARGEST, true);
    }
    let mut fraction = round(hex);
    if fraction >= 16_777_216.0 {
        hex += 1;
        fraction = 1_048_576.0;
        if hex > 63 {
            return (sign | LARGEST, true);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 2^24")]
    #[expect(clippy::cast_sign_loss, reason = "a magnitude")]
    let fraction = fraction as u32;
    (sign | ((hex + 64).unsigned_abs() << 24) | fraction, false)
}
