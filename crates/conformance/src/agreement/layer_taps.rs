//! First-derivative taps of the C-PML, node by node, against the oracle in f64.
//!
//! An impulse in a layer shows `b_x p_x` in its first step. Then p and `p-` are set to zero and
//! the second step shows what the memory alone does: where no r was made, `c^2 dt^2 (1 + b) q_x`.
//! On the nodes compared all terms have one sign, so the relative error of each is bounded by its
//! roundings: six for q (the weight, a, b, three products), eight for the step (c^2 dt^2, the weight,
//! b, 1 + b, four products), and one per tap added: 22 at radius 8.

use ndarray::Array3;
use temblor_backend::{Backend, Field};
use temblor_cpu::ReferenceBackend;
use temblor_physics::{Arithmetic, Axis, Boundaries, Boundary, Face};

use super::ROUNDING;
use crate::orders::Orders;
use crate::setup::{self, Case};
use crate::{CheckError, Outcome};

/// p after the first step, and after the step that starts from memory alone.
fn steps(
    backend: &dyn Backend,
    variant: &str,
    case: &Case,
    impulse: [usize; 3],
) -> Result<[Array3<f64>; 2], CheckError> {
    let shape = case.problem.grid.shape;
    let mut plan = case.bare(backend, variant)?;
    let mut p = Array3::<f32>::zeros(shape);
    p[impulse] = 1.0;
    plan.upload(Field::Pressure, case.whole(), p.view().into())?;
    let mut results = [Array3::zeros(shape), Array3::zeros(shape)];
    for result in &mut results {
        plan.advance(1)?;
        plan.download(Field::Pressure, case.whole(), result.view_mut().into())?;
        p.fill(0.0);
        plan.upload(Field::Pressure, case.whole(), p.view().into())?;
        plan.upload(Field::PressurePrevious, case.whole(), p.view().into())?;
    }
    Ok(results)
}

pub(super) fn run(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let reference = ReferenceBackend::new();
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    // Two widths each: a layer's end and its reach then fall into different vectors for some order.
    let cases = (2..=16).step_by(2).flat_map(|order| [(order, order + 4), (order, order + 9)]);
    for (order, cells) in cases {
        let radius = order / 2;
        for axis in Axis::ALL {
            let a = axis.index();
            let mut shape = [5, 4, 6];
            // An interior that no kernel can take as part of the layers.
            shape[a] = 2 * cells + order + 40;
            let mut boundaries = Boundaries::uniform(Boundary::Zero);
            boundaries.set(Face::of(axis, true), setup::cpml(cells));
            boundaries.set(Face::of(axis, false), setup::cpml(cells));
            let problem = setup::problem(shape, order, boundaries, Arithmetic::F32)?;
            if !orders.take(backend, &problem)? {
                continue;
            }
            let case = Case::random(&problem, 2, 500 + order as u64);
            let oracle = case.with_arithmetic(Arithmetic::F64);
            for min in [true, false] {
                // Distance from the outermost node, whichever end.
                let node = |depth: usize| {
                    let mut node = [2, 2, 2];
                    node[a] = if min { depth } else { shape[a] - 1 - depth };
                    node
                };
                // In the middle of the layer, and at its inner edge.
                let middle = radius + 2;
                let inside: Vec<_> = (1..=radius).flat_map(|d| [middle - d, middle + d]).collect();
                let beyond: Vec<_> = (radius + 1..=order).map(|d| middle + d).collect();
                let edge = cells - 1;
                let outside: Vec<_> = (1..radius).map(|d| edge + d).collect();
                for (what, source, step, depths) in [
                    ("p_x in the layer", middle, 0, &inside),
                    ("q_x in the layer", middle, 1, &beyond),
                    ("q_x outside the layer", edge, 1, &outside),
                ] {
                    let got = &steps(backend, variant, &case, node(source))?[step];
                    let want = &steps(&reference, "loops", &oracle, node(source))?[step];
                    let worst = depths.iter().fold(0.0_f64, |worst, &depth| {
                        let (got, want) = (got[node(depth)], want[node(depth)]);
                        let off = ((got - want) / want).abs() / ROUNDING;
                        if off.is_nan() { f64::INFINITY } else { worst.max(off) }
                    });
                    let end = if min { "low" } else { "high" };
                    let quantity = format!(
                        "roundings of {what}, order {order}, {cells} cells, {end} {}",
                        axis.name()
                    );
                    outcomes.push(Outcome::new(quantity, worst, 24.0));
                }
            }
        }
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}
