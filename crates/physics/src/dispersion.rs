//! Numerical dispersion of leapfrog in time and central differences in space.
//!
//! A plane wave of wave number k obeys `sin(w dt / 2) = (c dt / 2) sqrt(sum_i -S(k_i h_i) / h_i^2)`
//! with the operator's symbol `S(x) = w_0 + 2 sum_r w_r cos(r x)`, which is near `-x^2` (Alford et
//! al. 1974, Geophysics 39, 834-842). Space errors slow waves down, time errors speed them up.

use std::f64::consts::PI;

use crate::{Grid, Operator, cfl};

/// Symbol of the second derivative for unit spacing at `angle` = k h; about `-angle^2`.
#[must_use]
pub fn symbol(operator: &Operator, angle: f64) -> f64 {
    symbol_of(&operator.second_derivative(), angle)
}

/// As [`symbol`], from the weights.
#[must_use]
pub fn symbol_of(weights: &[f64], angle: f64) -> f64 {
    // As sum w_r (2 cos(r x) - 2) = -4 sum w_r sin^2(r x / 2): no cancellation at small angles.
    let half = 0.5 * angle;
    (1..weights.len()).map(|r| -4.0 * weights[r] * (half * r as f64).sin().powi(2)).sum()
}

/// Phase velocity over wave speed of a wave of length `wavelength`, m, that travels along
/// `direction` (any length, not zero) at wave speed `wave_speed`, m/s, with steps of `dt`, s; `dt`
/// zero gives the error of space alone. NaN where the scheme is unstable.
#[must_use]
pub fn velocity_ratio(
    grid: &Grid,
    operator: &Operator,
    dt: f64,
    wave_speed: f64,
    direction: [f64; 3],
    wavelength: f64,
) -> f64 {
    let weights = operator.second_derivative();
    let active = |axis: crate::Axis| axis.index();
    let length = grid.active_axes().map(active).map(|a| direction[a].powi(2)).sum::<f64>().sqrt();
    let k = 2.0 * PI / wavelength;
    let square: f64 = grid
        .active_axes()
        .map(active)
        .map(|a| {
            let h = grid.spacing[a];
            -symbol_of(&weights, k * direction[a] / length * h) / (h * h)
        })
        .sum();
    let numerical = square.sqrt();
    if dt > 0.0 {
        (0.5 * wave_speed * dt * numerical).asin() / (0.5 * wave_speed * dt * k)
    } else {
        numerical / k
    }
}

/// Largest |phase velocity / wave speed - 1| over directions for waves of length `wavelength`, m.
#[must_use]
pub fn largest_error(
    grid: &Grid,
    operator: &Operator,
    dt: f64,
    wave_speed: f64,
    wavelength: f64,
) -> f64 {
    // Extrema lie along axes and diagonals; a quarter or an octant in steps of 7.5 degrees has both.
    const STEPS: u32 = 12;
    let angle = |n: u32| 0.5 * PI * f64::from(n) / f64::from(STEPS);
    let azimuths = if grid.active(crate::Axis::Y) { STEPS } else { 0 };
    let mut worst = 0.0_f64;
    for dip in 0..=STEPS {
        for azimuth in 0..=azimuths {
            let (sin, cos) = angle(dip).sin_cos();
            let direction = [sin * angle(azimuth).cos(), sin * angle(azimuth).sin(), cos];
            let ratio = velocity_ratio(grid, operator, dt, wave_speed, direction, wavelength);
            // An unstable scheme has the largest error there is.
            worst = worst.max(if ratio.is_nan() { f64::INFINITY } else { (ratio - 1.0).abs() });
        }
    }
    worst
}

/// Cells per wavelength at frequency `hz` where the wave speed is `wave_speed`, m/s, along the axis
/// with the largest spacing.
#[must_use]
pub fn cells_per_wavelength(grid: &Grid, wave_speed: f64, hz: f64) -> f64 {
    let spacing = grid.active_axes().map(|axis| grid.spacing[axis.index()]).fold(0.0, f64::max);
    wave_speed / (hz * spacing)
}

/// A discretisation that keeps the error of the phase velocity within a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suggestion {
    /// Order of the space operator.
    pub order: usize,
    /// Largest spacing, the same on all axes, m.
    pub spacing: f64,
    /// Time step, s.
    pub dt: f64,
    /// Cells per wavelength at the frequency and the smallest wave speed.
    pub cells: f64,
}

