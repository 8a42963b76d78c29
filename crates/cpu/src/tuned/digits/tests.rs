//! Engines by themselves: one application against f64, plain loops against vectors, exponents of tiles
//! against data built to break them. Plans of digits are tested with the others.

#![allow(clippy::cast_possible_truncation, reason = "values are rounded to f32 on purpose")]

use rstest::rstest;
use temblor_physics::{Criterion, Fit, Grid, Operator, Quantisation};

use super::super::kernels::Isa;
use super::*;

/// Nodes, halo included, by position.
type Function<'a> = &'a dyn Fn([isize; 3]) -> f64;

const ODD: [usize; 3] = [33, 17, 65];

fn problem(shape: [usize; 3], operator: Operator) -> WaveProblem {
    let grid = Grid::new(shape, [10.0, 12.0, 8.0], [0.0; 3]).unwrap();
    WaveProblem::builder(grid, 1e-4).operator(operator).build().unwrap()
}

fn order(order: usize) -> Operator {
    Operator::Direct { order }
}

fn int8(operator: u8, wavefield: u8) -> Digits {
    Digits::new(DigitKind::Int8, operator, wavefield)
}

fn bf16(operator: u8, wavefield: u8) -> Digits {
    Digits::new(DigitKind::Bf16, operator, wavefield)
}

/// All engines of this processor for a kind of digit.
fn engines(kind: DigitKind) -> Vec<Engine> {
    let vectors = if cfg!(target_arch = "x86_64") {
        let found = Isa::available().into_iter().filter_map(Vectors::of);
        let mut all: Vec<_> = found.collect();
        // What slower processors have is here too.
        if all.contains(&Vectors::AvxVnni) {
            all.push(Vectors::Avx2);
        }
        all.dedup();
        all
    } else {
        Vec::new()
    };
    let simd = if kind == DigitKind::Int8 { Engine::Simd } else { Engine::LimbsSimd };
    let scalar = if kind == DigitKind::Int8 { Engine::Scalar } else { Engine::LimbsScalar };
    vectors.into_iter().map(simd).chain([scalar]).collect()
}

/// A plan's digits with an engine of choice.
fn digital(problem: &WaveProblem, digits: Digits, engine: Engine) -> Digital {
    let operator = QuantisedOperator::new(&problem.operator, digits.operator).unwrap();
    with(problem, digits, engine, operator, Slicing::Nearest)
}

fn with(
    problem: &WaveProblem,
    digits: Digits,
    engine: Engine,
    operator: QuantisedOperator,
    slicing: Slicing,
) -> Digital {
    let name = Engine::all(digits.kind, Isa::Portable)[0].name();
    let mut digital = Digital::with(problem, digits, name, Isa::Portable, operator, slicing);
    digital.engine = engine;
    digital
}

/// p of a function, halo included where the function says so.
fn field(layout: &Layout, value: Function<'_>) -> Vec<f32> {
    let mut p = vec![0.0; layout.len];
    let [nx, ny, nz] = layout.shape.map(usize::cast_signed);
    let [hx, hy, hz] = layout.halo.map(usize::cast_signed);
    for i in -hx..nx + hx {
        for j in -hy..ny + hy {
            for k in -hz..nz + hz {
                let at = layout.at(i, j).cast_signed() + k;
                p[at.cast_unsigned()] = value([i, j, k]) as f32;
            }
        }
    }
    p
}

