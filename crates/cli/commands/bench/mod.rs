//! `temblor bench`: figures of backends, and comparisons of them.

pub mod compare;

use std::path::PathBuf;

use clap::Args;

use crate::exit::Failure;

/// Arguments of `temblor bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  temblor bench --compare old.json new.json --gate --threshold 5%")]
pub struct BenchArgs {
    /// Comparing instead of measuring.
    #[command(flatten)]
    pub compare: compare::CompareArgs,
    /// Write the comparison as a Markdown page
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// Compares two files.
///
/// # Errors
/// Those of [`compare::run`]; [`Failure::BadInput`] if nothing is asked for.
pub fn run(args: &BenchArgs) -> anyhow::Result<()> {
    if args.compare.asked() {
        return compare::run(&args.compare, args.markdown.as_deref());
    }
    Err(Failure::BadInput("give two files to compare: --compare OLD NEW".into()).into())
}
