//! Marches on patches against exact solutions, by kernels compiled on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acoustics;
mod euler;
mod laws;
mod support;
