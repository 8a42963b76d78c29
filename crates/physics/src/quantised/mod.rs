//! Operators whose weights are integers of one to three signed digits times one real scale, and the
//! error that digits leave in the Laplacian.
//!
//! `w_r = s n_r` with `n_0 = -2 sum n_r`, so that constants vanish exactly, and `s = 1 / sum r^2 n_r`, so
//! that the second moment is one: both constraints hold for the quantised operator by construction. What
//! is left to choose is which integers, and those with the least error of the weights are searched for.
//! Central differences are rational: order 8 is -14350, 8064, -1008, 128, -9 over 5040, so two digits
//! hold it exactly.
//!
//! Digits are balanced bytes -128..=127 of radix 256, most significant first (Ozaki et al. 2012, Numer.
//! Algorithms 59, 95-118, slice floating-point numbers in the same spirit).

mod slicing;

pub use slicing::{
    LARGEST_EXPONENT, LEAST_EXPONENT, Slicing, TileScale, exponent, largest_integer,
};

use crate::{Digits, Error, Operator, Result, dispersion};

/// How weights become integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantisation {
    /// Under both constraints, least error of the weights, real scale. The one to use.
    Refitted,
    /// Each weight rounded by itself, scaled so that the largest fits: what a test must catch.
    Rounded,
    /// Zero sum, but the scale a power of two: what a test must catch.
    PowerOfTwo,
}

/// Weights of a second derivative as integers times a scale.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantisedOperator {
    /// Digits that every integer fits, 1 to 3.
    pub digits: u8,
    /// Weights over the scale, centre first; length radius + 1.
    pub integers: Vec<i32>,
    /// What integers are multiplied by, for unit spacing.
    pub scale: f64,
    /// Relative error of the weights, in the mean square over all taps of an axis.
    pub error: f64,
}

/// Candidates of the centre weight that are tried. All there are with up to two digits; with three, the
/// largest ones hold one that is a multiple of any small denominator, such as 5040 / 2.
const MOST_CANDIDATES: i32 = 1 << 15;

/// Rounding of a combination in single precision.
const SINGLE: f64 = 6e-8;

impl QuantisedOperator {
    /// The operator with the least error of its weights in `digits` digits.
    ///
    /// # Errors
    /// As [`Operator::check`] and [`Digits::check`]; and if no integers of so few digits make a
    /// second derivative.
    pub fn new(operator: &Operator, digits: u8) -> Result<Self> {
        Self::with(operator, digits, Quantisation::Refitted)
    }

    /// The same, quantised in a manner of choice.
    ///
    /// # Errors
    /// As [`QuantisedOperator::new`].
    pub fn with(operator: &Operator, digits: u8, how: Quantisation) -> Result<Self> {
        operator.check()?;
        Digits::new(crate::DigitKind::Int8, digits, 1).check()?;
        let weights = operator.second_derivative();
        let most = largest_integer(digits);
        let found = match how {
            Quantisation::Refitted => search(&weights, most),
            Quantisation::Rounded => {
                let scale = weights[0].abs() / f64::from(most);
                Some((weights.iter().map(|w| round(w / scale)).collect(), scale))
            }
            Quantisation::PowerOfTwo => {
                let scale = (weights[0].abs() / f64::from(most)).log2().ceil().exp2();
                let sides: Vec<_> = weights[1..].iter().map(|w| round(w / scale)).collect();
                balanced(&sides, most).map(|integers| (integers, scale))
            }
        };
        let (integers, scale) = found.ok_or_else(|| {
            let remedy = "no integers of so few digits make a second derivative: take one more";
            Error::invalid("digits of the operator", digits, remedy)
        })?;
        let error = error_of(&weights, &integers, scale);
        Ok(Self { digits, integers, scale, error })
    }

    /// Digit `a` of all integers, 0 the most significant.
    ///
    /// # Panics
    /// If there is no such digit.
    #[must_use]
    pub fn digit(&self, a: u8) -> Vec<i8> {
        assert!(a < self.digits, "digit {a} of {}", self.digits);
        self.integers.iter().map(|&n| digit_of(n, a, self.digits)).collect()
    }

