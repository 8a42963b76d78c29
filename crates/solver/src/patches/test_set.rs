//! A patch kernel for tests of marching: advection of one unknown along x at a constant speed, in
//! plain loops over chunks, beside one fixed unknown.

use std::sync::Arc;

use temblor_backend::patch::{Beyond, Cell, PatchFault, PatchKernel, PatchReport, PatchSet};
use temblor_backend::{Error, Result};
use temblor_patch::{Kernel, Output, Shape, Term, sample};

/// Halo of both schemes.
const HALO: usize = 3;

/// Advection at this speed, m/s, with central differences of order 4 (a rate) or upwind (a step).
#[derive(Clone)]
pub(super) struct Advection {
    pub(super) shape: Shape,
    pub(super) speed: f64,
    report: PatchReport,
}

impl Advection {
    pub(super) fn new(cells: u16, output: Output, speed: f64) -> Self {
        let halo = u16::try_from(HALO).unwrap();
        let shape = Shape { dimensions: 2, cells, halo, unknowns: 1, auxiliary: 1, output };
        Self { shape, speed, report: PatchReport::default() }
    }

    /// What the solver needs to know of it.
    pub(super) fn kernel(&self) -> Kernel {
        let mut kernel = sample::euler_rusanov(2, self.shape.cells, true);
        kernel.shape = self.shape;
        let physics = Arc::make_mut(&mut kernel.physics);
        physics.unknowns = vec!["tracer".into()];
        physics.auxiliary = vec!["label".into()];
        physics.terms = vec![Term::Eigenvalue];
        kernel
    }
}

impl PatchKernel for Advection {
    fn report(&self) -> &PatchReport {
        &self.report
    }

    fn set_parameters(&mut self, _: &[f64]) -> Result<()> {
        Ok(())
    }

    fn apply(
        &mut self,
        _: &[Cell],
        _: &[&[f64]],
        _: &mut [&mut [f64]],
        _: &mut [f64],
    ) -> Result<()> {
        Err(Error::Unsupported { backend: "test".into(), what: "apply".into() })
    }

    fn set_bytes(&self, patches: usize, states: usize, rates: usize) -> u64 {
        (8 * patches * (states * self.shape.input_len() + rates * self.shape.output_len())) as u64
    }

    fn patches(&self, cells: &[Cell], states: usize, rates: usize) -> Result<Box<dyn PatchSet>> {
        Ok(Box::new(Patches {
            kind: self.clone(),
            cells: cells.to_vec(),
            states: vec![vec![vec![0.0; self.shape.input_len()]; cells.len()]; states],
            rates: vec![vec![vec![0.0; self.shape.output_len()]; cells.len()]; rates],
            neighbours: vec![[[Beyond::Outflow; 2]; 3]; cells.len()],
        }))
    }
}

struct Patches {
    kind: Advection,
    cells: Vec<Cell>,
    states: Vec<Vec<Vec<f64>>>,
    rates: Vec<Vec<Vec<f64>>>,
    neighbours: Vec<[[Beyond; 2]; 3]>,
}

impl Patches {
    fn p(&self) -> usize {
        usize::from(self.kind.shape.cells)
    }

    /// Place of a voxel in a chunk; coordinates count from the halo's corner.
    fn place(&self, x: usize, y: usize) -> usize {
        2 * (y * (self.p() + 2 * HALO) + x)
    }

    fn interior(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let p = self.p();
        (0..p * p).map(move |i| (HALO + i % p, HALO + i / p))
    }
}

impl PatchSet for Patches {
    fn upload(&mut self, state: usize, patch: usize, values: &[f64]) -> Result<()> {
        self.states[state][patch].copy_from_slice(values);
        Ok(())
    }

    fn download(&mut self, state: usize, patch: usize, values: &mut [f64]) -> Result<()> {
        values.copy_from_slice(&self.states[state][patch]);
        Ok(())
    }

    fn set_neighbours(&mut self, neighbours: &[[[Beyond; 2]; 3]]) -> Result<()> {
        self.neighbours = neighbours.to_vec();
        Ok(())
    }

    fn exchange(&mut self, state: usize) -> Result<()> {
        let p = self.p();
        let before = self.states[state].clone();
        for (patch, faces) in self.neighbours.iter().enumerate() {
            for (axis, high) in [(0, false), (0, true), (1, false), (1, true)] {
                for depth in 0..HALO {
                    for along in 0..p {
                        let to = if high { HALO + p + depth } else { depth };
                        let (other, from) = match faces[axis][usize::from(high)] {
                            Beyond::Patch(other) => (other, if high { to - p } else { to + p }),
                            Beyond::Outflow => (patch, if high { HALO + p - 1 } else { HALO }),
                            Beyond::Fixed => continue,
                        };
                        let at = |i: usize| match axis {
                            0 => self.place(i, HALO + along),
                            _ => self.place(HALO + along, i),
                        };
                        let (to, from) = (at(to), at(from));
                        let values = [before[other][from], before[other][from + 1]];
                        self.states[state][patch][to..to + 2].copy_from_slice(&values);
                    }
                }
            }
        }
        Ok(())
    }

    fn set_time(&mut self, time: f64, time_step: f64) -> Result<()> {
        for cell in &mut self.cells {
            (cell.time, cell.time_step) = (time, time_step);
        }
        Ok(())
    }

    fn evaluate(&mut self, state: usize, into: usize) -> Result<()> {
        let p = self.p();
        for (patch, cell) in self.cells.iter().enumerate() {
            let scale = self.kind.speed / (cell.size[0] / p as f64);
            for (x, y) in self.interior() {
                let old = &self.states[state][patch];
                let q = |shift: isize| old[self.place(x.strict_add_signed(shift), y)];
                let at = self.place(x, y);
                match self.kind.shape.output {
                    Output::Rate => {
                        let slope = (8.0 * (q(1) - q(-1)) - (q(2) - q(-2))) / 12.0;
                        self.rates[into][patch][(y - HALO) * p + x - HALO] = -scale * slope;
                    }
                    Output::Step => {
                        let new = q(0) - cell.time_step * scale * (q(0) - q(-1));
                        let label = old[at + 1];
                        self.states[into][patch][at..at + 2].copy_from_slice(&[new, label]);
                    }
                }
            }
        }
        Ok(())
    }

    fn combine(&mut self, into: usize, base: usize, terms: &[(f64, usize)]) -> Result<()> {
        let p = self.p();
        for patch in 0..self.cells.len() {
            for (x, y) in self.interior() {
                let at = self.place(x, y);
                let rates = terms.iter().map(|&(factor, rate)| {
                    factor * self.rates[rate][patch][(y - HALO) * p + x - HALO]
                });
                let new = rates.fold(self.states[base][patch][at], |sum, term| sum + term);
                let label = self.states[base][patch][at + 1];
                self.states[into][patch][at..at + 2].copy_from_slice(&[new, label]);
            }
        }
        Ok(())
    }

    fn post(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn speed(&mut self, _: usize) -> Result<f64> {
        Ok(self.kind.speed)
    }

    fn fault(&mut self, state: usize) -> Result<Option<PatchFault>> {
        for patch in 0..self.cells.len() {
            for (x, y) in self.interior() {
                for unknown in 0..2 {
                    let value = self.states[state][patch][self.place(x, y) + unknown];
                    if !value.is_finite() {
                        let voxel = [x - HALO, y - HALO, 0].map(|i| u16::try_from(i).unwrap());
                        let unknown = u16::try_from(unknown).unwrap();
                        return Ok(Some(PatchFault { patch, voxel, unknown, value }));
                    }
                }
            }
        }
        Ok(None)
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }
}
