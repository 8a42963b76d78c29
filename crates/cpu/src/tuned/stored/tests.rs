//! The plan of reduced storage against the plan of singles and against the contract's laws.

#![allow(clippy::cast_possible_truncation, reason = "values are rounded to f32 on purpose")]

use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;
use temblor_backend::{
    Backend, Error, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Grid, Operator, PointWeights, Storage, WaveProblem, cfl,
};

use super::codecs::Codec;
use super::noise::Noise;
use crate::tuned::tests::{SETS, SPEED, difference, pressure, problem, random};
use crate::tuned::{CpuBackend, Isa};

const NAMES: [&str; 13] = [
    "f32+u16",
    "int16",
    "int16+u16",
    "int16-increment",
    "int16-increment+u16",
    "bf16",
    "bf16+u16",
    "bf16x2",
    "bf16x2+u16",
    "fp16",
    "fp16+u16",
    "fp16-scaled",
    "fp16-scaled+u16",
];

fn arithmetic(name: &str) -> Arithmetic {
    name.parse().unwrap()
}

fn singles() -> Arithmetic {
    use temblor_physics::{SpeedStorage, WavefieldStorage};
    let (wavefields, speed) = (WavefieldStorage::F32, SpeedStorage::F32);
    Arithmetic::Stored(Storage { wavefields, speed })
}

fn options() -> PlanOptions {
    PlanOptions::new(3, 64).speeds(0.5 * SPEED, SPEED)
}

/// A plan with random fields, two sources and three receivers.
fn plan(backend: &CpuBackend, problem: &WaveProblem) -> Box<dyn Propagator> {
    plan_with(backend, problem, &options())
}

