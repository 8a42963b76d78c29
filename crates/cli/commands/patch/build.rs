//! `temblor patch build`: a kernel as C and CUDA for somebody else's engine.

use std::path::PathBuf;

use clap::Args;
use temblor_patch::export;

use super::FileArg;
use crate::exit::Failure;
use crate::patchfile::PatchJob;

/// Arguments of `temblor patch build`.
#[derive(Debug, Args)]
#[command(after_help = "\
The folder gets kernel.h, kernel.c, kernel.cu and a README: nothing of temblor
is needed to compile or to run them.

Example:
  temblor patch build sod.toml --out kernel")]
pub struct BuildArgs {
    /// Whose kernel.
    #[command(flatten)]
    pub file: FileArg,
    /// Folder for the texts
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Writes a kernel's library.
///
/// # Errors
/// Bad input, as for a run; a folder that cannot be written.
pub(super) fn run(args: &BuildArgs) -> anyhow::Result<()> {
    let job = PatchJob::open(&args.file.path)?;
    let files = export::files(&job.problem.kernel).map_err(Failure::input)?;
    let written = export::write(&files, &args.out).map_err(|error| {
        Failure::output(format!("cannot write into {}: {error}", args.out.display()))
    })?;
    for path in written {
        println!("{}", path.display());
    }
    Ok(())
}
