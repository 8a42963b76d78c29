//! Green's functions of a homogeneous medium in 2-D and 3-D.
//!
//! A trace is compared with that of the exact discrete dispersion relation (`lattice`) and with the
//! solution in exact space and time, from which it must differ by the predicted time dispersion and
//! what the space operator adds. The grid ends where no echo arrives in time.

use ndarray::Array2;
use temblor_backend::Backend;
use temblor_physics::lattice::Lattice;
use temblor_physics::{Arithmetic, Grid, Wavelet, greens};

use super::shot::{Shot, arithmetics, open_problem, relative_l2, steps_for};
use crate::{CheckError, Outcome};

const WAVE_SPEED: f64 = 2000.0;

/// A source in the middle of a grid without boundaries and receivers at `offsets`, nodes.
struct Set {
    dimensions: usize,
    /// Cells per wavelength at the peak, along the axis with the largest spacing.
    cells: f64,
    spacing: [f64; 3],
    offsets: Vec<[isize; 3]>,
}

impl Set {
    fn wavelet(&self) -> Wavelet {
        let largest = self.spacing[0].max(self.spacing[2]);
        Wavelet::ricker(WAVE_SPEED / (self.cells * largest))
    }

    fn distance(&self, offset: [isize; 3]) -> f64 {
        (0..3).map(|a| (offset[a] as f64 * self.spacing[a]).powi(2)).sum::<f64>().sqrt()
    }

    /// The shot, its lattice and the step's limit.
    fn shot(
        &self,
        arithmetic: Arithmetic,
        cfl_fraction: f64,
    ) -> Result<(Shot, Lattice), CheckError> {
        let wavelet = self.wavelet();
        let farthest = self.offsets.iter().map(|&o| self.distance(o)).fold(0.0, f64::max);
        let duration = farthest / WAVE_SPEED + wavelet.end();
        // The path by way of the edge, twice the half width less the receiver's offset, is longer
        // than the run with 5 % to spare; waves of the scheme are a few per cent fast.
        let half = std::array::from_fn(|a: usize| {
            let away = self.offsets.iter().map(|o| o[a].unsigned_abs()).max().unwrap_or(0);
            let travelled = 1.05 * duration * WAVE_SPEED / self.spacing[a];
            steps_for(0.5 * (travelled + away as f64), 1.0) + 2
        });
        let [hx, hy, hz] = half;
        let ny = if self.dimensions == 3 { 2 * hy + 1 } else { 1 };
        let grid = Grid::new([2 * hx + 1, ny, 2 * hz + 1], self.spacing, [0.0; 3])?;
        let problem = open_problem(grid, 8, WAVE_SPEED, cfl_fraction, arithmetic)?;
        let source = [hx, ny / 2, hz];
        let receivers: Vec<[usize; 3]> = (self.offsets.iter())
            .map(|o| std::array::from_fn(|a| source[a].saturating_add_signed(o[a])))
            .collect();
        let steps = steps_for(duration, problem.dt);
        let operator = problem.operator;
        let lattice = Lattice { grid, operator, wave_speed: WAVE_SPEED, dt: problem.dt };
        let shot = Shot::on_nodes(&problem, WAVE_SPEED, &wavelet, source, &receivers, steps);
        Ok((shot, lattice))
    }

    /// The trace in exact space and time.
    fn exact(&self, offset: [isize; 3], dt: f64, steps: usize) -> Vec<f64> {
        let (wavelet, images) = (self.wavelet(), [(1.0, self.distance(offset))]);
        let at = |n: usize| n as f64 * dt;
        (0..steps)
            .map(|n| greens::with_images(self.dimensions, &wavelet, WAVE_SPEED, &images, at(n)))
            .collect()
    }

    /// Relative errors that the space operator causes, one per offset: the lattice's with a twentieth
    /// of the limit, whose time error is 0.3 % of that at 0.9.
    fn space_errors(&self) -> Result<Vec<f64>, CheckError> {
        let (shot, lattice) = self.shot(Arithmetic::F64, 0.05)?;
        let series = self.wavelet().sampled(lattice.dt, shot.steps);
        let traces = lattice.traces(&series, &self.offsets, shot.steps);
        let exact = |offset| self.exact(offset, lattice.dt, shot.steps);
        Ok(traces.iter().zip(&self.offsets).map(|(t, &o)| relative_l2(t, &exact(o))).collect())
    }

