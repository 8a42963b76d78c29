//! A survey: a model, its boundaries, a time axis and shots, turned into one wave problem that all
//! shots share.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use temblor_backend::ElementType;
use temblor_physics::resample::Resampler;
use temblor_physics::wavelet::Wavelet;
use temblor_physics::{
    Arithmetic, Boundaries, Boundary, Cpml, Face, Grid, Minimod, Operator, WaveProblem, cfl,
    cpml_limit, time_dispersion,
};

use crate::error::{Error, Result};
use crate::memory::element_type;
use crate::padding::Padding;
use crate::speed::SpeedRange;

/// A face as a user asks for it: what the solver derives is left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FaceSpec {
    /// See [`Boundary::Zero`].
    Zero,
    /// See [`Boundary::Free`].
    Free,
    /// See [`Boundary::Rigid`].
    Rigid,
    /// C-PML outside the model.
    Cpml {
        /// Width, cells.
        cells: usize,
        /// Theoretical reflection coefficient.
        r0: f64,
        /// Peak frequency, Hz; `None` takes the lowest peak frequency of the wavelets.
        peak_hz: Option<f64>,
    },
    /// Minimod's layer outside the model.
    Minimod {
        /// Width, cells.
        cells: usize,
        /// Damping at the outermost node, dimensionless; `None` takes the benchmark's.
        eta_peak: Option<f64>,
    },
}

impl FaceSpec {
    const fn cells(self) -> usize {
        match self {
            Self::Cpml { cells, .. } | Self::Minimod { cells, .. } => cells,
            Self::Zero | Self::Free | Self::Rigid => 0,
        }
    }

    fn boundary(self, peak_hz: f64, vmax: f64, spacing: f64, dt: f64) -> Boundary {
        match self {
            Self::Zero => Boundary::Zero,
            Self::Free => Boundary::Free,
            Self::Rigid => Boundary::Rigid,
            Self::Cpml { cells, r0, peak_hz: asked } => {
                Boundary::Cpml(Cpml { cells, r0, peak_hz: asked.unwrap_or(peak_hz), vmax })
            }
            Self::Minimod { cells, eta_peak: Some(eta_peak) } => {
                Boundary::Minimod(Minimod { cells, eta_peak })
            }
            Self::Minimod { cells, eta_peak: None } => {
                Boundary::Minimod(Minimod::for_speed(cells.max(1), vmax, spacing, dt))
            }
        }
    }
}

/// How the time step is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum StepRule {
    /// A fraction of the largest stable step.
    CflFraction(f64),
    /// This step, s; an error above the largest stable one.
    Dt(f64),
}

/// What the user asks for, shots apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SurveySpec {
    /// The model's grid, without layers.
    pub grid: Grid,
    /// Space operator.
    pub operator: Operator,
    /// Storage and arithmetic.
    pub arithmetic: Arithmetic,
    /// Faces in the order of [`Face::ALL`].
    pub faces: [FaceSpec; 6],
    /// Length of the record, s.
    pub duration: f64,
    /// How the time step is chosen.
    pub step: StepRule,
    /// Record interval, s.
    pub interval: f64,
    /// Whether time dispersion is corrected.
    pub correct_dispersion: bool,
}

/// A point source of a shot.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Position (x, y, z), m.
    pub position: [f64; 3],
    /// Wavelet; amplitude unit is the survey's own (Pa m in 3-D, Pa in 2-D).
    pub wavelet: Arc<Wavelet>,
    /// Factor on the wavelet.
    pub scale: f64,
}

/// What trace headers say of a shot besides its number and positions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShotLabel {
    /// Number of the source point.
    pub source_point: u32,
    /// Elevation of the surface at the first source, m.
    pub source_elevation: f64,
    /// Depth of the first source below that surface, m.
    pub source_depth: f64,
    /// Elevation of z = 0, m: a receiver's elevation is it minus the receiver's z.
    pub datum: f64,
}

impl ShotLabel {
    /// That of a source point whose first source is at a depth of `z`, m, where z = 0 is the surface
    /// and the datum of elevations.
    #[must_use]
    pub const fn flat(source_point: u32, z: f64) -> Self {
        Self { source_point, source_elevation: 0.0, source_depth: z, datum: 0.0 }
    }
}

/// Sources that fire at once, and the receivers that listen.
#[derive(Debug, Clone, PartialEq)]
pub struct Shot {
    /// Number of the shot, as in file names and trace headers.
    pub id: u32,
    /// What trace headers say of it besides.
    pub label: ShotLabel,
    /// Sources, at least one.
    pub sources: Vec<Source>,
    /// Receiver positions (x, y, z), m; at least one.
    pub receivers: Arc<[[f64; 3]]>,
}

