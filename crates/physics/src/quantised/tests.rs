use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{Criterion, DigitKind, Fit};

fn direct(order: usize) -> Operator {
    Operator::Direct { order }
}

fn int8(operator: u8, wavefield: u8) -> Digits {
    Digits::new(DigitKind::Int8, operator, wavefield)
}

/// Operators of every kind and radius.
fn operators() -> Vec<Operator> {
    let mut all: Vec<_> = (2..=16).step_by(2).map(direct).collect();
    for radius in 2..=4 {
        for criterion in Criterion::ALL {
            let fit = Fit::of_space(radius, criterion, 5.0);
            all.extend([fit, fit.with_time(0.3, 2.0, 3)].map(Operator::Fitted));
        }
        all.push(Operator::Implicit { radius });
    }
    all
}

#[test]
fn sum_is_zero_and_second_moment_one_for_every_operator_and_count_of_digits() {
    for operator in operators() {
        for digits in 1..=3 {
            let quantised = QuantisedOperator::new(&operator, digits).unwrap();
            let n = &quantised.integers;
            assert_eq!(n.len(), operator.radius() + 1);
            assert_eq!(n[0] + 2 * n[1..].iter().sum::<i32>(), 0, "{operator:?} {digits}");
            let weights = quantised.weights();
            let moment: f64 = weights.iter().enumerate().map(|(r, w)| (r * r) as f64 * w).sum();
            assert!((moment - 1.0).abs() < 1e-12, "{operator:?} {digits}: {moment}");
            for (r, &n) in n.iter().enumerate() {
                let whole =
                    (0..digits).fold(0, |sum, a| 256 * sum + i32::from(quantised.digit(a)[r]));
                assert_eq!(whole, n, "{operator:?} {digits}");
            }
        }
    }
}

#[test]
fn two_digits_hold_order_eight_exactly() {
    let quantised = QuantisedOperator::new(&direct(8), 2).unwrap();
    let unit = quantised.integers[4] / -9;
    assert_eq!(quantised.integers, [-14350, 8064, -1008, 128, -9].map(|n| n * unit));
    for (got, want) in quantised.weights().iter().zip(direct(8).second_derivative()) {
        assert!((got - want).abs() <= 4.0 * f64::EPSILON, "{got} {want}");
    }
}

#[test]
fn phase_velocity_of_quantised_weights_follows_their_symbol_and_tends_to_the_wave_speed() {
    for operator in operators() {
        for digits in 1..=3 {
            let quantised = QuantisedOperator::new(&operator, digits).unwrap();
            let wave = |x: f64, angle: f64| (angle * x).cos();
            for angle in [1e-3, 0.3, 0.8] {
                // The operator applied to cos(angle x) at x = 0.2, not by its symbol.
                let x = 0.2;
                let applied: f64 = quantised
                    .weights()
                    .iter()
                    .enumerate()
                    .map(|(r, w)| {
                        let r = r as f64;
                        let beside = wave(x - r, angle) + wave(x + r, angle);
                        0.5 * if r > 0.0 { 2.0 } else { 1.0 } * w * beside
                    })
                    .sum();
                let symbol = quantised.symbol(angle);
                // Differences of cosines near one lose what angle^2 is below one.
                assert!((applied / wave(x, angle) - symbol).abs() < 1e-14, "{operator:?}");
                let velocity = (-symbol).sqrt() / angle;
                // The fourth moment is off by the weights' error at most.
                let bound = 1e-10 + 0.5 * angle.powi(2);
                assert!(
                    (velocity - 1.0).abs() < bound,
                    "{operator:?} {digits} {angle}: {velocity}"
                );
            }
        }
    }
}

/// Shape of the fields that operators are applied to.
const SHAPE: [usize; 3] = [22, 18, 26];

/// Value at a node.
type Data = Vec<f32>;

fn at([i, j, k]: [usize; 3]) -> usize {
    (i * SHAPE[1] + j) * SHAPE[2] + k
}

/// Uniform in [-1, 1], in all bits of a single.
#[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
fn uniform() -> Data {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    (0..SHAPE.iter().product()).map(|_| rng.random_range(-1.0..1.0_f64) as f32).collect()
}

