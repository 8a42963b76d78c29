//! Orders and errors on exact solutions. Expected errors come from an independent program (NumPy, the
//! same schemes on a line, constraints enforced after every step).

use crate::march::{March, along_diagonal, along_x};
use crate::transcription::{State, problems};

/// Root mean square of the error of an unknown.
fn error(state: &[State], exact: &[State], u: usize) -> f64 {
    let squares = state.iter().zip(exact).map(|(q, want)| (q[u] - want[u]).powi(2));
    let count = f64::from(u32::try_from(state.len()).unwrap());
    (squares.sum::<f64>() / count).sqrt()
}

fn centres(voxels: u32) -> (Vec<f64>, f64) {
    let dx = 1.0 / f64::from(voxels);
    ((0..voxels).map(|i| (f64::from(i) + 0.5) * dx - 0.5).collect(), dx)
}

/// The state after `time` periods or so with dt = dx / `per_dx`.
fn marched(
    march: &mut March,
    start: &[State],
    from: &impl Fn(usize, [i8; 3]) -> usize,
    dx: f64,
    (time, per_dx): (f64, f64),
    stages: usize,
) -> Vec<State> {
    let mut state = start.to_vec();
    let steps = (time * per_dx / dx).round();
    let dt = time / steps;
    let mut done = 0.0;
    while done < steps {
        march.step(&mut state, from, dx, dt, stages);
        done += 1.0;
    }
    state
}

fn near(got: f64, want: f64, what: &str) {
    assert!((got / want - 1.0).abs() <= 0.05, "{what}: {got:e}, not {want:e}");
}

/// Errors of some unknowns after a time, by numbers of voxels; the problem is `exact` at y = z = 0.
fn errors(
    march: &mut March,
    (voxels, time, per_dx): (u32, f64, f64),
    from: &impl Fn(usize, [i8; 3]) -> usize,
    exact: impl Fn([f64; 3], f64) -> State,
    unknowns: [usize; 4],
    stages: usize,
) -> [f64; 4] {
    let (x, dx) = centres(voxels);
    let at = |t: f64| -> Vec<State> { x.iter().map(|&x| exact([x, 0.0, 0.0], t)).collect() };
    let state = marched(march, &at(0.0), from, dx, (time, per_dx), stages);
    unknowns.map(|u| error(&state, &at(time), u))
}

fn wave(x: [f64; 3], t: f64) -> State {
    problems::gauge_wave(x, t, 1.0, 0.1)
}

/// Orders between two grids, one twice as fine.
fn orders(coarse: [f64; 4], fine: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|place| (coarse[place] / fine[place]).log2())
}

fn assert_between(orders: &[f64], low: f64, high: f64) {
    assert!(orders.iter().all(|order| (low..=high).contains(order)), "{orders:?}");
}

/// Metric xx, K, contracted Christoffel symbol x, theta.
const SHOWN: [usize; 4] = [0, 53, 13, 12];

#[test]
fn gauge_wave_has_the_expected_errors_with_differences_of_order_4() {
    let mut march = March::new("fd4", 2, &[("sigma", 0.1)]);
    let table = [
        (16, [2.289e-4, 1.420e-3, 2.561e-3, 5.29e-4]),
        (32, [1.449e-5, 9.115e-5, 1.695e-4, 3.65e-5]),
        (64, [9.084e-7, 5.733e-6, 1.072e-5, 2.33e-6]),
        (128, [5.682e-8, 3.589e-7, 6.719e-7, 1.46e-7]),
    ];
    let mut coarse = None;
    for (voxels, want) in table {
        let from = along_x(voxels as usize);
        let got = errors(&mut march, (voxels, 1.0, 4.0), &from, wave, SHOWN, 4);
        for place in 0..4 {
            near(got[place], want[place], &format!("{voxels} voxels, {place}"));
        }
        if let Some(coarse) = coarse {
            assert_between(&orders(coarse, got), 3.8, 4.6);
        }
        coarse = Some(got);
    }
}

