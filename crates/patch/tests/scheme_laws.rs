//! What holds for every scheme: invariance of constants, symmetry, independence of the tiling.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small domains"
)]

mod support;

use std::sync::Arc;

use support::{Domain, Random, apply, assert_same, cell, chunk, defaults, kernel, physics, state};
use temblor_patch::{Cell, Physics, Plan, Scheme};

fn random_domain(physics: &Physics, d: usize, n: usize, seed: u64) -> Domain {
    let mut random = Random(seed);
    let values = (0..n.pow(d as u32)).flat_map(|_| state(physics, &mut random)).collect();
    Domain { d, n, width: physics.width(), values }
}

#[test]
fn constant_state_stays() {
    // Few bits per number, so that sums of multiples are exact.
    let constant = [1.0, 0.25, -0.5, 0.125, 3.0];
    for name in ["rusanov", "fd4", "dg"] {
        let scheme = Scheme::shipped(name).unwrap();
        for d in [2u8, 3] {
            let kernel = kernel(&scheme, &physics("euler"), d, 4, Plan::Fused);
            let voxels = kernel.shape.input_len() / 5;
            let (outputs, _) = apply(&kernel, &[cell()], &[constant.repeat(voxels)]);
            for values in outputs[0].chunks(5) {
                for (value, constant) in values.iter().zip(constant) {
                    // A row of p entries of size p^2 / dx on fluxes up to 4, in double precision.
                    let (want, bound) = match name {
                        "rusanov" => (constant, 0.0),
                        "fd4" => (0.0, 0.0),
                        _ => (0.0, 3.0 * 4.0 * 16.0 / 0.15 * 4.0 * f64::EPSILON),
                    };
                    assert!((value - want).abs() <= bound, "{name} {d}: {value} is not {want}");
                }
            }
        }
    }
}

#[test]
fn linear_flux_and_its_product_form_agree() {
    let head =
        "enum unknowns { A, B }; double eigenvalue(const double *Q, int n) { return 2.0 + n; }";
    let flux = "void flux(const double *Q, int n, double *F) {
        F[0] = 2.0 * Q[1] + n * Q[0]; F[1] = 0.5 * Q[0] - Q[1]; }";
    let ncp = "void ncp(const double *dQ, int n, double *F) {
        F[0] = 2.0 * dQ[1] + n * dQ[0]; F[1] = 0.5 * dQ[0] - dQ[1]; }";
    let read = |name: &str, term: &str| {
        Arc::new(Physics::from_c(name, &format!("{head}\n{term}")).unwrap())
    };
    let pair = [read("flux.c", flux), read("ncp.c", ncp)];
    for name in ["rusanov", "fd4"] {
        let scheme = Scheme::shipped(name).unwrap();
        for d in [2, 3] {
            let kernels = [0, 1].map(|k| kernel(&scheme, &pair[k], d, 3, Plan::Fused));
            let input = [chunk(&kernels[0], &mut Random(3))];
            let results = [0, 1].map(|k| apply(&kernels[k], &[cell()], &input).0);
            // Rates of size (2 + 2) 1.05 * 1.5 / dx and KO's 8 * 64 / 64 / dx * 0.1, dx >= 0.2.
            let bound = 64.0 * f64::EPSILON * if name == "rusanov" { 1.0 } else { 100.0 };
            for (a, b) in results[0][0].iter().zip(&results[1][0]) {
                assert!((a - b).abs() <= bound, "{name} {d}: {a} and {b}");
            }
        }
    }
}

