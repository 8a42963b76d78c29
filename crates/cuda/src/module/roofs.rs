//! Launchers of the roofs' kernels.

use cudarc::driver::CudaStream;
use temblor_backend::{Result, StreamPattern};

use super::{Kernels, THREADS, long};

/// Entry points of all of them.
pub(crate) const NAMES: [&str; 7] = [
    "stream_copy",
    "stream_scale",
    "stream_add",
    "stream_triad",
    "stream_step",
    "stream_fill",
    "multiply_adds",
];

impl Kernels {
    /// One pass of a pattern over arrays a, b, c of `elements`, a multiple of four.
    pub(crate) fn stream(
        &self,
        stream: &CudaStream,
        pattern: StreamPattern,
        elements: usize,
        arrays: [u64; 3],
    ) -> Result<()> {
        let count = long(elements);
        let [a, b, c] = &arrays;
        let grid = [(elements / 4).div_ceil(THREADS as usize), 1, 1];
        let name = NAMES[pattern as usize];
        // SAFETY: signature of `stream_*`; each array holds `elements` elements on 16 B.
        unsafe { self.launch(stream, name, grid, [THREADS, 1, 1], 0, &[&count, a, b, c]) }
    }

    /// Sets array number `which`: the first `noisy` elements of every chunk at random, the others
    /// `constant`.
    pub(crate) fn stream_fill(
        &self,
        stream: &CudaStream,
        elements: usize,
        [chunk, noisy]: [usize; 2],
        (which, constant): (i32, f32),
        array: u64,
    ) -> Result<()> {
        let (count, chunk, noisy) = (long(elements), long(chunk), long(noisy));
        let grid = [elements.div_ceil(THREADS as usize), 1, 1];
        // SAFETY: signature of `stream_fill`; the array holds `elements` elements.
        unsafe {
            let arguments: [&dyn super::Argument; 6] =
                [&count, &chunk, &noisy, &which, &constant, &array];
            self.launch(stream, "stream_fill", grid, [THREADS, 1, 1], 0, &arguments)
        }
    }

    /// Turns of multiply-adds in `blocks` blocks; `sums` has a place for every thread. Gives the
    /// operations queued.
    pub(crate) fn multiply_adds(
        &self,
        stream: &CudaStream,
        blocks: usize,
        turns: i32,
        sums: u64,
    ) -> Result<f64> {
        let (count, factor, offset) = (turns, 0.999_f32, 1e-3_f32);
        let grid = [blocks, 1, 1];
        // SAFETY: signature of `multiply_adds`; there is a place for the sum of every thread.
        unsafe {
            let arguments: [&dyn super::Argument; 4] = [&count, &factor, &offset, &sums];
            self.launch(stream, "multiply_adds", grid, [THREADS, 1, 1], 0, &arguments)?;
        }
        // Sixteen sums per thread, two operations each.
        Ok(32.0 * f64::from(turns) * (blocks * THREADS as usize) as f64)
    }
}
