//! How a kernel is carried out: by the interpreter or by code that the host's compiler made, spread
//! over threads by patches, or by slabs of patches where there are few.

use std::sync::{Arc, Mutex};

use temblor_backend::{Error, Result};
use temblor_patch::{Cell, Interpreter, Kernel};

use super::batch::{Batch, Cells};
use super::slabs::{Maker, Slabs};
use super::sys::{Compiled, Scratch};
use super::tasks;

pub(crate) struct Engine {
    pub(crate) kernel: Arc<Kernel>,
    /// Of a patch, microseconds.
    cost: f64,
    way: Way,
    slabs: Option<Slabs>,
}

enum Way {
    Interpreter(Interpreter),
    Compiled {
        code: Compiled,
        /// Whether a task per thread is what the schedule means: plain loops over all patches.
        whole: bool,
        /// Scratch not in use.
        idle: Mutex<Vec<Scratch>>,
    },
}

impl Engine {
    pub(crate) fn interpreter(kernel: Kernel) -> Self {
        let kernel = Arc::new(kernel);
        let way = Way::Interpreter(Interpreter::new(kernel.clone()));
        Self { cost: tasks::cost(&kernel), kernel, way, slabs: None }
    }

    pub(crate) fn compiled(kernel: Kernel, code: Compiled, whole: bool) -> Self {
        let way = Way::Compiled { code, whole, idle: Mutex::default() };
        Self { cost: tasks::cost(&kernel), kernel: Arc::new(kernel), way, slabs: None }
    }

    /// Cuts patches into slabs where there are fewer patches than threads.
    pub(crate) fn with_slabs(mut self, maker: Maker) -> Self {
        if !self.whole() {
            self.slabs = Slabs::new(&self.kernel, maker);
        }
        self
    }

    /// Whether the schedule means loops over all patches.
    pub(crate) fn whole(&self) -> bool {
        matches!(self.way, Way::Compiled { whole: true, .. })
    }

    /// Values of temporaries, of all patches of a call where the schedule means loops over them.
    pub(crate) fn scratch_len(&self, patches: usize) -> usize {
        match &self.way {
            Way::Compiled { code, whole: true, .. } => code.scratch_len(patches),
            _ => 0,
        }
    }

    /// Whether so many patches are cut into slabs by [`Engine::run`].
    pub(crate) fn cuts(&self, patches: usize) -> bool {
        self.slabs.as_ref().is_some_and(|slabs| slabs.suited(patches).is_some())
    }

    /// Patches per task.
    pub(crate) fn task(&self, patches: usize) -> usize {
        let threads = rayon::current_num_threads();
        if threads == 1 {
            return patches.max(1);
        }
        match &self.way {
            Way::Compiled { whole: true, .. } => patches.div_ceil(threads).max(1),
            _ => tasks::even(patches, self.cost, threads),
        }
    }

    /// Applies the kernel on all threads; `speeds` has one per patch.
    pub(crate) fn run(
        &self,
        parameters: &[f64],
        cells: &Cells,
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        let slabs = self.slabs.as_ref();
        if let Some(cut) = slabs.and_then(|slabs| slabs.suited(inputs.len())) {
            return cut.run(parameters, cells, inputs, outputs, speeds);
        }
        let task = self.task(inputs.len());
        if inputs.len() <= task {
            return self.run_task(parameters, cells, 0, inputs, outputs, speeds);
        }
        let all = inputs.chunks(task).zip(outputs.chunks_mut(task)).zip(speeds.chunks_mut(task));
        tasks::each(all.enumerate(), |(place, ((inputs, outputs), speeds))| {
            self.run_task(parameters, cells, place * task, inputs, outputs, speeds)
        })?;
        Ok(())
    }

    /// Applies the kernel on the calling thread to the patches from `first` on.
    pub(crate) fn run_task(
        &self,
        parameters: &[f64],
        cells: &Cells,
        first: usize,
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        let range = first..first + inputs.len();
        match &self.way {
            Way::Interpreter(interpreter) => {
                let cells: Vec<Cell> = range.map(|patch| cells.cell(patch)).collect();
                interpreter.apply(parameters, &cells, inputs, outputs, speeds).map_err(|error| {
                    Error::Driver {
                        backend: "cpu".into(),
                        call: "interpreter".into(),
                        source: error.into(),
                    }
                })
            }
            Way::Compiled { code, idle, .. } => {
                speeds.fill(f64::NEG_INFINITY);
                let needed = code.scratch_len(inputs.len());
                let taken = idle.lock().expect("no thread panics while it holds the list").pop();
                let mut scratch = taken
                    .filter(|scratch| scratch.len() >= needed)
                    .unwrap_or_else(|| code.prepared(inputs.len()));
                let mut batch = Batch {
                    centres: &cells.centres[range.clone()],
                    sizes: &cells.sizes[range.clone()],
                    times: &cells.times[range.clone()],
                    steps: &cells.steps[range],
                    inputs,
                    outputs,
                    speeds,
                };
                code.run(&mut batch, parameters, &mut scratch);
                idle.lock().expect("no thread panics while it holds the list").push(scratch);
                Ok(())
            }
        }
    }
}
