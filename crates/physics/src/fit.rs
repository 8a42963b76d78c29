//! Weights fitted to the phase velocity over a band of wavelengths.
//!
//! In s = 4 sin^2(x / 2), with x the phase over a cell, a stencil of radius R whose weights sum to zero is
//! `-S = b_1 s + ... + b_R s^R`, and its second moment is `b_1`. So both constraints are met by `b_1 = 1`
//! and no zeroth power; `b_2` to `b_R` are free. The error of the phase velocity, `sqrt(sum_i -S(x_i)) / x - 1`
//! or with leapfrog at Courant number C `asin(C/2 sqrt(sum_i -S(x_i))) / (C x / 2) - 1`, is not linear
//! in b, but it has the sign of `sum_i -S(x_i)` less what would be exact, which is. Dividing one by the
//! other gives the factors of a linear problem; with them at its own solution, that solution is the
//! best of the true problem as well, since a condition on signs and zero sums of gradients decides.
//!
//! Of space alone one axis suffices: for equal spacing the squared phase velocity in any direction is
//! a mean of those along axes at longer wavelengths. Powers of s beyond the first form a Haar system, so R
//! extrema of one size and alternating sign mark the best fit. With time the directions differ, and
//! a sample of them takes part. Then the free powers are no Haar system, and left to themselves they
//! take any size for a small gain in the band. So beyond it -S stays between half of the second-order
//! operator's and the exact x^2, and below what leapfrog can bear at that Courant number (`limits`).

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::{Mutex, PoisonError};

use crate::exchange::{self, Equation};
use crate::operator::{Criterion, Fit, TimeFit};
use crate::{Wavelet, cfl, dispersion};

/// Fewest cells per wavelength at a band's edge.
pub const FEWEST_POINTS: f64 = 2.1;

/// Error of central differences below which weights in double precision leave nothing to fit.
const LEAST_ERROR: f64 = 1e-11;

/// Most cells per wavelength at a band's edge: central differences of the same radius are then exact
/// to 1e-11.
#[must_use]
pub fn most_points(radius: usize) -> f64 {
    let next = taylor(radius + 1)[radius - 1];
    let s = (2.0 * LEAST_ERROR / next).powf(1.0 / radius as f64);
    (10.0 * PI / (0.5 * s.sqrt()).asin()).floor() / 10.0
}

/// Samples of the band per direction and wave speed; they are made denser around extrema.
const SAMPLES: u32 = 160;

/// Parts of the octant's edge that directions are taken from.
const DIRECTIONS: usize = 6;

/// Samples of the angles beyond the band.
const BEYOND: u32 = 48;

/// Fits that are remembered: searches make thousands and plans need few.
const REMEMBERED: usize = 256;

/// Weights of a fit, centre first; made once per process.
///
/// # Panics
/// If the radius is not in 2..=8.
pub(crate) fn weights(fit: &Fit) -> Vec<f64> {
    static KNOWN: Mutex<Option<HashMap<Fit, Vec<f64>>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(weights) = known.get(fit) {
        return weights.clone();
    }
    let weights = made(fit);
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(*fit, weights.clone());
    weights
}

/// Weights from `b_2` to `b_R`, constraints met to rounding.
pub(crate) fn from_powers(free: &[f64]) -> Vec<f64> {
    let radius = free.len() + 1;
    let powers: Vec<f64> = std::iter::once(1.0).chain(free.iter().copied()).collect();
    let mut weights = vec![0.0; radius + 1];
    for (r, weight) in weights.iter_mut().enumerate().skip(2) {
        let sign = if r % 2 == 0 { -1.0 } else { 1.0 };
        *weight = (r..=radius).map(|j| sign * powers[j - 1] * binomial(2 * j, j + r)).sum();
    }
    constrain(&mut weights);
    weights
}

/// Sets the weights of distance one and of the centre so that both constraints hold.
pub(crate) fn constrain(weights: &mut [f64]) {
    let moment: f64 = weights.iter().enumerate().skip(2).map(|(r, w)| (r * r) as f64 * w).sum();
    weights[1] = 1.0 - moment;
    weights[0] = -2.0 * weights[1..].iter().rev().sum::<f64>();
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k.min(n - k)).map(|m| (n - m) as f64 / (m + 1) as f64).product::<f64>().round()
}

/// A wave that takes part in a fit.
#[derive(Debug, Clone, Copy)]
struct Wave {
    /// Phase over a cell along its direction.
    angle: f64,
    /// Courant number; zero for space alone.
    courant: f64,
    direction: [f64; 3],
    weight: f64,
}

