//! One step of a unit impulse: every node is compared with the weights.
//!
//! With `p = 1` on node n alone and `p- = 0`, node m gets `2 [m = n] + c^2 dt^2 (m) sum w_r / h^2`
//! over the taps of m whose image is n: nearly always one tap. Such a value has four roundings:
//! c^2 dt^2, the weight, the scaling by 1/h^2 and the product; each further term adds one. A lost
//! outer weight of order 16, invisible among random fields (5e-7), is the whole value here.

use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Field};
use temblor_physics::{Arithmetic, Axis, Boundaries, Boundary, Face, WaveProblem, boundary};

use super::ROUNDING;
use crate::orders::Orders;
use crate::setup::{self, Case};
use crate::{CheckError, Outcome};

/// Value at a node, the sum of its terms' magnitudes, and their number.
struct Expected {
    value: f64,
    magnitude: f64,
    terms: u32,
}

fn expected(problem: &WaveProblem, c2dt2: f64, at: [usize; 3], impulse: [usize; 3]) -> Expected {
    let mut expected = Expected { value: 0.0, magnitude: 0.0, terms: 0 };
    let mut add = |term: f64| {
        expected.value += term;
        expected.magnitude += term.abs();
        expected.terms += 1;
    };
    // The sign with which a node, inside or outside, shows the impulse.
    let sign = |axis: Axis, node: isize| {
        let (min, max) = problem.ends(axis);
        let nodes = problem.grid.shape[axis.index()];
        match boundary::image(node, nodes, &min, &max) {
            Some((n, sign)) if n == impulse[axis.index()] => sign,
            _ => 0.0,
        }
    };
    let own = Axis::ALL.map(|axis| sign(axis, at[axis.index()].cast_signed()));
    // A free surface's own node shows nothing and is given nothing.
    let held = problem.grid.active_axes().any(|axis| {
        let (min, max) = problem.ends(axis);
        let (node, last) = (at[axis.index()], problem.grid.shape[axis.index()] - 1);
        (node == 0 && min == Boundary::Free) || (node == last && max == Boundary::Free)
    });
    if held {
        return expected;
    }
    if at == impulse {
        add(2.0);
    }
    let weights = problem.operator.second_derivative();
    for axis in problem.grid.active_axes() {
        let a = axis.index();
        if (0..3).any(|other| other != a && own[other] == 0.0) {
            continue;
        }
        let scale = c2dt2 / problem.grid.spacing[a].powi(2);
        for (r, w) in weights.iter().enumerate() {
            let (node, r) = (at[a].cast_signed(), r.cast_signed());
            let ends = [node + r, node - r];
            for &end in if r == 0 { &ends[..1] } else { &ends[..] } {
                let sign = sign(axis, end);
                if sign != 0.0 {
                    add(scale * w * sign);
                }
            }
        }
    }
    expected
}

/// Roundings by which the worst node of a step is off, beyond one for each further term.
fn worst(
    backend: &dyn Backend,
    variant: &str,
    case: &Case,
    impulse: [usize; 3],
) -> Result<f64, CheckError> {
    let mut plan = case.bare(backend, variant)?;
    let mut p = Array3::<f32>::zeros(case.problem.grid.shape);
    p[impulse] = 1.0;
    plan.upload(Field::Pressure, case.whole(), p.view().into())?;
    plan.advance(1)?;
    let mut got = Array3::<f64>::zeros(case.problem.grid.shape);
    plan.download(Field::Pressure, case.whole(), got.view_mut().into())?;
    let mut worst = 0.0_f64;
    for ((i, j, k), &got) in got.indexed_iter() {
        let c2dt2 = (f64::from(case.wave_speed[[i, j, k]]) * case.problem.dt).powi(2);
        let expected = expected(&case.problem, c2dt2, [i, j, k], impulse);
        let error = (got - expected.value).abs();
        let off = if expected.terms == 0 {
            if error == 0.0 { 0.0 } else { f64::INFINITY }
        } else {
            error / (expected.magnitude * ROUNDING) - f64::from(expected.terms - 1)
        };
        worst = if off.is_nan() { f64::INFINITY } else { worst.max(off) };
    }
    Ok(worst)
}

pub(super) fn run(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    on(backend, variant, |long| vec![[long, long + 1, long + 2], [5, 4, 6]])
}

pub(super) fn planar(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    on(backend, variant, |long| vec![[long, 1, long + 3], [5, 1, 6]])
}

/// On shapes that follow from one in which the stencil fits.
fn on(
    backend: &dyn Backend,
    variant: &str,
    shapes: fn(usize) -> Vec<[usize; 3]>,
) -> Result<Vec<Outcome>, CheckError> {
    let mut mixed = Boundaries::uniform(Boundary::Zero);
    mixed.set(Face::ZMin, Boundary::Free);
    mixed.set(Face::YMax, Boundary::Rigid);
    mixed.set(Face::XMin, Boundary::Rigid);
    let all = [
        ("zero", Boundaries::uniform(Boundary::Zero)),
        ("free", Boundaries::uniform(Boundary::Free)),
        ("rigid", Boundaries::uniform(Boundary::Rigid)),
        ("mixed", mixed),
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    for order in (2..=16).step_by(2) {
        for shape in shapes(order + 5) {
            for (name, boundaries) in &all {
                let problem = setup::problem(shape, order, *boundaries, Arithmetic::F32)?;
                if !orders.take(backend, &problem)? {
                    continue;
                }
                let case = Case::random(&problem, 1, 300 + order as u64);
                let mut largest = 0.0_f64;
                let anywhere = shape.map(|n| rng.random_range(0..n));
                for impulse in [
                    shape.map(|n| n / 2),
                    [0; 3],
                    shape.map(|n| 1.min(n - 1)),
                    shape.map(|n| n.saturating_sub(2)),
                    shape.map(|n| n - 1),
                    anywhere,
                ] {
                    largest = largest.max(worst(backend, variant, &case, impulse)?);
                }
                let quantity = format!("roundings, order {order}, {shape:?}, {name}");
                outcomes.push(Outcome::new(quantity, largest, 4.0));
            }
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}
