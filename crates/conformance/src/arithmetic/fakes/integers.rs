//! Weights as integers times one scale, by a search that shares nothing with `temblor-physics`.

/// Integers `n_0..n_R` with `n_0 = -2 sum n_r` and the scale that gives them a unit second moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Integers {
    pub(super) values: Vec<i64>,
    pub(super) scale: f64,
    digits: u8,
}

impl Integers {
    /// The nearest to weights for unit spacing that `digits` balanced bytes hold.
    pub(super) fn of(weights: &[f64], digits: u8) -> Self {
        const TRIED: i64 = 8192;
        let most = 127 * (256_i64.pow(u32::from(digits)) - 1) / 255;
        // A centre of -128 in the last digit is one more than a positive weight may be.
        let even = most + 1 - (most + 1) % 2;
        let tried = (0..TRIED).map(|n| even - 2 * n).take_while(|n| 2 * n > most);
        let all = tried.map(|centre| Self::with_centre(weights, centre, digits));
        let error = |one: &Self| -> f64 {
            one.weights().iter().zip(weights).map(|(a, b)| (a - b).powi(2)).sum()
        };
        all.min_by(|a, b| error(a).total_cmp(&error(b))).expect("at least one centre is tried")
    }

    /// Weights rounded one by one: neither sum nor moment is kept.
    pub(super) fn rounded(weights: &[f64], digits: u8) -> Self {
        let most = 127 * (256_i64.pow(u32::from(digits)) - 1) / 255;
        let values = weights.iter().map(|w| nearest(-w / weights[0] * most as f64)).collect();
        Self { values, scale: -weights[0] / most as f64, digits }
    }

    fn with_centre(weights: &[f64], centre: i64, digits: u8) -> Self {
        let wanted: Vec<f64> =
            weights[1..].iter().map(|w| -w / weights[0] * centre as f64).collect();
        let mut arms: Vec<i64> = wanted.iter().map(|w| nearest(*w)).collect();
        // Mended where it costs least, until the weights sum to zero.
        loop {
            let missing = centre / 2 - arms.iter().sum::<i64>();
            if missing == 0 {
                break;
            }
            let cost = |n: usize| (arms[n] as f64 + missing.signum() as f64 - wanted[n]).abs();
            let best = (0..arms.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
            arms[best.expect("a stencil has arms")] += missing.signum();
        }
        let moment: i64 = (1..).zip(&arms).map(|(r, n): (i64, &i64)| r * r * n).sum();
        let mut values = vec![-centre];
        values.extend(arms);
        Self { values, scale: 1.0 / moment as f64, digits }
    }

    pub(super) fn weights(&self) -> Vec<f64> {
        self.values.iter().map(|n| *n as f64 * self.scale).collect()
    }

    /// Digit `a`, the most significant first.
    pub(super) fn digit(&self, a: u8) -> impl Iterator<Item = f64> {
        let place = self.digits - 1 - a;
        self.values.iter().map(move |n| digit(*n, place) as f64)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights times a centre below 2^24")]
fn nearest(value: f64) -> i64 {
    value.round_ties_even() as i64
}

/// The balanced signed byte of an integer at a place, 0 the least significant.
pub(super) fn digit(value: i64, place: u8) -> i64 {
    let mut rest = value;
    for _ in 0..place {
        rest = (rest - balanced(rest)) / 256;
    }
    balanced(rest)
}

fn balanced(value: i64) -> i64 {
    (value + 128).rem_euclid(256) - 128
}

#[cfg(test)]
mod tests {
    use super::*;
    use temblor_physics::Operator;

    #[test]
    fn two_digits_hold_order_8_exactly() {
        let weights = Operator::Direct { order: 8 }.second_derivative();
        let found = Integers::of(&weights, 2);
        let factor = found.values[4] / -9;
        let exact = [-14350, 8064, -1008, 128, -9].map(|n| n * factor);
        assert_eq!(found.values, exact);
    }

    #[test]
    fn digits_are_signed_bytes_that_add_up() {
        for value in [-8_323_199, -32_640, -129, -128, 0, 127, 128, 32_639, 8_355_711] {
            let all = [0, 1, 2].map(|place| digit(value, place));
            assert!(all.iter().all(|d| (-128..=127).contains(d)), "{value}: {all:?}");
            assert_eq!(all[0] + 256 * all[1] + 65536 * all[2], value);
        }
    }
}
