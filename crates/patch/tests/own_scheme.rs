//! A user's own scheme in ten lines: second order in space with minmod slopes, as a rate.

#![allow(clippy::unwrap_used, reason = "what cannot be built fails the test")]

mod support;

use std::f64::consts::TAU;
use std::sync::Arc;

use support::{Domain, Random, kernel};
use temblor_patch::{Physics, Plan, text};

const MINMOD: &str = "
scheme minmod
halo 2
input Q
output rate R

for each direction n
    S = max(0, min(Q - Q[-1], Q[+1] - Q)) + min(0, max(Q - Q[-1], Q[+1] - Q))
    U = Q + 0.5 * S                                         # at the voxel's upper face
    V = Q - 0.5 * S                                         # at its lower one
    L at faces = max(eigenvalue(U, n), eigenvalue(V[+1], n))
    G at faces = 0.5 * (flux(U, n) + flux(V[+1], n)) - 0.5 * L * evolved(V[+1] - U)
    C = 1 / dx(n) * (G[-1] - G)
R = sum(C)
";

const ADVECTION: &str = "
enum unknowns { DENSITY };
void flux(const double *Q, int n, double *F) { F[0] = (n == 0 ? 1.0 : 0.5) * Q[0]; }
double eigenvalue(const double *Q, int n) { return n == 0 ? 1.0 : 0.5; }
";

/// The domain after steps of Heun's method at C = 0.25.
fn march(mut domain: Domain, p: u16, plan: Plan, steps: usize, dx: f64) -> Domain {
    let physics = Arc::new(Physics::from_c("advection.c", ADVECTION).unwrap());
    let kernel = kernel(&text::parse("minmod", MINMOD).unwrap(), &physics, 2, p, plan);
    let dt = 0.25 * dx;
    for _ in 0..steps {
        let add = |domain: &Domain, rate: &Domain| {
            let pairs = domain.values.iter().zip(&rate.values);
            Domain { values: pairs.map(|(value, rate)| value + dt * rate).collect(), ..*domain }
        };
        let half = add(&domain, &domain.applied(&kernel, dx, dt));
        let full = add(&half, &half.applied(&kernel, dx, dt));
        let pairs = domain.values.iter().zip(&full.values);
        let values = pairs.map(|(a, b)| 0.5 * (a + b)).collect();
        domain = Domain { values, ..domain };
    }
    domain
}

fn error(n: u16) -> f64 {
    let (count, dx) = (usize::from(n), 1.0 / f64::from(n));
    let exact = |t: f64| -> Vec<f64> {
        let centre = |i: u16| (f64::from(i) + 0.5) * dx;
        let along = |i, j| TAU * (centre(i) - t) + TAU * (centre(j) - 0.5 * t);
        (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| along(i, j).sin()).collect()
    };
    let start = Domain { d: 2, n: count, width: 1, values: exact(0.0) };
    let end = march(start, 8, Plan::Fused, count, dx);
    let pairs = end.values.iter().zip(exact(0.25));
    pairs.map(|(value, exact)| (value - exact).abs() * dx * dx).sum()
}

#[test]
fn minmod_reaches_second_order_in_the_mean_on_smooth_data() {
    let errors = [error(32), error(64)];
    let order = (errors[0] / errors[1]).log2();
    // Clipped maxima keep minmod a little below 2; a first-order scheme stays below 1.
    assert!((1.6..2.2).contains(&order), "order {order:.2} of {errors:?}");
}

#[test]
fn minmod_makes_no_new_extrema() {
    let mut random = Random(31);
    let values: Vec<f64> = (0..144).map(|_| random.next()).collect();
    let extremes = |values: &[f64]| {
        let largest = values.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
        (values.iter().fold(f64::INFINITY, |m, v| m.min(*v)), largest)
    };
    let before = extremes(&values);
    let start = Domain { d: 2, n: 12, width: 1, values };
    let end = march(start, 4, Plan::Staged(vec!["U".into(), "V".into()]), 20, 0.125);
    let after = extremes(&end.values);
    let rounding = 8.0 * f64::EPSILON;
    assert!(before.0 - rounding <= after.0 && after.1 <= before.1 + rounding, "{after:?}");
}
