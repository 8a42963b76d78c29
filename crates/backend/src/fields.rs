//! Fields of a plan and how the host sees parts of them.

use ndarray::{Array3, ArrayView3, ArrayViewMut3};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A field that a plan owns; which ones exist follows from the equation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Field {
    /// Wave speed c, m/s. Upload only; the plan keeps what it needs (c^2 dt^2).
    WaveSpeed,
    /// Pressure p^n.
    Pressure,
    /// Pressure p^(n-1).
    PressurePrevious,
    /// The layers' memory variables together; named by [`Error::Unstable`], not transferable.
    Layers,
}

/// Element type of host data and of a plan's arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl ElementType {
    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// A box of nodes, each axis with a stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region {
    /// First node along (x, y, z).
    pub start: [usize; 3],
    /// Number of nodes taken along (x, y, z).
    pub shape: [usize; 3],
    /// Stride between nodes along (x, y, z); at least 1.
    pub stride: [usize; 3],
}

impl Region {
    /// All nodes of a grid.
    #[must_use]
    pub const fn whole(shape: [usize; 3]) -> Self {
        Self { start: [0; 3], shape, stride: [1; 3] }
    }

    /// Planes `start..start + count` along x.
    #[must_use]
    pub const fn slab(shape: [usize; 3], start: usize, count: usize) -> Self {
        Self { start: [start, 0, 0], shape: [count, shape[1], shape[2]], stride: [1; 3] }
    }

    /// Number of nodes taken.
    #[must_use]
    pub const fn points(&self) -> usize {
        self.shape[0] * self.shape[1] * self.shape[2]
    }

    /// Whether all nodes lie in a grid of `shape` nodes.
    ///
    /// # Errors
    /// [`Error::Outside`] if not, or if a stride is zero.
    pub fn check(&self, shape: [usize; 3]) -> Result<()> {
        let fits = (0..3).all(|a| {
            let reach = self.shape[a].checked_sub(1).map_or(Some(self.start[a]), |n| {
                n.checked_mul(self.stride[a])?.checked_add(self.start[a])
            });
            self.stride[a] > 0 && reach.is_some_and(|last| last < shape[a] || self.shape[a] == 0)
        });
        if fits { Ok(()) } else { Err(Error::Outside { what: format!("{self:?}"), shape }) }
    }
}

/// Host data to upload, shape of the region. Either type goes to either arithmetic.
#[derive(Debug, Clone, Copy)]
pub enum HostView<'a> {
    /// Single precision.
    F32(ArrayView3<'a, f32>),
    /// Double precision.
    F64(ArrayView3<'a, f64>),
}

/// Host memory to download into, shape of the region.
#[derive(Debug)]
pub enum HostViewMut<'a> {
    /// Single precision.
    F32(ArrayViewMut3<'a, f32>),
    /// Double precision.
    F64(ArrayViewMut3<'a, f64>),
}

/// Host data that a plan gives out, element type of the plan.
#[derive(Debug, Clone, PartialEq)]
pub enum HostArray {
    /// Single precision.
    F32(Array3<f32>),
    /// Double precision.
    F64(Array3<f64>),
}

impl HostView<'_> {
    /// Shape (x, y, z).
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        let (x, y, z) = match self {
            Self::F32(view) => view.dim(),
            Self::F64(view) => view.dim(),
        };
        [x, y, z]
    }
}

impl HostViewMut<'_> {
    /// Shape (x, y, z).
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        let (x, y, z) = match self {
            Self::F32(view) => view.dim(),
            Self::F64(view) => view.dim(),
        };
        [x, y, z]
    }
}

impl HostArray {
    /// As double precision.
    #[must_use]
    pub fn to_f64(&self) -> Array3<f64> {
        match self {
            Self::F32(array) => array.mapv(f64::from),
            Self::F64(array) => array.clone(),
        }
    }
}

impl<'a> From<ArrayView3<'a, f32>> for HostView<'a> {
    fn from(view: ArrayView3<'a, f32>) -> Self {
        Self::F32(view)
    }
}

impl<'a> From<ArrayView3<'a, f64>> for HostView<'a> {
    fn from(view: ArrayView3<'a, f64>) -> Self {
        Self::F64(view)
    }
}

impl<'a> From<ArrayViewMut3<'a, f32>> for HostViewMut<'a> {
    fn from(view: ArrayViewMut3<'a, f32>) -> Self {
        Self::F32(view)
    }
}

impl<'a> From<ArrayViewMut3<'a, f64>> for HostViewMut<'a> {
    fn from(view: ArrayViewMut3<'a, f64>) -> Self {
        Self::F64(view)
    }
}

/// Checks that host data of shape `got` fits `region` of a grid of `shape` nodes.
///
/// # Errors
/// [`Error::Outside`] or [`Error::Shape`].
pub fn check_transfer(
    field: Field,
    region: &Region,
    shape: [usize; 3],
    got: [usize; 3],
) -> Result<()> {
    region.check(shape)?;
    if region.shape == got {
        Ok(())
    } else {
        Err(Error::Shape { field, want: region.shape.to_vec(), got: got.to_vec() })
    }
}
