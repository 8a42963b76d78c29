//! How much the layers reflect, and that they stay bounded.
//!
//! A 2-D source lies 6 cells from a layer, receivers 24 cells inwards and 40, 100 and 160 cells along
//! it; 10 cells per wavelength at the peak. The residual is what a trace differs by from that of the
//! same scheme on an unbounded grid (`lattice`), its peak over the direct wave's peak at the same
//! receiver, in dB. All faces have the layer, so echoes from the far sides and corners count.

use temblor_backend::Backend;
use temblor_physics::lattice::Lattice;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Face, Grid, Minimod, WaveProblem, Wavelet, cfl, layers,
};

use super::shot::{Shot, advance, arithmetics, largest, open_problem, steps_for};
use super::symmetry::random_medium;
use crate::{CheckError, Outcome};

const SPACING: f64 = 10.0;
const WAVE_SPEED: f64 = 2000.0;
const PEAK_HZ: f64 = WAVE_SPEED / (10.0 * SPACING);
/// Largest wave speed of the random medium, m/s.
const VMAX: f64 = 3500.0;
/// Cells between the source and the layer.
const FROM_LAYER: usize = 6;

/// The receivers, nodes from the source.
pub const OFFSETS: [[isize; 3]; 4] = [[0, 0, 24], [40, 0, 0], [100, 0, 0], [160, 0, 0]];

/// A layer of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme {
    /// C-PML with this R0.
    Cpml(f64),
    /// Minimod's layer with the benchmark's damping.
    Minimod,
}

impl Scheme {
    /// The layer of `cells` for steps of `dt`, s.
    #[must_use]
    pub fn layer(self, cells: usize, dt: f64) -> Boundary {
        match self {
            Self::Cpml(r0) => {
                Boundary::Cpml(Cpml { cells, r0, ..Cpml::for_wavelet(PEAK_HZ, WAVE_SPEED) })
            }
            Self::Minimod => Boundary::Minimod(Minimod::for_speed(cells, WAVE_SPEED, SPACING, dt)),
        }
    }
}

/// Levels at [`OFFSETS`], dB, of a scheme with a layer of `cells`, dt at `cfl_fraction` of its limit.
///
/// # Errors
/// Those of the backend.
pub fn levels(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    cfl_fraction: f64,
    scheme: Scheme,
    cells: usize,
) -> Result<[f64; 4], CheckError> {
    let shape = [2 * cells + 230, 1, 2 * cells + 90];
    let grid = Grid::new(shape, [SPACING; 3], [0.0; 3])?;
    let operator = open_problem(grid, 8, WAVE_SPEED, cfl_fraction, arithmetic)?.operator;
    let dt = cfl_fraction * cfl::largest_dt(&grid, &operator, WAVE_SPEED);
    let problem = WaveProblem::builder(grid, dt)
        .arithmetic(arithmetic)
        .boundaries(Boundaries::uniform(scheme.layer(cells, dt)))
        .build()?;
    let wavelet = Wavelet::ricker(PEAK_HZ);
    let steps = steps_for(160.0 * SPACING / WAVE_SPEED + wavelet.end() + 1.0 / PEAK_HZ, dt);
    let source = [cells + 30, 0, cells + FROM_LAYER];
    let receivers = OFFSETS.map(|o| std::array::from_fn(|a| source[a].saturating_add_signed(o[a])));
    let shot = Shot::on_nodes(&problem, WAVE_SPEED, &wavelet, source, &receivers, steps);
    let got = shot.traces(backend, variant)?;
    let lattice = Lattice { grid, operator, wave_speed: WAVE_SPEED, dt };
    let open = lattice.traces(&wavelet.sampled(dt, steps), &OFFSETS, steps);
    Ok(std::array::from_fn(|n| {
        let residual: Vec<f64> = got.row(n).iter().zip(&open[n]).map(|(a, b)| a - b).collect();
        20.0 * (largest(&residual) / largest(&open[n])).log10()
    }))
}

/// A row of the guide's table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Scheme.
    pub scheme: Scheme,
    /// Width, cells.
    pub cells: usize,
    /// Levels at [`OFFSETS`], dB.
    pub levels: [f64; 4],
}

/// The guide's table: levels of every scheme at several widths, dt at 0.9 of its limit.
///
/// # Errors
/// Those of the backend.
pub fn table(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
) -> Result<Vec<Row>, CheckError> {
    let schemes =
        [Scheme::Minimod, Scheme::Cpml(1e-3), Scheme::Cpml(1e-4), Scheme::Cpml(layers::CPML_R0)];
    let mut rows = Vec::new();
    for scheme in schemes {
        for cells in [10, 20, 27, 40] {
            let levels = levels(backend, variant, arithmetic, 0.9, scheme, cells)?;
            rows.push(Row { scheme, cells, levels });
        }
    }
    Ok(rows)
}

