//! Where a patch is: the numbers that a kernel gets beside a chunk, and what follows from them.
//!
//! Every target computes spacing and position by the expressions here, in this order of operations,
//! so that all give the same bits.

use crate::kernel::Shape;

/// Where a patch is and how far it steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Centre, m.
    pub centre: [f64; 3],
    /// Width of the whole patch per axis, m.
    pub size: [f64; 3],
    /// Time at the start, s.
    pub time: f64,
    /// Step, s; kernels that give a rate ignore it.
    pub time_step: f64,
}

impl Cell {
    /// Width of a voxel along an axis, m: `size / p`; beyond the dimension the whole `size`.
    #[must_use]
    pub fn spacing(&self, shape: &Shape, axis: usize) -> f64 {
        self.size[axis] / f64::from(shape.cells_along(axis))
    }

    /// Coordinate of a voxel's centre along an axis plus so many half widths, m:
    /// `(centre - 0.5 * size) + (voxel + 0.5 * (1 + halves)) * dx`, with `voxel + 0.5 * (1 + halves)`
    /// exact; the halo has negative voxels.
    #[must_use]
    pub fn position(&self, shape: &Shape, axis: usize, voxel: i16, halves: i8) -> f64 {
        let along = f64::from(voxel) + 0.5 * f64::from(1 + i16::from(halves));
        (self.centre[axis] - 0.5 * self.size[axis]) + along * self.spacing(shape, axis)
    }
}
