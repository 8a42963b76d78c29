//! Problems, random fields and plans that checks share.

use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{
    Backend, Error, Field, PlanOptions, Propagator, ReceiverTable, Region, Result, SourceTable,
};
use temblor_physics::{
    Arithmetic, AxisWeights, Boundaries, Boundary, Cpml, Grid, Minimod, PointWeights, WaveProblem,
    cfl,
};

use crate::CheckError;

/// Lowest and highest wave speed of random models, m/s.
pub const SPEEDS: (f64, f64) = (1500.0, 4500.0);

/// Spacing along (x, y, z), m; unequal, so that a swapped axis shows.
pub const SPACING: [f64; 3] = [10.0, 12.5, 8.0];

/// A C-PML for wave speeds up to [`SPEEDS`].
#[must_use]
pub fn cpml(cells: usize) -> Boundary {
    Boundary::Cpml(Cpml { cells, r0: 1e-4, peak_hz: 20.0, vmax: SPEEDS.1 })
}

/// Minimod's layer, damped strongly enough to show over few steps.
#[must_use]
pub fn minimod(cells: usize) -> Boundary {
    Boundary::Minimod(Minimod { cells, eta_peak: 0.2 })
}

/// A problem at 0.9 of the CFL limit.
///
/// # Errors
/// If the problem cannot be posed.
pub fn problem(
    shape: [usize; 3],
    order: usize,
    boundaries: Boundaries,
    arithmetic: Arithmetic,
) -> temblor_physics::Result<WaveProblem> {
    let grid = Grid::new(shape, SPACING, [0.0; 3])?;
    let build = |dt| {
        WaveProblem::builder(grid, dt)
            .order(order)
            .boundaries(boundaries)
            .arithmetic(arithmetic)
            .build()
    };
    let draft = build(1.0)?;
    build(0.9 * cfl::largest_dt(&grid, &draft.operator, SPEEDS.1))
}

/// All that a plan is given: fields, sources and receivers, random but the same for a seed.
#[derive(Debug, Clone)]
pub struct Case {
    /// The problem.
    pub problem: WaveProblem,
    /// Wave speed, shape of the grid, m/s.
    pub wave_speed: Array3<f32>,
    /// p^0, shape of the grid.
    pub pressure: Array3<f32>,
    /// p^-1, shape of the grid.
    pub previous: Array3<f32>,
    /// Sources that touch the grid's edges and its middle, one amplitude row per step.
    pub sources: SourceTable,
    /// Receivers likewise; the absolute weights of each sum to one.
    pub receivers: ReceiverTable,
    /// Steps that the case is run for.
    pub steps: u32,
}

impl Case {
    /// Random fields in -1..1, wave speeds in [`SPEEDS`], three sources and four receivers spread
    /// over up to 8 nodes per axis.
    #[must_use]
    pub fn random(problem: &WaveProblem, steps: u32, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = problem.grid.shape;
        let mut field = |low: f32, high: f32| {
            Array3::from_shape_simple_fn(shape, || rng.random_range(low..high))
        };
        let (pressure, previous) = (field(-1.0, 1.0), field(-1.0, 1.0));
        let wave_speed = field(1500.0, 4500.0);
        let mut points = |count: usize| -> Vec<PointWeights> {
            (0..count).map(|n| spread(&mut rng, shape, n)).collect()
        };
        let (source_points, receiver_points) = (points(3), points(4));
        // Weights are about 4^-3: amplitudes that change p by about its own size.
        let scale = 64.0 / (3000.0 * problem.dt).powi(2);
        let rows = steps as usize;
        let amplitudes = Array2::from_shape_simple_fn((rows, source_points.len()), || {
            scale * rng.random_range(-1.0..1.0)
        });
        Self {
            problem: problem.clone(),
            wave_speed,
            pressure,
            previous,
            sources: SourceTable { points: source_points, amplitudes },
            receivers: ReceiverTable { points: receiver_points },
            steps,
        }
    }

    /// The same case in another arithmetic.
    #[must_use]
    pub fn with_arithmetic(&self, arithmetic: Arithmetic) -> Self {
        let mut case = self.clone();
        case.problem.arithmetic = arithmetic;
        case
    }

    /// Options that fit the case.
    #[must_use]
    pub fn options(&self, variant: &str) -> PlanOptions {
        let steps = self.steps as usize;
        let options = PlanOptions::new(self.receivers.points.len(), steps).variant(variant);
        options.speeds(SPEEDS.0, SPEEDS.1)
    }