impl Wave {
    /// `sum_i s_i^j / scale^j` for j = 1 to the radius.
    fn powers(&self, scale: f64, radius: usize) -> [f64; 8] {
        let mut sums = [0.0; 8];
        for cosine in self.direction.into_iter().filter(|&c| c != 0.0) {
            let s = (2.0 * (0.5 * self.angle * cosine).sin()).powi(2);
            let mut power = 1.0;
            for sum in &mut sums[..radius] {
                power *= s / scale;
                *sum += power;
            }
        }
        sums
    }

    /// What the sum would be if the phase velocity were exact.
    fn exact(&self) -> f64 {
        if self.courant > 0.0 {
            (2.0 / self.courant * (0.5 * self.courant * self.angle).sin()).powi(2)
        } else {
            self.angle * self.angle
        }
    }

    /// Phase velocity over wave speed, less one; NaN where leapfrog is unstable.
    fn error(&self, sum: f64) -> f64 {
        if self.courant > 0.0 {
            let half = 0.5 * self.courant;
            (half * sum.sqrt()).asin() / (half * self.angle) - 1.0
        } else {
            sum.sqrt() / self.angle - 1.0
        }
    }

    /// Derivative of the error by the sum, at the exact sum.
    fn slope(&self) -> f64 {
        let sum = self.exact();
        let cosine = (1.0 - 0.25 * self.courant * self.courant * sum).sqrt();
        0.5 / (sum.sqrt() * cosine * self.angle)
    }

    /// Error over difference of sums.
    fn secant(&self, sum: f64) -> f64 {
        let (exact, error) = (self.exact(), self.error(sum));
        // Close to it the quotient is rounding; the slope is right to the square root of 1e-6.
        if error.is_nan() || (sum / exact - 1.0).abs() < 1e-6 {
            self.slope()
        } else {
            error / (sum - exact)
        }
    }
}

/// Waves of a fit in a band of `samples` per direction and speed, each in the middle of its part of
/// the band for means, at the end for extrema.
fn waves(fit: &Fit, samples: u32) -> Vec<Wave> {
    let shift = if fit.criterion == Criterion::Minimax { 0.0 } else { 0.5 };
    let edge = 2.0 * PI / fit.points.get();
    let TimeFit { courant, contrast, dimensions } =
        fit.time.unwrap_or(TimeFit { courant: 0.0.into(), contrast: 1.0.into(), dimensions: 1 });
    let (courant, contrast) = (courant.get(), contrast.get());
    // At one frequency waves are longer where they are faster.
    let speeds: &[f64] = if contrast > 1.0 { &[1.0, contrast.sqrt(), contrast] } else { &[1.0] };
    let amplitude = |part: f64| match fit.criterion {
        Criterion::Ricker => {
            let ricker = Wavelet::ricker(1.0);
            let u = part * ricker.max_hz();
            u * u * (1.0 - u * u).exp()
        }
        _ => 1.0,
    };
    let mut all = Vec::new();
    for direction in dispersion::directions(dimensions, DIRECTIONS) {
        for speed in speeds {
            for n in 1..=samples {
                let part = (f64::from(n) - shift) / f64::from(samples);
                all.push(Wave {
                    angle: edge * part / speed,
                    courant: courant * speed / contrast,
                    direction,
                    weight: amplitude(part),
                });
            }
        }
    }
    all
}

fn made(fit: &Fit) -> Vec<f64> {
    // The largest s of the band, so that powers stay near one.
    let scale = (2.0 * (PI / fit.points.get()).sin()).powi(2);
    // Central differences to begin with: -S = s + s^2 / 12 + s^3 / 90 + ...
    let mut free = taylor(fit.radius);
    if fit.criterion == Criterion::Minimax {
        level(fit, scale, &mut free);
        return from_powers(&free);
    }
    let Some(time) = fit.time else {
        mean(fit, scale, &mut free, &[]);
        return from_powers(&free);
    };
    // A pull towards the fit of space beyond the band, the smallest that keeps the limits.
    let mut of_space = free.clone();
    mean(&Fit { time: None, ..*fit }, scale, &mut of_space, &[]);
    let waves = limits(fit);
    let mut pull = 1e-8;
    loop {
        let mut tried = free.clone();
        let pulls: Vec<Equation> =
            waves.iter().map(|limit| limit.pull(scale, &of_space, pull)).collect();
        mean(fit, scale, &mut tried, &pulls);
        let weights = from_powers(&tried);
        let courant = cfl::courant_limit_of(&weights, time.dimensions);
        let kept = waves.iter().all(|limit| {
            let value = -dispersion::symbol_of(&weights, limit.angle);
            (limit.low..=limit.high).contains(&value)
        });
        if kept && time.courant.get() <= courant || pull > 10.0 {
            return weights;
        }
        pull *= 10.0;
    }
}

