//! Runs a kernel stage by stage, one chunk after the other, in f64: the oracle of every target.
//!
//! Stages that are calls run the C text as it stands ([`Physics::evaluate`](crate::Physics::evaluate)),
//! so that the interpreter of an unfused kernel does not rest on tracing.

mod rows;

use std::sync::Arc;

use rows::{Memory, Program};

use crate::cell::Cell;
use crate::error::{Error, Result};
use crate::graph::{Binary, BlockId, apply_binary};
use crate::kernel::{Block, Kernel, OUTPUT, Stage};

/// Applies a kernel to K chunks: `parameters` are all of [`Kernel::parameters`] (`int` and frozen ones
/// are taken from the kernel), `inputs` of [`crate::Shape::input_len`] values each, `outputs` of
/// `output_len`, `speeds` empty or one per cell, m/s.
///
/// # Errors
/// [`Error::Mismatch`] where lengths do not fit; [`Error::Physics`] where the C text cannot be run.
pub fn interpret(
    kernel: &Kernel,
    parameters: &[f64],
    cells: &[Cell],
    inputs: &[&[f64]],
    outputs: &mut [&mut [f64]],
    speeds: &mut [f64],
) -> Result<()> {
    let programs = programs(kernel);
    run(kernel, &programs, parameters, cells, inputs, outputs, speeds)
}

/// A kernel made ready once, for many calls of [`Interpreter::apply`], from several threads too.
#[derive(Debug, Clone)]
pub struct Interpreter {
    kernel: Arc<Kernel>,
    programs: Vec<Program>,
}

impl Interpreter {
    /// Makes a kernel ready.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>) -> Self {
        let programs = programs(&kernel);
        Self { kernel, programs }
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// As [`interpret`].
    ///
    /// # Errors
    /// As [`interpret`].
    pub fn apply(
        &self,
        parameters: &[f64],
        cells: &[Cell],
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
        speeds: &mut [f64],
    ) -> Result<()> {
        run(&self.kernel, &self.programs, parameters, cells, inputs, outputs, speeds)
    }
}

fn programs(kernel: &Kernel) -> Vec<Program> {
    kernel.stages.iter().map(|stage| Program::new(kernel, stage)).collect()
}

fn run(
    kernel: &Kernel,
    programs: &[Program],
    parameters: &[f64],
    cells: &[Cell],
    inputs: &[&[f64]],
    outputs: &mut [&mut [f64]],
    speeds: &mut [f64],
) -> Result<()> {
    let fits = |what: &str, got: usize, want: usize| {
        if got == want {
            Ok(())
        } else {
            Err(Error::Mismatch(format!("{what}: {got} given, {want} needed")))
        }
    };
    fits("parameters", parameters.len(), kernel.parameters.len())?;
    fits("input chunks", inputs.len(), cells.len())?;
    fits("output chunks", outputs.len(), cells.len())?;
    if !speeds.is_empty() {
        fits("speeds", speeds.len(), cells.len())?;
    }
    let mut parameters = parameters.to_vec();
    for (place, known) in kernel.parameters.iter().enumerate() {
        if known.integer {
            parameters[place] = known.default;
        }
    }
    for &(place, value) in &kernel.frozen {
        parameters[usize::from(place)] = value;
    }
    let mut run = Run { kernel, parameters, values: Vec::new(), temporaries: Vec::new() };
    for (place, cell) in cells.iter().enumerate() {
        fits("values of an input chunk", inputs[place].len(), kernel.shape.input_len())?;
        fits("values of an output chunk", outputs[place].len(), kernel.shape.output_len())?;
        let speed = run.chunk(programs, cell, inputs[place], outputs[place])?;
        if let Some(slot) = speeds.get_mut(place) {
            *slot = speed;
        }
    }
    Ok(())
}

struct Run<'a> {
    kernel: &'a Kernel,
    parameters: Vec<f64>,
    values: Vec<f64>,
    temporaries: Vec<Vec<f64>>,
}

impl Run<'_> {
    fn chunk(
        &mut self,
        programs: &[Program],
        cell: &Cell,
        input: &[f64],
        output: &mut [f64],
    ) -> Result<f64> {
        let blocks = &self.kernel.blocks;
        // Temporaries start as NaN, so that what is read before it is written shows.
        self.temporaries = (0..blocks.len())
            .map(|place| {
                let len = if place < 2 { 0 } else { size(&blocks[place]) };
                vec![f64::NAN; len]
            })
            .collect();
        let mut speed = f64::NEG_INFINITY;
        for program in programs {
            let Stage { low, high, .. } = program.stage;
            for z in low[2]..high[2] {
                for y in low[1]..high[1] {
                    let memory = Memory {
                        kernel: self.kernel,
                        parameters: &self.parameters,
                        cell,
                        input,
                        output,
                        temporaries: &self.temporaries,
                    };
                    program.row(&memory, [y, z], &mut self.values);
                    for (lane, x) in (low[0]..high[0]).enumerate() {
                        let largest = self.voxel(program, lane, [x, y, z], output)?;
                        if let Some(largest) = largest {
                            speed = apply_binary(Binary::Maximum, largest, speed);
                        }
                    }
                }
            }
        }
        Ok(speed)
    }

    /// Writes what a row gave for a voxel; the maximum, if the stage has one.
    fn voxel(
        &mut self,
        program: &Program,
        lane: usize,
        voxel: [i16; 3],
        output: &mut [f64],
    ) -> Result<Option<f64>> {
        let (kernel, stage) = (self.kernel, &program.stage);
        let mut results = program.results(&self.values, lane);
        let maximum = stage.maximum.and_then(|_| results.pop());
        if let Some(call) = &stage.call {
            let own = &self.parameters[..kernel.physics.parameters.len()];
            results = kernel.physics.evaluate(call.term, call.direction, &results, own)?;
        }
        for (write, value) in stage.writes.iter().zip(results) {
            let block = &kernel.blocks[usize::from(write.block.0)];
            let place = block.offset(voxel) + usize::from(write.unknown);
            match write.block {
                OUTPUT => output[place] = value,
                BlockId(other) => self.temporaries[usize::from(other)][place] = value,
            }
        }
        Ok(maximum)
    }
}

fn size(block: &Block) -> usize {
    block.voxels() * usize::from(block.width)
}
