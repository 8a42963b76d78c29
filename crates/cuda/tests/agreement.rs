//! Every variant against the scheme in f64, on random fields. These need an NVIDIA device:
//! `cargo test -p temblor-cuda -- --ignored`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod cases;
mod oracle;
#[path = "cases/start.rs"]
mod start;

use cases::{FASTEST, cpml, download, minimod, problem, random, tables};
use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use start::random_start;
use temblor_backend::{Backend, Field, PlanOptions, Region};
use temblor_cuda::CudaBackend;
use temblor_physics::{Boundaries, Boundary, Face, WaveProblem};

/// Rounding of one step in units of the largest value, times the steps it adds up over.
const BOUND_PER_STEP: f64 = 1e-6;

/// Largest difference to the oracle, over the largest value, after `steps` steps from random fields;
/// one per variant.
fn disagreement(backend: &CudaBackend, problem: &WaveProblem, steps: usize) -> Vec<(String, f64)> {
    let shape = problem.grid.shape;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut oracle = random_start(&mut rng, problem);
    let (sources, receivers) = tables(&mut rng, shape, steps);
    let mut plans: Vec<_> = backend
        .variants(problem)
        .unwrap()
        .into_iter()
        .map(|variant| {
            let options = PlanOptions::new(3, steps).variant(variant.name);
            let mut plan = backend.propagator(problem, &options).unwrap();
            let whole = Region::whole(shape);
            plan.upload(Field::WaveSpeed, whole, oracle.speed.view().into()).unwrap();
            plan.upload(Field::Pressure, whole, oracle.p.view().into()).unwrap();
            plan.upload(Field::PressurePrevious, whole, oracle.previous.view().into()).unwrap();
            plan.set_sources(&sources).unwrap();
            plan.set_receivers(&receivers).unwrap();
            plan
        })
        .collect();
    let samples: Vec<Vec<f64>> = (0..steps).map(|n| oracle.step(n, &sources, &receivers)).collect();
    let largest = oracle.p.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    plans
        .iter_mut()
        .map(|plan| {
            plan.advance(u32::try_from(steps).unwrap()).unwrap();
            let got = download(plan.as_mut(), Field::Pressure, shape);
            let before = download(plan.as_mut(), Field::PressurePrevious, shape);
            let fields = got.iter().zip(&oracle.p).chain(before.iter().zip(&oracle.previous));
            let mut errors: Vec<f64> = fields.map(|(a, b)| (a - b).abs() / largest).collect();
            let traces = plan.traces().unwrap().samples.to_f64();
            assert_eq!(traces.dim(), (3, steps));
            for (n, row) in samples.iter().enumerate() {
                for (r, sample) in row.iter().enumerate() {
                    // A receiver of 8^3 nodes sums 512 products of values up to `largest`.
                    errors.push((traces[[r, n]] - sample).abs() / (20.0 * largest));
                }
            }
            let worst = errors.iter().fold(0.0, |m, &e| if e > m || e.is_nan() { e } else { m });
            (plan.variant().name.clone(), worst)
        })
        .collect()
}

