//! Numerical dispersion of leapfrog in time and central differences in space.
//!
//! A plane wave of wave number k obeys `sin(w dt / 2) = (c dt / 2) sqrt(sum_i -S(k_i h_i) / h_i^2)`
//! with the operator's symbol `S(x) = w_0 + 2 sum_r w_r cos(r x)`, which is near `-x^2` (Alford et
//! al. 1974, Geophysics 39, 834-842). Space errors slow waves down, time errors speed them up.
//!
//! Of space alone and at equal spacing no direction is worse than an axis: with direction cosines `n_i`
//! the squared phase velocity is the mean, with weights `n_i^2`, of those along an axis for
//! phases `k h |n_i| <= k h`.

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
    velocity_ratio_of(grid, &weights, dt, wave_speed, direction, wavelength)
}

/// As [`velocity_ratio`], from the weights.
#[must_use]
pub fn velocity_ratio_of(
    grid: &Grid,
    weights: &[f64],
    dt: f64,
    wave_speed: f64,
    direction: [f64; 3],
    wavelength: f64,
) -> f64 {
    let active = |axis: crate::Axis| axis.index();
    let length = grid.active_axes().map(active).map(|a| direction[a].powi(2)).sum::<f64>().sqrt();
    let k = 2.0 * PI / wavelength;
    let square: f64 = grid
        .active_axes()
        .map(active)
        .map(|a| {
            let h = grid.spacing[a];
            -symbol_of(weights, k * direction[a] / length * h) / (h * h)
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
    let weights = operator.second_derivative();
    // Extrema lie along axes and diagonals; a quarter or an octant in steps of 7.5 degrees has both.
    const STEPS: u32 = 12;
    let angle = |n: u32| 0.5 * PI * f64::from(n) / f64::from(STEPS);
    let azimuths = if grid.active(crate::Axis::Y) { STEPS } else { 0 };
    let mut worst = 0.0_f64;
    for dip in 0..=STEPS {
        for azimuth in 0..=azimuths {
            let (sin, cos) = angle(dip).sin_cos();
            let direction = [sin * angle(azimuth).cos(), sin * angle(azimuth).sin(), cos];
            let ratio = velocity_ratio_of(grid, &weights, dt, wave_speed, direction, wavelength);
            worst = worst.max(error_of(ratio));
        }
    }
    worst
}

/// |ratio - 1|; an unstable scheme has the largest error there is.
pub(crate) fn error_of(ratio: f64) -> f64 {
    if ratio.is_nan() { f64::INFINITY } else { (ratio - 1.0).abs() }
}

/// Unit vectors (x, y, z) whose squares are no permutations of one another, from an axis to the
/// diagonal: what differs among directions of cubes. 2-D lies in x and z.
#[must_use]
pub fn directions(dimensions: usize, parts: usize) -> Vec<[f64; 3]> {
    let mut all = Vec::new();
    for x in (0..=parts).rev() {
        for z in (0..=parts - x).rev() {
            let y = parts - x - z;
            let ordered = x >= z && z >= y;
            if ordered && !(dimensions == 1 && z > 0 || dimensions == 2 && y > 0) {
                let length = ((x * x + y * y + z * z) as f64).sqrt();
                all.push([x, y, z].map(|n| n as f64 / length));
            }
        }
    }
    all
}

/// Whether leapfrog has a step that is stable: -S is positive at all angles but zero.
#[must_use]
pub fn is_elliptic(weights: &[f64]) -> bool {
    (1..=720).all(|n| symbol_of(weights, PI * f64::from(n) / 720.0) < 0.0)
}

/// Largest |phase velocity / wave speed - 1| over directions at `points` cells per wavelength, for
/// weights on cubes at Courant number `courant`, zero for space alone.
#[must_use]
pub fn error_at(weights: &[f64], courant: f64, dimensions: usize, points: f64) -> f64 {
    let grid = Grid {
        shape: [2, if dimensions == 3 { 2 } else { 1 }, 2],
        spacing: [1.0; 3],
        origin: [0.0; 3],
    };
    directions(if courant > 0.0 { dimensions } else { 1 }, 12)
        .into_iter()
        .map(|direction| {
            error_of(velocity_ratio_of(&grid, weights, courant, 1.0, direction, points))
        })
        .fold(0.0, f64::max)
}

/// Largest error of [`error_at`] over all wavelengths of `points` cells and more.
#[must_use]
pub fn error_from(weights: &[f64], courant: f64, dimensions: usize, points: f64) -> f64 {
    const SAMPLES: u32 = 500;
    (1..=SAMPLES)
        .map(|n| error_at(weights, courant, dimensions, points * f64::from(SAMPLES) / f64::from(n)))
        .fold(0.0, f64::max)
}

/// Fewest cells per wavelength from which on the error of [`error_at`] stays within `tolerance`;
/// `None` if that takes more than a thousand.
#[must_use]
pub fn points_for(weights: &[f64], courant: f64, dimensions: usize, tolerance: f64) -> Option<f64> {
    points_from(&|points| error_at(weights, courant, dimensions, points) <= tolerance)
}

/// The same for any errors: fewest cells per wavelength from which on they are `good`.
pub(crate) fn points_from(good: &dyn Fn(f64) -> bool) -> Option<f64> {
    // From long waves to short ones: the first miss bounds the band.
    let mut points = 1000.0;
    if !good(points) {
        return None;
    }
    loop {
        let shorter = points / 1.01;
        if shorter < 2.0 {
            return Some(2.0);
        }
        if !good(shorter) {
            let (mut bad, mut fine) = (shorter, points);
            for _ in 0..20 {
                let middle = 0.5 * (bad + fine);
                *(if good(middle) { &mut fine } else { &mut bad }) = middle;
            }
            return Some(fine);
        }
        points = shorter;
    }
}

/// Largest error over directions, wave speeds from `vmin` to `vmax`, m/s, and frequencies up to
/// `hz`, for steps of `dt`, s; zero for space alone. Above `enough` it may stop at what it found.
#[must_use]
pub fn error_in_band(
    grid: &Grid,
    weights: &[f64],
    dt: f64,
    [vmin, vmax]: [f64; 2],
    hz: f64,
    enough: f64,
) -> f64 {
    const FREQUENCIES: u32 = 48;
    // Axes with different spacings are not alike: all permutations count.
    let mut all = Vec::new();
    for d in directions(grid.dimensions(), 4).into_iter().chain([[1.0; 3]]) {
        for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut direction = [d[a], d[b], d[c]];
            if !grid.active(crate::Axis::Y) {
                direction[1] = 0.0;
            }
            if direction.iter().any(|&c| c > 0.0) && !all.contains(&direction) {
                all.push(direction);
            }
        }
    }
    let speeds = if vmax > vmin {
        vec![vmin, vmin.powf(0.75) * vmax.powf(0.25), (vmin * vmax).sqrt(), vmax]
    } else {
        vec![vmin]
    };
    let mut worst = 0.0_f64;
    for speed in speeds {
        for n in (1..=FREQUENCIES).rev() {
            let wavelength = speed / hz * f64::from(FREQUENCIES) / f64::from(n);
            for &direction in &all {
                let ratio = velocity_ratio_of(grid, weights, dt, speed, direction, wavelength);
                worst = worst.max(error_of(ratio));
            }
            if worst > enough {
                return worst;
            }
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
    fn operators_meet_the_errors_and_resolutions_of_the_audit() {
        use crate::{Criterion, Fit};
        let direct = |order| Operator::Direct { order }.second_derivative();
        let fitted = |radius, criterion| {
            Operator::Fitted(Fit::of_space(radius, criterion, 8.0)).second_derivative()
        };
        // Largest errors for 8 and 4 cells and more, cells for 0.1 %, of an independent program.
        let table =
            [(2, 2.5e-2, 1.0e-1, 40.5), (4, 2.0e-3, 2.8e-2, 9.6), (8, 2.0e-5, 3.4e-3, 4.75)];
        for (order, eight, four, cells) in table {
            let weights = direct(order);
            let near = |got: f64, want: f64| (got / want - 1.0).abs() < 0.04;
            assert!(near(error_from(&weights, 0.0, 3, 8.0), eight), "order {order}");
            assert!(near(error_from(&weights, 0.0, 3, 4.0), four), "order {order}");
            assert!(near(points_for(&weights, 0.0, 3, 1e-3).unwrap(), cells), "order {order}");
        }
        // Fitted there by another criterion, the symbol's absolute error: 4.3e-4 for radius 2, 1.1e-5 to
        // 1.5e-5 for radius 3. By the phase velocity itself they cannot be worse.
        let (two, three) = (fitted(2, Criterion::Minimax), fitted(3, Criterion::Minimax));
        let (two, three) = (error_from(&two, 0.0, 3, 8.0), error_from(&three, 0.0, 3, 8.0));
        assert!(two < 4.3e-4 && three < 1.1e-5, "{two:e} {three:e}");
        // Radius 3 fitted is better than radius 4 by powers.
        assert!(three < error_from(&direct(8), 0.0, 3, 8.0));
    }

    #[test]
    fn finer_grids_bring_every_operator_to_the_wave_speed() {
        use crate::{Criterion, Fit};
        // Halving the spacing divides the error by 2^order, and by 4 for weights that keep the
        // second moment and nothing else.
        let fits = Criterion::ALL.map(|c| (Operator::Fitted(Fit::of_space(3, c, 5.0)), 2.0, 100.0));
        let implicit = [(Operator::Implicit { radius: 4 }, 2.0, 100.0)];
        let direct = [2, 4, 6, 8].map(|order| (Operator::Direct { order }, order as f64, 16.0));
        for (operator, order, points) in fits.into_iter().chain(implicit).chain(direct) {
            let weights = operator.second_derivative();
            let error = |points| error_at(&weights, 0.0, 3, points);
            let slope = (error(points) / error(2.0 * points)).log2();
            assert!((slope - order).abs() < 0.15, "{operator}: {slope}");
        }
        // With leapfrog at a fixed Courant number every one is of second order.
        let joint = Fit::of_space(3, Criterion::Minimax, 5.0).with_time(0.4, 1.0, 3);
        for operator in [Operator::Fitted(joint), Operator::Direct { order: 8 }] {
            let weights = operator.second_derivative();
            let slope =
                (error_at(&weights, 0.4, 3, 100.0) / error_at(&weights, 0.4, 3, 200.0)).log2();
            assert!((slope - 2.0).abs() < 0.05, "{operator}: {slope}");
        }
    }

    #[test]
    fn of_space_alone_no_direction_of_cubes_is_worse_than_an_axis() {
        let fit = crate::Fit::of_space(3, crate::Criterion::Minimax, 5.0);
        for operator in [Operator::Fitted(fit), Operator::Implicit { radius: 3 }] {
            let weights = operator.second_derivative();
            let axis = error_from(&weights, 0.0, 1, 5.0);
            for direction in directions(3, 12) {
                for n in 1..=100 {
                    let points = 5.0 * 100.0 / f64::from(n);
                    let ratio = velocity_ratio_of(&cube(), &weights, 0.0, 1.0, direction, points);
                    assert!((ratio - 1.0).abs() <= axis * (1.0 + 1e-4), "{direction:?} {points}");
                }
            }
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
