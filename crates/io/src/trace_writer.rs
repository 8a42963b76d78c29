//! Traces to any format that holds them, one after the other, with a place to go on from after a
//! crash.

use std::path::Path;

use crate::element::Real;
use crate::growing::GrowingFile;
use crate::rsf::{self, RsfAxis, RsfLayout};
use crate::segy::{Losses, RawTraceHeader, SegyHeader, SegyWriter, TraceHeader};
use crate::su::{SuHeader, SuWriter, reordered};
use crate::{ByteOrder, Element, Error, Format, Result, npy};

/// A file of traces to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceLayout {
    /// SEG-Y, SU, RSF or npy.
    pub format: Format,
    /// Samples per trace.
    pub samples: usize,
    /// Time between samples, s; SEG-Y and SU need it.
    pub interval: Option<f64>,
    /// Time of the first sample, s.
    pub start: f64,
    /// Traces in all: npy and RSF say it at the beginning.
    pub traces: u64,
    /// Traces of a shot where all have as many, else 0.
    pub traces_per_shot: usize,
    /// Number format of RSF and npy; SU holds singles, SEG-Y has a format of its own.
    pub element: Element,
    /// Byte order of SU, RSF and npy.
    pub order: ByteOrder,
    /// Lines for the text header of SEG-Y.
    pub text: Vec<String>,
    /// As [`SegyHeader::coordinate_scalar`].
    pub coordinate_scalar: Option<i16>,
    /// SEG-Y: what the file says besides the interval, the number of samples, the text and the
    /// scalar.
    pub segy: SegyHeader,
}

impl TraceLayout {
    /// Traces of `samples` singles, little endian where the format leaves it open.
    #[must_use]
    pub fn new(format: Format, samples: usize, interval: Option<f64>, traces: u64) -> Self {
        Self {
            format,
            samples,
            interval,
            start: 0.0,
            traces,
            traces_per_shot: 0,
            element: Element::F32,
            order: ByteOrder::Little,
            text: Vec::new(),
            coordinate_scalar: None,
            segy: SegyHeader::default(),
        }
    }

    fn segy(&self, path: &Path) -> Result<SegyHeader> {
        let mut header = self.segy.clone();
        (header.sample_interval, header.samples) = (self.need_interval(path)?, self.samples);
        if !self.text.is_empty() {
            header.text.clone_from(&self.text);
        }
        header.traces_per_record = self.traces_per_shot;
        header.coordinate_scalar = self.coordinate_scalar;
        Ok(header)
    }

    fn su(&self, path: &Path) -> Result<SuHeader> {
        let mut header = SuHeader::new(self.need_interval(path)?, self.samples);
        header.order = self.order;
        header.coordinate_scalar = self.coordinate_scalar;
        Ok(header)
    }

    fn need_interval(&self, path: &Path) -> Result<f64> {
        self.interval.ok_or_else(|| {
            let remedy = format!("{} needs one: give it", self.format.name());
            Error::invalid(path, "the sample interval", "unknown", remedy)
        })
    }

    /// What stands before the samples of RSF and npy files.
    fn head(&self, path: &Path) -> Result<Vec<u8>> {
        let traces = usize::try_from(self.traces).unwrap_or(usize::MAX);
        match self.format {
            Format::Npy => {
                let shape = [traces, self.samples];
                Ok(npy::header_bytes_as(self.element, self.order, false, &shape))
            }
            Format::Rsf => rsf::header_bytes(&self.rsf(traces)).ok_or_else(|| {
                let got = self.element.name();
                Error::invalid(path, "the element type", got, "RSF knows f4, f8, i2 and i4")
            }),
            format => {
                let remedy = "traces are written as SEG-Y, SU, RSF and npy";
                Err(Error::invalid(path, "the format", format.name(), remedy))
            }
        }
    }

    fn rsf(&self, traces: usize) -> RsfLayout {
        let named = |n, label: &str| RsfAxis {
            n,
            o: Some(1.0),
            d: Some(1.0),
            label: Some(label.to_owned()),
            unit: None,
        };
        let mut axes = vec![RsfAxis {
            n: self.samples,
            o: Some(self.start),
            d: self.interval,
            label: Some("Time".into()),
            unit: Some("s".into()),
        }];
        let shot = self.traces_per_shot;
        if shot > 0 && traces > shot && traces.is_multiple_of(shot) {
            axes.extend([named(shot, "Trace"), named(traces / shot, "Shot")]);
        } else {
            axes.push(named(traces, "Trace"));
        }
        RsfLayout { axes, element: self.element, order: self.order, label: None, unit: None }
    }

    /// Whether the format can hold the traces; `path` is named in the error.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the value and what would fit.
    pub fn check(&self, path: &Path) -> Result<()> {
        match self.format {
            Format::Segy => self.segy(path)?.check(path),
            Format::Su => self.su(path)?.check(path).map(drop),
            _ => self.head(path).map(drop),
        }
    }
}

