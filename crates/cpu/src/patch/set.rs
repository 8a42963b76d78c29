//! [`PatchSet`] of the host: states with halo, rates without, patch after patch.

use std::sync::Arc;

use rayon::prelude::*;
use temblor_backend::{Beyond, Cell, Error, PatchFault, PatchSet, Result};
use temblor_patch::{Output, Shape};

use super::batch::Cells;
use super::engine::Engine;
use super::geometry::Geometry;
use super::kernel::invalid;
use crate::memory::available_memory;

/// Kernels that a set runs.
#[derive(Clone)]
pub(crate) struct Engines {
    /// The kernel itself.
    pub(crate) main: Arc<Engine>,
    /// The physics' `post` as a step of a state.
    pub(crate) post: Option<Arc<Engine>>,
    /// Largest eigenvalue of a state.
    pub(crate) speed: Option<Arc<Engine>>,
}

pub(crate) struct CpuSet {
    engines: Engines,
    parameters: Vec<f64>,
    cells: Cells,
    shape: Shape,
    geometry: Geometry,
    states: Vec<Vec<f64>>,
    rates: Vec<Vec<f64>>,
    neighbours: Vec<[[Beyond; 2]; 3]>,
}

impl CpuSet {
    pub(crate) fn new(
        engines: Engines,
        parameters: Vec<f64>,
        cells: &[Cell],
        states: usize,
        rates: usize,
        bytes: u64,
    ) -> Result<Self> {
        let available = available_memory();
        if bytes > available {
            return Err(Error::OutOfMemory { needed: bytes, available });
        }
        let shape = engines.main.kernel.shape;
        let rate = shape.voxels() * usize::from(shape.unknowns);
        Ok(Self {
            engines,
            parameters,
            cells: Cells::new(cells),
            shape,
            geometry: Geometry::new(&shape),
            states: vec![vec![0.0; cells.len() * shape.input_len()]; states],
            rates: vec![vec![0.0; cells.len() * rate]; rates],
            neighbours: vec![[[Beyond::Fixed; 2]; 3]; cells.len()],
        })
    }

    fn state(&self, state: usize) -> Result<usize> {
        place("state", state, self.states.len())
    }

    fn patch(&self, patch: usize) -> Result<usize> {
        place("patch", patch, self.cells.len())
    }

    fn rate_len(&self) -> usize {
        self.shape.voxels() * usize::from(self.shape.unknowns)
    }

    /// Runs a kernel that gives states into the interior of `to`: its first `unknowns` values per
    /// voxel.
    fn step(&self, engine: &Engine, from: &[f64], to: &mut [f64], unknowns: usize) -> Result<()> {
        let length = self.shape.input_len();
        let task = engine.task(self.cells.len());
        let output = engine.kernel.shape.output_len();
        to.par_chunks_mut(task * length)
            .zip(from.par_chunks(task * length))
            .enumerate()
            .try_for_each(|(number, (to, from))| {
                let inputs: Vec<&[f64]> = from.chunks(length).collect();
                let mut results = vec![0.0; inputs.len() * output];
                let mut outputs: Vec<&mut [f64]> = results.chunks_mut(output).collect();
                let mut speeds = vec![0.0; inputs.len()];
                let first = number * task;
                let (parameters, cells) = (&self.parameters, &self.cells);
                engine.run_task(parameters, cells, first, &inputs, &mut outputs, &mut speeds)?;
                for (to, result) in to.chunks_mut(length).zip(results.chunks(output)) {
                    self.geometry.put(result, to, unknowns);
                }
                Ok(())
            })
    }
}

fn place(what: &str, place: usize, count: usize) -> Result<usize> {
    if place < count {
        return Ok(place);
    }
    Err(invalid(format!("{what} {place} of {count}"), "count from 0"))
}

fn lengths(got: usize, want: usize) -> Result<()> {
    if got == want {
        return Ok(());
    }
    Err(invalid(format!("a patch of {got} values"), &format!("give {want}, halo included")))
}

impl PatchSet for CpuSet {
    fn upload(&mut self, state: usize, patch: usize, values: &[f64]) -> Result<()> {
        let (state, patch, length) =
            (self.state(state)?, self.patch(patch)?, self.shape.input_len());
        lengths(values.len(), length)?;
        self.states[state][patch * length..][..length].copy_from_slice(values);
        Ok(())
    }

    fn download(&mut self, state: usize, patch: usize, values: &mut [f64]) -> Result<()> {
        let (state, patch, length) =
            (self.state(state)?, self.patch(patch)?, self.shape.input_len());
        lengths(values.len(), length)?;
        values.copy_from_slice(&self.states[state][patch * length..][..length]);
        Ok(())
    }

    fn set_neighbours(&mut self, neighbours: &[[[Beyond; 2]; 3]]) -> Result<()> {
        if neighbours.len() != self.cells.len() {
            return Err(invalid(
                format!("neighbours of {} patches", neighbours.len()),
                &format!("give those of all {}", self.cells.len()),
            ));
        }
        for beyond in neighbours.iter().flatten().flatten() {
            if let Beyond::Patch(patch) = beyond {
                self.patch(*patch)?;
            }
        }
        self.neighbours = neighbours.to_vec();
        Ok(())
    }

