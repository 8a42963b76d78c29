//! Walls against the wavefield that they stand for: the same backend, the images written out.
//!
//! A free surface on node 0 is the middle of an odd field on twice the grid; a rigid wall half a
//! cell outside is the middle of an even one. Between two rigid walls, or two free surfaces, the
//! field is periodic, also where the stencil is longer than the grid. No image rule is used here:
//! this tests the oracle as well.

use ndarray::Array3;
use temblor_backend::Backend;
use temblor_physics::{Arithmetic, Axis, Boundaries, Boundary, Face, WaveProblem};

use crate::orders::Orders;
use crate::setup::{self, Case};
use crate::{CheckError, Outcome};

const STEPS: u32 = 3;

/// Node and sign that a node of the long grid, `shift` nodes before the short one, shows.
fn source(node: usize, shift: usize, nodes: usize, free: bool) -> (usize, f32) {
    let period = if free { 2 * (nodes - 1) } else { 2 * nodes };
    // The remainder of a division that rounds down.
    let place = (node.cast_signed() - shift.cast_signed()).rem_euclid(period.cast_signed());
    let place = place.cast_unsigned();
    if place < nodes {
        (place, if free && (place == 0 || place == nodes - 1) { 0.0 } else { 1.0 })
    } else if free {
        (period - place, -1.0)
    } else {
        (period - 1 - place, 1.0)
    }
}

pub(super) fn run(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    for order in [2, 8, 16] {
        for axis in Axis::ALL {
            for free in [true, false] {
                for nodes in [3, 5, 21] {
                    let problem = walled(order, axis, free, nodes)?;
                    if !orders.take(backend, &problem)? {
                        continue;
                    }
                    let error = mirrored(backend, variant, &problem, axis, free)?;
                    let wall = if free { "free" } else { "rigid" };
                    let quantity = format!(
                        "error, order {order}, {wall}, {nodes} nodes along {}",
                        axis.name()
                    );
                    // Two runs, each within 1e-6 of the exact step.
                    outcomes.push(Outcome::new(quantity, error, 2e-6 * f64::from(STEPS)));
                }
            }
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}

/// A small grid between two walls along an axis.
fn walled(order: usize, axis: Axis, free: bool, nodes: usize) -> Result<WaveProblem, CheckError> {
    let mut shape = [6, 7, 9];
    shape[axis.index()] = nodes;
    let wall = if free { Boundary::Free } else { Boundary::Rigid };
    let mut boundaries = Boundaries::uniform(Boundary::Zero);
    boundaries.set(Face::of(axis, true), wall);
    boundaries.set(Face::of(axis, false), wall);
    Ok(setup::problem(shape, order, boundaries, Arithmetic::F32)?)
}

/// Largest difference between a walled grid and the same nodes of a long one without walls.
fn mirrored(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
    axis: Axis,
    free: bool,
) -> Result<f64, CheckError> {
    let (a, shape) = (axis.index(), problem.grid.shape);
    let (nodes, order) = (shape[a], 2 * problem.operator.radius());
    let mut short = Case::random(problem, STEPS, 700 + order as u64);
    short.sources.points.clear();
    short.sources.amplitudes = ndarray::Array2::zeros((0, 0));
    short.receivers.points.clear();

    // What the far ends do wrong travels one radius a step and must not arrive.
    let shift = STEPS as usize * order / 2;
    let mut long_shape = shape;
    long_shape[a] += 2 * shift;
    let mut problem =
        setup::problem(long_shape, order, Boundaries::uniform(Boundary::Zero), Arithmetic::F32)?;
    problem.dt = short.problem.dt;
    let mut long = short.clone();
    long.problem = problem;
    let spread = |field: &Array3<f32>, signed: bool| {
        Array3::from_shape_fn(long_shape, |(i, j, k)| {
            let mut node = [i, j, k];
            let (from, sign) = source(node[a], shift, nodes, free);
            node[a] = from;
            if signed { sign * field[node] } else { field[node] }
        })
    };
    long.wave_speed = spread(&short.wave_speed, false);
    long.pressure = spread(&short.pressure, true);
    long.previous = spread(&short.previous, true);

    let (short, long) = (short.run(backend, variant)?, long.run(backend, variant)?);
    let (mut error, mut largest) = (0.0_f64, 0.0_f64);
    for ((i, j, k), &value) in short.pressure.indexed_iter() {
        let mut node = [i, j, k];
        node[a] += shift;
        let off = (value - long.pressure[node]).abs();
        error = if off.is_nan() { f64::INFINITY } else { error.max(off) };
        largest = largest.max(value.abs());
    }
    Ok(error / largest)
}
