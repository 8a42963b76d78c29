//! IBM floats against exact arithmetic in whole numbers of 2^-280, worked out here anew.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::cmp::Ordering;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_io::segy::{SampleFormat, WordOrder, f32_to_ibm, f64_to_ibm, ibm_to_f32, ibm_to_f64};

/// A magnitude, whole times a power of two; whole is odd or zero, so that equal values are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Exact {
    whole: u64,
    power: i32,
}

impl Exact {
    fn new(whole: u64, power: i32) -> Self {
        if whole == 0 {
            return Self { whole, power: 0 };
        }
        let zeros = whole.trailing_zeros();
        Self { whole: whole >> zeros, power: power + zeros.cast_signed() }
    }

    /// Of an IBM word: fraction 2^-24 16^(e - 64).
    fn ibm(word: u32) -> Self {
        let exponent = ((word >> 24) & 0x7f).cast_signed();
        Self::new((word & 0x00ff_ffff).into(), 4 * (exponent - 64) - 24)
    }

    fn f64(value: f64) -> Self {
        let bits = value.to_bits();
        let (biased, fraction) =
            (i32::try_from(bits >> 52 & 0x7ff).unwrap(), bits & ((1 << 52) - 1));
        match biased {
            0 => Self::new(fraction, -1074),
            _ => Self::new(fraction | 1 << 52, biased - 1075),
        }
    }

    /// The nearest multiple of 2^power, ties to even, as that whole number; whole numbers beyond 64
    /// bits are given as the largest.
    fn rounded(self, power: i32) -> u64 {
        let shift = power - self.power;
        if shift <= 0 {
            return match u64::BITS.checked_sub(self.whole.leading_zeros()) {
                Some(bits) if bits.cast_signed() - shift <= 64 => self.whole << -shift,
                _ => u64::MAX,
            };
        }
        if shift > 64 {
            return 0;
        }
        let (whole, shift) = (u128::from(self.whole), shift.unsigned_abs());
        let (down, rest, half) =
            (whole >> shift, whole & ((1 << shift) - 1), 1_u128 << (shift - 1));
        let up = match rest.cmp(&half) {
            Ordering::Less => 0,
            Ordering::Equal => down & 1,
            Ordering::Greater => 1,
        };
        u64::try_from(down + up).unwrap()
    }

    /// Position of the highest bit: the value is in [2^n, 2^(n + 1)).
    fn log2(self) -> i32 {
        63 - self.whole.leading_zeros().cast_signed() + self.power
    }

    /// The nearest single, ties to even, as its bits.
    fn to_f32_bits(self) -> u32 {
        if self.whole == 0 {
            return 0;
        }
        let unit = (self.log2() - 23).max(-149);
        // A carry into the next binade is what the sum of exponent and fraction bits does anyway.
        let whole = self.rounded(unit);
        let bits = if self.log2() < -126 {
            whole
        } else {
            (u64::from((unit + 149).unsigned_abs()) << 23) + whole
        };
        u32::try_from(bits.min(0x7f80_0000)).unwrap()
    }

    /// The nearest normalised IBM word, ties to even, without sign: (word, beyond the range).
    fn to_ibm(self) -> (u32, bool) {
        if self.whole == 0 {
            return (0, false);
        }
        // The power of 16 above the value, so that the fraction is in [1/16, 1); at least 16^-64.
        let mut hex = (self.log2() + 1 + 3).div_euclid(4).max(-64);
        let mut fraction = self.rounded(4 * hex - 24);
        if fraction == 1 << 24 {
            (hex, fraction) = (hex + 1, 1 << 20);
        }
        if hex > 63 {
            return (0x7fff_ffff, true);
        }
        if fraction == 0 {
            return (0, false);
        }
        let word = u64::try_from(hex + 64).unwrap() << 24 | fraction;
        (u32::try_from(word).unwrap(), false)
    }
}

/// All exponents with the fractions at which something can change, and 10^6 words at random.
fn words() -> Vec<u32> {
    let fractions = [
        0, 1, 2, 3, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_ffff, 0xff_fffe, 0x10_0000, 0x0f_ffff,
        0x20_0000, 0x1f_ffff, 0x40_0000, 0x3f_ffff, 0x76_a000, 0xff_fff8, 0x7f_fff8, 0x7f_fffc,
    ];
    let mut words: Vec<u32> =
        (0..0x100).flat_map(|top| fractions.map(|fraction| top << 24 | fraction)).collect();
    let mut random = ChaCha8Rng::seed_from_u64(370);
    words.extend((0..1_000_000).map(|_| random.random::<u32>()));
    words
}

#[test]
fn ibm_words_become_the_nearest_single_and_the_equal_double() {
    for word in words() {
        let exact = Exact::ibm(word);
        let sign = word & 0x8000_0000;
        let wanted = exact.to_f32_bits() | sign;
        assert_eq!(ibm_to_f32(word).to_bits(), wanted, "{word:#010x}");
        let double = ibm_to_f64(word);
        assert_eq!(Exact::f64(double), exact, "{word:#010x}");
        assert_eq!(double.is_sign_negative(), sign != 0, "{word:#010x}");
    }
}

