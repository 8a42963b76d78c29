//! The C subset: reading, checking, tracing into a graph, and running as it stands.

use crate::error::{Error, Result};
use crate::graph::Function;
use crate::physics::{Physics, Term};

/// A C text as read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {}

pub(crate) fn read(file: &str, _text: &str) -> Result<Physics> {
    Err(Error::Physics { file: file.into(), line: 1, what: "not read yet".into() })
}

pub(crate) fn trace(physics: &Physics, _: Term, _: u8, _: &[(String, i64)]) -> Result<Function> {
    Err(Error::Mismatch(format!("{} cannot be traced yet", physics.name)))
}

pub(crate) fn evaluate(
    physics: &Physics,
    _: Term,
    _: u8,
    _: &[f64],
    _: &[f64],
) -> Result<Vec<f64>> {
    Err(Error::Mismatch(format!("{} cannot be run yet", physics.name)))
}
