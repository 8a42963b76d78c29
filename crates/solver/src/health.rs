//! Whether the wavefield is still one: finite, and not running away.
//!
//! A source of amplitude A makes p of about A/h beside it in 3-D and A in 2-D. No passive medium
//! multiplies that by a million, and once the sources are silent no wavefield grows a thousandfold;
//! an unstable scheme, which grows exponentially, soon does both. Memory variables of layers are
//! derivatives of p and are held against p/h and p/h^2.

use ndarray::Array3;
use temblor_backend::{Field, Health, HostViewMut, Propagator, Region};
use temblor_physics::{Grid, WaveProblem};

use crate::error::{Error, Result};
use crate::survey::Shot;

/// How far above the source's scale the wavefield may come.
const RUNAWAY: f64 = 1e6;

/// How far the wavefield may grow after the sources fell silent.
const GROWTH: f64 = 1e3;

/// Bounds of a shot's wavefield.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Watch {
    largest: f64,
    largest_in_layers: f64,
    silent_after: u64,
    peak_while_firing: f64,
}

impl Watch {
    /// `amplitude` is the sum over the sources of their largest amplitudes, `silent_after` the
    /// last step at which any fires.
    pub(crate) fn new(grid: &Grid, amplitude: f64, silent_after: u64) -> Self {
        let finest =
            grid.active_axes().map(|axis| grid.spacing[axis.index()]).fold(f64::INFINITY, f64::min);
        let scale = if grid.dimensions() == 3 { amplitude / finest } else { amplitude };
        let largest = RUNAWAY * scale.max(f64::MIN_POSITIVE);
        // 4: the spectral radius of a second derivative, in units of 1/h^2, is 4 to 8.
        let largest_in_layers = largest * (4.0 / finest).max(4.0 / (finest * finest));
        Self { largest, largest_in_layers, silent_after, peak_while_firing: 0.0 }
    }

    /// Largest |p| of a sound wavefield.
    pub(crate) const fn limit(&self) -> f64 {
        self.largest
    }

    /// Whether a finding is that of a sound wavefield.
    pub(crate) fn accepts(&mut self, health: &Health) -> bool {
        let sound = health.first_bad.is_none()
            && health.largest <= self.largest
            && health.largest_in_layers <= self.largest_in_layers;
        let mut grows = false;
        if health.step <= self.silent_after || self.peak_while_firing <= 0.0 {
            self.peak_while_firing = self.peak_while_firing.max(health.largest);
        } else {
            grows = health.largest > GROWTH * self.peak_while_firing;
        }
        sound && !grows
    }
}

/// Names field, step and node of a finding that was not accepted.
pub(crate) fn unstable(
    plan: &mut dyn Propagator,
    problem: &WaveProblem,
    shot: &Shot,
    health: &Health,
    watch: &Watch,
) -> Result<Error> {
    let pressure_is_bad = !health.largest.is_finite() || health.largest > watch.largest;
    let layers_are_bad =
        !health.largest_in_layers.is_finite() || health.largest_in_layers > watch.largest_in_layers;
    let (field, value) = if layers_are_bad && !pressure_is_bad {
        (Field::Layers, health.largest_in_layers)
    } else {
        (Field::Pressure, health.largest)
    };
    let node = match health.first_bad {
        Some(node) => node,
        None => largest_node(plan, problem)?,
    };
    let (step, time) = (health.step, health.step as f64 * problem.dt);
    let position = problem.grid.position(node);
    Ok(Error::Unstable { shot: shot.id, field, step, time, node, position, value })
}

/// Node of the largest |p|, read plane by plane; a NaN counts as largest.
fn largest_node(plan: &mut dyn Propagator, problem: &WaveProblem) -> Result<[usize; 3]> {
    let shape = problem.grid.shape;
    let mut plane = Array3::<f64>::zeros((1, shape[1], shape[2]));
    let (mut largest, mut node) = (-1.0, [0; 3]);
    for i in 0..shape[0] {
        let view = HostViewMut::F64(plane.view_mut());
        plan.download(Field::Pressure, Region::slab(shape, i, 1), view)?;
        for ((_, j, k), value) in plane.indexed_iter() {
            if value.is_nan() {
                return Ok([i, j, k]);
            }
            if value.abs() > largest {
                (largest, node) = (value.abs(), [i, j, k]);
            }
        }
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(step: u64, largest: f64) -> Health {
        Health { step, largest, largest_in_layers: 0.0, first_bad: None }
    }

    fn watch() -> Watch {
        let grid = Grid::new([20; 3], [10.0; 3], [0.0; 3]).unwrap();
        Watch::new(&grid, 1.0, 100)
    }

    #[test]
    fn the_field_beside_a_source_is_sound_and_a_million_times_it_is_not() {
        // 1/(4 pi r) one cell away from a source of unit amplitude.
        assert!(watch().accepts(&finding(50, 1.0 / (4.0 * std::f64::consts::PI * 10.0))));
        assert!(!watch().accepts(&finding(50, 1.1e5)));
        assert!(!watch().accepts(&finding(50, f64::NAN)));
        assert!(!watch().accepts(&finding(50, f64::INFINITY)));
    }

    #[test]
    fn growth_after_the_source_is_silent_is_found_long_before_overflow() {
        let mut watch = watch();
        assert!(watch.accepts(&finding(100, 1e-3)));
        assert!(watch.accepts(&finding(200, 2e-3)), "focusing is no growth");
        assert!(!watch.accepts(&finding(300, 1.1)));
    }

    #[test]
    fn memory_variables_are_watched_too() {
        let bad = Health { largest_in_layers: f64::NAN, ..finding(10, 1e-3) };
        assert!(!watch().accepts(&bad));
    }
}