    fn exchange(&mut self, state: usize) -> Result<()> {
        let state = self.state(state)?;
        let (length, geometry, neighbours) =
            (self.shape.input_len(), &self.geometry, &self.neighbours);
        // Faces are taken before any is given: a patch's halo comes from others' interiors.
        for axis in 0..usize::from(self.shape.dimensions) {
            let values = &self.states[state];
            let taken: Vec<[Vec<f64>; 2]> = neighbours
                .par_iter()
                .enumerate()
                .map(|(own, beyond)| {
                    [0, 1].map(|side| match beyond[axis][side] {
                        Beyond::Patch(patch) => {
                            geometry.face(&values[patch * length..][..length], axis, side)
                        }
                        Beyond::Outflow => {
                            geometry.edge(&values[own * length..][..length], axis, side)
                        }
                        Beyond::Fixed => Vec::new(),
                    })
                })
                .collect();
            self.states[state].par_chunks_mut(length).zip(&taken).for_each(|(patch, faces)| {
                for (side, face) in faces.iter().enumerate() {
                    geometry.fill(face, patch, axis, side);
                }
            });
        }
        Ok(())
    }

    fn set_time(&mut self, time: f64, time_step: f64) -> Result<()> {
        self.cells.times.fill(time);
        self.cells.steps.fill(time_step);
        Ok(())
    }

    fn evaluate(&mut self, state: usize, into: usize) -> Result<()> {
        let state = self.state(state)?;
        let engines = self.engines.clone();
        match self.shape.output {
            Output::Step => {
                let into = self.state(into)?;
                if into == state {
                    return Err(invalid(
                        format!("a step from state {state} into itself"),
                        "step into another state",
                    ));
                }
                let mut to = std::mem::take(&mut self.states[into]);
                let width = self.shape.width();
                let done = self.step(&engines.main, &self.states[state], &mut to, width);
                self.states[into] = to;
                done
            }
            Output::Rate => {
                let into = place("rate", into, self.rates.len())?;
                let (length, rate) = (self.shape.input_len(), self.rate_len());
                let mut to = std::mem::take(&mut self.rates[into]);
                let inputs: Vec<&[f64]> = self.states[state].chunks(length).collect();
                let mut outputs: Vec<&mut [f64]> = to.chunks_mut(rate).collect();
                let mut speeds = vec![0.0; inputs.len()];
                let (parameters, cells) = (&self.parameters, &self.cells);
                let done = engines.main.run(parameters, cells, &inputs, &mut outputs, &mut speeds);
                self.rates[into] = to;
                done
            }
        }
    }

    fn combine(&mut self, into: usize, base: usize, terms: &[(f64, usize)]) -> Result<()> {
        let (into, base) = (self.state(into)?, self.state(base)?);
        for &(_, rate) in terms {
            place("rate", rate, self.rates.len())?;
        }
        let (length, rate_len, unknowns) =
            (self.shape.input_len(), self.rate_len(), usize::from(self.shape.unknowns));
        let mut to = std::mem::take(&mut self.states[into]);
        let own = into == base;
        let (geometry, rates, states) = (&self.geometry, &self.rates, &self.states);
        to.par_chunks_mut(length).enumerate().for_each(|(patch, to)| {
            if !own {
                geometry.copy(&states[base][patch * length..][..length], to);
            }
            for &(factor, rate) in terms {
                let rate = &rates[rate][patch * rate_len..][..rate_len];
                geometry.add(factor, rate, to, unknowns);
            }
        });
        self.states[into] = to;
        Ok(())
    }

    fn post(&mut self, state: usize) -> Result<()> {
        let state = self.state(state)?;
        let Some(engine) = self.engines.post.clone() else { return Ok(()) };
        let mut to = std::mem::take(&mut self.states[state]);
        // The kernel reads and writes the same voxels, so it gets a copy to read.
        let from = to.clone();
        let done = self.step(&engine, &from, &mut to, usize::from(self.shape.unknowns));
        self.states[state] = to;
        done
    }

    fn speed(&mut self, state: usize) -> Result<f64> {
        let state = self.state(state)?;
        let Some(engine) = &self.engines.speed else {
            return Err(invalid(
                format!("{} has no eigenvalue", engine_physics(&self.engines)),
                "add `eigenvalue` to the physics, or give the time step",
            ));
        };
        let inputs: Vec<&[f64]> = self.states[state].chunks(self.shape.input_len()).collect();
        let output = engine.kernel.shape.output_len();
        let task = engine.task(inputs.len());
        let speeds: Result<Vec<f64>> = inputs
            .par_chunks(task)
            .enumerate()
            .map(|(number, inputs)| {
                let mut unused = vec![0.0; inputs.len() * output];
                let mut outputs: Vec<&mut [f64]> = unused.chunks_mut(output).collect();
                let mut speeds = vec![0.0; inputs.len()];
                let (parameters, cells) = (&self.parameters, &self.cells);
                let first = number * task;
                engine.run_task(parameters, cells, first, inputs, &mut outputs, &mut speeds)?;
                Ok(speeds.into_iter().fold(f64::NEG_INFINITY, f64::max))
            })
            .collect();
        Ok(speeds?.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }

    fn fault(&mut self, state: usize) -> Result<Option<PatchFault>> {
        let state = self.state(state)?;
        let length = self.shape.input_len();
        let geometry = &self.geometry;
        let found =
            self.states[state].par_chunks(length).enumerate().find_map_first(|(patch, values)| {
                geometry.fault(values).map(|(voxel, unknown, value)| PatchFault {
                    patch,
                    voxel,
                    unknown,
                    value,
                })
            });
        Ok(found)
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }
}

fn engine_physics(engines: &Engines) -> &str {
    &engines.main.kernel.physics.file
}
