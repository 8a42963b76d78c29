//! A file of traces in either format, with the geometry that goes into its headers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use temblor_backend::ElementType;
use temblor_backend::tables::TraceSamples;
use temblor_io::Element;
use temblor_io::segy::{SegyHeader, SegyWriter, TraceHeader, coordinate_scalar};
use temblor_solver::{BoxError, Gather, Shot, Survey};

use super::npy_rows::NpyRows;
use crate::exit::Failure;
use crate::runfile::{OutputSpec, TraceFormat};

/// What all trace files of a run share.
#[derive(Debug, Clone)]
pub(super) struct Geometry {
    format: TraceFormat,
    header: SegyHeader,
    element: Element,
    samples: usize,
    /// Traces of all shots together.
    pub(super) all_traces: usize,
}

impl Geometry {
    pub(super) fn new(spec: &OutputSpec, survey: &Survey) -> Self {
        let mut header = SegyHeader::new(survey.spec.interval, survey.samples());
        header.text = text(survey);
        let count = survey.shots[0].receivers.len();
        let equal = survey.shots.iter().all(|shot| shot.receivers.len() == count);
        header.traces_per_record = if equal { count } else { 0 };
        header.coordinate_scalar = coordinate_scalar(&coordinates(survey));
        let element = match survey.element() {
            ElementType::F32 => Element::F32,
            ElementType::F64 => Element::F64,
        };
        Self {
            format: spec.format,
            header,
            element,
            samples: survey.samples(),
            all_traces: survey.shots.iter().map(|shot| shot.receivers.len()).sum(),
        }
    }

    /// Whether the format can hold the traces.
    pub(super) fn check(&self, path: &Path) -> Result<(), Failure> {
        if self.format == TraceFormat::Npy {
            return Ok(());
        }
        if self.header.coordinate_scalar.is_none() {
            return Err(Failure::BadInput(format!(
                "{}: coordinates beyond 2,147,483 km do not fit SEG-Y: write npy",
                path.display()
            )));
        }
        self.header.check(path).map_err(Failure::input)
    }
}

/// Everything that goes into a coordinate field; a spread that shots share counts once.
fn coordinates(survey: &Survey) -> Vec<f64> {
    let mut all = Vec::new();
    let mut last = None;
    for shot in &survey.shots {
        all.extend(shot.sources[0].position);
        if !last.is_some_and(|last| Arc::ptr_eq(last, &shot.receivers)) {
            all.extend(shot.receivers.iter().flatten());
            last = Some(&shot.receivers);
        }
    }
    all
}

/// Lines of the text header; the same for the same run, so no date.
fn text(survey: &Survey) -> Vec<String> {
    let [nx, ny, nz] = survey.spec.grid.shape;
    let [hx, hy, hz] = survey.spec.grid.spacing;
    let (min, max) = (survey.speed.min, survey.speed.max);
    let mut lines = vec![
        format!("Modelled by temblor {}", env!("CARGO_PKG_VERSION")),
        "Equation: isotropic acoustic, constant density; samples are pressure".into(),
        format!("Grid: {nx} x {ny} x {nz} nodes (x, y, z), spacing {hx} x {hy} x {hz} m"),
        format!("Wave speed: {min} to {max} m/s"),
        format!(
            "Scheme: {:?} in space, leapfrog in time, dt {:e} s",
            survey.spec.operator,
            survey.dt()
        ),
        format!("Boundaries: {}", boundaries(survey)),
        format!("Peak frequency: {} Hz", survey.band.peak_hz),
        format!("Shots: {}; t = 0 is the start of the wavelet's series", survey.shots.len()),
        "z is depth, positive downwards; elevations are its negative".into(),
    ];
    if survey.spec.correct_dispersion {
        lines.push("Time dispersion was corrected".into());
    }
    if survey.shots.iter().any(|shot| shot.sources.len() > 1) {
        lines.push("Shots of several sources: coordinates are those of the first".into());
    }
    lines
}