/// The Laplacian of all nodes.
fn applied(digital: &Digital, layout: &Layout, p: &[f32]) -> Vec<f32> {
    let [nx, ny, nz] = layout.shape;
    let mut out = Vec::new();
    let mut workspace = Workspace::default();
    let row = nz.next_multiple_of(tile::LENGTH);
    let mut all = vec![0.0; nx * ny * row];
    for i in (0..nx).step_by(digital.shape[0]) {
        for j in (0..ny).step_by(digital.shape[1]) {
            for k in (0..nz).step_by(digital.shape[2]) {
                let tile = digital.tile(layout, [i, j, k]);
                let field = Field { p, layout };
                let peak = field.peak(&tile);
                std::mem::swap(&mut workspace.laplacian, &mut all);
                let to = [(i * ny + j) * row + k, ny * row, row];
                digital.laplacian(field, &tile, peak, &mut workspace, to);
                std::mem::swap(&mut workspace.laplacian, &mut all);
            }
        }
    }
    all.chunks(row).for_each(|row| out.extend_from_slice(&row[..nz]));
    out
}

/// The same in f64 by the operator's own weights.
fn exact(problem: &WaveProblem, layout: &Layout, p: &[f32]) -> Vec<f64> {
    let weights = problem.operator.second_derivative();
    let strides = [layout.plane, layout.pitch, 1];
    let [nx, ny, nz] = layout.shape;
    let mut out = Vec::new();
    for i in 0..nx {
        for j in 0..ny {
            for k in 0..nz {
                let at = layout.at(i.cast_signed(), j.cast_signed()) + k;
                let mut sum = 0.0;
                for axis in problem.grid.active_axes().map(temblor_physics::Axis::index) {
                    let mut line = weights[0] * f64::from(p[at]);
                    for (r, w) in weights.iter().enumerate().skip(1) {
                        let reach = r * strides[axis];
                        line += w * (f64::from(p[at - reach]) + f64::from(p[at + reach]));
                    }
                    sum += line * problem.grid.spacing[axis].powi(-2);
                }
                out.push(sum);
            }
        }
    }
    out
}

/// Relative error, root mean square.
fn error(got: &[f32], want: &[f64]) -> f64 {
    let square = |v: f64| v * v;
    let off: f64 = got.iter().zip(want).map(|(&g, w)| square(f64::from(g) - w)).sum();
    (off / want.iter().map(|&w| square(w)).sum::<f64>()).sqrt()
}

