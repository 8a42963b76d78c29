//! Agreement of the tuned backend with the reference and of its variants with each other, on random
//! fields; impulses that show every tap; the contract's laws where the tuned code could break them.

#![allow(clippy::cast_possible_truncation, reason = "values are rounded to f32 on purpose")]

use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;
use temblor_backend::{
    Backend, Error, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Face, Grid, Minimod, PointWeights, WaveProblem, cfl,
};

use super::{CpuBackend, Isa};
use crate::ReferenceBackend;

pub(super) const SPEED: f64 = 3000.0;

fn cpml(cells: usize) -> Boundary {
    Boundary::Cpml(Cpml { cells, r0: 1e-6, peak_hz: 20.0, vmax: SPEED })
}

fn minimod(cells: usize) -> Boundary {
    Boundary::Minimod(Minimod { cells, eta_peak: 0.3 })
}

/// Boundary sets by name; layers as wide as the axis allows, up to five cells.
fn boundaries(name: &str, shape: [usize; 3]) -> Boundaries {
    let mut set = Boundaries::uniform(Boundary::Zero);
    for (f, face) in Face::ALL.into_iter().enumerate() {
        let cells = 5.min(shape[face.axis().index()] / 2).max(1);
        let boundary = match name {
            "zero" => Boundary::Zero,
            "free" => Boundary::Free,
            "rigid" => Boundary::Rigid,
            "cpml" => cpml(cells),
            "minimod" => minimod(cells),
            "free_and_cpml" => {
                [cpml(cells), Boundary::Rigid, Boundary::Free][[0, 1, 2, 0, 2, 0][f]]
            }
            "free_and_minimod" => {
                [minimod(cells), Boundary::Rigid, Boundary::Free][[1, 0, 0, 2, 2, 0][f]]
            }
            _ => panic!("{name}"),
        };
        set.set(face, boundary);
    }
    set
}

pub(super) const SETS: [&str; 7] =
    ["zero", "free", "rigid", "cpml", "minimod", "free_and_cpml", "free_and_minimod"];

pub(super) fn problem(
    shape: [usize; 3],
    order: usize,
    set: &str,
    arithmetic: Arithmetic,
) -> WaveProblem {
    let grid = Grid::new(shape, [10.0, 12.0, 8.0], [0.0; 3]).unwrap();
    let operator = temblor_physics::Operator::Direct { order };
    let dt = 0.9 * cfl::largest_dt(&grid, &operator, SPEED);
    WaveProblem::builder(grid, dt)
        .order(order)
        .arithmetic(arithmetic)
        .boundaries(boundaries(set, shape))
        .build()
        .unwrap()
}

pub(super) fn random(shape: [usize; 3], rng: &mut ChaCha8Rng, low: f32, high: f32) -> Array3<f32> {
    Array3::from_shape_simple_fn(shape, || rng.random_range(low..high))
}

/// A plan with random fields, two sources and three receivers.
pub(super) fn plan(
    backend: &dyn Backend,
    problem: &WaveProblem,
    variant: Option<&str>,
) -> Box<dyn Propagator> {
    let shape = problem.grid.shape;
    let mut options = PlanOptions::new(3, 64);
    options.variant = variant.map(str::to_owned);
    let mut plan = backend.propagator(problem, &options).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let whole = Region::whole(shape);
    let speed = random(shape, &mut rng, 0.5, 1.0).mapv(|v| v * SPEED as f32);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    for field in [Field::Pressure, Field::PressurePrevious] {
        let p = random(shape, &mut rng, -1.0, 1.0);
        plan.upload(field, whole, p.view().into()).unwrap();
    }
    let middle = PointWeights::on_node(shape.map(|n| n / 2));
    let corner = PointWeights::on_node(shape.map(|n| n - 2.min(n)));
    let points = vec![middle.clone(), corner.clone()];
    let amplitudes = Array2::from_shape_simple_fn((40, 2), || rng.random_range(-1e-3..1e-3));
    plan.set_sources(&SourceTable { points, amplitudes }).unwrap();
    let mut wide = middle.clone();
    wide.axes[2].first = 0;
    wide.axes[2].weights = vec![0.25; shape[2].min(4)];
    plan.set_receivers(&ReceiverTable { points: vec![middle, corner, wide] }).unwrap();
    plan
}

pub(super) fn pressure(plan: &mut dyn Propagator, field: Field, shape: [usize; 3]) -> Array3<f64> {
    let mut out = Array3::<f64>::zeros(shape);
    plan.download(field, Region::whole(shape), out.view_mut().into()).unwrap();
    out
}

/// Largest difference relative to the largest value.
pub(super) fn difference(a: &Array3<f64>, b: &Array3<f64>) -> f64 {
    let scale = b.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / scale
}