fn boundaries(survey: &Survey) -> String {
    let face = |face: temblor_physics::Face| {
        let kind = temblor_physics::BoundaryKind::from(survey.problem.boundaries.at(face));
        format!("{} {}", face.name(), format!("{kind:?}").to_lowercase())
    };
    let active = |face: &temblor_physics::Face| survey.spec.grid.active(face.axis());
    temblor_physics::Face::ALL.into_iter().filter(active).map(face).collect::<Vec<_>>().join(", ")
}

/// A growing file of traces.
#[derive(Debug)]
pub(super) enum TraceFile {
    Segy(Box<SegyWriter>),
    Npy(NpyRows, PathBuf),
}

impl TraceFile {
    /// Starts a file for `traces` traces.
    pub(super) fn create(
        path: &Path,
        geometry: &Geometry,
        traces: usize,
    ) -> Result<Self, BoxError> {
        Ok(match geometry.format {
            TraceFormat::Segy => Self::Segy(Box::new(SegyWriter::create(path, &geometry.header)?)),
            TraceFormat::Npy => {
                let rows = NpyRows::create(path, geometry.element, traces, geometry.samples);
                Self::Npy(rows.map_err(|e| named(path, &e))?, path.to_owned())
            }
        })
    }

    /// Goes on with a file of all shots after `done` traces.
    pub(super) fn resume(path: &Path, geometry: &Geometry, done: u64) -> Result<Self, BoxError> {
        Ok(match geometry.format {
            TraceFormat::Segy => {
                Self::Segy(Box::new(SegyWriter::resume(path, &geometry.header, done)?))
            }
            TraceFormat::Npy => {
                let (traces, samples) = (geometry.all_traces, geometry.samples);
                let rows = NpyRows::resume(path, geometry.element, traces, samples, done);
                Self::Npy(rows.map_err(|e| named(path, &e))?, path.to_owned())
            }
        })
    }

    /// Appends a shot's traces.
    pub(super) fn append(
        &mut self,
        geometry: &Geometry,
        shot: &Shot,
        gather: &Gather,
    ) -> Result<(), BoxError> {
        match self {
            Self::Npy(rows, path) => rows.append(&gather.samples).map_err(|e| named(path, &e))?,
            Self::Segy(writer) => {
                let mut trace = vec![0.0_f32; geometry.samples];
                for n in 0..shot.receivers.len() {
                    match &gather.samples {
                        TraceSamples::F32(all) => {
                            trace.iter_mut().zip(all.row(n)).for_each(|(to, &v)| *to = v);
                        }
                        TraceSamples::F64(all) => {
                            #[expect(clippy::cast_possible_truncation, reason = "SEG-Y singles")]
                            trace.iter_mut().zip(all.row(n)).for_each(|(to, &v)| *to = v as f32);
                        }
                    }
                    writer.write_trace(&trace_header(shot, n), &trace)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<(), BoxError> {
        match self {
            Self::Segy(writer) => Ok(writer.sync()?),
            Self::Npy(rows, path) => rows.sync().map_err(|e| named(path, &e)),
        }
    }

    pub(super) fn finish(mut self) -> Result<(), BoxError> {
        self.sync()
    }
}

fn trace_header(shot: &Shot, receiver: usize) -> TraceHeader {
    let number = i32::try_from(shot.id).unwrap_or(i32::MAX);
    TraceHeader {
        field_record: number,
        trace_in_record: i32::try_from(receiver + 1).unwrap_or(i32::MAX),
        source_point: number,
        source: shot.sources[0].position,
        receiver: shot.receivers[receiver],
        ..TraceHeader::default()
    }
}

fn named(path: &Path, error: &std::io::Error) -> BoxError {
    let full =
        matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
    let remedy = if full { "; free some space, then --resume" } else { "" };
    format!("cannot write {}: {error}{remedy}", path.display()).into()
}
