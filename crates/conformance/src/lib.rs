//! What every backend must show: checks, bounds and the table of what is unsupported.
//!
//! Four families. *Contract*: a plan does what `temblor-backend` says. *Agreement*: a plan computes
//! what `cpu-ref` computes, to a bound derived from the arithmetic. *Physics*: what it computes is
//! what theory says; these test the oracle too. *Arithmetic*: what reduced storage and digits err by. A
//! check knows a backend only as `dyn Backend` and a variant by name, so a new backend inherits all of
//! them.

pub mod agreement;
pub mod arithmetic;
pub mod contract;
mod orders;
pub mod physics;
pub mod setup;
pub mod unsupported;

use temblor_backend::Backend;

pub use physics::physics_checks;
pub use unsupported::{ONLY_ORDERS, OnlyOrders, UNSUPPORTED, Unsupported};

/// A measured quantity and what it may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What was measured, with its case.
    pub quantity: String,
    /// The measured value.
    pub measured: f64,
    /// Largest value that passes.
    pub bound: f64,
    /// What theory predicts, where it predicts a value and not only a bound.
    pub predicted: Option<f64>,
}

impl Outcome {
    /// A value that must not exceed a bound.
    #[must_use]
    pub fn new(quantity: impl Into<String>, measured: f64, bound: f64) -> Self {
        Self { quantity: quantity.into(), measured, bound, predicted: None }
    }

    /// A law that holds or not: 0 or 1 against 0.
    #[must_use]
    pub fn law(law: impl Into<String>, holds: bool) -> Self {
        Self::new(law, if holds { 0.0 } else { 1.0 }, 0.0)
    }

    /// Adds what theory predicts.
    #[must_use]
    pub const fn predicted(mut self, predicted: f64) -> Self {
        self.predicted = Some(predicted);
        self
    }

    /// Whether the value is within the bound; NaN is not.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.measured <= self.bound
    }
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// The laws of `temblor-backend`.
    Contract,
    /// The oracle's numbers.
    Agreement,
    /// Theory's numbers.
    Physics,
    /// Errors of reduced storage and of digits.
    Arithmetic,
}

/// Why a check could not be carried through.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The backend or the oracle refused or failed.
    #[error(transparent)]
    Backend(#[from] temblor_backend::Error),
    /// The check posed an impossible problem.
    #[error(transparent)]
    Physics(#[from] temblor_physics::Error),
}

/// How a check is run: on a backend and a variant of it.
pub type Run = fn(&dyn Backend, &str) -> Result<Vec<Outcome>, CheckError>;

/// A claim about a backend and how to test it.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The claim.
    pub name: &'static str,
    /// What it is about.
    pub family: Family,
    /// One line: how it is tested.
    pub about: &'static str,
    /// Runs it.
    pub run: Run,
}

/// All checks, contract first.
#[must_use]
pub fn checks() -> Vec<Check> {
    [contract::checks(), agreement::checks(), physics::physics_checks(), arithmetic::checks()]
        .concat()
}

