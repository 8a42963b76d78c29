//! Reflection from the interface of two half spaces, midway between two nodes.
//!
//! Between rigid side walls `cos(kx x)` is carried unchanged, so a source of that shape makes plane
//! waves at the angle `sin(theta) = kx c / w`, and kx = 0 is normal incidence. Traces with and
//! without the lower half space give the incident and the reflected wave, their spectra at one
//! frequency the coefficient. The spectra are taken at `w - i eps`, which damps the end of the
//! traces; the theory holds there as well.

use std::f64::consts::PI;

use ndarray::Array3;
use temblor_backend::Backend;
use temblor_physics::{Arithmetic, AxisWeights, Boundary, Face, Grid, PointWeights, Wavelet};

use super::shot::{Shot, arithmetics, one_source, open_problem, steps_for};
use crate::{CheckError, Outcome};

const SPACING: f64 = 10.0;
/// Cells per wavelength at the peak in the slower medium.
const CELLS: f64 = 20.0;
/// Cells from the interface up to the source and to the receiver.
const FROM_SOURCE: usize = 40;
const FROM_RECEIVER: usize = 20;
/// Nodes between the side walls.
const ACROSS: usize = 40;

#[derive(Debug, Clone, Copy)]
struct Complex(f64, f64);

impl Complex {
    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }

    fn over(self, other: Self) -> Self {
        let square = other.0 * other.0 + other.1 * other.1;
        let product = self.times(Self(other.0, -other.1));
        Self(product.0 / square, product.1 / square)
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }

    fn scaled(self, by: f64) -> Self {
        Self(self.0 * by, self.1 * by)
    }

    fn size(self) -> f64 {
        self.0.hypot(self.1)
    }

    /// The root with a negative imaginary part: waves that decay away from the source for
    /// exp(i w t).
    fn decaying_root(self) -> Self {
        let size = self.size();
        let (re, im) = ((0.5 * (size + self.0)).sqrt(), -(0.5 * (size - self.0)).sqrt());
        if self.1 > 0.0 { Self(-re, im) } else { Self(re, im) }
    }

    fn exp(self) -> Self {
        Self(self.0.exp() * self.1.cos(), self.0.exp() * self.1.sin())
    }
}

/// The sum of samples times exp(-i w t).
fn spectrum(trace: impl Iterator<Item = f64>, frequency: Complex, dt: f64) -> Complex {
    trace.enumerate().fold(Complex(0.0, 0.0), |sum, (n, value)| {
        let turn = frequency.times(Complex(0.0, -dt * n as f64)).exp();
        Complex(sum.0 + value * turn.0, sum.1 + value * turn.1)
    })
}

/// Wave number down the grid at a wave speed.
fn downwards(frequency: Complex, across: f64, wave_speed: f64) -> Complex {
    let total = frequency.scaled(1.0 / wave_speed);
    total.times(total).minus(Complex(across * across, 0.0)).decaying_root()
}

/// |measured / theory - 1| of the coefficient with its phase, at the peak frequency.
fn error(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    [upper, lower]: [f64; 2],
    mode: usize,
) -> Result<(f64, f64), CheckError> {
    let slower = upper.min(lower);
    let wavelet = Wavelet::ricker(slower / (CELLS * SPACING));
    let path = SPACING * (FROM_SOURCE + FROM_RECEIVER) as f64;
    // Guided waves near their cut-off come late: four times the time of a direct one.
    let duration = 4.0 * path / upper + wavelet.end();
    let margin = |speed: f64| steps_for(0.55 * duration * speed / SPACING, 1.0);
    // Without the lower half space the wave runs down at the upper speed.
    let (above, below) = (margin(upper), margin(upper.max(lower)));
    let interface = above + FROM_SOURCE;
    let grid = Grid::new([ACROSS, 1, interface + below + 1], [SPACING; 3], [0.0; 3])?;
    let mut problem = open_problem(grid, 8, upper.max(lower), 0.5, arithmetic)?;
    problem.boundaries.set(Face::XMin, Boundary::Rigid);
    problem.boundaries.set(Face::XMax, Boundary::Rigid);
    let across = PI * mode as f64 / (ACROSS as f64 * SPACING);
    let shape = |i: usize| (across * SPACING * (i as f64 + 0.5)).cos();
    let x = AxisWeights { first: 0, weights: (0..ACROSS).map(|i| shape(i) / SPACING).collect() };
    let on = AxisWeights::on_node;
    // The interface lies half a cell below node `interface`.
    let source = PointWeights { axes: [x, on(0), on(interface - FROM_SOURCE)] };
    let steps = steps_for(duration, problem.dt);
    let speeds = |below: f64| {
        Array3::from_shape_fn(grid.shape, |(_, _, k)| if k <= interface { upper } else { below })
    };
    let run = |below: f64| {
        let shot = Shot {
            problem: problem.clone(),
            wave_speed: speeds(below),
            sources: one_source(source.clone(), wavelet.sampled(problem.dt, steps)),
            receivers: vec![PointWeights::on_node([0, 0, interface - FROM_RECEIVER])],
            steps,
        };
        shot.traces(backend, variant)
    };
    let (alone, layered) = (run(upper)?, run(lower)?);
    // The window falls to 1e-3 at the end of the record.
    let frequency = Complex(2.0 * PI * wavelet.peak_hz(), -(1e3_f64).ln() / duration);
    let incident = spectrum(alone.row(0).iter().copied(), frequency, problem.dt);
    let difference = &layered - &alone;
    let reflected = spectrum(difference.iter().copied(), frequency, problem.dt);
    let (k_upper, k_lower) =
        (downwards(frequency, across, upper), downwards(frequency, across, lower));
    let sum = Complex(k_upper.0 + k_lower.0, k_upper.1 + k_lower.1);
    let coefficient = k_upper.minus(k_lower).over(sum);
    // From the receiver to the interface and back.
    let twice = 2.0 * (FROM_RECEIVER as f64 + 0.5) * SPACING;
    let delay = k_upper.times(Complex(0.0, -twice)).exp();
    let ratio = reflected.over(incident).over(coefficient.times(delay));
    Ok((ratio.minus(Complex(1.0, 0.0)).size(), coefficient.size()))
}

pub(super) fn two_layers(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        for speeds in [[1500.0, 2500.0], [1500.0, 1800.0], [3000.0, 1500.0]] {
            // Two half waves across where the upper medium is the slower, one where it is twice as
            // fast: 30 degrees at the peak.
            for mode in [0, if speeds[0] < speeds[1] { 2 } else { 1 }] {
                let (deviation, size) = error(backend, variant, arithmetic, speeds, mode)?;
                let way = if mode == 0 { "normal" } else { "oblique" };
                let what = format!(
                    "{arithmetic:?} {} over {} m/s, {way}: deviation from |R| = {size:.4}",
                    speeds[0], speeds[1]
                );
                outcomes.push(Outcome::new(what, deviation, 0.02));
            }
        }
    }
    Ok(outcomes)
}
