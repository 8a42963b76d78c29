//! `temblor io`: what a file is, conversions, trace headers.

mod convert;
mod describe;
mod headers;
mod points;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::volume_args::bad_input;

pub use convert::ConvertArgs;
pub(super) use convert::run as convert;
pub use describe::{DescribeArgs, Kind};
pub(super) use describe::{run as describe, usual_kind};
pub use headers::HeadersArgs;

/// Arguments of `temblor io`.
#[derive(Debug, Clone, Args)]
#[command(about = "Describe and convert seismic files, print trace headers")]
pub struct IoArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What `temblor io` does.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Say what files are: dialect, shape, geometry, statistics, doubts
    Describe(DescribeArgs),
    /// Write a file in another format
    Convert(Box<ConvertArgs>),
    /// Print fields of trace headers as a table or CSV
    Headers(HeadersArgs),
}

/// Does what the arguments say.
///
/// # Errors
/// Bad input, a file that cannot be read or written, or a stop by Ctrl-C.
pub fn run(args: &IoArgs, quiet: bool) -> Result<()> {
    let done = match &args.action {
        Action::Describe(args) => describe::run(args, quiet),
        Action::Convert(args) => convert::run(args, quiet),
        Action::Headers(args) => headers::run(args),
    };
    done.map_err(bad_input)
}