#[test]
fn strong_dissipation_has_the_expected_errors() {
    let mut march = March::new("fd4", 2, &[("sigma", 8.0)]);
    for (voxels, want) in
        [(16, [4.208e-4, 3.405e-3]), (32, [1.895e-5, 1.672e-4]), (64, [9.914e-7, 7.438e-6])]
    {
        let from = along_x(voxels as usize);
        let got = errors(&mut march, (voxels, 1.0, 10.0), &from, wave, SHOWN, 4);
        near(got[0], want[0], &format!("{voxels} voxels, metric"));
        near(got[1], want[1], &format!("{voxels} voxels, K"));
    }
}

#[test]
fn one_stage_is_of_first_order() {
    let mut march = March::new("fd4", 2, &[("sigma", 0.1)]);
    let mut at = |voxels: u32| {
        let from = along_x(voxels as usize);
        errors(&mut march, (voxels, 0.1, 10.0), &from, wave, [0, 53, 13, 16], 1)
    };
    let (coarse, fine) = (at(64), at(128));
    assert_between(&orders(coarse, fine), 0.95, 1.05);
}

#[test]
fn gauge_wave_has_the_expected_errors_with_finite_volumes() {
    let mut march = March::new("rusanov", 2, &[]);
    // Metric xx, lapse, K, contracted Christoffel symbol x at t = 0.1, C = 0.4.
    let table = [
        (32u32, [4.904e-3, 3.684e-3, 2.402e-2, 3.266e-2]),
        (64, [2.532e-3, 1.903e-3, 1.238e-2, 1.690e-2]),
        (128, [1.287e-3, 9.671e-4, 6.284e-3, 8.602e-3]),
    ];
    let mut coarse = None;
    for (voxels, want) in table {
        let (x, dx) = centres(voxels);
        let at = |t: f64| -> Vec<State> { x.iter().map(|&x| wave([x, 0.0, 0.0], t)).collect() };
        let from = along_x(x.len());
        let (mut state, mut time) = (at(0.0), 0.0);
        // The speed of the state at the start is 2, by the bound of ExaHyPE.
        let mut fastest = 2.0;
        while time < 0.1 {
            let dt = (0.4 * dx / fastest).min(0.1 - time);
            (state, fastest) = march.apply(&state, &from, dx, dt);
            time += dt;
        }
        let exact = at(0.1);
        let got = [0, 16, 53, 13].map(|u| error(&state, &exact, u));
        for place in 0..4 {
            near(got[place], want[place], &format!("{voxels} voxels, {place}"));
        }
        if let Some(coarse) = coarse {
            assert_between(&orders(coarse, got), 0.9, 1.1);
        }
        coarse = Some(got);
    }
}

#[test]
fn diagonal_gauge_wave_converges_with_order_4() {
    let mut march = March::new("fd4", 2, &[("sigma", 0.1)]);
    let exact = |x: [f64; 3], t: f64| problems::diagonal_gauge_wave(x, t, 1.0, 0.1);
    let mut at = |voxels: u32| {
        let from = along_diagonal(voxels as usize);
        // Metric xy, K, contracted Christoffel symbol y, derivative of the metric.
        let shown = [1, 53, 14, 42];
        errors(&mut march, (voxels, 0.5, 4.0), &from, exact, shown, 4)
    };
    let (coarse, fine) = (at(24), at(48));
    assert_between(&orders(coarse, fine), 3.8, 4.6);
}

#[test]
fn linear_wave_converges_with_order_4() {
    let amplitude = 1e-8;
    let mut march = March::new("fd4", 2, &[("sigma", 0.1)]);
    let exact = |x: [f64; 3], t: f64| problems::linear_wave(x, t, 1.0, amplitude);
    let mut at = |voxels: u32| {
        let from = along_x(voxels as usize);
        // Metric yy and zz, their A and derivative.
        errors(&mut march, (voxels, 1.0, 4.0), &from, exact, [3, 5, 9, 38], 4)
    };
    let (coarse, fine) = (at(16), at(32));
    assert!(fine[0] < 1e-3 * amplitude, "{fine:?}");
    assert_between(&orders(coarse, fine), 3.8, 4.6);
}
