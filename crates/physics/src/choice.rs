//! The cheapest operator and the largest step that keep the phase velocity within a bound together.
//!
//! A step costs the bytes that it moves, which are the same for all operators, and operations, which
//! grow with the radius; both cost as much as the machine takes for them, here [`BYTES_PER_FLOP`].
//! A second of the run takes 1 / dt steps, so cost is `(bytes + balance flops) / dt`. Small radii have
//! larger stable steps; where the error of time is what limits dt, all have the same.

use crate::operator::{Criterion, Fit, Operator};
use crate::{Error, Grid, Result, cfl, dispersion, fit};

/// Bytes of a step per node: p, p- and c^2 dt^2 read, p+ written.
const BYTES: f64 = 16.0;

/// What a flop costs in bytes: 25.4 GB/s to 307 Gflop/s on two cores of a Xeon (the guide), and close to
/// that on GPUs.
pub const BYTES_PER_FLOP: f64 = 0.08;

/// Smallest fraction of the stable step that is tried: a run of a hundred times the steps is none.
const SMALLEST: f64 = 0.01;

/// Tolerances that make sense: finer ones are below what single precision keeps over a run.
pub const TOLERANCES: std::ops::RangeInclusive<f64> = 1e-6..=0.5;

/// What an operator is chosen for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Spacing and dimensions.
    pub grid: Grid,
    /// Smallest and largest wave speed, m/s.
    pub speeds: [f64; 2],
    /// Highest frequency, Hz.
    pub max_hz: f64,
    /// Largest |phase velocity / wave speed - 1| for all frequencies up to it.
    pub tolerance: f64,
    /// Largest fraction of the stable step.
    pub cfl_fraction: f64,
    /// A step that is given, s.
    pub dt: Option<f64>,
    /// Whether the error of time is taken out of the traces, and does not count.
    pub time_corrected: bool,
}

/// An operator with its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Operator.
    pub operator: Operator,
    /// Step, s.
    pub dt: f64,
    /// Largest stable step, s.
    pub largest_dt: f64,
    /// Largest error in the band.
    pub error: f64,
    /// Cost of a second of the run per node, in bytes.
    pub cost: f64,
}

impl Demand {
    /// Cells per wavelength at the highest frequency and smallest wave speed.
    #[must_use]
    pub fn points(&self) -> f64 {
        dispersion::cells_per_wavelength(&self.grid, self.speeds[0], self.max_hz)
    }

    /// All that meet the demand, the cheapest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] if none does, with the smallest error that one could reach; for a tolerance
    /// outside [`TOLERANCES`].
    pub fn choices(&self) -> Result<Vec<Choice>> {
        if !TOLERANCES.contains(&self.tolerance) {
            let nearest = if self.tolerance > 0.5 { "50 %" } else { "0.0001 %" };
            let remedy = format!("give 0.0001 % to 50 %: the nearest is {nearest}");
            let got = percent(self.tolerance);
            return Err(Error::invalid("largest dispersion", got, remedy));
        }
        let candidates = self.candidates();
        let mut found: Vec<Choice> =
            candidates.iter().filter_map(|operator| self.largest_step(operator)).collect();
        if !self.time_corrected {
            found.extend((2..=4).filter_map(|radius| self.joint(radius)));
        }
        // Of equal cost the smaller radius: its halo is smaller too.
        found.sort_by(|a, b| {
            let radius = |c: &Choice| c.operator.radius();
            a.cost.total_cmp(&b.cost).then(radius(a).cmp(&radius(b)))
        });
        if found.is_empty() { Err(self.out_of_reach(&candidates)) } else { Ok(found) }
    }

    /// Central differences and fits of space to the run's own band.
    fn candidates(&self) -> Vec<Operator> {
        let direct = (2..=16).step_by(2).map(|order| Operator::Direct { order });
        let points = (100.0 * self.points()).floor() / 100.0;
        let fitted = (2..=8).filter_map(|radius| {
            let most = fit::most_points(radius);
            let points = points.clamp(fit::FEWEST_POINTS, most);
            Some(Operator::Fitted(Fit::of_space(radius, Criterion::Minimax, points)))
                .filter(|operator| operator.check().is_ok())
        });
        direct.chain(fitted).collect()
    }

