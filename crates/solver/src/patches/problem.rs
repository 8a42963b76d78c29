//! A kernel, a box and how it marches: what a run needs beside a backend.

use temblor_backend::patch::{PatchKernel, PatchOptions};
use temblor_backend::{Backend, PatchReport};
use temblor_patch::graph::Leaf;
use temblor_patch::physics::{Argument, arguments};
use temblor_patch::{Kernel, Output, Term};

use super::march::{March, MarchSpec};
use super::norms::Norms;
use super::profile::Profile;
use super::step_rule::StepRule;
use super::tiling::Tiling;
use crate::error::{Error, Result};

/// Steps between looks for values that are not finite: each reads the state once.
const CHECK_EVERY: u64 = 10;

/// A system on a box.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Physics and numerics.
    pub kernel: Kernel,
    /// Values of [`Kernel::parameters`], in their order.
    pub parameters: Vec<f64>,
    /// The box.
    pub tiling: Tiling,
    /// How it marches.
    pub spec: MarchSpec,
}

/// A march that began, and what the backend made of its kernel.
pub struct Started {
    /// The march.
    pub march: March,
    /// The kernel.
    pub report: PatchReport,
    exact: Option<Profile>,
}

/// What the initial state says.
#[derive(Debug, Clone, PartialEq)]
pub struct Outset {
    /// Largest eigenvalue, m/s; none where the physics has none.
    pub speed: Option<f64>,
    /// First step, s.
    pub time_step: f64,
    /// Smallest and largest value of every unknown.
    pub ranges: Vec<(f64, f64)>,
}

impl Problem {
    /// A kernel on a box, with the defaults of its parameters; the step follows from the speeds with
    /// a factor of 0.9 / d (a scheme that steps) or 0.9, rates are integrated by four stages.
    #[must_use]
    pub fn new(kernel: Kernel, tiling: Tiling) -> Self {
        let parameters: Vec<f64> = kernel.parameters.iter().map(|p| p.default).collect();
        let (order, factor) = match kernel.shape.output {
            Output::Step => (1, 0.9 / f64::from(kernel.shape.dimensions)),
            Output::Rate => (4, 0.9),
        };
        let rule = StepRule::Courant(factor);
        let spec = MarchSpec { order, rule, dissipation: 0.0, check_every: CHECK_EVERY };
        let mut problem = Self { kernel, parameters, tiling, spec };
        problem.spec.dissipation = problem.parameter("sigma").unwrap_or(0.0);
        problem
    }

    /// With the step from the speeds and this factor.
    #[must_use]
    pub fn courant(mut self, factor: f64) -> Self {
        self.spec.rule = StepRule::Courant(factor);
        self
    }

    /// With a fixed step, s.
    #[must_use]
    pub fn dt(mut self, step: f64) -> Self {
        self.spec.rule = StepRule::Fixed(step);
        self
    }

    /// With a Runge-Kutta method of this order, 1 to 4.
    #[must_use]
    pub fn runge_kutta(mut self, order: u8) -> Self {
        self.spec.order = order;
        self
    }

