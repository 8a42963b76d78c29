//! The phase velocity of every operator, from waves that stand between walls for many steps.
//!
//! With rigid walls across x and y, which leave a field that does not vary there alone, and free
//! surfaces across z, `sin(k z)` is two plane waves along z that travel against each other; between free
//! surfaces on all faces `sin(k x) sin(k y) sin(k z)` is eight along the diagonals. Either turns by `w dt`
//! a step. The angle after many steps gives the phase velocity, which is compared with the prediction
//! from the operator's symbol, errors of space and time together, and with the wave speed.

use std::f64::consts::PI;

use ndarray::{Array2, Array3};
use temblor_backend::{Backend, SourceTable};
use temblor_physics::{
    Arithmetic, Axis, Boundaries, Boundary, Face, Grid, OperatorName, WaveProblem, cfl, dispersion,
};

use super::shot::{Shot, advance, arithmetics, bound, fields, set_fields};
use crate::orders::Orders;
use crate::{CheckError, Outcome};

const WAVE_SPEED: f64 = 2000.0;
const SPACING: f64 = 10.0;
const STEPS: usize = 100;

/// Cells per wavelength: the edge of the fits' band.
const CELLS: usize = 5;

/// A family each, every radius of the tuned kernels, and the largest.
const NAMES: [&str; 14] = [
    "direct-2",
    "direct-4",
    "direct-8",
    "direct-16",
    "minimax-r2:ppw=5",
    "minimax-r3:ppw=5",
    "minimax-r4:ppw=5",
    "minimax-r8:ppw=5",
    "l2-r3:ppw=5",
    "ricker-r3:ppw=5",
    "minimax-r3:ppw=5:courant=0.4",
    "l2-r4:ppw=5:courant=0.35:contrast=2",
    "implicit-r2",
    "implicit-r4",
];

/// A box of 21 nodes along each axis with waves along z alone, or along the diagonals.
fn problem(name: &str, arithmetic: Arithmetic, diagonal: bool) -> Result<WaveProblem, CheckError> {
    let operator = name.parse::<OperatorName>()?.resolve(None)?;
    let grid = Grid::new([4 * CELLS + 1; 3], [SPACING; 3], [0.0; 3])?;
    let mut boundaries = Boundaries::uniform(Boundary::Free);
    for face in Face::ALL.into_iter().filter(|face| !diagonal && face.axis() != Axis::Z) {
        boundaries.set(face, Boundary::Rigid);
    }
    // At its own Courant number where the fit has one.
    let largest = cfl::largest_dt(&grid, &operator, WAVE_SPEED);
    let dt = match operator {
        temblor_physics::Operator::Fitted(fit) if fit.time.is_some() => {
            fit.time.map_or(0.0, |time| time.courant.get()) * SPACING / WAVE_SPEED
        }
        _ => 0.8 * largest,
    };
    Ok(WaveProblem::builder(grid, dt)
        .operator(operator)
        .arithmetic(arithmetic)
        .boundaries(boundaries)
        .build()?)
}

/// Phase velocity over wave speed, measured and predicted.
fn velocities(
    backend: &dyn Backend,
    variant: &str,
    problem: WaveProblem,
    diagonal: bool,
) -> Result<(f64, f64), CheckError> {
    let shape = problem.grid.shape;
    let sine = |n: usize| (2.0 * PI * (n % CELLS) as f64 / CELLS as f64).sin();
    let mode =
        Array3::from_shape_fn(
            shape,
            |(i, j, k)| {
                if diagonal { sine(i) * sine(j) * sine(k) } else { sine(k) }
            },
        );
    let direction = if diagonal { [1.0; 3] } else { [0.0, 0.0, 1.0] };
    let axes: f64 = direction.iter().sum();
    let wavelength = SPACING * CELLS as f64 / axes.sqrt();
    let predicted = dispersion::velocity_ratio(
        &problem.grid,
        &problem.operator,
        problem.dt,
        WAVE_SPEED,
        direction,
        wavelength,
    );
    // The angle of a step.
    let exact = 2.0 * PI * WAVE_SPEED * problem.dt / wavelength;
    let turn = predicted * exact;
    let past = &mode * turn.cos();
    let shot = Shot {
        problem,
        wave_speed: Array3::from_elem(shape, WAVE_SPEED),
        sources: SourceTable { points: Vec::new(), amplitudes: Array2::zeros((0, 0)) },
        receivers: Vec::new(),
        steps: STEPS,
    };
    let mut plan = shot.plan(backend, variant)?;
    set_fields(plan.as_mut(), [&mode, &past])?;
    advance(plan.as_mut(), STEPS)?;
    let [now, before] = fields(plan.as_mut(), shape)?;
    let norm = mode.iter().map(|m| m * m).sum::<f64>();
    let share =
        |field: &Array3<f64>| field.iter().zip(&mode).map(|(p, m)| p * m).sum::<f64>() / norm;
    // cos(n turn) and, from the step before, sin(n turn).
    let (cosine, earlier) = (share(&now), share(&before));
    let angle = ((earlier - cosine * turn.cos()) / turn.sin()).atan2(cosine);
    let due = STEPS as f64 * turn;
    let late = (angle - due + PI).rem_euclid(2.0 * PI) - PI;
    Ok(((due + late) / (STEPS as f64 * exact), predicted))
}

pub(super) fn plane_waves(
    backend: &dyn Backend,
    variant: &str,
) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in arithmetics(backend) {
        let mut orders = Orders::new(backend, variant);
        for name in NAMES {
            if !orders.take(backend, &problem(name, arithmetic, false)?)? {
                continue;
            }
            for diagonal in [false, true] {
                let problem = problem(name, arithmetic, diagonal)?;
                let (measured, predicted) = velocities(backend, variant, problem, diagonal)?;
                let along = if diagonal { "a diagonal" } else { "an axis" };
                let what = format!(
                    "{arithmetic:?} {name} along {along}, {CELLS} cells per wavelength on axes: velocity \
                     {:+.5} % from c, predicted {:+.5} %",
                    100.0 * (measured - 1.0),
                    100.0 * (predicted - 1.0)
                );
                // In single precision weights and c^2 dt^2 are rounded, some 1e-7 of the velocity.
                let most = bound(arithmetic, 1e-6, 1e-12);
                outcomes.push(Outcome::new(what, (measured / predicted - 1.0).abs(), most));
            }
        }
        outcomes.extend(orders.law());
    }
    Ok(outcomes)
}