fn plan_with(
    backend: &CpuBackend,
    problem: &WaveProblem,
    options: &PlanOptions,
) -> Box<dyn Propagator> {
    let shape = problem.grid.shape;
    let mut plan = backend.propagator(problem, options).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let whole = Region::whole(shape);
    let speed = random(shape, &mut rng, 0.5, 1.0).mapv(|v| v * SPEED as f32);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    let p = random(shape, &mut rng, -1.0, 1.0);
    plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
    let before = &p * 0.9 + random(shape, &mut rng, -0.1, 0.1);
    plan.upload(Field::PressurePrevious, whole, before.view().into()).unwrap();
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

fn both(plan: &mut dyn Propagator, shape: [usize; 3]) -> [Array3<f64>; 2] {
    [Field::Pressure, Field::PressurePrevious].map(|field| pressure(plan, field, shape))
}

const SHAPES: [[usize; 3]; 4] = [[33, 17, 65], [26, 1, 37], [9, 40, 7], [20, 12, 96]];

#[rstest]
fn singles_through_a_window_are_bitwise_the_plan_of_singles(
    #[values(2, 4, 6, 8, 10, 12, 14, 16)] order: usize,
) {
    for isa in Isa::available() {
        let backend = CpuBackend::with_isa(isa).unwrap();
        for shape in SHAPES {
            for set in SETS {
                let single = problem(shape, order, set, Arithmetic::F32);
                let mut expected = plan(&backend, &single);
                let mut got = plan(&backend, &problem(shape, order, set, singles()));
                expected.advance(9).unwrap();
                got.advance(9).unwrap();
                let case = format!("{isa:?} {shape:?} order {order} {set}");
                assert_eq!(both(got.as_mut(), shape), both(expected.as_mut(), shape), "{case}");
                assert_eq!(got.traces().unwrap(), expected.traces().unwrap(), "{case}");
                let (a, b) = (got.health().unwrap(), expected.health().unwrap());
                assert_eq!(a, b, "{case}");
            }
        }
    }
}

/// What is stored in step 0 of what a plan of singles makes of stored fields.
fn rounded(name: &str, values: &Array3<f64>, noisy: bool) -> Array3<f64> {
    let Arithmetic::Stored(Storage { wavefields, .. }) = arithmetic(name) else { panic!("{name}") };
    let codec = Codec::new(wavefields, Isa::Portable);
    let row = values.dim().2.next_multiple_of(16);
    let mut out = values.clone();
    for (r, (mut to, from)) in out.rows_mut().into_iter().zip(values.rows()).enumerate() {
        let mut padded: Vec<f32> = from.iter().map(|&v| v as f32).collect();
        padded.resize(row, 0.0);
        let mut codes = vec![0; row * codec.words()];
        let mut exponents = vec![0; codec.exponents(row)];
        if noisy {
            codec.encode_noisy(&padded, &mut codes, &mut exponents, Noise::new(0, r));
        } else {
            codec.encode(&padded, &mut codes, &mut exponents);
        }
        codec.decode(&codes, &exponents, &mut padded);
        to.iter_mut().zip(padded).for_each(|(to, v)| *to = f64::from(v));
    }
    out
}

#[rstest]
fn a_step_is_that_of_singles_rounded_once(
    #[values("int16", "int16-increment", "bf16", "bf16x2", "fp16", "fp16-scaled")] name: &str,
) {
    let backend = CpuBackend::new();
    for shape in SHAPES {
        for set in SETS {
            let case = format!("{shape:?} {set}");
            let mut stored = plan(&backend, &problem(shape, 8, set, arithmetic(name)));
            let mut single = plan(&backend, &problem(shape, 8, set, singles()));
            let [p, before] = both(stored.as_mut(), shape);
            let whole = Region::whole(shape);
            single.upload(Field::Pressure, whole, p.view().into()).unwrap();
            single.upload(Field::PressurePrevious, whole, before.view().into()).unwrap();
            stored.advance(1).unwrap();
            single.advance(1).unwrap();
            let [got, _] = both(stored.as_mut(), shape);
            let [next, _] = both(single.as_mut(), shape);
            let expected = if name == "int16-increment" {
                // Singles in all operations, as in the step.
                let single = |v: f64| f64::from(v as f32);
                let increment = rounded(name, &(&next - &p).mapv(single), true);
                rounded(name, &(&p + &increment).mapv(single), false)
            } else {
                rounded(name, &next, true)
            };
            assert_eq!(got, expected, "{case}");
        }
    }
}

#[rstest]
fn a_two_byte_speed_moves_a_step_by_its_own_rounding(
    #[values("f32+u16", "int16+u16", "int16-increment+u16")] name: &str,
) {
    let backend = CpuBackend::new();
    for shape in SHAPES {
        for set in SETS {
            let mut stored = plan(&backend, &problem(shape, 8, set, arithmetic(name)));
            let plain = name.trim_end_matches("+u16");
            let plain = if plain == "f32" { singles() } else { arithmetic(plain) };
            let mut unrounded = plan(&backend, &problem(shape, 8, set, plain));
            stored.advance(1).unwrap();
            unrounded.advance(1).unwrap();
            let [got, _] = both(stored.as_mut(), shape);
            let [expected, _] = both(unrounded.as_mut(), shape);
            // c^2 is off by (c_max - c_min) / c_min / 65535 = 1.5e-5 at most, c^2 dt^2 L p is 3.24
            // times the largest |p| at most at 0.9 of the CFL limit, and int16
            // rounds p by 2^-14 in either run.
            let allowed = if plain == singles() { 6e-5 } else { 6e-5 + 4.0 * 2.0_f64.powi(-14) };
            let error = difference(&got, &expected);
            assert!(error < allowed, "{shape:?} {set}: {error}");
            assert!(error > 1e-7, "{shape:?} {set}: the speed was not rounded");
        }
    }
}

#[rstest]
fn bits_do_not_depend_on_threads_tiles_nor_calls(#[values(0, 1, 2)] part: usize) {
    let backend = CpuBackend::new();
    for name in NAMES.into_iter().skip(part).step_by(3) {
        for (shape, set) in [(SHAPES[0], "free_and_cpml"), (SHAPES[2], "free_and_minimod")] {
            let problem = problem(shape, 8, set, arithmetic(name));
            let mut expected = plan(&backend, &problem);
            expected.advance(7).unwrap();
            let fields = both(expected.as_mut(), shape);
            let traces = expected.traces().unwrap();
            for threads in [1, 3, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for planes in [1, 2] {
                    let mut got = pool.install(|| {
                        let mut options = options();
                        options.parameters.insert("planes".into(), planes);
                        options.parameters.insert("rows".into(), 8);
                        let mut got = plan_with(&backend, &problem, &options);
                        got.advance(3).unwrap();
                        got.advance(0).unwrap();
                        got.advance(4).unwrap();
                        got
                    });
                    let case = format!("{name} {set} {threads} threads, {planes} planes");
                    assert_eq!(both(got.as_mut(), shape), fields, "{case}");
                    assert_eq!(got.traces().unwrap(), traces, "{case}");
                }
            }
        }
    }
}

#[rstest]
fn a_restored_plan_goes_on_bit_for_bit(#[values("free_and_cpml", "free_and_minimod")] set: &str) {
    let backend = CpuBackend::new();
    let shape = SHAPES[0];
    for name in NAMES {
        let problem = problem(shape, 8, set, arithmetic(name));
        let mut whole = plan(&backend, &problem);
        whole.advance(11).unwrap();
        for before in [4, 5] {
            let mut first = plan(&backend, &problem);
            first.advance(before).unwrap();
            let mut state = Vec::new();
            first.save(&mut state).unwrap();
            let mut second = plan(&backend, &problem);
            second.advance(2).unwrap();
            second.restore(&mut state.as_slice()).unwrap();
            assert_eq!(both(second.as_mut(), shape), both(first.as_mut(), shape), "{name}");
            second.advance(11 - before).unwrap();
            assert_eq!(
                both(second.as_mut(), shape),
                both(whole.as_mut(), shape),
                "{name} {before}"
            );
            assert_eq!(second.health().unwrap(), whole.health().unwrap(), "{name} {before}");
            // A state that was saved again is the same state.
            let mut again = Vec::new();
            first.save(&mut again).unwrap();
            assert_eq!(state, again);
            // Half a state poisons.
            let error = second.restore(&mut &state[..state.len() - 3]).unwrap_err();
            assert!(matches!(error, Error::Io(_)), "{error}");
            assert!(matches!(second.advance(1), Err(Error::Poisoned { .. })));
            second.reset().unwrap();
            assert!(both(second.as_mut(), shape).iter().flatten().all(|v| v.abs() == 0.0));
        }
    }
}

#[test]
fn steps_by_kernel_are_the_same_steps() {
    let backend = CpuBackend::new();
    let shape = SHAPES[0];
    for name in NAMES {
        let problem = problem(shape, 8, "free_and_cpml", arithmetic(name));
        let (mut expected, mut got) = (plan(&backend, &problem), plan(&backend, &problem));
        expected.advance(5).unwrap();
        let times = got.advance_by_kernel(5).unwrap();
        assert_eq!(both(got.as_mut(), shape), both(expected.as_mut(), shape), "{name}");
        assert!(times.iter().all(|kind| kind.seconds.len() == 5), "{name}");
        let interior = times.iter().find(|kind| kind.name == "interior").unwrap();
        assert!(interior.seconds.iter().all(|&s| s > 0.0), "{name}");
    }
}

#[test]
fn an_increment_keeps_what_was_uploaded_in_any_order() {
    let backend = CpuBackend::new();
    let shape = SHAPES[0];
    let problem = problem(shape, 8, "zero", arithmetic("int16-increment"));
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let p = random(shape, &mut rng, -1.0, 1.0);
    let before = random(shape, &mut rng, -1.0, 1.0);
    for order in [[0, 1], [1, 0]] {
        let mut plan = backend.propagator(&problem, &options()).unwrap();
        for which in order {
            let (field, values) =
                [(Field::Pressure, &p), (Field::PressurePrevious, &before)][which];
            for i in 0..shape[0] {
                let slab = values.slice(ndarray::s![i..=i, .., ..]);
                plan.upload(field, Region::slab(shape, i, 1), slab.into()).unwrap();
            }
        }
        for (got, values) in both(plan.as_mut(), shape).iter().zip([&p, &before]) {
            // p and p_prev rounded to 2^-16 of 1 each, the increment to 2^-16 of 2.
            let error = difference(got, &values.mapv(f64::from));
            assert!(error < 4.1 * 2.0_f64.powi(-16), "{order:?}: {error}");
        }
        // What was downloaded is what is stepped: uploading p again changes no p_prev.
        let [stored, past] = both(plan.as_mut(), shape);
        plan.upload(Field::Pressure, Region::whole(shape), stored.view().into()).unwrap();
        let [again, kept] = both(plan.as_mut(), shape);
        assert_eq!(again, stored);
        assert!(difference(&kept, &past) < 4.1 * 2.0_f64.powi(-16));
    }
}

#[test]
fn a_two_byte_speed_wants_the_range_and_refuses_what_is_outside() {
    let backend = CpuBackend::new();
    let shape = [12, 10, 16];
    let problem = problem(shape, 8, "zero", arithmetic("int16+u16"));
    let refused = |options: &PlanOptions| {
        let error = backend.propagator(&problem, options).err().unwrap();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        assert!(error.to_string().contains("PlanOptions::speeds"), "{error}");
    };
    refused(&PlanOptions::new(0, 0));
    for (least, largest) in [(0.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        refused(&PlanOptions::new(0, 0).speeds(least, largest));
    }
    let options = PlanOptions::new(0, 0).speeds(1500.0, 3000.0);
    let mut plan = backend.propagator(&problem, &options).unwrap();
    let whole = Region::whole(shape);
    for bad in [1499.9_f32, 3000.1, f32::NAN, f32::INFINITY, 0.0] {
        let mut speed = Array3::from_elem(shape, 2000.0_f32);
        speed[[3, 4, 5]] = bad;
        let error = plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap_err();
        assert!(error.to_string().contains("[3, 4, 5]"), "{error}");
        // Nothing was set.
        assert!(plan.advance(1).unwrap_err().to_string().contains("[0, 0, 0]"));
    }
    // All nodes but one.
    let speed = Array3::from_elem(shape, 2000.0_f32);
    for i in 0..shape[0] {
        let mut region = Region::slab(shape, i, 1);
        if i == 7 {
            region.shape[2] -= 1;
        }
        let part = speed.slice(ndarray::s![i..=i, .., ..region.shape[2]]);
        plan.upload(Field::WaveSpeed, region, part.into()).unwrap();
    }
    assert!(plan.advance(1).unwrap_err().to_string().contains("[7, 0, 15]"));
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    plan.advance(1).unwrap();
}

#[test]
fn a_homogeneous_two_byte_speed_is_exact_to_a_single() {
    let backend = CpuBackend::new();
    let shape = SHAPES[3];
    let [mut stored, mut plain] = [arithmetic("f32+u16"), singles()].map(|arithmetic| {
        let problem = problem(shape, 8, "cpml", arithmetic);
        let options = options().speeds(2000.0, 2000.0);
        let mut plan = backend.propagator(&problem, &options).unwrap();
        let speed = Array3::from_elem(shape, 2000.0_f32);
        plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into()).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let p = random(shape, &mut rng, -1.0, 1.0);
        plan.upload(Field::Pressure, Region::whole(shape), p.view().into()).unwrap();
        plan.advance(5).unwrap();
        plan
    });
    let error = difference(&both(stored.as_mut(), shape)[0], &both(plain.as_mut(), shape)[0]);
    // Two roundings of c dt, 2^-24 each, times 3.24 |p| and the growth of five steps of noise.
    assert!(error < 1e-5, "{error}");
}

#[test]
fn health_finds_a_tile_that_is_not_finite() {
    let backend = CpuBackend::new();
    let shape = SHAPES[3];
    for name in NAMES {
        let mut plan = plan(&backend, &problem(shape, 8, "rigid", arithmetic(name)));
        assert_eq!(plan.health().unwrap().first_bad, None, "{name}");
        let region = Region { start: [4, 5, 70], shape: [1; 3], stride: [1; 3] };
        let bad = Array3::from_elem([1; 3], f32::NAN);
        plan.upload(Field::Pressure, region, bad.view().into()).unwrap();
        let health = plan.health().unwrap();
        // A tile that shares an exponent is lost as a whole.
        let tiles = name.contains("int16") || name.contains("scaled");
        let first = if tiles { [4, 5, 64] } else { [4, 5, 70] };
        assert_eq!(health.first_bad, Some(first), "{name}");
        assert!(!health.largest.is_finite(), "{name}");
        // It spreads, and is still found.
        plan.advance(2).unwrap();
        assert!(plan.health().unwrap().first_bad.is_some(), "{name}");
    }
}

/// Largest relative error, among nodes of at least `least` of the tile's largest value, of a front that
/// grows from 1 by a factor of 2^10 in three steps and runs into silence.
#[test]
fn a_front_that_grows_by_thousands_runs_into_silence_without_loss() {
    let shape = [24, 20, 96];
    let run = |name: &str| {
        let backend = CpuBackend::new();
        let arithmetic = if name == "f32" { singles() } else { arithmetic(name) };
        let mut plan =
            backend.propagator(&problem(shape, 8, "zero", arithmetic), &options()).unwrap();
        let speed = Array3::from_elem(shape, SPEED as f32);
        plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into()).unwrap();
        let points = vec![PointWeights::on_node([12, 10, 31])];
        let amplitudes = Array2::from_shape_fn((4, 1), |(n, _)| 1e-6 * 32.0_f64.powi(n as i32));
        plan.set_sources(&SourceTable { points, amplitudes }).unwrap();
        plan.advance(12).unwrap();
        pressure(plan.as_mut(), Field::Pressure, shape)
    };
    let expected = run("f32");
    let peak = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    // Twelve steps of errors of a code each, in tiles that hold the largest value.
    for (name, allowed) in [
        ("int16", 100.0 * 2.0_f64.powi(-15)),
        ("int16-increment", 100.0 * 2.0_f64.powi(-15)),
        ("fp16-scaled", 100.0 * 2.0_f64.powi(-11)),
        ("bf16x2", 100.0 * 2.0_f64.powi(-16)),
    ] {
        let got = run(name);
        assert!(difference(&got, &expected) < allowed, "{name}: {}", difference(&got, &expected));
        // Ahead of the front, where it is a millionth of its peak, values are kept, not lost to
        // zero: tiles of rows further out have exponents of their own.
        let mut kept = 0;
        for ([i, j, _], row) in (0..shape[0])
            .flat_map(|i| (0..shape[1]).map(move |j| [i, j, 0]))
            .map(|[i, j, k]| ([i, j, k], expected.slice(ndarray::s![i, j, 32..64])))
        {
            let most = row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            if most > 1e-7 * peak && most < 1e-4 * peak {
                let tile = got.slice(ndarray::s![i, j, 32..64]);
                let found = tile.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert!(found > 0.0, "{name} {i} {j}: {most} became zero");
                kept += 1;
            }
        }
        assert!(kept > 10, "{name}: {kept} rows ahead of the front");
    }
}

