//! From a run file on disk to a survey, its model and where its results go.
//!
//! [`schema`] is the file as it stands; [`Job::open`] reads what it points to, derives the rest and
//! checks everything that can be checked without a backend. Paths are relative to the run file.

pub mod geometry;
pub mod model;
mod one_or_many;
mod operator;
mod receivers;
pub mod schema;
mod survey;
pub mod wavelet;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use temblor_io::segy::SampleFormat;
use temblor_io::{ByteOrder, Format};
use temblor_physics::{Face, Grid, Operator, layers};
use temblor_solver::{
    FaceSpec, SnapshotPlan, SnapshotSpec, SpeedRange, StepRule, Survey, SurveySpec, WaveSpeed,
};

use crate::args::NumericsArgs;
use crate::exit::Failure;
use schema::{
    FaceKind, FaceTable, FaceValue, GridTable, OutputTable, RunFile, SnapshotFormat, StrideValue,
};

pub use one_or_many::OneOrMany;

/// Name that stands for the shot's number in `[output] traces`.
pub const SHOT_PLACEHOLDER: &str = "{id}";

/// Where results go; paths are complete.
#[derive(Debug, Clone)]
pub struct OutputSpec {
    /// Traces; may hold [`SHOT_PLACEHOLDER`].
    pub traces: PathBuf,
    /// Their format: SEG-Y, SU, RSF or npy.
    pub format: Format,
    /// Byte order, if another than usual.
    pub byte_order: Option<ByteOrder>,
    /// Sample format of SEG-Y.
    pub sample_format: SampleFormat,
    /// Revision of SEG-Y, if one is asked for.
    pub revision: Option<u8>,
    /// Report, JSON.
    pub report: Option<PathBuf>,
    /// Picture of the first shot's gather, PNG, or of every shot's.
    pub picture: Option<PathBuf>,
    /// Snapshots: what, format, folder.
    pub snapshots: Option<(SnapshotSpec, SnapshotFormat, PathBuf)>,
    /// Wall time between checkpoints.
    pub checkpoint: Option<Duration>,
}

impl OutputSpec {
    /// Whether every shot has a file of its own.
    #[must_use]
    pub fn per_shot(&self) -> bool {
        self.traces.file_name().is_some_and(|n| n.to_string_lossy().contains(SHOT_PLACEHOLDER))
    }
}

/// A run file with all that it points to.
pub struct Job {
    /// The run file.
    pub path: PathBuf,
    /// What is run.
    pub survey: Survey,
    /// The wave speed.
    pub model: Box<dyn WaveSpeed>,
    /// One line on the model.
    pub model_name: String,
    /// Where results go.
    pub output: OutputSpec,
    /// Snapshots as steps and nodes.
    pub snapshots: Option<SnapshotPlan>,
    /// What the user should know before the run.
    pub notes: Vec<String>,
    /// Why this operator and this step, where they were chosen for the user.
    pub operator_why: Option<String>,
}

