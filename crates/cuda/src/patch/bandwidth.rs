//! What copies between pinned host memory and the card reach: the roof of chunks from the host.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaStream;
use temblor_backend::Result;

use crate::memory::{Buffer, Pinned};
use crate::sys::{failed, open};

/// Bytes of a copy at most.
const BYTES: usize = 256 << 20;

/// Bytes of a word.
const WORD: usize = size_of::<u32>();

/// Copies from pinned memory to a card and back, both ways at once.
#[derive(Debug)]
pub struct PinnedCopies {
    there: Arc<CudaStream>,
    back: Arc<CudaStream>,
    source: Pinned,
    target: Pinned,
    buffers: [Buffer; 2],
}

impl PinnedCopies {
    /// # Errors
    /// [`temblor_backend::Error::Driver`].
    pub fn new(ordinal: usize) -> Result<Self> {
        let context = open(ordinal)?;
        let stream = || context.new_stream().map_err(failed("cuStreamCreate"));
        let (there, back) = (stream()?, stream()?);
        let elements = BYTES / WORD;
        let buffers = [Buffer::zeros(&there, elements)?, Buffer::zeros(&back, elements)?];
        let (source, target) =
            (Pinned::zeros(&context, elements)?, Pinned::zeros(&context, elements)?);
        let mut copies = Self { there, back, source, target, buffers };
        copies.wait()?;
        // The first copies are slower.
        copies.once([BYTES, BYTES])?;
        Ok(copies)
    }

    fn wait(&self) -> Result<()> {
        self.there.synchronize().map_err(failed("cuStreamSynchronize"))?;
        self.back.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    /// Time in which so many bytes cross to the card and back, s.
    fn once(&mut self, bytes: [usize; 2]) -> Result<f64> {
        let start = Instant::now();
        let pieces =
            |bytes: usize| (0..bytes.div_ceil(BYTES)).map(move |n| BYTES.min(bytes - n * BYTES));
        for piece in pieces(bytes[0]) {
            self.buffers[0].fill(&self.there, &self.source.slice()[..piece / WORD])?;
        }
        for piece in pieces(bytes[1]) {
            self.buffers[1].read(&self.back, 0, &mut self.target.slice_mut()[..piece / WORD])?;
        }
        self.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Time in which so many bytes cross to the card and so many back, both ways at once, s; best of five.
    ///
    /// # Errors
    /// [`temblor_backend::Error::Driver`].
    pub fn time(&mut self, bytes: [usize; 2]) -> Result<f64> {
        (0..5).try_fold(f64::INFINITY, |best, _| Ok(self.once(bytes)?.min(best)))
    }

    /// Rates of copies to the card, back, and each way while both run, B/s.
    ///
    /// # Errors
    /// [`temblor_backend::Error::Driver`].
    pub fn rates(&mut self) -> Result<[f64; 3]> {
        let mut rate = |bytes| -> Result<f64> { Ok(BYTES as f64 / self.time(bytes)?) };
        Ok([rate([BYTES, 0])?, rate([0, BYTES])?, rate([BYTES, BYTES])?])
    }
}
