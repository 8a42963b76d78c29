//! The trace that leapfrog on an unbounded grid gives in exact arithmetic.
//!
//! The z-transform of the scheme in a homogeneous medium is solved by Fourier transform in space:
//! `P(z) = S(z) / (hx hy hz) int dk/(2 pi)^d e^(i k x) / (A(z) - sum_i S(k_i h_i)/h_i^2)`,
//! `A = (z - 2 + 1/z) / (c dt)^2`. The integral is a sum over a periodic grid so large that no
//! periodic image arrives in time, and z runs on a circle outside the unit circle, which damps what
//! comes round in time (an exponential window). No wavefield is stepped: the prediction shares
//! nothing with a propagator but the operator's weights.

use std::f64::consts::PI;

use crate::dispersion::symbol_of;
use crate::{Grid, Operator};

/// What comes round in time is damped by this factor.
const WRAPPED: f64 = 1e-9;

/// Frequencies whose source spectrum is below this share of the largest are left out.
const NEGLIGIBLE: f64 = 1e-12;

/// A homogeneous medium on an unbounded grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// Spacing and number of dimensions; the extent does not matter.
    pub grid: Grid,
    /// Space operator.
    pub operator: Operator,
    /// Wave speed, m/s.
    pub wave_speed: f64,
    /// Time step, s.
    pub dt: f64,
}

impl Lattice {
    /// p^n for n in 0..`steps` at each of `offsets`, nodes from a source of `amplitudes` per step
    /// that is on a node; shape (offset, step).
    #[must_use]
    pub fn traces(
        &self,
        amplitudes: &[f64],
        offsets: &[[isize; 3]],
        steps: usize,
    ) -> Vec<Vec<f64>> {
        let sheets = self.sheets(offsets, steps);
        let length = 2 * steps;
        let growth = WRAPPED.powf(-1.0 / length as f64);
        let measure = self.grid.cell_measure();
        let spectrum: Vec<(f64, f64)> =
            (0..=steps).map(|m| transform(amplitudes, growth, angle_at(m, length))).collect();
        let largest = spectrum.iter().map(|(re, im)| re.hypot(*im)).fold(0.0, f64::max);
        let mut traces = vec![vec![0.0; steps]; offsets.len()];
        for (m, source) in spectrum.iter().enumerate() {
            if source.0.hypot(source.1) <= NEGLIGIBLE * largest {
                continue;
            }
            // A = (z - 2 + 1/z) / (c dt)^2 for z = growth e^(i angle).
            let (sin, cos) = angle_at(m, length).sin_cos();
            let scale = (self.wave_speed * self.dt).powi(-2);
            let a = (
                ((growth + 1.0 / growth) * cos - 2.0) * scale,
                (growth - 1.0 / growth) * sin * scale,
            );
            let share = if m == 0 || m == steps { 1.0 } else { 2.0 } / length as f64;
            for (trace, sheet) in traces.iter_mut().zip(&sheets) {
                let green = sheet.sum(a);
                let re = (source.0 * green.0 - source.1 * green.1) * share / measure;
                let im = (source.0 * green.1 + source.1 * green.0) * share / measure;
                let mut power = 1.0;
                for (n, value) in trace.iter_mut().enumerate() {
                    let (sin, cos) = angle_at(m * n % length, length).sin_cos();
                    *value += power * (re * cos - im * sin);
                    power *= growth;
                }
            }
        }
        traces
    }

    fn sheets(&self, offsets: &[[isize; 3]], steps: usize) -> Vec<Modes> {
        let weights = self.operator.second_derivative();
        let reach = self.wave_speed * self.dt * steps as f64;
        offsets
            .iter()
            .map(|offset| {
                let mut modes = Modes { square: vec![0.0], weight: vec![1.0] };
                for axis in self.grid.active_axes() {
                    let h = self.grid.spacing[axis.index()];
                    let away = offset[axis.index()].unsigned_abs();
                    // Numerical waves may be a few per cent faster than c.
                    let cells = crate::resample::floor_index(1.08 * reach / h).unsigned_abs();
                    let nodes = (cells + away + 8).next_multiple_of(2);
                    modes = modes.along(&weights, h, nodes, away);
                }
                modes.merged()
            })
            .collect()
    }
}

/// The operator's `k^2` for each wave number, 1/m^2, and its share in the field at an offset.
struct Modes {
    square: Vec<f64>,
    weight: Vec<f64>,
}

impl Modes {
    /// The tensor product with one more axis: `nodes` periodic nodes, wave numbers of either sign
    /// taken together.
    fn along(&self, weights: &[f64], spacing: f64, nodes: usize, away: usize) -> Self {
        let mut product = Self { square: Vec::new(), weight: Vec::new() };
        for m in 0..=nodes / 2 {
            let angle = angle_at(m, nodes);
            let square = -symbol_of(weights, angle) / (spacing * spacing);
            let twice = if m == 0 || 2 * m == nodes { 1.0 } else { 2.0 };
            let weight = twice * angle_at(m * away % nodes, nodes).cos() / nodes as f64;
            product.square.extend(self.square.iter().map(|s| s + square));
            product.weight.extend(self.weight.iter().map(|w| w * weight));
        }
        product
    }

