//! The queue of launches that makes steps: one by one, two fused, or many in a graph; or kernel after
//! kernel, timed.

use cudarc::driver::CudaStream;
use temblor_backend::{KernelKind as Kind, KernelTime, Result};

use crate::graph::{self, Key};
use crate::plan::CudaPlan;
use crate::sys::failed;
use crate::timing::Timing;

impl CudaPlan {
    /// Queues steps.
    pub(crate) fn advance_queued(&mut self, steps: u32) -> Result<()> {
        self.freshen(steps)?;
        let mut left = steps;
        while left > 0 {
            left -= if self.takes_graph(left) { self.launch_graph()? } else { self.pass(left)? };
        }
        self.samples.send(&self.stream)
    }

    /// Queues steps without graphs, kind after kind of kernel, and gives their times.
    pub(crate) fn advance_timed(&mut self, steps: u32) -> Result<Vec<KernelTime>> {
        self.freshen(steps)?;
        self.timing = Some(Timing::new(&self.stream)?);
        let (mut left, mut queued) = (steps, Ok(()));
        while left > 0 && queued.is_ok() {
            queued = self.pass(left).map(|steps| {
                left -= steps;
                if let Some(timing) = &mut self.timing {
                    timing.end_pass(steps);
                }
            });
        }
        let timing = self.timing.take();
        queued?;
        self.samples.send(&self.stream)?;
        timing.map_or_else(|| Ok(Vec::new()), |timing| timing.told(self))
    }

    /// Brings what is derived from p^n up to date before steps, if p^n was set from outside.
    fn freshen(&mut self, steps: u32) -> Result<()> {
        if steps == 0 {
            return Ok(());
        }
        if self.images_stale {
            self.fill_images()?;
        }
        if self.peaks_stale {
            self.interior.look_everywhere(&self.stream, &self.kernels, &self.fields)?;
            self.peaks_stale = false;
        }
        Ok(())
    }

    /// What was queued since the last mark is of `kind`.
    fn mark(&mut self, kind: Kind) -> Result<()> {
        let stream = &self.stream;
        self.timing.as_mut().map_or(Ok(()), |timing| timing.mark(stream, kind))
    }

    /// Queues one step, or two fused ones if `left` allows; gives the number of steps.
    fn pass(&mut self, left: u32) -> Result<u32> {
        let fuses = left >= 2 && self.interior.fuses();
        if fuses {
            self.two_steps(self.step)?;
        } else {
            self.one_step(self.step)?;
        }
        let steps = if fuses { 2 } else { 1 };
        self.step += u64::from(steps);
        Ok(steps)
    }

    /// Whether the next steps are made by a graph. One that would reach past the end of the sources'
    /// table is not: the steps beyond it inject nothing.
    fn takes_graph(&self, left: u32) -> bool {
        let steps = self.queueing.steps_per_graph;
        let sources = self.sources.as_ref();
        let (first, count) = (self.step, u64::from(steps));
        steps > 0
            && left >= steps
            && sources.is_none_or(|s| s.covers(first, count) || s.is_over(first))
    }

    /// Queues a graph, captured if need be; gives its number of steps.
    fn launch_graph(&mut self) -> Result<u32> {
        let steps = self.queueing.steps_per_graph;
        let key = Key {
            order: self.fields.order().to_vec(),
            parity: self.layers.parity(),
            injects: self.sources.as_ref().is_some_and(|sources| !sources.is_over(self.step)),
            records: self.receivers.is_some(),
        };
        if !self.graphs.has(&key) {
            self.capture(&key, steps)?;
        }
        if key.injects
            && let Some(sources) = &self.sources
        {
            sources.stage(&self.stream, self.step, self.queueing.rows())?;
        }
        self.graphs.launch(&key)?;
        if key.records {
            self.samples.collect(&self.stream, self.step, self.queueing.rows())?;
        }
        self.step += u64::from(steps);
        Ok(steps)
    }

    /// Captures steps from here on; what the plan knows of its buffers is afterwards as before.
    fn capture(&mut self, key: &Key, steps: u32) -> Result<()> {
        let first = self.step;
        graph::begin(&self.stream)?;
        self.samples.capture(true);
        if let Some(sources) = &mut self.sources {
            sources.read_window_from(Some(first));
        }
        let mut made = Ok(0);
        while let Ok(n) = made
            && n < steps
        {
            made = self.pass(steps - n).map(|more| n + more);
        }
        self.samples.capture(false);
        if let Some(sources) = &mut self.sources {
            sources.read_window_from(None);
        }
        self.step = first;
        if let Err(error) = made {
            // The capture must end for the stream to be of use; its own error says less.
            let _ = graph::end(&self.stream);
            return Err(error);
        }
        assert!(self.fields.order() == key.order, "a graph brings the wavefields back");
        assert!(self.layers.parity() == key.parity, "a graph brings the memory variables back");
        self.graphs.keep(key.clone(), &self.stream)
    }