/// Frequencies of a survey's wavelets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Lowest peak frequency, Hz.
    pub lowest_peak_hz: f64,
    /// Highest peak frequency, Hz.
    pub peak_hz: f64,
    /// Highest frequency, 40 dB below the peak, Hz.
    pub max_hz: f64,
    /// When the last wavelet is over, s.
    pub end: f64,
}

impl Band {
    /// Of all wavelets of some shots, each checked and seen once however many sources share it: a
    /// sampled one's spectrum takes a while.
    ///
    /// # Errors
    /// [`Error::Physics`] if a wavelet's parameters make no wavelet.
    pub fn of(shots: &[Shot]) -> Result<Self> {
        let mut band = Self { lowest_peak_hz: f64::INFINITY, peak_hz: 0.0, max_hz: 0.0, end: 0.0 };
        let mut seen: Vec<&Arc<Wavelet>> = Vec::new();
        for source in shots.iter().flat_map(|shot| &shot.sources) {
            if seen.iter().any(|wavelet| Arc::ptr_eq(wavelet, &source.wavelet)) {
                continue;
            }
            seen.push(&source.wavelet);
            source.wavelet.check()?;
            let peak_hz = source.wavelet.peak_hz();
            band.lowest_peak_hz = band.lowest_peak_hz.min(peak_hz);
            band.peak_hz = band.peak_hz.max(peak_hz);
            band.max_hz = band.max_hz.max(source.wavelet.max_hz());
            band.end = band.end.max(source.wavelet.end());
        }
        Ok(band)
    }
}

/// A survey that can be run.
#[derive(Debug, Clone)]
pub struct Survey {
    /// What was asked for.
    pub spec: SurveySpec,
    /// The problem, on the grid with layers.
    pub problem: WaveProblem,
    /// Where the model lies in it.
    pub padding: Padding,
    /// Range of the wave speed.
    pub speed: SpeedRange,
    /// Frequencies of the wavelets.
    pub band: Band,
    /// Largest stable step, s.
    pub largest_dt: f64,
    /// From steps to recorded samples.
    pub resampler: Resampler,
    /// The shots, at least one.
    pub shots: Vec<Shot>,
}

impl Survey {
    /// Derives time step, layers and record from what was asked for.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Physics`] for values that make no problem, or a C-PML that would grow
    /// ([`cpml_limit::check`]), [`Error::Outside`] for points outside the model, [`Error::TooCoarse`] if the shortest
    /// wavelength has fewer than two nodes.
    pub fn new(spec: SurveySpec, speed: SpeedRange, shots: Vec<Shot>) -> Result<Self> {
        check_shots(&shots)?;
        let padding = Padding::new(&spec.grid, spec.faces.map(FaceSpec::cells));
        let padded = padding.grid(&spec.grid)?;
        let band = Band::of(&shots)?;
        spec.operator.check()?;
        let largest_dt = cfl::largest_dt(&padded, &spec.operator, speed.max);
        let dt = choose_dt(spec.step, largest_dt)?;
        let mut boundaries = Boundaries::uniform(Boundary::Zero);
        for face in Face::ALL {
            let spacing = spec.grid.spacing[face.axis().index()];
            let asked = spec.faces[face.index()];
            let boundary = asked.boundary(band.lowest_peak_hz, speed.max, spacing, dt);
            boundaries.set(face, boundary);
        }
        let problem = WaveProblem::builder(padded, dt)
            .operator(spec.operator)
            .arithmetic(spec.arithmetic)
            .boundaries(boundaries)
            .build()?;
        cpml_limit::check(&problem)?;
        let resampler = record(&spec, dt, band.max_hz)?;
        let survey = Self { spec, problem, padding, speed, band, largest_dt, resampler, shots };
        survey.check_points()?;
        survey.check_wavelength()?;
        Ok(survey)
    }

    /// Time step, s.
    #[must_use]
    pub const fn dt(&self) -> f64 {
        self.problem.dt
    }

    /// Steps of a shot.
    #[must_use]
    pub const fn steps(&self) -> usize {
        self.resampler.steps()
    }

    /// Samples of a recorded trace.
    #[must_use]
    pub const fn samples(&self) -> usize {
        self.resampler.samples()
    }

    /// The step as a fraction of the largest stable one.
    #[must_use]
    pub fn cfl_fraction(&self) -> f64 {
        self.dt() / self.largest_dt
    }

    /// Nodes per wavelength at the smallest wave speed and along the coarsest axis.
    #[must_use]
    pub fn points_per_wavelength(&self, hz: f64) -> f64 {
        self.speed.min / (hz * self.coarsest_spacing())
    }

    /// Largest spacing of the active axes, m.
    #[must_use]
    pub fn coarsest_spacing(&self) -> f64 {
        let grid = &self.spec.grid;
        grid.active_axes().map(|axis| grid.spacing[axis.index()]).fold(0.0, f64::max)
    }

