//! The correction of time dispersion (Koene et al. 2018) on a 2-D Green's function.
//!
//! The step is at 0.9 of its limit. The corrected record must differ from exact space and time by no
//! more than what the space operator adds, which the lattice gives at a twentieth of the limit, and
//! the corrections' own 1e-3.

use temblor_backend::Backend;
use temblor_physics::lattice::Lattice;
use temblor_physics::time_dispersion::source_series;
use temblor_physics::{Grid, Resampler, Wavelet, cfl, greens};

use super::shot::{Shot, arithmetics, one_source, open_problem, relative_l2, steps_for};
use crate::{CheckError, Outcome};

const WAVE_SPEED: f64 = 2000.0;
const SPACING: f64 = 10.0;
/// Cells per wavelength at the peak.
const CELLS: f64 = 12.0;
/// Nodes from source to receiver along x and z.
const OFFSET: usize = 30;

pub(super) fn removed_2d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let wavelet = Wavelet::ricker(WAVE_SPEED / (CELLS * SPACING));
    let distance = OFFSET as f64 * SPACING * 2.0_f64.sqrt();
    let duration = distance / WAVE_SPEED + wavelet.end();
    let interval = 1.0 / (15.0 * wavelet.peak_hz());
    let exact_at = |interval: f64, samples: usize| -> Vec<f64> {
        let at = |n: usize| n as f64 * interval;
        (0..samples)
            .map(|n| greens::homogeneous_2d(&wavelet, WAVE_SPEED, distance, at(n)))
            .collect()
    };
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let small = Grid::new([2, 1, 2], [SPACING; 3], [0.0; 3])?;
        let dt = open_problem(small, 8, WAVE_SPEED, 0.9, arithmetic)?.dt;
        let max_hz = wavelet.max_hz();
        let corrected = Resampler::without_time_dispersion(dt, interval, duration, max_hz)?;
        let plain = Resampler::new(dt, interval, duration)?;
        let steps = corrected.steps().max(plain.steps());
        let travelled = 1.05 * steps as f64 * dt * WAVE_SPEED / SPACING;
        let half = steps_for(0.5 * (travelled + OFFSET as f64), 1.0) + 2;
        let grid = Grid::new([2 * half + 1, 1, 2 * half + 1], [SPACING; 3], [0.0; 3])?;
        let problem = open_problem(grid, 8, WAVE_SPEED, 0.9, arithmetic)?;
        let (source, receiver) = ([half, 0, half], [half + OFFSET, 0, half + OFFSET]);
        let exact = exact_at(interval, plain.samples());
        let record = |resampler: &Resampler, series: Vec<f64>| -> Result<f64, CheckError> {
            let mut shot =
                Shot::on_nodes(&problem, WAVE_SPEED, &wavelet, source, &[receiver], steps);
            shot.sources = one_source(shot.sources.points.remove(0), series);
            let record = resampler.apply(&shot.traces(backend, variant)?.view());
            Ok(relative_l2(record.row(0), &exact))
        };
        let before = record(&plain, wavelet.sampled(dt, steps))?;
        let after = record(&corrected, source_series(&wavelet, dt, steps))?;
        let fine = 0.05 * cfl::largest_dt(&grid, &problem.operator, WAVE_SPEED);
        let operator = problem.operator;
        let lattice = Lattice { grid, operator, wave_speed: WAVE_SPEED, dt: fine };
        let count = steps_for(duration, fine);
        let away = OFFSET.cast_signed();
        let trace = lattice.traces(&wavelet.sampled(fine, count), &[[away, 0, away]], count);
        let space = relative_l2(&trace[0], &exact_at(fine, count));
        let formula = greens::ricker_time_error(2, wavelet.peak_hz(), dt, distance, WAVE_SPEED);
        let what = |kind: &str| format!("{arithmetic:?}, 0.9 of the limit: {kind}");
        outcomes.push(
            Outcome::new(what("off exact time, corrected"), after, space + 1e-3).predicted(space),
        );
        outcomes.push(
            Outcome::new(what("off exact time, as run"), before, 1.3 * formula).predicted(formula),
        );
        let gain = format!("share of {before:.3e} that is left");
        outcomes.push(Outcome::new(what(&gain), after / before, 0.05));
    }
    Ok(outcomes)
}
