//! Flags that say what a volume file does not say about itself.

use std::path::Path;

use crate::exit::Failure;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use temblor_io::segy::{HeaderMap, SampleFormat, SegyOptions};
use temblor_io::{ByteOrder, Element, Format, Identity, TraceOptions, Volume, VolumeOptions};

/// An error of a command whose own checks are all of its input; those of `temblor_io` keep their
/// kind.
pub(super) fn bad_input(error: anyhow::Error) -> anyhow::Error {
    if error.is::<temblor_io::Error>() {
        error
    } else {
        Failure::BadInput(format!("{error:#}")).into()
    }
}

/// Element types by their short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ElementName {
    /// 16-bit float.
    F2,
    /// 32-bit float.
    F4,
    /// 64-bit float.
    F8,
    /// 16-bit integer.
    I2,
    /// 32-bit integer.
    I4,
}

impl From<ElementName> for Element {
    fn from(name: ElementName) -> Self {
        match name {
            ElementName::F2 => Self::F16,
            ElementName::F4 => Self::F32,
            ElementName::F8 => Self::F64,
            ElementName::I2 => Self::I16,
            ElementName::I4 => Self::I32,
        }
    }
}

/// Byte orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OrderName {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl From<OrderName> for ByteOrder {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Little => Self::Little,
            OrderName::Big => Self::Big,
        }
    }
}

/// File formats by their short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// SEG-Y.
    Segy,
    /// Seismic Un*x.
    Su,
    /// Madagascar.
    Rsf,
    /// NumPy.
    Npy,
    /// VTK image data.
    Vti,
    /// Numbers alone.
    Raw,
    /// Points, as text.
    Csv,
    /// Points and relations, Shell's columns.
    Sps,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Segy => Self::Segy,
            FormatName::Su => Self::Su,
            FormatName::Rsf => Self::Rsf,
            FormatName::Npy => Self::Npy,
            FormatName::Vti => Self::Vti,
            FormatName::Raw => Self::Raw,
            FormatName::Csv => Self::Csv,
            FormatName::Sps => Self::Sps,
        }
    }
}

/// How to read a file that does not say it, or says it wrongly.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading the file")]
pub struct VolumeArgs {
    /// Format to read [default: by content, then by name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatName>,
    /// Shape as nx,ny,nz, or nx,nz; needed for raw files
    #[arg(long, value_parser = parse_shape, value_name = "NX,NY,NZ")]
    pub shape: Option<[usize; 3]>,
    /// Element type of a raw file
    #[arg(long, value_enum, default_value = "f4")]
    pub raw_element: Option<ElementName>,
    /// Byte order to read [default: found; little for raw files]
    #[arg(long, value_enum)]
    pub byte_order: Option<OrderName>,
    /// The raw file has x fastest instead of z
    #[arg(long)]
    pub x_fastest: bool,
    /// Bytes before the first element of a raw file
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub skip: u64,
    /// SEG-Y: sample format instead of the file's: ibm, ieee, f8, i2, ..
    #[arg(long, value_name = "FORMAT", value_parser = parse_sample_format)]
    pub segy_samples: Option<SampleFormat>,
    /// SEG-Y: places of header fields that are not the standard's, such as iline=9,cdpx=73:f4
    #[arg(long, value_name = "NAME=BYTE[:TYPE],..", value_parser = parse_header_map)]
    pub header_map: Option<HeaderMap>,
    /// SEG-Y: read the whole traces of a file that is cut short
    #[arg(long)]
    pub allow_truncated: bool,
}

impl VolumeArgs {
    /// How to read a volume; `spacing` overrides the file's.
    #[must_use]
    pub fn options(&self, spacing: Option<[f64; 3]>) -> VolumeOptions {
        VolumeOptions {
            format: self.format.map(Format::from),
            shape: self.shape,
            element: self.raw_element.map(Element::from).unwrap_or_default(),
            order: self.byte_order.map(ByteOrder::from),
            fortran: self.x_fastest,
            header_bytes: self.skip,
            spacing,
            segy: self.segy(),
        }
    }

    fn segy(&self) -> SegyOptions {
        SegyOptions {
            format: self.segy_samples,
            fields: self.header_map.clone().unwrap_or_default(),
            allow_truncated: self.allow_truncated,
            ..SegyOptions::default()
        }
    }