/// Compares with the f64 reference after 1 and after 7 steps.
fn agrees(backend: &CpuBackend, shape: [usize; 3], order: usize, set: &str) {
    let double = problem(shape, order, set, Arithmetic::F64);
    let single = problem(shape, order, set, Arithmetic::F32);
    for variant in backend.variants(&single).unwrap() {
        let mut expected = plan(&ReferenceBackend::new(), &double, None);
        let mut tuned = plan(backend, &single, Some(&variant.name));
        for (steps, bound) in [(1, 1e-6), (6, 7e-6)] {
            expected.advance(steps).unwrap();
            tuned.advance(steps).unwrap();
            for field in [Field::Pressure, Field::PressurePrevious] {
                let got = pressure(tuned.as_mut(), field, shape);
                let want = pressure(expected.as_mut(), field, shape);
                let off = difference(&got, &want);
                let step = tuned.step();
                let name = &variant.name;
                assert!(
                    off <= bound,
                    "{name}, {shape:?}, order {order}, {set}, {field:?} of step {step}: {off:.2e}"
                );
            }
        }
        let (a, b) = (tuned.traces().unwrap(), expected.traces().unwrap());
        let (a, b) = (a.samples.to_f64(), b.samples.to_f64());
        assert_eq!(a.dim(), (3, 7));
        let off = a.iter().zip(&b).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(off <= 1e-5, "{set}, {shape:?}, order {order}: traces differ by {off:.2e}");
        let (a, b) = (tuned.health().unwrap(), expected.health().unwrap());
        let layers = (a.largest_in_layers - b.largest_in_layers).abs();
        assert!(layers <= 1e-5 * b.largest_in_layers, "{set}: {a:?} {b:?}");
    }
}

#[rstest]
fn every_boundary_agrees_with_the_reference(
    #[values([33, 17, 65], [7, 5, 200], [40, 1, 33], [12, 40, 20])] shape: [usize; 3],
    #[values(0, 1, 2, 3, 4, 5, 6)] set: usize,
) {
    for order in [2, 8, 16] {
        agrees(&CpuBackend::new(), shape, order, SETS[set]);
    }
}

#[rstest]
fn every_order_agrees_with_the_reference(#[values(2, 4, 6, 8, 10, 12, 14, 16)] order: usize) {
    for set in ["free_and_cpml", "free_and_minimod"] {
        agrees(&CpuBackend::new(), [33, 17, 65], order, set);
    }
}

#[test]
fn every_instruction_set_of_this_processor_agrees_with_the_reference() {
    for isa in Isa::available() {
        let backend = CpuBackend::with_isa(isa).unwrap();
        for set in SETS {
            for order in [2, 8, 16] {
                agrees(&backend, [21, 19, 37], order, set);
            }
        }
    }
}

/// The distance of two floats in units in the last place.
fn ulps(a: f32, b: f32) -> u32 {
    a.to_bits().abs_diff(b.to_bits())
}

#[rstest]
fn an_impulse_shows_every_tap(#[values(2, 4, 6, 8, 10, 12, 14, 16)] order: usize) {
    let shape = [19, 19, 40];
    let centre = [9, 9, 17];
    let problem = problem(shape, order, "zero", Arithmetic::F32);
    let weights = temblor_physics::weights::second_derivative(order);
    let c2dt2 = (SPEED * problem.dt).powi(2);
    for isa in Isa::available() {
        let backend = CpuBackend::with_isa(isa).unwrap();
        for variant in backend.variants(&problem).unwrap() {
            let options = PlanOptions::default().variant(&variant.name);
            let mut plan = backend.propagator(&problem, &options).unwrap();
            let whole = Region::whole(shape);
            let speed = Array3::from_elem(shape, SPEED);
            plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
            let mut impulse = Array3::<f32>::zeros(shape);
            impulse[centre] = 1.0;
            plan.upload(Field::Pressure, whole, impulse.view().into()).unwrap();
            plan.advance(1).unwrap();
            let got = pressure(plan.as_mut(), Field::Pressure, shape);
            let mut taps = 0;
            for (a, h) in problem.grid.spacing.into_iter().enumerate() {
                for (r, w) in weights.iter().enumerate().skip(1) {
                    for node in [centre[a] - r, centre[a] + r] {
                        let mut at = centre;
                        at[a] = node;
                        let expected = (c2dt2 * w / (h * h)) as f32;
                        let off = ulps(got[at] as f32, expected);
                        assert!(off <= 4, "order {order}, axis {a}, distance {r}: {off} ulp");
                        taps += 1;
                    }
                }
            }
            let nonzero = got.iter().filter(|v| v.abs() > 0.0).count();
            assert_eq!(nonzero, taps + 1, "order {order}: taps beyond the star");
        }
    }
}

