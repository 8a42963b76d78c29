//! Values of a tile as integers of one to three signed digits under a common exponent.
//!
//! A value x of a tile with exponent E becomes the integer nearest to `x 2^(8W-1-E)`, ties to even, of W
//! digits. Balanced digits reach 127.5 / 128 of a power of two, so a tile whose largest value lies
//! above that has an exponent more: nothing overflows.

/// How values become integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Slicing {
    /// To nearest, ties to even. The one to use.
    #[default]
    Nearest,
    /// Towards zero: what a test must catch.
    Truncated,
}

/// Least exponent of a tile: one whose values all lie below 2^-120 is taken as zero.
pub const LEAST_EXPONENT: i32 = -120;

/// Largest exponent of a tile: one with a larger value is taken as not finite.
pub const LARGEST_EXPONENT: i32 = 126;

/// Largest magnitude that `digits` balanced digits hold in both signs: all of them 127.
///
/// # Panics
/// If `digits` is not 1 to 3.
#[must_use]
pub const fn largest_integer(digits: u8) -> i32 {
    match digits {
        1 => 127,
        2 => 127 * 0x0101,
        3 => 127 * 0x01_0101,
        _ => panic!("digits are 1 to 3"),
    }
}

/// What a tile's values are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileScale {
    /// All values are zero, or as good as that.
    Zero,
    /// Two to this power.
    Exponent(i32),
    /// A value is not finite, or too large.
    NotFinite,
}

/// The least exponent E with which no value of magnitude up to `peak` overflows `digits` digits.
#[must_use]
pub fn exponent(peak: f32, digits: u8) -> TileScale {
    // NaN compares as neither.
    if !peak.is_finite() {
        return TileScale::NotFinite;
    }
    let bits = peak.abs().to_bits();
    // Denormals come out below all others.
    let mut exponent = (bits >> 23).cast_signed() - 126;
    // peak = f 2^E with f in [1/2, 1); the largest that rounds to the largest integer or below.
    let fraction = f64::from(f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000));
    let whole = fraction * f64::from(1_u32 << (8 * digits - 1));
    if whole.round_ties_even() > f64::from(largest_integer(digits)) {
        exponent += 1;
    }
    match exponent {
        ..LEAST_EXPONENT => TileScale::Zero,
        LEAST_EXPONENT..=LARGEST_EXPONENT => TileScale::Exponent(exponent),
        _ => TileScale::NotFinite,
    }
}

impl Slicing {
    /// The integer of a value for exponent `exponent`.
    #[must_use]
    pub fn integer(self, value: f32, exponent: i32, digits: u8) -> i32 {
        let scaled = f64::from(value) * f64::from(8 * i32::from(digits) - 1 - exponent).exp2();
        let whole = match self {
            Self::Nearest => scaled.round_ties_even(),
            Self::Truncated => scaled.trunc(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the exponent keeps it below 2^23")]
        let whole = whole as i32;
        whole
    }
}