#[test]
fn permuted_axes_permute_the_result() {
    // x -> y -> z -> x; sums over directions and of squares come in another order.
    let next = [1, 2, 0];
    for name in ["rusanov", "fd4", "dg"] {
        let scheme = Scheme::shipped(name).unwrap();
        let euler = physics("euler");
        let kernel = kernel(&scheme, &euler, 3, 3, Plan::Fused);
        let domain = random_domain(&euler, 3, 6, 11);
        let turned = |domain: &Domain| {
            let mut values = vec![f64::NAN; domain.values.len()];
            for x in 0..6 {
                for y in 0..6 {
                    for z in 0..6 {
                        let from = domain.at([x, y, z]);
                        let mut to = [0; 3];
                        for (axis, index) in [x, y, z].into_iter().enumerate() {
                            to[next[axis]] = index;
                        }
                        let to = domain.at(to);
                        values[to] = domain.values[from];
                        values[to + 4] = domain.values[from + 4];
                        for axis in 0..3 {
                            values[to + 1 + next[axis]] = domain.values[from + 1 + axis];
                        }
                    }
                }
            }
            Domain { values, ..*domain }
        };
        let then = turned(&domain.applied(&kernel, 0.125, 0.01));
        let first = turned(&domain).applied(&kernel, 0.125, 0.01);
        let largest = then.values.iter().fold(0.0f64, |m, value| m.max(value.abs()));
        for (a, b) in then.values.iter().zip(&first.values) {
            assert!((a - b).abs() <= 64.0 * f64::EPSILON * largest, "{name}: {a} and {b}");
        }
    }
}

#[test]
fn order_and_number_of_patches_do_not_matter() {
    let scheme = Scheme::shipped("rusanov").unwrap();
    let kernel = kernel(&scheme, &physics("toy"), 3, 3, Plan::Fused);
    let mut random = Random(5);
    let chunks: Vec<Vec<f64>> = (0..4).map(|_| chunk(&kernel, &mut random)).collect();
    let cells: Vec<Cell> = (0..4).map(|k| Cell { time: f64::from(k), ..cell() }).collect();
    let (all, speeds) = apply(&kernel, &cells, &chunks);
    for order in [vec![2, 0, 3, 1], vec![3], vec![1, 1]] {
        let some: Vec<Cell> = order.iter().map(|&k: &usize| cells[k]).collect();
        let inputs: Vec<Vec<f64>> = order.iter().map(|&k| chunks[k].clone()).collect();
        let (outputs, fastest) = apply(&kernel, &some, &inputs);
        for (place, &k) in order.iter().enumerate() {
            assert_same(&outputs[place], &all[k], "a patch elsewhere");
            assert_same(&[fastest[place]], &[speeds[k]], "its speed");
        }
    }
}

#[test]
fn tilings_of_one_domain_agree_bit_for_bit() {
    for (physics_name, name) in [
        ("euler", "rusanov"),
        ("euler", "fd4"),
        ("toy", "rusanov"),
        ("toy", "fd4"),
        ("toy", "godunov"),
    ] {
        let scheme = Scheme::shipped(name).unwrap();
        let physics = physics(physics_name);
        for d in [2u8, 3] {
            let domain = random_domain(&physics, usize::from(d), 6, 17);
            let [small, large] = [3, 6].map(|p| {
                let kernel = kernel(&scheme, &physics, d, p, Plan::Fused);
                // 1/8 m: positions and spacings are exact.
                domain.applied(&kernel, 0.125, 0.01)
            });
            assert_same(&small.values, &large.values, &format!("{physics_name} {name} {d}"));
        }
    }
}

#[test]
fn fixed_unknowns_are_copied_by_a_step_and_absent_from_a_rate() {
    let toy = physics("toy");
    let step = kernel(&Scheme::shipped("rusanov").unwrap(), &toy, 2, 3, Plan::Unfused);
    let input = chunk(&step, &mut Random(1));
    let (output, _) = apply(&step, &[cell()], std::slice::from_ref(&input));
    for y in 0..3 {
        for x in 0..3 {
            let (from, to) = (((y + 1) * 5 + x + 1) * 3 + 2, (y * 3 + x) * 3 + 2);
            assert_eq!(output[0][to].to_bits(), input[from].to_bits());
        }
    }
    let rate = kernel(&Scheme::shipped("fd4").unwrap(), &toy, 2, 3, Plan::Fused);
    assert_eq!(rate.shape.output_len(), 9 * 2);
    assert_eq!(defaults(&rate), [0.3, 1.0, 8.0]);
}