    /// Queues one step; `n` is its number.
    fn one_step(&mut self, n: u64) -> Result<()> {
        let beside = self.queueing.branches
            && self.timing.is_none()
            && !(self.layers.is_empty() && self.receivers.is_none());
        let stream = if beside {
            self.fork.record(&self.stream).map_err(failed("cuEventRecord"))?;
            self.side.wait(&self.fork).map_err(failed("cuStreamWaitEvent"))?;
            self.side.clone()
        } else {
            self.stream.clone()
        };
        self.record(&stream, 0, n)?;
        self.mark(Kind::Receivers)?;
        if beside {
            self.step_layers(&stream, n)?;
        }
        match &self.stored {
            Some(stored) => stored.step_interior(&self.stream, &self.kernels, &self.fields, n)?,
            None => self.interior.step(&self.stream, &self.kernels, &self.fields)?,
        }
        self.mark(Kind::Interior)?;
        if beside {
            self.join.record(&self.side).map_err(failed("cuEventRecord"))?;
            self.stream.wait(&self.join).map_err(failed("cuStreamWaitEvent"))?;
        } else {
            self.step_layers(&stream, n)?;
            self.mark(Kind::Layers)?;
        }
        match (&self.sources, &self.stored) {
            (None, _) => {}
            (Some(sources), Some(stored)) => {
                stored.inject(&self.stream, &self.kernels, &self.fields, sources, n)?;
            }
            (Some(sources), None) => {
                let fields = self.fields.step(0, 1, 1);
                sources.inject(&self.stream, &self.kernels, n, &fields)?;
            }
        }
        self.mark(Kind::Sources)?;
        self.fields.swap();
        self.fill_images()?;
        self.mark(Kind::Walls)?;
        let injected = self.sources.as_ref().is_some_and(|sources| !sources.is_over(n));
        self.interior.look_beside(&self.stream, &self.kernels, &self.fields, injected)?;
        self.mark(Kind::Interior)
    }

    /// Queues step `n` of the layers.
    fn step_layers(&mut self, stream: &CudaStream, n: u64) -> Result<()> {
        if let Some(stored) = &self.stored {
            return stored.step_layers(stream, &self.kernels, &self.fields, &mut self.layers, n);
        }
        self.layers.step(stream, &self.kernels, &self.whole, &self.fields.step(0, 1, 1))
    }

    /// Queues two steps, the first of which is number `n`. There are no layers and no walls.
    fn two_steps(&mut self, n: u64) -> Result<()> {
        let stream = self.stream.clone();
        self.record(&stream, 0, n)?;
        self.mark(Kind::Receivers)?;
        let sources = self.sources.as_ref();
        self.interior.two_steps(&stream, &self.kernels, &self.fields, sources, n)?;
        self.mark(Kind::Interior)?;
        if let Some(sources) = &self.sources {
            sources.inject(&stream, &self.kernels, n + 1, &self.fields.step(2, 0, 3))?;
        }
        self.mark(Kind::Sources)?;
        self.record(&stream, 2, n + 1)?;
        self.mark(Kind::Receivers)?;
        self.fields.turn();
        Ok(())
    }

    /// Queues the sample of step `n` of wavefield `wave`.
    fn record(&mut self, stream: &CudaStream, wave: usize, n: u64) -> Result<()> {
        let Some(receivers) = &self.receivers else { return Ok(()) };
        let row = self.samples.next_row(n);
        if let Some(stored) = &self.stored {
            return stored.record(stream, &self.kernels, &self.fields, receivers, row);
        }
        let field = self.fields.node(wave);
        receivers.record(stream, &self.kernels, &self.layout, field, row)
    }

    /// Fills the halo of p^n across reflecting faces.
    pub(crate) fn fill_images(&mut self) -> Result<()> {
        let field = self.fields.node(0);
        for images in &self.images {
            self.kernels.images(&self.stream, &self.whole, images, field)?;
        }
        self.images_stale = false;
        Ok(())
    }
}
