//! The command line from outside: good runs, bad input, and what survives a crash.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod bench;
mod bench_compare;
mod conformance;
mod examples;
mod files;
mod guide;
mod memory;
mod patch_input;
mod runs;
mod support;
mod survival;
mod tuning;