    /// A plan with the wave speed set and nothing else.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn bare(&self, backend: &dyn Backend, variant: &str) -> Result<Box<dyn Propagator>> {
        let mut plan = backend.propagator(&self.problem, &self.options(variant))?;
        plan.upload(Field::WaveSpeed, self.whole(), self.wave_speed.view().into())?;
        Ok(plan)
    }

    /// A plan with everything set, at step 0.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn plan(&self, backend: &dyn Backend, variant: &str) -> Result<Box<dyn Propagator>> {
        let mut plan = self.bare(backend, variant)?;
        self.fill(plan.as_mut())?;
        Ok(plan)
    }

    /// Sets everything.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn fill_all(&self, plan: &mut dyn Propagator) -> Result<()> {
        plan.upload(Field::WaveSpeed, self.whole(), self.wave_speed.view().into())?;
        self.fill(plan)
    }

    /// Sets everything but the wave speed.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn fill(&self, plan: &mut dyn Propagator) -> Result<()> {
        plan.upload(Field::Pressure, self.whole(), self.pressure.view().into())?;
        plan.upload(Field::PressurePrevious, self.whole(), self.previous.view().into())?;
        plan.set_sources(&self.sources)?;
        plan.set_receivers(&self.receivers)
    }

    /// All nodes.
    #[must_use]
    pub const fn whole(&self) -> Region {
        Region::whole(self.problem.grid.shape)
    }

    /// Runs all steps and gives what is left.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn run(&self, backend: &dyn Backend, variant: &str) -> Result<Final> {
        let mut plan = self.plan(backend, variant)?;
        plan.advance(self.steps)?;
        Final::of(plan.as_mut(), self)
    }
}

/// A point with random weights, at the low edges (number 0), the high ones (1), or anywhere.
fn spread(rng: &mut ChaCha8Rng, shape: [usize; 3], number: usize) -> PointWeights {
    let axes = shape.map(|nodes| {
        let width = nodes.min(8);
        let first = match number {
            0 => 0,
            1 => nodes - width,
            _ => rng.random_range(0..=nodes - width),
        };
        let weights: Vec<f64> = (0..width).map(|_| rng.random_range(-1.0..1.0)).collect();
        let sum: f64 = weights.iter().map(|w| w.abs()).sum();
        AxisWeights { first, weights: weights.into_iter().map(|w| w / sum).collect() }
    });
    PointWeights { axes }
}

/// What a run leaves: both wavefields and the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Final {
    /// p^n.
    pub pressure: Array3<f64>,
    /// p^(n-1).
    pub previous: Array3<f64>,
    /// Samples since the last call of `traces`, shape (receiver, step).
    pub traces: Array2<f64>,
}

impl Final {
    /// Downloads both wavefields and takes the samples.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn of(plan: &mut dyn Propagator, case: &Case) -> Result<Self> {
        let mut pressure = Array3::zeros(case.problem.grid.shape);
        let mut previous = pressure.clone();
        plan.download(Field::Pressure, case.whole(), pressure.view_mut().into())?;
        plan.download(Field::PressurePrevious, case.whole(), previous.view_mut().into())?;
        let traces = plan.traces()?.samples.to_f64();
        Ok(Self { pressure, previous, traces })
    }

    /// Number of values, in all three arrays, that differ in any bit; all of them where a shape
    /// does.
    #[must_use]
    pub fn differing(&self, other: &Self) -> f64 {
        let values = |run: &Self| -> Vec<u64> {
            let fields = run.pressure.iter().chain(&run.previous).chain(&run.traces);
            fields.map(|v| v.to_bits()).collect()
        };
        let (a, b) = (values(self), values(other));
        if a.len() == b.len() && self.traces.dim() == other.traces.dim() {
            a.iter().zip(&b).filter(|(a, b)| a != b).count() as f64
        } else {
            a.len().max(b.len()).max(1) as f64
        }
    }
}

/// Whether a variant solves a problem.
///
/// # Errors
/// [`Error::Unsupported`] if the backend has variants for it and this is not among them; other
/// errors as they come.
pub fn supports(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
) -> Result<(), CheckError> {
    if backend.variants(problem)?.iter().any(|v| v.name == variant) {
        Ok(())
    } else {
        let what = format!("variant '{variant}' for {:?}", problem.class());
        Err(Error::Unsupported { backend: backend.device().backend.clone(), what }.into())
    }
}
