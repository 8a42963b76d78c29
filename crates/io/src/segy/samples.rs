//! Sample formats: the codes of bytes 3225-3226 and their decoding to single precision.

use crate::{ByteOrder, Element};

/// Format of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SampleFormat {
    /// Code 1: IBM System/360 single precision.
    Ibm,
    /// Code 2: signed 32-bit integers.
    I32,
    /// Code 3: signed 16-bit integers.
    I16,
    /// Code 5: IEEE single precision.
    Ieee,
    /// Code 8: signed 8-bit integers.
    I8,
}

impl SampleFormat {
    /// The format of a code, if it is one that is read.
    #[must_use]
    pub const fn from_code(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Ibm),
            2 => Some(Self::I32),
            3 => Some(Self::I16),
            5 => Some(Self::Ieee),
            8 => Some(Self::I8),
            _ => None,
        }
    }

    /// The standard's code.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Ibm => 1,
            Self::I32 => 2,
            Self::I16 => 3,
            Self::Ieee => 5,
            Self::I8 => 8,
        }
    }

    /// Bytes of one sample.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::I16 => 2,
            Self::Ibm | Self::I32 | Self::Ieee => 4,
        }
    }

    /// Decodes `bytes`, which hold `out.len()` samples.
    pub(super) fn decode(self, order: ByteOrder, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::Ieee => Element::F32.decode(order, bytes, out),
            Self::I32 => Element::I32.decode(order, bytes, out),
            Self::I16 => Element::I16.decode(order, bytes, out),
            Self::I8 => {
                for (value, &byte) in out.iter_mut().zip(bytes) {
                    *value = f32::from(byte.cast_signed());
                }
            }
            Self::Ibm => {
                let (words, _) = bytes.as_chunks::<4>();
                for (value, &word) in out.iter_mut().zip(words) {
                    *value = ibm_to_f32(match order {
                        ByteOrder::Big => u32::from_be_bytes(word),
                        ByteOrder::Little => u32::from_le_bytes(word),
                    });
                }
            }
        }
    }
}

/// Value of an IBM System/360 word: sign, exponent of 16 in excess 64, fraction of 24 bits.
///
/// Rounded to the nearest single; what is beyond its range becomes infinite, what is below it
/// subnormal or zero.
#[must_use]
pub fn ibm_to_f32(word: u32) -> f32 {
    let fraction = f64::from(word & 0x00ff_ffff);
    let exponent = 4 * (((word >> 24) & 0x7f).cast_signed() - 64) - 24;
    // |exponent| <= 280: both factors are exact doubles, so the only rounding is the last one.
    let magnitude = fraction * f64::powi(2.0, exponent);
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
    let magnitude = magnitude as f32;
    if word >> 31 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ibm_words_have_the_values_of_the_architecture() {
        // -118.625 is the standard example; the rest are powers of 16 and the range's ends.
        let cases = [
            (0xc276_a000, -118.625_f32),
            (0x4110_0000, 1.0),
            (0x4010_0000, 0.0625),
            (0x0000_0000, 0.0),
            (0x8000_0000, -0.0),
            (0x4080_0000, 0.5),
            (0x7fff_ffff, f32::INFINITY),
            // 0xffffff 2^-24 16^(0x20-64) = 2097151.875 2^-149: subnormal, rounds to 2^21 2^-149.
            (0x20ff_ffff, f32::from_bits(1 << 21)),
        ];
        for (word, value) in cases {
            assert_eq!(ibm_to_f32(word).to_bits(), value.to_bits(), "{word:#010x}");
        }
    }
}