    fn outcomes(
        &self,
        backend: &dyn Backend,
        variant: &str,
        cfl_fractions: &[f64],
    ) -> Result<Vec<Outcome>, CheckError> {
        let space_errors = self.space_errors()?;
        let mut outcomes = Vec::new();
        for &cfl_fraction in cfl_fractions {
            let (shot, lattice) = self.shot(Arithmetic::F64, cfl_fraction)?;
            let (dt, steps) = (lattice.dt, shot.steps);
            let series = self.wavelet().sampled(dt, steps);
            let discrete = lattice.traces(&series, &self.offsets, steps);
            let exact: Vec<_> = self.offsets.iter().map(|&o| self.exact(o, dt, steps)).collect();
            for arithmetic in arithmetics(backend) {
                let got = self.shot(arithmetic, cfl_fraction)?.0.traces(backend, variant)?;
                for (n, &offset) in self.offsets.iter().enumerate() {
                    let what = |kind: &str| {
                        format!(
                            "{arithmetic:?} {}-D, {} cells per wavelength, {cfl_fraction} of the \
                             limit, offset {offset:?}: {kind}",
                            self.dimensions, self.cells
                        )
                    };
                    let to_discrete = relative_l2(got.row(n), &discrete[n]);
                    outcomes.push(Outcome::new(what("off the discrete trace"), to_discrete, 5e-3));
                    let to_exact = relative_l2(got.row(n), &exact[n]);
                    let (peak_hz, distance) = (self.wavelet().peak_hz(), self.distance(offset));
                    let time_error = greens::ricker_time_error(
                        self.dimensions,
                        peak_hz,
                        dt,
                        distance,
                        WAVE_SPEED,
                    );
                    // The formula is of first order in the phase error: 30 % for the largest here.
                    let most = 1.3 * time_error + space_errors[n] + 2e-3;
                    outcomes.push(
                        Outcome::new(what("off exact space and time"), to_exact, most)
                            .predicted(time_error + space_errors[n]),
                    );
                }
            }
        }
        Ok(outcomes)
    }
}

pub(super) fn greens_3d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let run = |cells, spacing, cfl_fractions: &[f64], offsets: &[[isize; 3]]| {
        let set = Set { dimensions: 3, cells, spacing, offsets: offsets.to_vec() };
        set.outcomes(backend, variant, cfl_fractions)
    };
    let far = [[14, 0, 0], [0, 0, -14], [8, 8, 8]];
    let mut all = run(10.0, [10.0; 3], &[0.9, 0.45], &far)?;
    all.extend(run(12.0, [10.0, 8.0, 9.0], &[0.45], &[[8, 8, 0], [0, -9, 7]])?);
    all.extend(run(10.0, [10.0; 3], &[0.05], &[[3, 0, 0], [-2, 3, 2]])?);
    Ok(all)
}

/// Traces 1.4 wavelengths away, along two axes and a diagonal, 10 cells per wavelength, 0.9 of the limit, and the
/// largest relative L2 error against the exact discrete traces.
pub(crate) fn discrete_error(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
) -> Result<(Array2<f64>, f64), CheckError> {
    let offsets = vec![[14, 0, 0], [0, 0, -14], [8, 8, 8]];
    let set = Set { dimensions: 3, cells: 10.0, spacing: [10.0; 3], offsets };
    let (shot, lattice) = set.shot(arithmetic, 0.9)?;
    let got = shot.traces(backend, variant)?;
    let series = set.wavelet().sampled(lattice.dt, shot.steps);
    let discrete = lattice.traces(&series, &set.offsets, shot.steps);
    let errors = discrete.iter().enumerate().map(|(n, trace)| relative_l2(got.row(n), trace));
    let worst = errors.fold(0.0, |worst: f64, e| if e <= worst { worst } else { e });
    Ok((got, worst))
}

pub(super) fn greens_2d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut all = Vec::new();
    for (cells, spacing) in [(10.0, [10.0; 3]), (14.0, [10.0, 1.0, 8.0])] {
        let offsets = vec![[20, 0, 0], [0, 0, -20], [25, 0, 25]];
        let set = Set { dimensions: 2, cells, spacing, offsets };
        all.extend(set.outcomes(backend, variant, &[0.9, 0.45, 0.2, 0.05])?);
    }
    Ok(all)
}

/// Largest value of a trace, by a parabola through the three samples around it.
fn peak(trace: &[f64]) -> f64 {
    let n = (1..trace.len() - 1).max_by(|&a, &b| trace[a].total_cmp(&trace[b])).unwrap_or(1);
    let (before, top, after) = (trace[n - 1], trace[n], trace[n + 1]);
    let (slope, bend) = (0.5 * (after - before), after - 2.0 * top + before);
    top - 0.5 * slope * slope / bend
}

fn halving(
    backend: &dyn Backend,
    variant: &str,
    dimensions: usize,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let peak_of = |refined: isize| -> Result<f64, CheckError> {
            let set = Set {
                dimensions,
                cells: 10.0 * refined as f64,
                spacing: [10.0 / refined as f64; 3],
                offsets: vec![[6 * refined, 0, 8 * refined]],
            };
            let trace = set.shot(arithmetic, 0.45)?.0.traces(backend, variant)?;
            Ok(peak(&trace.row(0).to_vec()))
        };
        let change = (peak_of(1)? / peak_of(2)? - 1.0).abs();
        let what = format!("{arithmetic:?} {dimensions}-D: change of the peak, 10 to 20 cells");
        outcomes.push(Outcome::new(what, change, 5e-3));
    }
    Ok(outcomes)
}

pub(super) fn halving_2d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    halving(backend, variant, 2)
}

pub(super) fn halving_3d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    halving(backend, variant, 3)
}
