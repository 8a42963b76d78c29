//! Sample formats: the codes of bytes 3225-3226 and their conversion.

use super::{
    WordOrder,
    ibm::{f32_to_ibm, f64_to_ibm, ibm_to_f32, ibm_to_f64, normal_to_ibm},
    vector::{Loop, vectorised},
};

/// Format of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SampleFormat {
    /// Code 1: IBM System/360 single precision.
    Ibm,
    /// Code 2: signed 32-bit integers.
    I32,
    /// Code 3: signed 16-bit integers.
    I16,
    /// Code 5: IEEE single precision (revision 1).
    #[default]
    Ieee,
    /// Code 6: IEEE double precision (revision 2).
    F64,
    /// Code 7: signed 24-bit integers (revision 2).
    I24,
    /// Code 8: signed 8-bit integers (revision 1).
    I8,
    /// Code 9: signed 64-bit integers (revision 2).
    I64,
    /// Code 10: unsigned 32-bit integers (revision 2).
    U32,
    /// Code 11: unsigned 16-bit integers (revision 2).
    U16,
    /// Code 12: unsigned 64-bit integers (revision 2).
    U64,
    /// Code 15: unsigned 24-bit integers (revision 2).
    U24,
    /// Code 16: unsigned 8-bit integers (revision 2).
    U8,
}

/// What a sample format could not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Losses {
    /// Samples beyond the format's range, infinities included, written as its largest or smallest
    /// value (as infinity in IEEE singles).
    pub saturated: u64,
    /// Samples that are not a number, written as the largest IBM float or as integer 0.
    pub not_a_number: u64,
    /// Samples rounded to whole numbers for an integer format.
    pub rounded: u64,
}

impl Losses {
    /// Whether nothing was lost but digits.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.saturated += other.saturated;
        self.not_a_number += other.not_a_number;
        self.rounded += other.rounded;
    }
}

impl SampleFormat {
    /// All formats that are read and written; code 4, fixed point with gain, is obsolete since
    /// revision 1 and not among them.
    pub const ALL: [Self; 13] = [
        Self::Ibm,
        Self::I32,
        Self::I16,
        Self::Ieee,
        Self::F64,
        Self::I24,
        Self::I8,
        Self::I64,
        Self::U32,
        Self::U16,
        Self::U64,
        Self::U24,
        Self::U8,
    ];

