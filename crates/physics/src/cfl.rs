//! The largest stable time step of leapfrog.
//!
//! Von Neumann: `dt <= 2 / (c sqrt(sum_i rho / h_i^2))` with rho = max -S, the spectral radius of the
//! operator along one axis. Lines et al. (1999) bound it by the sum of |weights|; that is -S(pi) itself
//! for weights of alternating sign, as those of central differences, of Lele's operator and of fits to
//! a band are. Where they do not alternate the bound is on the safe side.

use crate::{Grid, Operator};

/// Spectral radius of the second-derivative operator for unit spacing: the sum of |weights|.
#[must_use]
pub fn spectral_radius(operator: &Operator) -> f64 {
    spectral_radius_of(&operator.second_derivative())
}

/// As [`spectral_radius`], from the weights.
#[must_use]
pub fn spectral_radius_of(weights: &[f64]) -> f64 {
    weights[0].abs() + 2.0 * weights[1..].iter().map(|w| w.abs()).sum::<f64>()
}

/// Largest stable Courant number c dt / h for leapfrog in 1, 2 or 3 dimensions of equal spacing.
#[must_use]
pub fn courant_limit(operator: &Operator, dimensions: usize) -> f64 {
    courant_limit_of(&operator.second_derivative(), dimensions)
}

/// As [`courant_limit`], from the weights.
#[must_use]
pub fn courant_limit_of(weights: &[f64], dimensions: usize) -> f64 {
    2.0 / (spectral_radius_of(weights) * dimensions as f64).sqrt()
}

/// Largest stable step, s, for leapfrog at wave speed `wave_speed`, m/s.
#[must_use]
pub fn largest_dt(grid: &Grid, operator: &Operator, wave_speed: f64) -> f64 {
    let inverse_square: f64 =
        grid.active_axes().map(|axis| grid.spacing[axis.index()].powi(-2)).sum();
    2.0 / (wave_speed * (spectral_radius(operator) * inverse_square).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn courant_limit(shape: [usize; 3]) -> f64 {
        let grid = Grid::new(shape, [1.0; 3], [0.0; 3]).unwrap();
        largest_dt(&grid, &Operator::Direct { order: 8 }, 1.0)
    }

    #[test]
    fn compact_and_fitted_operators_have_the_known_limits() {
        use crate::{Criterion, Fit};
        let direct = |order| Operator::Direct { order };
        let fitted = |radius| Operator::Fitted(Fit::of_space(radius, Criterion::Minimax, 8.0));
        // Table of the libxstream audit, whose fits are of the symbol and not of the phase velocity:
        // a few thousandths of the limit apart.
        let table = [(direct(2), 0.577), (direct(4), 0.500), (direct(8), 0.453)];
        for (operator, limit) in table {
            assert!((super::courant_limit(&operator, 3) - limit).abs() < 6e-4, "{operator:?}");
        }
        for (operator, limit) in [(fitted(2), 0.495), (fitted(3), 0.465)] {
            let ours = super::courant_limit(&operator, 3);
            assert!((ours - limit).abs() < 2e-3, "{operator:?}: {ours}");
        }
    }

    #[test]
    fn order_eight_has_the_known_limits() {
        assert!((courant_limit([9, 9, 9]) - 0.45286).abs() < 5e-6);
        assert!((courant_limit([9, 1, 9]) - 0.55463).abs() < 5e-6);
    }
}
