//! The DG-like scheme of axis matrices reaches the order of its patch: p on p nodes per axis.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "small domains; what cannot be built fails the test"
)]

mod support;

use std::f64::consts::TAU;
use std::sync::Arc;

use support::{Domain, Random, kernel};
use temblor_patch::matrix::GaussLobatto;
use temblor_patch::stability::limits;
use temblor_patch::{Kernel, Physics, Plan, Scheme};

const ADVECTION: &str = "
enum unknowns { DENSITY };
void flux(const double *Q, int n, double *F) { F[0] = (n == 0 ? 1.0 : 0.5) * Q[0]; }
double eigenvalue(const double *Q, int n) { return n == 0 ? 1.0 : 0.5; }
";

fn exact(x: f64, y: f64, t: f64) -> f64 {
    (TAU * (x - t)).sin() + (TAU * (y - 0.5 * t)).cos()
}

/// Weighted L2 error at t = 0.2 on n elements per axis, and the largest value.
fn error(p: u16, n: usize, fraction: f64) -> f64 {
    let physics = Arc::new(Physics::from_c("advection.c", ADVECTION).unwrap());
    let kernel = kernel(&Scheme::shipped("dg").unwrap(), &physics, 2, p, Plan::Fused);
    let size = usize::from(p);
    let rule = GaussLobatto::new(size);
    let (element, voxels) = (1.0 / n as f64, n * size);
    let node =
        |index: usize| ((index / size) as f64 + 0.5 * (1.0 + rule.nodes[index % size])) * element;
    let sample = |t: f64| {
        let at = |place: usize| exact(node(place % voxels), node(place / voxels), t);
        (0..voxels * voxels).map(at).collect::<Vec<f64>>()
    };
    let mut domain = Domain { d: 2, n: voxels, width: 1, values: sample(0.0) };
    let dx = element / f64::from(p);
    let end = 0.2;
    let largest = fraction * limits("dg", 2, p, 4).unwrap().courant * dx;
    let steps = (end / largest).ceil();
    let dt = end / steps;
    let mut t = 0.0;
    while t < end - 0.5 * dt {
        domain = stepped(&domain, &kernel, dx, dt, 4);
        t += dt;
    }
    let mut sum = 0.0;
    for (place, (value, exact)) in domain.values.iter().zip(sample(end)).enumerate() {
        let weight = |index: usize| 0.5 * rule.weights[index % size] * element;
        sum += (value - exact).powi(2) * weight(place % voxels) * weight(place / voxels);
    }
    sum.sqrt()
}

/// A step of Kutta's third-order method or his 3/8 rule.
fn stepped(domain: &Domain, kernel: &Kernel, dx: f64, dt: f64, stages: usize) -> Domain {
    let third: &[&[f64]] = &[&[], &[0.5], &[-1.0, 2.0], &[1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0]];
    let fourth: &[&[f64]] =
        &[&[], &[1.0 / 3.0], &[-1.0 / 3.0, 1.0], &[1.0, -1.0, 1.0], &[0.125, 0.375, 0.375, 0.125]];
    let tableau = if stages == 3 { third } else { fourth };
    let mut rates: Vec<Vec<f64>> = Vec::new();
    for row in &tableau[..stages] {
        rates.push(combine(domain, &rates, row, dt).applied(kernel, dx, dt).values);
    }
    combine(domain, &rates, tableau[stages], dt)
}

fn combine(domain: &Domain, rates: &[Vec<f64>], row: &[f64], dt: f64) -> Domain {
    let mut values = domain.values.clone();
    for (rate, factor) in rates.iter().zip(row) {
        for (value, rate) in values.iter_mut().zip(rate) {
            *value += dt * factor * rate;
        }
    }
    Domain { values, ..*domain }
}

#[test]
fn dg_reaches_the_order_of_its_patch() {
    for (p, n, fraction) in [(2, 16, 0.9), (3, 8, 0.9), (4, 4, 0.5), (5, 3, 0.25)] {
        let errors = [error(p, n, fraction), error(p, 2 * n, fraction)];
        let order = (errors[0] / errors[1]).log2();
        println!("p = {p}: errors {errors:?}, order {order:.2}");
        assert!((order - f64::from(p)).abs() < 0.2, "p = {p}: order {order:.2} of {errors:?}");
    }
}

/// Largest value after 40 steps from noise of up to 0.5, at so many times the limit.
fn largest_after(p: u16, stages: usize, times: f64) -> f64 {
    let physics = Arc::new(Physics::from_c("advection.c", ADVECTION).unwrap());
    let kernel = kernel(&Scheme::shipped("dg").unwrap(), &physics, 2, p, Plan::Fused);
    let voxels = 2 * usize::from(p);
    let mut random = Random(1);
    let values = (0..voxels * voxels).map(|_| random.next() - 0.5).collect();
    let mut domain = Domain { d: 2, n: voxels, width: 1, values };
    let courant = limits("dg", 2, p, u8::try_from(stages).unwrap()).unwrap().courant;
    for _ in 0..40 {
        domain = stepped(&domain, &kernel, 0.125, times * courant * 0.125, stages);
    }
    domain.values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()))
}

#[test]
fn dg_is_stable_at_its_limit_and_not_far_beyond() {
    for p in [2, 3, 5, 8, 12] {
        for stages in [3, 4] {
            // The weighted norm does not grow; single values may, by the ratio of weights.
            let largest = largest_after(p, stages, 1.0);
            assert!(largest < 2.0, "p = {p}, {stages} stages: {largest}");
            let largest = largest_after(p, stages, 6.0);
            assert!(largest > 1e3, "p = {p}, {stages} stages: only {largest}");
        }
    }
}
