//! Laplacians by digits on a card, against f64. These need an NVIDIA device:
//! `cargo test -p temblor-cuda --test digits_card -- --ignored`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod cases;
mod oracle;

use cases::{FASTEST, cpml, download, minimod, problem, random, tables};
use ndarray::Array3;
use oracle::Oracle;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Field, PlanOptions, Propagator, Region};
use temblor_cuda::{CudaBackend, Queueing};
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, DigitKind, Digits, Face, Grid, Operator, WaveProblem,
};

const VARIANTS: [&str; 2] = ["ozaki_mma", "ozaki_dp4a"];

/// The nearest f32.
#[expect(clippy::cast_possible_truncation, reason = "values are stored as f32")]
fn rounded(value: f64) -> f64 {
    f64::from(value as f32)
}

fn int8(operator: u8, wavefield: u8) -> Arithmetic {
    Arithmetic::Digits(Digits::new(DigitKind::Int8, operator, wavefield))
}

/// The problem of the other tests by (2, 3) digits.
fn by_digits(shape: [usize; 3], order: usize, boundaries: Boundaries) -> WaveProblem {
    let single = problem(shape, order, boundaries);
    WaveProblem::builder(single.grid, single.dt)
        .order(order)
        .boundaries(boundaries)
        .arithmetic(int8(2, 3))
        .build()
        .unwrap()
}

fn plan(
    backend: &CudaBackend,
    problem: &WaveProblem,
    options: &PlanOptions,
    speed: &Array3<f64>,
) -> Box<dyn Propagator> {
    let mut plan = backend.propagator(problem, options).unwrap();
    let whole = Region::whole(problem.grid.shape);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    plan
}

/// Laplacian at a node, order 8, spacings of one; zero outside.
fn laplacian(p: &Array3<f64>, at: [usize; 3]) -> f64 {
    let weights = Operator::Direct { order: 8 }.second_derivative();
    let mut sum = 3.0 * weights[0] * p[at];
    for axis in 0..3 {
        for (r, weight) in weights.iter().enumerate().skip(1) {
            for far in [at[axis].checked_sub(r), Some(at[axis] + r)].into_iter().flatten() {
                let mut other = at;
                other[axis] = far;
                sum += weight * p.get(other).copied().unwrap_or(0.0);
            }
        }
    }
    sum
}

