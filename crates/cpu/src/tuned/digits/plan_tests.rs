//! Plans of digits through the contract: agreement with the reference, its laws, a growing front.

#![allow(clippy::cast_possible_truncation, reason = "values are rounded to f32 on purpose")]

use ndarray::{Array2, Array3};
use rstest::rstest;
use temblor_backend::{Backend, Field, PlanOptions, Propagator, Region, SourceTable};
use temblor_physics::{Arithmetic, PointWeights, WaveProblem};

use super::super::kernels::Isa;
use super::super::tests::{SETS, SPEED, body, difference, plan, pressure, problem, state};
use crate::{CpuBackend, ReferenceBackend};

fn arithmetic(name: &str) -> Arithmetic {
    name.parse().unwrap()
}

#[rstest]
fn every_boundary_agrees_with_the_reference(
    #[values([33, 17, 65], [40, 1, 33])] shape: [usize; 3],
    #[values(0, 1, 2, 3, 4, 5, 6)] set: usize,
    #[values("int8-2x3", "bf16-3x3")] name: &str,
) {
    let set = SETS[set];
    let backend = CpuBackend::new();
    let double = problem(shape, 8, set, Arithmetic::F64);
    let single = problem(shape, 8, set, arithmetic(name));
    for variant in backend.variants(&single).unwrap() {
        let mut expected = plan(&ReferenceBackend::new(), &double, None);
        let mut tuned = plan(&backend, &single, Some(&variant.name));
        // Bounds of the FP32 variants: three digits hold a single's 24 bits, less what the tile's
        // largest value is above the node's.
        for (steps, bound) in [(1, 1e-6), (6, 7e-6)] {
            expected.advance(steps).unwrap();
            tuned.advance(steps).unwrap();
            for field in [Field::Pressure, Field::PressurePrevious] {
                let got = pressure(tuned.as_mut(), field, shape);
                let want = pressure(expected.as_mut(), field, shape);
                let off = difference(&got, &want);
                assert!(off <= bound, "{}, {set}, {field:?}: {off:.2e}", variant.name);
            }
        }
        let (a, b) = (tuned.health().unwrap(), expected.health().unwrap());
        let layers = (a.largest_in_layers - b.largest_in_layers).abs();
        assert!(layers <= 1e-5 * b.largest_in_layers, "{set}: {a:?} {b:?}");
    }
}

#[rstest]
fn variants_splits_and_thread_counts_give_the_same_bits(
    #[values("int8-2x3", "int8-2x3:adaptive=8", "bf16-2x2")] name: &str,
    #[values(2, 8, 16)] order: usize,
) {
    for set in ["free_and_cpml", "minimod"] {
        let problem = problem([33, 20, 70], order, set, arithmetic(name));
        let backend = CpuBackend::new();
        let mut expected = None;
        for variant in backend.variants(&problem).unwrap() {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for steps in [&[5][..], &[2, 0, 3]] {
                    let (got, traces) = pool.install(|| {
                        state(plan(&backend, &problem, Some(&variant.name)).as_mut(), steps)
                    });
                    let got = (body(&got).to_vec(), traces);
                    let expected = expected.get_or_insert_with(|| got.clone());
                    assert!(*expected == got, "{}, {threads}, {steps:?}, {set}", variant.name);
                }
            }
        }
    }
}

#[rstest]
fn a_restored_or_reset_plan_goes_on_bit_for_bit(
    #[values("int8-2x3", "int8-1x2:adaptive=6", "bf16-2x3")] name: &str,
) {
    let problem = problem([21, 19, 70], 8, "free_and_cpml", arithmetic(name));
    let backend = CpuBackend::new();
    for variant in backend.variants(&problem).unwrap() {
        let fresh = || plan(&backend, &problem, Some(&variant.name));
        let mut whole = fresh();
        let (halfway, _) = state(whole.as_mut(), &[5]);
        let expected = state(whole.as_mut(), &[6]);
        let mut resumed = fresh();
        resumed.advance(2).unwrap();
        resumed.restore(&mut halfway.as_slice()).unwrap();
        assert!(state(resumed.as_mut(), &[6]) == expected, "{}", variant.name);
        resumed.reset().unwrap();
        let first = state(resumed.as_mut(), &[4]);
        resumed.reset().unwrap();
        assert!(state(resumed.as_mut(), &[4]) == first, "{}", variant.name);
    }
}

