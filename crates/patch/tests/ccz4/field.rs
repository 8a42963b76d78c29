//! A smooth field that obeys every definition among the unknowns: det g = 1, A without trace, and the
//! auxiliary unknowns the derivatives of the primary ones, by differences of order 8.

use crate::transcription::{State, inverse, pair, sum2, symmetric};

/// Step of the differences, m. The fields vary over 1 m, so that the differences are wrong by
/// h^8 / 630 = 2e-19 of a ninth derivative, and by rounding, 1e-14 once and 1e-12 twice.
const STEP: f64 = 0.01;

/// Weights of the first derivative at 1, 2, 3, 4 steps (Fornberg 1988).
const WEIGHTS: [f64; 4] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];

/// Derivative of a field along an axis.
pub(crate) fn derivative(field: &impl Fn([f64; 3]) -> State, x: [f64; 3], axis: usize) -> State {
    let mut slope = [0.0; 59];
    for (place, weight) in (1u8..).zip(WEIGHTS) {
        let at = |side: f64| {
            let mut y = x;
            y[axis] += side * f64::from(place) * STEP;
            field(y)
        };
        let (right, left) = (at(1.0), at(-1.0));
        for u in 0..59 {
            slope[u] += weight * (right[u] - left[u]) / STEP;
        }
    }
    slope
}

/// The primary unknowns: waves of different lengths, one per component.
fn primary(x: [f64; 3]) -> State {
    let wave = |u: usize| {
        let u = f64::from(u8::try_from(u).expect("59 unknowns"));
        let phase = (0.7 + 0.05 * u) * x[0] - (0.3 + 0.02 * u) * x[1] + (0.9 - 0.03 * u) * x[2];
        (phase + 1.3 * u).sin()
    };
    let mut q = [0.0; 59];
    for u in (0..23).chain([53]) {
        q[u] = 0.2 * wave(u);
    }
    for u in [0, 3, 5] {
        q[u] += 1.0;
    }
    q[16] += 0.9;
    q[54] = 0.8 + 0.2 * wave(54);
    q[58] = 0.1;
    let (_, det) = inverse(&symmetric(&q, 0));
    q[..6].iter_mut().for_each(|entry| *entry *= det.powf(-1.0 / 3.0));
    let (g, a) = (symmetric(&q, 0), symmetric(&q, 6));
    let (up, _) = inverse(&g);
    let trace = sum2(|i, j| up[i][j] * a[i][j]);
    for i in 0..3 {
        for j in i..3 {
            q[6 + pair(i, j)] -= g[i][j] * trace / 3.0;
        }
    }
    q
}

/// All unknowns.
pub(crate) fn field(x: [f64; 3]) -> State {
    let mut q = primary(x);
    for k in 0..3 {
        let slope = derivative(&primary, x, k);
        q[23 + k] = slope[16];
        q[55 + k] = slope[54];
        q[26 + 3 * k..29 + 3 * k].copy_from_slice(&slope[17..20]);
        for entry in 0..6 {
            q[35 + 6 * k + entry] = 0.5 * slope[entry];
        }
    }
    q
}

/// The same with no Z4 vector: theta is 0 and the contracted Christoffel symbols are those of g,
/// `-d_j g^ij` where det g = 1.
pub(crate) fn einstein(x: [f64; 3]) -> State {
    let mut q = field(x);
    let (up, _) = inverse(&symmetric(&q, 0));
    q[12] = 0.0;
    for i in 0..3 {
        // -d_j g^ij = 2 g^im g^jn D_jmn.
        q[13 + i] = (0..3)
            .map(|j| {
                let d = symmetric(&q, 35 + 6 * j);
                2.0 * sum2(|m, n| up[i][m] * up[j][n] * d[m][n])
            })
            .sum();
    }
    q
}