/// Bounds of -S at an angle beyond the band.
#[derive(Debug, Clone, Copy)]
struct Limit {
    angle: f64,
    low: f64,
    high: f64,
}

/// Bounds beyond the band that a fit with time keeps.
fn limits(fit: &Fit) -> Vec<Limit> {
    let Some(time) = fit.time else { return Vec::new() };
    let edge = 2.0 * PI / fit.points.get();
    let stable = 4.0 / (time.dimensions as f64 * time.courant.get().powi(2));
    (1..=BEYOND)
        .map(|n| {
            let angle = edge + (PI - edge) * f64::from(n) / f64::from(BEYOND);
            let low = 0.5 * (2.0 * (0.5 * angle).sin()).powi(2);
            Limit { angle, low, high: (angle * angle).min(stable * (1.0 - 1e-9)) }
        })
        .collect()
}

impl Limit {
    fn wave(&self) -> Wave {
        Wave { angle: self.angle, courant: 0.0, direction: [1.0, 0.0, 0.0], weight: 1.0 }
    }

    /// Factors of the free powers in the phase velocity, in units of `scale`.
    fn row(&self, scale: f64, unknowns: usize) -> ([f64; exchange::MOST], f64) {
        let powers = self.wave().powers(scale, unknowns + 1);
        let factor = 0.5 / (self.angle * self.angle);
        let mut row = [0.0; exchange::MOST];
        // Beyond the band s exceeds `scale`, and its powers are what they are.
        for (value, power) in row.iter_mut().zip(&powers[1..=unknowns]) {
            *value = factor * power;
        }
        (row, factor * powers[0] * scale)
    }

    fn bounds(&self, scale: f64, unknowns: usize) -> [Equation; 2] {
        let (row, own) = self.row(scale, unknowns);
        let factor = 0.5 / (self.angle * self.angle);
        let below = row.map(|value| -value);
        [
            Equation { row, target: factor * self.high - own, bound: true },
            Equation { row: below, target: own - factor * self.low, bound: true },
        ]
    }

    /// The equation that draws powers to `towards`, for absolute unknowns.
    fn pull(&self, scale: f64, towards: &[f64], weight: f64) -> Equation {
        let (row, _) = self.row(scale, towards.len());
        let mut power = scale;
        let mut target = 0.0;
        for (value, b) in row.iter().zip(towards) {
            power *= scale;
            target += value * b * power;
        }
        Equation { row: row.map(|v| v * weight), target: target * weight, bound: false }
    }
}

/// Makes the mean square small: Gauss and Newton from `free`, with equations for the powers beside.
fn mean(fit: &Fit, scale: f64, free: &mut [f64], beside: &[Equation]) {
    let waves = waves(fit, SAMPLES);
    for _ in 0..12 {
        let here: Vec<f64> =
            (2..).zip(free.iter()).map(|(power, b)| b * scale.powi(power)).collect();
        let left = beside.iter().map(|e| {
            let met: f64 = e.row.iter().zip(&here).map(|(a, x)| a * x).sum();
            Equation { target: e.target - met, ..*e }
        });
        let rows = waves.iter().map(|wave| equation(wave, scale, free)).chain(left);
        let Some(change) = least_squares(rows, free.len()) else { return };
        for ((power, b), c) in (2..).zip(free.iter_mut()).zip(&change) {
            *b += c / scale.powi(power);
        }
        if change.iter().all(|c| c.abs() <= 1e-14 * scale) {
            return;
        }
    }
}

/// `b_2` to `b_R` of central differences: 2 ((j-1)!)^2 / (2j)!.
pub(crate) fn taylor(radius: usize) -> Vec<f64> {
    let mut term = 1.0;
    (1..radius)
        .map(|j| {
            let j = j as f64;
            term *= j * j / ((2.0 * j + 2.0) * (2.0 * j + 1.0));
            term
        })
        .collect()
}

/// The sum over axes of -S for given powers.
fn sum_of(powers: &[f64; 8], scale: f64, free: &[f64]) -> f64 {
    let mut scaled = scale;
    let mut sum = powers[0] * scale;
    for (b, power) in free.iter().zip(&powers[1..]) {
        scaled *= scale;
        sum += b * scaled * power;
    }
    sum
}