pub(super) fn cpml(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        for cfl_fraction in [0.9, 0.45] {
            let (scheme, cells) = (Scheme::Cpml(layers::CPML_R0), layers::CPML_CELLS);
            let found = levels(backend, variant, arithmetic, cfl_fraction, scheme, cells)?;
            for (place, level, bound) in [
                ("24 cells inwards", found[0], -75.0),
                ("40 cells along", found[1], -75.0),
                ("100 cells along", found[2], -60.0),
            ] {
                let what = format!("{arithmetic:?}, {cfl_fraction} of the limit, {place}: dB");
                outcomes.push(Outcome::new(what, level, bound));
            }
        }
    }
    Ok(outcomes)
}

pub(super) fn minimod(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let cells = layers::MINIMOD_CELLS;
        let found = levels(backend, variant, arithmetic, 0.9, Scheme::Minimod, cells)?;
        for (place, level, bound) in
            [("24 cells inwards", found[0], -50.0), ("40 cells along", found[1], -25.0)]
        {
            let what = format!("{arithmetic:?}, {cells} cells, {place}: dB");
            outcomes.push(Outcome::new(what, level, bound));
        }
    }
    Ok(outcomes)
}

/// What is left after some numbers of steps, ascending, over what there was while the source acted, in
/// the field and in the memory variables.
pub(crate) fn left_over<const N: usize>(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
    steps: [usize; N],
) -> Result<[[f64; 2]; N], CheckError> {
    let shape = problem.grid.shape;
    let wavelet = Wavelet::ricker(PEAK_HZ);
    // A wavelet cut off would leave a static field behind, which no layer takes away.
    let early = steps_for(wavelet.end(), problem.dt);
    let mut shot = Shot::on_nodes(problem, VMAX, &wavelet, shape.map(|n| n / 2), &[], early);
    shot.wave_speed = random_medium(shape, 31);
    let mut plan = shot.plan(backend, variant)?;
    // The field and memory are largest while the source acts.
    let mut now = early / 2;
    advance(plan.as_mut(), now)?;
    let before = plan.health()?;
    let mut left = [[0.0; 2]; N];
    for (left, steps) in left.iter_mut().zip(steps) {
        advance(plan.as_mut(), steps - now)?;
        now = steps;
        let after = plan.health()?;
        *left =
            [after.largest / before.largest, after.largest_in_layers / before.largest_in_layers];
    }
    Ok(left)
}

/// One arithmetic is enough: the lowest, where rounding feeds growth most.
fn long_run(
    backend: &dyn Backend,
    variant: &str,
    shape: [usize; 3],
    cells: usize,
    steps: usize,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    if let Some(arithmetic) = arithmetics(backend).into_iter().next_back() {
        let grid = Grid::new(shape, [SPACING; 3], [0.0; 3])?;
        let mut problem = open_problem(grid, 8, VMAX, 0.95, arithmetic)?;
        let layer = Cpml { cells, ..Cpml::for_wavelet(PEAK_HZ, VMAX) };
        for face in Face::ALL {
            if grid.active(face.axis()) {
                problem.boundaries.set(face, Boundary::Cpml(layer));
            }
        }
        problem.boundaries.set(Face::ZMin, Boundary::Free);
        let [[field, memory]] = left_over(backend, variant, &problem, [steps])?;
        let what = |kind: &str| format!("{arithmetic:?} {shape:?}, {steps} steps: {kind}");
        outcomes.push(Outcome::new(what("pressure left over"), field, 1e-3));
        outcomes.push(Outcome::new(what("memory variables left over"), memory, 1e-3));
    }
    Ok(outcomes)
}

pub(super) fn long_run_2d(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    long_run(backend, variant, [48, 1, 34], 20, 100_000)
}

pub(super) fn long_run_3d(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    long_run(backend, variant, [26, 24, 22], 10, 4000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide's table; print it with `--nocapture`.
    #[test]
    fn a_wider_or_stronger_cpml_is_never_much_worse() {
        let backend = temblor_cpu::ReferenceBackend::new();
        let rows = table(&backend, "loops", Arithmetic::F32).unwrap();
        for row in &rows {
            println!("{:?} {} {:.1?}", row.scheme, row.cells, row.levels);
        }
        // At 100 cells grazing, where the layer's strength counts most.
        let level = |scheme, cells| {
            let row = rows.iter().find(|r| r.scheme == scheme && r.cells == cells);
            row.map(|r| r.levels[2]).unwrap()
        };
        for cells in [20, 27, 40] {
            assert!(level(Scheme::Cpml(1e-6), cells) < level(Scheme::Cpml(1e-3), cells) - 10.0);
            assert!(level(Scheme::Cpml(1e-3), cells) < level(Scheme::Minimod, cells) - 10.0);
        }
    }
}