/// Plane waves of 8 points per wavelength along axes and diagonals.
#[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
fn smooth() -> Data {
    let k = std::f64::consts::TAU / 8.0;
    let directions = [[1.0, 0.0, 0.0], [0.0, 0.8, 0.6], [0.6, 0.0, -0.8], [0.48, 0.6, 0.64]];
    let mut data = vec![0.0; SHAPE.iter().product()];
    for i in 0..SHAPE[0] {
        for j in 0..SHAPE[1] {
            for l in 0..SHAPE[2] {
                let wave = |(n, d): (usize, &[f64; 3])| {
                    let phase = d[0] * i as f64 + d[1] * j as f64 + d[2] * l as f64;
                    (k * phase + 1.7 * n as f64).sin()
                };
                data[at([i, j, l])] =
                    (0.25 * directions.iter().enumerate().map(wave).sum::<f64>()) as f32;
            }
        }
    }
    data
}

/// Laplacians of inner nodes from values of type f64, weights by distance.
fn laplacian(
    radius: usize,
    weight: impl Fn(usize) -> f64,
    value: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let mut all = Vec::new();
    for i in radius..SHAPE[0] - radius {
        for j in radius..SHAPE[1] - radius {
            for k in radius..SHAPE[2] - radius {
                let mut sum = 3.0 * weight(0) * value(at([i, j, k]));
                for axis in 0..3 {
                    for r in 1..=radius {
                        let (mut low, mut high) = ([i, j, k], [i, j, k]);
                        low[axis] -= r;
                        high[axis] += r;
                        sum += weight(r) * (value(at(low)) + value(at(high)));
                    }
                }
                all.push(sum);
            }
        }
    }
    all
}

/// Relative error of the Laplacian by digits, root mean square; all products are taken in integers.
fn error(data: &Data, how: Quantisation, slicing: Slicing, a: u8, w: u8) -> f64 {
    let operator = direct(8);
    let quantised = QuantisedOperator::with(&operator, a, how).unwrap();
    let exact = operator.second_derivative();
    let want = laplacian(4, |r| exact[r], |n| f64::from(data[n]));
    let peak = data.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let TileScale::Exponent(exponent) = exponent(peak, w) else { panic!("{peak}") };
    let integers: Vec<_> =
        data.iter().map(|&v| f64::from(slicing.integer(v, exponent, w))).collect();
    // Sums of products stay below 2^53.
    let sums = laplacian(4, |r| f64::from(quantised.integers[r]), |n| integers[n]);
    let unit = quantised.scale * f64::from(exponent + 1 - 8 * i32::from(w)).exp2();
    let square = |v: f64| v * v;
    let off: f64 = sums.iter().zip(&want).map(|(s, w)| square(s * unit - w)).sum();
    (off / want.iter().map(|&w| square(w)).sum::<f64>()).sqrt()
}

/// (operator, wavefield) digits, bound for uniform data, bound for 8 points per wavelength.
const TABLE: [(u8, u8, f64, f64); 5] = [
    (1, 1, 1e-2, 3e-1),
    (1, 2, 4e-3, 1e-2),
    (2, 2, 4e-5, 1.2e-3),
    (2, 3, 5e-7, 5e-6),
    (3, 3, 5e-7, 5e-6),
];

#[test]
fn digits_reach_the_accuracy_of_their_count() {
    let (uniform, smooth) = (uniform(), smooth());
    for (a, w, white, waves) in TABLE {
        for (data, bound) in [(&uniform, white), (&smooth, waves)] {
            let got = error(data, Quantisation::Refitted, Slicing::Nearest, a, w);
            assert!(got <= bound, "({a},{w}): {got:.2e} above {bound:.1e}");
        }
    }
}

/// Rows of the table that a manner fails: for uniform data, for 8 points per wavelength.
fn failures(how: Quantisation, slicing: Slicing) -> [Vec<(u8, u8)>; 2] {
    [(uniform(), 0), (smooth(), 1)].map(|(data, which)| {
        let failed = |&&(a, w, white, waves): &&(u8, u8, f64, f64)| {
            error(&data, how, slicing, a, w) > [white, waves][which]
        };
        TABLE.iter().filter(failed).map(|&(a, w, ..)| (a, w)).collect()
    })
}

/// Truncation doubles the error of slicing, which is most of it where the operator has enough digits.
#[test]
fn truncated_slices_fail_where_slicing_is_what_counts() {
    let [white, _] = failures(Quantisation::Refitted, Slicing::Truncated);
    assert_eq!(white, [(1, 1), (2, 2)]);
}

/// The second moment is then off by up to the weights' rounding, whatever the wavefield's digits.
#[test]
fn a_power_of_two_scale_fails_where_the_operator_is_what_counts() {
    let [white, waves] = failures(Quantisation::PowerOfTwo, Slicing::Nearest);
    assert_eq!(white, [(1, 1), (1, 2), (2, 3)]);
    assert_eq!(waves, [(1, 2), (2, 3)]);
}