    /// Weights for unit spacing, centre first.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        self.integers.iter().map(|&n| f64::from(n) * self.scale).collect()
    }

    /// Symbol for unit spacing at `angle` = k h; about `-angle^2`.
    #[must_use]
    pub fn symbol(&self, angle: f64) -> f64 {
        dispersion::symbol_of(&self.weights(), angle)
    }

    /// Relative error of the Laplacian, root mean square, of white data that is uniform up to a peak
    /// of half of what its tile's exponent holds, the worst there is: from the weights, the slicing,
    /// the products that `digits` drops, and single precision.
    ///
    /// Errors of smooth data are larger in the measure in which its Laplacian is smaller than that of
    /// white data.
    #[must_use]
    pub fn predicted_error(&self, digits: Digits) -> f64 {
        let w = digits.wavefield;
        let norm = |of: &dyn Fn(i32) -> f64| {
            let square = |n: &i32| of(*n).powi(2);
            let sides: f64 = self.integers[1..].iter().map(square).sum();
            (square(&self.integers[0]) + 2.0 * sides).sqrt()
        };
        let whole = norm(&f64::from);
        // Uniform in +-2^(E-1): in units of 2^E its root mean square is 1 / sqrt(12).
        let rms = 1.0 / 12_f64.sqrt();
        // 1 / sqrt(12) of a unit of the last digit.
        let slicing = (1.0 - 8.0 * f64::from(w)).exp2();
        let mut square = self.error.powi(2) + slicing.powi(2) + SINGLE.powi(2);
        for b in 0..w {
            // A digit is uniform over a byte, but for the first: it is over half of one.
            let digit = if b == 0 { 0.5 * rms } else { rms } * 256.0;
            let value = digit * (-7.0 - 8.0 * f64::from(b)).exp2();
            let dropped = |n: i32| {
                let kept = |a: u8| digits.pairs().any(|pair| pair == (a, b));
                (0..self.digits)
                    .filter(|&a| !kept(a))
                    .map(|a| {
                        let place = f64::from(1_u32 << (8 * (self.digits - 1 - a)));
                        f64::from(digit_of(n, a, self.digits)) * place
                    })
                    .sum()
            };
            square += (norm(&dropped) / whole * value / rms).powi(2);
        }
        square.sqrt()
    }

    /// The same, not passed in any number of dimensions nor by adaptive digits.
    #[must_use]
    pub fn largest_error(&self, digits: Digits) -> f64 {
        // Centres of three axes add up and sides do not: up to sqrt(3). A tile's digits are cut where
        // the root mean square of what is left is `adaptive` bits below its own; the Laplacian of that has up to
        // four times its part of the whole.
        let adaptive = match digits.adaptive {
            0 => 0.0,
            bits => 4.0 * (-f64::from(bits)).exp2(),
        };
        (3_f64.sqrt() * self.predicted_error(digits)).max(adaptive)
    }

    /// The most diagonals of products that can be dropped with a [`QuantisedOperator::largest_error`] of at most
    /// `budget`, a fraction; never all.
    ///
    /// # Errors
    /// If nothing may be dropped and the error is still larger, with the error there is.
    pub fn trim_for(&self, digits: Digits, budget: f64) -> Result<u8> {
        let error = |trim| self.largest_error(Digits { trim, ..digits });
        let most = digits.operator + digits.wavefield - 2;
        (0..=most).rev().find(|&trim| error(trim) <= budget).ok_or_else(|| {
            let remedy = format!(
                "{}x{} digits leave up to {:.1e} with all products: the nearest, or take more digits",
                digits.operator,
                digits.wavefield,
                error(0)
            );
            Error::invalid("error budget of the Laplacian", budget, remedy)
        })
    }
}

