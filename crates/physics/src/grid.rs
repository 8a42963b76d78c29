//! Structured grids with constant spacing per axis.
//!
//! Node (i, j, k) lies at `origin + (i hx, j hy, k hz)`. An axis with one node is not a dimension
//! of the problem: it has no derivative, and its spacing enters neither CFL nor source scaling.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// One of the three axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// First horizontal axis, slowest in memory.
    X,
    /// Second horizontal axis.
    Y,
    /// Depth, positive downwards, fastest in memory.
    Z,
}

impl Axis {
    /// The axes in memory order, slowest first.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// Position in a `[_; 3]`: 0, 1, 2 for x, y, z.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The axis' letter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["x", "y", "z"][self as usize]
    }
}

/// One of the six faces of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Face {
    /// Where x is smallest.
    XMin,
    /// Where x is largest.
    XMax,
    /// Where y is smallest.
    YMin,
    /// Where y is largest.
    YMax,
    /// Where z is smallest: the surface.
    ZMin,
    /// Where z is largest: the bottom.
    ZMax,
}

impl Face {
    /// All faces, in the order of [`Face::index`].
    pub const ALL: [Self; 6] =
        [Self::XMin, Self::XMax, Self::YMin, Self::YMax, Self::ZMin, Self::ZMax];

    /// Position in a `[_; 6]`.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The axis normal to this face.
    #[must_use]
    pub const fn axis(self) -> Axis {
        Axis::ALL[self as usize / 2]
    }

    /// Whether this is the face at the low end of its axis.
    #[must_use]
    pub const fn is_min(self) -> bool {
        (self as usize).is_multiple_of(2)
    }

    /// The face at the low (`min`) or high end of an axis.
    #[must_use]
    pub const fn of(axis: Axis, min: bool) -> Self {
        Self::ALL[2 * axis.index() + if min { 0 } else { 1 }]
    }

    /// Name as in run files: `x_min`, `z_max`, ...
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["x_min", "x_max", "y_min", "y_max", "z_min", "z_max"][self as usize]
    }
}

/// Nodes with constant spacing, shape (x, y, z).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Nodes along (x, y, z).
    pub shape: [usize; 3],
    /// Spacing along (x, y, z), m.
    pub spacing: [f64; 3],
    /// Position of node (0, 0, 0), m.
    pub origin: [f64; 3],
}

impl Grid {
    /// A grid of `shape` nodes, `spacing` in m, node (0, 0, 0) at `origin` in m.
    ///
    /// # Errors
    /// If a count is zero, a spacing is not positive and finite, an origin is not finite, x or z
    /// has a single node, or the number of nodes does not fit 63 bits.
    pub fn new(shape: [usize; 3], spacing: [f64; 3], origin: [f64; 3]) -> Result<Self> {
        for axis in Axis::ALL {
            let a = axis.index();
            let name = axis.name();
            let least = if axis == Axis::Y { 1 } else { 2 };
            if shape[a] < least {
                let remedy = format!("at least {least} nodes are needed (only y may have 1: 2-D)");
                return Err(Error::invalid(format!("grid shape along {name}"), shape[a], remedy));
            }
            if !(spacing[a].is_finite() && spacing[a] > 0.0) {
                let remedy = "give a positive number of metres";
                return Err(Error::invalid(
                    format!("grid spacing along {name}"),
                    spacing[a],
                    remedy,
                ));
            }
            if !origin[a].is_finite() {
                let remedy = "give a finite number of metres";
                return Err(Error::invalid(format!("grid origin along {name}"), origin[a], remedy));
            }
        }
        let points = shape.iter().try_fold(1_u64, |n, &m| n.checked_mul(m as u64));
        if points.is_none_or(|n| n > i64::MAX as u64 / 16) {
            let remedy = "more nodes than can be addressed; lower the shape";
            return Err(Error::invalid("grid shape", format!("{shape:?}"), remedy));
        }
        Ok(Self { shape, spacing, origin })
    }

    /// Number of nodes.
    #[must_use]
    pub const fn points(&self) -> u64 {
        self.shape[0] as u64 * self.shape[1] as u64 * self.shape[2] as u64
    }

    /// Whether the axis is a dimension of the problem: more than one node.
    #[must_use]
    pub const fn active(&self, axis: Axis) -> bool {
        self.shape[axis.index()] > 1
    }

    /// The axes with more than one node.
    pub fn active_axes(&self) -> impl Iterator<Item = Axis> + use<> {
        let grid = *self;
        Axis::ALL.into_iter().filter(move |&axis| grid.active(axis))
    }

    /// Number of dimensions: 2 or 3.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.active_axes().count()
    }

    /// Product of the active axes' spacings, m^2 or m^3.
    #[must_use]
    pub fn cell_measure(&self) -> f64 {
        self.active_axes().map(|axis| self.spacing[axis.index()]).product()
    }

    /// Position of a node, m.
    #[must_use]
    pub fn position(&self, node: [usize; 3]) -> [f64; 3] {
        std::array::from_fn(|a| self.origin[a] + node[a] as f64 * self.spacing[a])
    }

    /// Position in units of nodes, counted from node (0, 0, 0); may be fractional or outside.
    #[must_use]
    pub fn node_coordinates(&self, position: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| (position[a] - self.origin[a]) / self.spacing[a])
    }
}