/// White data hides what smooth data shows: neither zero sum nor unit second moment.
#[test]
fn weights_that_are_not_refitted_fail_where_the_operator_is_what_counts() {
    let [white, waves] = failures(Quantisation::Rounded, Slicing::Nearest);
    assert_eq!(white, [(2, 3)]);
    assert_eq!(waves, [(1, 2), (2, 3)]);
}

#[test]
fn the_predicted_error_is_the_measured_one_within_its_dimensions() {
    let data = uniform();
    for (a, w) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)] {
        let got = error(&data, Quantisation::Refitted, Slicing::Nearest, a, w);
        let quantised = QuantisedOperator::new(&direct(8), a).unwrap();
        let predicted = quantised.predicted_error(int8(a, w));
        // In three dimensions centres add up and sides do not: factors between 1 / sqrt(3) and sqrt(3).
        let ratio = got / predicted;
        assert!((0.57..1.74).contains(&ratio), "({a},{w}): {got:.2e}, predicted {predicted:.2e}");
    }
}

#[test]
fn dropped_products_are_within_the_budget_and_never_all() {
    let quantised = QuantisedOperator::new(&direct(8), 2).unwrap();
    let mut before = 0;
    for budget in [3e-7, 1e-6, 7e-5, 1e-2, 1.0, f64::INFINITY] {
        let trim = quantised.trim_for(int8(2, 3), budget).unwrap();
        let digits = Digits { trim, ..int8(2, 3) };
        assert!(quantised.largest_error(digits) <= budget);
        assert!(trim >= before && digits.pairs().next().is_some(), "{budget}: {trim}");
        before = trim;
    }
    assert_eq!(before, 3);
    let message = quantised.trim_for(int8(2, 2), 1e-6).unwrap_err().to_string();
    assert!(message.contains("2x2 digits leave up to 5.3e-5"), "{message}");
}

#[test]
fn the_error_of_dropped_products_is_the_measured_one() {
    let data = uniform();
    let quantised = QuantisedOperator::new(&direct(8), 2).unwrap();
    let full = laplacian(4, |r| f64::from(quantised.integers[r]), |n| f64::from(data[n]));
    let digit =
        |n: usize, b: u8| f64::from(digit_of(Slicing::Nearest.integer(data[n], 1, 3), b, 3));
    for trim in 1..=3 {
        let digits = Digits { trim, ..int8(2, 3) };
        let mut sums = vec![0.0; full.len()];
        for (a, b) in digits.pairs() {
            let weights = quantised.digit(a);
            let place = 256_f64.powi(i32::from(1 - a) + i32::from(2 - b)) * (-22_f64).exp2();
            let part = laplacian(4, |r| f64::from(weights[r]), |n| digit(n, b));
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += place * part);
        }
        let square = |v: f64| v * v;
        let off: f64 = sums.iter().zip(&full).map(|(s, f)| square(s - f)).sum();
        let got = (off / full.iter().map(|&f| square(f)).sum::<f64>()).sqrt();
        let ratio = got / quantised.predicted_error(digits);
        assert!((0.57..1.74).contains(&ratio), "trim {trim}: {got:.2e}, ratio {ratio}");
    }
}

#[test]
fn the_exponent_is_the_least_with_which_nothing_overflows() {
    for w in 1..=3 {
        let most = largest_integer(w);
        for peak in [1.0, 0.99, 0.9922, 0.996, 0.9961, 127.4, 127.6, 3e-30, 7e30, 1e-36] {
            for peak in [peak, -peak] {
                let TileScale::Exponent(e) = exponent(peak, w) else { panic!("{peak}") };
                let integer = |e| Slicing::Nearest.integer(peak, e, w).abs();
                assert!(integer(e) <= most, "{peak} {w}");
                assert!(integer(e - 1) > most, "{peak} {w}: a digit is wasted");
            }
        }
        assert_eq!(exponent(0.0, w), TileScale::Zero);
        assert_eq!(exponent(f32::from_bits(5), w), TileScale::Zero);
        assert_eq!(exponent(1e-37, w), TileScale::Zero);
        for bad in [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX] {
            assert_eq!(exponent(bad, w), TileScale::NotFinite);
        }
    }
}

#[test]
fn digits_of_no_operator_are_refused_with_the_nearest_count() {
    let message = QuantisedOperator::new(&direct(8), 4).unwrap_err().to_string();
    assert!(message.contains("the nearest is 3"), "{message}");
    assert!(QuantisedOperator::new(&direct(7), 2).is_err());
}
