//! What holds whatever the resolution: conservation, symmetry, independence of the cut.

use temblor_cpu::{CpuBackend, ReferenceBackend};
use temblor_patch::Term;
use temblor_solver::patches::{Problem, Side, Tiling};

use crate::support::{PERIODIC, problem, start, start_on};

fn cube(cells: u16, patches: usize, sides: [[Side; 2]; 3]) -> Tiling {
    Tiling::new(3, cells, [patches; 3], [-5.0; 3], [10.0; 3], sides).unwrap()
}

#[test]
fn a_periodic_box_keeps_mass_momentum_and_energy() {
    let tiling = Tiling::new(2, 8, [4, 4, 1], [-5.0; 3], [10.0; 3], PERIODIC).unwrap();
    for (scheme, sigma) in [("rusanov", None), ("fd4", Some(0.1)), ("godunov", None)] {
        let mut vortex = problem("euler", scheme, &[("problem", 1)], &tiling).courant(0.4);
        if let Some(sigma) = sigma {
            vortex = vortex.with("sigma", sigma).unwrap();
        }
        let mut started = start(&vortex);
        let before = started.march.totals().unwrap();
        started.run_to(1.0).unwrap();
        let after = started.march.totals().unwrap();
        // A rounding of 1e-16 per voxel and step, at random: far less than their number.
        let bound = 1e-14 * started.march.status().step as f64;
        for (name, (before, after)) in
            started.march.names().to_vec().iter().zip(before.iter().zip(&after))
        {
            let drift = (after - before).abs() / before.abs().max(1.0);
            assert!(drift < bound, "{scheme} {name}: {drift:e}");
        }
    }
}

#[test]
fn an_explosion_keeps_the_symmetry_of_the_octants() {
    let tiling = cube(6, 2, [[Side::Outflow; 2]; 3]);
    let explosion = problem("euler", "rusanov", &[("problem", 3)], &tiling).courant(0.3);
    let mut started = start(&explosion);
    started.run_to(8.0).unwrap();
    assert!(started.march.status().step > 5);
    assert!(started.errors().unwrap().is_none(), "no exact solution is known");
    let state = started.march.state().unwrap();
    let largest = state.slice(ndarray::s![0, .., .., ..]).iter().copied().fold(0.0, f64::max);
    for i in 0..12 {
        for j in 0..12 {
            for k in 0..12 {
                for unknown in [0, 4] {
                    let value = state[[unknown, i, j, k]];
                    let mirrored = [
                        state[[unknown, 11 - i, j, k]],
                        state[[unknown, i, 11 - j, k]],
                        state[[unknown, i, j, 11 - k]],
                        state[[unknown, j, i, k]],
                        state[[unknown, k, j, i]],
                    ];
                    for other in mirrored {
                        assert!((value - other).abs() < 1e-12 * largest.max(value.abs()));
                    }
                }
                let (momentum, mirrored) = (state[[1, i, j, k]], state[[1, 11 - i, j, k]]);
                assert!((momentum + mirrored).abs() < 1e-12 * largest);
            }
        }
    }
    // The blast is under way.
    assert!(largest > 1.01, "{largest}");
}

/// A vortex that is not aligned with anything.
fn vortex_3d(scheme: &str, cells: u16) -> Problem {
    let sides = [[Side::Periodic; 2], [Side::Outflow; 2], [Side::Fixed, Side::Outflow]];
    let tiling = cube(cells, 12 / usize::from(cells), sides);
    problem("euler", scheme, &[("problem", 1)], &tiling)
}

/// Steps of a march whose initial state varies along all axes.
fn bits_after(problem: &Problem, backend: &dyn temblor_backend::Backend) -> Vec<u64> {
    let mut started = start_on(backend, problem);
    let mut initial = problem.profile(Term::Initial).unwrap();
    started
        .march
        .fill(0.0, |[x, y, z], state| {
            initial.at([x, y + 0.3 * z, 0.0], 0.0, state);
            state[3] += 0.1 * state[0] * (0.6 * z).sin();
            state[4] += 0.2;
        })
        .unwrap();
    started.run_to(0.5).unwrap();
    assert!(started.march.status().step > 2, "{:?}", started.march.status());
    started.march.state().unwrap().iter().map(|value| value.to_bits()).collect()
}

#[test]
fn patches_of_3_and_of_6_voxels_give_the_same_bits() {
    for scheme in ["rusanov", "fd4", "godunov"] {
        let backend = CpuBackend::new();
        let bits = [3, 6].map(|cells| bits_after(&vortex_3d(scheme, cells).courant(0.3), &backend));
        assert!(bits[0] == bits[1], "{scheme}");
    }
}

#[test]
fn compiled_kernels_march_as_the_interpreter_does_bit_for_bit() {
    for scheme in ["rusanov", "fd4"] {
        let problem = vortex_3d(scheme, 6).courant(0.3);
        let compiled = bits_after(&problem, &CpuBackend::new());
        assert!(compiled == bits_after(&problem, &ReferenceBackend::new()), "{scheme}");
    }
}
