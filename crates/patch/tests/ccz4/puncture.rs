//! A single puncture for a few steps: no exact evolution is known, but symmetry is, and so is that the
//! Hamiltonian constraint vanishes away from the puncture as the grid is refined.

use crate::march::March;
use crate::transcription::constraints::constraints;
use crate::transcription::{State, pair, problems};

/// Half the width of the box, m; the mass is 1 m.
const HALF: f64 = 3.0;

struct Cube {
    voxels: usize,
    dx: f64,
    /// Index of every voxel.
    indices: Vec<[usize; 3]>,
}

impl Cube {
    fn new(voxels: usize) -> Self {
        let n = voxels;
        let indices = (0..n.pow(3)).map(|place| [place % n, place / n % n, place / (n * n)]);
        let dx = 2.0 * HALF / f64::from(u32::try_from(voxels).unwrap());
        Self { voxels, dx, indices: indices.collect() }
    }

    fn index(&self, voxel: usize) -> [usize; 3] {
        self.indices[voxel]
    }

    fn place(&self, index: [usize; 3]) -> usize {
        (index[2] * self.voxels + index[1]) * self.voxels + index[0]
    }

    /// Centre of a voxel, m: the puncture lies between voxels.
    fn centre(&self, voxel: usize) -> [f64; 3] {
        self.index(voxel).map(|i| (f64::from(u32::try_from(i).unwrap()) + 0.5) * self.dx - HALF)
    }

    /// Beyond the box the state is that of the nearest voxel.
    fn from(&self, voxel: usize, shift: [i8; 3]) -> usize {
        let mut index = self.index(voxel);
        for axis in 0..3 {
            let there = index[axis].saturating_add_signed(isize::from(shift[axis]));
            index[axis] = there.min(self.voxels - 1);
        }
        self.place(index)
    }

    fn start(&self) -> Vec<State> {
        let count = self.voxels.pow(3);
        (0..count).map(|voxel| problems::puncture(self.centre(voxel), 1.0)).collect()
    }

    /// Derivatives of order 4 at a voxel.
    fn slopes(&self, state: &[State], voxel: usize) -> [State; 3] {
        [0, 1, 2].map(|axis| {
            let at = |steps: i8| {
                let mut shift = [0; 3];
                shift[axis] = steps;
                &state[self.from(voxel, shift)]
            };
            let far = |u: usize| at(2)[u] - at(-2)[u];
            let near = |u: usize| at(1)[u] - at(-1)[u];
            std::array::from_fn(|u| (8.0 * near(u) - far(u)) / (12.0 * self.dx))
        })
    }

    /// Root mean square of H between two radii, 1/m^2.
    fn hamiltonian(&self, state: &[State], low: f64, high: f64) -> f64 {
        let inside = |&voxel: &usize| {
            let radius = self.centre(voxel).iter().map(|x| x * x).sum::<f64>().sqrt();
            (low..high).contains(&radius)
        };
        let shell: Vec<usize> = (0..state.len()).filter(inside).collect();
        let square =
            |&voxel: &usize| constraints(&state[voxel], &self.slopes(state, voxel)).0.powi(2);
        let count = f64::from(u32::try_from(shell.len()).unwrap());
        (shell.iter().map(square).sum::<f64>() / count).sqrt()
    }

    /// The state after steps of dt = dx / 8 up to a time.
    fn marched(&self, time: f64) -> Vec<State> {
        let constants =
            [("lapse", 1.0), ("s", 1.0), ("bs", 1.0), ("eta", 1.0), ("sigma", 0.1), ("k1", 0.1)];
        let mut march = March::new("fd4", 3, &constants);
        let mut state = self.start();
        let steps = (time * 8.0 / self.dx).round();
        let mut done = 0.0;
        while done < steps {
            let from = |voxel: usize, shift: [i8; 3]| self.from(voxel, shift);
            march.step(&mut state, &from, self.dx, time / steps, 4);
            done += 1.0;
        }
        state
    }
}

/// A state seen with its axes permuted: axis i is axis `order[i]` of the new one.
pub(crate) fn permuted(q: &State, order: [usize; 3]) -> State {
    let mut r = *q;
    for i in 0..3 {
        for first in [13, 17, 20, 23, 55] {
            r[first + order[i]] = q[first + i];
        }
        for j in 0..3 {
            r[26 + 3 * order[i] + order[j]] = q[26 + 3 * i + j];
            for first in [0, 6] {
                r[first + pair(order[i], order[j])] = q[first + pair(i, j)];
            }
            for k in 0..3 {
                r[35 + 6 * order[k] + pair(order[i], order[j])] = q[35 + 6 * k + pair(i, j)];
            }
        }
    }
    r
}

#[test]
fn a_puncture_keeps_its_symmetry_and_stays_finite() {
    let cube = Cube::new(8);
    let state = cube.marched(0.5);
    let largest = state.iter().flatten().fold(0.0f64, |most, value| most.max(value.abs()));
    assert!(state.iter().flatten().all(|value| value.is_finite()));
    let moved = cube.start().iter().zip(&state).any(|(a, b)| (a[16] - b[16]).abs() > 1e-3);
    assert!(moved, "the lapse collapses");
    for order in [[1, 0, 2], [0, 2, 1], [1, 2, 0]] {
        for (voxel, q) in state.iter().enumerate() {
            let mut index = [0; 3];
            (0..3).for_each(|axis| index[order[axis]] = cube.index(voxel)[axis]);
            let (there, here) = (&state[cube.place(index)], permuted(q, order));
            for u in 0..59 {
                let bound = 1e-13 * largest;
                assert!(
                    (there[u] - here[u]).abs() <= bound,
                    "{voxel} {u}: {} {}",
                    there[u],
                    here[u]
                );
            }
        }
    }
}

#[test]
fn the_hamiltonian_constraint_of_a_puncture_converges_with_order_4() {
    let norms = [8, 16].map(|voxels| {
        let cube = Cube::new(voxels);
        let state = cube.marched(0.1);
        (cube.hamiltonian(&cube.start(), 1.7, 2.5), cube.hamiltonian(&state, 1.7, 2.5))
    });
    let orders = [(norms[0].0 / norms[1].0).log2(), (norms[0].1 / norms[1].1).log2()];
    println!("{norms:?} {orders:?}");
    assert!(orders.iter().all(|order| (3.5..5.0).contains(order)), "{orders:?} {norms:?}");
}
