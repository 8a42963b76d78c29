//! `temblor verify`: the physics self-test on the user's own device.
//!
//! Runs the physics checks of `temblor_conformance` on a backend and prints what was measured beside
//! what theory predicts and what is allowed.

use clap::Args;
use temblor_backend::Backend;
use temblor_conformance::physics::SLOW;
use temblor_conformance::{CheckError, Outcome, physics_checks};

use crate::args::BackendArgs;
use crate::exit::Failure;

/// Arguments of `temblor verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Backend and variant; without a variant, all of them.
    #[command(flatten)]
    pub backend: BackendArgs,
    /// Leave out the checks that take longest
    #[arg(long)]
    pub quick: bool,
}

/// Runs the checks and prints the table; whether all passed.
///
/// # Errors
/// [`Failure::Unsupported`] if the backend has no variant of that name. A failed check is not an error.
pub fn run(args: &VerifyArgs, backend: &dyn Backend) -> anyhow::Result<bool> {
    let (device, offered) = (backend.device(), &backend.capabilities().variants);
    let variants = match &args.backend.variant {
        Some(name) if !offered.contains(name) => {
            let names = offered.join(", ");
            let message =
                format!("backend `{}` has no variant `{name}`; it has: {names}", device.backend);
            return Err(Failure::Unsupported(message).into());
        }
        Some(name) => vec![name.clone()],
        None => offered.clone(),
    };
    println!("{} on {} ({}), {}", device.backend, device.name, device.arch, device.driver);
    let (mut passed, mut failed, mut unsupported) = (0, 0, 0);
    for variant in &variants {
        println!("\n{variant}");
        println!("  {:>10} {:>10} {:>10}  verdict", "measured", "predicted", "bound");
        for check in physics_checks() {
            if args.quick && SLOW.contains(&check.name) {
                continue;
            }
            println!("{} ({})", check.name.replace('_', " "), check.about);
            match (check.run)(backend, variant) {
                Ok(outcomes) => {
                    outcomes.iter().for_each(print_outcome);
                    // A check that measures nothing has shown nothing.
                    let good = !outcomes.is_empty() && outcomes.iter().all(Outcome::passes);
                    if good { passed += 1 } else { failed += 1 }
                }
                Err(CheckError::Backend(temblor_backend::Error::Unsupported { what, .. })) => {
                    unsupported += 1;
                    println!("  not supported: {what}");
                }
                Err(error) => {
                    failed += 1;
                    println!("  FAILED: {:#}", anyhow::Error::new(error));
                }
            }
        }
    }
    println!("\n{passed} checks passed, {failed} failed, {unsupported} not supported");
    // With nothing run, nothing is verified.
    Ok(failed == 0 && passed > 0)
}

fn print_outcome(outcome: &Outcome) {
    let predicted = outcome.predicted.map_or_else(|| "-".to_owned(), |p| format!("{p:.3e}"));
    let verdict = if outcome.passes() { "ok" } else { "FAILED" };
    println!(
        "  {:>10.3e} {predicted:>10} {:>10.3e}  {verdict:6}  {}",
        outcome.measured, outcome.bound, outcome.quantity
    );
}
