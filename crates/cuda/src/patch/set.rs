//! Patches that stay on the device.

use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use temblor_backend::{Beyond, Cell, Error, PatchFault, PatchSet, Result};
use temblor_patch::Output;
use temblor_patch::emit::gpu::{Layout, Layouts, speed_of_key};

use super::Programs;
use super::program::{Places, Terms, Way};
use super::service::{TERMS, halo_values, interior_values};
use crate::ID;
use crate::faults::Lost;
use crate::memory::{Buffer, free_bytes};
use crate::sys::failed;

/// Values of a patch in memory: a multiple of 128 bytes.
fn pitch(layout: &Layout) -> usize {
    layout.len.next_multiple_of(16)
}

/// Bytes of a set.
pub(super) fn bytes(programs: &Programs, patches: usize, states: usize, rates: usize) -> u64 {
    let layouts = programs.layouts;
    let patches = layouts.input.padded(patches);
    let state = (pitch(&layouts.input) * states) as u64;
    let rate = (pitch(&layouts.output) * rates) as u64;
    let scratch = programs.resident.scratch as u64;
    // Cells, neighbours, keys and a place in a table per state and rate.
    let small = 64 + 24 + 8 + 8 * (states + rates) as u64;
    patches as u64 * (8 * (state + rate + scratch) + small)
}

/// Patches, and the table of their addresses.
#[derive(Debug)]
struct Array {
    values: Buffer,
    table: Buffer,
}

impl Array {
    fn new(stream: &CudaStream, patches: usize, layout: &Layout) -> Result<Self> {
        // Places beyond the last patch are there for the kernels that take a row of patches.
        let (patches, pitch) = (layout.padded(patches), pitch(layout));
        let values = Buffer::zeros(stream, 2 * patches * pitch)?;
        let place = |k: usize| values.address() + 8 * layout.start(k, pitch) as u64;
        let table: Vec<u64> = (0..patches).map(place).collect();
        Ok(Self { table: Buffer::of(stream, &table)?, values })
    }
}

/// K patches on a device.
#[derive(Debug)]
pub(super) struct CudaSet {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    lost: Lost,
    programs: Arc<Programs>,
    parameters: Vec<f64>,
    layouts: Layouts,
    patches: usize,
    states: Vec<Array>,
    rates: Vec<Array>,
    cells: Buffer,
    neighbours: Buffer,
    speeds: Buffer,
    scratch: Buffer,
    found: Buffer,
    /// A patch in one piece, where patches on the device are not.
    whole: Buffer,
    /// A patch on its way between layouts.
    staging: Vec<f64>,
}

impl CudaSet {
    pub(super) fn new(
        context: &Arc<CudaContext>,
        lost: &Lost,
        programs: &Arc<Programs>,
        parameters: &[f64],
        cells: &[Cell],
        [states, rates]: [usize; 2],
    ) -> Result<Self> {
        let patches = cells.len();
        let needed = bytes(programs, patches, states, rates);
        let available = free_bytes(context)?;
        if needed > available {
            return Err(Error::OutOfMemory { needed, available });
        }
        let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
        let layouts = programs.layouts;
        let array = |layout: &Layout| Array::new(&stream, patches, layout);
        let padded = layouts.input.padded(patches);
        let apart = layouts.input.lanes > 1;
        let flat: Vec<f64> = cells.iter().flat_map(numbers).collect();
        Ok(Self {
            states: (0..states).map(|_| array(&layouts.input)).collect::<Result<_>>()?,
            rates: (0..rates).map(|_| array(&layouts.output)).collect::<Result<_>>()?,
            cells: Buffer::of(&stream, &flat)?,
            neighbours: Buffer::of(&stream, &vec![-2i32; 6 * padded])?,
            speeds: Buffer::zeros(&stream, 2 * patches)?,
            scratch: Buffer::zeros(&stream, 2 * patches * programs.resident.scratch)?,
            found: Buffer::zeros(&stream, 2)?,
            whole: Buffer::zeros(&stream, if apart { 2 * layouts.input.len } else { 0 })?,
            staging: Vec::new(),
            context: context.clone(),
            lost: lost.clone(),
            programs: programs.clone(),
            parameters: parameters.to_vec(),
            stream,
            layouts,
            patches,
        })
    }

