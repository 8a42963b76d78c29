//! `temblor init`: a commented run file that runs as it is.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::exit::Failure;

/// The run file that is written.
pub const TEMPLATE: &str = include_str!("init.toml");

/// Arguments of `temblor init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Where to write it; `-` prints it
    #[arg(value_name = "RUN_FILE", default_value = "shot.toml")]
    pub path: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

/// Writes the template.
///
/// # Errors
/// [`Failure::BadInput`] if the file exists, [`Failure::Output`] if it cannot be written.
pub fn run(args: &InitArgs) -> anyhow::Result<()> {
    if args.path.as_os_str() == "-" {
        std::io::stdout().write_all(TEMPLATE.as_bytes())?;
        return Ok(());
    }
    let shown = args.path.display();
    if args.path.exists() && !args.force {
        let message = format!("{shown} exists: choose another name, or --force to replace it");
        return Err(Failure::input(message).into());
    }
    temblor_io::atomic::write(&args.path, TEMPLATE.as_bytes()).map_err(Failure::output)?;
    println!("{shown} is written: `temblor check {shown}`, then `temblor run {shown}`");
    Ok(())
}
