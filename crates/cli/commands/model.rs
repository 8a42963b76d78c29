//! `temblor model`: make, describe and convert velocity models.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use ndarray::{Array3, Axis};
use temblor_io::{ArrayWriter, ByteOrder, Element, Volume, npy, raw, vti};

use super::make_model::{MakeArgs, make};
use super::volume_args::{ElementName, VolumeArgs, bad_input, parse_spacing};

/// Bytes of a slab; models of any size are handled in pieces of about this.
const SLAB_BYTES: usize = 32 << 20;

/// Arguments of `temblor model`.
#[derive(Debug, Clone, Args)]
#[command(about = "Make, describe and convert velocity models")]
pub struct ModelArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What `temblor model` does.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Make a synthetic model
    Make(MakeArgs),
    /// Print shape, range and suspicious values of a model
    Describe(DescribeArgs),
    /// Write a model in another format, element type or axis order
    Convert(ConvertArgs),
}

/// Arguments of `temblor model describe`.
#[derive(Debug, Clone, Args)]
pub struct DescribeArgs {
    /// npy or raw file
    pub file: PathBuf,
    /// Node spacing, m, to print the extent
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// How to read raw files.
    #[command(flatten)]
    pub volume: VolumeArgs,
}

/// Arguments of `temblor model convert`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    temblor model convert salt.bin vp.npy --shape 676,676,210\n  \
    temblor model convert marmousi.npy vp.npy --transpose          # (z, x) to (x, z)\n  \
    temblor model convert vp.npy vp.vti --spacing 25               # for ParaView")]
pub struct ConvertArgs {
    /// npy or raw file to read
    pub input: PathBuf,
    /// File to write: .npy, .vti, or raw with any other ending
    pub output: PathBuf,
    /// Element type to write (default: i2 and i4 stay, floats become f4); values pass through f4
    #[arg(long, value_enum)]
    pub element: Option<ElementName>,
    /// Axes of the input from slowest to fastest; alone it means zyx: the order is reversed
    #[arg(long, value_name = "AXES", num_args = 0..=1, default_missing_value = "zyx",
          value_parser = parse_axes)]
    pub transpose: Option<[usize; 3]>,
    /// Byte order to write, raw files only
    #[arg(long)]
    pub big_endian: bool,
    /// Node spacing, m, for vti
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// How to read raw files.
    #[command(flatten)]
    pub volume: VolumeArgs,
}

/// Does what the arguments say.
///
/// # Errors
/// Bad input, or a file that cannot be read or written.
pub fn run(args: &ModelArgs) -> Result<()> {
    let done = match &args.action {
        Action::Make(args) => make(args),
        Action::Describe(args) => describe(args),
        Action::Convert(args) => convert(args),
    };
    done.map_err(bad_input)
}

fn describe(args: &DescribeArgs) -> Result<()> {
    let volume = args.volume.open(&args.file)?;
    print!("{}", description(&volume, args.spacing)?);
    Ok(())
}

/// What `describe` prints.
fn description(volume: &Volume, spacing: Option<[f64; 3]>) -> Result<String> {
    use std::fmt::Write as _;
    let found = volume.statistics()?;
    let [nx, ny, nz] = volume.shape();
    let order = match volume.order() {
        ByteOrder::Little => "little endian",
        ByteOrder::Big => "big endian",
    };
    let fastest = if volume.fortran() { "x fastest" } else { "z fastest" };
    let mut text = String::new();
    let points = nx as u64 * ny as u64 * nz as u64;
    writeln!(text, "{}", volume.path().display())?;
    writeln!(text, "  shape     ({nx}, {ny}, {nz}) = (x, y, z), {points} nodes")?;
    writeln!(text, "  elements  {}, {order}, {fastest}", volume.element().name())?;
    if let Some(h) = spacing {
        let [x, y, z] = [0, 1, 2].map(|a| (volume.shape()[a] - 1) as f64 * h[a]);
        writeln!(text, "  extent    {x} x {y} x {z} m")?;
    }
    if found.max >= found.min {
        writeln!(text, "  values    {} to {}, mean {:.6}", found.min, found.max, found.mean)?;
    }
    match found.first_not_finite() {
        Some(node) => writeln!(text, "  NaN or infinite, first at node {node:?}")?,
        None => writeln!(text, "  all values are finite")?,
    }
    if let Some(node) = found.first_not_positive() {
        writeln!(text, "  zero or negative, first at node {node:?}: not a wave speed")?;
    }
    Ok(text)
}

fn convert(args: &ConvertArgs) -> Result<()> {
    ensure!(args.input != args.output, "input and output are the same file: name another output");
    let volume = args.volume.open(&args.input)?;
    let axes = args.transpose.unwrap_or([0, 1, 2]);
    let source = Source { volume: &volume, axes };
    let shape = source.shape();
    let element = args.element.map(Element::from).unwrap_or(match volume.element() {
        integer @ (Element::I16 | Element::I32) => integer,
        _ => Element::F32,
    });
    let order = if args.big_endian { ByteOrder::Big } else { ByteOrder::Little };
    let planes = |start, count| source.region([start, 0, 0], [count, shape[1], shape[2]]);
    match extension(&args.output).as_deref() {
        Some("vti") => {
            ensure!(
                args.element.is_none_or(|e| e == ElementName::F4),
                "vti files are written as f4: leave --element out"
            );
            let header = vti::VtiHeader {
                shape,
                spacing: args.spacing.unwrap_or([1.0; 3]),
                origin: [0.0; 3],
                name: "wave_speed".to_owned(),
            };
            let thickness = slab(shape[0] * shape[1]);
            vti::write_pieces(&args.output, &header, thickness, |start, count| {
                source.region([0, 0, start], [shape[0], shape[1], count])
            })?;
        }
        Some("npy") => {
            ensure!(
                !args.big_endian,
                "npy files are written little endian: leave --big-endian out"
            );
            write_volume(&Target::Npy(&args.output), shape, element, planes)?;
        }
        _ => write_volume(&Target::Raw(&args.output, order), shape, element, planes)?,
    }
    let [nx, ny, nz] = shape;
    println!("{}: shape ({nx}, {ny}, {nz})", args.output.display());
    Ok(())
}

