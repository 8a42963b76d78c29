//! How a kernel is carried out: by the interpreter or by code that the host's compiler made, spread
//! over threads by patches, or by slabs of patches where there are few.

use std::sync::Arc;

use temblor_backend::{Error, Result};
use temblor_patch::{Cell, Interpreter, Kernel};

use super::batch::{Batch, Cells};
use super::idle::Idle;
use super::slabs::{Maker, Slabs};
use super::sys::{Compiled, Scratch};
use super::tasks::{self, Hands};

pub(crate) struct Engine {
    pub(crate) kernel: Arc<Kernel>,
    /// Of a patch, microseconds.
    cost: f64,
    hands: Hands,
    way: Way,
    slabs: Option<Slabs>,
}

enum Way {
    Interpreter(Interpreter),
    Compiled { code: Compiled, loops: Loops, idle: Idle<Scratch> },
}

/// What a kernel's code loops over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loops {
    /// Patches, each from its input to its output.
    Patches,
    /// All patches, once per statement: a task per thread.
    Statements,
    /// The same, spread over threads by itself: one task.
    Regions,
}

impl Engine {
    pub(crate) fn interpreter(kernel: Kernel) -> Self {
        let kernel = Arc::new(kernel);
        let way = Way::Interpreter(Interpreter::new(kernel.clone()));
        Self { cost: tasks::cost(&kernel), kernel, hands: Hands::Rayon, way, slabs: None }
    }

    pub(crate) fn compiled(kernel: Kernel, code: Compiled, loops: Loops, hands: Hands) -> Self {
        let way = Way::Compiled { code, loops, idle: Idle::default() };
        Self { cost: tasks::cost(&kernel), kernel: Arc::new(kernel), hands, way, slabs: None }
    }

    /// Whose threads it runs on.
    pub(crate) fn hands(&self) -> Hands {
        self.hands
    }

    /// Cuts patches into slabs where there are fewer patches than threads.
    pub(crate) fn with_slabs(mut self, maker: Maker) -> Self {
        if !self.whole() {
            self.slabs = Slabs::new(&self.kernel, maker, self.hands);
        }
        self
    }

    /// Whether the schedule means loops over all patches.
    pub(crate) fn whole(&self) -> bool {
        !matches!(self.way, Way::Interpreter(_) | Way::Compiled { loops: Loops::Patches, .. })
    }

    /// Values of temporaries, of all patches of a call where the schedule means loops over them.
    pub(crate) fn scratch_len(&self, patches: usize) -> usize {
        match &self.way {
            Way::Compiled { code, .. } if self.whole() => code.scratch_len(patches),
            _ => 0,
        }
    }

    /// Whether [`Engine::run`] alone knows how threads share so many patches: in slabs, or loop by loop.
    pub(crate) fn shares(&self, patches: usize) -> bool {
        if matches!(self.way, Way::Compiled { loops: Loops::Regions, .. }) {
            return true;
        }
        self.slabs.as_ref().is_some_and(|slabs| slabs.suited(patches).is_some())
    }

    /// Patches per task.
    pub(crate) fn task(&self, patches: usize) -> usize {
        match &self.way {
            Way::Compiled { loops: Loops::Regions, .. } => patches.max(1),
            Way::Compiled { loops: Loops::Statements, .. } => {
                patches.div_ceil(rayon::current_num_threads()).max(1)
            }
            _ => self.hands.task(patches, self.cost),
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
        tasks::each(self.hands, all.enumerate(), |(place, ((inputs, outputs), speeds))| {
            self.run_task(parameters, cells, place * task, inputs, outputs, speeds)
        })?;
        Ok(())
    }

    /// Applies the kernel on the calling thread, or by its own loops on all, to the patches from `first` on.
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
                let mut scratch = idle
                    .take()
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
                code.run(&mut batch, parameters, &mut scratch, rayon::current_num_threads());
                idle.keep(scratch);
                Ok(())
            }
        }
    }
}
