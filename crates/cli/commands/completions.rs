//! `temblor completions`: completions for a shell, on stdout.

use clap::Args;
use clap_complete::Shell;

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

/// Prints the completions of a command line.
///
/// # Errors
/// Never.
pub fn run(args: &CompletionsArgs, mut command: clap::Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "temblor", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Ok(())
}
