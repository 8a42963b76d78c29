//! CCZ4: the C text against recorded states, against a second transcription, against exact solutions;
//! and that each of its constants matters to these comparisons.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod agreement;
mod convergence;
mod field;
mod golden;
mod identities;
mod march;
mod mutations;
mod puncture;
mod seeded;
mod speeds;
mod transcription;