/// For each order the coarsest grid whose phase velocity is right to `tolerance` for waves of `hz`
/// anywhere in wave speeds from `vmin` to `vmax`, m/s, with dt at `cfl_fraction` of its limit; with
/// `time_corrected` the error of time does not count. Orders that no spacing from 2 to 1000 cells
/// per wavelength satisfies are left out.
#[must_use]
pub fn suggestions(
    dimensions: usize,
    vmin: f64,
    vmax: f64,
    hz: f64,
    cfl_fraction: f64,
    tolerance: f64,
    time_corrected: bool,
) -> Vec<Suggestion> {
    let wavelength = vmin / hz;
    let shape = [2, if dimensions == 3 { 2 } else { 1 }, 2];
    let with_cells = |order: usize, cells: f64| {
        let spacing = wavelength / cells;
        let grid = Grid { shape, spacing: [spacing; 3], origin: [0.0; 3] };
        let operator = Operator::Direct { order };
        let dt = cfl_fraction * cfl::largest_dt(&grid, &operator, vmax);
        let step = if time_corrected { 0.0 } else { dt };
        let slow = largest_error(&grid, &operator, step, vmin, wavelength);
        let fast = largest_error(&grid, &operator, step, vmax, vmax / hz);
        (Suggestion { order, spacing, dt, cells }, slow.max(fast) <= tolerance)
    };
    let mut found = Vec::new();
    for order in (2..=16).step_by(2) {
        // Geometric steps of 0.5 %, from coarse to fine: space and time errors may cancel, so the
        // good spacings need not be connected.
        let mut cells = 2.0;
        while cells < 1000.0 {
            let (suggestion, good) = with_cells(order, cells);
            if good {
                found.push(suggestion);
                break;
            }
            cells *= 1.005;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> Grid {
        Grid::new([9, 9, 9], [1.0; 3], [0.0; 3]).unwrap()
    }

    #[test]
    fn order_two_has_the_textbook_symbol() {
        for angle in [1e-6, 0.1, 1.0, PI] {
            let expected = -4.0 * (0.5_f64 * angle).sin().powi(2);
            let got = symbol(&Operator::Direct { order: 2 }, angle);
            assert!((got / expected - 1.0).abs() < 1e-14, "{angle}: {got}");
        }
    }

    #[test]
    fn every_symbol_is_its_order_s_partial_sum_of_k_squared() {
        // angle^2 = sum_j 2 ((j-1)!)^2 / (2j)! (2 sin(angle/2))^(2j); order 2M keeps M terms.
        for order in (2..=16_u32).step_by(2) {
            for angle in [0.3, 1.0, 2.0, PI] {
                let square = (2.0 * f64::sin(0.5 * angle)).powi(2);
                let (mut term, mut sum) = (square, 0.0);
                for j in 1..=order / 2 {
                    sum += term;
                    let j = f64::from(j);
                    term *= square * j * j / ((2.0 * j + 2.0) * (2.0 * j + 1.0));
                }
                let got = -symbol(&Operator::Direct { order: order as usize }, angle);
                assert!((got / sum - 1.0).abs() < 1e-13, "order {order}, {angle}: {got}, {sum}");
            }
        }
    }

    #[test]
    fn order_eight_has_the_known_errors_of_phase_velocity() {
        // c dt / h, cells per wavelength, direction, error in percent.
        let table = [
            (0.4076, 4.0, [0.0, 0.0, 1.0], 1.44),
            (0.4076, 4.0, [1.0, 1.0, 1.0], 1.79),
            (0.4076, 6.0, [0.0, 0.0, 1.0], 0.76),
            (0.4076, 10.0, [1.0, 1.0, 1.0], 0.28),
            (0.2, 4.0, [0.0, 0.0, 1.0], 0.08),
            (0.2, 4.0, [1.0, 1.0, 1.0], 0.41),
        ];
        for (courant, cells, direction, percent) in table {
            let operator = Operator::Direct { order: 8 };
            let ratio = velocity_ratio(&cube(), &operator, courant, 1.0, direction, cells);
            let error = 100.0 * (ratio - 1.0);
            assert!((error - percent).abs() < 0.012, "{courant} {cells} {direction:?}: {error}");
        }
    }

    #[test]
    fn an_unstable_step_has_no_finite_error() {
        let operator = Operator::Direct { order: 8 };
        assert!(largest_error(&cube(), &operator, 0.9, 1.0, 2.0).is_infinite());
    }

    #[test]
    fn order_eight_needs_the_known_cells_per_wavelength_for_one_percent_in_space() {
        let all = suggestions(3, 1500.0, 4500.0, 25.0, 0.9, 0.01, true);
        let eight = all.iter().find(|s| s.order == 8).unwrap();
        // 3.4 in deepwave's table; along an axis, where the space error is largest.
        assert!((eight.cells - 3.4).abs() < 0.1, "{}", eight.cells);
        let coarser = all.windows(2).all(|pair| pair[1].cells <= pair[0].cells);
        assert!(coarser, "a higher order needs no more cells: {all:?}");
    }
}
