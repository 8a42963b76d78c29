//! `temblor patch`: hyperbolic systems of one's own on patches.

mod build;
mod check;
mod emit;
mod files;
mod list;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use temblor_backend::Backend;
use temblor_patch::Kernel;

use crate::backends;
use crate::exit::Failure;

/// Arguments of `temblor patch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  temblor patch list                     physics and schemes that ship
  temblor patch check sod.toml           step, memory, work; no run
  temblor patch run sod.toml             run it: fields, plots, errors
  temblor patch run sod.toml --resume    go on where an interrupted run stopped
  temblor patch emit sod.toml --stage c  the kernel as C
  temblor patch build sod.toml --out k   the kernel for an engine of your own")]
pub struct PatchArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PatchCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum PatchCommand {
    /// Run a run file: fields, plots, errors against an exact solution
    Run(run::RunArgs),
    /// Say everything that can be known before a run
    Check(check::CheckArgs),
    /// Print a kernel at any stage of its making
    Emit(emit::EmitArgs),
    /// Write a kernel as C and CUDA for an engine of your own
    Build(build::BuildArgs),
    /// List the physics and schemes that ship
    List,
}

/// A run file.
#[derive(Debug, Clone, Args)]
pub struct FileArg {
    /// Run file (TOML); `examples/patch` has some to start from
    #[arg(value_name = "RUN_FILE")]
    pub path: PathBuf,
}

/// Where to run.
#[derive(Debug, Clone, Args)]
pub struct DeviceArg {
    /// Backend: auto, or a name from `temblor devices`; cuda:1 is its device 1
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: String,
}

/// Runs a command.
///
/// # Errors
/// Those of the commands.
pub fn run(args: &PatchArgs, quiet: bool) -> anyhow::Result<()> {
    match &args.command {
        PatchCommand::Run(args) => run::run(args, quiet),
        PatchCommand::Check(args) => check::run(args),
        PatchCommand::Emit(args) => emit::run(args),
        PatchCommand::Build(args) => build::run(args),
        PatchCommand::List => list::run(),
    }
}

/// Opens a backend for a kernel.
fn open(name: &str, kernel: &Kernel) -> Result<Box<dyn Backend>, Failure> {
    backends::open_where(name, |backend| {
        backend.patch_schedules(kernel).map(|_| ()).map_err(|why| why.to_string())
    })
}

/// Bytes in words.
fn mib(bytes: u64) -> String {
    format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20))
}
