//! A shot in a homogeneous or layered medium, as the physics checks need it.

use ndarray::{Array2, Array3};
use temblor_backend::{
    Backend, Field, PlanOptions, Propagator, ReceiverTable, Region, SourceTable,
};
use temblor_physics::{Arithmetic, Grid, PointWeights, WaveProblem, Wavelet, cfl};

use crate::CheckError;

/// The arithmetics that a backend offers, double precision first.
pub(super) fn arithmetics(backend: &dyn Backend) -> Vec<Arithmetic> {
    let offered = &backend.capabilities().arithmetics;
    [Arithmetic::F64, Arithmetic::F32].into_iter().filter(|a| offered.contains(a)).collect()
}

/// The bound of an arithmetic.
pub(super) fn bound(arithmetic: Arithmetic, single: f64, double: f64) -> f64 {
    if arithmetic == Arithmetic::F64 { double } else { single }
}

/// A problem without boundaries set, at `cfl_fraction` of the limit for `vmax`, m/s.
pub(crate) fn open_problem(
    grid: Grid,
    order: usize,
    vmax: f64,
    cfl_fraction: f64,
    arithmetic: Arithmetic,
) -> Result<WaveProblem, CheckError> {
    let build = |dt| WaveProblem::builder(grid, dt).order(order).arithmetic(arithmetic).build();
    let limit = cfl::largest_dt(&grid, &build(1.0)?.operator, vmax);
    Ok(build(cfl_fraction * limit)?)
}

/// Everything that a plan is given.
pub(crate) struct Shot {
    pub(crate) problem: WaveProblem,
    /// Wave speed, shape of the grid, m/s.
    pub(crate) wave_speed: Array3<f64>,
    pub(crate) sources: SourceTable,
    pub(crate) receivers: Vec<PointWeights>,
    pub(crate) steps: usize,
}

impl Shot {
    /// One source on a node, receivers on nodes, constant wave speed.
    pub(crate) fn on_nodes(
        problem: &WaveProblem,
        wave_speed: f64,
        wavelet: &Wavelet,
        source: [usize; 3],
        receivers: &[[usize; 3]],
        steps: usize,
    ) -> Self {
        let mut point = PointWeights::on_node(source);
        point.axes[0].weights[0] = 1.0 / problem.grid.cell_measure();
        let series = wavelet.sampled(problem.dt, steps);
        Self {
            problem: problem.clone(),
            wave_speed: Array3::from_elem(problem.grid.shape, wave_speed),
            sources: one_source(point, series),
            receivers: receivers.iter().copied().map(PointWeights::on_node).collect(),
            steps,
        }
    }

    /// A plan with everything set, at rest.
    pub(crate) fn plan(
        &self,
        backend: &dyn Backend,
        variant: &str,
    ) -> Result<Box<dyn Propagator>, CheckError> {
        let (least, largest) = (self.wave_speed.iter())
            .fold((f64::INFINITY, 0.0_f64), |(least, largest), &c| (least.min(c), largest.max(c)));
        let options = PlanOptions::new(self.receivers.len(), self.steps)
            .variant(variant)
            .speeds(least, largest);
        let mut plan = backend.propagator(&self.problem, &options)?;
        let whole = Region::whole(self.problem.grid.shape);
        plan.upload(Field::WaveSpeed, whole, self.wave_speed.view().into())?;
        plan.set_sources(&self.sources)?;
        plan.set_receivers(&ReceiverTable { points: self.receivers.clone() })?;
        Ok(plan)
    }

    /// Runs the shot; samples of shape (receiver, step).
    pub(crate) fn traces(
        &self,
        backend: &dyn Backend,
        variant: &str,
    ) -> Result<Array2<f64>, CheckError> {
        let mut plan = self.plan(backend, variant)?;
        advance(plan.as_mut(), self.steps)?;
        Ok(plan.traces()?.samples.to_f64())
    }
}

/// A table of one source.
pub(crate) fn one_source(point: PointWeights, series: Vec<f64>) -> SourceTable {
    let amplitudes = Array2::from_shape_vec((series.len(), 1), series);
    SourceTable { points: vec![point], amplitudes: amplitudes.expect("one column per source") }
}

/// Advances by any number of steps.
pub(crate) fn advance(plan: &mut dyn Propagator, steps: usize) -> Result<(), CheckError> {
    let steps = u32::try_from(steps).expect("a check makes fewer than 2^32 steps");
    Ok(plan.advance(steps)?)
}

/// Both wavefields, p^n and p^(n-1).
pub(super) fn fields(
    plan: &mut dyn Propagator,
    shape: [usize; 3],
) -> Result<[Array3<f64>; 2], CheckError> {
    let mut both = [Array3::zeros(shape), Array3::zeros(shape)];
    for (array, field) in both.iter_mut().zip([Field::Pressure, Field::PressurePrevious]) {
        plan.download(field, Region::whole(shape), array.view_mut().into())?;
    }
    Ok(both)
}

/// Sets both wavefields, p^n and p^(n-1).
pub(super) fn set_fields(
    plan: &mut dyn Propagator,
    [now, previous]: [&Array3<f64>; 2],
) -> Result<(), CheckError> {
    let (x, y, z) = now.dim();
    let whole = Region::whole([x, y, z]);
    plan.upload(Field::Pressure, whole, now.view().into())?;
    plan.upload(Field::PressurePrevious, whole, previous.view().into())?;
    Ok(())
}

/// ||got - want|| / ||want||.
pub(crate) fn relative_l2<'a>(
    got: impl IntoIterator<Item = &'a f64>,
    want: impl IntoIterator<Item = &'a f64>,
) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for (a, b) in got.into_iter().zip(want) {
        difference += (a - b).powi(2);
        norm += b * b;
    }
    (difference / norm).sqrt()
}

/// Largest absolute value; NaN where there is one.
pub(crate) fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |m, v| if m >= v.abs() || f64::is_nan(m) { m } else { v.abs() })
}

/// A number of steps that lasts at least `duration`, s.
pub(crate) fn steps_for(duration: f64, dt: f64) -> usize {
    temblor_physics::sample_count(duration, dt).map_or(1, |n| n + 1)
}
