//! Sources and receivers, straight from their separable weights.

use rayon::prelude::*;
use temblor_backend::{Error, Result, SourceTable};
use temblor_physics::PointWeights;

use super::layout::Layout;
use super::real::Real;

/// Checks that all nodes of a point lie in the grid.
pub(super) fn check(
    what: &str,
    number: usize,
    point: &PointWeights,
    layout: &Layout,
) -> Result<()> {
    for (axis, weights) in point.axes.iter().enumerate() {
        if weights.weights.is_empty() {
            return Err(Error::Invalid {
                what: format!("{what} {number} has no weights along axis {axis}"),
                remedy: "give at least one node per axis".into(),
            });
        }
        let end = weights.first.checked_add(weights.weights.len());
        if end.is_none_or(|end| end > layout.shape[axis]) {
            return Err(Error::Outside { what: format!("{what} {number}"), shape: layout.shape });
        }
    }
    Ok(())
}

/// Appends one sample per receiver: the weighted sum of p in f64, rounded once.
pub(super) fn record<T: Real>(
    layout: &Layout,
    receivers: &[PointWeights],
    p: &[T],
    samples: &mut Vec<T>,
) {
    let sum = |point: &PointWeights| -> T {
        let terms = point.nodes().map(|(node, w)| w * p[layout.padded(node)].to_f64());
        T::from_f64(terms.sum()).flush()
    };
    if receivers.len() < 64 {
        samples.extend(receivers.iter().map(sum));
    } else {
        samples.par_extend(receivers.par_iter().map(sum));
    }
}

/// Adds `c^2 dt^2 w s[step]` at each node of each source, each sum in f64, rounded once.
pub(super) fn inject<T: Real>(
    layout: &Layout,
    sources: &SourceTable,
    step: u64,
    c2dt2: &[T],
    p: &mut [T],
) {
    let row = usize::try_from(step).ok().filter(|&row| row < sources.amplitudes.nrows());
    let Some(row) = row else { return };
    for (point, &amplitude) in sources.points.iter().zip(sources.amplitudes.row(row)) {
        for (node, weight) in point.nodes() {
            if !layout.on_free_surface(node) {
                let value = &mut p[layout.padded(node)];
                let gain = c2dt2[layout.plain(node)].to_f64() * weight * amplitude;
                *value = T::from_f64(value.to_f64() + gain).flush();
            }
        }
    }
}
