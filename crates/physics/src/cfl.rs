//! The largest stable time step of leapfrog.
//!
//! Von Neumann: `dt <= 2 / (c sqrt(sum_i rho / h_i^2))` with rho = -S(pi), the spectral radius of the
//! operator along one axis (Lines et al. 1999 bound it by the sum of |weights|, which is equal for
//! the alternating weights of central differences).

use crate::{Grid, Operator};

/// Spectral radius of the second-derivative operator for unit spacing: the sum of |weights|.
#[must_use]
pub fn spectral_radius(operator: &Operator) -> f64 {
    let weights = operator.second_derivative();
    weights[0].abs() + 2.0 * weights[1..].iter().map(|w| w.abs()).sum::<f64>()
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
    fn order_eight_has_the_known_limits() {
        assert!((courant_limit([9, 9, 9]) - 0.45286).abs() < 5e-6);
        assert!((courant_limit([9, 1, 9]) - 0.55463).abs() < 5e-6);
    }
}
