//! The command line: options of all commands, the commands, and what each starts.

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use crate::commands::{
    bench, check, completions, conformance, devices, init, io, model, operator, patch, run, show,
    tune, verify,
};
use crate::{backends, exit, provenance};

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

/// Does what the command line asks for.
///
/// # Errors
/// Those of the command.
pub(crate) fn dispatch(cli: &Cli) -> anyhow::Result<()> {
    if let Some(threads) = cli.global.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    match &cli.command {
        Command::Run(args) => run::run(args, cli.global.quiet),
        Command::Check(args) => check::run(args),
        Command::Init(args) => init::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Tune(args) => tune::run(args, cli.global.quiet),
        Command::Bench(args) => bench::run(args, cli.global.quiet),
        Command::Show(args) => show::run(args),
        Command::Model(args) => model::run(args, cli.global.quiet),
        Command::Operator(args) => operator::run(args),
        Command::Patch(args) => patch::run(args, cli.global.quiet),
        Command::Verify(args) => {
            let backend = backends::open(&args.backend.backend)?;
            if verify::run(args, backend.as_ref())? {
                Ok(())
            } else {
                let message = "a physics check failed; the table names it";
                Err(exit::Failure::VerifyFailed(message.into()).into())
            }
        }
        Command::Conformance(args) => {
            if conformance::run(args)? {
                Ok(())
            } else {
                let message = "a check failed; the lines that begin with FAIL name it";
                Err(exit::Failure::VerifyFailed(message.into()).into())
            }
        }
        Command::Io(args) => io::run(args, cli.global.quiet),
        Command::Completions(args) => completions::run(args, Cli::command()),
    }
}
