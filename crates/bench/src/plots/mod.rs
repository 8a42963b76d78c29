//! Plots of results, as data first: every number of a [`Plot`] follows from the file of results.
//!
//! The same drawing code writes SVG and PNG, light and dark.

mod canvas;
mod colours;
mod devices;
mod draw;
mod fill;
mod kinds;
mod patches;
mod roofline;
mod scale;
mod size;

use crate::machines::{machines, version};
use crate::results::{Measured, Results, Row, arithmetic_name};

pub use colours::Theme;

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By decades.
    Decades,
    /// By powers of two, written as fractions.
    Halves,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Measured: a line with marks, a bar, an area.
    Line,
    /// Measured: marks alone.
    Marks,
    /// A limit that was measured: dashed.
    Roof,
    /// A limit that is said by others: dotted.
    Nominal,
}

/// Points of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// (x, y) in the units of the axes.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub look: Look,
}

/// Kind of plot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Lines and marks.
    Lines,
    /// Bars side by side; x is the place in the named groups.
    Bars(Vec<String>),
    /// Areas on top of each other.
    Areas,
}

/// A plot as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Name of its file, without extension.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What and where, in one line.
    pub subtitle: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Kind.
    pub kind: Kind,
    /// What is drawn, in the legend's order.
    pub series: Vec<Series>,
    /// How to read it, and what was left out.
    pub notes: Vec<String>,
}

/// A plot that cannot be drawn or encoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the plot: {0}")]
pub struct PlotError(pub String);

impl Plot {
    /// Whether there is nothing measured to plot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let measured = |series: &&Series| matches!(series.look, Look::Line | Look::Marks);
        self.series.iter().filter(measured).all(|series| series.points.is_empty())
    }

    /// As SVG.
    ///
    /// # Errors
    /// [`PlotError`].
    pub fn svg(&self, theme: Theme) -> Result<String, PlotError> {
        draw::svg(self, theme)
    }

    /// As PNG, two pixels per unit of the SVG.
    ///
    /// # Errors
    /// [`PlotError`].
    pub fn png(&self, theme: Theme) -> Result<Vec<u8>, PlotError> {
        draw::png(self, theme)
    }
}

/// All plots that `results` has data for; one that says so for none.
#[must_use]
pub fn all(results: &Results) -> Vec<Plot> {
    let all = machines(results);
    // Sizes and rates of patch kernels are not those of grids: they have plots of their own.
    let mut machines = all.clone();
    for machine in &mut machines {
        machine.rows.retain(|row| row.outcome.measured().is_none_or(|m| m.patch.is_none()));
    }
    let mut plots: Vec<_> = machines.iter().map(size::throughput).collect();
    plots.extend(machines.iter().map(roofline::roofline));
    plots.push(devices::devices(&machines));
    plots.extend(machines.iter().map(fill::fill));
    plots.extend(machines.iter().flat_map(kinds::kinds));
    plots.extend(patches::patches(&all));
    let all = plots.len();
    plots.retain(|plot| !plot.is_empty());
    if plots.is_empty() && all > 0 {
        plots.push(devices::devices(&machines));
    }
    // Names of files must differ where labels of devices differ in signs alone.
    for at in 1..plots.len() {
        if plots[..at].iter().any(|plot| plot.name == plots[at].name) {
            plots[at].name = format!("{}-{}", plots[at].name, at + 1);
        }
    }
    plots
}

/// What tells a row from others of its device, piece by piece.
fn pieces(row: &Row) -> Vec<String> {
    let case = &row.case;
    vec![
        version(row),
        format!("boundary {}", case.boundary.name()),
        case.operator.clone(),
        arithmetic_name(case.arithmetic),
        format!("start {}", case.start),
        case.steps.map_or_else(String::new, |steps| format!("{steps} steps")),
    ]
}

/// Rows with their figures.
type Rows<'a> = Vec<(&'a Row, &'a Measured)>;

/// Rows by what tells them apart, each with a name of the pieces that differ; the version always.
fn groups<'a>(rows: &Rows<'a>, pieces: impl Fn(&Row) -> Vec<String>) -> Vec<(String, Rows<'a>)> {
    let mut groups: Vec<(Vec<String>, Rows<'a>)> = Vec::new();
    for found in rows {
        let key = pieces(found.0);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(*found),
            None => groups.push((key, vec![*found])),
        }
    }
    let keys: Vec<_> = groups.iter().map(|group| group.0.clone()).collect();
    let differs = |at: usize| at == 0 || keys.iter().any(|key| key[at] != keys[0][at]);
    let name = |key: &[String]| {
        let told = key.iter().enumerate().filter(|(at, piece)| differs(*at) && !piece.is_empty());
        told.map(|(_, piece)| piece.as_str()).collect::<Vec<_>>().join(", ")
    };
    groups.into_iter().map(|(key, rows)| (name(&key), rows)).collect()
}

/// Nodes along an edge of the cube with as many nodes.
fn edge(row: &Row) -> f64 {
    (row.case.points() as f64).cbrt()
}

#[cfg(test)]
mod tests;