    /// Element type of fields and traces.
    #[must_use]
    pub const fn element(&self) -> ElementType {
        element_type(self.problem.arithmetic)
    }

    /// What a wavelet injects at steps 0, 1, ...
    pub(crate) fn fired(&self, wavelet: &Wavelet) -> Vec<f64> {
        if self.spec.correct_dispersion {
            time_dispersion::source_series(wavelet, self.dt(), self.steps())
        } else {
            wavelet.sampled(self.dt(), self.steps())
        }
    }

    /// Most receivers of any shot.
    #[must_use]
    pub fn most_receivers(&self) -> usize {
        self.shots.iter().map(|shot| shot.receivers.len()).max().unwrap_or(0)
    }

    fn check_wavelength(&self) -> Result<()> {
        let hz = self.band.max_hz;
        let points = self.points_per_wavelength(hz);
        if points < 2.0 {
            let (vmin, spacing) = (self.speed.min, self.speed.min / (4.0 * hz));
            return Err(Error::TooCoarse { points, vmin, hz, spacing });
        }
        Ok(())
    }

    /// Layers are no place for sources and receivers: what they record there means nothing.
    fn check_points(&self) -> Result<()> {
        let grid = &self.spec.grid;
        let mut points = Vec::new();
        let mut last_receivers: Option<&Arc<[[f64; 3]]>> = None;
        for shot in &self.shots {
            for (n, source) in shot.sources.iter().enumerate() {
                if !inside(grid, source.position) {
                    let place = describe(source.position);
                    points.push(format!("source {} of shot {} at {place}", n + 1, shot.id));
                }
            }
            // A fixed spread is shared by all shots and listed once.
            if last_receivers.is_some_and(|last| Arc::ptr_eq(last, &shot.receivers)) {
                continue;
            }
            last_receivers = Some(&shot.receivers);
            for (n, &position) in shot.receivers.iter().enumerate() {
                if !inside(grid, position) {
                    let place = describe(position);
                    points.push(format!("receiver {} of shot {} at {place}", n + 1, shot.id));
                }
            }
        }
        if points.is_empty() {
            return Ok(());
        }
        let span = |a: usize| {
            (grid.origin[a], grid.origin[a] + (grid.shape[a] - 1) as f64 * grid.spacing[a])
        };
        Err(Error::Outside { points, x: span(0), y: span(1), z: span(2) })
    }
}

/// Whether a point lies in the model; on an axis with one node, within half a spacing of it.
#[must_use]
pub fn inside(grid: &Grid, position: [f64; 3]) -> bool {
    let at = grid.node_coordinates(position);
    (0..3).all(|a| {
        let slack = if grid.shape[a] > 1 { 1e-6 } else { 0.5 };
        at[a] >= -slack && at[a] <= (grid.shape[a] - 1) as f64 + slack
    })
}

fn describe(position: [f64; 3]) -> String {
    format!("({}, {}, {})", position[0], position[1], position[2])
}

fn check_shots(shots: &[Shot]) -> Result<()> {
    if shots.is_empty() {
        return Err(Error::invalid("number of shots", 0, "give at least one source position"));
    }
    for shot in shots {
        let what = |what: &str| format!("number of {what} of shot {}", shot.id);
        if shot.sources.is_empty() {
            return Err(Error::invalid(what("sources"), 0, "give at least one position"));
        }
        if shot.receivers.is_empty() {
            return Err(Error::invalid(what("receivers"), 0, "give at least one position"));
        }
        for source in &shot.sources {
            if !source.scale.is_finite() {
                return Err(Error::invalid("source scale", source.scale, "give a finite number"));
            }
        }
    }
    Ok(())
}

fn choose_dt(rule: StepRule, largest: f64) -> Result<f64> {
    match rule {
        StepRule::CflFraction(fraction) if fraction > 0.0 && fraction <= 1.0 => {
            Ok(fraction * largest)
        }
        StepRule::CflFraction(fraction) => {
            let remedy = "give a number above 0 and up to 1, such as 0.9";
            Err(Error::invalid("cfl_fraction", fraction, remedy))
        }
        StepRule::Dt(dt) if !(dt.is_finite() && dt > 0.0) => {
            Err(Error::invalid("time step dt", dt, "give a positive time in s"))
        }
        StepRule::Dt(dt) if dt > largest => {
            Err(temblor_physics::Error::Unstable { dt, limit: largest }.into())
        }
        StepRule::Dt(dt) => Ok(dt),
    }
}

fn record(spec: &SurveySpec, dt: f64, max_hz: f64) -> Result<Resampler> {
    let (interval, duration) = (spec.interval, spec.duration);
    Ok(if spec.correct_dispersion {
        Resampler::without_time_dispersion(dt, interval, duration, max_hz)?
    } else {
        Resampler::new(dt, interval, duration)?
    })
}