/// Uniform in [-1, 1]: a hash of the position (`SplitMix64`, Steele et al. 2014).
fn uniform([i, j, k]: [isize; 3]) -> f64 {
    let seed = ((i + 64) * 4096 + j + 64) * 4096 + k + 64;
    let mut z = (seed.cast_unsigned() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    2.0 * ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64 - 1.0
}

/// Plane waves of eight points per wavelength.
fn smooth([i, j, k]: [isize; 3]) -> f64 {
    let directions = [[1.0, 0.0, 0.0], [0.0, 0.8, 0.6], [0.6, 0.0, -0.8], [0.48, 0.6, 0.64]];
    let wave = |(n, d): (usize, &[f64; 3])| {
        let phase = d[0] * i as f64 + d[1] * j as f64 + d[2] * k as f64;
        (std::f64::consts::FRAC_PI_4 * phase + 1.7 * n as f64).sin()
    };
    directions.iter().enumerate().map(wave).sum()
}

/// (operator, wavefield) digits, bound for uniform data, bound for 8 points per wavelength.
const TABLE: [(u8, u8, f64, f64); 5] = [
    (1, 1, 1e-2, 3e-1),
    (1, 2, 4e-3, 1e-2),
    (2, 2, 4e-5, 1.2e-3),
    (2, 3, 5e-7, 5e-6),
    (3, 3, 5e-7, 5e-6),
];

#[rstest]
fn one_application_meets_the_table(#[values(ODD, [70, 1, 130], [5, 40, 7])] shape: [usize; 3]) {
    let problem = problem(shape, order(8));
    let layout = Layout::new(&problem);
    for (data, which) in [(&uniform as Function<'_>, 0), (&smooth, 1)] {
        let p = field(&layout, data);
        let want = exact(&problem, &layout, &p);
        for (a, w, white, waves) in TABLE {
            for digits in [int8(a, w), bf16(a, w)] {
                for engine in engines(digits.kind) {
                    let got = applied(&digital(&problem, digits, engine), &layout, &p);
                    let (off, bound) = (error(&got, &want), [white, waves][which]);
                    assert!(
                        off <= bound,
                        "{shape:?} {engine:?} {digits:?}: {off:.2e} above {bound:.1e}"
                    );
                }
            }
        }
    }
}

/// Bits, with one zero.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| (v + 0.0).to_bits()).collect()
}

#[rstest]
fn vectors_give_the_bits_of_plain_loops(#[values(1, 2, 3)] a: u8, #[values(1, 2, 3)] w: u8) {
    for (n, radius) in (1..=8).enumerate() {
        let shape = [[19, 21, 70], [33, 5, 64], [40, 1, 33]][n % 3];
        let problem = problem(shape, order(2 * radius));
        let layout = Layout::new(&problem);
        let p = field(&layout, &|at| uniform(at) * (0.02 * (at[0] + at[2]) as f64).exp());
        for kind in [DigitKind::Int8, DigitKind::Bf16] {
            for (trim, adaptive) in (0..a + w - 1).map(|trim| (trim, 0)).chain([(0, 6)]) {
                let bytes = kind == DigitKind::Int8;
                let adaptive = if bytes { adaptive } else { 0 };
                let digits = Digits { trim, adaptive, ..Digits::new(kind, a, w) };
                let mut results = engines(kind).into_iter().map(|engine| {
                    (engine, bits(&applied(&digital(&problem, digits, engine), &layout, &p)))
                });
                let (_, first) = results.next().unwrap();
                for (engine, result) in results {
                    assert!(result == first, "radius {radius} {engine:?} {digits:?}");
                }
            }
        }
    }
}

#[test]
fn every_operator_is_applied_with_the_error_of_its_digits() {
    let fitted = Fit::of_space(3, Criterion::Minimax, 5.0);
    let mut operators: Vec<_> = (2..=16).step_by(2).map(order).collect();
    operators.extend([Operator::Fitted(fitted), Operator::Implicit { radius: 3 }]);
    for operator in operators {
        let problem = problem([18, 10, 70], operator);
        let layout = Layout::new(&problem);
        let p = field(&layout, &uniform);
        let want = exact(&problem, &layout, &p);
        for digits in [int8(2, 2), int8(3, 3), bf16(3, 3)] {
            for engine in engines(digits.kind) {
                let digital = digital(&problem, digits, engine);
                // Spacings differ: at the worst one axis counts, and its centre for two of three taps.
                let bound = 2.0 * digital.operator.predicted_error(digits);
                let off = error(&applied(&digital, &layout, &p), &want);
                assert!(
                    off <= bound,
                    "{operator:?} {engine:?} {digits:?}: {off:.2e} > {bound:.1e}"
                );
            }
        }
    }
}

#[test]
fn variation_along_one_axis_shows_that_axis() {
    for digits in [int8(2, 3), bf16(2, 3)] {
        for engine in engines(digits.kind) {
            let problem = problem(ODD, order(8));
            let layout = Layout::new(&problem);
            for axis in 0..3 {
                let angle = 0.7;
                let wave = |at: [isize; 3]| (angle * at[axis] as f64).sin();
                let p = field(&layout, &wave);
                let got = applied(&digital(&problem, digits, engine), &layout, &p);
                let symbol = temblor_physics::dispersion::symbol(&problem.operator, angle);
                let want: Vec<_> = exact(&problem, &layout, &p);
                assert!(error(&got, &want) < 5e-6, "{engine:?} axis {axis}");
                // By theory too, not only by other code: an eigenfunction of this axis alone.
                let factor = symbol * problem.grid.spacing[axis].powi(-2);
                let [nx, ny, nz] = ODD;
                for (i, j, k) in [(0, 0, 0), (nx - 1, 3, 40), (20, ny - 1, nz - 1), (7, 11, 64)] {
                    let here = f64::from(got[(i * ny + j) * nz + k]);
                    let value = factor * wave([i, j, k].map(usize::cast_signed));
                    assert!((here - value).abs() < 1e-5 * factor.abs(), "{engine:?} axis {axis}");
                }
            }
        }
    }
}

/// Rows of the table that fail: for uniform data, for 8 points per wavelength.
fn failures(how: Quantisation, slicing: Slicing) -> [Vec<(u8, u8)>; 2] {
    let problem = problem([20, 17, 65], order(8));
    let layout = Layout::new(&problem);
    [(&uniform as Function<'_>, 0), (&smooth, 1)].map(|(data, which)| {
        let p = field(&layout, data);
        let want = exact(&problem, &layout, &p);
        let failed = |&&(a, w, white, waves): &&(u8, u8, f64, f64)| {
            let operator = QuantisedOperator::with(&problem.operator, a, how).unwrap();
            let digital = with(&problem, int8(a, w), Engine::Scalar, operator, slicing);
            error(&applied(&digital, &layout, &p), &want) > [white, waves][which]
        };
        TABLE.iter().filter(failed).map(|&(a, w, ..)| (a, w)).collect()
    })
}

#[test]
fn truncation_a_power_of_two_scale_and_a_skipped_refit_fail_the_table() {
    let none = failures(Quantisation::Refitted, Slicing::Nearest);
    assert_eq!(none, [vec![], vec![]]);
    let [white, _] = failures(Quantisation::Refitted, Slicing::Truncated);
    assert_eq!(white, [(1, 1), (2, 2)]);
    let [white, waves] = failures(Quantisation::PowerOfTwo, Slicing::Nearest);
    assert_eq!((white, waves), (vec![(1, 1), (1, 2), (2, 3)], vec![(1, 2), (2, 3)]));
    let [white, waves] = failures(Quantisation::Rounded, Slicing::Nearest);
    assert_eq!((white, waves), (vec![(2, 3)], vec![(1, 2), (2, 3)]));
}

/// Each axis's halo in turn holds a front 2^10 times the tile's own values, or all there is.
#[test]
fn a_front_in_the_halo_of_a_silent_tile_keeps_its_values() {
    let problem = problem([24, 24, 80], order(8));
    let layout = Layout::new(&problem);
    for digits in [int8(2, 3), Digits { adaptive: 8, ..int8(2, 3) }, bf16(2, 3)] {
        for engine in engines(digits.kind) {
            for axis in 0..3 {
                for quiet in [0.0, 2_f64.powi(-10), 2_f64.powi(-20)] {
                    let edge = [16, 16, 64][axis];
                    let value = |at: [isize; 3]| {
                        if at[axis] < edge { uniform(at) } else { quiet * uniform(at) }
                    };
                    let p = field(&layout, &value);
                    let got = applied(&digital(&problem, digits, engine), &layout, &p);
                    let want = exact(&problem, &layout, &p);
                    // The plane that the front reaches next but three.
                    let [nx, ny, nz] = layout.shape;
                    let mut worst = 0.0_f64;
                    let mut largest = 0.0_f64;
                    for n in 0..nx * ny * nz {
                        let at = [n / (ny * nz), n / nz % ny, n % nz];
                        if at[axis].cast_signed() == edge + 3 {
                            worst = worst.max((f64::from(got[n]) - want[n]).abs());
                            largest = largest.max(want[n].abs());
                        }
                    }
                    // The last tap is 1/1595 of the centre; a value there is off by 2^-23 of the front.
                    assert!(worst <= 2e-3 * largest, "{engine:?} {axis} {quiet}: {worst:.1e}");
                }
            }
        }
    }
}

#[test]
fn a_tile_below_the_least_exponent_is_zero_and_no_nan() {
    let problem = problem([20, 6, 70], order(8));
    let layout = Layout::new(&problem);
    for value in [1e-37, 1e-40, 0.0] {
        let p = field(&layout, &|at| value * uniform(at));
        for engine in engines(DigitKind::Int8) {
            let got = applied(&digital(&problem, int8(2, 3), engine), &layout, &p);
            assert!(got.iter().all(|v| v.abs() < f32::MIN_POSITIVE), "{engine:?} {value}");
        }
    }
    // Just above it nothing is lost, and at the upper end nothing overflows.
    for value in [1e-35, 3e37] {
        let p = field(&layout, &|at| value * uniform(at));
        let want = exact(&problem, &layout, &p);
        for engine in engines(DigitKind::Int8) {
            let got = applied(&digital(&problem, int8(2, 3), engine), &layout, &p);
            let off = error(&got, &want);
            assert!(off <= 5e-7, "{engine:?} {value}: {off:.2e}");
        }
    }
}

#[test]
fn a_value_that_is_not_finite_makes_all_tiles_that_see_it_nan() {
    let problem = problem([40, 5, 70], order(8));
    let layout = Layout::new(&problem);
    for digits in [int8(2, 3), bf16(2, 3)] {
        for bad in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
            // In one tile, in the halo of the next.
            let p = field(&layout, &|at| if at == [15, 2, 8] { bad } else { uniform(at) });
            for engine in engines(digits.kind) {
                let got = applied(&digital(&problem, digits, engine), &layout, &p);
                for i in 11..=19 {
                    assert!(got[(i * 5 + 2) * 70 + 8].is_nan(), "{engine:?} {bad} plane {i}");
                }
                assert!(got[(39 * 5 + 2) * 70 + 8].is_finite());
            }
        }
    }
}