/// What a check found, seen against the table of what is unsupported.
#[derive(Debug)]
pub enum Verdict {
    /// All outcomes are within their bounds.
    Passed(Vec<Outcome>),
    /// Unsupported, and the table says so.
    Unsupported(&'static Unsupported),
    /// What is wrong.
    Failed(String),
}

/// Runs a check on a variant and judges it by the bounds and by [`UNSUPPORTED`], whose rows are
/// exact both ways: what is unsupported without a row fails, and so does a row whose check passes.
#[must_use]
pub fn judge(backend: &dyn Backend, variant: &str, check: &Check) -> Verdict {
    judge_by(UNSUPPORTED, backend, variant, check)
}

/// Whether a check poses problems in an arithmetic that a variant has by
/// [`arithmetic::OFFERS`], which a check of its own holds to be exact.
#[must_use]
pub fn concerns(backend: &dyn Backend, variant: &str, check: &Check) -> bool {
    check.family == Family::Arithmetic || arithmetic::is_plain(&backend.device().backend, variant)
}

/// Judges a check on every variant that it concerns, as tests do: a line per
/// outcome.
///
/// # Errors
/// What is wrong, variant by variant; a backend without variants is wrong.
pub fn judge_variants(backend: &dyn Backend, check: &Check) -> Result<String, String> {
    let (mut lines, mut failures) = (String::new(), String::new());
    let id = &backend.device().backend;
    let variants = arithmetic::variants(backend).map_err(|error| error.to_string())?;
    for variant in variants.iter().filter(|variant| concerns(backend, variant, check)) {
        match judge(backend, variant, check) {
            Verdict::Passed(outcomes) => {
                for o in outcomes {
                    lines += &format!(
                        "{id}/{variant}: {}: {:.3e} <= {:.3e}\n",
                        o.quantity, o.measured, o.bound
                    );
                }
            }
            Verdict::Unsupported(row) => {
                lines += &format!("{id}/{variant}: {} unsupported: {}\n", check.name, row.why);
            }
            Verdict::Failed(why) => {
                failures += &format!("{id}/{variant}, {}:\n{why}\n", check.name);
            }
        }
    }
    if lines.is_empty() && failures.is_empty() {
        failures = format!("{id} has no variant");
    }
    if failures.is_empty() { Ok(lines) } else { Err(failures) }
}

fn judge_by(
    table: &'static [Unsupported],
    backend: &dyn Backend,
    variant: &str,
    check: &Check,
) -> Verdict {
    let row = table.iter().find(|row| row.covers(&backend.device().backend, variant, check.name));
    match ((check.run)(backend, variant), row) {
        (Err(CheckError::Backend(temblor_backend::Error::Unsupported { .. })), Some(row)) => {
            Verdict::Unsupported(row)
        }
        (Err(error), _) => {
            let source = std::error::Error::source(&error).map(|s| format!(": {s}"));
            Verdict::Failed(format!("{error}{}", source.unwrap_or_default()))
        }
        (Ok(_), Some(row)) => Verdict::Failed(format!("it is supported; remove the row {row:?}")),
        (Ok(outcomes), None) if outcomes.is_empty() => {
            Verdict::Failed("nothing was measured".into())
        }
        (Ok(outcomes), None) => {
            let bad: Vec<_> = outcomes
                .iter()
                .filter(|outcome| !outcome.passes())
                .map(|o| format!("{}: {:e} is above {:e}", o.quantity, o.measured, o.bound))
                .collect();
            if bad.is_empty() { Verdict::Passed(outcomes) } else { Verdict::Failed(bad.join("\n")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use temblor_cpu::ReferenceBackend;

    const ROW: &[Unsupported] =
        &[Unsupported { backend: "cpu-ref", variant: None, checks: &["a_claim"], why: "a test" }];

    fn verdict(table: &'static [Unsupported], run: Run) -> Verdict {
        let check = Check { name: "a_claim", family: Family::Contract, about: "a test", run };
        judge_by(table, &ReferenceBackend::new(), "loops", &check)
    }

    #[test]
    fn nan_is_above_every_bound() {
        assert!(!Outcome::new("NaN", f64::NAN, f64::INFINITY).passes());
    }

    #[test]
    fn a_check_that_measures_nothing_fails() {
        assert!(matches!(verdict(&[], |_, _| Ok(Vec::new())), Verdict::Failed(_)));
    }

    #[test]
    fn a_row_whose_check_passes_fails() {
        let passes: Run = |_, _| Ok(vec![Outcome::law("holds", true)]);
        assert!(matches!(verdict(&[], passes), Verdict::Passed(_)));
        assert!(matches!(verdict(ROW, passes), Verdict::Failed(_)));
    }

    #[test]
    fn what_is_unsupported_without_a_row_fails() {
        let refuses: Run = |_, _| {
            let (backend, what) = ("cpu-ref".into(), "this".into());
            Err(temblor_backend::Error::Unsupported { backend, what }.into())
        };
        assert!(matches!(verdict(&[], refuses), Verdict::Failed(_)));
        assert!(matches!(verdict(ROW, refuses), Verdict::Unsupported(_)));
    }

    #[test]
    fn a_failure_names_the_variant_and_the_claim() {
        let fails: Run = |_, variant| Ok(vec![Outcome::law("holds", variant != "loops")]);
        let check =
            Check { name: "a_claim", family: Family::Contract, about: "a test", run: fails };
        let failures = judge_variants(&ReferenceBackend::new(), &check).unwrap_err();
        assert!(failures.contains("cpu-ref/loops, a_claim"), "{failures}");
        let passes = Check { run: |_, _| Ok(vec![Outcome::law("holds", true)]), ..check };
        let lines = judge_variants(&ReferenceBackend::new(), &passes).unwrap();
        assert!(lines.contains("cpu-ref/loops: holds"), "{lines}");
    }

    #[test]
    fn every_claim_is_made_once() {
        let mut names: Vec<_> = checks().iter().map(|check| check.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_row_names_a_check() {
        let names: Vec<_> = checks().iter().map(|check| check.name).collect();
        for row in UNSUPPORTED {
            assert!(!row.checks.is_empty());
            for check in row.checks {
                assert!(names.contains(check), "{check} in {row:?}");
            }
        }
    }
}
