//! Lele's implicit second derivative as an explicit kernel.
//!
//! `alpha f''_(i-1) + f''_i + alpha f''_(i+1) = a (f_(i+1) - 2 f_i + f_(i-1)) + b/4 (f_(i+2) - 2 f_i +
//! f_(i-2))` with alpha = 2/11, a = 12/11, b = 3/11 is of sixth order (Lele 1992, J. Comput. Phys. 103,
//! 16-42, eq. 2.2.7). On an infinite line its inverse is a convolution whose weights are the Fourier
//! coefficients of its symbol; they fall by a factor of -0.19 per node.
//!
//! Cut off at some radius, neither their sum nor their second moment is right (0.694 of what it should be
//! for radius 2, a third too slow), and subtracting the sum from the centre mends the first only. So
//! the kernel is refitted: of all weights of that radius that meet both, those whose phase velocity
//! is closest to the implicit scheme's, in the mean square over wavelengths of [`BAND`] cells and more.

use std::f64::consts::PI;

use crate::exchange::{self, Equation};
use crate::fit;

/// Lele's coefficients of sixth order.
const ALPHA: f64 = 2.0 / 11.0;
const A: f64 = 12.0 / 11.0;
const B: f64 = 3.0 / 11.0;

/// Shortest wavelength that the refit looks at, cells: the scheme's own error is 1.4e-3 there.
pub const BAND: f64 = 4.0;

/// Symbol of the implicit scheme for unit spacing.
#[must_use]
pub fn symbol(angle: f64) -> f64 {
    let near = -4.0 * (0.5 * angle).sin().powi(2);
    let far = -4.0 * angle.sin().powi(2);
    (A * near + 0.25 * B * far) / (1.0 + 2.0 * ALPHA * angle.cos())
}

/// Weights of the inverse up to `radius`, centre first, as they are before anything is refitted.
#[must_use]
pub fn inverted(radius: usize) -> Vec<f64> {
    // The trapezoidal rule is exact to rounding: coefficients beyond 512 are 0.19^512.
    const NODES: u32 = 1024;
    let angle = |n: u32| 2.0 * PI * f64::from(n) / f64::from(NODES);
    (0..=radius)
        .map(|k| {
            let term = |n| symbol(angle(n)) * (angle(n) * k as f64).cos();
            (0..NODES).map(term).sum::<f64>() / f64::from(NODES)
        })
        .collect()
}

/// [`inverted`] with the sum taken from the centre: what truncation alone gives.
#[must_use]
pub fn truncated(radius: usize) -> Vec<f64> {
    let mut weights = inverted(radius);
    weights[0] = -2.0 * weights[1..].iter().sum::<f64>();
    weights
}

/// Weights of `radius` that meet both constraints and follow the implicit scheme.
///
/// # Panics
/// If the radius is not in 2..=8.
#[must_use]
pub fn refitted(radius: usize) -> Vec<f64> {
    assert!(crate::operator::RADII.contains(&radius), "radius {radius}");
    let edge = 2.0 * PI / BAND;
    let scale = (2.0 * (0.5 * edge).sin()).powi(2);
    const SAMPLES: u32 = 64;
    let rows = (0..SAMPLES).map(|n| {
        let angle = edge * (f64::from(n) + 0.5) / f64::from(SAMPLES);
        let s = (2.0 * (0.5 * angle).sin()).powi(2) / scale;
        // d(velocity) = d(-S) / (2 x^2), near enough where both are close to one.
        let factor = 0.5 / (angle * angle);
        let mut row = [0.0; exchange::MOST];
        let mut power = s;
        for value in &mut row[..radius - 1] {
            power *= s;
            *value = factor * power;
        }
        Equation { row, target: factor * (-symbol(angle) - s * scale), bound: false }
    });
    let free = fit::least_squares(rows, radius - 1).unwrap_or_else(|| fit::taylor(radius));
    let mut power = scale;
    let free: Vec<f64> = free
        .into_iter()
        .map(|x| {
            power *= scale;
            x / power
        })
        .collect();
    fit::from_powers(&free)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(weights: &[f64]) -> f64 {
        weights.iter().enumerate().map(|(r, w)| (r * r) as f64 * w).sum()
    }

    #[test]
    fn the_inverse_has_the_weights_of_a_line_that_was_solved() {
        // From a line of 512 nodes by Thomas' algorithm (shared audit of another code).
        let wanted = [-2.9243, 1.66682, -0.24320, 0.04579, -0.00862, 0.00162];
        for (k, (got, wanted)) in inverted(5).iter().zip(wanted).enumerate() {
            assert!((got - wanted).abs() < 6e-5, "{k}: {got} {wanted}");
        }
    }

    #[test]
    fn truncation_alone_breaks_the_second_moment_and_the_refit_does_not() {
        for (radius, wanted) in [(2, 0.694), (3, 1.106), (4, 0.968)] {
            let (cut, ours) = (moment(&truncated(radius)), moment(&refitted(radius)));
            assert!((cut - wanted).abs() < 6e-4, "radius {radius}: {cut}");
            assert!((ours - 1.0).abs() < 1e-15, "radius {radius}: {ours}");
        }
    }

    #[test]
    fn wider_gathers_come_closer_to_the_implicit_scheme() {
        let away = |radius| {
            let weights = refitted(radius);
            (1..=100)
                .map(|n| {
                    let angle = 0.5 * PI * f64::from(n) / 100.0;
                    let own = -crate::dispersion::symbol_of(&weights, angle);
                    ((own / -symbol(angle)).sqrt() - 1.0).abs()
                })
                .fold(0.0, f64::max)
        };
        let all: Vec<f64> = (2..=8).map(away).collect();
        assert!(all.windows(2).all(|pair| pair[1] < 0.5 * pair[0]), "{all:?}");
        assert!(all[2] < 1e-3 && all[6] < 1e-6, "{all:?}");
    }

    #[test]
    fn the_scheme_is_of_sixth_order() {
        let error = |angle: f64| symbol(angle) / (-angle * angle) - 1.0;
        let slope = (error(0.2) / error(0.1)).abs().log2();
        assert!((slope - 6.0).abs() < 0.05, "{slope}");
    }
}