/// Relative root mean square error of the Laplacian after one application: p- = 2p makes p+ = dt^2 c^2
/// L p, and c = 1/dt the Laplacian itself.
fn laplacian_error(
    backend: &CudaBackend,
    arithmetic: Arithmetic,
    variant: &str,
    p: &Array3<f64>,
) -> f64 {
    let (x, y, z) = p.dim();
    let grid = Grid::new([x, y, z], [1.0; 3], [0.0; 3]).unwrap();
    let problem =
        WaveProblem::builder(grid, 0.125).order(8).arithmetic(arithmetic).build().unwrap();
    let speed = Array3::from_elem((x, y, z), 8.0);
    let mut plan = plan(backend, &problem, &PlanOptions::new(0, 0).variant(variant), &speed);
    let whole = Region::whole([x, y, z]);
    plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
    plan.upload(Field::PressurePrevious, whole, (2.0 * p).view().into()).unwrap();
    plan.advance(1).unwrap();
    let got = download(plan.as_mut(), Field::Pressure, [x, y, z]);
    let (mut wrong, mut all) = (0.0, 0.0);
    for ((i, j, k), value) in got.indexed_iter() {
        let want = laplacian(p, [i, j, k]);
        wrong += (value - want).powi(2);
        all += want.powi(2);
    }
    (wrong / all).sqrt()
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn errors_of_the_laplacian_are_those_asked_for() {
    let backend = CudaBackend::new(0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for shape in [[33, 37, 83], [70, 9, 130]] {
        let noise = random(&mut rng, shape, -1.0, 1.0);
        // Eight points per wavelength, oblique.
        let wave = Array3::from_shape_fn((shape[0], shape[1], shape[2]), |(i, j, k)| {
            let phase = 0.48 * i as f64 + 0.6 * j as f64 + 0.64 * k as f64;
            rounded((std::f64::consts::FRAC_PI_4 * phase + 0.3).sin())
        });
        let table = [
            (int8(1, 1), 1e-2, 3e-1),
            (int8(1, 2), 4e-3, 1e-2),
            (int8(2, 2), 4e-5, 1.2e-3),
            (int8(2, 3), 5e-7, 5e-6),
            (int8(3, 3), 5e-7, 5e-6),
        ];
        for (arithmetic, on_noise, on_wave) in table {
            for variant in VARIANTS {
                for (what, field, bound) in [("noise", &noise, on_noise), ("wave", &wave, on_wave)]
                {
                    let error = laplacian_error(&backend, arithmetic, variant, field);
                    println!("{arithmetic} {variant} {what} {shape:?}: {error:.2e} of {bound:.1e}");
                    assert!(error < bound, "{arithmetic} {variant} {what} {shape:?}: {error:e}");
                }
            }
        }
    }
}

/// Nine bits a limb on either side, and the sums of FP32.
#[test]
#[ignore = "needs an NVIDIA device"]
fn errors_of_bf16_limbs_are_those_of_their_bits() {
    let backend = CudaBackend::new(0).unwrap();
    let noise = random(&mut ChaCha8Rng::seed_from_u64(5), [33, 37, 83], -1.0, 1.0);
    for operator in 1..=3_u8 {
        for wavefield in 1..=3_u8 {
            let arithmetic = Arithmetic::Digits(Digits::new(DigitKind::Bf16, operator, wavefield));
            let bits = |limbs: u8| 2.0_f64.powi(-9 * i32::from(limbs));
            let bound = bits(operator) + bits(wavefield) + 5e-7;
            let error = laplacian_error(&backend, arithmetic, "ozaki_mma", &noise);
            println!("{arithmetic}: {error:.2e} of {bound:.1e}");
            assert!(error < bound, "{arithmetic}: {error:e}");
        }
    }
}

/// Largest difference to f64 over the largest value, `steps` steps with sources and receivers from random
/// fields.
fn disagreement(backend: &CudaBackend, problem: &WaveProblem, variant: &str, steps: usize) -> f64 {
    let shape = problem.grid.shape;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut oracle = Oracle::new(problem);
    oracle.p = random(&mut rng, shape, -1.0, 1.0);
    oracle.previous = random(&mut rng, shape, -1.0, 1.0);
    oracle.speed = random(&mut rng, shape, 1500.0, FASTEST);
    for face in Face::ALL {
        if matches!(problem.boundaries.at(face), Boundary::Free) {
            let last = if face.is_min() { 0 } else { shape[face.axis().index()] - 1 };
            let axis = ndarray::Axis(face.axis().index());
            oracle.p.index_axis_mut(axis, last).fill(0.0);
            oracle.previous.index_axis_mut(axis, last).fill(0.0);
        }
    }
    let (sources, receivers) = tables(&mut rng, shape, steps);
    let mut plan =
        plan(backend, problem, &PlanOptions::new(3, steps).variant(variant), &oracle.speed);
    let whole = Region::whole(shape);
    plan.upload(Field::Pressure, whole, oracle.p.view().into()).unwrap();
    plan.upload(Field::PressurePrevious, whole, oracle.previous.view().into()).unwrap();
    plan.set_sources(&sources).unwrap();
    plan.set_receivers(&receivers).unwrap();
    for n in 0..steps {
        oracle.step(n, &sources, &receivers);
    }
    plan.advance(u32::try_from(steps).unwrap()).unwrap();
    let largest = oracle.p.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let got = download(plan.as_mut(), Field::Pressure, shape);
    got.iter().zip(&oracle.p).fold(0.0, |m: f64, (a, b)| {
        let error = (a - b).abs() / largest;
        if error > m || error.is_nan() { error } else { m }
    })
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn steps_agree_with_f64_beside_layers_and_walls() {
    let backend = CudaBackend::new(0).unwrap();
    for variant in VARIANTS {
        for shape in [[33, 17, 65], [70, 50, 83], [24, 70, 150]] {
            for kind in [Boundary::Zero, Boundary::Rigid, cpml(5), minimod(5)] {
                let mut boundaries = Boundaries::uniform(kind);
                boundaries.set(Face::ZMin, Boundary::Free);
                // Other radii on the smallest grid alone.
                let orders: &[usize] = if shape[0] == 33 { &[2, 4, 6, 8] } else { &[8] };
                for &order in orders {
                    let problem = by_digits(shape, order, boundaries);
                    let found = disagreement(&backend, &problem, variant, 7);
                    assert!(found <= 7e-6, "{variant} {shape:?} {kind:?} {order}: {found:e}");
                }
            }
        }
    }
}

/// Exponents that are carried from step to step know nothing of an upload or a source that is a million
/// times larger than what was there.
#[test]
#[ignore = "needs an NVIDIA device"]
fn carried_exponents_follow_uploads_sources_and_restored_states() {
    let backend = CudaBackend::new(0).unwrap();
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
    let backend = CudaBackend::new(0).unwrap();
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
    let backend = CudaBackend::new(0).unwrap();
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
