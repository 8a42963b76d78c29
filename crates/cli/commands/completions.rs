//! `temblor completions`: completions for a shell, on stdout.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;

/// Arguments of `temblor completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  temblor completions bash > ~/.local/share/bash-completion/completions/temblor"
)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the completions.
///
/// # Errors
/// Never.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut command = Cli::command();
    clap_complete::generate(args.shell, &mut command, "temblor", &mut std::io::stdout());
    Ok(())
}
