//! temblor: wave propagation on structured grids, one solver, kernels tuned for each vendor.
//!
//! The way of data: [`runfile`] (run file to survey) -> `temblor_solver` (survey to gathers, on a
//! plan of one of [`backends`]) -> [`output`] (gathers to files). [`commands`] start it.
//! `temblor patch` goes by way of [`patchfile`].

pub use temblor_backend as backend;
pub use temblor_bench as bench;
pub use temblor_conformance as conformance;
pub use temblor_cpu as cpu;
pub use temblor_io as io;
pub use temblor_models as models;
pub use temblor_patch as patch;
pub use temblor_physics as physics;
pub use temblor_picture as picture;
pub use temblor_solver as solver;

pub mod args;
pub mod backends;
pub mod command_line;
pub mod commands;
pub mod exit;
pub mod nearest;
pub mod output;
pub mod patchfile;
pub mod preflight;
pub mod progress;
pub mod provenance;
pub mod runfile;
pub mod stop;
pub mod tune_cache;
pub mod watch;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::LevelFilter;

use command_line::{Cli, dispatch};

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are "errors" of the parser with exit code 0.
            let _ = error.print();
            let bad = error.exit_code() != 0;
            return if bad { exit::Code::BadInput.into() } else { ExitCode::SUCCESS };
        }
    };
    start_log(cli.global.verbose, cli.global.quiet);
    match dispatch(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", message(&error));
            exit::code_of(&error).into()
        }
    }
}

/// The chain of an error as one message, without repeating what a part already says.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for part in error.chain() {
        let part = part.to_string();
        if text.is_empty() {
            text = part;
        } else if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
    }
    text
}

fn start_log(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::INFO,
        (false, 1) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    // Fails only if a log was set before, as in a test that calls this twice.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .try_init();
}