#[test]
fn a_tile_takes_the_fewest_digits_that_reach_its_bits() {
    let problem = problem([16, 16, 64], order(8));
    let layout = Layout::new(&problem);
    let tile = Tile { first: [0; 3], shape: [16, 16, 64] };
    let digits = |value: Function<'_>, adaptive| {
        let p = field(&layout, value);
        let field = Field { p: &p, layout: &layout };
        field.scale(&tile, field.peak(&tile), Digits { adaptive, ..int8(2, 3) }).0
    };
    // Uniform data just below one: a digit's error is 2^-6 / sqrt(12) of a root mean square of just
    // below 1 / sqrt(3), which is nearly 7 bits below it; two digits are nearly 15.
    for (adaptive, expected) in [(0, 3), (1, 1), (6, 1), (8, 2), (14, 2), (16, 3), (22, 3)] {
        assert_eq!(digits(&|at| 0.999 * uniform(at), adaptive), expected, "{adaptive} bits");
    }
    // A halo 2^8 as large takes 8 bits; a silent tile takes all.
    let inside = |at: [isize; 3]| (0..16).contains(&at[0]);
    let loud = |quiet: f64| move |at| if inside(at) { quiet * uniform(at) } else { uniform(at) };
    assert_eq!(digits(&loud(1.0 / 256.0), 6), 2);
    assert_eq!(digits(&loud(0.0), 6), 3);
}

#[test]
fn adaptive_digits_leave_an_error_of_their_bits() {
    let problem = problem([40, 20, 130], order(8));
    let layout = Layout::new(&problem);
    // Amplitudes fall by 2^16 along x: tiles differ in what they need.
    let p = field(&layout, &|at| uniform(at) * (-0.4 * at[0] as f64).exp2());
    let want = exact(&problem, &layout, &p);
    for bits in [6, 10, 14] {
        let digits = Digits { adaptive: bits, ..int8(2, 3) };
        for engine in engines(DigitKind::Int8) {
            let off = error(&applied(&digital(&problem, digits, engine), &layout, &p), &want);
            // White data: the Laplacian's relative error is that of the values.
            let bound = (-f64::from(bits)).exp2();
            assert!(off <= bound, "{engine:?} {bits} bits: {off:.2e} > {bound:.2e}");
        }
    }
}
