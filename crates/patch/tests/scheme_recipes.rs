//! Shipped schemes against their formulas, worked out by hand or by exact derivatives.

#![allow(clippy::unwrap_used, reason = "what cannot be built fails the test")]

mod support;

use std::sync::Arc;

use support::{apply, cell, chunk_voxels, kernel};
use temblor_patch::{Cell, Physics, Plan, Scheme};

#[test]
fn step_follows_the_recipe_of_rusanov() {
    // One voxel of acoustics-like F = (c^2 v, p), by hand: Q' = Q + dt S + dt/dx (...) per direction.
    let text = "enum unknowns { P, V };
        void flux(const double *Q, int n, double *F) { F[0] = 4.0 * Q[1]; F[1] = Q[0]; }
        void source(const double *Q, double *S) { S[0] = 0.5; S[1] = -Q[1]; }
        double eigenvalue(const double *Q, int n) { return 2.0 + 0.25 * Q[1]; }";
    let physics = Arc::new(Physics::from_c("own.c", text).unwrap());
    let kernel = kernel(&Scheme::shipped("rusanov").unwrap(), &physics, 2, 1, Plan::Fused);
    // (x, y): left, right, below, above and the centre.
    let (l, r, b, a, c) = ([1.0, 2.0], [3.0, -1.0], [0.5, 0.25], [2.0, 1.0], [1.5, 0.5]);
    let corner = [f64::NAN; 2];
    let input = [corner, b, corner, l, c, r, corner, a, corner].concat();
    let (outputs, speeds) = apply(&kernel, &[cell()], &[input]);
    let dt = cell().time_step;
    let flux = |q: [f64; 2]| [4.0 * q[1], q[0]];
    let speed = |q: [f64; 2]| 2.0 + 0.25 * q[1];
    let face = |p: [f64; 2], q: [f64; 2], u: usize| {
        0.5 * (flux(p)[u] + flux(q)[u]) - 0.5 * speed(p).max(speed(q)) * (q[u] - p[u])
    };
    let mut want = [c[0] + dt * 0.5, c[1] - dt * c[1]];
    for u in 0..2 {
        want[u] += dt / 0.9 * (face(l, c, u) - face(c, r, u));
        want[u] += dt / 1.2 * (face(b, c, u) - face(c, a, u));
    }
    for (got, want) in outputs[0].iter().zip(want) {
        assert!((got - want).abs() < 8.0 * f64::EPSILON, "{got} is not {want}");
    }
    // Of the new state.
    assert!((speeds[0] - speed([outputs[0][0], outputs[0][1]])).abs() < 4.0 * f64::EPSILON);
}

/// The rate of fd4 at the one voxel of a patch around 0, spacing 1/4 m, where Q = f(x).
fn fd4(text: &str, f: impl Fn(f64) -> f64) -> f64 {
    let physics = Arc::new(Physics::from_c("own.c", text).unwrap());
    let kernel = kernel(&Scheme::shipped("fd4").unwrap(), &physics, 2, 1, Plan::Fused);
    let place = Cell { centre: [0.0; 3], size: [0.25; 3], ..cell() };
    let voxels = chunk_voxels(&kernel.shape);
    let input = voxels.iter().map(|(voxel, _)| f(0.25 * f64::from(voxel[0]))).collect();
    apply(&kernel, &[place], &[input]).0[0][0]
}

#[test]
fn fd4_is_exact_for_quartics_in_flux_and_product_form() {
    let quartic = |x: f64| 2.0 * x.powi(4) - x.powi(3) + 0.5 * x * x - 3.0 * x + 1.0;
    let flux = "enum unknowns { A };
        void flux(const double *Q, int n, double *F) { F[0] = n == 0 ? 2.0 * Q[0] : 0.0; }";
    let ncp = "enum unknowns { A };
        void ncp(const double *dQ, int n, double *B) { B[0] = n == 0 ? 2.0 * dQ[0] : 0.0; }";
    for text in [flux, ncp] {
        // -2 f'(0); the sixth difference of a quartic is zero.
        let got = fd4(text, quartic);
        assert!((got - 6.0).abs() < 1e-12, "{got}");
    }
}

#[test]
fn dissipation_of_fd4_is_the_sixth_difference() {
    let still = "enum unknowns { A }; void source(double *S) { S[0] = 0.25; }";
    // sigma / (64 dx) 720 dx^6 for x^6, with sigma = 8; it damps the wave with two points per
    // wavelength at the rate sigma / dx.
    let got = fd4(still, |x| x.powi(6));
    assert!((got - 0.25 - 90.0 * 0.25f64.powi(5)).abs() < 1e-12, "{got}");
    let got = fd4(still, |x| (std::f64::consts::PI * x / 0.25).cos());
    assert!((got - 0.25 + 8.0 / 0.25).abs() < 1e-12, "{got}");
}