/// Digit `a` of `digits` of an integer.
fn digit_of(n: i32, a: u8, digits: u8) -> i8 {
    // With 128 added at every place all digits are bytes without a sign.
    let bias = 0x0080_8080 >> (8 * (3 - digits));
    let byte = (n + bias) >> (8 * (digits - 1 - a)) & 0xff;
    i8::try_from(byte - 128).expect("a byte less 128 is a signed byte")
}

#[expect(clippy::cast_possible_truncation, reason = "weights over their scale are below 2^23")]
fn round(value: f64) -> i32 {
    value.round_ties_even() as i32
}

/// Least integer of digits whose largest is `most`: all digits -128.
const fn least_integer(most: i32) -> i32 {
    -(most / 127 * 128)
}

/// Integers with their centre, if it fits.
fn balanced(sides: &[i32], most: i32) -> Option<Vec<i32>> {
    let centre = -2 * sides.iter().sum::<i32>();
    let fits =
        sides.iter().all(|n| n.abs() <= most) && (least_integer(most)..=most).contains(&centre);
    fits.then(|| std::iter::once(centre).chain(sides.iter().copied()).collect())
}

/// The real scale that makes the second moment one.
fn unit_scale(integers: &[i32]) -> Option<f64> {
    let moment: i64 =
        integers.iter().enumerate().map(|(r, &n)| (r * r) as i64 * i64::from(n)).sum();
    (moment > 0).then(|| 1.0 / moment as f64)
}

/// Relative error of weights in the mean square, of an axis's taps.
fn error_of(weights: &[f64], integers: &[i32], scale: f64) -> f64 {
    let taps = |r: usize| if r == 0 { 1.0 } else { 2.0 };
    let (mut off, mut all) = (0.0, 0.0);
    for (r, (w, &n)) in weights.iter().zip(integers).enumerate() {
        off += taps(r) * (f64::from(n) * scale - w).powi(2);
        all += taps(r) * w.powi(2);
    }
    (off / all).sqrt()
}

/// Error, integers and scale of a candidate.
type Candidate = (f64, Vec<i32>, f64);

/// The best candidate that differs by one in one weight.
fn beside(sides: &[i32], scored: &dyn Fn(&[i32]) -> Option<Candidate>) -> Option<Candidate> {
    let all = (0..sides.len()).flat_map(|r| [(r, -1), (r, 1)]).filter_map(|(r, step)| {
        let mut sides = sides.to_vec();
        sides[r] += step;
        scored(&sides)
    });
    all.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Integers under both constraints with the least error.
fn search(weights: &[f64], most: i32) -> Option<(Vec<i32>, f64)> {
    let scored = |sides: &[i32]| {
        let integers = balanced(sides, most)?;
        let scale = unit_scale(&integers)?;
        let error = error_of(weights, &integers, scale);
        Some((error, integers, scale))
    };
    let mut best: Option<Candidate> = None;
    // The centre is negative and even; each candidate scales the other weights. One digit's -128
    // matters: no other centre of order 8 is as good.
    let top = -least_integer(most);
    let top = top - top % 2;
    for centre in ((top - 2 * MOST_CANDIDATES).max(2)..=top).rev().step_by(2) {
        let unit = f64::from(centre) / weights[0].abs();
        let sides: Vec<_> = weights[1..].iter().map(|w| round(w * unit)).collect();
        let Some(mut here) = scored(&sides) else { continue };
        // Few digits leave few candidates: those beside each are worth a look. With more, rounding
        // errors are small and the next candidate is as good as a neighbour.
        if most < 256 {
            while let Some(better) = beside(&here.1[1..], &scored).filter(|b| b.0 < here.0) {
                here = better;
            }
        }
        // Errors of exact weights differ by rounding alone: the first is kept.
        if best.as_ref().is_none_or(|best| here.0 < best.0 - 1e-15) {
            best = Some(here);
        }
    }
    best.map(|(_, integers, scale)| (integers, scale))
}

#[cfg(test)]
mod tests;
