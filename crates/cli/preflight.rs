//! What can be known of a run before it starts: variant, memory, resolution, doubts.

use temblor_backend::{Backend, Parameters, PlanOptions, Variant, parameters};
use temblor_physics::{Boundary, Face, Minimod, Operator, dispersion};
use temblor_solver::{MemoryPlan, Survey, plan_options};

use crate::runfile::Job;
use crate::{backends, tune_cache};

/// Error of the phase velocity above which a run is warned of: at the peak frequency.
const PEAK_TOLERANCE: f64 = 0.01;

/// The same at the highest frequency, which is 40 dB down.
const MAX_TOLERANCE: f64 = 0.03;

/// Part of a trace that time dispersion may take before a run is warned of it.
const TIME_TOLERANCE: f64 = 0.1;

/// Layers below this width absorb little; the guide has the table.
const FEW_CELLS: usize = 10;

/// Facts of a run.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Options that the plan will be made with.
    pub options: PlanOptions,
    /// The variant that will run.
    pub variant: Variant,
    /// All of its parameters.
    pub parameters: Parameters,
    /// Why this one.
    pub variant_why: String,
    /// What will be allocated.
    pub memory: MemoryPlan,
    /// Memory for the plan, bytes: the device's, or the host's where they are one.
    pub available: u64,
    /// Whether the solver's share is taken from the same memory.
    pub shared_memory: bool,
    /// Largest relative error of the phase velocity at the peak frequency and smallest wave speed.
    pub velocity_error_at_peak: f64,
    /// The same at the highest frequency.
    pub velocity_error_at_max: f64,
    /// What the user should think about.
    pub warnings: Vec<String>,
}

impl Facts {
    /// Collects the facts of a job on a backend.
    ///
    /// # Errors
    /// [`temblor_backend::Error::Unsupported`] if the backend cannot run it.
    pub fn new(job: &Job, backend: &dyn Backend, variant: Option<&str>) -> anyhow::Result<Self> {
        let survey = &job.survey;
        let problem = &survey.problem;
        let variants = backend.variants(problem)?;
        let id = &backend.device().backend;
        // The one asked for, else the one measured here, else the one in the backend's table, which
        // it lists first, else its own preference.
        let cached = if variant.is_some() { None } else { tune_cache::choice(backend, problem) };
        let wanted = variant.or_else(|| cached.as_ref().map(|choice| choice.variant.as_str()));
        let options = plan_options(survey, wanted);
        let chosen = temblor_backend::plan::choose_variant(id, variants, &options)?;
        let tuned = backend.tuned(problem).filter(|choice| choice.variant == chosen.name);
        // Parameters were measured with the variant: one that is asked for by name has its defaults.
        let measured = match (variant, &cached, &tuned) {
            (Some(_), ..) | (None, None, None) => None,
            (None, Some(choice), _) | (None, None, Some(choice)) => Some(&choice.parameters),
        };
        let options = options.parameters(measured.cloned().unwrap_or_default());
        let known = backend.parameters(problem, &chosen.name)?;
        let parameters = parameters::resolve(id, &chosen.name, &known, &options.parameters)?;
        let variant_why = match (variant, &cached, tuned) {
            (Some(_), ..) => "asked for by --variant".to_owned(),
            (None, Some(choice), _) => choice.why.clone(),
            (None, None, Some(choice)) => choice.why,
            (None, None, None) => format!("{id} prefers {} for this problem", chosen.name),
        };
        let memory = MemoryPlan::new(backend, survey, &options, job.snapshots.as_ref())?;
        let on_host = backends::on_host(id);
        let at = |hz| velocity_error(survey, hz);
        let mut facts = Self {
            options,
            variant: chosen,
            parameters,
            variant_why,
            memory,
            available: if on_host { backends::host_memory() } else { backend.device().memory },
            shared_memory: on_host,
            velocity_error_at_peak: at(survey.band.peak_hz),
            velocity_error_at_max: at(survey.band.max_hz),
            warnings: job.notes.clone(),
        };
        facts.doubts(survey);
        Ok(facts)
    }

    /// The variant with its parameters, as logs name it.
    #[must_use]
    pub fn named(&self) -> String {
        name_of(&self.variant.name, &self.parameters)
    }

