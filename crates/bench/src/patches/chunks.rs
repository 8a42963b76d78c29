//! Chunks of a kernel's initial state with noise, scattered on the host.

use temblor_backend::Cell;
use temblor_patch::graph::Leaf;
use temblor_patch::physics::{Argument, arguments};
use temblor_patch::{Kernel, Term};

/// Part of its value, or of a tenth where that is more, by which a value is off the initial state.
const NOISE: f64 = 0.02;

/// Chunks that differ; more patches repeat them.
const DIFFERENT: usize = 8;

/// Inputs for any number of patches of one kernel.
#[derive(Debug, Clone)]
pub struct Chunks {
    chunks: Vec<Vec<f64>>,
    cells: u16,
}

impl Chunks {
    /// The physics' `initial` around the origin, each value with noise: states that every term can
    /// take, without the symmetries that flatter a machine.
    ///
    /// # Errors
    /// What the physics says, and where it has no `initial`.
    ///
    /// # Panics
    /// Never: unknowns are counted in 16 bits.
    pub fn new(kernel: &Kernel, parameters: &[f64]) -> Result<Self, String> {
        let function = kernel
            .physics
            .trace(Term::Initial, 0, &kernel.integers)
            .map_err(|error| error.to_string())?;
        let needed = function.graph.reachable(&function.outputs);
        let width = kernel.shape.width();
        let known =
            arguments(Term::Initial, u16::try_from(width).expect("fewer than 65536 unknowns"));
        let mut noise = Noise(2026);
        let mut values = Vec::new();
        let mut chunk = || -> Vec<f64> {
            let mut chunk = vec![0.0; kernel.shape.input_len()];
            for state in chunk.chunks_exact_mut(width) {
                let position = [noise.next(), noise.next(), noise.next()];
                function.graph.evaluate(&needed, &mut values, |leaf| match leaf {
                    Leaf::Parameter(place) => parameters[usize::from(place)],
                    Leaf::Argument(place) => match known[usize::from(place)] {
                        Argument::Position(axis) => position[usize::from(axis)],
                        Argument::Spacing(_) => 0.1,
                        _ => 0.0,
                    },
                    _ => 0.0,
                });
                for (to, output) in state.iter_mut().zip(&function.outputs) {
                    let value = values[output.index()];
                    *to = value + NOISE * value.abs().max(0.1) * noise.next();
                }
            }
            chunk
        };
        let chunks = (0..DIFFERENT).map(|_| chunk()).collect();
        Ok(Self { chunks, cells: kernel.shape.cells })
    }

    /// The chunk of a patch.
    #[must_use]
    pub fn of(&self, patch: usize) -> &[f64] {
        &self.chunks[patch % DIFFERENT]
    }

    /// Cells of so many patches of 1 m, with a step of a tenth of a voxel at 1 m/s.
    #[must_use]
    pub fn cells(&self, patches: usize) -> Vec<Cell> {
        let time_step = 0.1 / f64::from(self.cells);
        let cell = |patch: usize| Cell {
            centre: [patch as f64, 0.0, 0.0],
            size: [1.0; 3],
            time: 0.0,
            time_step,
        };
        (0..patches).map(cell).collect()
    }
}

/// Numbers in -1 to 1 that look random (xorshift, Marsaglia 2003), the same everywhere.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}