    /// The format of a code, if it is one that is read.
    #[must_use]
    pub const fn from_code(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Ibm),
            2 => Some(Self::I32),
            3 => Some(Self::I16),
            5 => Some(Self::Ieee),
            6 => Some(Self::F64),
            7 => Some(Self::I24),
            8 => Some(Self::I8),
            9 => Some(Self::I64),
            10 => Some(Self::U32),
            11 => Some(Self::U16),
            12 => Some(Self::U64),
            15 => Some(Self::U24),
            16 => Some(Self::U8),
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
            Self::F64 => 6,
            Self::I24 => 7,
            Self::I8 => 8,
            Self::I64 => 9,
            Self::U32 => 10,
            Self::U16 => 11,
            Self::U64 => 12,
            Self::U24 => 15,
            Self::U8 => 16,
        }
    }

    /// Short name: ibm, f4, f8, i1, i2, i3, i4, i8, u1, u2, u3, u4, u8 (numbers of bytes).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ibm => "ibm",
            Self::Ieee => "f4",
            Self::F64 => "f8",
            Self::I8 => "i1",
            Self::I16 => "i2",
            Self::I24 => "i3",
            Self::I32 => "i4",
            Self::I64 => "i8",
            Self::U8 => "u1",
            Self::U16 => "u2",
            Self::U24 => "u3",
            Self::U32 => "u4",
            Self::U64 => "u8",
        }
    }

    /// The format of a short name; `ieee` is another one for `f4`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "ieee" { "f4" } else { name };
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Bytes of one sample.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I24 | Self::U24 => 3,
            Self::Ibm | Self::I32 | Self::Ieee | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// The first revision of the standard that has the format.
    #[must_use]
    pub const fn revision(self) -> u8 {
        match self {
            Self::Ibm | Self::I32 | Self::I16 => 0,
            Self::Ieee | Self::I8 => 1,
            _ => 2,
        }
    }

    /// Decodes to single precision, rounding to nearest; see [`super::ibm_to_f32`] for IBM floats.
    ///
    /// # Panics
    /// If `bytes` does not hold `out.len()` samples.
    pub fn decode(self, order: impl Into<WordOrder>, bytes: &[u8], out: &mut [f32]) {
        let order = order.into();
        self.check(bytes, out.len());
        #[expect(clippy::cast_possible_truncation, reason = "rounding to singles is documented")]
        match self {
            Self::Ieee => decode(order, bytes, out, |b| f32::from_bits(u32::from_be_bytes(b))),
            Self::Ibm => decode(order, bytes, out, |b| ibm_to_f32(u32::from_be_bytes(b))),
            Self::I32 => decode(order, bytes, out, |b| i32::from_be_bytes(b) as f32),
            Self::I16 => decode(order, bytes, out, |b| f32::from(i16::from_be_bytes(b))),
            Self::F64 => decode(order, bytes, out, |b| f64::from_be_bytes(b) as f32),
            Self::I24 => decode(order, bytes, out, |b| i24(b) as f32),
            Self::I8 => decode(order, bytes, out, |b| f32::from(i8::from_be_bytes(b))),
            Self::I64 => decode(order, bytes, out, |b| i64::from_be_bytes(b) as f32),
            Self::U32 => decode(order, bytes, out, |b| u32::from_be_bytes(b) as f32),
            Self::U16 => decode(order, bytes, out, |b| f32::from(u16::from_be_bytes(b))),
            Self::U64 => decode(order, bytes, out, |b| u64::from_be_bytes(b) as f32),
            Self::U24 => decode(order, bytes, out, |b| u24(b) as f32),
            Self::U8 => decode(order, bytes, out, |[b]| f32::from(b)),
        }
    }

    /// Decodes to double precision: exact but for 64-bit integers beyond 2^53.
    ///
    /// # Panics
    /// If `bytes` does not hold `out.len()` samples.
    pub fn decode_f64(self, order: impl Into<WordOrder>, bytes: &[u8], out: &mut [f64]) {
        let order = order.into();
        self.check(bytes, out.len());
        match self {
            Self::Ieee => decode(order, bytes, out, |b| f32::from_be_bytes(b).into()),
            Self::Ibm => decode(order, bytes, out, |b| ibm_to_f64(u32::from_be_bytes(b))),
            Self::I32 => decode(order, bytes, out, |b| i32::from_be_bytes(b).into()),
            Self::I16 => decode(order, bytes, out, |b| i16::from_be_bytes(b).into()),
            Self::F64 => decode(order, bytes, out, f64::from_be_bytes),
            Self::I24 => decode(order, bytes, out, |b| i24(b).into()),
            Self::I8 => decode(order, bytes, out, |b| i8::from_be_bytes(b).into()),
            Self::I64 => decode(order, bytes, out, |b| i64::from_be_bytes(b) as f64),
            Self::U32 => decode(order, bytes, out, |b| u32::from_be_bytes(b).into()),
            Self::U16 => decode(order, bytes, out, |b| u16::from_be_bytes(b).into()),
            Self::U64 => decode(order, bytes, out, |b| u64::from_be_bytes(b) as f64),
            Self::U24 => decode(order, bytes, out, |b| u24(b).into()),
            Self::U8 => decode(order, bytes, out, |[b]| b.into()),
        }
    }

    /// Encodes singles; what the format cannot hold is counted.
    ///
    /// IBM floats and integers round to nearest, ties to even.
    ///
    /// # Panics
    /// If `bytes` does not hold `samples.len()` samples.
    pub fn encode(self, order: impl Into<WordOrder>, samples: &[f32], bytes: &mut [u8]) -> Losses {
        let order = order.into();
        self.check(bytes, samples.len());
        match self {
            Self::Ieee => encode(order, samples, bytes, |v| v.to_bits().to_be_bytes()),
            Self::Ibm => {
                let mut any = false;
                let words = bytes.as_chunks_mut().0;
                vectorised(IbmEncoding { order, samples, words, any: &mut any });
                return if any { specials(samples) } else { Losses::default() };
            }
            Self::F64 => encode(order, samples, bytes, |v| f64::from(v).to_be_bytes()),
            _ => return self.encode_integers(order, samples, bytes),
        }
        Losses::default()
    }

    /// Encodes doubles; what the format cannot hold is counted. As [`SampleFormat::encode`].
    ///
    /// # Panics
    /// If `bytes` does not hold `samples.len()` samples.
    pub fn encode_f64(
        self,
        order: impl Into<WordOrder>,
        samples: &[f64],
        bytes: &mut [u8],
    ) -> Losses {
        let order = order.into();
        self.check(bytes, samples.len());
        let mut losses = Losses::default();
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "rounding to singles is asked for")]
            Self::Ieee => {
                encode(order, samples, bytes, |v| (v as f32).to_be_bytes());
                let beyond = |v: &&f64| v.is_finite() && (**v as f32).is_infinite();
                losses.saturated = samples.iter().filter(beyond).count() as u64;
            }
            Self::Ibm => {
                for (&value, word) in samples.iter().zip(bytes.as_chunks_mut::<4>().0) {
                    let (ibm, beyond) = f64_to_ibm(value);
                    *word = order.to_big(ibm.to_be_bytes());
                    losses.not_a_number += u64::from(value.is_nan());
                    losses.saturated += u64::from(beyond && !value.is_nan());
                }
            }
            Self::F64 => encode(order, samples, bytes, f64::to_be_bytes),
            _ => return self.encode_integers(order, samples, bytes),
        }
        losses
    }

    fn encode_integers<T: Copy + Into<f64>>(
        self,
        order: WordOrder,
        samples: &[T],
        bytes: &mut [u8],
    ) -> Losses {
        let mut losses = Losses::default();
        let bits = 8 * i32::try_from(self.bytes()).unwrap_or(0);
        let unsigned = matches!(self, Self::U8 | Self::U16 | Self::U24 | Self::U32 | Self::U64);
        let (low, end) = if unsigned {
            (0.0, f64::powi(2.0, bits))
        } else {
            (-f64::powi(2.0, bits - 1), f64::powi(2.0, bits - 1))
        };
        for (sample, to) in samples.iter().zip(bytes.chunks_exact_mut(self.bytes())) {
            let value: f64 = (*sample).into();
            let whole = value.round_ties_even();
            losses.not_a_number += u64::from(value.is_nan());
            losses.saturated += u64::from(whole < low || whole >= end);
            losses.rounded += u64::from(value - whole != 0.0 && value.is_finite());
            // The bounds are whole numbers of 128 bits; NaN becomes 0 by the conversion.
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let number = (whole as i128).clamp(low as i128, end as i128 - 1);
            let big = number.to_be_bytes();
            let word = &big[16 - self.bytes()..];
            match order {
                WordOrder::Big => to.copy_from_slice(word),
                WordOrder::Little => {
                    to.copy_from_slice(word);
                    to.reverse();
                }
                WordOrder::Pairwise => {
                    to.copy_from_slice(word);
                    to.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.reverse());
                }
            }
        }
        losses
    }

    fn check(self, bytes: &[u8], samples: usize) {
        assert_eq!(bytes.len(), samples * self.bytes(), "bytes of {samples} samples");
    }
}

