//! Fits against what theory says of the best one.

use super::*;
use crate::{Operator, cfl};

fn moment(weights: &[f64]) -> f64 {
    weights.iter().enumerate().map(|(r, w)| (r * r) as f64 * w).sum()
}

/// Signed errors of space along an axis, from long waves to the band's edge.
fn errors(weights: &[f64], points: f64, samples: u32) -> Vec<f64> {
    (1..=samples)
        .map(|n| {
            let angle = 2.0 * PI / points * f64::from(n) / f64::from(samples);
            (-dispersion::symbol_of(weights, angle)).sqrt() / angle - 1.0
        })
        .collect()
}

/// The largest value of every run of one sign, its sign kept.
fn extrema(series: &[f64]) -> Vec<f64> {
    let runs = series.chunk_by(|a, b| a.signum() == b.signum());
    let largest = |run: &[f64]| run.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    runs.filter_map(largest).collect()
}

#[test]
fn every_fit_meets_both_constraints_to_rounding() {
    for radius in [2, 3, 4, 8] {
        for criterion in Criterion::ALL {
            for points in [2.1, 4.0, most_points(radius)] {
                for time in [false, true] {
                    let fit = Fit::of_space(radius, criterion, points);
                    let fit = if time { fit.with_time(0.3, 1.5, 3) } else { fit };
                    let weights = weights(&fit);
                    let sum = weights[0] + 2.0 * weights[1..].iter().rev().sum::<f64>();
                    assert_eq!(sum.to_bits(), 0.0_f64.to_bits(), "{fit:?}");
                    assert!((moment(&weights) - 1.0).abs() < 2e-15, "{fit:?}: {weights:?}");
                    assert!(dispersion::is_elliptic(&weights), "{fit:?}: {weights:?}");
                }
            }
        }
    }
}

#[test]
fn the_largest_error_of_a_minimax_fit_is_met_as_often_as_alternation_demands() {
    for radius in 2..=6 {
        for points in [2.5, 4.0, 8.0] {
            let weights = weights(&Fit::of_space(radius, Criterion::Minimax, points));
            let found = extrema(&errors(&weights, points, 20_000));
            // R - 1 free weights, R extrema.
            assert_eq!(found.len(), radius, "radius {radius}, {points}: {found:?}");
            assert!(found.windows(2).all(|pair| pair[0] * pair[1] < 0.0), "{found:?}");
            let largest = found.iter().map(|e| e.abs()).fold(0.0, f64::max);
            let smallest = found.iter().map(|e| e.abs()).fold(f64::INFINITY, f64::min);
            // Rounding of weights of order one is what is left of small levels.
            let slack = 1e-6 * largest + 1e-14;
            assert!(largest - smallest < slack, "radius {radius}, {points}: {found:?}");
        }
    }
}

#[test]
fn no_weights_nearby_have_a_smaller_largest_error_of_space_and_time() {
    let fit = Fit::of_space(4, Criterion::Minimax, 5.0).with_time(0.4, 2.0, 3);
    let largest = |weights: &[f64]| {
        waves(&fit, 400)
            .iter()
            .map(|wave| {
                let sum = wave.direction.map(|c| -dispersion::symbol_of(weights, wave.angle * c));
                wave.error(sum.iter().sum()).abs()
            })
            .fold(0.0, f64::max)
    };
    let best = weights(&fit);
    let level = largest(&best);
    for step in [1e-4, -1e-4, 1e-5, -1e-5] {
        for first in 2..=4 {
            for second in 2..=4 {
                for sign in [1.0, -1.0] {
                    let mut other = best.clone();
                    other[first] += step;
                    other[second] += 0.6 * sign * step;
                    constrain(&mut other);
                    assert!(largest(&other) > level, "{first} {second} {step}: {level:e}");
                }
            }
        }
    }
}

#[test]
fn along_one_axis_space_and_time_together_have_the_error_that_only_a_wider_band_has() {
    // In 1-D leapfrog of radius 1 is exact at Courant number one, and the fit finds how far weights
    // of radius 2 go at 0.9: far beyond what space alone allows with such a step.
    let fit = Fit::of_space(3, Criterion::Minimax, 4.0);
    let joint = weights(&fit.with_time(0.8, 1.0, 1));
    let space = weights(&fit);
    let error = |weights: &[f64]| dispersion::error_from(weights, 0.8, 1, 4.0);
    assert!(error(&joint) < 1e-2 * error(&space), "{:e} {:e}", error(&joint), error(&space));
}

#[test]
fn a_joint_fit_in_three_dimensions_halves_what_space_alone_leaves_or_better() {
    let fit = Fit::of_space(3, Criterion::Minimax, 5.0);
    let joint = weights(&fit.with_time(0.4, 1.0, 3));
    let error = |weights: &[f64]| dispersion::error_from(weights, 0.4, 3, 5.0);
    let (joint, space) = (error(&joint), error(&weights(&fit)));
    assert!(joint < 0.5 * space, "{joint:e} {space:e}");
}

#[test]
fn a_least_square_is_below_the_minimax_fit_s_and_above_in_the_largest_error() {
    let fit = |criterion| weights(&Fit::of_space(3, criterion, 5.0));
    let square = |weights: &[f64]| errors(weights, 5.0, 2000).iter().map(|e| e * e).sum::<f64>();
    let largest =
        |weights: &[f64]| errors(weights, 5.0, 2000).iter().map(|e| e.abs()).fold(0.0, f64::max);
    let (minimax, l2) = (fit(Criterion::Minimax), fit(Criterion::L2));
    assert!(square(&l2) < square(&minimax) && largest(&l2) > largest(&minimax));
    // And it is a minimum: nearby weights are worse.
    for (r, step) in [(2, 1e-5), (2, -1e-5), (3, 1e-5), (3, -1e-5)] {
        let mut other = l2.clone();
        other[r] += step;
        constrain(&mut other);
        assert!(square(&other) > square(&l2), "{r} {step}");
    }
}

#[test]
fn a_ricker_fit_weighs_the_peak_more_than_the_edge() {
    let fit = |criterion| weights(&Fit::of_space(3, criterion, 4.0));
    let (l2, ricker) = (fit(Criterion::L2), fit(Criterion::Ricker));
    let peak = 4.0 * Wavelet::ricker(1.0).max_hz();
    let at = |weights: &[f64], points| dispersion::error_at(weights, 0.0, 1, points);
    assert!(at(&ricker, peak) < at(&l2, peak) && at(&ricker, 4.0) > at(&l2, 4.0));
}

#[test]
fn a_narrow_band_gives_central_differences() {
    for radius in 2..=4 {
        let fitted = weights(&Fit::of_space(radius, Criterion::Minimax, 32.0));
        let direct = Operator::Direct { order: 2 * radius }.second_derivative();
        for (a, b) in fitted.iter().zip(direct) {
            assert!((a - b).abs() < 0.02, "{fitted:?}");
        }
    }
}

#[test]
fn weights_alternate_so_that_the_limit_is_sharp() {
    for radius in 2..=8 {
        for points in [2.5, 5.0, 8.0] {
            let weights = weights(&Fit::of_space(radius, Criterion::Minimax, points));
            let at_pi = -dispersion::symbol_of(&weights, PI);
            let ratio = cfl::spectral_radius_of(&weights) / at_pi;
            assert!((ratio - 1.0).abs() < 1e-12, "radius {radius}, {points}: {ratio}");
        }
    }
}
