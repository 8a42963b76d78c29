//! Time by kind of kernel, for `advance_by_kernel`: an event on the stream after each kind's launches.
//!
//! All steps are queued before any event is read, so that the device never waits for the host; the
//! time of a kind is that between the event before it and its own, starts and ends of kernels
//! included. A pass of two fused steps gives half of its time to each.

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream};
use temblor_backend::{KernelKind as Kind, KernelTime, Result};
use temblor_physics::StepWork;

use crate::plan::CudaPlan;
use crate::points::{Receivers, Sources};
use crate::sys::failed;
use crate::variants;

/// Events of the steps queued so far.
pub(crate) struct Timing {
    start: CudaEvent,
    /// What was queued before each event.
    marks: Vec<(Kind, CudaEvent)>,
    /// End of each pass in `marks`, and its steps.
    passes: Vec<(usize, u32)>,
}

fn event(stream: &CudaStream) -> Result<CudaEvent> {
    let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let event = stream.context().new_event(flags).map_err(failed("cuEventCreate"))?;
    event.record(stream).map_err(failed("cuEventRecord"))?;
    Ok(event)
}

impl Timing {
    /// Starts the clock.
    pub(crate) fn new(stream: &CudaStream) -> Result<Self> {
        Ok(Self { start: event(stream)?, marks: Vec::new(), passes: Vec::new() })
    }

    /// What was queued since the last mark is of `kind`.
    pub(crate) fn mark(&mut self, stream: &CudaStream, kind: Kind) -> Result<()> {
        self.marks.push((kind, event(stream)?));
        Ok(())
    }

    /// Ends a pass of `steps` steps.
    pub(crate) fn end_pass(&mut self, steps: u32) {
        self.passes.push((self.marks.len(), steps));
    }

    /// Seconds by kind, one entry per step; waits for the device.
    fn seconds(&self) -> Result<[Vec<f64>; 5]> {
        let mut all: [Vec<f64>; 5] = Default::default();
        let (mut before, mut first) = (&self.start, 0);
        for &(end, steps) in &self.passes {
            let mut spent = [0.0; 5];
            for (kind, event) in &self.marks[first..end] {
                let time = before.elapsed_ms(event).map_err(failed("cuEventElapsedTime"))?;
                spent[*kind as usize] += 1e-3 * f64::from(time);
                before = event;
            }
            for (list, spent) in all.iter_mut().zip(spent) {
                list.extend((0..steps).map(|_| spent / f64::from(steps)));
            }
            first = end;
        }
        Ok(all)
    }

    /// Times of the kinds that a plan has, with what each moves and computes. Nodes of layers are all
    /// that the layers' kernels step, which begin on a cache line.
    pub(crate) fn told(&self, plan: &CudaPlan) -> Result<Vec<KernelTime>> {
        let (problem, variant) = (&plan.problem, &plan.variant);
        let work = StepWork::of(problem);
        let part = plan.layout.interior;
        let inside = if part.is_empty() {
            0
        } else {
            (0..3).map(|a| part.extent(a) as u64).product::<u64>()
        };
        let (interior, layers) = (inside as f64, problem.grid.points() - inside);
        let layer_flops = variants::flops(problem) * layers as f64 + work.layer_flops as f64;
        let halo = plan.images.iter().map(|images| {
            let others = (0..3).filter(|&a| i32::try_from(a) != Ok(images.axis));
            let nodes: usize = others.map(|a| plan.layout.nodes[a]).product();
            u64::try_from(images.count).unwrap_or(0) * nodes as u64
        });
        let halo: u64 = halo.sum();
        let [nodes, terms] = plan.sources.as_ref().map_or([0; 2], Sources::counts);
        let [samples, heard] = plan.receivers.as_ref().map_or([0; 2], Receivers::counts);
        let [source_flops, receiver_flops] = [terms + nodes, heard].map(|n| 2.0 * n as f64);
        let kinds = [
            (inside, variant.bytes_per_point * interior, variant.flops_per_point * interior),
            (layers, work.bytes() as f64 - 16.0 * interior, layer_flops),
            (halo, 8.0 * halo as f64, halo as f64),
            (nodes, 12.0 * nodes as f64, source_flops),
            (samples, 4.0 * (heard + samples) as f64, receiver_flops),
        ];
        let all = Kind::ALL.into_iter().zip(kinds).zip(self.seconds()?);
        let has = all.filter(|((_, (points, ..)), _)| *points > 0);
        Ok(has
            .map(|((kind, (points, bytes_per_step, flops_per_step)), seconds)| KernelTime {
                name: kind.name().into(),
                points,
                bytes_per_step,
                flops_per_step,
                seconds,
            })
            .collect())
    }
}