    fn error(&self, weights: &[f64], dt: f64, enough: f64) -> f64 {
        let dt = if self.time_corrected { 0.0 } else { dt };
        dispersion::error_in_band(&self.grid, weights, dt, self.speeds, self.max_hz, enough)
    }

    fn choice(&self, operator: Operator, dt: f64, largest_dt: f64, error: f64) -> Choice {
        let pairs = self.grid.dimensions() * operator.radius();
        let flops = (operator.radius() + 2 * pairs + 5) as f64;
        let cost = (BYTES + BYTES_PER_FLOP * flops) / dt;
        Choice { operator, dt, largest_dt, error, cost }
    }

    /// The largest step with which an operator meets the demand.
    fn largest_step(&self, operator: &Operator) -> Option<Choice> {
        let weights = operator.second_derivative();
        let largest = cfl::largest_dt(&self.grid, operator, self.speeds[1]);
        let try_step = |dt: f64| {
            let error = self.error(&weights, dt, self.tolerance);
            (error <= self.tolerance).then(|| self.choice(*operator, dt, largest, error))
        };
        if let Some(dt) = self.dt {
            return if dt <= largest { try_step(dt) } else { None };
        }
        let cap = self.cfl_fraction * largest;
        if self.time_corrected {
            return try_step(cap);
        }
        // Time alone is off by (w dt)^2 / 24; space may make up for some of it, not for more than as
        // much again. Errors need not grow with dt everywhere: from large steps to small ones.
        let omega = 2.0 * std::f64::consts::PI * self.max_hz;
        let mut dt = cap.min(2.0 * (24.0 * self.tolerance).sqrt() / omega);
        let smallest = (0.2 * dt).min(SMALLEST * largest);
        let mut missed = None;
        while dt >= smallest {
            if let Some(mut choice) = try_step(dt) {
                let Some(mut missed) = missed else { return Some(choice) };
                for _ in 0..4 {
                    let middle = 0.5 * (choice.dt + missed);
                    match try_step(middle) {
                        Some(better) => choice = better,
                        None => missed = middle,
                    }
                }
                return Some(choice);
            }
            missed = Some(dt);
            dt *= 0.94;
        }
        None
    }

    /// The largest step for which a fit of space and time meets the demand.
    fn joint(&self, radius: usize) -> Option<Choice> {
        let grid = &self.grid;
        let dimensions = grid.dimensions();
        let inverse: f64 = grid.active_axes().map(|axis| grid.spacing[axis.index()].powi(-2)).sum();
        // Of cubes with the same limit.
        let spacing = (dimensions as f64 / inverse).sqrt();
        let contrast = self.speeds[1] / self.speeds[0];
        let points = (100.0 * self.points()).floor() / 100.0;
        let points = points.clamp(fit::FEWEST_POINTS, fit::most_points(radius));
        let base = Fit::of_space(radius, Criterion::Minimax, points);
        let try_step = |dt: f64| {
            // Rounded, so that names are short.
            let courant = (1e4 * self.speeds[1] * dt / spacing).round() / 1e4;
            let contrast = (100.0 * contrast).round() / 100.0;
            let fit = base.with_time(courant, contrast, dimensions);
            let weights = fit::weights(&fit);
            let operator = Operator::Fitted(fit);
            let largest = cfl::largest_dt(grid, &operator, self.speeds[1]);
            let stable = dt <= self.dt.map_or(self.cfl_fraction, |_| 1.0) * largest;
            if !(stable && dispersion::is_elliptic(&weights)) {
                return None;
            }
            let error = self.error(&weights, dt, self.tolerance);
            (error <= self.tolerance && operator.check().is_ok())
                .then(|| self.choice(operator, dt, largest, error))
        };
        if let Some(dt) = self.dt {
            return try_step(dt);
        }
        let stable = cfl::largest_dt(grid, &Operator::Direct { order: 2 }, self.speeds[1]);
        let omega = 2.0 * std::f64::consts::PI * self.max_hz;
        let (mut low, mut high) = (0.0, stable.min(6.0 * (24.0 * self.tolerance).sqrt() / omega));
        let mut best = try_step(high);
        if best.is_some() {
            return best;
        }
        for _ in 0..9 {
            let middle = 0.5 * (low + high);
            match try_step(middle) {
                Some(choice) => {
                    (low, best) = (middle, Some(choice));
                }
                None => high = middle,
            }
        }
        best
    }

