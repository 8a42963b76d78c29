//! Where runs that are compared with f64 begin.

use rand_chacha::ChaCha8Rng;
use temblor_physics::{Boundary, Face, WaveProblem};

use crate::cases::{FASTEST, random};
use crate::oracle::Oracle;

/// Random fields, zero on free surfaces, in a random medium.
pub(crate) fn random_start(rng: &mut ChaCha8Rng, problem: &WaveProblem) -> Oracle {
    let shape = problem.grid.shape;
    let mut oracle = Oracle::new(problem);
    oracle.p = random(rng, shape, -1.0, 1.0);
    oracle.previous = random(rng, shape, -1.0, 1.0);
    oracle.speed = random(rng, shape, 1500.0, FASTEST);
    for face in Face::ALL {
        if matches!(problem.boundaries.at(face), Boundary::Free) {
            let last = if face.is_min() { 0 } else { shape[face.axis().index()] - 1 };
            let axis = ndarray::Axis(face.axis().index());
            oracle.p.index_axis_mut(axis, last).fill(0.0);
            oracle.previous.index_axis_mut(axis, last).fill(0.0);
        }
    }
    oracle
}
