//! `temblor bench`: figures of backends, and comparisons of them.

pub mod compare;

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
}

/// Compares two files.
///
/// # Errors
/// Those of [`compare::run`]; [`Failure::BadInput`] if nothing is asked for.
pub fn run(args: &BenchArgs) -> anyhow::Result<()> {
    if args.compare.asked() {
        return compare::run(&args.compare);
    }
    Err(Failure::BadInput("give two files to compare: --compare OLD NEW".into()).into())
}
