//! Laplacians by digits through the contract: what holds on a card and on its stand-in alike.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: a failure is a failed test, and values are chosen as f32"
)]

use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Field, PlanOptions, Propagator, Region};
use temblor_cuda::CudaBackend;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, DigitKind, Digits, Face, Grid, Operator, QuantisedOperator,
    WaveProblem,
};

use crate::cases::{FASTEST, cpml, download, minimod, problem, random, tables};
use crate::start::random_start;

pub(crate) const fn int8(operator: u8, wavefield: u8) -> Arithmetic {
    Arithmetic::Digits(Digits::new(DigitKind::Int8, operator, wavefield))
}

/// Every count of INT8 digits with every number of dropped diagonals.
fn all_digits() -> Vec<Digits> {
    let mut all = Vec::new();
    for operator in 1..=3 {
        for wavefield in 1..=3 {
            for trim in 0..operator + wavefield - 1 {
                all.push(Digits { trim, ..Digits::new(DigitKind::Int8, operator, wavefield) });
            }
        }
    }
    all
}

/// The problem of the other tests by (2, 3) digits.
pub(crate) fn by_digits(shape: [usize; 3], order: usize, boundaries: Boundaries) -> WaveProblem {
    let mut problem = problem(shape, order, boundaries);
    problem.arithmetic = int8(2, 3);
    problem
}

