//! The limit against the spectrum of the whole step along one axis.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{Axis, Grid, Operator, cfl, cpml};

/// Square matrix, rows after one another.
#[derive(Clone)]
struct Matrix {
    n: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn zeros(n: usize) -> Self {
        Self { n, values: vec![0.0; n * n] }
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[row * self.n + column]
    }

    fn squared(&self) -> Self {
        let mut out = Self::zeros(self.n);
        for (row, to) in self.values.chunks(self.n).zip(out.values.chunks_mut(self.n)) {
            for (factor, from) in row.iter().zip(self.values.chunks(self.n)) {
                to.iter_mut().zip(from).for_each(|(to, v)| *to += factor * v);
            }
        }
        out
    }

    fn norm(&self) -> f64 {
        self.values.iter().map(|v| v * v).sum::<f64>().sqrt()
    }
}

/// The step along x of (p^n, p^(n-1), q, r), as the module `cpml` has it.
fn step(problem: &WaveProblem, wave_speed: f64) -> Matrix {
    let n = problem.grid.shape[0];
    let h = problem.grid.spacing[0];
    let profile = cpml::profile(problem, Axis::X).unwrap();
    let (second, first) =
        (problem.operator.second_derivative(), problem.operator.first_derivative());
    let c2dt2 = (wave_speed * problem.dt).powi(2);
    let taps = |i: usize| {
        let (second, first) = (&second, &first);
        (0..n).map(move |j| {
            let r = i.abs_diff(j);
            let w = second.get(r).map_or(0.0, |w| w / (h * h));
            let d = first.get(r).map_or(0.0, |d| d / h);
            (j, w, if j < i { -d } else { d })
        })
    };
    let mut step = Matrix::zeros(4 * n);
    let (q, r) = (2 * n, 3 * n);
    for i in 0..n {
        let (a, b, slope) = (profile.a[i], profile.b[i], profile.b_slope[i]);
        *step.at(i, i) += 2.0;
        *step.at(i, n + i) -= 1.0;
        *step.at(n + i, i) = 1.0;
        for (j, w, d) in taps(i) {
            let t = [(j, (1.0 + b) * w + slope * d), (q + j, d)];
            for (column, value) in t {
                *step.at(i, column) += c2dt2 * (1.0 + b) * value;
                *step.at(r + i, column) += a * b * value;
            }
            *step.at(q + i, j) += a * b * d;
        }
        *step.at(i, r + i) += c2dt2;
        *step.at(r + i, r + i) += a;
        *step.at(q + i, q + i) += a;
    }
    step
}

/// Growth of the largest of what 2^18 steps make of anything, per step, looked at between 2^17 and 2^18.
fn growth(problem: &WaveProblem, wave_speed: f64) -> f64 {
    let mut power = step(problem, wave_speed);
    let mut logarithm = 0.0;
    let mut before = 0.0;
    for _ in 0..18 {
        power = power.squared();
        let norm = power.norm();
        power.values.iter_mut().for_each(|v| *v /= norm);
        before = 2.0 * logarithm;
        logarithm = before + norm.ln();
    }
    (logarithm - 0.5 * before) / 2.0_f64.powi(17)
}

/// A layer at one end of a short line, in steps as of `dimensions` axes.
fn line(layer: Cpml, order: usize, dt: f64) -> WaveProblem {
    let grid = Grid::new([layer.cells + 14, 9, 9], [10.0; 3], [0.0; 3]).unwrap();
    let builder = WaveProblem::builder(grid, dt).order(order);
    builder.boundary(Face::XMin, Boundary::Cpml(layer)).build().unwrap()
}

fn limit(order: usize, dimensions: usize, vmax: f64) -> f64 {
    cfl::courant_limit(&Operator::Direct { order }, dimensions) * 10.0 / vmax
}

#[test]
fn no_layer_within_the_limit_grows_and_one_twice_above_it_does() {
    const VMAX: f64 = 3500.0;
    let mut rng = ChaCha8Rng::seed_from_u64(29);
    let (mut seen, mut grown) = (0, 0);
    while seen < 60 {
        let order = [2, 4, 8, 16][rng.random_range(0..4)];
        let dt = rng.random_range(0.3..1.0) * limit(order, rng.random_range(1..4), VMAX);
        let peak_hz = VMAX / 10.0 / 10.0_f64.powf(rng.random_range(0.5..2.3));
        let cells = rng.random_range(1..10);
        let mut layer = Cpml { cells, r0: 0.1, peak_hz, vmax: VMAX };
        // R0 with which the step is just the limit.
        layer.r0 = layer.r0.powf(largest_dt(&layer, 10.0, order / 2) / dt);
        if !(1e-13..0.9).contains(&layer.r0) {
            continue;
        }
        seen += 1;
        let problem = line(layer, order, 0.999 * dt);
        check(&problem).unwrap();
        let found = growth(&problem, VMAX);
        assert!(found < 1e-6, "{layer:?} order {order} dt {dt}: {found:e}");
        let strong = Cpml { r0: layer.r0 * layer.r0, ..layer };
        let strong = line(strong, order, dt);
        assert!(check(&strong).is_err());
        grown += usize::from(growth(&strong, VMAX) > 1e-6);
    }
    assert!(grown > 50, "{grown} of {seen}");
}

#[test]
fn thin_layers_are_refused_with_what_would_do() {
    const VMAX: f64 = 2000.0;
    let dt = 0.95 * limit(8, 3, VMAX);
    let layer = |cells, r0| Cpml { cells, r0, peak_hz: 25.0, vmax: VMAX };
    let message = check(&line(layer(5, 1e-6), 8, dt)).unwrap_err().to_string();
    assert!(message.contains("C-PML at x_min"), "{message}");
    let word = |after: &str| -> &str {
        let rest = &message[message.find(after).unwrap() + after.len()..];
        let end = rest.find([' ', ',', ';']).unwrap_or(rest.len());
        &rest[..end]
    };
    let number = |after: &str| word(after).parse::<f64>().unwrap();
    let cells: usize = word("at least ").parse().unwrap();
    for (good, bad) in [
        (line(layer(cells, 1e-6), 8, dt), line(layer(cells - 1, 1e-6), 8, dt)),
        (line(layer(5, number("or r0 = ")), 8, dt), line(layer(5, 1e-4), 8, dt)),
        (line(layer(5, 1e-6), 8, 0.999 * number("at most ")), line(layer(5, 1e-6), 8, 0.5 * dt)),
    ] {
        check(&good).unwrap();
        assert!(check(&bad).is_err());
    }
    assert!(growth(&line(layer(5, 1e-6), 8, dt), VMAX) > 1e-3);
}

#[test]
fn the_default_layer_is_far_from_its_limit() {
    let layer = Cpml::for_wavelet(25.0, 4500.0);
    for order in [2, 8, 16] {
        for dimensions in [2, 3] {
            let dt = limit(order, dimensions, 4500.0);
            assert!(largest_dt(&layer, 10.0, order / 2) > 3.0 * dt, "{order} {dimensions}");
        }
    }
}
