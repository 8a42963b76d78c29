//! Candidates measured on a backend.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use temblor_backend::{
    Backend, Error, Field, HostArray, PlanOptions, Propagator, Region, parameters,
};
use temblor_bench::fill::Filler;
use temblor_bench::matrix::SEED;
use temblor_bench::results::Start;
use temblor_bench::search::{Candidate, Space, Timer};
use temblor_physics::{Axis, Grid, WaveProblem};

use crate::progress::Work;

/// Steps of the twin: several passes of fused steps, and a remainder.
const TWIN_STEPS: u32 = 7;

/// Nodes of the twin outside layers: no multiples of a tile.
const TWIN: [usize; 3] = [19, 37, 65];

/// Samples that a budget should have time for.
const SAMPLES: f64 = 400.0;

/// Plans that are kept: those of the final alternation.
const KEPT: usize = 2;

/// A plan that is ready to be timed.
struct Ready {
    candidate: Candidate,
    plan: Box<dyn Propagator>,
    /// Steps of a sample.
    steps: u32,
}

/// Times candidates by stepping a problem.
pub(super) struct Stepper<'a> {
    backend: &'a dyn Backend,
    problem: &'a WaveProblem,
    twin: WaveProblem,
    speed: f64,
    sample: Duration,
    ready: Vec<Ready>,
    /// Results of the twin with a variant's default parameters.
    fields: HashMap<String, HostArray>,
    spaces: &'a [Space],
    preferred: Candidate,
    /// Operations per point and step, for the bound between variants.
    flops: HashMap<String, f64>,
    start: Instant,
    work: Work,
    stopped: bool,
}

impl<'a> Stepper<'a> {
    /// # Errors
    /// Those of [`Backend::variants`], and of a grid that cannot be made.
    pub(super) fn new(
        backend: &'a dyn Backend,
        problem: &'a WaveProblem,
        spaces: &'a [Space],
        default: &Candidate,
        speed: f64,
        budget: Duration,
        work: Work,
    ) -> anyhow::Result<Self> {
        let flops = backend.variants(problem)?.into_iter().map(|v| (v.name, v.flops_per_point));
        let preferred = spaces.iter().find(|space| space.variant == default.variant);
        Ok(Self {
            backend,
            problem,
            twin: twin(problem)?,
            speed,
            sample: budget
                .div_f64(SAMPLES)
                .clamp(Duration::from_millis(10), Duration::from_millis(500)),
            ready: Vec::new(),
            fields: HashMap::new(),
            spaces,
            preferred: preferred.map_or_else(|| default.clone(), Space::defaults),
            flops: flops.collect(),
            start: Instant::now(),
            work,
            stopped: false,
        })
    }

    fn look(&mut self) {
        let done = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.stopped |= !self.work.at(done);
    }

    /// The plan of a candidate, made if it is not there.
    fn ready(&mut self, candidate: &Candidate) -> temblor_backend::Result<usize> {
        if let Some(at) = self.ready.iter().position(|ready| ready.candidate == *candidate) {
            return Ok(at);
        }
        if self.ready.len() >= KEPT {
            self.ready.remove(0);
        }
        let made = self.make(candidate);
        let ready = match made {
            Err(Error::OutOfMemory { .. }) if !self.ready.is_empty() => {
                self.ready.clear();
                self.make(candidate)?
            }
            made => made?,
        };
        self.ready.push(ready);
        Ok(self.ready.len() - 1)
    }

    fn make(&self, candidate: &Candidate) -> temblor_backend::Result<Ready> {
        let mut plan = filled(self.backend, self.problem, candidate, self.speed)?;
        let pass = plan.variant().steps_per_pass.max(1);
        // The first pass warms up, the next ones find the length of a sample.
        timed(plan.as_mut(), pass)?;
        let mut steps = pass;
        while timed(plan.as_mut(), steps)? < self.sample.mul_f64(0.7).as_secs_f64() {
            steps = steps.saturating_mul(2);
        }
        Ok(Ready { candidate: candidate.clone(), plan, steps })
    }

    /// p of the twin after some steps.
    fn field(&self, candidate: &Candidate) -> temblor_backend::Result<HostArray> {
        let mut plan = filled(self.backend, &self.twin, candidate, self.speed)?;
        plan.advance(TWIN_STEPS)?;
        let ticket = plan.snapshot(Field::Pressure, Region::whole(self.twin.grid.shape))?;
        plan.wait(ticket)
    }

    fn field_of_defaults(&mut self, defaults: &Candidate) -> Result<HostArray, String> {
        if let Some(field) = self.fields.get(&defaults.variant) {
            return Ok(field.clone());
        }
        let field = self.field(defaults).map_err(|error| error.to_string())?;
        self.fields.insert(defaults.variant.clone(), field.clone());
        Ok(field)
    }
}