/// What a C-PML leaves at rest nothing damps: noise must not make it grow. 2 x 10^4 steps in 2-D.
#[rstest]
fn what_a_layer_leaves_does_not_grow(
    #[values("int16", "int16-increment", "bf16", "bf16x2", "fp16", "fp16-scaled")] name: &str,
) {
    let shape = [30, 1, 32];
    let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
    let dt = 0.9 * cfl::largest_dt(&grid, &Operator::Direct { order: 8 }, SPEED);
    let layer = Boundary::Cpml(Cpml { cells: 10, ..Cpml::for_wavelet(25.0, SPEED) });
    let builder = WaveProblem::builder(grid, dt).boundaries(Boundaries::uniform(layer));
    let problem = builder.arithmetic(arithmetic(name)).build().unwrap();
    let options = PlanOptions::new(0, 0).speeds(0.5 * SPEED, SPEED);
    let mut plan = CpuBackend::new().propagator(&problem, &options).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let whole = Region::whole(shape);
    let speed = random(shape, &mut rng, 0.5, 1.0).mapv(|v| v * SPEED as f32);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    let p = random(shape, &mut rng, -1.0, 1.0);
    for field in [Field::Pressure, Field::PressurePrevious] {
        plan.upload(field, whole, p.view().into()).unwrap();
    }
    let mut largest = [10_000, 10_000].map(|steps| {
        plan.advance(steps).unwrap();
        plan.health().unwrap().largest
    });
    // Those that vanish need no ratio.
    largest[0] = largest[0].max(1e-30);
    assert!(largest[1] <= 3.0 * largest[0], "{name}: {largest:?}");
}
