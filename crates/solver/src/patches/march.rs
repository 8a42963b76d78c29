//! A state on patches that marches in time on one device.

use std::ops::ControlFlow;

use ndarray::Array4;
use temblor_backend::patch::{PatchKernel, PatchSet};
use temblor_patch::{Kernel, Output, Shape, Term};

use super::norms::{Norms, Sums};
use super::step_rule::{StepLimits, StepRule};
use super::tableau::Tableau;
use super::tiling::Tiling;
use crate::error::{Error, Result};

/// How a state marches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarchSpec {
    /// Order of the Runge-Kutta method, 1 to 4; a kernel that steps by itself takes 1 alone.
    pub order: u8,
    /// How the step is chosen.
    pub rule: StepRule,
    /// Strength of the scheme's dissipation, m/s; 0 without.
    pub dissipation: f64,
    /// Steps between looks for values that are not finite.
    pub check_every: u64,
}

/// How far a march is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// Steps done.
    pub step: u64,
    /// Time reached, s.
    pub time: f64,
    /// Last step, s.
    pub time_step: f64,
}

/// How a march ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// At the time that was asked for.
    End,
    /// Where the caller said so.
    Stopped,
}

/// K patches on a device, at a time.
pub struct March {
    set: Box<dyn PatchSet>,
    pub(super) tiling: Tiling,
    pub(super) shape: Shape,
    pub(super) names: Vec<String>,
    tableau: Option<Tableau>,
    /// Whether the kernel leaves `post` to the driver.
    post: bool,
    spec: MarchSpec,
    limits: StepLimits,
    /// Which of the two states is the current one.
    active: usize,
    pub(super) step: u64,
    pub(super) time: f64,
    pub(super) history: Vec<f64>,
    checked: u64,
}

impl March {
    /// Allocates the state of a tiling for a kernel, `made` of `kernel`; the state is zero until
    /// [`March::fill`] or [`March::restore`].
    ///
    /// # Errors
    /// [`Error::Invalid`] where tiling, kernel and `spec` do not go together,
    /// [`Error::OutOfMemory`] and others through [`Error::Backend`].
    pub fn new(
        kernel: &Kernel,
        made: &dyn PatchKernel,
        tiling: &Tiling,
        spec: MarchSpec,
    ) -> Result<Self> {
        tiling.fits(&kernel.shape)?;
        let Some(tableau) = Tableau::of_order(spec.order) else {
            let remedy = "give 1, 2, 3 or 4 stages";
            return Err(Error::invalid("the Runge-Kutta order", spec.order, remedy));
        };
        let tableau = match kernel.shape.output {
            Output::Rate => Some(tableau),
            Output::Step if spec.order == 1 => None,
            Output::Step => {
                let remedy = "the scheme takes an Euler step by itself; give 1, or a scheme that \
                              gives a rate";
                return Err(Error::invalid("the Runge-Kutta order", spec.order, remedy));
            }
        };
        let limits = StepLimits::new(tiling, tableau.as_ref(), spec.dissipation);
        limits.check(spec.rule)?;
        if matches!(spec.rule, StepRule::Courant(_)) && !kernel.physics.has(Term::Eigenvalue) {
            let remedy = format!("{} has no `eigenvalue`: add it, or give dt", kernel.physics.file);
            return Err(Error::invalid("the time step", "to follow from the speeds", remedy));
        }
        let rates = tableau.map_or(0, |tableau| tableau.stages);
        let mut set = made.patches(&tiling.cells(), 2, rates)?;
        set.set_neighbours(&tiling.neighbours())?;
        let physics = &kernel.physics;
        Ok(Self {
            set,
            tiling: *tiling,
            shape: kernel.shape,
            names: physics.unknowns.iter().chain(&physics.auxiliary).cloned().collect(),
            tableau,
            post: physics.has(Term::Post) && !kernel.post,
            spec,
            limits,
            active: 0,
            step: 0,
            time: 0.0,
            history: Vec::new(),
            checked: 0,
        })
    }

    /// Bytes on the device of a march with a Runge-Kutta method of this order.
    #[must_use]
    pub fn bytes(kernel: &Kernel, made: &dyn PatchKernel, patches: usize, order: u8) -> u64 {
        let rates = if kernel.shape.output == Output::Rate { usize::from(order) } else { 0 };
        made.set_bytes(patches, 2, rates)
    }