impl Timer for Stepper<'_> {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn stopped(&self) -> bool {
        self.stopped
    }

    fn check(&mut self, candidate: &Candidate) -> Result<(), String> {
        self.look();
        let space = self.spaces.iter().find(|space| space.variant == candidate.variant);
        let space = space.ok_or_else(|| "the backend does not list it".to_owned())?;
        // A value that the backend refuses is no fault of its results.
        let id = &self.backend.device().backend;
        parameters::resolve(id, &space.variant, &space.parameters, &candidate.parameters)
            .map_err(|error| error.to_string())?;
        let defaults = space.defaults();
        let reference = self.field_of_defaults(&defaults)?;
        if *candidate == defaults {
            let preferred = self.preferred.clone();
            let other = self.field_of_defaults(&preferred)?;
            let flops = self.flops.get(&candidate.variant).copied().unwrap_or(1.0);
            return alike(&reference, &other, flops, &preferred.variant);
        }
        let field = self.field(candidate).map_err(|error| error.to_string())?;
        match differing(&field, &reference) {
            0 => Ok(()),
            count => Err(format!(
                "its results differ from those of the variant's defaults at {count} of {} nodes",
                self.twin.grid.points()
            )),
        }
    }

    fn times(&mut self, candidate: &Candidate, samples: u32) -> Result<Vec<f64>, String> {
        let at = self.ready(candidate).map_err(|error| error.to_string())?;
        let mut times = Vec::new();
        for _ in 0..samples {
            self.look();
            if self.stopped {
                break;
            }
            let ready = &mut self.ready[at];
            let steps = ready.steps;
            let time = timed(ready.plan.as_mut(), steps).map_err(|error| error.to_string())?;
            times.push(time / f64::from(steps));
        }
        Ok(times)
    }
}

/// Seconds of some steps.
fn timed(plan: &mut dyn Propagator, steps: u32) -> temblor_backend::Result<f64> {
    let start = Instant::now();
    plan.advance(steps)?;
    plan.synchronize()?;
    Ok(start.elapsed().as_secs_f64())
}

/// The problem on a small grid of awkward size, layers and spacing as they are.
fn twin(problem: &WaveProblem) -> temblor_physics::Result<WaveProblem> {
    let mut twin = problem.clone();
    let shape = std::array::from_fn(|a| {
        let (low, high) = problem.ends(Axis::ALL[a]);
        problem.grid.shape[a].min(low.cells() + high.cells() + TWIN[a])
    });
    twin.grid = Grid::new(shape, problem.grid.spacing, problem.grid.origin)?;
    Ok(twin)
}

/// A plan with random fields: zeros run faster than waves do on some devices.
fn filled(
    backend: &dyn Backend,
    problem: &WaveProblem,
    candidate: &Candidate,
    speed: f64,
) -> temblor_backend::Result<Box<dyn Propagator>> {
    let (start, shape) = (Start::Random, problem.grid.shape);
    let filler = Filler { start, shape, vmax: speed, seed: SEED, moving: false };
    let [least, largest] = filler.speeds();
    let options = PlanOptions::new(0, 0)
        .variant(&candidate.variant)
        .parameters(candidate.parameters.clone())
        .speeds(least, largest);
    let mut plan = backend.propagator(problem, &options)?;
    filler.wave_speed(plan.as_mut())?;
    filler.pressure(plan.as_mut())?;
    Ok(plan)
}

/// Nodes where two fields differ in any bit.
fn differing(a: &HostArray, b: &HostArray) -> usize {
    match (a, b) {
        (HostArray::F32(a), HostArray::F32(b)) => {
            a.iter().zip(b).filter(|(a, b)| a.to_bits() != b.to_bits()).count()
        }
        (HostArray::F64(a), HostArray::F64(b)) => {
            a.iter().zip(b).filter(|(a, b)| a.to_bits() != b.to_bits()).count()
        }
        _ => usize::MAX,
    }
}

/// Whether two variants agree but for rounding: variants may sum in another order. Each of a step's
/// operations rounds by 2^-24 at most, and errors of all steps add up.
fn alike(a: &HostArray, b: &HostArray, flops: f64, other: &str) -> Result<(), String> {
    let values = |array: &HostArray| -> Vec<f64> {
        match array {
            HostArray::F32(array) => array.iter().map(|&v| f64::from(v)).collect(),
            HostArray::F64(array) => array.iter().copied().collect(),
        }
    };
    let (a, b) = (values(a), values(b));
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let error = norm(&mut a.iter().zip(&b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied());
    let bound = flops * f64::from(TWIN_STEPS) * 2.0_f64.powi(-24);
    if error <= bound {
        return Ok(());
    }
    Err(format!("its results are {error:.1e} from those of {other}; rounding explains {bound:.1e}"))
}
