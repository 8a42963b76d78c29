//! Weights of the operator in single precision, rounded so that they cancel.
//!
//! Each weight rounded by itself leaves a sum of up to half a unit in the last place of the centre,
//! 5e-8 of it, where there should be zero. That is a force proportional to p, as large as 1e-6 of the
//! operator's own effect on a wave of 20 cells, and the energy of a closed box drifted by as much
//! (1.3e-6 in 4000 steps). Here up to four weights per axis are rounded up or down, whichever way
//! brings the sum closest to zero: the drift falls to 3e-7, at no cost to the kernels. (Few weights, or
//! one axis with a much smaller spacing, leave less to choose from.)

use crate::layers::single;

/// Weights per axis that may be rounded the other way: two to the twelfth choices in 3-D.
const FREE: usize = 4;

/// The weight of the centre, all axes, and those at distance 1, 2, ... per axis.
pub(crate) fn rounded(exact: &[Vec<f64>]) -> (f32, Vec<Vec<f32>>) {
    let nearest: Vec<Vec<f32>> =
        exact.iter().map(|axis| axis.iter().map(|&w| single(w)).collect()).collect();
    let sum: f64 = nearest.iter().flatten().map(|&w| f64::from(w)).sum();
    let mut choices = Vec::new();
    for (axis, weights) in exact.iter().enumerate() {
        for (r, &weight) in weights.iter().enumerate().take(FREE) {
            let near = nearest[axis][r];
            let other = if f64::from(near) < weight { near.next_up() } else { near.next_down() };
            choices.push((axis, r, other, f64::from(other) - f64::from(near)));
        }
    }
    let taken = |combination: u32| {
        choices.iter().enumerate().filter(move |(n, _)| combination >> n & 1 == 1).map(|(_, c)| c)
    };
    let centre_of = |combination: u32| {
        -2.0 * (sum + taken(combination).map(|&(.., change)| change).sum::<f64>())
    };
    let left_over = |combination: u32| {
        let centre = centre_of(combination);
        (centre - f64::from(single(centre))).abs()
    };
    let best = (0..1_u32 << choices.len())
        .min_by(|&a, &b| left_over(a).total_cmp(&left_over(b)))
        .unwrap_or(0);
    let mut weights = nearest.clone();
    for &(axis, r, other, _) in taken(best) {
        weights[axis][r] = other;
    }
    (single(centre_of(best)), weights)
}

#[cfg(test)]
mod tests {
    use temblor_physics::Operator;

    use super::*;

    fn exact(order: usize, spacing: &[f64]) -> Vec<Vec<f64>> {
        let weights = Operator::Direct { order }.second_derivative();
        spacing.iter().map(|h| weights[1..].iter().map(|w| w / (h * h)).collect()).collect()
    }

    /// What is left of weights and centre, over the centre.
    fn left(centre: f32, weights: &[Vec<f32>]) -> f64 {
        let sum: f64 = weights.iter().flatten().map(|&w| 2.0 * f64::from(w)).sum();
        (f64::from(centre) + sum).abs() / f64::from(centre.abs())
    }

    /// The last one is so uneven that one axis' weights decide.
    const SPACINGS: [[f64; 3]; 4] =
        [[10.0, 11.0, 9.0], [10.0; 3], [10.0, 12.5, 8.0], [12.5, 3.0, 7.3]];

    #[test]
    fn a_constant_field_feels_no_force_at_order_8() {
        for spacing in &SPACINGS[..3] {
            let (centre, weights) = rounded(&exact(8, spacing));
            // A centre rounded by itself is off by up to 2^-24.
            let left = left(centre, &weights);
            assert!(left < 2.0_f64.powi(-29), "{spacing:?}: {left:e}");
        }
    }

    #[test]
    fn no_order_is_left_worse_than_by_rounding_each_weight_alone() {
        for order in (2..=16).step_by(2) {
            for spacing in SPACINGS {
                let exact = exact(order, &spacing);
                let alone: Vec<Vec<f32>> =
                    exact.iter().map(|axis| axis.iter().map(|&w| single(w)).collect()).collect();
                let nominal = single(exact.iter().flatten().map(|w| -2.0 * w).sum());
                let (centre, weights) = rounded(&exact);
                let (ours, theirs) = (left(centre, &weights), left(nominal, &alone));
                assert!(ours <= theirs, "order {order}, {spacing:?}: {ours:e} {theirs:e}");
            }
        }
    }

    #[test]
    fn no_weight_is_off_by_more_than_one_unit_in_the_last_place() {
        let exact = exact(8, &[10.0, 12.5, 8.0]);
        let (centre, weights) = rounded(&exact);
        for (&w, &e) in weights.iter().flatten().zip(exact.iter().flatten()) {
            assert!((f64::from(w) - e).abs() <= 2.0_f64.powi(-23) * e.abs());
        }
        let nominal: f64 = exact.iter().flatten().map(|w| -2.0 * w).sum();
        assert!((f64::from(centre) / nominal - 1.0).abs() < 4.0 * 2.0_f64.powi(-24));
    }
}
