//! Sets of patches keep the contract's laws, interpreted and compiled.

use std::sync::Arc;

use temblor_backend::{Backend, Beyond, Cell, Error, PatchKernel, PatchOptions, PatchSet};
use temblor_cpu::{CpuBackend, ReferenceBackend};
use temblor_patch::{Kernel, Physics, Request, Scheme, lower};

const P: usize = 3;
const CELLS: u16 = 3;

fn kernel(scheme: &str) -> Kernel {
    let physics = Arc::new(Physics::shipped("euler").expect("it ships"));
    let scheme = Scheme::shipped(scheme).expect("it ships");
    lower(&scheme, &physics, &Request::new(2, CELLS)).expect("they go together")
}

fn backends() -> [Box<dyn Backend>; 2] {
    [Box::new(ReferenceBackend::new()), Box::new(CpuBackend::new())]
}

fn made(backend: &dyn Backend, kernel: &Kernel) -> Box<dyn PatchKernel> {
    backend.patch_kernel(kernel, &PatchOptions::new(false)).expect("it can be made")
}

fn cells(count: usize) -> Vec<Cell> {
    let cell = |place: usize| Cell {
        centre: [place as f64, 0.0, 0.0],
        size: [1.0, 1.0, 1.0],
        time: 0.0,
        time_step: 1e-3,
    };
    (0..count).map(cell).collect()
}

/// Place of a voxel's first value in a chunk; halo voxels have negative indices.
fn at(halo: usize, x: isize, y: isize) -> usize {
    let index = |at: isize| usize::try_from(at + halo as isize).expect("within the halo");
    (index(y) * (P + 2 * halo) + index(x)) * 5
}

/// A chunk whose values say where they are; the halo is -1.
fn labelled(halo: usize, patch: usize) -> Vec<f64> {
    let mut chunk = vec![-1.0; (P + 2 * halo).pow(2) * 5];
    for y in 0..P {
        for x in 0..P {
            for unknown in 0..5 {
                chunk[at(halo, x as isize, y as isize) + unknown] =
                    (1000 * patch + 100 * y + 10 * x + unknown) as f64 + 1.0;
            }
        }
    }
    chunk
}

fn download(set: &mut dyn PatchSet, state: usize, patch: usize, length: usize) -> Vec<f64> {
    let mut chunk = vec![0.0; length];
    set.download(state, patch, &mut chunk).expect("the patch exists");
    chunk
}

#[test]
fn exchange_fills_faces_from_neighbours_and_leaves_corners() {
    let kernel = kernel("fd4");
    let (halo, length) = (3, kernel.shape.input_len());
    for backend in backends() {
        let mut set = made(&*backend, &kernel).patches(&cells(2), 1, 0).unwrap();
        for patch in 0..2 {
            set.upload(0, patch, &labelled(halo, patch)).unwrap();
        }
        // Two patches in a ring along x; along y the first flows out, the second keeps its halo.
        let ring = |other| [Beyond::Patch(other), Beyond::Patch(other)];
        let none = [Beyond::Fixed, Beyond::Fixed];
        set.set_neighbours(&[
            [ring(1), [Beyond::Outflow, Beyond::Outflow], none],
            [ring(0), none, none],
        ])
        .unwrap();
        set.exchange(0).unwrap();
        let value = |patch: usize, x: isize, y: isize| {
            (1000 * patch) as f64 + (100 * y + 10 * x) as f64 + 1.0
        };
        for patch in 0..2 {
            let chunk = download(&mut *set, 0, patch, length);
            for y in -3..6isize {
                for x in -3..6isize {
                    let (inner_x, inner_y) = ((0..3).contains(&x), (0..3).contains(&y));
                    let want = match (inner_x, inner_y) {
                        (true, true) => value(patch, x, y),
                        (false, true) => value(1 - patch, x.rem_euclid(3), y),
                        (true, false) if patch == 0 => value(0, x, y.clamp(0, 2)),
                        _ => -1.0,
                    };
                    assert_eq!(chunk[at(halo, x, y)].to_bits(), want.to_bits(), "{patch} {x} {y}");
                }
            }
        }
    }
}