    fn out_of_reach(&self, candidates: &[Operator]) -> Error {
        let got = percent(self.tolerance);
        let (best, operator) = candidates
            .iter()
            .filter_map(|operator| {
                let largest = cfl::largest_dt(&self.grid, operator, self.speeds[1]);
                let dt = self.dt.unwrap_or(SMALLEST * largest);
                let error = self.error(&operator.second_derivative(), dt, f64::INFINITY);
                error.is_finite().then_some((error, operator))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or((f64::INFINITY, None), |(error, operator)| (error, Some(operator)));
        let remedy = match operator {
            None => "no operator is stable with this dt: lower it, or leave it out".to_owned(),
            Some(operator) => format!(
                "with {:.2} cells per wavelength at {:.1} Hz{} the nearest is {}, by {operator}; a \
                 finer grid or a lower frequency allows less",
                self.points(),
                self.max_hz,
                self.dt.map_or_else(String::new, |dt| format!(" and dt = {dt} s")),
                // Rounded up, so that it can be met.
                percent(significant(best)),
            ),
        };
        Error::invalid("largest dispersion", got, remedy)
    }
}

/// With as many digits as it needs, of which rounding has none.
fn percent(value: f64) -> String {
    let text = format!("{:.7}", 100.0 * value);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Two digits, rounded up.
fn significant(value: f64) -> f64 {
    let unit = 10.0_f64.powf(value.log10().floor() - 1.0);
    (value / unit * 1.02).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(tolerance: f64) -> Demand {
        Demand {
            grid: Grid::new([50; 3], [10.0; 3], [0.0; 3]).unwrap(),
            speeds: [1500.0, 4500.0],
            max_hz: 30.0,
            tolerance,
            cfl_fraction: 0.9,
            dt: None,
            time_corrected: false,
        }
    }

    #[test]
    fn what_is_chosen_keeps_the_bound_and_the_next_larger_step_does_not() {
        for tolerance in [0.01, 1e-3] {
            let demand = demand(tolerance);
            let best = demand.choices().unwrap()[0];
            let weights = best.operator.second_derivative();
            let error = |dt| demand.error(&weights, dt, f64::INFINITY);
            assert!(error(best.dt) <= tolerance && best.dt <= 0.9 * best.largest_dt, "{best:?}");
            assert!(
                error(1.05 * best.dt) > tolerance || 1.05 * best.dt > 0.9 * best.largest_dt,
                "{best:?}"
            );
        }
    }

    #[test]
    fn a_small_radius_is_enough_where_time_limits_the_step() {
        // Corrected, the smallest radius whose space error fits wins by its larger step.
        let corrected = Demand { time_corrected: true, ..demand(1e-2) };
        let all = corrected.choices().unwrap();
        assert!(all.windows(2).all(|pair| pair[0].cost <= pair[1].cost));
        let best = all[0];
        assert!(matches!(best.operator, Operator::Fitted(_)), "{best:?}");
        let smaller = Operator::Fitted(Fit::of_space(
            best.operator.radius() - 1,
            Criterion::Minimax,
            corrected.points(),
        ));
        if smaller.check().is_ok() {
            let error = corrected.error(&smaller.second_derivative(), 0.0, f64::INFINITY);
            assert!(error > 1e-2, "{error}");
        }
        // And its step is larger than that of the order that meets the same.
        let direct = all.iter().find(|c| matches!(c.operator, Operator::Direct { .. })).unwrap();
        assert!(best.dt > direct.dt && best.operator.radius() < direct.operator.radius());
    }

    #[test]
    fn what_no_operator_meets_is_refused_with_what_one_can() {
        let coarse = Demand { max_hz: 70.0, ..demand(1e-5) };
        let message = coarse.choices().unwrap_err().to_string();
        let at = message.find("the nearest is ").unwrap() + 15;
        let nearest: f64 = message[at..].split(' ').next().unwrap().parse().unwrap();
        assert!(Demand { tolerance: 0.01 * nearest, ..coarse }.choices().is_ok(), "{message}");
        assert!(demand(0.9).choices().unwrap_err().to_string().contains("nearest is 50 %"));
        assert!(demand(f64::NAN).choices().is_err());
    }
}