    /// Sets the state at a time, s: `state` gives the N + M unknowns at a place, m, halo included.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn fill(&mut self, time: f64, mut state: impl FnMut([f64; 3], &mut [f64])) -> Result<()> {
        let (width, halo) = (self.shape.width(), i64::from(self.shape.halo));
        let mut chunk = vec![0.0; self.shape.input_len()];
        for patch in 0..self.tiling.count() {
            let first = self.tiling.first_voxel(patch);
            for (place, values) in chunk.chunks_exact_mut(width).enumerate() {
                let mut voxel = self.shape_place(place);
                for axis in 0..usize::from(self.shape.dimensions) {
                    voxel[axis] += first[axis] as i64 - halo;
                }
                state(self.tiling.position(voxel), values);
            }
            self.upload(patch, &chunk)?;
        }
        self.begin(0, time, Vec::new());
        Ok(())
    }

    /// Voxel of a chunk by its place, counted from the halo's corner.
    fn shape_place(&self, place: usize) -> [i64; 3] {
        let extent = usize::from(self.shape.cells + 2 * self.shape.halo);
        [place % extent, place / extent % extent, place / (extent * extent)].map(|i| i as i64)
    }

    pub(super) fn upload(&mut self, patch: usize, chunk: &[f64]) -> Result<()> {
        for state in 0..2 {
            self.set.upload(state, patch, chunk)?;
        }
        Ok(())
    }

    pub(super) fn download(&mut self, patch: usize, chunk: &mut [f64]) -> Result<()> {
        Ok(self.set.download(self.active, patch, chunk)?)
    }

    pub(super) fn begin(&mut self, step: u64, time: f64, history: Vec<f64>) {
        (self.active, self.step, self.time, self.checked) = (0, step, time, step);
        self.history = history;
    }

    /// Where the march is.
    #[must_use]
    pub fn status(&self) -> Status {
        let time_step = self.history.last().copied().unwrap_or(0.0);
        Status { step: self.step, time: self.time, time_step }
    }

    /// Evaluations per step.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.tableau.map_or(1, |tableau| tableau.stages)
    }

    /// All steps so far, s.
    #[must_use]
    pub fn history(&self) -> &[f64] {
        &self.history
    }

    /// What the step must respect.
    #[must_use]
    pub fn limits(&self) -> StepLimits {
        self.limits
    }

    /// Names of the N + M unknowns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The tiling.
    #[must_use]
    pub fn tiling(&self) -> &Tiling {
        &self.tiling
    }

    /// Largest eigenvalue of the state, m/s.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn speed(&mut self) -> Result<f64> {
        Ok(self.set.speed(self.active)?)
    }

    /// Steps until a time is reached exactly; `watch` is called after every step and may stop.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::NoStep`], [`Error::Backend`].
    pub fn advance(
        &mut self,
        until: f64,
        mut watch: impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<Reached> {
        while self.time < until {
            self.one_step(until)?;
            if self.step - self.checked >= self.spec.check_every.max(1) {
                self.check()?;
            }
            if watch(&self.status()).is_break() && self.time < until {
                self.check()?;
                return Ok(Reached::Stopped);
            }
        }
        self.check()?;
        Ok(Reached::End)
    }

    fn one_step(&mut self, until: f64) -> Result<()> {
        let speed = match self.spec.rule {
            StepRule::Fixed(_) => 0.0,
            StepRule::Courant(_) => self.speed()?,
        };
        let Some(step) = self.limits.step(self.spec.rule, speed) else {
            self.check()?;
            return Err(Error::NoStep { speed, step: self.step, time: self.time });
        };
        let left = until - self.time;
        // A rounding's worth of time left over is no step of its own.
        let last = left <= step * (1.0 + 1e-9);
        let step = if last { left } else { step };
        match self.tableau {
            None => self.step_by_itself(step)?,
            Some(tableau) => self.step_by_rates(&tableau, step)?,
        }
        if self.post {
            self.set.post(self.active)?;
        }
        self.step += 1;
        self.time = if last { until } else { self.time + step };
        self.history.push(step);
        Ok(())
    }

    fn step_by_itself(&mut self, step: f64) -> Result<()> {
        self.set.set_time(self.time, step)?;
        self.set.exchange(self.active)?;
        self.set.evaluate(self.active, 1 - self.active)?;
        self.active = 1 - self.active;
        Ok(())
    }

    fn step_by_rates(&mut self, tableau: &Tableau, step: f64) -> Result<()> {
        let (now, scratch) = (self.active, 1 - self.active);
        for stage in 0..tableau.stages {
            let mut from = now;
            if stage > 0 {
                let terms: Vec<(f64, usize)> = (0..stage)
                    .map(|rate| (step * tableau.inner[stage][rate], rate))
                    .filter(|(factor, _)| factor.abs() > 0.0)
                    .collect();
                self.set.combine(scratch, now, &terms)?;
                from = scratch;
            }
            self.set.set_time(self.time + tableau.times[stage] * step, step)?;
            self.set.exchange(from)?;
            self.set.evaluate(from, stage)?;
        }
        let terms: Vec<(f64, usize)> = (0..tableau.stages)
            .map(|rate| (step * tableau.weights[rate], rate))
            .filter(|(factor, _)| factor.abs() > 0.0)
            .collect();
        Ok(self.set.combine(now, now, &terms)?)
    }

    /// Looks for a value that is not finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the first one.
    pub fn check(&mut self) -> Result<()> {
        self.checked = self.step;
        let Some(fault) = self.set.fault(self.active)? else { return Ok(()) };
        let first = self.tiling.first_voxel(fault.patch);
        let mut voxel = [0; 3];
        for axis in 0..3 {
            voxel[axis] = first[axis] as i64 + i64::from(fault.voxel[axis]);
        }
        Err(Error::NotFinite {
            unknown: self.names[usize::from(fault.unknown)].clone(),
            value: fault.value,
            step: self.step,
            time: self.time,
            patch: fault.patch,
            voxel: fault.voxel,
            position: self.tiling.position(voxel),
        })
    }

    /// Calls `visit(voxel of the box, its N + M values)` for every voxel, patch by patch.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn visit(&mut self, mut visit: impl FnMut([usize; 3], &[f64])) -> Result<()> {
        let (width, halo) = (self.shape.width(), usize::from(self.shape.halo));
        let (cells, axes) = (usize::from(self.shape.cells), usize::from(self.shape.dimensions));
        let extent = cells + 2 * halo;
        let mut chunk = vec![0.0; self.shape.input_len()];
        for patch in 0..self.tiling.count() {
            self.download(patch, &mut chunk)?;
            let first = self.tiling.first_voxel(patch);
            let (layers, lift) = if axes == 3 { (cells, halo) } else { (1, 0) };
            for k in 0..layers {
                for j in 0..cells {
                    for i in 0..cells {
                        let place = ((k + lift) * extent + j + halo) * extent + i + halo;
                        let values = &chunk[place * width..(place + 1) * width];
                        visit([first[0] + i, first[1] + j, first[2] + k], values);
                    }
                }
            }
        }
        Ok(())
    }

    /// The whole state without halo, shape (unknown, x, y, z).
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn state(&mut self) -> Result<Array4<f64>> {
        let [nx, ny, nz] = self.tiling.voxels();
        let mut state = Array4::zeros((self.shape.width(), nx, ny, nz));
        self.visit(|[i, j, k], values| {
            for (unknown, &value) in values.iter().enumerate() {
                state[[unknown, i, j, k]] = value;
            }
        })?;
        Ok(state)
    }

    /// Distance of every evolved unknown from what `exact` gives for a place, m, and the time of the
    /// state, s.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn errors(
        &mut self,
        mut exact: impl FnMut([f64; 3], f64, &mut [f64]),
    ) -> Result<Vec<Norms>> {
        let (tiling, time) = (self.tiling, self.time);
        let mut wanted = vec![0.0; self.shape.width()];
        let mut sums = vec![Sums::default(); usize::from(self.shape.unknowns)];
        self.visit(|voxel, values| {
            exact(tiling.position(voxel.map(|i| i as i64)), time, &mut wanted);
            for ((sum, value), exact) in sums.iter_mut().zip(values).zip(&wanted) {
                sum.add(value - exact);
            }
        })?;
        Ok(sums.iter().map(Sums::norms).collect())
    }

    /// Sum of every unknown over the box times the voxel's volume (in 2-D its area).
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn totals(&mut self) -> Result<Vec<f64>> {
        let axes = usize::from(self.tiling.dimensions);
        let volume: f64 = self.tiling.spacing[..axes].iter().product();
        let mut totals = vec![0.0; self.shape.width()];
        self.visit(|_, values| {
            for (total, value) in totals.iter_mut().zip(values) {
                *total += value * volume;
            }
        })?;
        Ok(totals)
    }
}