/// A volume with its axes put in order.
struct Source<'a> {
    volume: &'a Volume,
    /// Which of x, y, z each axis of the volume is.
    axes: [usize; 3],
}

impl Source<'_> {
    /// The volume's axis that is x, y, z.
    fn places(&self) -> [usize; 3] {
        let mut places = [0; 3];
        for (place, &axis) in self.axes.iter().enumerate() {
            places[axis] = place;
        }
        places
    }

    fn shape(&self) -> [usize; 3] {
        self.places().map(|place| self.volume.shape()[place])
    }

    fn region(&self, start: [usize; 3], shape: [usize; 3]) -> temblor_io::Result<Array3<f32>> {
        let region = self
            .volume
            .read_region(self.axes.map(|axis| start[axis]), self.axes.map(|axis| shape[axis]))?;
        Ok(region.permuted_axes(self.places()))
    }
}

/// Where a volume goes.
pub(super) enum Target<'a> {
    /// `NumPy`'s format.
    Npy(&'a Path),
    /// Elements and nothing else.
    Raw(&'a Path, ByteOrder),
}

impl Target<'_> {
    fn writer<T: temblor_io::Sample>(
        &self,
        shape: [usize; 3],
    ) -> temblor_io::Result<ArrayWriter<T>> {
        match self {
            // 2-D models are stored with two axes, as the world does.
            Self::Npy(path) if shape[1] == 1 => npy::writer(path, &[shape[0], shape[2]]),
            Self::Npy(path) => npy::writer(path, &shape),
            Self::Raw(path, order) => {
                raw::writer(path, shape.iter().map(|&n| n as u64).product(), *order)
            }
        }
    }
}

/// Nodes of a slab's plane to planes of a slab.
fn slab(plane: usize) -> usize {
    (SLAB_BYTES / (4 * plane.max(1))).max(1)
}

/// Writes a volume slab by slab.
pub(super) fn write_volume(
    target: &Target<'_>,
    shape: [usize; 3],
    element: Element,
    planes: impl Fn(usize, usize) -> temblor_io::Result<Array3<f32>>,
) -> Result<()> {
    match element {
        Element::F16 => {
            bail!("f2 loses digits that wave speeds need: use --element f4, f8 or i2")
        }
        Element::F32 => write_as(target, shape, planes, Ok),
        Element::F64 => write_as(target, shape, planes, |v| Ok(f64::from(v))),
        Element::I16 => write_as(target, shape, planes, |v| whole(v, i16::MIN, i16::MAX)),
        Element::I32 => write_as(target, shape, planes, |v| whole(v, i32::MIN, i32::MAX)),
    }
}

fn write_as<T: temblor_io::Sample>(
    target: &Target<'_>,
    shape: [usize; 3],
    planes: impl Fn(usize, usize) -> temblor_io::Result<Array3<f32>>,
    number: impl Fn(f32) -> Result<T>,
) -> Result<()> {
    let mut writer = target.writer::<T>(shape)?;
    let thickness = slab(shape[1] * shape[2]);
    for start in (0..shape[0]).step_by(thickness) {
        let slab = planes(start, thickness.min(shape[0] - start))?;
        for plane in slab.axis_iter(Axis(0)) {
            let numbers = plane.iter().map(|&v| number(v)).collect::<Result<Vec<T>>>()?;
            writer.write(&numbers)?;
        }
    }
    writer.finish()?;
    Ok(())
}

/// The nearest whole number of an integer type.
fn whole<T: Copy + TryFrom<i64> + std::fmt::Display>(value: f32, least: T, most: T) -> Result<T> {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and the range is checked next")]
    let rounded = value.round() as i64;
    let fits = if value.is_finite() { T::try_from(rounded).ok() } else { None };
    fits.with_context(|| {
        format!("{value} does not fit integers from {least} to {most}: use --element f4")
    })
}

pub(super) fn extension(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase())
}

/// Reads `zyx` or `zx` as which of x, y, z each axis is, slowest first.
fn parse_axes(text: &str) -> Result<[usize; 3], String> {
    let text = if text.len() == 2 { format!("{}y{}", &text[..1], &text[1..]) } else { text.into() };
    let axes: Option<Vec<usize>> = text.chars().map(|c| "xyz".find(c)).collect();
    let axes = axes.and_then(|axes| <[usize; 3]>::try_from(axes).ok());
    axes.filter(|axes| (0..3).all(|a| axes.contains(&a)))
        .ok_or_else(|| "give the file's axes from slowest to fastest, such as zyx".to_owned())
}

#[cfg(test)]
mod tests;