    /// Equal squares (grids with equal spacing have many) taken together.
    fn merged(self) -> Self {
        let mut pairs: Vec<(f64, f64)> = self.square.into_iter().zip(self.weight).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut merged = Self { square: Vec::new(), weight: Vec::new() };
        for (square, weight) in pairs {
            match (merged.square.last(), merged.weight.last_mut()) {
                (Some(last), Some(total)) if square - last <= 1e-13 * square => *total += weight,
                _ => {
                    merged.square.push(square);
                    merged.weight.push(weight);
                }
            }
        }
        merged
    }

    /// The sum of weight / (a + square), complex.
    fn sum(&self, a: (f64, f64)) -> (f64, f64) {
        let (mut re, mut im) = (0.0, 0.0);
        for (square, weight) in self.square.iter().zip(&self.weight) {
            let real = a.0 + square;
            let scale = weight / (real * real + a.1 * a.1);
            re += real * scale;
            im -= a.1 * scale;
        }
        (re, im)
    }
}

/// The sum of `s_n z^-n` at `z = growth e^(i angle)`.
fn transform(series: &[f64], growth: f64, angle: f64) -> (f64, f64) {
    let (mut re, mut im, mut power) = (0.0, 0.0, 1.0);
    let (turn_sin, turn_cos) = angle.sin_cos();
    let (mut sin, mut cos) = (0.0, 1.0);
    for value in series {
        re += value * power * cos;
        im -= value * power * sin;
        power /= growth;
        (cos, sin) = (cos * turn_cos - sin * turn_sin, sin * turn_cos + cos * turn_sin);
    }
    (re, im)
}

/// 2 pi m / count.
fn angle_at(m: usize, count: usize) -> f64 {
    2.0 * PI * m as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Wavelet, cfl, greens};

    fn lattice(shape: [usize; 3], spacing: [f64; 3], order: usize, cfl_fraction: f64) -> Lattice {
        let grid = Grid::new(shape, spacing, [0.0; 3]).unwrap();
        let operator = Operator::Direct { order };
        let dt = cfl_fraction * cfl::largest_dt(&grid, &operator, 2000.0);
        Lattice { grid, operator, wave_speed: 2000.0, dt }
    }

    fn relative_l2(got: &[f64], want: &[f64]) -> f64 {
        let difference: f64 = got.iter().zip(want).map(|(a, b)| (a - b).powi(2)).sum();
        (difference / want.iter().map(|b| b * b).sum::<f64>()).sqrt()
    }

    /// Plain leapfrog in 2-D, order 2, on a grid that no reflection crosses in time.
    #[test]
    fn it_is_what_a_plain_leapfrog_loop_gives() {
        let lattice = lattice([9, 1, 9], [10.0, 1.0, 13.0], 2, 0.8);
        let steps = 60;
        let source = Wavelet::ricker(25.0).sampled(lattice.dt, steps);
        let (n, at) = (161, 80);
        let (mut now, mut next) = (vec![0.0; n * n], vec![0.0; n * n]);
        let mut trace = Vec::new();
        let factor = (lattice.wave_speed * lattice.dt).powi(2);
        for s in &source {
            trace.push(now[(at + 5) * n + at - 7]);
            for i in 1..n - 1 {
                for k in 1..n - 1 {
                    let p = i * n + k;
                    let xx = (now[p - n] + now[p + n] - 2.0 * now[p]) / 100.0;
                    let zz = (now[p - 1] + now[p + 1] - 2.0 * now[p]) / 169.0;
                    next[p] = 2.0 * now[p] - next[p] + factor * (xx + zz);
                }
            }
            next[at * n + at] += factor * s / 130.0;
            std::mem::swap(&mut now, &mut next);
        }
        let predicted = lattice.traces(&source, &[[5, 0, -7]], steps).remove(0);
        let error = relative_l2(&predicted, &trace);
        assert!(error < 1e-7, "{error}");
    }

    #[test]
    fn its_distance_from_exact_time_is_the_predicted_time_error() {
        for (shape, dimensions) in [([9, 9, 9], 3), ([9, 1, 9], 2)] {
            // 20 cells per peak wavelength, order 16: the space error is negligible.
            let lattice = lattice(shape, [10.0; 3], 16, 0.4);
            let wavelet = Wavelet::ricker(10.0);
            let steps = crate::resample::floor_index(0.5 / lattice.dt).unsigned_abs();
            let source = wavelet.sampled(lattice.dt, steps);
            let got = lattice.traces(&source, &[[30, 0, 0]], steps).remove(0);
            let want: Vec<f64> = (0..steps)
                .map(|n| {
                    let images = [(1.0, 300.0)];
                    let t = n as f64 * lattice.dt;
                    greens::with_images(dimensions, &wavelet, 2000.0, &images, t)
                })
                .collect();
            let error = relative_l2(&got, &want);
            let predicted = greens::ricker_time_error(dimensions, 10.0, lattice.dt, 300.0, 2000.0);
            assert!((error / predicted - 1.0).abs() < 0.05, "{dimensions}-D: {error}, {predicted}");
        }
    }
}
