//! Figures that an engineer can trust: what was measured, beside what the machine allows.
//!
//! The way of data: a matrix of [`Case`](results::Case)s is measured one by one into
//! [`Results`](results::Results), a file that everything else reads: tables, plots, the report, the
//! comparison of two files. Whatever is shown or plotted stands in that file.

#![deny(unsafe_code)]

pub mod accuracy;
pub mod compare;
pub mod counters;
pub mod csv;
pub mod error;
pub mod figures;
pub mod fill;
pub mod histogram;
pub mod html;
pub mod machines;
pub mod matrix;
pub mod measure;
pub mod merge;
pub mod patches;
pub mod peers;
pub mod plots;
pub mod pose;
pub mod preset;
pub mod results;
pub mod roofs;
#[doc(hidden)]
pub mod sample;
pub mod search;
pub mod sizes;
pub mod source;
pub mod statistics;
pub mod tables;
mod timing;

pub use error::{Error, Result};