    /// Value of a parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<f64> {
        let place = self.kernel.parameters.iter().position(|p| p.name == name)?;
        Some(self.parameters[place])
    }

    /// With another value of a parameter; `sigma` of a scheme is its dissipation.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown name, a number that is not finite, and a value that is built
    /// into the kernel.
    pub fn with(mut self, name: &str, value: f64) -> Result<Self> {
        let known = &self.kernel.parameters;
        let Some(place) = known.iter().position(|p| p.name == name) else {
            let names: Vec<&str> = known.iter().map(|p| p.name.as_str()).collect();
            let remedy = format!("{} has {}", self.kernel.name, names.join(", "));
            return Err(Error::invalid(format!("the parameter `{name}`"), "unknown", remedy));
        };
        let what = || format!("the parameter `{name}`");
        if !value.is_finite() {
            return Err(Error::invalid(what(), value, "give a finite number"));
        }
        let frozen = self.kernel.frozen.iter().any(|&(at, _)| usize::from(at) == place);
        let differs = value.to_bits() != self.parameters[place].to_bits();
        if (known[place].integer || frozen) && differs {
            let remedy = format!("it is {} in this kernel: build another", self.parameters[place]);
            return Err(Error::invalid(what(), value, remedy));
        }
        self.parameters[place] = value;
        if name == "sigma" {
            self.spec.dissipation = value;
        }
        Ok(self)
    }

    /// The physics' `initial` or `exact`.
    ///
    /// # Errors
    /// [`Error::Patch`] where the physics has no such term.
    pub fn profile(&self, term: Term) -> Result<Profile> {
        let kernel = &self.kernel;
        let (physics, integers) = (&kernel.physics, &kernel.integers);
        Profile::new(physics, term, integers, &self.parameters, self.tiling.spacing)
    }

    /// Looks at the initial state, at no more than `most` voxels.
    ///
    /// # Errors
    /// [`Error::NotFinite`] where it is not finite, [`Error::NoStep`] where no step follows from it.
    pub fn outset(&self, most: usize) -> Result<Outset> {
        let physics = &self.kernel.physics;
        let width = self.kernel.shape.width();
        let mut initial = self.profile(Term::Initial)?;
        let mut speeds = Speeds::new(self)?;
        let adaptive = matches!(self.spec.rule, StepRule::Courant(_));
        let [nx, ny, nz] = self.tiling.voxels();
        let every = (nx * ny * nz).div_ceil(most.max(1));
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); width];
        let mut state = vec![0.0; width];
        for place in (0..nx * ny * nz).step_by(every) {
            let voxel = [place % nx, place / nx % ny, place / (nx * ny)];
            let position = self.tiling.position(voxel.map(|i| i as i64));
            initial.at(position, 0.0, &mut state);
            for (unknown, (&value, range)) in state.iter().zip(&mut ranges).enumerate() {
                if !value.is_finite() {
                    let mut names = physics.unknowns.iter().chain(&physics.auxiliary);
                    return Err(self.not_finite(names.nth(unknown).cloned(), value, voxel));
                }
                *range = (range.0.min(value), range.1.max(value));
            }
            speeds.see(&state, position);
            // Below no pressure, say: no step follows, and here is the place.
            if adaptive && !speeds.largest.is_finite() {
                return Err(self.not_finite(Some("eigenvalue".into()), speeds.largest, voxel));
            }
        }
        let speed = physics.has(Term::Eigenvalue).then_some(speeds.largest);
        let limits = self.limits();
        let time_step = limits.step(self.spec.rule, speed.unwrap_or(0.0));
        let no_step = Error::NoStep { speed: speeds.largest, step: 0, time: 0.0 };
        Ok(Outset { speed, time_step: time_step.ok_or(no_step)?, ranges })
    }

    fn not_finite(&self, unknown: Option<String>, value: f64, voxel: [usize; 3]) -> Error {
        let tiling = &self.tiling;
        let axes = usize::from(tiling.dimensions);
        let cells = usize::from(tiling.cells);
        let (mut place, mut inner) = ([0; 3], [0_u16; 3]);
        for axis in 0..axes {
            place[axis] = voxel[axis] / cells;
            inner[axis] = u16::try_from(voxel[axis] % cells).unwrap_or(u16::MAX);
        }
        let [nx, ny, _] = tiling.patches;
        Error::NotFinite {
            unknown: unknown.unwrap_or_default(),
            value,
            step: 0,
            time: 0.0,
            patch: (place[2] * ny + place[1]) * nx + place[0],
            voxel: inner,
            position: tiling.position(voxel.map(|i| i as i64)),
        }
    }

    /// Whether the physics has an exact solution that begins as its initial state does: one text may
    /// hold several problems and know the solution of some.
    ///
    /// # Errors
    /// [`Error::Patch`] where a term cannot be traced.
    pub fn knows_exact(&self) -> Result<bool> {
        let physics = &self.kernel.physics;
        if !(physics.has(Term::Exact) && physics.has(Term::Initial)) {
            return Ok(false);
        }
        let (mut initial, mut exact) = (self.profile(Term::Initial)?, self.profile(Term::Exact)?);
        let width = self.kernel.shape.width();
        let (mut begun, mut wanted) = (vec![0.0; width], vec![0.0; width]);
        let [nx, ny, nz] = self.tiling.voxels();
        let every = (nx * ny * nz).div_ceil(1000);
        let same = (0..nx * ny * nz).step_by(every).all(|place| {
            let voxel = [place % nx, place / nx % ny, place / (nx * ny)];
            let position = self.tiling.position(voxel.map(|i| i as i64));
            initial.at(position, 0.0, &mut begun);
            exact.at(position, 0.0, &mut wanted);
            begun.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0))
        });
        Ok(same)
    }

    /// What the step must respect.
    #[must_use]
    pub fn limits(&self) -> super::StepLimits {
        let rate = self.kernel.shape.output == Output::Rate;
        let tableau = super::Tableau::of_order(self.spec.order).filter(|_| rate);
        super::StepLimits::new(&self.tiling, tableau.as_ref(), self.spec.dissipation)
    }

    /// Makes the kernel, with its parameters set.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn make(
        &self,
        backend: &dyn Backend,
        options: &PatchOptions,
    ) -> Result<Box<dyn PatchKernel>> {
        let mut made = backend.patch_kernel(&self.kernel, options)?;
        made.set_parameters(&self.parameters)?;
        Ok(made)
    }

    /// Begins a march from the physics' `initial` at time 0.
    ///
    /// # Errors
    /// As [`March::new`] and [`Problem::make`]; [`Error::Patch`] without `initial`.
    pub fn start(&self, backend: &dyn Backend, options: &PatchOptions) -> Result<Started> {
        let mut started = self.begin(backend, options)?;
        let mut initial = self.profile(Term::Initial)?;
        started.march.fill(0.0, |position, state| initial.at(position, 0.0, state))?;
        Ok(started)
    }

    /// As [`Problem::start`], but the state is left to the caller to fill or restore.
    ///
    /// # Errors
    /// As [`Problem::start`].
    pub fn begin(&self, backend: &dyn Backend, options: &PatchOptions) -> Result<Started> {
        let made = self.make(backend, options)?;
        let march = March::new(&self.kernel, made.as_ref(), &self.tiling, self.spec)?;
        let exact = self.knows_exact()?.then(|| self.profile(Term::Exact)).transpose()?;
        Ok(Started { march, report: made.report().clone(), exact })
    }
}

