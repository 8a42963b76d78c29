//! [`PatchSet`] of the host: states with halo, rates without, patch after patch.

use std::sync::Arc;

use temblor_backend::{Beyond, Cell, Error, PatchFault, PatchSet, Result};
use temblor_patch::{Output, Shape};

use super::batch::Cells;
use super::engine::Engine;
use super::geometry::Geometry;
use super::kernel::invalid;
use super::memory;
use super::room::{Room, Rooms};
use super::tasks;
use crate::memory::{available_memory, touch};

/// Kernels that a set runs.
#[derive(Clone)]
pub(crate) struct Engines {
    /// The kernel itself.
    pub(crate) main: Arc<Engine>,
    /// The physics' `post` as a step of a state.
    pub(crate) post: Option<Arc<Engine>>,
    /// Largest eigenvalue of a state.
    pub(crate) speed: Option<Arc<Engine>>,
    /// Whether `main` finds the largest eigenvalue of the state that it writes.
    pub(crate) gives_speed: bool,
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
    /// Largest eigenvalue of a state, where the kernel that wrote it found it.
    speeds: Vec<Option<f64>>,
    rooms: Rooms,
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
            states: zeros(states, cells.len() * shape.input_len()),
            rates: zeros(rates, cells.len() * rate),
            neighbours: vec![[[Beyond::Fixed; 2]; 3]; cells.len()],
            speeds: vec![None; states],
            rooms: Rooms::default(),
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

    /// Runs a kernel that gives states into the interior of `to`, its first `unknowns` values per
    /// voxel; from `to` itself where `from` is none. The largest eigenvalue.
    fn step(
        &self,
        engine: &Engine,
        from: Option<&[f64]>,
        to: &mut [f64],
        unknowns: usize,
    ) -> Result<f64> {
        let (length, output) = (self.shape.input_len(), engine.kernel.shape.output_len());
        let hands = engine.hands();
        if engine.shares(self.cells.len()) {
            return self.rooms.with(|room| {
                let all = from.unwrap_or(to);
                let (results, speed) = room.run_all(engine, &self.parameters, &self.cells, all)?;
                tasks::chunks(hands, to, length, |patch, to| {
                    self.geometry.put(&results[patch * output..][..output], to, unknowns);
                });
                Ok(speed)
            });
        }
        let task = engine.task(self.cells.len());
        let group = Room::patches(engine, task);
        let step = |first: usize, to: &mut [f64]| {
            self.rooms.with(|room| {
                let mut speed = f64::NEG_INFINITY;
                for (number, to) in to.chunks_mut(group * length).enumerate() {
                    let first = first + number * group;
                    let own = |from: &'_ [f64]| first * length..first * length + from.len();
                    let from = from.map_or(&*to, |from| &from[own(to)]);
                    let (results, largest) =
                        room.run(engine, &self.parameters, &self.cells, first, from)?;
                    speed = speed.max(largest);
                    for (to, result) in to.chunks_mut(length).zip(results.chunks(output)) {
                        self.geometry.put(result, to, unknowns);
                    }
                }
                Ok(speed)
            })
        };
        let all = to.chunks_mut(task * length).enumerate();
        tasks::each(hands, all, |(number, to)| step(number * task, to)).map(largest)
    }
}

/// So many arrays of zeros, with pages that all threads have touched.
fn zeros(arrays: usize, len: usize) -> Vec<Vec<f64>> {
    let array = |_| {
        let mut array = vec![0.0; len];
        touch(&mut array);
        array
    };
    (0..arrays).map(array).collect()
}

/// The largest of some eigenvalues.
fn largest(speeds: Vec<f64>) -> f64 {
    speeds.into_iter().fold(f64::NEG_INFINITY, f64::max)
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
        self.speeds[state] = None;
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
        if !self.geometry.fills_halos() {
            return Err(invalid(
                format!("patches of {} cells, thinner than their halo", self.shape.cells),
                &format!("take at least {} cells", self.shape.halo),
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
        let axes = usize::from(self.shape.dimensions);
        let hands = self.engines.main.hands();
        memory::exchange(hands, &mut self.states[state], &self.geometry, axes, &self.neighbours);
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
                let done = self.step(&engines.main, Some(&self.states[state]), &mut to, width);
                self.states[into] = to;
                self.speeds[into] = engines.gives_speed.then_some(done?);
                Ok(())
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
        self.speeds[into] = None;
        let own = into == base;
        let (geometry, rates, states) = (&self.geometry, &self.rates, &self.states);
        tasks::chunks(self.engines.main.hands(), &mut to, length, |patch, to| {
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
        let done = self.step(&engine, None, &mut to, usize::from(self.shape.unknowns));
        self.states[state] = to;
        self.speeds[state] = None;
        done.map(|_| ())
    }

    fn speed(&mut self, state: usize) -> Result<f64> {
        let state = self.state(state)?;
        if let Some(speed) = self.speeds[state] {
            return Ok(speed);
        }
        let Some(engine) = &self.engines.speed else {
            return Err(invalid(
                format!("{} has no eigenvalue", engine_physics(&self.engines)),
                "add `eigenvalue` to the physics, or give the time step",
            ));
        };
        let length = self.shape.input_len();
        let task = engine.task(self.cells.len());
        let group = Room::patches(engine, task);
        let find = |first: usize, patches: &[f64]| {
            self.rooms.with(|room| {
                let mut speed = f64::NEG_INFINITY;
                for (number, from) in patches.chunks(group * length).enumerate() {
                    let first = first + number * group;
                    let found = room.run(engine, &self.parameters, &self.cells, first, from)?;
                    speed = speed.max(found.1);
                }
                Ok(speed)
            })
        };
        let all = self.states[state].chunks(task * length).enumerate();
        tasks::each(engine.hands(), all, |(number, patches)| find(number * task, patches))
            .map(largest)
    }

    fn fault(&mut self, state: usize) -> Result<Option<PatchFault>> {
        let state = self.state(state)?;
        let length = self.shape.input_len();
        let geometry = &self.geometry;
        let hands = self.engines.main.hands();
        Ok(tasks::first(hands, &self.states[state], length, |patch, values| {
            geometry.fault(values).map(|(voxel, unknown, value)| PatchFault {
                patch,
                voxel,
                unknown,
                value,
            })
        }))
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }
}

fn engine_physics(engines: &Engines) -> &str {
    &engines.main.kernel.physics.file
}