#[test]
fn singles_become_the_nearest_ibm_word() {
    let edges = [
        0.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::EPSILON,
        1.0,
        0.1,
        118.625,
        0.5,
        0.0625,
        16.0,
        256.0,
    ];
    let near = edges.map(f32::to_bits).into_iter().flat_map(|b| [b, b + 1, b.saturating_sub(1)]);
    // Every exponent with fractions whose last bits are halfway for one, two or three lost bits.
    let halfway = (0..0xff_u32)
        .flat_map(|e| (0..16).flat_map(move |low| [e << 23 | low, e << 23 | 0x7f_fff0 | low]));
    let values = near.chain(halfway).flat_map(|bits| [bits, bits | 0x8000_0000]).chain(words());
    for value in values.map(f32::from_bits).filter(|v| v.is_finite()) {
        let sign = value.to_bits() & 0x8000_0000;
        let (wanted, beyond) = Exact::f64(value.into()).to_ibm();
        assert!(!beyond, "{value:e}: every single is within the range");
        assert_eq!(f32_to_ibm(value), wanted | sign, "{value:e}");
        assert_eq!(f64_to_ibm(value.into()), (wanted | sign, false), "{value:e}");
    }
    for (value, word) in [
        (f32::INFINITY, 0x7fff_ffff),
        (f32::NEG_INFINITY, 0xffff_ffff),
        (f32::NAN, 0x7fff_ffff),
        (-f32::NAN, 0xffff_ffff),
        (-0.0, 0x8000_0000),
    ] {
        assert_eq!(f32_to_ibm(value), word, "{value}");
    }
}

#[test]
fn doubles_become_the_nearest_ibm_word_over_the_whole_range() {
    let mut random = ChaCha8Rng::seed_from_u64(64);
    let check = |bits: u64| {
        let value = f64::from_bits(bits);
        if value.is_nan() {
            return;
        }
        let (wanted, beyond) = match value.is_infinite() {
            true => (0x7fff_ffff, true),
            false => Exact::f64(value).to_ibm(),
        };
        let sign = u32::from(value.is_sign_negative()) << 31;
        assert_eq!(f64_to_ibm(value), (wanted | sign, beyond), "{value:e}");
    };
    // Halves of the last place around every power of two, below and above IBM's range too.
    for exponent in 0..0x7ff_u64 {
        for low in
            [0, 1, 1 << 27, 1 << 28, 3 << 27, (1 << 28) - 1, (1 << 28) + 1, 0xf_ffff_ffff_ffff]
        {
            check(exponent << 52 | low);
            check(1 << 63 | exponent << 52 | low);
            check(exponent << 52 | 0xf_ffff_f000_0000 | low & 0xfff_ffff);
        }
    }
    for _ in 0..1_000_000 {
        check(random.random());
        // Within IBM's range, 2^-280 to 2^252.
        check((1023 - 282 + random.random_range(0..540)) << 52 | random.random::<u64>() >> 12);
    }
}

#[test]
fn normalised_words_survive_singles_and_doubles() {
    for word in words() {
        let normalised = word & 0x00f0_0000 != 0;
        // Zero keeps its sign only; a single's range is 2^-126 to 2^128.
        if word & 0x00ff_ffff == 0 || !normalised {
            continue;
        }
        assert_eq!(f64_to_ibm(ibm_to_f64(word)), (word, false), "{word:#010x}");
        let single = ibm_to_f32(word);
        if single.is_normal() {
            assert_eq!(f32_to_ibm(single), word, "{word:#010x}");
        }
    }
}

#[test]
fn whole_traces_are_converted_as_single_words_are_and_losses_are_counted() {
    // Vector loops have tails: all lengths up to several vectors.
    let words = words();
    for order in WordOrder::ALL {
        for length in (0..70).chain([4096, 4099]) {
            let part = &words[10_000..10_000 + length];
            let bytes: Vec<u8> = part.iter().flat_map(|w| order.to_big(w.to_be_bytes())).collect();
            let mut samples = vec![0.0_f32; length];
            SampleFormat::Ibm.decode(order, &bytes, &mut samples);
            for (sample, &word) in samples.iter().zip(part) {
                assert_eq!(sample.to_bits(), ibm_to_f32(word).to_bits());
            }
            let values: Vec<f32> = part.iter().map(|&w| f32::from_bits(w)).collect();
            let mut out = vec![0; 4 * length];
            let losses = SampleFormat::Ibm.encode(order, &values, &mut out);
            for (word, value) in out.as_chunks::<4>().0.iter().zip(&values) {
                assert_eq!(u32::from_be_bytes(order.to_big(*word)), f32_to_ibm(*value));
            }
            let count = |wanted: fn(&&f32) -> bool| values.iter().filter(wanted).count() as u64;
            assert_eq!(losses.saturated, count(|v| v.is_infinite()));
            assert_eq!(losses.not_a_number, count(|v| v.is_nan()));
        }
    }
    let mut out = [0; 16];
    let losses =
        SampleFormat::Ibm.encode_f64(WordOrder::Big, &[1e76, -1e300, f64::NAN, 7.2e75], &mut out);
    assert_eq!((losses.saturated, losses.not_a_number), (2, 1));
    assert_eq!(out[..12], [0x7f, 255, 255, 255, 255, 255, 255, 255, 0x7f, 255, 255, 255]);
}
