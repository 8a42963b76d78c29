//! The device's one-step roof, measured: three reads and one write per point.

use std::time::Instant;

use temblor_backend::Result;

use crate::memory::Buffer;
use crate::module::Kernels;
use crate::modules::Modules;
use crate::sys::{self, failed};

/// Points per second of a kernel that reads p, p- and v and writes p+ for `points` points and does
/// nothing else; median of ten batches of twenty on random data.
///
/// # Errors
/// [`temblor_backend::Error::Driver`].
pub fn one_step_roof(ordinal: usize, points: usize) -> Result<f64> {
    let context = sys::open(ordinal)?;
    let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
    let kernels = Kernels::load(&Modules::new(&context), &["roof".into()])?;
    let points = points / 4 * 4;
    // Random bits in [0.5, 1): zeros run faster than data does.
    let mut state = 1_u32;
    let noise: Vec<f32> = (0..1 << 20)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(0x3f00_0000 | (state >> 9))
        })
        .collect();
    let mut arrays = Vec::new();
    for _ in 0..3 {
        let array = Buffer::zeros(&stream, points)?;
        for first in (0..points).step_by(noise.len()) {
            array.fill_at(&stream, first, &noise[..noise.len().min(points - first)])?;
        }
        arrays.push(array);
    }
    let batch = || -> Result<f64> {
        let start = Instant::now();
        for _ in 0..20 {
            let addresses = [arrays[0].address(), arrays[1].address(), arrays[2].address()];
            kernels.roof(&stream, points, addresses)?;
        }
        stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok(20.0 * points as f64 / start.elapsed().as_secs_f64())
    };
    batch()?;
    let mut rates: Vec<f64> = (0..10).map(|_| batch()).collect::<Result<_>>()?;
    rates.sort_by(f64::total_cmp);
    Ok(rates[5])
}
