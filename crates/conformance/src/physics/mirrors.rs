//! A plane free surface or rigid wall above a homogeneous half space, against the image solution.

use temblor_backend::Backend;
use temblor_physics::lattice::Lattice;
use temblor_physics::{Arithmetic, Boundary, Face, Grid, Wavelet, greens};

use super::shot::{Shot, arithmetics, open_problem, relative_l2, steps_for};
use crate::{CheckError, Outcome};

const WAVE_SPEED: f64 = 2000.0;
const SPACING: f64 = 10.0;
/// Cells per wavelength at the peak.
const CELLS: f64 = 20.0;
/// Node of the source below the surface.
const SOURCE: usize = 8;
/// Node of the receiver below the surface.
const RECEIVER: usize = 5;
/// Nodes between them along x.
const OFFSET: usize = 12;

/// Relative L2 off the image solution in exact space and time, and off that of the scheme.
fn errors(
    backend: &dyn Backend,
    variant: &str,
    arithmetic: Arithmetic,
    dimensions: usize,
    wall: Boundary,
) -> Result<(f64, f64), CheckError> {
    let wavelet = Wavelet::ricker(WAVE_SPEED / (CELLS * SPACING));
    // A free surface lies on node 0, a rigid wall half a cell above it.
    let (sign, mirrored) = match wall {
        Boundary::Free => (-1.0, SOURCE + RECEIVER),
        _ => (1.0, SOURCE + RECEIVER + 1),
    };
    let along = |nodes: usize| (OFFSET as f64).hypot(nodes as f64) * SPACING;
    let (direct, image) = (along(SOURCE - RECEIVER), along(mirrored));
    let duration = image / WAVE_SPEED + wavelet.end();
    let cells = 1.05 * duration * WAVE_SPEED / SPACING;
    let aside = steps_for(0.5 * (cells + OFFSET as f64), 1.0);
    let below = steps_for(0.5 * (cells + (SOURCE + RECEIVER) as f64), 1.0);
    let ny = if dimensions == 3 { 2 * steps_for(0.5 * cells, 1.0) + 1 } else { 1 };
    let grid = Grid::new([2 * aside + 1, ny, below + 1], [SPACING; 3], [0.0; 3])?;
    let mut problem = open_problem(grid, 8, WAVE_SPEED, 0.5, arithmetic)?;
    problem.boundaries.set(Face::ZMin, wall);
    let (dt, steps) = (problem.dt, steps_for(duration, problem.dt));
    let (source, receiver) = ([aside, ny / 2, SOURCE], [aside + OFFSET, ny / 2, RECEIVER]);
    let shot = Shot::on_nodes(&problem, WAVE_SPEED, &wavelet, source, &[receiver], steps);
    let got = shot.traces(backend, variant)?;
    let images = [(1.0, direct), (sign, image)];
    let exact: Vec<f64> = (0..steps)
        .map(|n| greens::with_images(dimensions, &wavelet, WAVE_SPEED, &images, n as f64 * dt))
        .collect();
    let lattice = Lattice { grid, operator: problem.operator, wave_speed: WAVE_SPEED, dt };
    let offset = |nodes: usize| [OFFSET.cast_signed(), 0, nodes.cast_signed()];
    let offsets = [offset(SOURCE - RECEIVER), offset(mirrored)];
    let open = lattice.traces(&wavelet.sampled(dt, steps), &offsets, steps);
    let discrete: Vec<f64> = open[0].iter().zip(&open[1]).map(|(d, i)| d + sign * i).collect();
    Ok((relative_l2(got.row(0), &exact), relative_l2(got.row(0), &discrete)))
}

fn mirror(
    backend: &dyn Backend,
    variant: &str,
    dimensions: usize,
    wall: Boundary,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let (exact, discrete) = errors(backend, variant, arithmetic, dimensions, wall)?;
        let what = |than: &str| format!("{arithmetic:?} {dimensions}-D: off {than}");
        outcomes.push(Outcome::new(what("the image solution"), exact, 4e-3));
        // Rounding alone: 1e-9 in double precision, 1e-5 in single.
        outcomes.push(Outcome::new(what("the scheme's image solution"), discrete, 1e-4));
    }
    Ok(outcomes)
}

pub(super) fn free_2d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    mirror(backend, variant, 2, Boundary::Free)
}

pub(super) fn free_3d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    mirror(backend, variant, 3, Boundary::Free)
}

pub(super) fn rigid_2d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    mirror(backend, variant, 2, Boundary::Rigid)
}

pub(super) fn rigid_3d(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    mirror(backend, variant, 3, Boundary::Rigid)
}
