//! The C subset: a term's trace, its run statement by statement and a C compiler agree to the bit, and
//! what is outside the subset is refused with its line.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod compiler;
mod constructs;
mod line;
mod programs;
mod refusals;
mod run;
mod shipped;
mod sympy;