pub(crate) fn plan(
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

/// Laplacian at a node, order 8, spacings of one; zero outside, and no y term of a single row.
fn laplacian(p: &Array3<f64>, at: [usize; 3]) -> f64 {
    let weights = Operator::Direct { order: 8 }.second_derivative();
    let mut sum = 0.0;
    for axis in (0..3).filter(|&axis| p.len_of(ndarray::Axis(axis)) > 1) {
        sum += weights[0] * p[at];
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

/// p+ after one step from p and p- = 2p with dt^2 c^2 = 1: the Laplacian, order 8, spacings of one.
fn applied(
    backend: &CudaBackend,
    arithmetic: Arithmetic,
    variant: &str,
    p: &Array3<f64>,
) -> Array3<f64> {
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
    download(plan.as_mut(), Field::Pressure, [x, y, z])
}

/// Relative root mean square error of the Laplacian.
pub(crate) fn laplacian_error(
    backend: &CudaBackend,
    arithmetic: Arithmetic,
    variant: &str,
    p: &Array3<f64>,
) -> f64 {
    let (mut wrong, mut all) = (0.0, 0.0);
    for ((i, j, k), value) in applied(backend, arithmetic, variant, p).indexed_iter() {
        let want = laplacian(p, [i, j, k]);
        wrong += (value - want).powi(2);
        all += want.powi(2);
    }
    (wrong / all).sqrt()
}

/// Uniform values in -1..1, and an oblique wave of 8 points per wavelength.
pub(crate) fn noise_and_wave(shape: [usize; 3]) -> [Array3<f64>; 2] {
    let noise = random(&mut ChaCha8Rng::seed_from_u64(5), shape, -1.0, 1.0);
    let wave = Array3::from_shape_fn(noise.raw_dim(), |(i, j, k)| {
        let phase = 0.48 * i as f64 + 0.6 * j as f64 + 0.64 * k as f64;
        f64::from((std::f64::consts::FRAC_PI_4 * phase + 0.3).sin() as f32)
    });
    [noise, wave]
}

/// Errors asked for by counts of digits: of noise, and of the wave.
pub(crate) const TABLE: [(Arithmetic, [f64; 2]); 5] = [
    (int8(1, 1), [1e-2, 3e-1]),
    (int8(1, 2), [4e-3, 1e-2]),
    (int8(2, 2), [4e-5, 1.2e-3]),
    (int8(2, 3), [5e-7, 5e-6]),
    (int8(3, 3), [5e-7, 5e-6]),
];

/// Errors of variants that have the counts of the table.
pub(crate) fn errors_are_those_asked_for(
    backend: &CudaBackend,
    shapes: &[[usize; 3]],
    variants: &[&str],
) {
    for &shape in shapes {
        let fields = noise_and_wave(shape);
        for (arithmetic, bounds) in TABLE {
            for variant in variants {
                for (n, what) in ["noise", "wave"].into_iter().enumerate() {
                    let error = laplacian_error(backend, arithmetic, variant, &fields[n]);
                    let said = format!("{arithmetic} {variant} {what} {shape:?}: {error:.2e}");
                    println!("{said} of {:.1e}", bounds[n]);
                    assert!(error < bounds[n], "{said}");
                }
            }
        }
    }
}

/// By the plain kernel, of white data: centres of the axes add up and sides do not, a factor between
/// 1/sqrt(3) and sqrt(3) of what theory says of one axis.
pub(crate) fn every_count_of_digits_errs_as_predicted(
    backend: &CudaBackend,
    shapes: &[[usize; 3]],
) {
    let order8 = Operator::Direct { order: 8 };
    for &shape in shapes {
        let [noise, _] = noise_and_wave(shape);
        for digits in all_digits() {
            let quantised = QuantisedOperator::new(&order8, digits.operator).unwrap();
            let predicted = quantised.predicted_error(digits);
            let arithmetic = Arithmetic::Digits(digits);
            let error = laplacian_error(backend, arithmetic, "ozaki_plain", &noise);
            println!("{arithmetic} {shape:?}: {error:.2e}, predicted {predicted:.2e}");
            let ratio = error / predicted;
            assert!((0.57..1.74).contains(&ratio), "{arithmetic} {shape:?}: {ratio} of theory");
        }
    }
}

/// Nine bits a limb on either side, and the sums of FP32. The least product that is dropped is nine bits a
/// place below the whole, and there are three of a place at most.
pub(crate) fn bf16_limbs_err_by_their_bits(
    backend: &CudaBackend,
    variant: &str,
    shape: [usize; 3],
) {
    let [noise, _] = noise_and_wave(shape);
    for int8 in all_digits() {
        let digits = Digits { kind: DigitKind::Bf16, ..int8 };
        let Digits { operator, wavefield, trim, .. } = digits;
        let bits = |limbs: u8| 2.0_f64.powi(-9 * i32::from(limbs));
        let dropped = if trim > 0 { 3.0 * bits(operator + wavefield - 1 - trim) } else { 0.0 };
        let bound = bits(operator) + bits(wavefield) + dropped + 5e-7;
        let arithmetic = Arithmetic::Digits(digits);
        let error = laplacian_error(backend, arithmetic, variant, &noise);
        println!("{arithmetic} {variant} {shape:?}: {error:.2e} of {bound:.1e}");
        assert!(error < bound, "{arithmetic} {variant}: {error:e}");
    }
}

/// Of uniform data one digit is 7 bits below the root mean square, two are 15: a cell that need not reach
/// further takes them alone, and the bits are those of so few digits. Of more than a cell along each axis.
pub(crate) fn cells_take_the_fewest_digits_that_reach_their_bits(
    backend: &CudaBackend,
    shapes: &[[usize; 3]],
) {
    for &shape in shapes {
        let [mut noise, _] = noise_and_wave(shape);
        // Every cell has the same peak, whose exponent is one: digits do not hold it with zero.
        for ((i, j, k), value) in noise.indexed_iter_mut() {
            if i % 32 == 0 && j % 32 == 0 && k % 32 == 0 {
                *value = f64::from(0.9999_f32);
            }
        }
        for (bits, taken) in [(6, 1), (8, 2), (13, 2), (16, 3)] {
            let digits = Digits { adaptive: bits, ..Digits::new(DigitKind::Int8, 2, 3) };
            let arithmetic = Arithmetic::Digits(digits);
            let got = applied(backend, arithmetic, "ozaki_plain", &noise);
            let want = applied(backend, int8(2, taken), "ozaki_plain", &noise);
            assert!(got == want, "{arithmetic} takes {taken} digits of {shape:?}");
        }
    }
}

/// Largest difference to f64 over the largest value, `steps` steps with sources and receivers from random
/// fields.
fn disagreement(backend: &CudaBackend, problem: &WaveProblem, variant: &str, steps: usize) -> f64 {
    let shape = problem.grid.shape;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut oracle = random_start(&mut rng, problem);
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

/// Steps by as many digits as single precision takes beside layers and walls, within what seven steps of
/// FP32 lose.
pub(crate) fn steps_agree_with_f64(
    backend: &CudaBackend,
    variant: &str,
    shape: [usize; 3],
    order: usize,
) {
    for kind in [Boundary::Zero, Boundary::Rigid, cpml(5), minimod(5)] {
        let mut boundaries = Boundaries::uniform(kind);
        boundaries.set(Face::ZMin, Boundary::Free);
        let mut problem = by_digits(shape, order, boundaries);
        // Two digits do not hold the weights of higher orders.
        if order > 8 {
            problem.arithmetic = int8(3, 3);
        }
        let found = disagreement(backend, &problem, variant, 7);
        println!("{variant} {shape:?} {kind:?} {order}: {found:.1e} of 7e-6");
        assert!(found <= 7e-6, "{variant} {shape:?} {kind:?} {order}: {found:e}");
    }
}

/// All variants of every count that has several, a few steps with sources beside layers and a wall.
pub(crate) fn variants_give_the_same_bits(backend: &CudaBackend, shape: [usize; 3], order: usize) {
    let mut boundaries = Boundaries::uniform(cpml(3));
    boundaries.set(Face::ZMin, Boundary::Free);
    let mut counts = 0;
    for digits in all_digits() {
        let mut problem = by_digits(shape, order, boundaries);
        problem.arithmetic = Arithmetic::Digits(digits);
        let variants = backend.variants(&problem).unwrap();
        assert_eq!(variants.last().unwrap().name, "ozaki_plain");
        if variants.len() == 1 {
            continue;
        }
        counts += 1;
        let mut rng = ChaCha8Rng::seed_from_u64(13);
        let p = random(&mut rng, shape, -1.0, 1.0);
        let speed = random(&mut rng, shape, 1500.0, FASTEST);
        let (sources, _) = tables(&mut rng, shape, 5);
        let run = |variant: &str| {
            let options = PlanOptions::new(0, 0).variant(variant);
            let mut plan = plan(backend, &problem, &options, &speed);
            let whole = Region::whole(shape);
            plan.upload(Field::Pressure, whole, p.view().into()).unwrap();
            plan.set_sources(&sources).unwrap();
            plan.advance(5).unwrap();
            download(plan.as_mut(), Field::Pressure, shape).mapv(f64::to_bits)
        };
        let expected = run("ozaki_plain");
        for variant in &variants[..variants.len() - 1] {
            assert!(run(&variant.name) == expected, "{} {}", variant.name, problem.arithmetic);
        }
    }
    assert_eq!(counts, 6, "tuned kernels are built for six counts");
}

/// What tuned kernels are not built for takes the plain one; nothing is refused.
pub(crate) fn what_is_not_built_takes_the_plain_kernel(backend: &CudaBackend) {
    let names = |shape: [usize; 3], order: usize, arithmetic: &str| {
        let mut problem = problem(shape, order, Boundaries::uniform(Boundary::Zero));
        problem.arithmetic = arithmetic.parse().unwrap();
        let variants = backend.variants(&problem).unwrap();
        variants.into_iter().map(|v| v.name).collect::<Vec<_>>()
    };
    let cube = [20, 21, 40];
    assert_eq!(names(cube, 8, "int8-2x3"), ["ozaki_mma", "ozaki_dp4a", "ozaki_plain"]);
    assert_eq!(names(cube, 8, "bf16-2x3"), ["ozaki_mma", "ozaki_plain"]);
    let plain = ["ozaki_plain"];
    for arithmetic in ["int8-1x3", "int8-3x1", "int8-3x3:trim=4", "int8-2x3:adaptive=12"] {
        assert_eq!(names(cube, 8, arithmetic), plain, "{arithmetic}");
    }
    for arithmetic in ["int8-2x3", "bf16-2x3"] {
        assert_eq!(names(cube, 10, arithmetic), plain);
        assert_eq!(names([61, 1, 40], 8, arithmetic), plain);
    }
}