/// The state and the traces after some steps, bit for bit.
pub(super) fn state(plan: &mut dyn Propagator, steps: &[u32]) -> (Vec<u8>, Vec<u64>) {
    steps.iter().for_each(|&n| plan.advance(n).unwrap());
    let traces = plan.traces().unwrap().samples.to_f64();
    let mut saved = Vec::new();
    plan.save(&mut saved).unwrap();
    (saved, traces.iter().map(|v| v.to_bits()).collect())
}

/// What follows the head of a saved state, which names the variant.
pub(super) fn body(state: &[u8]) -> &[u8] {
    let length = u64::from_le_bytes(state[8..16].try_into().unwrap());
    &state[16 + usize::try_from(length).unwrap()..]
}

#[rstest]
fn all_variants_splits_and_thread_counts_give_the_same_bits(
    #[values([33, 70, 65], [9, 90, 20])] shape: [usize; 3],
    #[values(0, 1, 2, 3, 4, 5, 6)] set: usize,
    #[values(2, 8, 16)] order: usize,
) {
    let problem = problem(shape, order, SETS[set], Arithmetic::F32);
    let backend = CpuBackend::new();
    let (expected, traces) = state(plan(&backend, &problem, Some("blocked")).as_mut(), &[9]);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for steps in [&[9][..], &[2, 1, 3, 0, 3]] {
            let (got, got_traces) = pool
                .install(|| state(plan(&backend, &problem, Some("wavefront2")).as_mut(), steps));
            assert!(body(&got) == body(&expected), "{threads} threads, {steps:?}: state");
            assert!(got_traces == traces, "{threads} threads, {steps:?}: traces");
        }
    }
}

#[test]
fn a_restored_plan_goes_on_bit_for_bit() {
    for set in SETS {
        let problem = problem([21, 19, 37], 8, set, Arithmetic::F32);
        let backend = CpuBackend::new();
        let mut whole = plan(&backend, &problem, None);
        let (halfway, _) = state(whole.as_mut(), &[5]);
        let expected = state(whole.as_mut(), &[6]);
        let mut resumed = plan(&backend, &problem, None);
        resumed.advance(2).unwrap();
        resumed.restore(&mut halfway.as_slice()).unwrap();
        assert!(state(resumed.as_mut(), &[6]) == expected, "{set}");
    }
}

#[test]
fn reset_leads_back_to_rest() {
    for set in SETS {
        let problem = problem([21, 19, 37], 8, set, Arithmetic::F32);
        let backend = CpuBackend::new();
        let mut plan = plan(&backend, &problem, None);
        plan.reset().unwrap();
        let first = state(plan.as_mut(), &[7]);
        plan.reset().unwrap();
        assert!(state(plan.as_mut(), &[7]) == first, "{set}");
    }
}

#[test]
fn a_plan_without_wave_speed_refuses_to_step_and_names_the_node() {
    let problem = problem([9, 8, 20], 4, "free", Arithmetic::F32);
    let mut plan = CpuBackend::new().propagator(&problem, &PlanOptions::default()).unwrap();
    let region = Region::slab([9, 8, 20], 0, 5);
    let speed = Array3::from_elem(region.shape, SPEED);
    plan.upload(Field::WaveSpeed, region, speed.view().into()).unwrap();
    let error = plan.advance(1).unwrap_err();
    assert!(matches!(&error, Error::Invalid { what, .. } if what.contains("[5, 1, 1]")), "{error}");
}

#[test]
fn the_first_bad_node_is_found() {
    let problem = problem([9, 8, 20], 4, "zero", Arithmetic::F32);
    let mut plan = CpuBackend::new().propagator(&problem, &PlanOptions::default()).unwrap();
    let mut p = Array3::<f32>::zeros([9, 8, 20]);
    p[[3, 2, 19]] = -5.0;
    plan.upload(Field::Pressure, Region::whole([9, 8, 20]), p.view().into()).unwrap();
    let health = plan.health().unwrap();
    assert_eq!((health.largest.to_bits(), health.first_bad), (5.0_f64.to_bits(), None));
    p[[4, 2, 19]] = f32::NAN;
    p[[6, 0, 0]] = f32::INFINITY;
    plan.upload(Field::Pressure, Region::whole([9, 8, 20]), p.view().into()).unwrap();
    assert_eq!(plan.health().unwrap().first_bad, Some([4, 2, 19]));
}

#[test]
fn order_eight_with_equal_spacing_takes_33_operations() {
    let grid = Grid::new([9, 9, 9], [10.0; 3], [0.0; 3]).unwrap();
    let problem = WaveProblem::builder(grid, 1e-3).build().unwrap();
    for variant in CpuBackend::new().variants(&problem).unwrap() {
        assert_eq!(variant.flops_per_point.to_bits(), 33.0_f64.to_bits());
    }
}