    /// Compares what will be allocated with what is available.
    ///
    /// # Errors
    /// [`temblor_solver::Error::OutOfMemory`].
    pub fn check_memory(&self) -> temblor_solver::Result<()> {
        if self.shared_memory {
            return self.memory.check(self.available);
        }
        let solver = MemoryPlan { plan: Vec::new(), solver: self.memory.solver.clone() };
        let plan = MemoryPlan { plan: self.memory.plan.clone(), solver: Vec::new() };
        plan.check(self.available)?;
        solver.check(backends::host_memory())
    }

    fn doubts(&mut self, survey: &Survey) {
        self.doubt_resolution(survey);
        self.doubt_time(survey);
        doubt_points(survey, &mut self.warnings);
        doubt_boundaries(survey, &mut self.warnings);
        let pass = survey.resampler.passband_hz();
        if pass < survey.band.max_hz {
            self.warnings.push(format!(
                "the record interval {} s keeps frequencies up to {pass:.1} Hz and the wavelet \
                 reaches {:.1} Hz: the rest is filtered out; {:.2e} s would keep it",
                survey.spec.interval,
                survey.band.max_hz,
                survey.spec.interval * pass / survey.band.max_hz
            ));
        }
        if survey.band.end > survey.spec.duration {
            self.warnings.push(format!(
                "the wavelet lasts until {:.3} s and the record ends at {} s",
                survey.band.end, survey.spec.duration
            ));
        }
    }

    fn doubt_time(&mut self, survey: &Survey) {
        if let Some(found) = time_dispersion(survey).filter(|found| found.error > TIME_TOLERANCE) {
            self.warnings.push(format!(
                "time steps disperse waves: up to {:.0} % of a trace (relative L2) at {:.0} m from \
                 the source; [time] dispersion_correction = true removes it",
                100.0 * found.error,
                found.distance
            ));
        }
    }

    fn doubt_resolution(&mut self, survey: &Survey) {
        let (peak, max) = (self.velocity_error_at_peak, self.velocity_error_at_max);
        if peak <= PEAK_TOLERANCE && max <= MAX_TOLERANCE {
            return;
        }
        let order = 2 * survey.spec.operator.radius();
        let found = dispersion::suggestions(
            survey.spec.grid.dimensions(),
            survey.speed.min,
            survey.speed.max,
            survey.band.max_hz,
            survey.cfl_fraction(),
            MAX_TOLERANCE,
            survey.spec.correct_dispersion,
        );
        let direct = survey.spec.operator == temblor_physics::Operator::Direct { order };
        let remedy = found.iter().find(|s| direct && s.order == order).map_or_else(
            || "use a finer grid, or let --max-dispersion choose the operator".to_owned(),
            |s| {
                format!(
                    "a spacing of {:.3} m keeps it within {} %",
                    s.spacing,
                    100.0 * MAX_TOLERANCE
                )
            },
        );
        self.warnings.push(format!(
            "too few points per wavelength: {:.1} at the peak and {:.1} at the highest frequency; \
             waves travel up to {:.2} % and {:.2} % too fast or too slow there: {remedy}",
            survey.points_per_wavelength(survey.band.peak_hz),
            survey.points_per_wavelength(survey.band.max_hz),
            100.0 * peak,
            100.0 * max
        ));
    }
}

/// What the dispersion of time steps does to traces.
#[derive(Debug, Clone, Copy)]
pub struct TimeDispersion {
    /// Relative L2 error of a trace of a Ricker wavelet.
    pub error: f64,
    /// The largest distance from a source to a receiver of its shot, where it is, m.
    pub distance: f64,
    /// Its shot.
    pub shot: u32,
}