fn i24([a, b, c]: [u8; 3]) -> i32 {
    // The sign comes down with the arithmetic shift.
    i32::from_be_bytes([a, b, c, 0]) >> 8
}

fn u24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

/// Infinities and NaN among singles.
fn specials(samples: &[f32]) -> Losses {
    let count = |wanted: fn(&&f32) -> bool| samples.iter().filter(wanted).count() as u64;
    Losses {
        saturated: count(|v| v.is_infinite()),
        not_a_number: count(|v| v.is_nan()),
        rounded: 0,
    }
}

struct Decoding<'a, const N: usize, T, F> {
    order: WordOrder,
    words: &'a [[u8; N]],
    out: &'a mut [T],
    convert: F,
}

impl<const N: usize, T, F: Fn([u8; N]) -> T> Loop for Decoding<'_, N, T, F> {
    #[inline(always)]
    fn run(self) {
        let Self { order, words, out, convert } = self;
        let pairs = out.iter_mut().zip(words);
        // One loop per order, so that none asks within.
        match order {
            WordOrder::Big => pairs.for_each(|(value, &word)| *value = convert(word)),
            WordOrder::Little => {
                pairs.for_each(|(value, &word)| *value = convert(WordOrder::Little.to_big(word)));
            }
            WordOrder::Pairwise => {
                pairs.for_each(|(value, &word)| *value = convert(WordOrder::Pairwise.to_big(word)));
            }
        }
    }
}