impl Started {
    /// Steps to a time, s.
    ///
    /// # Errors
    /// As [`March::advance`].
    pub fn run_to(&mut self, time: f64) -> Result<()> {
        self.march.advance(time, |_| std::ops::ControlFlow::Continue(())).map(|_| ())
    }

    /// Distance of every evolved unknown from the physics' `exact`; none where it has none.
    ///
    /// # Errors
    /// As [`March::errors`].
    pub fn errors(&mut self) -> Result<Option<Vec<Norms>>> {
        let Some(exact) = &mut self.exact else { return Ok(None) };
        let errors = self.march.errors(|position, time, state| exact.at(position, time, state));
        errors.map(Some)
    }
}

/// Largest eigenvalue over directions of states seen.
struct Speeds {
    functions: Vec<(temblor_patch::graph::Function, Vec<bool>)>,
    arguments: Vec<Argument>,
    parameters: Vec<f64>,
    spacing: [f64; 3],
    values: Vec<f64>,
    largest: f64,
}

impl Speeds {
    fn new(problem: &Problem) -> Result<Self> {
        let kernel = &problem.kernel;
        let mut functions = Vec::new();
        if kernel.physics.has(Term::Eigenvalue) {
            for axis in 0..kernel.shape.dimensions {
                let function = kernel.physics.trace(Term::Eigenvalue, axis, &kernel.integers)?;
                let needed = function.graph.reachable(&function.outputs);
                functions.push((function, needed));
            }
        }
        let width = kernel.shape.unknowns + kernel.shape.auxiliary;
        Ok(Self {
            functions,
            arguments: arguments(Term::Eigenvalue, width),
            parameters: problem.parameters.clone(),
            spacing: problem.tiling.spacing,
            values: Vec::new(),
            largest: 0.0,
        })
    }

    fn see(&mut self, state: &[f64], position: [f64; 3]) {
        let (known, parameters, spacing) = (&self.arguments, &self.parameters, self.spacing);
        let leaf = |leaf: Leaf| match leaf {
            Leaf::Parameter(place) => parameters[usize::from(place)],
            Leaf::Argument(place) => match known[usize::from(place)] {
                Argument::Unknown(unknown) => state[usize::from(unknown)],
                Argument::Position(axis) => position[usize::from(axis)],
                Argument::Spacing(axis) => spacing[usize::from(axis)],
                _ => 0.0,
            },
            _ => 0.0,
        };
        for (function, needed) in &self.functions {
            function.graph.evaluate(needed, &mut self.values, leaf);
            for output in &function.outputs {
                let speed = self.values[output.index()];
                if speed.is_nan() || speed > self.largest {
                    self.largest = speed;
                }
            }
        }
    }
}
