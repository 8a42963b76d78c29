//! The command line.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};
use temblor_physics::Arithmetic;

use crate::commands::{
    bench, check, completions, conformance, devices, init, io, model, operator, patch, run, show,
    tune, verify,
};
use crate::{exit, provenance};

const EXAMPLES: &str = "\
Examples:
  temblor init shot.toml            a commented run file that runs as it is
  temblor check shot.toml           time step, resolution, memory; no run
  temblor run shot.toml             run it: traces and a report
  temblor run --resume survey.toml  go on where an interrupted run stopped
  temblor show shot.sgy             a picture of a gather, a model or a snapshot
  temblor io describe data.su       what a file is, headers, statistics
  temblor patch run sod.toml        a hyperbolic system of your own, on patches
  temblor verify --quick            the physics self-test on this machine
  temblor devices                   what can run here
  temblor --help                    longer help, with the exit codes";

/// Seismic wave propagation on structured grids.
///
/// A run file and a velocity model in, a shot gather out: acoustic waves in 2-D and 3-D by finite
/// differences, with absorbing layers, free surfaces, and SEG-Y on disk. `temblor init` writes a run
/// file to start from.
#[derive(Debug, Parser)]
#[command(
    name = "temblor",
    version,
    long_version = provenance::LONG_VERSION,
    after_help = EXAMPLES,
    after_long_help = long_help(),
    max_term_width = 80,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Options of all commands.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", exit::TABLE)
}

/// Options of all commands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Threads to compute with [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Say more (twice: everything)
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Say errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(n) if (1..=4096).contains(&n) => Ok(n),
        _ => Err("give a number of threads from 1 to 4096".into()),
    }
}

/// Which backend, and which of its kernels.
#[derive(Debug, Clone, Args)]
pub struct BackendArgs {
    /// Backend: auto, or a name from `temblor devices`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: String,
    /// Kernel variant [default: the fastest known for the problem]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a run file: traces, snapshots, report
    Run(run::RunArgs),
    /// Say everything that can be known before a run
    Check(check::CheckArgs),
    /// Write a commented run file to start from
    Init(init::InitArgs),
    /// List backends, devices and what they can do
    Devices(devices::DevicesArgs),
    /// Measure which variant is fastest for a run file on this machine
    Tune(tune::TuneArgs),
    /// Measure kernels beside the machine's own limits
    Bench(Box<bench::BenchArgs>),
    /// Draw a gather, a model or a snapshot as PNG
    Show(show::ShowArgs),
    /// Make, describe and convert velocity models
    Model(model::ModelArgs),
    /// Show weights, dispersion and limits of operators
    Operator(operator::OperatorArgs),
    /// Describe and convert seismic files, print trace headers
    Io(io::IoArgs),
    /// Hyperbolic systems of your own on patches: run, check, emit
    Patch(patch::PatchArgs),
    /// Check the physics on a device: measured beside predicted
    Verify(verify::VerifyArgs),
    /// Run the matrix backend x variant x check: pass, fail, unsupported and why
    Conformance(conformance::ConformanceArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// What a run is computed with, before what the run file says.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct NumericsArgs {
    /// Choose the cheapest operator and the largest dt whose phase velocity is right to this, such
    /// as 0.1%, up to the highest frequency; [operator] is not looked at, and `cfl_fraction` bounds
    /// the step
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_dispersion: Option<f64>,
    /// Storage and arithmetic: f32, f64, int16+u16, int8-2x3 and others, see docs/arithmetic.md
    #[arg(long, value_name = "NAME")]
    pub arithmetic: Option<Arithmetic>,
    /// Most that reduced storage may cost traces, relative L2 after 2,000 steps [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_trace_error: Option<f64>,
    /// Drop the products of digits that the Laplacian is right to this without, relative rms of white data,
    /// such as 0.01%; of the digits that --arithmetic or [operator] names
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_laplacian_error: Option<f64>,
}

/// A number with a percent sign as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let refuse = || "give a percentage, such as 0.1%".to_owned();
    let value: f64 =
        text.strip_suffix('%').ok_or_else(refuse)?.trim().parse().map_err(|_| refuse())?;
    if value.is_finite() && value > 0.0 { Ok(value / 100.0) } else { Err(refuse()) }
}

/// A run file.
#[derive(Debug, Clone, Args)]
pub struct RunFileArg {
    /// Run file (TOML); `temblor init` writes one
    #[arg(value_name = "RUN_FILE")]
    pub path: PathBuf,
}