/// Runs all variants of all problems and lists those beyond the bound.
fn check(problems: &[(String, WaveProblem)]) {
    let backend = CudaBackend::new(0).unwrap();
    let mut failures = Vec::new();
    for (name, problem) in problems {
        // Three pairs for the fused variant, and one step more.
        let steps = 7;
        for (variant, found) in disagreement(&backend, problem, steps) {
            let within = found <= BOUND_PER_STEP * steps as f64;
            if !within {
                failures.push(format!("{name} {variant}: {found:e}"));
            }
        }
    }
    assert!(failures.is_empty(), "beyond the bound:\n{}", failures.join("\n"));
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn every_order_agrees_with_f64() {
    let all: Vec<_> = (2..=16)
        .step_by(2)
        .flat_map(|order| {
            let zero = Boundaries::uniform(Boundary::Zero);
            [
                (format!("order {order}"), problem([33, 17, 65], order, zero)),
                (
                    format!("order {order} cpml"),
                    problem([37, 29, 45], order, Boundaries::uniform(cpml(5))),
                ),
                (
                    format!("order {order} minimod"),
                    problem([33, 27, 40], order, Boundaries::uniform(minimod(6))),
                ),
                (
                    format!("order {order} 2-D"),
                    problem([45, 1, 61], order, Boundaries::uniform(cpml(7))),
                ),
            ]
        })
        .collect();
    check(&all);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn every_boundary_agrees_with_f64_on_awkward_shapes() {
    let mut all = Vec::new();
    for shape in
        [[33, 17, 65], [64, 64, 64], [7, 5, 200], [70, 90, 83], [40, 1, 51], [24, 140, 150]]
    {
        let kinds: [(&str, Boundary); 5] = [
            ("zero", Boundary::Zero),
            ("free", Boundary::Free),
            ("rigid", Boundary::Rigid),
            ("cpml", cpml(if shape[1] == 5 { 2 } else { 8 })),
            ("minimod", minimod(if shape[1] == 5 { 2 } else { 8 })),
        ];
        for (name, kind) in kinds {
            let uniform = Boundaries::uniform(kind);
            all.push((format!("{name} {shape:?}"), problem(shape, 8, uniform)));
            let mut surface = uniform;
            surface.set(Face::ZMin, Boundary::Free);
            surface.set(Face::YMax, Boundary::Rigid);
            surface.set(Face::XMax, Boundary::Zero);
            all.push((format!("{name} and walls {shape:?}"), problem(shape, 8, surface)));
        }
    }
    check(&all);
}

/// Every family of kernels on grids small enough for compute-sanitizer.
#[test]
#[ignore = "needs an NVIDIA device"]
fn small_runs_of_every_variant() {
    let mut all = Vec::new();
    for (name, kind) in [("cpml", cpml(5)), ("minimod", minimod(5)), ("rigid", Boundary::Rigid)] {
        let mut boundaries = Boundaries::uniform(kind);
        boundaries.set(Face::ZMin, Boundary::Free);
        for (shape, order) in [([26, 29, 70], 8), ([15, 13, 18], 4), ([25, 1, 31], 8)] {
            all.push((format!("{name} {shape:?} {order}"), problem(shape, order, boundaries)));
        }
    }
    // Without a wall or a layer, `fused2` makes two steps at once.
    for (shape, order) in [([26, 29, 70], 8), ([14, 27, 66], 6), ([15, 13, 18], 4)] {
        let zero = Boundaries::uniform(Boundary::Zero);
        all.push((format!("zero {shape:?} {order}"), problem(shape, order, zero)));
    }
    check(&all);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_run_cut_anywhere_gives_the_same_bits() {
    let backend = CudaBackend::new(0).unwrap();
    for boundary in [Boundary::Zero, cpml(8), minimod(8), Boundary::Rigid] {
        let problem = problem([70, 90, 83], 8, Boundaries::uniform(boundary));
        for variant in backend.variants(&problem).unwrap() {
            let run = |cuts: &[u32]| {
                let shape = problem.grid.shape;
                let mut rng = ChaCha8Rng::seed_from_u64(11);
                let options = PlanOptions::new(3, 12).variant(&variant.name);
                let mut plan = backend.propagator(&problem, &options).unwrap();
                let whole = Region::whole(shape);
                let (p, speed) =
                    (random(&mut rng, shape, -1.0, 1.0), random(&mut rng, shape, 1500.0, FASTEST));
                plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
                plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
                let (sources, receivers) = tables(&mut rng, shape, 12);
                plan.set_sources(&sources).unwrap();
                plan.set_receivers(&receivers).unwrap();
                cuts.iter().for_each(|&steps| plan.advance(steps).unwrap());
                let field = download(plan.as_mut(), Field::Pressure, shape);
                (field, plan.traces().unwrap())
            };
            let whole = run(&[12]);
            assert!(whole == run(&[12]), "{} twice", variant.name);
            assert!(whole == run(&[5, 7]), "{} cut at 5", variant.name);
            assert!(whole == run(&[1, 1, 3, 7]), "{} cut at 1, 2, 5", variant.name);
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_saved_run_goes_on_with_the_same_bits() {
    let backend = CudaBackend::new(0).unwrap();
    let problem = problem([40, 45, 83], 8, Boundaries::uniform(cpml(8)));
    let shape = problem.grid.shape;
    for variant in backend.variants(&problem).unwrap() {
        let options = PlanOptions::new(0, 0).variant(&variant.name);
        let speed = Array3::from_elem((shape[0], shape[1], shape[2]), 2000.0);
        let start = random(&mut ChaCha8Rng::seed_from_u64(3), shape, -1.0, 1.0);
        let whole = Region::whole(shape);
        let mut plan = backend.propagator(&problem, &options).unwrap();
        plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
        plan.upload(Field::Pressure, whole, start.view().into()).unwrap();
        plan.advance(5).unwrap();
        let mut saved = Vec::new();
        plan.save(&mut saved).unwrap();
        plan.advance(6).unwrap();
        let mut other = backend.propagator(&problem, &options).unwrap();
        other.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
        other.restore(&mut saved.as_slice()).unwrap();
        assert_eq!(other.step(), 5);
        other.advance(6).unwrap();
        let (a, b) = (
            download(plan.as_mut(), Field::Pressure, shape),
            download(other.as_mut(), Field::Pressure, shape),
        );
        assert!(a == b, "{}", variant.name);
        let snapshot = plan.snapshot(Field::Pressure, whole).unwrap();
        plan.advance(3).unwrap();
        assert!(plan.wait(snapshot).unwrap().to_f64() == a, "{} snapshot", variant.name);
        let health = plan.health().unwrap();
        assert!(health.largest > 0.0 && health.first_bad.is_none());
        assert!(health.largest_in_layers > 0.0);
    }
}