    fn noted<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.lost.note(error))
    }

    /// Refuses places that do not exist; makes the context current.
    fn begin(&self, state: usize, patch: Option<usize>) -> Result<()> {
        self.lost.check()?;
        if state >= self.states.len() {
            return Err(missing("state", state, self.states.len()));
        }
        if let Some(patch) = patch
            && patch >= self.patches
        {
            return Err(missing("patch", patch, self.patches));
        }
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))
    }

    fn all(&self, each: usize) -> i64 {
        i64::try_from(self.layouts.input.padded(self.patches) * each).unwrap_or(i64::MAX)
    }

    /// Values of a patch.
    fn values(&self) -> i64 {
        i64::try_from(self.layouts.input.len).unwrap_or(i64::MAX)
    }

    fn wait(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    /// Voxels of a patch, halo included, and values of each.
    fn extent(&self) -> [usize; 2] {
        let width = self.programs.kernel.shape.width().max(1);
        [self.layouts.input.len / width, width]
    }

    fn check_chunk(&self, len: usize) -> Result<()> {
        let wanted = self.programs.kernel.shape.input_len();
        if len == wanted {
            return Ok(());
        }
        Err(Error::Invalid {
            what: format!("a patch of {len} values"),
            remedy: format!("a patch of this kernel has {wanted}, halo included"),
        })
    }

    fn queue(&self, state: usize, into: usize) -> Result<()> {
        let outputs = match self.programs.kernel.shape.output {
            Output::Step => &self.states[into],
            Output::Rate => &self.rates[into],
        };
        let places = Places {
            inputs: self.states[state].table.address(),
            outputs: outputs.table.address(),
            cells: self.cells.address(),
            // Keys of new states only grow here; nobody reads them: `speed` has a launch of its own.
            speeds: self.speeds.address(),
            scratch: self.scratch.address(),
        };
        self.programs.resident.run(&self.stream, &places, &self.parameters, self.patches)
    }

    fn check_evaluate(&self, state: usize, into: usize) -> Result<()> {
        self.begin(state, None)?;
        match self.programs.kernel.shape.output {
            Output::Step if into >= self.states.len() => {
                Err(missing("state", into, self.states.len()))
            }
            Output::Step if into == state => Err(Error::Invalid {
                what: format!("a step from state {state} into itself"),
                remedy: "step into another state".into(),
            }),
            Output::Rate if into >= self.rates.len() => {
                Err(missing("rate", into, self.rates.len()))
            }
            _ => Ok(()),
        }
    }
}

fn missing(what: &str, place: usize, count: usize) -> Error {
    Error::Invalid {
        what: format!("there is no {what} {place}"),
        remedy: format!("this set has {count}, counted from 0"),
    }
}

/// A cell as the kernels take it.
pub(super) fn numbers(cell: &Cell) -> [f64; 8] {
    let ([a, b, c], [d, e, f]) = (cell.centre, cell.size);
    [a, b, c, d, e, f, cell.time, cell.time_step]
}

impl PatchSet for CudaSet {
    fn upload(&mut self, state: usize, patch: usize, values: &[f64]) -> Result<()> {
        self.begin(state, Some(patch))?;
        self.check_chunk(values.len())?;
        let mut staging = std::mem::take(&mut self.staging);
        staging.resize(values.len(), 0.0);
        let [voxels, width] = self.extent();
        for (v, voxel) in values.chunks_exact(width).enumerate() {
            for (u, value) in voxel.iter().enumerate() {
                staging[u * voxels + v] = *value;
            }
        }
        let first = self.layouts.input.start(patch, pitch(&self.layouts.input));
        let to = &self.states[state].values;
        let done = if self.layouts.input.lanes == 1 {
            to.fill_at(&self.stream, 2 * first, &staging)
        } else {
            let ends = (to.address() + 8 * first as u64, self.whole.address());
            self.whole.fill_at(&self.stream, 0, &staging).and_then(|()| {
                self.programs.resident.lay(&self.stream, Way::There, ends, self.values())
            })
        };
        self.staging = staging;
        self.noted(done)
    }

