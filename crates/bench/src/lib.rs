//! Figures that an engineer can trust: what was measured, beside what the machine allows.
//!
//! The way of data: a matrix of [`Case`](results::Case)s is measured one by one into
//! [`Results`](results::Results), a file that everything else reads: tables, plots, the report, the
//! comparison of two files. Whatever is shown or plotted stands in that file.

#![deny(unsafe_code)]

pub mod compare;
pub mod results;
pub mod search;
pub mod statistics;
