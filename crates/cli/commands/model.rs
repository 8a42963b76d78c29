//! `temblor model`: make, describe and convert velocity models.
//!
//! Describing and converting are those of `temblor io`, with the file taken as a volume.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::io::{self, ConvertArgs, DescribeArgs, Kind};
use super::make_model::{MakeArgs, make};
use super::reordered::parse_axes;
use super::volume_args::{ElementName, OrderName, VolumeArgs, bad_input, parse_spacing};

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
    Describe(DescribeModelArgs),
    /// Write a model in another format, element type or axis order
    Convert(ConvertModelArgs),
}

/// Arguments of `temblor model describe`.
#[derive(Debug, Clone, Args)]
pub struct DescribeModelArgs {
    /// SEG-Y, SU, RSF, npy, VTI or raw file
    pub file: PathBuf,
    /// Node spacing, m, instead of the file's
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// How to read the file.
    #[command(flatten)]
    pub volume: VolumeArgs,
}

/// Arguments of `temblor model convert`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    temblor model convert salt.bin vp.npy --shape 676,676,210\n  \
    temblor model convert marmousi.npy vp.npy --transpose          # (z, x) to (x, z)\n  \
    temblor model convert vp.npy vp.vti --spacing 25               # for ParaView\n  \
    temblor model convert vp.sgy vp.rsf")]
pub struct ConvertModelArgs {
    /// File to read: SEG-Y, SU, RSF, npy, VTI or raw
    pub input: PathBuf,
    /// File to write: .sgy, .su, .rsf, .npy, .vti, or raw with any other ending
    pub output: PathBuf,
    /// Element type to write [default: the file's, f4 for f2]
    #[arg(long, value_enum, value_name = "TYPE")]
    pub element: Option<ElementName>,
    /// Axes of the input from slowest to fastest; alone it means zyx: the order is reversed
    #[arg(long, value_name = "AXES", num_args = 0..=1, default_missing_value = "zyx",
          value_parser = parse_axes)]
    pub transpose: Option<[usize; 3]>,
    /// Write big endian
    #[arg(long)]
    pub big_endian: bool,
    /// Node spacing, m, instead of the file's
    #[arg(long, value_name = "M", value_parser = parse_spacing)]
    pub spacing: Option<[f64; 3]>,
    /// How to read the file.
    #[command(flatten)]
    pub volume: VolumeArgs,
}

/// Does what the arguments say.
///
/// # Errors
/// Bad input, or a file that cannot be read or written.
pub fn run(args: &ModelArgs, quiet: bool) -> Result<()> {
    let done = match &args.action {
        Action::Make(args) => make(args),
        Action::Describe(args) => io::describe(
            &DescribeArgs {
                files: vec![args.file.clone()],
                quick: false,
                kind: Some(Kind::Volume),
                spacing: args.spacing,
                dt_ms: None,
                reading: args.volume.clone(),
            },
            quiet,
        ),
        Action::Convert(args) => io::convert(
            &ConvertArgs {
                input: args.input.clone(),
                output: args.output.clone(),
                to: None,
                kind: Some(Kind::Volume),
                element: args.element,
                write_order: args.big_endian.then_some(OrderName::Big),
                sample_format: None,
                revision: None,
                write_x_fastest: false,
                transpose: args.transpose,
                spacing: args.spacing,
                origin: None,
                dt_ms: None,
                datum: 0.0,
                reading: args.volume.clone(),
            },
            quiet,
        ),
    };
    done.map_err(bad_input)
}

#[cfg(test)]
mod tests;