/// One step of Gauss and Newton: what to add to the free powers, in units of `scale`.
fn equation(wave: &Wave, scale: f64, free: &[f64]) -> Equation {
    let powers = wave.powers(scale, free.len() + 1);
    let sum = sum_of(&powers, scale, free);
    let mut row = [0.0; exchange::MOST];
    let slope = wave.slope() * wave.weight;
    for (value, power) in row.iter_mut().zip(&powers[1..=free.len()]) {
        *value = slope * power;
    }
    let error = wave.error(sum);
    let error = if error.is_nan() { wave.slope() * (sum - wave.exact()) } else { error };
    Equation { row, target: -wave.weight * error, bound: false }
}

/// Least squares by orthogonal rows (modified Gram and Schmidt on columns).
pub(crate) fn least_squares(
    equations: impl Iterator<Item = Equation>,
    unknowns: usize,
) -> Option<Vec<f64>> {
    let (mut columns, mut right) = (vec![Vec::new(); unknowns], Vec::new());
    for equation in equations {
        for (column, value) in columns.iter_mut().zip(equation.row) {
            column.push(value);
        }
        right.push(equation.target);
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let mut upper = vec![vec![0.0; unknowns]; unknowns];
    let mut rotated = vec![0.0; unknowns];
    for c in 0..unknowns {
        // Twice, so that columns that are nearly parallel are orthogonal to rounding.
        for _ in 0..2 {
            for b in 0..c {
                let share = dot(&columns[b], &columns[c]);
                upper[b][c] += share;
                let (before, after) = columns.split_at_mut(c);
                for (x, y) in after[0].iter_mut().zip(&before[b]) {
                    *x -= share * y;
                }
            }
        }
        let length = dot(&columns[c], &columns[c]).sqrt();
        if !(length.is_finite() && length > 0.0) {
            return None;
        }
        upper[c][c] = length;
        columns[c].iter_mut().for_each(|x| *x /= length);
        rotated[c] = dot(&columns[c], &right);
        for (x, y) in right.iter_mut().zip(&columns[c]) {
            *x -= rotated[c] * y;
        }
    }
    exchange::solve(upper, rotated)
}

/// Makes the largest error small: linear problems whose factors follow their solutions, on samples that
/// grow denser around the extrema.
fn level(fit: &Fit, scale: f64, free: &mut [f64]) {
    let unknowns = free.len();
    let mut waves = waves(fit, SAMPLES);
    let spread = SAMPLES as usize / (unknowns + 1);
    let reference: Vec<usize> = (1..=unknowns + 1).map(|n| n * spread - 1).collect();
    let mut decides = reference.clone();
    let mut width = 2.0 * PI / fit.points.get() / f64::from(SAMPLES);
    let edge = 2.0 * PI / fit.points.get();
    let bounds: Vec<Equation> =
        limits(fit).iter().flat_map(|limit| limit.bounds(scale, unknowns)).collect();
    for round in 0..3 {
        for _ in 0..12 {
            let equations: Vec<Equation> =
                waves.iter().map(|wave| linear(wave, scale, free)).chain(bounds.clone()).collect();
            let Some(found) = exchange::least_largest(&equations, unknowns, &reference) else {
                return;
            };
            // Bounds that decide follow the waves, whose number grows.
            decides = found.reference.iter().copied().filter(|&n| n < waves.len()).collect();
            let mut change = 0.0_f64;
            let mut power = scale;
            for (b, x) in free.iter_mut().zip(found.x) {
                power *= scale;
                change = change.max((x - *b * power).abs());
                *b = x / power;
            }
            // In units of the phase velocity.
            if change <= 1e-13 * scale {
                break;
            }
        }
        if round == 2 {
            break;
        }
        for &n in &decides {
            let centre = waves[n];
            let limit = edge * centre.courant_share(fit);
            for m in -16..=16_i32 {
                let angle = centre.angle + width * f64::from(m) / 16.0;
                if angle > 0.0 && angle <= limit {
                    waves.push(Wave { angle, ..centre });
                }
            }
        }
        width /= 16.0;
    }
}

impl Wave {
    /// Where the band ends at this wave's speed, over where it ends at the smallest.
    fn courant_share(&self, fit: &Fit) -> f64 {
        match fit.time {
            Some(time) => time.courant.get() / (time.contrast.get() * self.courant),
            None => 1.0,
        }
    }
}

/// The linear equation for the free powers, in units of `scale`, with factors at `free`.
fn linear(wave: &Wave, scale: f64, free: &[f64]) -> Equation {
    let powers = wave.powers(scale, free.len() + 1);
    let factor = wave.secant(sum_of(&powers, scale, free)) * wave.weight;
    let mut row = [0.0; exchange::MOST];
    for (value, power) in row.iter_mut().zip(&powers[1..=free.len()]) {
        *value = factor * power;
    }
    Equation { row, target: factor * (wave.exact() - powers[0] * scale), bound: false }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
