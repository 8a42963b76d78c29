//! Sources and receivers between nodes: a trace depends on their distance, not on where the nodes
//! are.

use temblor_backend::Backend;
use temblor_physics::{Grid, Wavelet, receiver_weights, source_weights};

use super::shot::{Shot, arithmetics, one_source, open_problem, relative_l2, steps_for};
use crate::{CheckError, Outcome};

const WAVE_SPEED: f64 = 2000.0;
const SPACING: f64 = 10.0;

fn shifts(
    backend: &dyn Backend,
    variant: &str,
    ny: usize,
    shifts: &[[f64; 3]],
) -> Result<Vec<Outcome>, CheckError> {
    // 16 cells at the peak: 6 at the frequency where the wavelet is 40 dB down.
    let wavelet = Wavelet::ricker(WAVE_SPEED / (16.0 * SPACING));
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let grid = Grid::new([79, ny, 79], [SPACING; 3], [0.0; 3])?;
        let problem = open_problem(grid, 8, WAVE_SPEED, 0.9, arithmetic)?;
        let middle = SPACING * 39.0;
        let y = SPACING * (ny / 2) as f64;
        let steps = steps_for(12.0 * SPACING / WAVE_SPEED + wavelet.end(), problem.dt);
        let trace = |shift: [f64; 3]| -> Result<Vec<f64>, CheckError> {
            let at = |x: f64, z: f64| {
                [x, y, z].iter().zip(shift).map(|(p, s)| p + s * SPACING).collect::<Vec<_>>()
            };
            let point = |v: &[f64]| [v[0], v[1], v[2]];
            let source = point(&at(middle - 4.0 * SPACING, middle + 5.0 * SPACING));
            let receiver = point(&at(middle + 4.0 * SPACING, middle - 2.0 * SPACING));
            let shot = Shot {
                problem: problem.clone(),
                wave_speed: ndarray::Array3::from_elem(grid.shape, WAVE_SPEED),
                sources: one_source(
                    source_weights(&problem, source)?,
                    wavelet.sampled(problem.dt, steps),
                ),
                receivers: vec![receiver_weights(&problem, receiver)?],
                steps,
            };
            Ok(shot.traces(backend, variant)?.row(0).to_vec())
        };
        let on_nodes = trace([0.0; 3])?;
        for &shift in shifts {
            let error = relative_l2(&trace(shift)?, &on_nodes);
            // 0.1 % at either end.
            let what = format!("{arithmetic:?} both moved by {shift:?} cells: change of trace");
            outcomes.push(Outcome::new(what, error, 2e-3));
        }
    }
    Ok(outcomes)
}

pub(super) fn shifts_2d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let cells = [[0.5, 0.0, 0.5], [0.25, 0.0, 0.7], [0.1, 0.0, 0.33], [0.0, 0.0, 0.5]];
    shifts(backend, variant, 1, &cells)
}

pub(super) fn shifts_3d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    shifts(backend, variant, 75, &[[0.5, 0.5, 0.5], [0.2, 0.45, 0.8]])
}
