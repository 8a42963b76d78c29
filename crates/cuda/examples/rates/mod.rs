//! What the programs that print rates share: random fields and the roof.

use ndarray::Array3;
use temblor_backend::{Backend, Result, StreamPattern, StreamRequest};
use temblor_cuda::CudaBackend;

/// Uniform values from `low` to `high`, the same on every run.
pub(crate) fn noise(shape: [usize; 3], low: f32, high: f32) -> Array3<f32> {
    let mut state = 12345_u32;
    Array3::from_shape_fn(shape, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        low + (high - low) * ((state >> 8) as f32 / 16_777_216.0)
    })
}

/// Points per second of three reads and one write of 4 B per point: median of ten samples.
pub(crate) fn one_step_roof(backend: &CudaBackend, points: usize) -> Result<f64> {
    let mut rates = backend.stream(&StreamRequest {
        pattern: StreamPattern::Step,
        elements: points as u64,
        fill: 1.0,
        samples: 10,
        seconds: 0.05,
    })?;
    rates.sort_by(f64::total_cmp);
    Ok(rates[5] / f64::from(StreamPattern::Step.bytes_per_element()))
}