    /// How to read traces; `interval`, s, overrides the file's.
    #[must_use]
    pub fn trace_options(&self, interval: Option<f64>) -> TraceOptions {
        TraceOptions {
            format: self.format.map(Format::from),
            order: self.byte_order.map(ByteOrder::from),
            interval,
            raw: self.options(None),
            segy: self.segy(),
        }
    }

    /// What a file is, as told or as found.
    ///
    /// # Errors
    /// As [`temblor_io::identify()`].
    pub fn identify(&self, path: &Path) -> Result<Identity> {
        Ok(match self.format {
            Some(format) => Identity { format: format.into(), warnings: Vec::new() },
            None => temblor_io::identify(path)?,
        })
    }

    /// Opens a volume; `spacing` overrides the file's, and doubts go to the log.
    ///
    /// # Errors
    /// As [`Volume::open`].
    pub fn open(&self, path: &Path, spacing: Option<[f64; 3]>) -> Result<Volume> {
        match Volume::open(path, &self.options(spacing)) {
            Err(temblor_io::Error::Invalid { what, .. }) if what == "the shape" => {
                bail!(
                    "{} does not say its shape: give --shape nx,ny,nz (z fastest)",
                    path.display()
                )
            }
            Ok(volume) => {
                for warning in volume.warnings() {
                    tracing::warn!("{}: {warning}", path.display());
                }
                Ok(volume)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads `ibm`, `ieee` or the standard's code of a sample format.
///
/// # Errors
/// What to give instead.
pub fn parse_sample_format(text: &str) -> Result<SampleFormat, String> {
    let text = text.to_ascii_lowercase();
    let coded = || text.parse().ok().and_then(SampleFormat::from_code);
    let format = SampleFormat::from_name(&text).or_else(coded);
    format.ok_or_else(|| {
        "give ibm, ieee, f8, i1, i2, i3, i4, i8, u1, u2, u3, u4, u8, or the standard's code"
            .to_owned()
    })
}

fn parse_header_map(text: &str) -> Result<HeaderMap, String> {
    text.parse().map_err(|error: temblor_io::Error| error.to_string())
}

/// Reads `801,1,187`, `801x1x187` or, in 2-D, `801,187`.
///
/// # Errors
/// What to give instead.
pub fn parse_shape(text: &str) -> Result<[usize; 3], String> {
    let axes: Option<Vec<usize>> =
        text.split([',', 'x']).map(|n| n.trim().parse().ok().filter(|&n| n > 0)).collect();
    match axes.as_deref() {
        Some([nx, ny, nz]) => Ok([*nx, *ny, *nz]),
        Some([nx, nz]) => Ok([*nx, 1, *nz]),
        _ => Err("give nx,ny,nz or nx,nz: positive whole numbers".to_owned()),
    }
}

/// Reads `25` for all axes or `25,25,12.5`, m.
///
/// # Errors
/// What to give instead.
pub fn parse_spacing(text: &str) -> Result<[f64; 3], String> {
    let values: Option<Vec<f64>> = text
        .split(',')
        .map(|h| h.trim().parse().ok().filter(|h: &f64| h.is_finite() && *h > 0.0))
        .collect();
    match values.as_deref() {
        Some([h]) => Ok([*h; 3]),
        Some([hx, hz]) => Ok([*hx, *hx, *hz]),
        Some([hx, hy, hz]) => Ok([*hx, *hy, *hz]),
        _ => Err("give metres: one number for all axes, or hx,hy,hz".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_two_and_three_axes_are_read() {
        assert_eq!(parse_shape("801,187"), Ok([801, 1, 187]));
        assert_eq!(parse_shape("801x2x187"), Ok([801, 2, 187]));
        for wrong in ["801", "0,5", "a,b", "1,2,3,4", "-1,2"] {
            assert!(parse_shape(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_spacing_serves_all_axes() {
        assert_eq!(parse_spacing("25"), Ok([25.0; 3]));
        assert_eq!(parse_spacing("25,12.5"), Ok([25.0, 25.0, 12.5]));
        for wrong in ["0", "-1", "nan", "1,2,3,4"] {
            assert!(parse_spacing(wrong).is_err(), "{wrong}");
        }
    }
}
