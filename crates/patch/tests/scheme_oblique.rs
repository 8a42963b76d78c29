//! Plane waves along any direction of space have the rate of change of theory: `f(k . x - c t)` of unit
//! k has the rate `-c f'`, by fourth-order differences at a spacing where their error is below 1e-8.
//! Elastics: P with the polarisation s = k and c^2 = (lambda + 2 mu) / rho, S with s normal to k and
//! c^2 = mu / rho; v = s f, stress = -(lambda (k . s) I + mu (k s + s k)) f / c (Aki and Richards 2002,
//! section 5.1). Acoustics: p = f, v = k f / (rho c). Euler: density carried by a constant velocity.

#![allow(clippy::unwrap_used, reason = "what cannot be built fails the test")]

mod support;

use std::ops::Range;

use support::{Random, apply, cell, chunk_voxels, kernel, physics};
use temblor_patch::{Plan, Scheme};

/// Width of a voxel, m.
const SPACING: f64 = 0.01;

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(random: &mut Random) -> Vector {
    let a = [0; 3].map(|_| random.next() - 0.5);
    a.map(|part| part / dot(a, a).sqrt())
}

/// A unit vector normal to another.
fn normal(k: Vector, random: &mut Random) -> Vector {
    let other = unit(random);
    let a = [0, 1, 2].map(|i| other[i] - dot(other, k) * k[i]);
    a.map(|part| part / dot(a, a).sqrt())
}

/// The state `rest + wave sin(k . x)` on a patch has the rates `rate cos(k . x)` of N unknowns.
fn holds(name: &str, k: Vector, rest: &[f64], wave: &[f64], rate: &[f64]) {
    const CELLS: u16 = 3;
    let kernel = kernel(&Scheme::shipped("fd4").unwrap(), &physics(name), 3, CELLS, Plan::Fused);
    let mut cell = cell();
    cell.size = [SPACING * f64::from(CELLS); 3];
    let phase = |voxel: [i32; 3]| {
        let along = |axis: usize| {
            cell.centre[axis] + (f64::from(voxel[axis]) - 0.5 * f64::from(CELLS - 1)) * SPACING
        };
        dot(k, [along(0), along(1), along(2)])
    };
    let mut input = Vec::new();
    for (voxel, _) in chunk_voxels(&kernel.shape) {
        let sine = phase(voxel).sin();
        input.extend(rest.iter().zip(wave).map(|(rest, wave)| rest + wave * sine));
    }
    let got = apply(&kernel, &[cell], &[input]).0.remove(0);
    let inside: Range<i32> = 0..i32::from(CELLS);
    let inner = chunk_voxels(&kernel.shape).into_iter();
    let inner = inner.filter(|(voxel, _)| voxel.iter().all(|at| inside.contains(at)));
    for ((voxel, _), got) in inner.zip(got.chunks_exact(rate.len())) {
        let cosine = phase(voxel).cos();
        for (unknown, (got, rate)) in got.iter().zip(rate).enumerate() {
            let away = (got - rate * cosine).abs();
            assert!(away < 1e-8, "{name}, {unknown} of {voxel:?}: {got}, not {}", rate * cosine);
        }
    }
}

#[test]
fn elastic_plane_waves_of_every_direction_and_polarisation_have_their_rates() {
    let mut random = Random(7);
    for turn in 0..12 {
        let (rho, lambda, mu) = (1.3_f64, 0.9, 0.6);
        let k = unit(&mut random);
        let longitudinal = turn % 2 == 0;
        let s = if longitudinal { k } else { normal(k, &mut random) };
        let modulus = if longitudinal { lambda + 2.0 * mu } else { mu };
        let c = (modulus / rho).sqrt();
        let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
        let stress = pairs.map(|(i, j)| {
            let all = if i == j { lambda * dot(k, s) } else { 0.0 };
            all + mu * (k[i] * s[j] + k[j] * s[i])
        });
        let mut wave = s.to_vec();
        wave.extend(stress.map(|part| -part / c));
        let rate: Vec<f64> = wave.iter().map(|part| -c * part).collect();
        wave.extend([0.0; 3]);
        let mut rest = vec![0.0; 9];
        rest.extend([rho, lambda, mu]);
        holds("elastics", k, &rest, &wave, &rate);
    }
}

#[test]
fn sound_of_every_direction_has_its_rate() {
    let mut random = Random(8);
    for _ in 0..6 {
        let (rho, c) = (1.7, 0.8);
        let k = unit(&mut random);
        let wave = [1.0, k[0] / (rho * c), k[1] / (rho * c), k[2] / (rho * c), 0.0, 0.0];
        let rate = [0, 1, 2, 3].map(|unknown| -c * wave[unknown]);
        holds("acoustics", k, &[0.0, 0.0, 0.0, 0.0, rho, c], &wave, &rate);
    }
}

#[test]
fn density_is_carried_by_gas_of_every_velocity() {
    let mut random = Random(9);
    for _ in 0..6 {
        let (k, velocity) = (unit(&mut random), unit(&mut random));
        let of_density = |density: f64, pressure: f64| {
            let [u, v, w] = velocity.map(|part| density * part);
            [density, u, v, w, pressure / 0.4 + 0.5 * density * dot(velocity, velocity)]
        };
        let wave = of_density(0.1, 0.0);
        let rate = wave.map(|part| -dot(velocity, k) * part);
        holds("euler", k, &of_density(1.0, 0.7), &wave, &rate);
    }
}
