//! Traces of any format that holds them: SEG-Y and SU with headers; RSF, npy and raw arrays, whose
//! fastest axis is time, without.

use std::path::{Path, PathBuf};

use crate::element::Real;
use crate::segy::{RawTraceHeader, SegyOptions, SegyReader, TraceHeader, WordOrder};
use crate::store::Store;
use crate::su::{self, SuOptions, SuReader};
use crate::volume::open::rsf_store;
use crate::{ByteOrder, Element, Error, Format, Result, Volume, VolumeOptions, identify, rsf};

/// Largest relative difference of two intervals that are the same.
const SAME: f64 = 1e-6;

/// What a file of traces is told to be, against what it says.
#[derive(Debug, Clone, Default)]
pub struct TraceOptions {
    /// Format; found from content and name if absent.
    pub format: Option<Format>,
    /// Byte order; what the file says or looks like if absent.
    pub order: Option<ByteOrder>,
    /// Time between samples, s, instead of the file's.
    pub interval: Option<f64>,
    /// Shape of a raw file (traces, 1, samples) and how to read it.
    pub raw: VolumeOptions,
    /// How to read SEG-Y.
    pub segy: SegyOptions,
}

/// An open file of traces of one length.
#[derive(Debug)]
pub struct Traces {
    path: PathBuf,
    inner: Inner,
    format: Format,
    interval: Option<f64>,
    start: f64,
    warnings: Vec<String>,
}

#[derive(Debug)]
enum Inner {
    Segy(Box<SegyReader>),
    Su(Box<SuReader>),
    Rsf { header: Box<rsf::RsfHeader>, store: Box<Store>, samples: usize, traces: u64 },
    Array(Box<Volume>),
}

impl Traces {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of its format's reader, and [`Error::Invalid`] for a format that holds no traces.
    pub fn open(path: impl AsRef<Path>, options: &TraceOptions) -> Result<Self> {
        let path = path.as_ref();
        let mut warnings = Vec::new();
        let format = match options.format {
            Some(format) => format,
            None => {
                let identity = identify(path)?;
                warnings = identity.warnings;
                identity.format
            }
        };
        let (inner, interval, start) = match format {
            Format::Segy => Self::open_segy(path, options, &mut warnings)?,
            Format::Su => Self::open_su(path, options, &mut warnings)?,
            Format::Rsf => Self::open_rsf(path, options, &mut warnings)?,
            Format::Npy | Format::Raw => {
                let raw = VolumeOptions {
                    format: Some(format),
                    order: options.order.or(options.raw.order),
                    spacing: None,
                    ..options.raw.clone()
                };
                let volume = Volume::open(path, &raw)?;
                warnings.extend_from_slice(volume.warnings());
                (Inner::Array(Box::new(volume)), None, 0.0)
            }
            format => {
                let got = format!("a {} file", format.name());
                let remedy = "it holds no traces: give SEG-Y, SU, RSF, npy or raw";
                return Err(Error::invalid(path, "the file", got, remedy));
            }
        };
        if let (Some(given), Some(own)) = (options.interval, interval)
            && (given - own).abs() > SAME * own
        {
            warnings.push(format!(
                "the file's sample interval is {own} s, {given} s was given: took the given one"
            ));
        }
        let interval = options.interval.or(interval);
        Ok(Self { path: path.to_owned(), inner, format, interval, start, warnings })
    }

