//! Steps captured once and launched together, so that the host's launches leave no gaps between
//! kernels.
//!
//! A graph's addresses are fixed. What changes from step to step is therefore put where the graph
//! looks for it: the amplitudes of its steps are copied to a window before it, the samples that it
//! left in a window are copied to their rows after it, two copies per graph. A counter on the device
//! would save those at the price of an indirection in every kernel that records or injects.
//! A number of steps that is a multiple of four brings every buffer back to its place, so a graph can
//! follow itself; which buffer holds what at its start is its key.
#![expect(unsafe_code, reason = "a graph's handle may change threads")]

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaStream};
use temblor_backend::{Error, Result};

use crate::ID;
use crate::sys::failed;

/// How steps are queued. Bits do not depend on it. This is a backend's default for its plans, each of
/// which may ask for another by `PlanOptions::parameters` (`steps_per_graph`, `branches`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queueing {
    /// Steps of a graph, a multiple of four; 0 launches every kernel by itself.
    pub steps_per_graph: u32,
    /// Whether layers and recording run beside the interior: they read p^n and write other nodes of
    /// p^(n+1), or samples.
    pub branches: bool,
}

impl Default for Queueing {
    /// 32 steps: two copies and a launch per graph are then below half a per cent of 256^3. Branches:
    /// on an H200 with C-PML 113.3 Gpts/s at 256^3 against 111.9 without them and 108.6 without graphs
    /// too, 176.4 against 172.9 at 512^3, 197.2 against 195.9 at 800^3.
    fn default() -> Self {
        Self { steps_per_graph: 32, branches: true }
    }
}

impl Queueing {
    /// Every kernel launched by itself, one after the other.
    pub const PLAIN: Self = Self { steps_per_graph: 0, branches: false };

    /// Steps of a graph as a count of rows.
    pub(crate) fn rows(self) -> usize {
        self.steps_per_graph as usize
    }
}

/// What a graph was captured for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Which allocation holds which wavefield.
    pub(crate) order: Vec<usize>,
    /// Which memory variables are the old ones.
    pub(crate) parity: usize,
    /// Whether sources are injected.
    pub(crate) injects: bool,
    /// Whether receivers are recorded.
    pub(crate) records: bool,
}

struct Handle(CudaGraph);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0.cu_graph())
    }
}

// SAFETY: a graph has no thread affinity; plans give it out under `&mut self` only.
unsafe impl Send for Handle {}

/// The graphs of a plan.
#[derive(Debug, Default)]
pub(crate) struct Graphs(HashMap<Key, Handle>);

impl Graphs {
    /// Whether there is a graph.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.0.contains_key(key)
    }

    /// Queues a graph.
    pub(crate) fn launch(&self, key: &Key) -> Result<()> {
        self.0[key].0.launch().map_err(failed("cuGraphLaunch"))
    }

    /// Ends a capture and keeps the graph.
    pub(crate) fn keep(&mut self, key: Key, stream: &Arc<CudaStream>) -> Result<()> {
        let graph = end(stream)?;
        graph.upload().map_err(failed("cuGraphUpload"))?;
        self.0.insert(key, Handle(graph));
        Ok(())
    }

    /// Forgets all graphs: tables of sources or receivers have moved.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What is queued on the stream from here on becomes part of a graph.
pub(crate) fn begin(stream: &CudaStream) -> Result<()> {
    // Other threads' plans may allocate meanwhile.
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    stream.begin_capture(mode).map_err(failed("cuStreamBeginCapture"))
}

/// Ends a capture.
pub(crate) fn end(stream: &Arc<CudaStream>) -> Result<CudaGraph> {
    let graph = stream
        .end_capture(CUgraphInstantiate_flags(0))
        .map_err(failed("cuStreamEndCapture or cuGraphInstantiate"))?;
    graph.ok_or_else(|| Error::Driver {
        backend: ID.into(),
        call: "cuStreamEndCapture".into(),
        source: "the capture holds nothing: report this".into(),
    })
}
