//! Euler's density wave, rho = 1 + 0.2 sin 2 pi (x - t), u = 1, p = 1, after one period: errors of an
//! independent program (fourth-order differences with sigma = 0.1 and dt = dx / (4 lambda), Runge-Kutta of
//! order 4; Rusanov's finite volumes at C = 0.45).

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "small numbers; what cannot be built fails the test"
)]

mod support;

use std::f64::consts::TAU;

use support::{Domain, physics};
use temblor_patch::{Kernel, Request, Scheme, lower};

fn density(x: f64) -> f64 {
    1.0 + 0.2 * (TAU * x).sin()
}

/// n x n voxels that do not depend on y.
fn start(n: usize) -> Domain {
    let dx = 1.0 / n as f64;
    let state = |i: usize| {
        let rho = density((i as f64 + 0.5) * dx);
        [rho, rho, 0.0, 0.0, 2.5 + 0.5 * rho]
    };
    let values = (0..n * n).flat_map(|place| state(place % n)).collect();
    Domain { d: 2, n, width: 5, values }
}

/// Root of the mean square error of the density.
fn error(domain: &Domain) -> f64 {
    let n = domain.n;
    let squares = (0..n * n).map(|place| {
        let exact = density(((place % n) as f64 + 0.5) / n as f64);
        (domain.values[5 * place] - exact).powi(2)
    });
    (squares.sum::<f64>() / (n * n) as f64).sqrt()
}

fn euler(scheme: &str, p: u16) -> Kernel {
    let sigma = if scheme == "fd4" { vec![("sigma".into(), 0.1)] } else { Vec::new() };
    let scheme = Scheme::shipped(scheme).unwrap();
    lower(&scheme, &physics("euler"), &Request::new(2, p).with_frozen(sigma)).unwrap()
}

fn fd4(n: usize) -> f64 {
    let (kernel, mut domain, dx) = (euler("fd4", 8), start(n), 1.0 / n as f64);
    let largest = 0.25 * dx / (1.0 + (1.4f64 / 0.8).sqrt());
    let steps = (1.0 / largest).ceil() as usize;
    let dt = 1.0 / steps as f64;
    for _ in 0..steps {
        let mut sum = domain.values.clone();
        let mut stage = domain.values.clone();
        for (weight, next) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            let rate = Domain { values: stage, ..domain }.applied(&kernel, dx, dt).values;
            for (sum, rate) in sum.iter_mut().zip(&rate) {
                *sum += dt * weight / 6.0 * rate;
            }
            stage = domain.values.iter().zip(&rate).map(|(q, rate)| q + dt * next * rate).collect();
        }
        domain.values = sum;
    }
    error(&domain)
}

fn rusanov(n: usize) -> f64 {
    let (kernel, mut domain, dx) = (euler("rusanov", 4), start(n), 1.0 / n as f64);
    let mut speed = 1.0 + (1.4f64 / 0.8).sqrt();
    let mut left = 1.0;
    while left > 0.0 {
        let dt = (0.45 * dx / speed).min(left);
        (domain, speed) = domain.stepped(&kernel, dx, dt);
        left -= dt;
    }
    error(&domain)
}

#[test]
fn fd4_has_the_published_errors_and_order_four() {
    let errors = [fd4(16), fd4(32)];
    for (got, want) in errors.iter().zip([6.917e-4, 4.383e-5]) {
        assert!((got / want - 1.0).abs() < 0.05, "{got:e} is not {want:e}");
    }
    let order = (errors[0] / errors[1]).log2();
    assert!((order - 3.98).abs() < 0.2, "order {order:.2}");
}

#[test]
fn rusanov_has_the_published_errors() {
    for (n, want) in [(16, 1.295e-1), (32, 1.002e-1)] {
        let got = rusanov(n);
        assert!((got / want - 1.0).abs() < 0.05, "n = {n}: {got:e} is not {want:e}");
    }
}
