//! Samples: recorded into rows on the device, sent to the host while later steps run.
//!
//! Rows are sent after each call of `advance`, so that those of earlier calls survive a fault of the
//! device, whose memory is then out of reach. A mark that follows each chunk tells what has arrived.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use ndarray::Array2;
use temblor_backend::tables::TraceSamples;
use temblor_backend::{Result, Traces};

use crate::memory::{Buffer, Pinned};
use crate::sys::failed;

/// Marks that can be told apart.
const MARKS: usize = 256;

/// Buffers of samples, shape (step, receiver).
#[derive(Debug)]
pub(crate) struct Samples {
    device: Buffer,
    /// Rows that a graph writes.
    window: Buffer,
    host: Pinned,
    copies: Arc<CudaStream>,
    /// Recorded when rows are complete on the device.
    filled: CudaEvent,
    /// 1, 2, ... : the mark of chunk n is at n % MARKS.
    marks: Buffer,
    /// The last mark that has arrived.
    arrived: Pinned,
    /// Rows at the end of each chunk on its way, with its mark.
    chunks: Vec<(usize, usize)>,
    next_mark: usize,
    /// Rows that are known to be on the host.
    safe: usize,
    receivers: usize,
    first_step: u64,
    rows: usize,
    sent: usize,
    /// Next row of the window while a graph is captured.
    capturing: Option<usize>,
}

impl Samples {
    /// Buffers for so many receivers and rows, of which a graph fills `graph_rows`.
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        stream: &CudaStream,
        receivers: usize,
        rows: usize,
        graph_rows: usize,
    ) -> Result<Self> {
        let marks: Vec<f32> = (1..=MARKS).map(|mark| mark as f32).collect();
        Ok(Self {
            device: Buffer::zeros(stream, receivers * rows)?,
            window: Buffer::zeros(stream, receivers * graph_rows)?,
            host: Pinned::zeros(context, receivers * rows)?,
            copies: context.new_stream().map_err(failed("cuStreamCreate"))?,
            filled: context.new_event(None).map_err(failed("cuEventCreate"))?,
            marks: Buffer::of(stream, &marks)?,
            arrived: Pinned::zeros(context, 1)?,
            chunks: Vec::new(),
            next_mark: 0,
            safe: 0,
            receivers: 0,
            first_step: 0,
            rows: 0,
            sent: 0,
            capturing: None,
        })
    }

    /// Rows not yet read.
    pub(crate) fn pending(&self) -> usize {
        self.rows
    }

    /// Drops what was not read; rows have `receivers` samples from now on.
    pub(crate) fn restart(&mut self, receivers: usize) {
        self.receivers = receivers;
        self.drop_rows();
    }

    /// Drops what was not read.
    pub(crate) fn drop_rows(&mut self) {
        (self.rows, self.sent, self.safe) = (0, 0, 0);
        self.chunks.clear();
    }

    /// Address of the row of step `step`.
    pub(crate) fn next_row(&mut self, step: u64) -> u64 {
        let bytes = 4 * self.receivers as u64;
        if let Some(row) = &mut self.capturing {
            *row += 1;
            return self.window.address() + bytes * (*row - 1) as u64;
        }
        if self.rows == 0 {
            self.first_step = step;
        }
        self.rows += 1;
        self.device.address() + bytes * (self.rows - 1) as u64
    }

    /// Whether rows go to the window: while a graph is captured.
    pub(crate) fn capture(&mut self, capturing: bool) {
        self.capturing = capturing.then_some(0);
    }

    /// Queues the copy of the rows that a graph left, the first of which is of `step`.
    pub(crate) fn collect(&mut self, stream: &CudaStream, step: u64, rows: usize) -> Result<()> {
        if self.rows == 0 {
            self.first_step = step;
        }
        let count = self.receivers;
        self.device.copy(stream, self.rows * count, &self.window, 0, rows * count)?;
        self.rows += rows;
        Ok(())
    }

    /// Queues the copy of new rows to the host, after what is queued on `stream` so far.
    pub(crate) fn send(&mut self, stream: &CudaStream) -> Result<()> {
        if self.rows == self.sent {
            return Ok(());
        }
        if self.chunks.len() + 1 == MARKS {
            self.copies.synchronize().map_err(failed("cuStreamSynchronize"))?;
            self.safe = self.sent;
            self.chunks.clear();
        }
        self.filled.record(stream).map_err(failed("cuEventRecord"))?;
        self.copies.wait(&self.filled).map_err(failed("cuStreamWaitEvent"))?;
        let (first, end) = (self.sent * self.receivers, self.rows * self.receivers);
        self.device.read(&self.copies, first, &mut self.host.slice_mut()[first..end])?;
        let mark = self.next_mark % MARKS;
        self.marks.read(&self.copies, mark, &mut self.arrived.slice_mut()[..1])?;
        self.chunks.push((self.rows, mark + 1));
        self.next_mark += 1;
        self.sent = self.rows;
        Ok(())
    }

    /// Waits for all rows and gives them out.
    pub(crate) fn take(&mut self, stream: &CudaStream, step: u64) -> Result<Traces> {
        self.send(stream)?;
        self.copies.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok(self.give(self.rows, step))
    }

    /// Gives out the rows that arrived before a fault.
    pub(crate) fn take_arrived(&mut self, step: u64) -> Traces {
        let mark = self.arrived.slice()[0];
        let last = self.chunks.iter().rev().find(|(_, m)| (*m as f32).to_bits() == mark.to_bits());
        let rows = last.map_or(self.safe, |&(rows, _)| rows);
        self.give(rows, step)
    }

    fn give(&mut self, rows: usize, step: u64) -> Traces {
        let (count, host) = (self.receivers, self.host.slice());
        let samples = Array2::from_shape_fn((count, rows), |(r, n)| host[n * count + r]);
        let first_step = if self.rows == 0 { step } else { self.first_step };
        self.drop_rows();
        Traces { first_step, samples: TraceSamples::F32(samples) }
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        // Copies on their way must end before the memory that they write goes.
        let _ = self.copies.synchronize();
    }
}