impl Job {
    /// Reads a run file, opens its model and derives the survey.
    ///
    /// # Errors
    /// [`Failure::BadInput`] or an error of the solver that names the file, the line or the key,
    /// the value and the remedy.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        Self::open_with(path, &NumericsArgs::default())
    }

    /// The same with what the command line says of operator, step and arithmetic put before the file.
    ///
    /// # Errors
    /// As [`Job::open`], and if nothing meets a bound.
    pub fn open_with(path: &Path, numerics: &NumericsArgs) -> anyhow::Result<Self> {
        let file = read(path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let in_file = || format!("{}", path.display());
        let GridTable { shape, spacing, origin } = file.grid;
        let grid = Grid::new(shape, spacing, origin).with_context(in_file)?;
        let mut spec = survey_spec(&file, grid).with_context(in_file)?;
        spec.arithmetic = operator::arithmetic(&file.operator, numerics).with_context(in_file)?;
        let output = output_spec(&file.output, &folder).with_context(in_file)?;
        let mut notes = Vec::new();
        let shots = geometry::shots(&file, &grid, &folder, &mut notes).with_context(in_file)?;
        let model::OpenModel { mut speed, name, notes: model_notes } =
            model::open(&file.model.vp, &grid, &folder).with_context(in_file)?;
        notes.extend(model_notes);
        let range = scan(speed.as_mut(), &name).with_context(in_file)?;
        let operator_why =
            operator::settle(&file.operator, numerics.max_dispersion, &mut spec, range, &shots)
                .with_context(in_file)?;
        operator::trim(&file.operator, numerics, &mut spec).with_context(in_file)?;
        let survey = Survey::new(spec, range, shots).with_context(in_file)?;
        let snapshots = output
            .snapshots
            .as_ref()
            .map(|(spec, ..)| SnapshotPlan::new(spec, &survey))
            .transpose()
            .with_context(in_file)?;
        let path = path.to_owned();
        Ok(Self {
            path,
            survey,
            model: speed,
            model_name: name,
            output,
            snapshots,
            notes,
            operator_why,
        })
    }
}

/// Reads and parses a run file.
///
/// # Errors
/// [`Failure::BadInput`] with line and column.
pub fn read(path: &Path) -> anyhow::Result<RunFile> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let remedy = "`temblor init` writes a run file to start from";
        Failure::input(format!("cannot read the run file {}: {e}; {remedy}", path.display()))
    })?;
    parse(&text, path)
}

fn parse(text: &str, path: &Path) -> anyhow::Result<RunFile> {
    Ok(toml::from_str(text).map_err(|error| crate::nearest::unparsed(path, &error))?)
}

fn scan(speed: &mut dyn WaveSpeed, name: &str) -> anyhow::Result<SpeedRange> {
    temblor_solver::scan(speed).with_context(|| format!("[model] vp, {name}"))
}

fn survey_spec(file: &RunFile, grid: Grid) -> anyhow::Result<SurveySpec> {
    let step = match (file.time.dt, file.time.cfl_fraction) {
        (Some(_), Some(_)) => {
            let message = "[time] has both dt and cfl_fraction: give one of them";
            return Err(Failure::input(message).into());
        }
        (Some(dt), None) => StepRule::Dt(dt),
        (None, fraction) => StepRule::CflFraction(fraction.unwrap_or(0.9)),
    };
    let table = &file.boundary;
    let named = [table.x_min, table.x_max, table.y_min, table.y_max, table.z_min, table.z_max];
    let other = table.other.unwrap_or(FaceValue::Named(FaceKind::Cpml));
    let mut faces = [FaceSpec::Free; 6];
    for face in Face::ALL {
        faces[face.index()] = face_spec(face, named[face.index()].unwrap_or(other))?;
    }
    Ok(SurveySpec {
        grid,
        // Settled once the model and the wavelets are known.
        operator: Operator::Direct { order: file.operator.order.unwrap_or(8) },
        arithmetic: file.operator.arithmetic,
        faces,
        duration: file.time.duration,
        step,
        interval: file.receivers.interval,
        correct_dispersion: file.time.dispersion_correction,
    })
}

