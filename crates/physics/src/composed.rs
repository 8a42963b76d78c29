//! Steps that apply an operator more than once: what they would buy.
//!
//! Neither scheme is offered as an operator; docs/decisions/0013-operators.md says why, from what these
//! functions give. With `Lambda = sum_i -S(x_i)`, the operator's symbol over all axes, and C = c dt / h:
//!
//! - Lax and Wendroff's fourth order in time (Dablain 1986, Geophysics 51, 54-66) adds dt^4/12 L c^2 L p
//!   and obeys `4 sin^2(w dt / 2) = C^2 Lambda (1 - C^2 Lambda / 12)`;
//! - K sub-steps of leapfrog with dt / K turn a wave by K times the angle of one.
//!
//! Both are functions of Lambda alone, as is any evolution that is composed of one operator. Waves of
//! different lengths that have the same Lambda get the same frequency, so one of them is wrong by the
//! least that [`isotropy_floor`] gives.

use std::f64::consts::PI;

use crate::{cfl, dispersion};

/// `sum_i -S(x_i)` for a wave of `points` cells along `direction` on cubes.
fn lambda(weights: &[f64], direction: [f64; 3], points: f64) -> f64 {
    let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
    let angle = |d: f64| 2.0 * PI / points * d / length;
    direction.iter().map(|&d| -dispersion::symbol_of(weights, angle(d))).sum()
}

/// Phase velocity over wave speed of Lax and Wendroff's step on cubes; NaN where it is unstable.
#[must_use]
pub fn lax_wendroff_ratio(weights: &[f64], courant: f64, direction: [f64; 3], points: f64) -> f64 {
    let square = courant * courant * lambda(weights, direction, points);
    let exact = PI * courant / points;
    (0.5 * (square * (1.0 - square / 12.0)).sqrt()).asin() / exact
}

/// Largest |phase velocity / wave speed - 1| of Lax and Wendroff's step over directions of cubes at `points`
/// cells per wavelength; infinite where it is unstable.
#[must_use]
pub fn lax_wendroff_error(weights: &[f64], courant: f64, dimensions: usize, points: f64) -> f64 {
    dispersion::directions(dimensions, 12)
        .into_iter()
        .map(|d| dispersion::error_of(lax_wendroff_ratio(weights, courant, d, points)))
        .fold(0.0, f64::max)
}

/// Fewest cells per wavelength from which on [`lax_wendroff_error`] stays within `tolerance`; `None` if that takes
/// more than a thousand.
#[must_use]
pub fn lax_wendroff_points(
    weights: &[f64],
    courant: f64,
    dimensions: usize,
    tolerance: f64,
) -> Option<f64> {
    dispersion::points_from(&|points| {
        lax_wendroff_error(weights, courant, dimensions, points) <= tolerance
    })
}

/// Largest stable Courant number of Lax and Wendroff's step: the square root of three times leapfrog's.
#[must_use]
pub fn lax_wendroff_limit(weights: &[f64], dimensions: usize) -> f64 {
    3.0_f64.sqrt() * cfl::courant_limit_of(weights, dimensions)
}

/// Phase velocity over wave speed of `steps` sub-steps of leapfrog that make one of Courant number
/// `courant` on cubes; NaN where it is unstable.
#[must_use]
pub fn sub_stepped_ratio(
    weights: &[f64],
    courant: f64,
    steps: u32,
    direction: [f64; 3],
    points: f64,
) -> f64 {
    let half = 0.5 * courant / f64::from(steps);
    (half * lambda(weights, direction, points).sqrt()).asin() / (half * 2.0 * PI / points)
}

