//! The wavefields of a plan and which one is which.

use cudarc::driver::CudaStream;
use temblor_backend::Result;

use crate::layout::Layout;
use crate::memory::Buffer;
use crate::module::StepFields;

/// Wavefields and dt^2 c^2.
#[derive(Debug)]
pub(crate) struct Fields {
    /// p^n, p^(n-1) and, for fused steps, two to write to.
    waves: Vec<Buffer>,
    /// Positions in `waves`: p^n first, p^(n-1) second.
    order: Vec<usize>,
    /// dt^2 c^2, m^2.
    pub(crate) speed: Buffer,
    origin: u64,
    speed_origin: u64,
}

impl Fields {
    /// Allocates `count` wavefields at rest.
    pub(crate) fn new(stream: &CudaStream, layout: &Layout, count: usize) -> Result<Self> {
        Self::of_bytes(stream, layout.elements(), layout.origin(), count, [4, 4])
    }

    /// Allocates `count` wavefields with the given bytes per element, zero, and a wave speed with the
    /// second number of bytes; node 0 is element `origin` of `elements`, an even number.
    pub(crate) fn of_bytes(
        stream: &CudaStream,
        elements: usize,
        origin: usize,
        count: usize,
        bytes: [usize; 2],
    ) -> Result<Self> {
        let field = |bytes: usize| Buffer::zeros(stream, elements * bytes / 4);
        Ok(Self {
            waves: (0..count).map(|_| field(bytes[0])).collect::<Result<_>>()?,
            order: (0..count).collect(),
            speed: field(bytes[1])?,
            origin: (bytes[0] * origin) as u64,
            speed_origin: (bytes[1] * origin) as u64,
        })
    }

    /// The n-th wavefield: 0 is p^n, 1 is p^(n-1).
    pub(crate) fn wave(&self, n: usize) -> &Buffer {
        &self.waves[self.order[n]]
    }

    /// Which allocation holds the n-th wavefield.
    pub(crate) fn slot(&self, n: usize) -> usize {
        self.order[n]
    }

    /// Which allocation holds which wavefield.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// All allocations.
    pub(crate) fn all(&self) -> &[Buffer] {
        &self.waves
    }

    /// Address of node 0 of the n-th wavefield.
    pub(crate) fn node(&self, n: usize) -> u64 {
        self.wave(n).address() + self.origin
    }

    /// Address of node 0 of dt^2 c^2.
    pub(crate) fn speed_node(&self) -> u64 {
        self.speed.address() + self.speed_origin
    }

    /// Fields of a step from wavefields `current` and `previous` into `next`.
    pub(crate) fn step(&self, current: usize, previous: usize, next: usize) -> StepFields {
        StepFields {
            current: self.node(current),
            previous: self.node(previous),
            next: self.node(next),
            speed: self.speed_node(),
        }
    }

    /// After a step in place: p^(n+1) lies where p^(n-1) was.
    pub(crate) fn swap(&mut self) {
        self.order.swap(0, 1);
    }

    /// After two fused steps: p^(n+2) and p^(n+1) lie in the fourth and third wavefield.
    pub(crate) fn turn(&mut self) {
        self.order = vec![self.order[3], self.order[2], self.order[1], self.order[0]];
    }

    /// At rest, in the original order.
    pub(crate) fn clear(&mut self, stream: &CudaStream) -> Result<()> {
        self.order.sort_unstable();
        self.waves.iter().try_for_each(|wave| wave.clear(stream))
    }
}
