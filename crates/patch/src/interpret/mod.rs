//! Runs a kernel stage by stage, one chunk after the other, in f64: the oracle of every target.
//!
//! Stages that are calls run the C text as it stands ([`Physics::evaluate`](crate::Physics::evaluate)),
//! so that the interpreter of an unfused kernel does not rest on tracing.

use crate::cell::Cell;
use crate::error::{Error, Result};
use crate::graph::{Binary, BlockId, Coordinate, Graph, Leaf, Value, apply_binary};
use crate::kernel::{Block, Call, INPUT, Kernel, OUTPUT, Stage};

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
    let programs: Vec<Program> =
        kernel.stages.iter().map(|stage| Program::new(kernel, stage)).collect();
    let mut run = Run { kernel, parameters, values: Vec::new(), temporaries: Vec::new() };
    for (place, cell) in cells.iter().enumerate() {
        fits("values of an input chunk", inputs[place].len(), kernel.shape.input_len())?;
        fits("values of an output chunk", outputs[place].len(), kernel.shape.output_len())?;
        let speed = run.chunk(&programs, cell, inputs[place], outputs[place])?;
        if let Some(slot) = speeds.get_mut(place) {
            *slot = speed;
        }
    }
    Ok(())
}

/// A stage with the part of the graph that it needs.
struct Program<'a> {
    stage: &'a Stage,
    graph: Graph,
    needed: Vec<bool>,
    /// Values written, or the arguments of the call; then the maximum.
    outputs: Vec<Value>,
}

impl<'a> Program<'a> {
    fn new(kernel: &Kernel, stage: &'a Stage) -> Self {
        let wanted = match &stage.call {
            Some(Call { arguments, .. }) => {
                arguments.iter().copied().chain(stage.maximum).collect()
            }
            None => stage.outputs(),
        };
        let mut graph = Graph::new();
        let outputs = graph.graft(&kernel.graph, &wanted, Graph::leaf);
        let needed = graph.reachable(&outputs);
        Self { stage, graph, needed, outputs }
    }
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
        programs: &[Program<'_>],
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
            let Stage { low, high, .. } = *program.stage;
            for z in low[2]..high[2] {
                for y in low[1]..high[1] {
                    for x in low[0]..high[0] {
                        let largest = self.voxel(program, cell, [x, y, z], input, output)?;
                        if let Some(largest) = largest {
                            speed = apply_binary(Binary::Maximum, largest, speed);
                        }
                    }
                }
            }
        }
        Ok(speed)
    }

    fn voxel(
        &mut self,
        program: &Program<'_>,
        cell: &Cell,
        voxel: [i16; 3],
        input: &[f64],
        output: &mut [f64],
    ) -> Result<Option<f64>> {
        let (kernel, parameters, temporaries) = (self.kernel, &self.parameters, &self.temporaries);
        let shape = &kernel.shape;
        let seen = &*output;
        let load = |block: BlockId, unknown: u16, at: [Coordinate; 3]| {
            let mut from = voxel;
            for axis in 0..3 {
                match at[axis] {
                    Coordinate::Shift(shift) => from[axis] += i16::from(shift),
                    Coordinate::At(index) => from[axis] = index,
                }
            }
            let place = kernel.blocks[usize::from(block.0)].offset(from) + usize::from(unknown);
            match block {
                INPUT => input[place],
                OUTPUT => seen[place],
                BlockId(other) => temporaries[usize::from(other)][place],
            }
        };
        program.graph.evaluate(&program.needed, &mut self.values, |leaf| match leaf {
            Leaf::Argument(_) => f64::NAN,
            Leaf::Parameter(place) => parameters[usize::from(place)],
            Leaf::Load { block, unknown, at } => load(block, unknown, at),
            Leaf::Coefficient { matrix, axis, column } => {
                let matrix = &kernel.matrices[usize::from(matrix)];
                let row = usize::try_from(voxel[usize::from(axis)]).unwrap_or(usize::MAX);
                matrix.entries[row * matrix.columns + usize::from(column)]
            }
            Leaf::Spacing(axis) => cell.spacing(shape, usize::from(axis)),
            Leaf::Position { axis, halves } => {
                let axis = usize::from(axis);
                cell.position(shape, axis, voxel[axis], halves)
            }
            Leaf::Time => cell.time,
            Leaf::TimeStep => cell.time_step,
        });
        let stage = program.stage;
        let at = |value: &Value| self.values[value.index()];
        let (results, maximum) = match &stage.call {
            Some(call) => {
                let count = call.arguments.len();
                let arguments: Vec<f64> = program.outputs[..count].iter().map(at).collect();
                let own = &parameters[..kernel.physics.parameters.len()];
                let results =
                    kernel.physics.evaluate(call.term, call.direction, &arguments, own)?;
                (results, program.outputs.get(count).map(at))
            }
            None => {
                let count = stage.writes.len();
                let results = program.outputs[..count].iter().map(at).collect();
                (results, program.outputs.get(count).map(at))
            }
        };
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
