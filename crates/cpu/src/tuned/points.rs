//! Sources sorted by the row they act on, and receivers.

use std::ops::Range;

use ndarray::Array2;
use temblor_backend::{Error, ReceiverTable, Result, SourceTable};
use temblor_physics::{AxisWeights, PointWeights};

/// One node of one source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Injection {
    j: usize,
    k: usize,
    source: usize,
    weight: f64,
}

/// Sources, one list of nodes per plane, sorted by row.
#[derive(Debug)]
pub(super) struct Sources {
    planes: Vec<Vec<Injection>>,
    /// Shape (step, source).
    amplitudes: Array2<f64>,
}

impl Sources {
    pub(super) fn none(planes: usize) -> Self {
        Self { planes: vec![Vec::new(); planes], amplitudes: Array2::zeros((0, 0)) }
    }

    /// Sorts a table; nodes of weight zero are left out.
    ///
    /// # Errors
    /// [`Error::Outside`], or [`Error::Invalid`] if amplitudes and points differ in number.
    pub(super) fn new(table: &SourceTable, shape: [usize; 3]) -> Result<Self> {
        let columns = table.amplitudes.ncols();
        if columns != table.points.len() {
            return Err(Error::Invalid {
                what: format!(
                    "the amplitudes have {columns} columns for {} sources",
                    table.points.len()
                ),
                remedy: "give one column per source, shape (step, source)".into(),
            });
        }
        for (source, point) in table.points.iter().enumerate() {
            check_inside(point, shape, "source", source)?;
        }
        let mut planes = vec![Vec::new(); shape[0]];
        for (source, point) in table.points.iter().enumerate() {
            for ([i, j, k], weight) in point.nodes().filter(|(_, weight)| weight.abs() > 0.0) {
                planes[i].push(Injection { j, k, source, weight });
            }
        }
        for plane in &mut planes {
            // Stable: sources keep their order on a node, so sums do not depend on the sort.
            plane.sort_by_key(|entry: &Injection| entry.j);
        }
        let amplitudes = table.amplitudes.as_standard_layout().into_owned();
        Ok(Self { planes, amplitudes })
    }

    /// Nodes that sources act on, one that several do counted for each.
    pub(super) fn nodes(&self) -> u64 {
        self.planes.iter().map(|plane| plane.len() as u64).sum()
    }

    /// Whether a plane has a source.
    pub(super) fn on_plane(&self, i: usize) -> bool {
        !self.planes[i].is_empty()
    }

    /// Adds `c^2 dt^2 w s` of a step to a row of p^(n+1).
    pub(super) fn inject(&self, step: u64, i: usize, j: usize, next: &mut [f32], c2: &[f32]) {
        let plane = &self.planes[i];
        let Some(amplitudes) = usize::try_from(step)
            .ok()
            .filter(|&n| n < self.amplitudes.nrows())
            .map(|n| self.amplitudes.row(n))
        else {
            return;
        };
        let first = plane.partition_point(|entry| entry.j < j);
        for entry in plane[first..].iter().take_while(|entry| entry.j == j) {
            let push = f64::from(c2[entry.k]) * entry.weight * amplitudes[entry.source];
            #[expect(clippy::cast_possible_truncation, reason = "the wavefield is f32")]
            let push = push as f32;
            next[entry.k] += push;
        }
    }
}

/// Weighted sum of p over a receiver's nodes. `along` is called with the values of nodes of a row
/// (i, j) and gives its sum.
pub(super) fn sample(
    point: &PointWeights,
    mut row: impl FnMut(usize, usize, Range<usize>, &dyn Fn(&[f32]) -> f64) -> f64,
) -> f32 {
    let [x, y, z] = &point.axes;
    let nodes = z.first..z.first + z.weights.len();
    let along =
        |values: &[f32]| values.iter().zip(&z.weights).map(|(&p, w)| f64::from(p) * w).sum();
    let mut sum = 0.0;
    for (a, wx) in x.weights.iter().enumerate() {
        for (b, wy) in y.weights.iter().enumerate() {
            sum += wx * wy * row(x.first + a, y.first + b, nodes.clone(), &along);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "traces are f32")]
    let sum = sum as f32;
    sum
}

/// Checks that a point's nodes lie in the grid and that it has some.
fn check_inside(point: &PointWeights, shape: [usize; 3], what: &str, number: usize) -> Result<()> {
    let fits = |axis: &AxisWeights, nodes: usize| {
        !axis.weights.is_empty()
            && axis.first.checked_add(axis.weights.len()).is_some_and(|end| end <= nodes)
    };
    if point.axes.iter().zip(shape).all(|(axis, nodes)| fits(axis, nodes)) {
        Ok(())
    } else {
        let firsts: Vec<_> = point.axes.iter().map(|axis| axis.first).collect();
        Err(Error::Outside { what: format!("{what} {number} with first node {firsts:?}"), shape })
    }
}

/// Checks all receivers.
///
/// # Errors
/// [`Error::Outside`].
pub(super) fn check_receivers(table: &ReceiverTable, shape: [usize; 3]) -> Result<()> {
    let mut points = table.points.iter().enumerate();
    points.try_for_each(|(n, point)| check_inside(point, shape, "receiver", n))
}