#[test]
fn combine_adds_rates_to_the_interior_and_leaves_the_halo() {
    let kernel = kernel("fd4");
    let length = kernel.shape.input_len();
    for backend in backends() {
        let mut set = made(&*backend, &kernel).patches(&cells(1), 3, 2).unwrap();
        let mut gas = labelled(3, 0);
        for (place, value) in gas.iter_mut().enumerate() {
            *value = [1.0, 0.1, -0.2, 0.0, 2.5][place % 5] + 1e-3 * (place % 17) as f64;
        }
        set.upload(0, 0, &gas).unwrap();
        set.upload(1, 0, &vec![7.0; length]).unwrap();
        set.set_time(0.0, 1e-3).unwrap();
        set.evaluate(0, 0).unwrap();
        set.evaluate(0, 1).unwrap();
        set.combine(1, 0, &[(0.5, 0), (-0.5, 1)]).unwrap();
        let got = download(&mut *set, 1, 0, length);
        set.combine(2, 0, &[(1.0, 0)]).unwrap();
        let moved = download(&mut *set, 2, 0, length);
        let mut changed = 0;
        for y in -3..6isize {
            for x in -3..6isize {
                let place = at(3, x, y);
                let inside = (0..3).contains(&x) && (0..3).contains(&y);
                let want = if inside { gas[place] } else { 7.0 };
                // The same rate added and taken away: rounding of two sums is left.
                assert!((got[place] - want).abs() <= 4.0 * f64::EPSILON * want.abs().max(1e3));
                if !inside {
                    assert_eq!(moved[place].to_bits(), 0.0f64.to_bits());
                }
                changed += usize::from(inside && moved[place].to_bits() != gas[place].to_bits());
            }
        }
        assert!(changed > 0, "a rate moves something");
    }
}

#[test]
fn steps_speeds_and_faults_are_those_of_the_interpreter() {
    let kernel = kernel("rusanov");
    let length = kernel.shape.input_len();
    let mut results = Vec::new();
    for backend in backends() {
        let mut set = made(&*backend, &kernel).patches(&cells(3), 2, 0).unwrap();
        for patch in 0..3 {
            let gas: Vec<f64> = (0..length)
                .map(|place| {
                    [1.0, 0.3, -0.2, 0.0, 2.5][place % 5] + 1e-3 * ((place + patch) % 13) as f64
                })
                .collect();
            set.upload(0, patch, &gas).unwrap();
        }
        assert!(matches!(set.evaluate(0, 0), Err(Error::Invalid { .. })), "a step onto its input");
        set.evaluate(0, 1).unwrap();
        let speed = set.speed(1).unwrap();
        assert!((1.0..2.0).contains(&speed), "|u| + c of the gas: {speed}");
        let states: Vec<Vec<f64>> =
            (0..3).map(|patch| download(&mut *set, 1, patch, length)).collect();
        assert_eq!(set.fault(1).unwrap(), None);
        let mut broken = states[1].clone();
        broken[at(1, 2, 1) + 3] = f64::INFINITY;
        broken[at(1, 1, -1)] = f64::NAN;
        set.upload(1, 1, &broken).unwrap();
        let fault = set.fault(1).unwrap().unwrap();
        assert_eq!((fault.patch, fault.voxel, fault.unknown), (1, [2, 1, 0], 3));
        results.push((states, speed));
    }
    assert_eq!(results[0].1.to_bits(), results[1].1.to_bits());
    for (a, b) in results[0].0.iter().flatten().zip(results[1].0.iter().flatten()) {
        assert_eq!((a + 0.0).to_bits(), (b + 0.0).to_bits());
    }
}