/// The largest of a survey, unless it is corrected or part of the operator's fit.
#[must_use]
pub fn time_dispersion(survey: &Survey) -> Option<TimeDispersion> {
    if survey.spec.correct_dispersion
        || matches!(survey.spec.operator, Operator::Fitted(fit) if fit.time.is_some())
    {
        return None;
    }
    let apart = |a: [f64; 3], b: [f64; 3]| {
        (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt()
    };
    let (distance, shot) = survey
        .shots
        .iter()
        .flat_map(|shot| {
            let source = shot.sources[0].position;
            shot.receivers.iter().map(move |&receiver| (apart(source, receiver), shot.id))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    // Spectral moments of the Ricker wavelet: sqrt of the mean of w^6 over w0^6, 3-D and 2-D.
    let moment = if survey.spec.grid.dimensions() == 3 { 2.22 } else { 3.0_f64.sqrt() };
    let w0 = 2.0 * std::f64::consts::PI * survey.band.peak_hz;
    let error = moment * w0.powi(3) * survey.dt().powi(2) * distance / (24.0 * survey.speed.min);
    Some(TimeDispersion { error, distance, shot })
}

/// A variant with parameters, as logs and tables name it.
#[must_use]
pub fn name_of(variant: &str, parameters: &Parameters) -> String {
    if parameters.is_empty() {
        return variant.to_owned();
    }
    let each: Vec<_> = parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("{variant} ({})", each.join(", "))
}

/// Largest relative error of the phase velocity over directions, at the smallest wave speed, for
/// what is left of the time step's share after its correction.
fn velocity_error(survey: &Survey, hz: f64) -> f64 {
    let dt = if survey.spec.correct_dispersion { 0.0 } else { survey.dt() };
    let (grid, operator) = (&survey.problem.grid, &survey.spec.operator);
    dispersion::largest_error(grid, operator, dt, survey.speed.min, survey.speed.min / hz)
}

fn doubt_points(survey: &Survey, warnings: &mut Vec<String>) {
    let on_free = |position: [f64; 3]| {
        Face::ALL.into_iter().find(|&face| {
            let a = face.axis().index();
            let grid = &survey.spec.grid;
            let node = if face.is_min() { 0 } else { grid.shape[a] - 1 };
            let at = grid.origin[a] + node as f64 * grid.spacing[a];
            matches!(survey.problem.boundaries.at(face), Boundary::Free)
                && (position[a] - at).abs() < 1e-6 * grid.spacing[a]
        })
    };
    let sources = survey.shots.iter().flat_map(|shot| &shot.sources);
    let sources = sources.filter(|source| on_free(source.position).is_some()).count();
    if sources > 0 {
        warnings.push(format!(
            "{sources} sources lie on a free surface, where the pressure is zero: they fire nothing; \
             put them below it"
        ));
    }
    let receivers = &survey.shots[0].receivers;
    let silent = receivers.iter().filter(|&&position| on_free(position).is_some()).count();
    if silent > 0 {
        warnings.push(format!(
            "{silent} receivers lie on a free surface, where the pressure is zero: they record \
             nothing; put them below it"
        ));
    }
}

fn doubt_boundaries(survey: &Survey, warnings: &mut Vec<String>) {
    let active = |face: &Face| survey.problem.grid.active(face.axis());
    for face in Face::ALL.into_iter().filter(active) {
        match survey.problem.boundaries.at(face) {
            Boundary::Cpml(layer) => {
                if layer.cells < FEW_CELLS {
                    warnings.push(format!(
                        "the C-PML at {} is {} cells wide and reflects: 20 is the default",
                        face.name(),
                        layer.cells
                    ));
                }
                let (low, high) = (survey.band.lowest_peak_hz / 2.0, survey.band.peak_hz * 2.0);
                if !(low..=high).contains(&layer.peak_hz) {
                    warnings.push(format!(
                        "the C-PML at {} is made for {} Hz and the wavelets peak at {} Hz: leave \
                         peak_hz out",
                        face.name(),
                        layer.peak_hz,
                        survey.band.peak_hz
                    ));
                }
            }
            Boundary::Minimod(layer) => {
                let cells = suggested_minimod(survey, face);
                if layer.cells < cells {
                    warnings.push(format!(
                        "Minimod's layer at {} is {} cells wide; three of the longest wavelengths \
                         are {cells}",
                        face.name(),
                        layer.cells
                    ));
                }
            }
            _ => {}
        }
    }
}

/// Width of Minimod's layer as its authors advise, cells.
#[must_use]
pub fn suggested_minimod(survey: &Survey, face: Face) -> usize {
    let spacing = survey.spec.grid.spacing[face.axis().index()];
    Minimod::suggested_cells(survey.speed.max, survey.band.lowest_peak_hz, spacing)
}
