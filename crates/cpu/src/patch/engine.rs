//! How a kernel is carried out: by the interpreter or by code that the host's compiler made, spread
//! over threads by patches.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use temblor_backend::{Error, Result};
use temblor_patch::{Cell, Interpreter, Kernel};

use super::batch::{Batch, Cells};
use super::sys::{Compiled, Scratch};

/// Operations that a task should have at least, so that handing it out, some microseconds, costs little
/// beside: 20 microseconds' worth at 20 operations per nanosecond, as Euler's kernels run.
// 2e6: with 16 threads Euler at p = 3 kept to one below K = 300 and was slower than the plain loops.
const LEAST_WORK: f64 = 4e5;

/// Most tasks per thread, so that a slow thread holds up little.
const TASKS: usize = 8;

pub(crate) struct Engine {
    pub(crate) kernel: Arc<Kernel>,
    /// Tasks' worth of work in a patch.
    work: f64,
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

fn work(kernel: &Kernel) -> f64 {
    let voxels = u32::try_from(kernel.shape.voxels()).unwrap_or(u32::MAX);
    (kernel.flops() * f64::from(voxels)).max(1.0) / LEAST_WORK
}

/// Patches per task, all tasks but the last having as many: as many tasks as have work enough, at most
/// `TASKS` per thread, so cut that the thread with most patches has as few as can be.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn even(patches: usize, work: f64, threads: usize) -> usize {
    let worth = u32::try_from(patches).map_or(f64::INFINITY, f64::from) * work;
    let tasks = worth.clamp(1.0, (threads * TASKS) as f64) as usize;
    if tasks < threads {
        return patches.div_ceil(tasks).max(1);
    }
    let task = |rounds: usize| patches.div_ceil(rounds * threads).max(1);
    let busiest = |rounds: &usize| {
        let task = task(*rounds);
        (patches.div_ceil(task).div_ceil(threads) * task, usize::MAX - rounds)
    };
    (1..=tasks / threads).min_by_key(busiest).map_or(1, task)
}

impl Engine {
    pub(crate) fn interpreter(kernel: Kernel) -> Self {
        let kernel = Arc::new(kernel);
        let way = Way::Interpreter(Interpreter::new(kernel.clone()));
        Self { work: work(&kernel), kernel, way }
    }

    pub(crate) fn compiled(kernel: Kernel, code: Compiled, whole: bool) -> Self {
        let way = Way::Compiled { code, whole, idle: Mutex::default() };
        Self { work: work(&kernel), kernel: Arc::new(kernel), way }
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
            _ => even(patches, self.work, threads),
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

#[cfg(test)]
mod tests {
    use super::even;

    #[test]
    fn tasks_are_worth_their_handing_out_and_share_patches_evenly() {
        // Work in tasks per patch, threads.
        for (work, threads) in [(0.03, 16), (0.26, 16), (5.0, 16), (0.03, 2), (1e-4, 3)] {
            for patches in [1, 2, 7, 15, 16, 17, 64, 1000, 1024, 16384] {
                let task = even(patches, work, threads);
                let tasks = patches.div_ceil(task);
                let alone = tasks == 1;
                assert!(alone || task as f64 * work >= 0.99, "{work}, {threads}: {patches}");
                // All but the last as large, so none waits for more than one task.
                let enough = patches as f64 * work >= threads as f64 && patches >= threads;
                assert!(!enough || 2 * tasks > threads, "{work}, {threads}: {patches}");
            }
        }
        assert_eq!(even(64, 1.0, 16), 1);
        assert_eq!(even(40, 1.0, 16), 3);
        assert_eq!(even(40, 0.4, 16), 3);
        assert_eq!(even(8, 5.0, 16), 1);
    }
}