fn decode<const N: usize, T>(
    order: WordOrder,
    bytes: &[u8],
    out: &mut [T],
    convert: impl Fn([u8; N]) -> T,
) {
    vectorised(Decoding { order, words: bytes.as_chunks().0, out, convert });
}

struct Encoding<'a, const N: usize, T, F> {
    order: WordOrder,
    samples: &'a [T],
    words: &'a mut [[u8; N]],
    convert: F,
}

impl<const N: usize, T: Copy, F: Fn(T) -> [u8; N]> Loop for Encoding<'_, N, T, F> {
    #[inline(always)]
    fn run(self) {
        let Self { order, samples, words, convert } = self;
        let pairs = words.iter_mut().zip(samples);
        match order {
            WordOrder::Big => pairs.for_each(|(word, &value)| *word = convert(value)),
            WordOrder::Little => {
                pairs.for_each(|(word, &value)| *word = WordOrder::Little.to_big(convert(value)));
            }
            WordOrder::Pairwise => {
                pairs.for_each(|(word, &value)| *word = WordOrder::Pairwise.to_big(convert(value)));
            }
        }
    }
}

fn encode<const N: usize, T: Copy>(
    order: WordOrder,
    samples: &[T],
    bytes: &mut [u8],
    convert: impl Fn(T) -> [u8; N],
) {
    vectorised(Encoding { order, samples, words: bytes.as_chunks_mut().0, convert });
}

/// Singles that are encoded as IBM floats in one go.
const IBM_BLOCK: usize = 1024;

/// IBM floats; says whether there was anything infinite or no number.
struct IbmEncoding<'a> {
    order: WordOrder,
    samples: &'a [f32],
    words: &'a mut [[u8; 4]],
    any: &'a mut bool,
}

impl Loop for IbmEncoding<'_> {
    #[inline(always)]
    fn run(self) {
        let blocks = self.samples.chunks(IBM_BLOCK).zip(self.words.chunks_mut(IBM_BLOCK));
        for (samples, words) in blocks {
            // Zero and normal numbers are the rule; only the largest and the least that is not zero
            // need a look for that.
            let (mut most, mut least) = (0, u32::MAX);
            for (word, value) in words.iter_mut().zip(samples) {
                let bits = value.to_bits();
                let magnitude = bits & 0x7fff_ffff;
                most = most.max(magnitude);
                least = least.min(magnitude.wrapping_sub(1));
                *word = normal_to_ibm(bits).to_be_bytes();
            }
            let special = most >= 0x7f80_0000;
            if special || least < 0x007f_ffff {
                *self.any |= special;
                let pairs = words.iter_mut().zip(samples);
                pairs.for_each(|(word, &value)| *word = f32_to_ibm(value).to_be_bytes());
            }
            if self.order != WordOrder::Big {
                words.iter_mut().for_each(|word| *word = self.order.to_big(*word));
            }
        }
    }
}
