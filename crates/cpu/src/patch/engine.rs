//! How a kernel is carried out: by the interpreter or by code that the host's compiler made, spread
//! over threads by patches.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use temblor_backend::{Error, Result};
use temblor_patch::{Cell, Interpreter, Kernel};

use super::batch::{Batch, Cells};
use super::sys::{Compiled, Scratch};

/// Operations that a task should have at least, so that handing it out costs little beside: some
/// hundred microseconds' worth.
const LEAST_WORK: f64 = 2e6;

/// Tasks per thread, so that a slow thread holds up little.
const TASKS: usize = 8;

pub(crate) struct Engine {
    pub(crate) kernel: Arc<Kernel>,
    /// Patches that a task should have at least.
    least: usize,
    way: Way,
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

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small quotient")]
fn least(kernel: &Kernel) -> usize {
    let voxels = u32::try_from(kernel.shape.voxels()).unwrap_or(u32::MAX);
    let patch = kernel.flops() * f64::from(voxels);
    (LEAST_WORK / patch.max(1.0)).ceil().clamp(1.0, 1e6) as usize
}

impl Engine {
    pub(crate) fn interpreter(kernel: Kernel) -> Self {
        let kernel = Arc::new(kernel);
        let way = Way::Interpreter(Interpreter::new(kernel.clone()));
        Self { least: least(&kernel), kernel, way }
    }

    pub(crate) fn compiled(kernel: Kernel, code: Compiled, whole: bool) -> Self {
        let way = Way::Compiled { code, whole, idle: Mutex::default() };
        Self { least: least(&kernel), kernel: Arc::new(kernel), way }
    }

    /// Whether the schedule means loops over all patches.
    pub(crate) fn whole(&self) -> bool {
        matches!(self.way, Way::Compiled { whole: true, .. })
    }

    /// Patches per task.
    pub(crate) fn task(&self, patches: usize) -> usize {
        let threads = rayon::current_num_threads();
        if threads == 1 {
            return patches.max(1);
        }
        match &self.way {
            Way::Compiled { whole: true, .. } => patches.div_ceil(threads).max(1),
            _ => patches.div_ceil(threads * TASKS).max(self.least),
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
        let task = self.task(inputs.len());
        if inputs.len() <= task {
            return self.run_task(parameters, cells, 0, inputs, outputs, speeds);
        }
        inputs
            .par_chunks(task)
            .zip(outputs.par_chunks_mut(task))
            .zip(speeds.par_chunks_mut(task))
            .enumerate()
            .try_for_each(|(place, ((inputs, outputs), speeds))| {
                self.run_task(parameters, cells, place * task, inputs, outputs, speeds)
            })
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