    fn download(&mut self, state: usize, patch: usize, values: &mut [f64]) -> Result<()> {
        self.begin(state, Some(patch))?;
        self.check_chunk(values.len())?;
        let mut staging = std::mem::take(&mut self.staging);
        staging.resize(values.len(), 0.0);
        let first = self.layouts.input.start(patch, pitch(&self.layouts.input));
        let from = &self.states[state].values;
        let done = if self.layouts.input.lanes == 1 {
            from.read(&self.stream, 2 * first, &mut staging)
        } else {
            let ends = (self.whole.address(), from.address() + 8 * first as u64);
            let lifted = self.programs.resident.lay(&self.stream, Way::Back, ends, self.values());
            lifted.and_then(|()| self.whole.read(&self.stream, 0, &mut staging))
        };
        self.noted(done.and_then(|()| self.wait()))?;
        let [voxels, width] = self.extent();
        for (v, voxel) in values.chunks_exact_mut(width).enumerate() {
            for (u, value) in voxel.iter_mut().enumerate() {
                *value = staging[u * voxels + v];
            }
        }
        self.staging = staging;
        Ok(())
    }

    fn set_neighbours(&mut self, neighbours: &[[[Beyond; 2]; 3]]) -> Result<()> {
        self.begin(0, None)?;
        if neighbours.len() != self.patches {
            return Err(Error::Invalid {
                what: format!("neighbours of {} patches", neighbours.len()),
                remedy: format!("this set has {}", self.patches),
            });
        }
        let axes = usize::from(self.programs.kernel.shape.dimensions);
        let mut table = Vec::with_capacity(6 * self.patches);
        for sides in neighbours {
            for (axis, side) in sides.iter().enumerate() {
                for beyond in side {
                    table.push(match *beyond {
                        Beyond::Patch(n) if axis < axes => {
                            if n >= self.patches {
                                return Err(missing("patch", n, self.patches));
                            }
                            i32::try_from(n).unwrap_or(i32::MAX)
                        }
                        Beyond::Outflow => -1,
                        Beyond::Patch(_) | Beyond::Fixed => -2,
                    });
                }
            }
        }
        let done = self.neighbours.fill(&self.stream, &table);
        self.noted(done)
    }

    fn exchange(&mut self, state: usize) -> Result<()> {
        self.begin(state, None)?;
        let values = self.all(halo_values(&self.programs.kernel.shape));
        let (table, beside) = (self.states[state].table.address(), self.neighbours.address());
        let done = self.programs.resident.exchange(&self.stream, table, beside, values);
        self.noted(done)
    }

    fn set_time(&mut self, time: f64, time_step: f64) -> Result<()> {
        self.begin(0, None)?;
        let cells = self.cells.address();
        let resident = &self.programs.resident;
        self.noted(resident.set_time(&self.stream, cells, (time, time_step), self.patches))
    }

    fn evaluate(&mut self, state: usize, into: usize) -> Result<()> {
        self.check_evaluate(state, into)?;
        self.noted(self.queue(state, into))
    }

    fn combine(&mut self, into: usize, base: usize, terms: &[(f64, usize)]) -> Result<()> {
        self.begin(into, None)?;
        self.begin(base, None)?;
        if terms.len() > TERMS {
            return Err(Error::Invalid {
                what: format!("a sum of {} rates", terms.len()),
                remedy: format!("add at most {TERMS} at a time"),
            });
        }
        let mut sum = Terms { factors: [0.0; TERMS], rates: [0; TERMS], count: 0 };
        for (n, &(factor, rate)) in terms.iter().enumerate() {
            let array = self.rates.get(rate);
            let array = array.ok_or_else(|| missing("rate", rate, self.rates.len()))?;
            (sum.factors[n], sum.rates[n]) = (factor, array.table.address());
            sum.count += 1;
        }
        let values = self.all(interior_values(&self.programs.kernel.shape));
        let tables = (self.states[into].table.address(), self.states[base].table.address());
        let done = self.programs.resident.combine(&self.stream, tables, &sum, values);
        self.noted(done)
    }