fn face_spec(face: Face, value: FaceValue) -> anyhow::Result<FaceSpec> {
    let table = match value {
        FaceValue::Named(kind) => {
            FaceTable { kind, cells: None, r0: None, peak_hz: None, eta_peak: None }
        }
        FaceValue::Table(table) => table,
    };
    let given = [
        ("cells", table.cells.is_some()),
        ("r0", table.r0.is_some()),
        ("peak_hz", table.peak_hz.is_some()),
        ("eta_peak", table.eta_peak.is_some()),
    ];
    let (spec, allowed): (_, &[&str]) = match table.kind {
        FaceKind::Free => (FaceSpec::Free, &[]),
        FaceKind::Rigid => (FaceSpec::Rigid, &[]),
        FaceKind::Cpml => {
            let cells = table.cells.unwrap_or(layers::CPML_CELLS);
            let r0 = table.r0.unwrap_or(layers::CPML_R0);
            (FaceSpec::Cpml { cells, r0, peak_hz: table.peak_hz }, &["cells", "r0", "peak_hz"])
        }
        FaceKind::Minimod => {
            let cells = table.cells.unwrap_or(layers::MINIMOD_CELLS);
            (FaceSpec::Minimod { cells, eta_peak: table.eta_peak }, &["cells", "eta_peak"])
        }
    };
    for (key, is_given) in given {
        if is_given && !allowed.contains(&key) {
            let (name, kind) = (face.name(), format!("{:?}", table.kind).to_lowercase());
            let message = format!("[boundary] {name}: a {kind} face has no {key}; remove the key");
            return Err(Failure::input(message).into());
        }
    }
    Ok(spec)
}

fn output_spec(table: &OutputTable, folder: &Path) -> anyhow::Result<OutputSpec> {
    let traces = folder.join(&table.traces);
    let format = Format::of_extension(&traces)
        .filter(|format| matches!(format, Format::Segy | Format::Su | Format::Rsf | Format::Npy));
    let Some(format) = format else {
        let name = table.traces.display();
        let message = format!(
            "[output] traces = \"{name}\": the name must end in .sgy, .segy, .su, .rsf or .npy"
        );
        return Err(Failure::input(message).into());
    };
    let of_segy =
        [("sample_format", table.sample_format.is_some()), ("revision", table.revision.is_some())];
    if format != Format::Segy
        && let Some((key, _)) = of_segy.iter().find(|(_, given)| *given)
    {
        let message = format!("[output] {key} belongs to SEG-Y, traces are {}", format.name());
        return Err(Failure::input(message + ": remove it").into());
    }
    let sample_format = match table.sample_format.as_deref() {
        None => SampleFormat::Ieee,
        Some(name) => SampleFormat::from_name(name).ok_or_else(|| {
            let known = SampleFormat::ALL.map(SampleFormat::name).join(", ");
            Failure::input(format!("[output] sample_format is {name}: give ieee, {known}"))
        })?,
    };
    let report = table.report.as_ref().map(|report| folder.join(report));
    let picture = table.picture.as_ref().map(|picture| folder.join(picture));
    if let Some(picture) = &picture
        && picture.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png"))
    {
        let name = picture.display();
        let message = format!("[output] picture = \"{name}\": the name must end in .png");
        return Err(Failure::input(message).into());
    }
    if report.as_ref().is_some_and(|report| *report == traces || picture.as_ref() == Some(report)) {
        let message = "[output] report has the name of another output: give it its own";
        return Err(Failure::input(message).into());
    }
    let snapshots = table.snapshots.as_ref().map(|snapshots| {
        let stride = match snapshots.stride {
            None => [1; 3],
            Some(StrideValue::All(stride)) => [stride; 3],
            Some(StrideValue::PerAxis(stride)) => stride,
        };
        let region = snapshots.region.map(|region| (region.from, region.to));
        let spec = SnapshotSpec { interval: snapshots.interval, stride, region };
        let into = snapshots
            .folder
            .as_ref()
            .map_or_else(|| traces.with_extension("snapshots"), |into| folder.join(into));
        (spec, snapshots.format, into)
    });
    let checkpoint = table.checkpoint.map(|seconds| {
        Duration::try_from_secs_f64(seconds).map_err(|_| {
            let what = "the wall time between checkpoints: give a number of seconds, 0 or more";
            Failure::input(format!("[output] checkpoint is {seconds}, {what}"))
        })
    });
    let checkpoint = checkpoint.transpose()?;
    let (byte_order, revision) = (table.byte_order, table.revision);
    Ok(OutputSpec {
        traces,
        format,
        byte_order,
        sample_format,
        revision,
        report,
        picture,
        snapshots,
        checkpoint,
    })
}
