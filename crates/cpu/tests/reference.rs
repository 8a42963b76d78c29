//! What the oracle itself must show before anything is compared with it.

#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use ndarray::Array3;
use temblor_backend::{
    Backend, Error, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_cpu::ReferenceBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Grid, PointWeights, WaveProblem, cfl,
};

const SHAPE: [usize; 3] = [24, 20, 28];

fn problem(boundary: Boundary, arithmetic: Arithmetic) -> WaveProblem {
    let grid = Grid::new(SHAPE, [10.0; 3], [0.0; 3]).unwrap();
    let draft = WaveProblem::builder(grid, 1.0).build().unwrap();
    let dt = 0.9 * cfl::largest_dt(&grid, &draft.operator, 2000.0);
    WaveProblem::builder(grid, dt)
        .boundaries(Boundaries::uniform(boundary))
        .arithmetic(arithmetic)
        .build()
        .unwrap()
}

fn plan(problem: &WaveProblem) -> Box<dyn Propagator> {
    let mut plan = ReferenceBackend::new().propagator(problem, &PlanOptions::new(4, 1000)).unwrap();
    let speed = Array3::from_elem(SHAPE, 2000.0);
    plan.upload(Field::WaveSpeed, Region::whole(SHAPE), speed.view().into()).unwrap();
    plan
}

fn with_source(plan: &mut dyn Propagator, steps: usize) {
    let amplitudes = ndarray::Array2::from_shape_fn((steps, 1), |(n, _)| {
        let z = (std::f64::consts::PI * 0.06 * (n as f64 - 20.0)).powi(2);
        (1.0 - 2.0 * z) * (-z).exp()
    });
    let points = vec![PointWeights::on_node([12, 10, 14])];
    plan.set_sources(&SourceTable { points, amplitudes }).unwrap();
    plan.set_receivers(&ReceiverTable { points: vec![PointWeights::on_node([12, 10, 20])] })
        .unwrap();
}

#[test]
fn a_layer_lets_the_wave_out_and_a_wall_does_not() {
    let left_over = |boundary| {
        let mut plan = plan(&problem(boundary, Arithmetic::F64));
        with_source(plan.as_mut(), 50);
        plan.advance(400).unwrap();
        plan.health().unwrap().largest
    };
    let layer = Cpml { cells: 8, r0: 1e-4, peak_hz: 14.0, vmax: 2000.0 };
    let (damped, walled) = (left_over(Boundary::Cpml(layer)), left_over(Boundary::Rigid));
    assert!(damped < 1e-3 * walled, "{damped:e} of {walled:e}");
}

#[test]
fn a_wave_in_single_precision_is_that_in_double_to_rounding() {
    let layer = Boundary::Cpml(Cpml { cells: 6, r0: 1e-4, peak_hz: 14.0, vmax: 2000.0 });
    let traces = [Arithmetic::F32, Arithmetic::F64].map(|arithmetic| {
        let mut plan = plan(&problem(layer, arithmetic));
        with_source(plan.as_mut(), 50);
        plan.advance(100).unwrap();
        plan.traces().unwrap().samples.to_f64()
    });
    let largest = traces[1].iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let error = (&traces[0] - &traces[1]).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(largest > 0.0 && error < 100.0 * 1e-7 * largest, "{error:e} of {largest:e}");
}

#[test]
fn a_step_without_wave_speed_is_refused_and_does_not_poison() {
    let problem = problem(Boundary::Zero, Arithmetic::F32);
    let mut plan = ReferenceBackend::new().propagator(&problem, &PlanOptions::new(0, 0)).unwrap();
    assert!(matches!(plan.advance(1), Err(Error::Invalid { .. })));
    assert!(plan.health().is_ok());
}
