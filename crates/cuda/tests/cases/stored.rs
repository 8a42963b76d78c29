//! Reduced storage through the contract: what holds on a card and on its stand-in alike.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: a failure is a failed test, and values are chosen as f32"
)]

use ndarray::{Array2, Array3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{
    Backend, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_cuda::CudaBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Face, PointWeights, SpeedStorage, WaveProblem,
    WavefieldStorage,
};

use crate::cases::{FASTEST, cpml, download, minimod, problem, random, tables};
use crate::oracle::Oracle;

/// Least wave speed, m/s.
const SLOWEST: f64 = 1500.0;

/// Nodes of a storage tile.
const TILE: usize = 32;

fn arithmetic(name: &str) -> Arithmetic {
    name.parse().unwrap()
}

/// A problem in reduced storage.
pub(crate) fn stored(
    shape: [usize; 3],
    order: usize,
    boundaries: Boundaries,
    name: &str,
) -> WaveProblem {
    let mut problem = problem(shape, order, boundaries);
    problem.arithmetic = arithmetic(name);
    problem
}

fn options(receivers: usize, steps: usize, variant: &str) -> PlanOptions {
    PlanOptions::new(receivers, steps).variant(variant).speeds(SLOWEST, FASTEST)
}

/// Wave speeds as they are stored.
fn as_stored(speed: &Array3<f64>, name: &str) -> Array3<f64> {
    match arithmetic(name) {
        Arithmetic::Stored(storage) if storage.speed == SpeedStorage::Uint16 => {
            let step = (FASTEST - SLOWEST) / 65535.0;
            speed.mapv(|c| SLOWEST + ((c - SLOWEST) / step).round() * step)
        }
        _ => speed.clone(),
    }
}

/// What one rounding changes at most, over the value, and over the largest of the storage tile.
fn rounding(name: &str) -> (f64, f64) {
    let Arithmetic::Stored(storage) = arithmetic(name) else { panic!("{name}") };
    let two = |n: i32| 2.0_f64.powi(n);
    match storage.wavefields {
        WavefieldStorage::F32 => (0.0, 0.0),
        // The tile's bound is at most twice its largest value.
        WavefieldStorage::Int16 | WavefieldStorage::Int16Increment => (0.0, two(-15)),
        WavefieldStorage::Bf16 => (two(-8), 0.0),
        WavefieldStorage::Bf16Pair => (two(-16), 0.0),
        WavefieldStorage::Fp16 => (two(-11), two(-24)),
        WavefieldStorage::Fp16Scaled => (two(-11), two(-24)),
        other => panic!("{}", other.name()),
    }
}

/// A plan with random fields, sources and receivers, and the oracle of what it holds.
fn start(
    backend: &CudaBackend,
    problem: &WaveProblem,
    name: &str,
    variant: &str,
    steps: usize,
) -> (Box<dyn Propagator>, Oracle, Vec<Vec<f64>>) {
    let shape = problem.grid.shape;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut oracle = Oracle::new(problem);
    let p = random(&mut rng, shape, -1.0, 1.0);
    let previous = random(&mut rng, shape, -1.0, 1.0);
    let speed = random(&mut rng, shape, SLOWEST, FASTEST);
    let (sources, receivers) = tables(&mut rng, shape, steps);
    let mut plan = backend.propagator(problem, &options(3, steps, variant)).unwrap();
    let whole = Region::whole(shape);
    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
    plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
    plan.upload(Field::PressurePrevious, whole, previous.view().into()).unwrap();
    plan.set_sources(&sources).unwrap();
    plan.set_receivers(&receivers).unwrap();
    oracle.p = download(plan.as_mut(), Field::Pressure, shape);
    oracle.previous = download(plan.as_mut(), Field::PressurePrevious, shape);
    oracle.speed = as_stored(&speed, name);
    let samples = (0..steps).map(|n| oracle.step(n, &sources, &receivers)).collect();
    (plan, oracle, samples)
}

/// Largest error over what `times` roundings allow of values and of increments, if there are some; 1e-6
/// of the largest value per step is FP32's.
fn excess(
    got: &Array3<f64>,
    expected: &Array3<f64>,
    increments: Option<&Array3<f64>>,
    name: &str,
    times: f64,
    steps: usize,
) -> f64 {
    let (of_value, of_tile) = rounding(name);
    let largest = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut worst: f64 = 0.0;
    let rounded = increments.unwrap_or(expected).rows();
    for ((got, expected), rounded) in got.rows().into_iter().zip(expected.rows()).zip(rounded) {
        for k in 0..got.len() {
            let first = k / TILE * TILE;
            let tile = ndarray::s![first..(first + TILE).min(got.len())];
            let all = expected.slice(tile).into_iter().chain(rounded.slice(tile));
            let most = all.fold(0.0, |m: f64, v| m.max(v.abs()));
            let bound = times * (of_value * expected[k].abs() + of_tile * most)
                + 1e-6 * steps as f64 * largest;
            let error = (got[k] - expected[k]).abs() / bound;
            worst = if error > worst || error.is_nan() { error } else { worst };
        }
    }
    worst
}

fn boundaries() -> Vec<(&'static str, Boundaries)> {
    let kinds = [
        ("zero", Boundary::Zero),
        ("free", Boundary::Free),
        ("rigid", Boundary::Rigid),
        ("cpml", cpml(5)),
        ("minimod", minimod(5)),
    ];
    let mut all = Vec::new();
    for (name, kind) in kinds {
        let uniform = Boundaries::uniform(kind);
        all.push((name, uniform));
        if matches!(name, "cpml" | "minimod") {
            let mut surface = uniform;
            surface.set(Face::ZMin, Boundary::Free);
            surface.set(Face::YMax, Boundary::Rigid);
            surface.set(Face::XMax, Boundary::Zero);
            all.push((
                if name == "cpml" { "cpml and walls" } else { "minimod and walls" },
                surface,
            ));
        }
    }
    all
}

/// Seven steps with single-precision wavefields and two-byte wave speeds: only FP32's rounding.
pub(crate) fn layers_and_walls_agree_with_f64(
    backend: &CudaBackend,
    shapes: &[[usize; 3]],
    orders: &[usize],
) {
    let (name, steps) = ("f32+u16", 7);
    for (which, boundaries) in boundaries() {
        for &shape in shapes {
            for &order in orders {
                let problem = stored(shape, order, boundaries, name);
                let (mut plan, oracle, samples) = start(backend, &problem, name, "stored", steps);
                plan.advance(steps as u32).unwrap();
                let got = download(plan.as_mut(), Field::Pressure, shape);
                let before = download(plan.as_mut(), Field::PressurePrevious, shape);
                let worst = excess(&got, &oracle.p, None, name, 0.0, steps).max(excess(
                    &before,
                    &oracle.previous,
                    None,
                    name,
                    0.0,
                    steps,
                ));
                assert!(worst <= 1.0, "{which} {shape:?} {order}: {worst} of the bound");
                let traces = plan.traces().unwrap().samples.to_f64();
                let largest = oracle.p.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                for (n, row) in samples.iter().enumerate() {
                    for (r, sample) in row.iter().enumerate() {
                        // A receiver of 8^3 nodes sums 512 products.
                        let error = (traces[[r, n]] - sample).abs() / (20.0 * largest);
                        assert!(error <= 1e-6 * steps as f64, "{which} {shape:?}: {error:e}");
                    }
                }
            }
        }
    }
}

/// One step of every storage from what it holds, within what its rounding allows: two roundings of p+
/// where a source is added, and those of the increment.
pub(crate) fn one_step_is_within_the_codecs_bound(
    backend: &CudaBackend,
    shapes: &[[usize; 3]],
    order: usize,
    names: &[&str],
    walls: &[&str],
) {
    for &name in names {
        for (which, boundaries) in boundaries().into_iter().filter(|(w, _)| walls.contains(w)) {
            for &shape in shapes {
                let problem = stored(shape, order, boundaries, name);
                for variant in backend.variants(&problem).unwrap() {
                    let (mut plan, oracle, _) = start(backend, &problem, name, &variant.name, 1);
                    plan.advance(1).unwrap();
                    let got = download(plan.as_mut(), Field::Pressure, shape);
                    let increment = name.starts_with("int16-increment");
                    // By noise a value may be off by twice as much as to nearest: d+ or p+ of the
                    // step; what a source changes, and p + d+ both times, is rounded to nearest.
                    let times = match () {
                        () if increment => 3.0 + 2.0,
                        () if name.starts_with("int16") => 3.0,
                        () => 2.0,
                    };
                    let d = increment.then(|| &oracle.p - &oracle.previous);
                    let worst = excess(&got, &oracle.p, d.as_ref(), name, times, 1);
                    let what = format!("{name} {} {which} {shape:?}", variant.name);
                    assert!(worst <= 1.0, "{what}: {worst} of the bound");
                    let floor = if name.starts_with("f32") { 0.0 } else { 1e-3 };
                    assert!(worst >= floor, "{what}: {worst} of the bound is too good");
                }
            }
        }
    }
}

/// Layers on all faces or on some, beside walls, thin and thick, in grids that are layers throughout.
fn nothing_but_layers() -> Vec<(&'static str, Boundaries, [usize; 3])> {
    let on = |kind: Boundary, faces: &[Face], others: Boundary| {
        let mut boundaries = Boundaries::uniform(others);
        faces.iter().for_each(|&face| boundaries.set(face, kind));
        boundaries
    };
    let mut all = Vec::new();
    for (name, layer) in [("cpml", cpml as fn(usize) -> Boundary), ("minimod", minimod)] {
        let uniform = |cells| Boundaries::uniform(layer(cells));
        // Along z the halves meet at the only storage tile's end.
        all.push((name, uniform(5), [30, 26, 64]));
        all.push((name, uniform(5), [13, 16, 45]));
        all.push((name, uniform(2), [9, 19, 33]));
        // Tiles of two storage tiles, and of 13 rows in place of 26 (C-PML) and of 15 in place of 30.
        all.push((name, uniform(5), [22, 10, 150]));
        let thick = layer(if name == "cpml" { 22 } else { 30 });
        all.push((name, on(thick, &[Face::XMin, Face::ZMin], Boundary::Zero), [33, 13, 40]));
        let some = [Face::XMin, Face::YMax, Face::ZMin];
        all.push((name, on(layer(6), &some, Boundary::Zero), [25, 30, 50]));
        all.push((name, on(layer(6), &[Face::ZMin], Boundary::Zero), [11, 21, 37]));
        let mut walls = uniform(4);
        walls.set(Face::ZMin, Boundary::Free);
        walls.set(Face::YMax, Boundary::Rigid);
        walls.set(Face::XMax, Boundary::Zero);
        all.push((name, walls, [24, 22, 60]));
        let mut walls = uniform(4);
        walls.set(Face::ZMin, Boundary::Rigid);
        all.push((name, walls, [18, 25, 63]));
        walls.set(Face::ZMax, Boundary::Rigid);
        all.push((name, walls, [15, 18, 7]));
    }
    all
}

/// Five steps of layers by the kernels that are tuned for them and by the general ones, bit for bit.
pub(crate) fn layers_are_the_same_bits_by_either_kernel(backend: &CudaBackend, names: &[&str]) {
    let steps = 5;
    for &name in names {
        for (which, boundaries, shape) in nothing_but_layers() {
            let problem = stored(shape, 8, boundaries, name);
            let run = |variant: &str| {
                let (mut plan, ..) = start(backend, &problem, name, variant, steps);
                plan.advance(steps as u32).unwrap();
                let fields = [Field::Pressure, Field::PressurePrevious]
                    .map(|field| download(plan.as_mut(), field, shape).mapv(f64::to_bits));
                let health = plan.health().unwrap();
                assert!(health.first_bad.is_none() && health.largest_in_layers > 0.0);
                (fields, health.largest_in_layers.to_bits())
            };
            let same = run("stored_wide") == run("stored");
            assert!(same, "{name} {which} {shape:?}");
        }
    }
}

/// The contract's laws, bit for bit: cut runs, branches, saved runs, `reset`.
pub(crate) fn runs_are_the_same_bits_however_made(
    backend: &CudaBackend,
    shape: [usize; 3],
    names: &[&str],
) {
    let steps = 11;
    for &name in names {
        let mut walls = Boundaries::uniform(minimod(3));
        walls.set(Face::ZMin, Boundary::Free);
        for boundaries in [Boundaries::uniform(cpml(2)), walls] {
            let problem = stored(shape, 8, boundaries, name);
            for variant in backend.variants(&problem).unwrap() {
                let variant = variant.name.as_str();
                let run = |cuts: &[u32], branches: u32| {
                    let asked = [("branches", branches)];
                    let asked = asked.map(|(name, value)| (name.to_owned(), value));
                    let options =
                        options(3, steps, variant).parameters(asked.into_iter().collect());
                    let mut rng = ChaCha8Rng::seed_from_u64(11);
                    let mut plan = backend.propagator(&problem, &options).unwrap();
                    let whole = Region::whole(shape);
                    let p = random(&mut rng, shape, -1.0, 1.0);
                    let speed = random(&mut rng, shape, SLOWEST, FASTEST);
                    plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
                    plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
                    let (sources, receivers) = tables(&mut rng, shape, steps);
                    plan.set_sources(&sources).unwrap();
                    plan.set_receivers(&receivers).unwrap();
                    for &steps in cuts {
                        plan.advance(steps).unwrap();
                        // A saved state goes on elsewhere; here in the same plan, after other steps.
                        let mut saved = Vec::new();
                        plan.save(&mut saved).unwrap();
                        if cuts.len() == 2 && plan.step() < 11 {
                            let traces = plan.traces().unwrap();
                            assert!(traces.samples.to_f64().iter().all(|v| v.is_finite()));
                            plan.advance(2).unwrap();
                            plan.restore(&mut saved.as_slice()).unwrap();
                        }
                    }
                    let field = download(plan.as_mut(), Field::Pressure, shape);
                    let before = download(plan.as_mut(), Field::PressurePrevious, shape);
                    let health = plan.health().unwrap();
                    assert!(health.first_bad.is_none() && health.largest > 0.0);
                    assert!(health.largest_in_layers > 0.0);
                    let bits = |a: Array3<f64>| a.mapv(f64::to_bits);
                    (bits(field), bits(before))
                };
                let expected = run(&[11], 0);
                let what = format!("{name} {variant}");
                assert!(run(&[4, 7], 0) == expected, "{what} cut and restored");
                assert!(run(&[1, 2, 8], 1) == expected, "{what} with branches");
            }
        }
    }
}

/// int16 as it is defined, in f64: code and exponent by search.
fn defined(tile: &[f64]) -> Vec<f64> {
    let most = tile.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let rounded = |e: i32, v: f64| (v * 2.0_f64.powi(15 - e)).round_ties_even();
    let e = (-120..127).find(|&e| rounded(e, most) <= 32767.0).unwrap();
    let silent = e == -120;
    let value = |v: f64| rounded(e, v) * 2.0_f64.powi(e - 15);
    tile.iter().map(|&v| if silent { 0.0 } else { value(v) }).collect()
}

/// What is read back is what the definition says, in any order of uploads and any region.
pub(crate) fn uploads_are_rounded_as_defined(backend: &CudaBackend) {
    let shape = [3, 5, 75];
    for name in ["int16", "int16-increment+u16"] {
        let problem = stored(shape, 8, Boundaries::uniform(Boundary::Zero), name);
        let mut plan = backend.propagator(&problem, &options(0, 0, "stored")).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut p = random(&mut rng, shape, -1.0, 1.0);
        for (n, mut row) in p.rows_mut().into_iter().enumerate() {
            // Sizes from 2^-119 to 2^112, a value that rounds up to the next exponent, a silent tile.
            let size = 2.0_f64.powi(16 * n as i32 - 112);
            row.iter_mut().for_each(|v| *v = f64::from((*v * size) as f32));
            row[3] = f64::from((size * (2.0 - 2.0_f64.powi(-17))) as f32);
            row[40] = f64::from((0.75 * 2.0_f64.powi(-121)) as f32);
            if n % 3 == 0 {
                row.slice_mut(ndarray::s![32..64])
                    .mapv_inplace(|v| if v.abs() > 1e-36 { 0.0 } else { v });
            }
        }
        let whole = Region::whole(shape);
        plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
        let got = download(plan.as_mut(), Field::Pressure, shape);
        for (row, got) in p.rows().into_iter().zip(got.rows()) {
            let row = row.to_vec();
            let expected: Vec<f64> = row.chunks(TILE).flat_map(defined).collect();
            for k in 0..row.len() {
                // Denormals are flushed.
                let tiny = 2.0_f64.powi(-126);
                let same = got[k].to_bits() == (expected[k] + 0.0).to_bits();
                assert!(same || expected[k].abs() < tiny, "{name} {k}: {} {}", got[k], expected[k]);
            }
        }
    }
    // p- is kept by an upload of p, within the rounding of both.
    let name = "int16-increment";
    let problem = stored(shape, 8, Boundaries::uniform(Boundary::Zero), name);
    let mut plan = backend.propagator(&problem, &options(0, 0, "stored")).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let (p, before) = (random(&mut rng, shape, -1.0, 1.0), random(&mut rng, shape, -1.0, 1.0));
    let whole = Region::whole(shape);
    plan.upload(Field::PressurePrevious, whole, before.view().into()).unwrap();
    plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
    let mut part = Region::whole(shape);
    (part.start, part.shape, part.stride) = ([1, 0, 7], [1, 3, 20], [1, 2, 3]);
    let again = Array3::from_elem((1, 3, 20), 0.125);
    plan.upload(Field::Pressure, part, again.view().into()).unwrap();
    let got = download(plan.as_mut(), Field::Pressure, shape);
    let previous = download(plan.as_mut(), Field::PressurePrevious, shape);
    for (at, &got) in got.indexed_iter() {
        let (i, j, k) = at;
        let given = i == 1 && j % 2 == 0 && k >= 7 && (k - 7) % 3 == 0 && (k - 7) / 3 < 20;
        let expected = if given { 0.125 } else { p[at] };
        assert!((got - expected).abs() <= 2.0_f64.powi(-15), "{at:?}: {got} {expected}");
        assert!((previous[at] - before[at]).abs() <= 2.0_f64.powi(-13), "{at:?}");
    }
}

/// Traces of a shot in four layers of 2000 to 2999 m/s.
pub(crate) fn layered_traces(backend: &CudaBackend, name: &str) -> Array2<f64> {
    let (shape, steps) = ([160, 150, 192], 2000);
    let problem = stored(shape, 8, Boundaries::uniform(cpml(20)), name);
    let options = PlanOptions::new(30, steps).speeds(SLOWEST, FASTEST);
    let mut plan = backend.propagator(&problem, &options).unwrap();
    let speed = Array3::from_shape_fn((shape[0], shape[1], shape[2]), |(i, _, k)| {
        2000.0 + 333.0 * ((k + i / 10).min(191) / 48) as f64
    });
    plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into()).unwrap();
    // A Ricker wavelet at half the frequency that the layers are tuned for.
    let (peak, dt) = (6.0, problem.dt);
    let amplitudes = Array2::from_shape_fn((steps, 1), |(n, _)| {
        let a = (std::f64::consts::PI * peak * (n as f64 * dt - 1.2 / peak)).powi(2);
        (1.0 - 2.0 * a) * (-a).exp()
    });
    plan.set_sources(&SourceTable {
        points: vec![PointWeights::on_node([80, 75, 30])],
        amplitudes,
    })
    .unwrap();
    let points = (0..30).map(|n| PointWeights::on_node([25 + 3 * n, 30 + 3 * n, 28])).collect();
    plan.set_receivers(&ReceiverTable { points }).unwrap();
    plan.advance(steps as u32).unwrap();
    plan.traces().unwrap().samples.to_f64()
}

