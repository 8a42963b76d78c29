//! Kernels, chunks and cells of the tests of patch kernels on a card.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use temblor_backend::Cell;
use temblor_patch::{Kernel, Physics, Plan, Request, Scheme, lower};

pub(crate) fn kernel(physics: &str, scheme: &str, d: u8, p: u16, plan: Plan) -> Option<Kernel> {
    let physics = Arc::new(Physics::shipped(physics).unwrap());
    let integers = if physics.name == "ccz4" {
        vec![("lapse".into(), 1), ("s".into(), 1), ("bs".into(), 1)]
    } else {
        Vec::new()
    };
    let request = Request::new(d, p).with_plan(plan).with_integers(integers);
    // Some physics lack what a scheme calls.
    lower(&Scheme::shipped(scheme).unwrap(), &physics, &request).ok()
}

/// A chunk near a state in which every term is defined; edges and corners of the halo as given.
pub(crate) fn chunk(kernel: &Kernel, rng: &mut ChaCha8Rng, corner: f64) -> Vec<f64> {
    let block = &kernel.blocks[0];
    let (d, p) = (usize::from(kernel.shape.dimensions), kernel.shape.cells.cast_signed());
    let rest = |u: usize| match kernel.physics.name.as_str() {
        "euler" => [1.0, 0.0, 0.0, 0.0, 3.0].get(u).copied().unwrap_or(0.0),
        "ccz4" => f64::from(u8::from([0, 3, 5, 16, 54].contains(&u))),
        _ => 1.0,
    };
    let mut values = vec![0.0; kernel.shape.input_len()];
    for z in block.low[2]..block.high[2] {
        for y in block.low[1]..block.high[1] {
            for x in block.low[0]..block.high[0] {
                let outside = [x, y, z][..d].iter().filter(|&&i| i < 0 || i >= p).count();
                for u in 0..kernel.shape.width() {
                    let value = rest(u) + rng.random_range(-0.1..0.1);
                    values[block.offset([x, y, z]) + u] = if outside > 1 { corner } else { value };
                }
            }
        }
    }
    values
}

pub(crate) fn cells(count: usize) -> Vec<Cell> {
    let cell = |k: usize| {
        let k = k as f64;
        Cell {
            centre: [0.1 + k, -0.2 * k, 0.3],
            size: [1.0 + 0.1 * k, 1.3, 0.9],
            time: 0.25 * k,
            time_step: 1e-3 * (1.0 + 0.1 * k),
        }
    };
    (0..count).map(cell).collect()
}

/// The interior of a state after a step, or base + rate, as an output chunk has it.
pub(crate) fn interior(kernel: &Kernel, state: &[f64]) -> Vec<f64> {
    let (input, output) = (&kernel.blocks[0], &kernel.blocks[1]);
    let mut values = vec![0.0; kernel.shape.output_len()];
    for z in output.low[2]..output.high[2] {
        for y in output.low[1]..output.high[1] {
            for x in output.low[0]..output.high[0] {
                let (from, to) = (input.offset([x, y, z]), output.offset([x, y, z]));
                let width = kernel.shape.output_width();
                values[to..to + width].copy_from_slice(&state[from..from + width]);
            }
        }
    }
    values
}
