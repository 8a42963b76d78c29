//! A file of traces in any format, with the geometry that goes into its headers.

use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView1;

use temblor_backend::ElementType;
use temblor_backend::tables::TraceSamples;
use temblor_io::segy::{TraceHeader, WordOrder, coordinate_scalar, coordinate_storage};
use temblor_io::trace_writer::HeaderOf;
use temblor_io::{Element, Format, Real, TraceLayout, TraceWriter};
use temblor_solver::{BoxError, Gather, Shot, Survey};

use crate::exit::Failure;
use crate::runfile::OutputSpec;

/// What all trace files of a run share.
#[derive(Debug, Clone)]
pub(super) struct Geometry {
    layout: TraceLayout,
    /// Traces of all shots together.
    pub(super) all_traces: usize,
}

impl Geometry {
    pub(super) fn new(spec: &OutputSpec, survey: &Survey) -> Self {
        let count = survey.shots[0].receivers.len();
        let equal = survey.shots.iter().all(|shot| shot.receivers.len() == count);
        let all_traces = survey.shots.iter().map(|shot| shot.receivers.len()).sum();
        let interval = Some(survey.spec.interval);
        let mut layout = TraceLayout::new(spec.format, survey.samples(), interval, 0);
        layout.traces_per_shot = if equal { count } else { 0 };
        layout.element = match survey.element() {
            ElementType::F32 => Element::F32,
            ElementType::F64 => Element::F64,
        };
        layout.order = spec.byte_order.unwrap_or_default();
        layout.text = text(survey);
        let coordinates = coordinates(survey);
        if spec.format == Format::Segy {
            // Where no scalar is fine enough, as in ultrasound, each trace has doubles besides.
            let storage = coordinate_storage(&coordinates);
            layout.coordinate_scalar = storage.scalar;
            layout.segy.trace_extensions = storage.extended.into();
        } else {
            layout.coordinate_scalar = coordinate_scalar(&coordinates);
        }
        layout.segy.format = spec.sample_format;
        layout.segy.revision = spec.revision;
        layout.segy.order = spec.byte_order.map(WordOrder::from).unwrap_or_default();
        Self { layout, all_traces }
    }

    /// The layout of a file of that many traces.
    fn layout(&self, traces: usize) -> TraceLayout {
        TraceLayout { traces: traces as u64, ..self.layout.clone() }
    }

    /// Whether the format can hold the traces.
    pub(super) fn check(&self, path: &Path) -> Result<(), Failure> {
        let headers = matches!(self.layout.format, Format::Segy | Format::Su);
        let extended = self.layout.segy.trace_extensions > 0;
        if headers && !extended && self.layout.coordinate_scalar.is_none() {
            return Err(Failure::BadInput(format!(
                "{}: coordinates beyond 2,147,483 km do not fit {}: write RSF or npy",
                path.display(),
                self.layout.format.name()
            )));
        }
        self.layout(self.all_traces).check(path).map_err(Failure::input)
    }
}

/// Everything that goes into a coordinate field; a spread that shots share counts once.
fn coordinates(survey: &Survey) -> Vec<f64> {
    let mut all = Vec::new();
    let mut last = None;
    for shot in &survey.shots {
        all.extend(shot.sources[0].position);
        let label = &shot.label;
        all.extend([label.source_elevation, label.source_depth, label.datum]);
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
            "Scheme: {} in space, leapfrog in time, dt {:e} s",
            survey.spec.operator,
            survey.dt()
        ),
        format!("Boundaries: {}", boundaries(survey)),
        format!("Peak frequency: {} Hz", survey.band.peak_hz),
        format!("Shots: {}; t = 0 is the start of the wavelet's series", survey.shots.len()),
        elevations(survey),
    ];
    if survey.spec.correct_dispersion {
        lines.push("Time dispersion was corrected".into());
    }
    if survey.shots.iter().any(|shot| shot.sources.len() > 1) {
        lines.push("Shots of several sources: coordinates are those of the first".into());
    }
    lines
}

/// How elevations and depths of headers follow from z.
fn elevations(survey: &Survey) -> String {
    let datum = survey.shots[0].label.datum;
    let z = "z is depth, positive downwards; elevations are";
    if datum.to_bits() == 0 { format!("{z} its negative") } else { format!("{z} {datum} m - z") }
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
pub(super) struct TraceFile(TraceWriter);

impl TraceFile {
    /// Starts a file for `traces` traces.
    pub(super) fn create(
        path: &Path,
        geometry: &Geometry,
        traces: usize,
    ) -> Result<Self, BoxError> {
        Ok(Self(TraceWriter::create(path, &geometry.layout(traces))?))
    }

    /// Goes on with a file of all shots after `done` traces.
    pub(super) fn resume(path: &Path, geometry: &Geometry, done: u64) -> Result<Self, BoxError> {
        let layout = geometry.layout(geometry.all_traces);
        Ok(Self(TraceWriter::resume(path, &layout, done)?))
    }

    /// Appends a shot's traces.
    pub(super) fn append(&mut self, shot: &Shot, gather: &Gather) -> Result<(), BoxError> {
        for n in 0..shot.receivers.len() {
            let header = trace_header(shot, n);
            match &gather.samples {
                TraceSamples::F32(all) => self.write(&header, &all.row(n))?,
                TraceSamples::F64(all) => self.write(&header, &all.row(n))?,
            }
        }
        Ok(())
    }

    fn write<R: Real>(
        &mut self,
        header: &TraceHeader,
        samples: &ArrayView1<'_, R>,
    ) -> Result<(), BoxError> {
        let header = HeaderOf::Decoded(header);
        match samples.as_slice() {
            Some(samples) => self.0.write(header, samples)?,
            None => self.0.write(header, &samples.to_vec())?,
        }
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<(), BoxError> {
        Ok(self.0.sync()?)
    }

    pub(super) fn finish(mut self) -> Result<(), BoxError> {
        let lost = self.0.losses().saturated;
        if lost > 0 {
            tracing::warn!("{lost} samples were beyond the range of the SEG-Y sample format");
        }
        self.sync()
    }
}

fn trace_header(shot: &Shot, receiver: usize) -> TraceHeader {
    let number = i32::try_from(shot.id).unwrap_or(i32::MAX);
    let (label, source, at) = (&shot.label, shot.sources[0].position, shot.receivers[receiver]);
    TraceHeader {
        field_record: number,
        trace_in_record: i32::try_from(receiver + 1).unwrap_or(i32::MAX),
        source_point: i32::try_from(label.source_point).unwrap_or(i32::MAX),
        source: [source[0], source[1], label.source_depth],
        source_elevation: label.source_elevation,
        receiver: [at[0], at[1], at[2] - label.datum],
        ..TraceHeader::default()
    }
}