    fn post(&mut self, state: usize) -> Result<()> {
        self.begin(state, None)?;
        let Some(post) = &self.programs.post else { return Ok(()) };
        let table = self.states[state].table.address();
        let places = Places {
            inputs: table,
            outputs: table,
            cells: self.cells.address(),
            speeds: self.speeds.address(),
            scratch: 0,
        };
        self.noted(post.run(&self.stream, &places, &self.parameters, self.patches))
    }

    fn speed(&mut self, state: usize) -> Result<f64> {
        self.begin(state, None)?;
        let Some(speed) = &self.programs.speed else {
            let kernel = &self.programs.kernel;
            return Err(Error::Unsupported {
                backend: ID.into(),
                what: format!("speeds of {}, whose physics has no eigenvalue", kernel.name),
            });
        };
        let places = Places {
            inputs: self.states[state].table.address(),
            outputs: 0,
            cells: self.cells.address(),
            speeds: self.speeds.address(),
            scratch: 0,
        };
        let mut keys = vec![0u64; self.patches];
        let done = self
            .speeds
            .clear(&self.stream)
            .and_then(|()| speed.run(&self.stream, &places, &self.parameters, self.patches))
            .and_then(|()| self.speeds.read(&self.stream, 0, &mut keys))
            .and_then(|()| self.wait());
        self.noted(done)?;
        Ok(speed_of_key(keys.into_iter().max().unwrap_or(0)))
    }

    fn fault(&mut self, state: usize) -> Result<Option<PatchFault>> {
        self.begin(state, None)?;
        let shape = self.programs.kernel.shape;
        let values = self.all(interior_values(&shape));
        let table = self.states[state].table.address();
        let mut found = [u64::MAX];
        let done = self
            .found
            .fill(&self.stream, &found)
            .and_then(|()| {
                let place = self.found.address();
                self.programs.resident.find_fault(&self.stream, table, place, values)
            })
            .and_then(|()| self.found.read(&self.stream, 0, &mut found))
            .and_then(|()| self.wait());
        self.noted(done)?;
        if found[0] == u64::MAX {
            return Ok(None);
        }
        let place = usize::try_from(found[0]).unwrap_or(usize::MAX);
        let (width, voxels, p) = (shape.width(), shape.voxels(), usize::from(shape.cells));
        let (item, unknown) = (place / width, place % width);
        let (patch, voxel) = (item / voxels, item % voxels);
        let at = [voxel % p, voxel / p % p, voxel / p / p];
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let layout = &self.layouts.input;
        let whole = |n: usize| i64::try_from(n).unwrap_or(0);
        let offset = layout.place(at.map(whole), whole(unknown));
        let offset = usize::try_from(offset).unwrap_or(0);
        let mut value = [0.0];
        let first = 2 * (layout.start(patch, pitch(layout)) + offset);
        let read = self.states[state].values.read(&self.stream, first, &mut value);
        self.noted(read.and_then(|()| self.wait()))?;
        Ok(Some(PatchFault {
            patch,
            voxel: at.map(small),
            unknown: small(unknown),
            value: value[0],
        }))
    }

    fn synchronize(&mut self) -> Result<()> {
        self.lost.check()?;
        self.noted(self.wait())
    }

    fn time(&mut self, state: usize, into: usize, samples: u32) -> Result<Vec<f64>> {
        self.check_evaluate(state, into)?;
        let event = || -> Result<CudaEvent> {
            let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
            self.stream.record_event(flags).map_err(failed("cuEventRecord"))
        };
        let run = || -> Result<Vec<f64>> {
            let mut marks = vec![event()?];
            for _ in 0..samples {
                self.queue(state, into)?;
                marks.push(event()?);
            }
            self.wait()?;
            let between = |pair: &[CudaEvent]| {
                let ms = pair[0].elapsed_ms(&pair[1]).map_err(failed("cuEventElapsedTime"))?;
                Ok(1e-3 * f64::from(ms))
            };
            marks.windows(2).map(between).collect()
        };
        self.noted(run())
    }
}
