//! Values below the smallest normal number: no step may leave one in a wavefield or a sample.
//!
//! An impulse of 1e-30 has outer taps and layers' memory below 1.2e-38. That the wavefield passes
//! through that range is shown by the oracle in f64.

use ndarray::Array3;
use temblor_backend::{Backend, Field, Propagator};
use temblor_cpu::ReferenceBackend;
use temblor_physics::{Arithmetic, Boundaries, Boundary, PointWeights};

use crate::orders::Orders;
use crate::setup::{self, Case};
use crate::{CheckError, Outcome};

const SMALLEST: f64 = f32::MIN_POSITIVE as f64;

/// Values that are neither zero nor normal, in p and the samples, summed over all steps.
fn denormals(
    plan: &mut dyn Propagator,
    case: &Case,
    impulse: [usize; 3],
) -> Result<usize, CheckError> {
    let mut p = Array3::<f32>::zeros(case.problem.grid.shape);
    p[impulse] = 1e-30;
    plan.upload(Field::Pressure, case.whole(), p.view().into())?;
    plan.set_receivers(&case.receivers)?;
    let mut count = 0;
    let mut host = Array3::<f64>::zeros(case.problem.grid.shape);
    let denormal = |v: &&f64| **v != 0.0 && v.abs() < SMALLEST;
    for _ in 0..case.steps {
        plan.advance(1)?;
        plan.download(Field::Pressure, case.whole(), host.view_mut().into())?;
        count += host.iter().filter(denormal).count();
        count += plan.traces()?.samples.to_f64().iter().filter(denormal).count();
    }
    Ok(count)
}

pub(super) fn run(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let mut orders = Orders::new(backend, variant);
    let kinds =
        [("zero", Boundary::Zero), ("cpml", setup::cpml(8)), ("minimod", setup::minimod(8))];
    let cases = [8, 16].into_iter().flat_map(|order| kinds.map(|(name, kind)| (order, name, kind)));
    for (order, name, boundary) in cases {
        let boundaries = Boundaries::uniform(boundary);
        let problem = setup::problem([33, 17, 65], order, boundaries, Arithmetic::F32)?;
        if !orders.take(backend, &problem)? {
            continue;
        }
        let name = format!("{name}, order {order}");
        let mut case = Case::random(&problem, 6, 900);
        // A receiver far away hears the front of the wave alone.
        case.receivers.points = vec![PointWeights::on_node([30, 14, 60])];
        let impulse = [12, 8, 24];
        let mut plan = case.plan(backend, variant)?;
        plan.reset()?;
        plan.set_sources(&temblor_backend::SourceTable::none())?;
        let left = denormals(plan.as_mut(), &case, impulse)?;
        outcomes.push(Outcome::new(format!("denormals left, {name}"), left as f64, 0.0));
        let fine = case.with_arithmetic(Arithmetic::F64);
        let mut oracle = fine.bare(&ReferenceBackend::new(), "loops")?;
        let passed = denormals(oracle.as_mut(), &fine, impulse)?;
        let law = format!("the wave passes through the range, {name} ({passed} values)");
        outcomes.push(Outcome::law(law, passed > 100));
    }
    outcomes.extend(orders.law());
    Ok(outcomes)
}
