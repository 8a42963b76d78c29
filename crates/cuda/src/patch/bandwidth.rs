//! What copies between pinned host memory and the card reach: the roof of chunks from the host.

use temblor_backend::Result;

use crate::memory::{Buffer, Pinned};
use crate::sys::{failed, open};

/// Bytes of a copy.
const BYTES: usize = 256 << 20;

/// Rates of copies from pinned memory to a card, back, and each way while both run, B/s; best of five.
///
/// # Errors
/// [`temblor_backend::Error::Driver`].
pub fn pinned_bandwidth(ordinal: usize) -> Result<[f64; 3]> {
    let context = open(ordinal)?;
    let streams = [(); 2].map(|()| context.new_stream().map_err(failed("cuStreamCreate")));
    let [there, back] = streams;
    let (there, back) = (there?, back?);
    let elements = BYTES / 4;
    let source = Pinned::zeros(&context, elements)?;
    let mut target = Pinned::zeros(&context, elements)?;
    let buffers = [Buffer::zeros(&there, elements)?, Buffer::zeros(&back, elements)?];
    let wait = || {
        there.synchronize().map_err(failed("cuStreamSynchronize"))?;
        back.synchronize().map_err(failed("cuStreamSynchronize"))
    };
    wait()?;
    let mut best = [0.0f64; 3];
    for _ in 0..5 {
        for (n, ways) in [(0, [true, false]), (1, [false, true]), (2, [true, true])] {
            let start = std::time::Instant::now();
            if ways[0] {
                buffers[0].fill(&there, source.slice())?;
            }
            if ways[1] {
                buffers[1].read(&back, 0, target.slice_mut())?;
            }
            wait()?;
            let rate = BYTES as f64 / start.elapsed().as_secs_f64();
            best[n] = best[n].max(rate);
        }
    }
    Ok(best)
}