/// What is known of a trace besides its samples.
#[derive(Debug, Clone, Copy)]
pub enum HeaderOf<'a> {
    /// Geometry and numbers.
    Decoded(&'a TraceHeader),
    /// The header of a SEG-Y trace as it is, with its extensions.
    Segy(&'a RawTraceHeader, &'a [u8]),
    /// The header of an SU trace as it is.
    Su(&'a RawTraceHeader),
}

/// A file of traces that grows; the name is taken as given, as with [`SegyWriter`].
#[derive(Debug)]
pub struct TraceWriter {
    layout: TraceLayout,
    inner: Inner,
    buffer: Vec<u8>,
    single: Vec<f32>,
    double: Vec<f64>,
}

#[derive(Debug)]
enum Inner {
    Segy(Box<SegyWriter>),
    Su(Box<SuWriter>),
    Rows(GrowingFile),
}

impl TraceWriter {
    /// Starts a file, replacing what has the name.
    ///
    /// # Errors
    /// As [`TraceLayout::check`], [`Error::Io`], [`Error::DiskFull`].
    pub fn create(path: impl AsRef<Path>, layout: &TraceLayout) -> Result<Self> {
        Self::start(path.as_ref(), layout, None)
    }

    /// Goes on with a file after its first `traces` traces; what follows them is cut off.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file has another header or fewer traces, [`Error::Io`].
    pub fn resume(path: impl AsRef<Path>, layout: &TraceLayout, traces: u64) -> Result<Self> {
        Self::start(path.as_ref(), layout, Some(traces))
    }

    fn start(path: &Path, layout: &TraceLayout, done: Option<u64>) -> Result<Self> {
        let inner = match layout.format {
            Format::Segy => {
                let header = layout.segy(path)?;
                Inner::Segy(Box::new(match done {
                    None => SegyWriter::create(path, &header)?,
                    Some(done) => SegyWriter::resume(path, &header, done)?,
                }))
            }
            Format::Su => {
                let header = layout.su(path)?;
                Inner::Su(Box::new(match done {
                    None => SuWriter::create(path, &header)?,
                    Some(done) => SuWriter::resume(path, &header, done)?,
                }))
            }
            _ => {
                let head = layout.head(path)?;
                let row = layout.samples * layout.element.bytes();
                Inner::Rows(match done {
                    None => GrowingFile::create(path, &head, row)?,
                    Some(done) => GrowingFile::resume(path, &head, row, done)?,
                })
            }
        };
        Ok(Self {
            layout: layout.clone(),
            inner,
            buffer: Vec::new(),
            single: Vec::new(),
            double: Vec::new(),
        })
    }

    /// Appends a trace; RSF and npy have no place for its header.
    ///
    /// # Errors
    /// [`Error::Trace`] if the number of samples differs, or the geometry or a sample does not fit,
    /// [`Error::Io`], [`Error::DiskFull`].
    ///
    /// # Panics
    /// If an array gets a trace of another length.
    pub fn write<R: Real>(&mut self, header: HeaderOf<'_>, samples: &[R]) -> Result<()> {
        self.single.clear();
        match &mut self.inner {
            Inner::Segy(writer) => {
                let wide = std::mem::size_of::<R>() > 4;
                self.double.clear();
                if wide {
                    self.double.extend(samples.iter().map(|v| v.to_f64()));
                } else {
                    self.single.extend(samples.iter().map(|v| v.to_f32()));
                }
                let (raw, extensions) = match header {
                    HeaderOf::Decoded(header) if wide => {
                        return writer.write_trace_f64(header, &self.double);
                    }
                    HeaderOf::Decoded(header) => return writer.write_trace(header, &self.single),
                    HeaderOf::Segy(header, extensions) => (*header, extensions),
                    HeaderOf::Su(header) => (reordered(header, header.order, false), &[][..]),
                };
                if wide {
                    writer.write_raw_f64(&raw, extensions, &self.double)
                } else {
                    writer.write_raw(&raw, extensions, &self.single)
                }
            }
            Inner::Su(writer) => {
                let infinite = |v: &R| v.to_f32().is_infinite() && v.to_f64().is_finite();
                if let Some(n) = samples.iter().position(infinite) {
                    let got = samples[n];
                    return Err(writer.refused(n, &got));
                }
                self.single.extend(samples.iter().map(|v| v.to_f32()));
                match header {
                    HeaderOf::Decoded(header) => writer.write_trace(header, &self.single),
                    HeaderOf::Su(header) => writer.write_raw(header, &self.single),
                    HeaderOf::Segy(header, _) => {
                        let mut turned = reordered(header, self.layout.order, false);
                        turned.set_i16(109, writer.delay(header)?);
                        writer.write_raw(&turned, &self.single)
                    }
                }
            }
            Inner::Rows(file) => {
                assert_eq!(samples.len(), self.layout.samples, "samples of a trace");
                self.buffer.clear();
                let element = self.layout.element;
                element.encode(self.layout.order, samples, &mut self.buffer).map_err(|n| {
                    let got = format!("{} (trace {})", samples[n], file.rows() + 1);
                    let other = if element == Element::F32 { "f8" } else { "f4 or f8" };
                    let remedy = format!("{} cannot hold it: write {other}", element.name());
                    Error::invalid(file.path(), format!("sample {}", n + 1), got, remedy)
                })?;
                file.append(&self.buffer)
            }
        }
    }

    /// What SEG-Y's sample format could not hold so far.
    #[must_use]
    pub fn losses(&self) -> Losses {
        match &self.inner {
            Inner::Segy(writer) => writer.losses(),
            _ => Losses::default(),
        }
    }

    /// Traces so far, those kept by [`TraceWriter::resume`] included.
    #[must_use]
    pub fn traces(&self) -> u64 {
        match &self.inner {
            Inner::Segy(writer) => writer.traces(),
            Inner::Su(writer) => writer.traces(),
            Inner::Rows(file) => file.rows(),
        }
    }

    /// Puts all traces so far on the disk; they survive a crash from here on.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn sync(&mut self) -> Result<()> {
        match &mut self.inner {
            Inner::Segy(writer) => writer.sync(),
            Inner::Su(writer) => writer.sync(),
            Inner::Rows(file) => file.sync(),
        }
    }

    /// Puts everything on the disk and closes the file.
    ///
    /// # Errors
    /// As [`TraceWriter::sync`].
    pub fn finish(mut self) -> Result<()> {
        self.sync()
    }
}