/// A plan with constant speed and one source.
fn quiet(
    backend: &dyn Backend,
    problem: &WaveProblem,
    variant: Option<&str>,
) -> Box<dyn Propagator> {
    let shape = problem.grid.shape;
    let mut options = PlanOptions::new(0, 0);
    options.variant = variant.map(str::to_owned);
    let mut plan = backend.propagator(problem, &options).unwrap();
    let speed = Array3::from_elem(shape, SPEED);
    plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into()).unwrap();
    plan
}

#[rstest]
fn a_front_that_grows_a_thousandfold_in_three_steps_enters_silence_whole(
    #[values("int8-2x3", "int8-2x3:adaptive=10", "bf16-2x3")] name: &str,
) {
    // The source lies beside the corner of eight tiles, and 2^10 in three steps makes all that is there
    // small beside what comes.
    let shape = [40, 36, 140];
    let double = problem(shape, 8, "zero", Arithmetic::F64);
    let single = problem(shape, 8, "zero", arithmetic(name));
    let backend = CpuBackend::new();
    for variant in backend.variants(&single).unwrap() {
        let mut expected = quiet(&ReferenceBackend::new(), &double, None);
        let mut tuned = quiet(&backend, &single, Some(&variant.name));
        for plan in [&mut expected, &mut tuned] {
            let points = vec![PointWeights::on_node([14, 17, 62])];
            let amplitudes =
                Array2::from_shape_fn((12, 1), |(n, _)| 1e-9 * (n as f64 * 10.0 / 3.0).exp2());
            plan.set_sources(&SourceTable { points, amplitudes }).unwrap();
        }
        for step in 1..=12 {
            expected.advance(1).unwrap();
            tuned.advance(1).unwrap();
            let got = pressure(tuned.as_mut(), Field::Pressure, shape);
            let want = pressure(expected.as_mut(), Field::Pressure, shape);
            // Every node that has at least 2^-12 of the largest value is there.
            let peak = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            let square = |v: f64| v * v;
            let off: f64 = got.iter().zip(&want).map(|(g, w)| square(g - w)).sum();
            let all: f64 = want.iter().map(|&w| square(w)).sum();
            let bound = if name.contains("adaptive") { 1e-3 } else { 1e-6 };
            let off = (off / all).sqrt();
            assert!(off <= bound, "{} step {step}: {off:.2e}", variant.name);
            let lost = got
                .iter()
                .zip(&want)
                .filter(|(g, w)| w.abs() > 4e-4 * peak && (*g - *w).abs() > 0.1 * w.abs());
            assert_eq!(lost.count(), 0, "{} step {step}", variant.name);
        }
    }
}