/// The least relative error of the phase velocity, in 2-D or 3-D, that any evolution composed of one
/// operator has for waves of about `points` cells: that of two waves, along an axis and a diagonal,
/// which it cannot tell apart.
#[must_use]
pub fn isotropy_floor(weights: &[f64], dimensions: usize, points: f64) -> f64 {
    let diagonal: [f64; 3] = std::array::from_fn(|a| if a < dimensions { 1.0 } else { 0.0 });
    let wanted = lambda(weights, [1.0, 0.0, 0.0], points);
    // Lambda falls as waves grow longer.
    let (mut short, mut long) = (0.5 * points, 2.0 * points);
    for _ in 0..60 {
        let middle = 0.5 * (short + long);
        let other = lambda(weights, diagonal, middle);
        *(if other > wanted { &mut short } else { &mut long }) = middle;
    }
    (points - long).abs() / (points + long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Criterion, Fit, Operator};

    fn direct(order: usize) -> Vec<f64> {
        Operator::Direct { order }.second_derivative()
    }

    #[test]
    fn sub_steps_of_a_compact_operator_stay_above_the_floor() {
        let angle = 2.0 * PI / 8.0;
        // To leading order: x^2 / 72 for radius 1, x^4 / 405 for radius 2.
        let floors = [(2, angle.powi(2) / 72.0), (4, angle.powi(4) / 405.0)];
        for (order, expansion) in floors {
            let weights = direct(order);
            let floor = isotropy_floor(&weights, 3, 8.0);
            assert!((floor / expansion - 1.0).abs() < 0.08, "order {order}: {floor:e}");
            for steps in [1, 2, 4, 8] {
                let error = |direction| {
                    (sub_stepped_ratio(&weights, 0.4, steps, direction, 8.0) - 1.0).abs()
                };
                let worst = error([1.0, 0.0, 0.0]).max(error([1.0; 3]));
                assert!(worst > 0.95 * floor, "order {order}, {steps}: {worst:e} {floor:e}");
            }
            // Radius 4 at once is far below.
            assert!(dispersion::error_at(&direct(8), 0.0, 3, 8.0) < 0.05 * floor);
        }
    }

    #[test]
    fn many_sub_steps_leave_the_error_of_space_alone() {
        let weights = direct(2);
        let ratio = sub_stepped_ratio(&weights, 0.5, 1000, [0.0, 0.0, 1.0], 8.0);
        assert!(((1.0 - ratio) / dispersion::error_at(&weights, 0.0, 3, 8.0) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn lax_and_wendroff_are_of_fourth_order_in_time() {
        let weights = direct(16);
        let error = |courant| lax_wendroff_ratio(&weights, courant, [0.0, 0.0, 1.0], 8.0) - 1.0;
        let slope = (error(0.4) / error(0.2)).abs().log2();
        assert!((slope - 4.0).abs() < 0.05, "{slope}");
        let limit = lax_wendroff_limit(&weights, 3);
        // The shortest wave along the diagonal is the first to become unstable.
        let shortest =
            |courant| lax_wendroff_ratio(&weights, courant, [1.0; 3], 2.0 / 3.0_f64.sqrt());
        assert!(shortest(0.999 * limit).is_finite() && shortest(1.001 * limit).is_nan());
    }

    #[test]
    fn errors_of_fourth_order_in_time_are_those_of_the_record() {
        let weights = direct(8);
        // The record's figure: 0.078 % at C = 0.4 and 5 points, worst of axis and diagonal.
        let error = lax_wendroff_error(&weights, 0.4, 3, 5.0);
        assert!((error - 7.8e-4).abs() < 5e-6, "{error:e}");
        let points = lax_wendroff_points(&weights, 0.4, 3, 1e-3).unwrap();
        assert!(lax_wendroff_error(&weights, 0.4, 3, 1.001 * points) <= 1e-3 && points < 5.0);
        assert!(lax_wendroff_error(&weights, 0.4, 3, 0.98 * points) > 1e-3);
        // Beyond its limit the shortest waves grow.
        let beyond = 1.01 * lax_wendroff_limit(&weights, 3);
        assert!(lax_wendroff_error(&weights, beyond, 3, 2.0 / 3.0_f64.sqrt()).is_infinite());
    }

    #[test]
    fn a_joint_fit_takes_out_most_of_what_lax_and_wendroff_would() {
        // At one step's cost: 5 cells, C = 0.4. Leapfrog's order 8 is off by a per cent.
        let joint = Fit::of_space(4, Criterion::Minimax, 5.0).with_time(0.4, 1.0, 3);
        let joint = Operator::Fitted(joint).second_derivative();
        let error = |weights: &[f64]| dispersion::error_from(weights, 0.4, 3, 5.0);
        let (plain, joint) = (error(&direct(8)), error(&joint));
        let fourth = |direction| (lax_wendroff_ratio(&direct(8), 0.4, direction, 5.0) - 1.0).abs();
        let fourth = fourth([0.0, 0.0, 1.0]).max(fourth([1.0; 3]));
        println!("leapfrog {plain:.2e}, joint {joint:.2e}, lax-wendroff {fourth:.2e}");
        assert!(plain > 0.01 && joint < 0.45 * plain, "{plain:e} {joint:e}");
    }
}
