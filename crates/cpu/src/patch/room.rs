//! Results of a few patches on their way into a state, kept from call to call.

use temblor_backend::Result;

use super::batch::Cells;
use super::engine::Engine;
use super::idle::Idle;

/// Values that the results of one call take at most, unless a patch alone has more: they stay in the
/// second-level cache until they are copied.
const VALUES: usize = 1 << 14;

/// Results of a call.
#[derive(Debug, Default)]
pub(crate) struct Room {
    results: Vec<f64>,
    speeds: Vec<f64>,
}

impl Room {
    /// Patches per call.
    pub(crate) fn patches(engine: &Engine, task: usize) -> usize {
        if engine.whole() {
            task
        } else {
            (VALUES / engine.kernel.shape.output_len()).clamp(1, task)
        }
    }

    /// Applies a kernel to patches that lie side by side, the first being number `first`, on the calling
    /// thread; results by patch, and the largest eigenvalue.
    pub(crate) fn run(
        &mut self,
        engine: &Engine,
        parameters: &[f64],
        cells: &Cells,
        first: usize,
        from: &[f64],
    ) -> Result<(&[f64], f64)> {
        self.filled(engine, from, |inputs, outputs, speeds| {
            engine.run_task(parameters, cells, first, inputs, outputs, speeds)
        })
    }

    /// Applies a kernel to all patches, which lie side by side, on all threads; otherwise as
    /// [`Room::run`].
    pub(crate) fn run_all(
        &mut self,
        engine: &Engine,
        parameters: &[f64],
        cells: &Cells,
        from: &[f64],
    ) -> Result<(&[f64], f64)> {
        self.filled(engine, from, |inputs, outputs, speeds| {
            engine.run(parameters, cells, inputs, outputs, speeds)
        })
    }

    fn filled(
        &mut self,
        engine: &Engine,
        from: &[f64],
        fill: impl FnOnce(&[&[f64]], &mut [&mut [f64]], &mut [f64]) -> Result<()>,
    ) -> Result<(&[f64], f64)> {
        let output = engine.kernel.shape.output_len();
        let inputs: Vec<&[f64]> = from.chunks(engine.kernel.shape.input_len()).collect();
        if self.results.len() < inputs.len() * output {
            self.results.resize(inputs.len() * output, 0.0);
        }
        self.speeds.resize(inputs.len(), 0.0);
        let results = &mut self.results[..inputs.len() * output];
        let mut outputs: Vec<&mut [f64]> = results.chunks_mut(output).collect();
        fill(&inputs, &mut outputs, &mut self.speeds)?;
        let largest = self.speeds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok((&self.results[..inputs.len() * output], largest))
    }
}

/// Room that no thread uses at the moment.
#[derive(Debug, Default)]
pub(crate) struct Rooms(Idle<Room>);

impl Rooms {
    /// Lends room to a task.
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut Room) -> T) -> T {
        let mut room = self.0.take().unwrap_or_default();
        let done = task(&mut room);
        self.0.keep(room);
        done
    }
}