/// Data built to break a carried exponent: after steps of a small field, an upload of one node with 2^40 of
/// it, then a source and another upload, each where a tile's own last step knows nothing of it.
#[test]
fn a_carried_exponent_follows_uploads_sources_and_restored_states() {
    let shape = [40, 36, 140];
    let double = problem(shape, 8, "rigid", Arithmetic::F64);
    let single = problem(shape, 8, "rigid", arithmetic("int8-2x3"));
    let backend = CpuBackend::new();
    for variant in backend.variants(&single).unwrap() {
        let mut expected = quiet(&ReferenceBackend::new(), &double, None);
        let mut tuned = quiet(&backend, &single, Some(&variant.name));
        let mut saved = Vec::new();
        for (round, node) in [[15, 15, 63], [16, 20, 64], [0, 35, 139]].into_iter().enumerate() {
            let value = (40.0 * round as f64 - 40.0).exp2();
            for plan in [&mut expected, &mut tuned] {
                let region = Region { start: node, shape: [1; 3], stride: [1; 3] };
                let one = Array3::from_elem([1; 3], value);
                plan.upload(Field::Pressure, region, one.view().into()).unwrap();
                let points = vec![PointWeights::on_node([31, 32, 64])];
                let amplitudes = Array2::from_elem((40, 1), 10.0 * value);
                plan.set_sources(&SourceTable { points, amplitudes }).unwrap();
                plan.advance(3).unwrap();
            }
            let got = pressure(tuned.as_mut(), Field::Pressure, shape);
            let want = pressure(expected.as_mut(), Field::Pressure, shape);
            let off = difference(&got, &want);
            assert!(off <= 3e-6, "{} round {round}: {off:.2e}", variant.name);
            if round == 1 {
                tuned.save(&mut saved).unwrap();
            }
        }
        // Back to what is 2^40 smaller, in a plan whose peaks are of the last round.
        let last = state(tuned.as_mut(), &[]);
        tuned.restore(&mut saved.as_slice()).unwrap();
        let mut fresh = quiet(&backend, &single, Some(&variant.name));
        fresh.restore(&mut saved.as_slice()).unwrap();
        let points = vec![PointWeights::on_node([31, 32, 64])];
        for plan in [&mut tuned, &mut fresh] {
            let amplitudes = Array2::from_elem((40, 1), 10.0);
            plan.set_sources(&SourceTable { points: points.clone(), amplitudes }).unwrap();
        }
        let resumed = state(tuned.as_mut(), &[2]);
        assert!(resumed == state(fresh.as_mut(), &[2]), "{}", variant.name);
        assert!(resumed != last);
    }
}

#[rstest]
fn one_bad_node_is_found(#[values("int8-2x3", "bf16-2x3")] name: &str) {
    let shape = [40, 20, 70];
    let problem = problem(shape, 8, "cpml", arithmetic(name));
    let backend = CpuBackend::new();
    for variant in backend.variants(&problem).unwrap() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut plan = quiet(&backend, &problem, Some(&variant.name));
            let mut p = Array3::<f32>::zeros(shape);
            p[[20, 7, 33]] = bad;
            plan.upload(Field::Pressure, Region::whole(shape), p.view().into()).unwrap();
            assert_eq!(plan.health().unwrap().first_bad, Some([20, 7, 33]));
            plan.advance(1).unwrap();
            assert!(
                plan.health().unwrap().first_bad.is_some(),
                "{}: silently dropped",
                variant.name
            );
        }
    }
}

#[test]
fn variants_are_those_of_the_kind_of_digit_and_count_its_products() {
    let problem = |name| problem([9, 9, 20], 8, "zero", arithmetic(name));
    let backend = CpuBackend::with_isa(Isa::Portable).unwrap();
    let names = |name| -> Vec<String> {
        backend.variants(&problem(name)).unwrap().into_iter().map(|v| v.name).collect()
    };
    assert_eq!(names("int8-3x3:trim=2"), ["ozaki-scalar"]);
    assert_eq!(names("bf16-1x2"), ["bf16-scalar"]);
    // Six products of 27 taps, two operations each, and the step.
    let variant = &backend.variants(&problem("int8-2x3")).unwrap()[0];
    assert_eq!(variant.flops_per_point.to_bits(), (6.0_f64 * 27.0 * 2.0 + 4.0).to_bits());
    assert_eq!((variant.bytes_per_point.to_bits(), variant.steps_per_pass), (16_f64.to_bits(), 1));
    // Tiles are part of the arithmetic: nothing can be tuned that would change bits.
    assert!(backend.parameters(&problem("int8-2x3"), &variant.name).unwrap().is_empty());
}
