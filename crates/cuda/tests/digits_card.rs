//! Laplacians by digits on a card, against f64. These need an NVIDIA device:
//! `cargo test -p temblor-cuda --test digits_card -- --ignored`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod cases;
#[path = "cases/digits.rs"]
mod digits;
mod oracle;
#[path = "cases/start.rs"]
mod start;

use cases::{FASTEST, cpml, download, minimod, problem, random, tables};
use digits::{
    bf16_limbs_err_by_their_bits, by_digits, cells_take_the_fewest_digits_that_reach_their_bits,
    errors_are_those_asked_for, every_count_of_digits_errs_as_predicted, plan,
    steps_agree_with_f64, variants_give_the_same_bits, what_is_not_built_takes_the_plain_kernel,
};
use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Field, PlanOptions, Region};
use temblor_cuda::{CudaBackend, Queueing};
use temblor_physics::{Boundaries, Boundary, Face, WaveProblem};

const VARIANTS: [&str; 3] = ["ozaki_mma", "ozaki_dp4a", "ozaki_plain"];

fn card() -> CudaBackend {
    CudaBackend::new(0).unwrap()
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn errors_of_the_laplacian_are_those_asked_for() {
    let shapes = [[33, 37, 83], [70, 9, 130]];
    errors_are_those_asked_for(&card(), &shapes, &VARIANTS);
    errors_are_those_asked_for(&card(), &[[131, 1, 77]], &["ozaki_plain"]);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn every_count_of_digits_errs_as_predicted_on_a_card() {
    every_count_of_digits_errs_as_predicted(&card(), &[[33, 37, 83], [131, 1, 77]]);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn cells_take_the_fewest_digits_on_a_card() {
    cells_take_the_fewest_digits_that_reach_their_bits(&card(), &[[70, 41, 130], [131, 1, 77]]);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn errors_of_bf16_limbs_are_those_of_their_bits() {
    for variant in ["ozaki_mma", "ozaki_plain"] {
        bf16_limbs_err_by_their_bits(&card(), variant, [33, 37, 83]);
    }
    bf16_limbs_err_by_their_bits(&card(), "ozaki_plain", [131, 1, 77]);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn steps_agree_with_f64_beside_layers_and_walls() {
    let backend = card();
    for variant in VARIANTS {
        for shape in [[33, 17, 65], [70, 50, 83], [24, 70, 150]] {
            // Other radii on the smallest grid alone.
            let orders: &[usize] = if shape[0] == 33 { &[2, 4, 6, 8] } else { &[8] };
            for &order in orders {
                steps_agree_with_f64(&backend, variant, shape, order);
            }
        }
    }
    // What only the plain kernel does.
    for order in [10, 12, 14, 16] {
        steps_agree_with_f64(&backend, "ozaki_plain", [35, 36, 75], order);
    }
    for order in (2..=16).step_by(2) {
        steps_agree_with_f64(&backend, "ozaki_plain", [131, 1, 77], order);
    }
}

/// Every engine on grids small enough for compute-sanitizer: layers, walls, sources, receivers.
#[test]
#[ignore = "needs an NVIDIA device"]
fn small_runs_by_digits() {
    let backend = card();
    for variant in VARIANTS {
        steps_agree_with_f64(&backend, variant, [26, 29, 70], 8);
        steps_agree_with_f64(&backend, variant, [15, 13, 18], 4);
    }
    steps_agree_with_f64(&backend, "ozaki_plain", [25, 1, 31], 8);
    // All counts that have kernels of their own, adaptive ones, and BF16.
    variants_give_the_same_bits(&backend, [22, 20, 41], 4);
    cells_take_the_fewest_digits_that_reach_their_bits(&backend, &[[9, 11, 70]]);
    for variant in ["ozaki_mma", "ozaki_plain"] {
        bf16_limbs_err_by_their_bits(&backend, variant, [9, 11, 20]);
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn variants_give_the_same_bits_on_a_card() {
    // Several cells, thin bricks at the end of each axis between the layers.
    variants_give_the_same_bits(&card(), [79, 47, 150], 8);
    variants_give_the_same_bits(&card(), [40, 41, 77], 4);
    what_is_not_built_takes_the_plain_kernel(&card());
}

/// Exponents that are carried from step to step know nothing of an upload or a source that is a million
/// times larger than what was there.
#[test]
#[ignore = "needs an NVIDIA device"]
fn carried_exponents_follow_uploads_sources_and_restored_states() {
    let backend = card();
    let shape = [70, 45, 100];
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let speed = random(&mut rng, shape, 1500.0, FASTEST);
    let start = random(&mut rng, shape, -1e-6, 1e-6);
    let spike = random(&mut rng, [3, 3, 3], -1.0, 1.0);
    let (mut sources, _) = tables(&mut rng, shape, 40);
    for (n, mut row) in sources.amplitudes.rows_mut().into_iter().enumerate() {
        // From nothing by 2^10 every step.
        row.fill(if n < 30 { 0.0 } else { 1e-6 * ((10 * (n - 30).min(4)) as f64).exp2() });
    }
    for boundary in [Boundary::Zero, cpml(8)] {
        let boundaries = Boundaries::uniform(boundary);
        let exact = problem(shape, 8, boundaries);
        let digits = by_digits(shape, 8, boundaries);
        let run = |problem: &WaveProblem, variant: &str| {
            let mut plan =
                plan(&backend, problem, &PlanOptions::new(0, 0).variant(variant), &speed);
            let whole = Region::whole(shape);
            plan.upload(Field::Pressure, whole, start.view().into()).unwrap();
            plan.set_sources(&sources).unwrap();
            plan.advance(3).unwrap();
            let mut saved = Vec::new();
            plan.save(&mut saved).unwrap();
            plan.advance(4).unwrap();
            let part = Region { start: [40, 20, 50], shape: [3; 3], stride: [1; 3] };
            plan.upload(Field::Pressure, part, spike.view().into()).unwrap();
            plan.advance(20).unwrap();
            let first = download(plan.as_mut(), Field::Pressure, shape);
            plan.advance(10).unwrap();
            let second = download(plan.as_mut(), Field::Pressure, shape);
            plan.restore(&mut saved.as_slice()).unwrap();
            plan.advance(4).unwrap();
            [first, second, download(plan.as_mut(), Field::Pressure, shape)]
        };
        let expected = run(&exact, "baseline");
        for variant in VARIANTS {
            for (n, (got, want)) in run(&digits, variant).iter().zip(&expected).enumerate() {
                let largest = want.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                assert!(largest > 0.0);
                let off = got.iter().zip(want).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
                assert!(got.iter().all(|v| v.is_finite()), "{variant} {n}");
                assert!(
                    off <= 4e-5 * largest,
                    "{variant} {boundary:?} {n}: {off:e} of {largest:e}"
                );
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_value_that_is_not_finite_is_found() {
    let backend = card();
    let shape = [40, 40, 40];
    let problem = by_digits(shape, 8, Boundaries::uniform(Boundary::Zero));
    let speed = Array3::from_elem((40, 40, 40), 2000.0);
    for variant in VARIANTS {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut plan =
                plan(&backend, &problem, &PlanOptions::new(0, 0).variant(variant), &speed);
            let mut p = Array3::zeros((40, 40, 40));
            p[[20, 20, 20]] = bad;
            plan.upload(Field::Pressure, Region::whole(shape), p.view().into()).unwrap();
            plan.advance(1).unwrap();
            assert!(plan.health().unwrap().first_bad.is_some(), "{variant} {bad}");
        }
    }
}

/// Cut or whole, in graphs or not, saved or not, by any tile and by either engine: the same bits.
#[test]
#[ignore = "needs an NVIDIA device"]
fn nothing_but_the_digits_decides_about_bits() {
    let mut walls = Boundaries::uniform(minimod(8));
    walls.set(Face::ZMin, Boundary::Free);
    for boundaries in [Boundaries::uniform(Boundary::Zero), Boundaries::uniform(cpml(8)), walls] {
        let problem = by_digits([70, 50, 101], 8, boundaries);
        let shape = problem.grid.shape;
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let p = random(&mut rng, shape, -1.0, 1.0);
        let speed = random(&mut rng, shape, 1500.0, FASTEST);
        let (sources, _) = tables(&mut rng, shape, 31);
        let run = |backend: &CudaBackend, options: &PlanOptions, cuts: &[u32], save: bool| {
            let mut plan = plan(backend, &problem, options, &speed);
            plan.upload(Field::Pressure, Region::whole(shape), p.view().into()).unwrap();
            plan.set_sources(&sources).unwrap();
            for &steps in cuts {
                plan.advance(steps).unwrap();
                if save {
                    let mut saved = Vec::new();
                    plan.save(&mut saved).unwrap();
                    plan.reset().unwrap();
                    plan.restore(&mut saved.as_slice()).unwrap();
                }
            }
            download(plan.as_mut(), Field::Pressure, shape)
        };
        let queued = |steps_per_graph, branches| {
            let queueing = Queueing { steps_per_graph, branches };
            CudaBackend::new(0).unwrap().with_queueing(queueing)
        };
        let (plain, graphs) = (queued(0, false), queued(8, true));
        let options = PlanOptions::new(0, 0).variant("ozaki_mma");
        let expected = run(&plain, &options, &[45], false);
        assert!(expected.iter().all(|v| v.is_finite()));
        for variant in VARIANTS {
            let options = PlanOptions::new(0, 0).variant(variant);
            assert!(run(&graphs, &options, &[45], false) == expected, "{variant}: graphs");
            assert!(run(&graphs, &options, &[1, 19, 25], false) == expected, "{variant}: cut");
            assert!(run(&plain, &options, &[6, 39], true) == expected, "{variant}: saved");
            for parameter in plain.parameters(&problem, variant).unwrap() {
                for value in parameter.values {
                    let asked = [(parameter.name.clone(), value)].into_iter().collect();
                    let options = options.clone().parameters(asked);
                    let got = run(&plain, &options, &[45], false);
                    assert!(got == expected, "{variant}: {} {value}", parameter.name);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_plan_by_digits_takes_the_memory_of_its_footprint() {
    let backend = card();
    for kind in [Boundary::Zero, cpml(20)] {
        let problem = by_digits([300, 310, 320], 8, Boundaries::uniform(kind));
        for variant in VARIANTS {
            let options = PlanOptions::new(10_000, 500).variant(variant);
            drop(backend.propagator(&problem, &options).unwrap());
            let footprint = backend.footprint(&problem, &options).unwrap();
            let before = backend.free_memory().unwrap();
            let plan = backend.propagator(&problem, &options).unwrap();
            let taken = before - backend.free_memory().unwrap();
            drop(plan);
            let (total, items) = (footprint.total(), footprint.items.len() as u64);
            let slack = total / 50 + items * (2 << 20);
            assert!(taken.abs_diff(total) <= slack, "{variant}: {taken} of {footprint:?}");
        }
    }
}