    fn open_segy(
        path: &Path,
        options: &TraceOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(Inner, Option<f64>, f64)> {
        let mut segy = options.segy.clone();
        segy.order = options.order.map(WordOrder::from).or(segy.order);
        let reader = SegyReader::open(path, &segy)?;
        warnings.extend(reader.warnings().iter().map(ToString::to_string));
        let start = if reader.traces() > 0 { reader.header(0)?.decode().delay } else { 0.0 };
        let interval = Some(reader.sample_interval()).filter(|&dt| dt > 0.0);
        Ok((Inner::Segy(Box::new(reader)), interval, start))
    }

    fn open_su(
        path: &Path,
        options: &TraceOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(Inner, Option<f64>, f64)> {
        let reader = SuReader::open(path, &SuOptions { order: options.order })?;
        warnings.extend_from_slice(reader.warnings());
        let (interval, start) = (reader.sample_interval(), su::decode(&reader.header(0)?).delay);
        Ok((Inner::Su(Box::new(reader)), interval, start))
    }

    fn open_rsf(
        path: &Path,
        options: &TraceOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(Inner, Option<f64>, f64)> {
        let (header, file) = rsf::open(path, options.order)?;
        warnings.extend_from_slice(&header.warnings);
        let store = Box::new(rsf_store(path, &header, file)?);
        let samples = header.axes[0].n;
        let traces =
            header.axes[1..].iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.n as u64));
        let traces = traces.unwrap_or(u64::MAX);
        let time = &header.axes[0];
        let factor = match time.unit.as_deref().map(str::trim) {
            Some("ms" | "msec") => 1e-3,
            Some("us") => 1e-6,
            _ => 1.0,
        };
        let interval = time.d.filter(|&d| d > 0.0).map(|d| d * factor);
        let start = time.o.unwrap_or(0.0) * factor;
        Ok((Inner::Rsf { header: Box::new(header), store, samples, traces }, interval, start))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What is doubtful, with both values.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Number of traces.
    #[must_use]
    pub fn traces(&self) -> u64 {
        match &self.inner {
            Inner::Segy(reader) => reader.traces(),
            Inner::Su(reader) => reader.traces(),
            Inner::Rsf { traces, .. } => *traces,
            Inner::Array(volume) => {
                let [nx, ny, _] = volume.shape();
                nx as u64 * ny as u64
            }
        }
    }

    /// Whether traces differ in their numbers of samples, as those of SEG-Y may.
    #[must_use]
    pub fn is_variable(&self) -> bool {
        self.segy().is_some_and(SegyReader::is_variable)
    }

    /// Samples per trace, the largest number where traces differ.
    #[must_use]
    pub fn samples(&self) -> usize {
        match &self.inner {
            Inner::Segy(reader) => reader.samples(),
            Inner::Su(reader) => reader.samples(),
            Inner::Rsf { samples, .. } => *samples,
            Inner::Array(volume) => volume.shape()[2],
        }
    }

    /// Time between samples, s, as given or as the file says.
    #[must_use]
    pub fn sample_interval(&self) -> Option<f64> {
        self.interval
    }

    /// Time of the first sample of the first trace, s.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Byte order of the samples.
    #[must_use]
    pub fn order(&self) -> WordOrder {
        match &self.inner {
            Inner::Segy(reader) => reader.order(),
            Inner::Su(reader) => reader.order().into(),
            Inner::Rsf { header, .. } => header.order.into(),
            Inner::Array(volume) => volume.order().into(),
        }
    }

    /// Number format of the samples of an array.
    #[must_use]
    pub fn element(&self) -> Option<Element> {
        match &self.inner {
            Inner::Segy(_) => None,
            Inner::Su(_) => Some(Element::F32),
            Inner::Rsf { header, .. } => Some(header.element),
            Inner::Array(volume) => Some(volume.element()),
        }
    }

    /// The SEG-Y reader, for what only SEG-Y says.
    #[must_use]
    pub fn segy(&self) -> Option<&SegyReader> {
        match &self.inner {
            Inner::Segy(reader) => Some(reader),
            _ => None,
        }
    }

    /// Whether traces have headers.
    #[must_use]
    pub fn has_headers(&self) -> bool {
        matches!(self.inner, Inner::Segy(_) | Inner::Su(_))
    }

    /// Header of a trace, counted from 0, where the format has headers.
    ///
    /// # Errors
    /// [`Error::Trace`] if there is no such trace, [`Error::Io`].
    pub fn header(&self, trace: u64) -> Result<Option<RawTraceHeader>> {
        match &self.inner {
            Inner::Segy(reader) => reader.header(trace).map(Some),
            Inner::Su(reader) => reader.header(trace).map(Some),
            _ => Ok(None),
        }
    }

    /// Geometry of a trace, counted from 0, m and s, where the format has headers.
    ///
    /// # Errors
    /// As [`Traces::header`], and [`Error::Trace`] for coordinates that are angles.
    pub fn geometry(&self, trace: u64) -> Result<Option<TraceHeader>> {
        match &self.inner {
            Inner::Segy(reader) => reader.trace_header(trace).map(Some),
            Inner::Su(reader) => Ok(Some(su::decode(&reader.header(trace)?))),
            _ => Ok(None),
        }
    }

    /// Samples of a trace, counted from 0, in single precision.
    ///
    /// # Errors
    /// As [`Traces::header`].
    pub fn samples_of(&self, trace: u64) -> Result<Vec<f32>> {
        self.samples_as(trace)
    }

    /// Samples of a trace, counted from 0, in single or double precision.
    ///
    /// # Errors
    /// As [`Traces::header`].
    pub fn samples_as<R: Real>(&self, trace: u64) -> Result<Vec<R>> {
        let widened = |samples: Vec<f32>| samples.into_iter().map(R::of_f32).collect();
        match &self.inner {
            Inner::Segy(reader) if std::mem::size_of::<R>() > 4 => {
                Ok(reader.samples_f64_of(trace)?.into_iter().map(R::of_f64).collect())
            }
            Inner::Segy(reader) => reader.samples_of(trace).map(widened),
            Inner::Su(reader) => Ok(widened(reader.read(trace)?.1)),
            Inner::Rsf { header, store, samples, traces } => {
                self.check(trace, *traces)?;
                let mut out = vec![R::default(); *samples];
                store.read(&header.data, trace * *samples as u64, &mut Vec::new(), &mut out)?;
                Ok(out)
            }
            Inner::Array(volume) => {
                let [_, ny, nz] = volume.shape();
                self.check(trace, self.traces())?;
                let at = usize::try_from(trace).unwrap_or(usize::MAX);
                let values = volume.read_region_as([at / ny, at % ny, 0], [1, 1, nz])?;
                Ok(values.into_raw_vec_and_offset().0)
            }
        }
    }

    fn check(&self, trace: u64, traces: u64) -> Result<()> {
        if trace < traces {
            return Ok(());
        }
        Err(Error::Trace {
            path: self.path.clone(),
            trace: trace.saturating_add(1),
            what: "there is no such trace".into(),
            remedy: format!("the file has {traces}"),
        })
    }
}