/// What is not finite is found, and what cannot be stored is refused.
pub(crate) fn bad_values_are_found_or_refused(backend: &CudaBackend) {
    let shape = [9, 12, 70];
    for (name, bad) in [("int16", f64::NAN), ("int16-increment", f64::INFINITY), ("fp16", 1e6)] {
        let problem = stored(shape, 8, Boundaries::uniform(Boundary::Zero), name);
        for variant in backend.variants(&problem).unwrap() {
            let mut plan = backend.propagator(&problem, &options(0, 0, &variant.name)).unwrap();
            let whole = Region::whole(shape);
            let speed = Array3::from_elem((9, 12, 70), 2000.0);
            plan.upload(Field::WaveSpeed, whole, speed.view().into()).unwrap();
            let mut p = Array3::from_elem((9, 12, 70), 0.5);
            p[[4, 5, 40]] = bad;
            plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
            let first = plan.health().unwrap().first_bad.unwrap();
            assert!(first[..2] == [4, 5] && (32..=40).contains(&first[2]), "{name}: {first:?}");
            plan.advance(1).unwrap();
            assert!(plan.health().unwrap().first_bad.is_some(), "{name} {}", variant.name);
            plan.reset().unwrap();
            plan.advance(1).unwrap();
            let health = plan.health().unwrap();
            assert!(health.first_bad.is_none() && health.largest == 0.0, "{name} {health:?}");
        }
    }
    let problem = stored(shape, 8, Boundaries::uniform(Boundary::Zero), "int16+u16");
    let message = |error: temblor_backend::Error| error.to_string();
    let error = backend.propagator(&problem, &PlanOptions::new(0, 0)).map(|_| ()).unwrap_err();
    assert!(message(error).contains("PlanOptions::speeds"));
    let mut plan = backend.propagator(&problem, &options(0, 0, "stored")).unwrap();
    assert!(message(plan.advance(1).unwrap_err()).contains("never set"));
    let speed = Array3::from_elem((9, 12, 70), 1.1 * FASTEST);
    let error = plan.upload(Field::WaveSpeed, Region::whole(shape), speed.view().into());
    assert!(message(error.unwrap_err()).contains("wider PlanOptions::speeds"));
}
