//! The command line from outside: good runs, bad input, and what survives a crash.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arithmetic;
mod bad_input;
mod bench;
mod bench_compare;
mod bench_patches;
mod conformance;
mod examples;
mod files;
mod guide;
mod memory;
mod operator;
#[path = "../../examples/own_pde.rs"]
mod own_pde;
mod patch_input;
mod patch_runs;
mod runs;
mod support;
mod survival;
mod tuning;
