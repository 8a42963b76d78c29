//! Where a node lies in memory.
//!
//! Wavefields carry a halo of one radius on every active axis, so that one kernel serves all rows.
//! Node 0 of each z row starts a cache line; rows are padded to whole vectors plus 16 values, which
//! hold the halo after the row's last node and the one before the next row's first. c^2 dt^2 has no
//! halo. Pitches that are multiples of 1 KiB get a cache line more, since rows and planes that lie
//! a power of two apart share the few places that the first-level cache has for them.

use temblor_physics::{Axis, WaveProblem};

use super::kernels::WIDEST;

/// Pitches and offsets, in values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Nodes along (x, y, z).
    pub(super) shape: [usize; 3],
    /// Radius of the operator.
    pub(super) radius: usize,
    /// Halo along (x, y, z): the radius, or 0 on an inactive axis.
    pub(super) halo: [usize; 3],
    /// From row to row of a wavefield.
    pub(super) pitch: usize,
    /// From plane to plane of a wavefield.
    pub(super) plane: usize,
    /// Rows along y of c^2 dt^2.
    pub(super) rows_c2: usize,
    /// From row to row of c^2 dt^2 and of layers; a row's nodes rounded up to whole vectors.
    pub(super) row: usize,
    /// Values of a wavefield.
    pub(super) len: usize,
}

impl Layout {
    pub(super) fn new(problem: &WaveProblem) -> Self {
        let shape = problem.grid.shape;
        let radius = problem.operator.radius();
        let halo = Axis::ALL.map(|axis| if problem.grid.active(axis) { radius } else { 0 });
        let row = shape[2].next_multiple_of(WIDEST);
        let pitch = off_power_of_two(row + WIDEST);
        let plane = off_power_of_two((shape[1] + 2 * halo[1]) * pitch);
        let len = (shape[0] + 2 * halo[0]) * plane + 2 * WIDEST;
        Self { shape, radius, halo, pitch, plane, rows_c2: shape[1], row, len }
    }

    /// The layout of a window of a few planes and `rows` rows, and their halo, on the same grid. Nodes
    /// keep their offsets from one another; with a pointer that is moved back by the offset of the
    /// window's first row, [`Layout::at`] leads into the window. `rows_c2` is that of its c^2 dt^2.
    pub(super) fn window(self, rows: usize, rows_c2: usize, planes: usize) -> Self {
        let plane = off_power_of_two((rows + 2 * self.halo[1]) * self.pitch);
        Self { plane, rows_c2, len: planes * plane + 2 * WIDEST, ..self }
    }

    /// Offset of node (i, j, 0) of a wavefield; i and j may lie in the halo.
    pub(super) const fn at(&self, i: isize, j: isize) -> usize {
        let (i, j) = (i + self.halo[0].cast_signed(), j + self.halo[1].cast_signed());
        WIDEST + i.cast_unsigned() * self.plane + j.cast_unsigned() * self.pitch
    }

    /// Offset of node (i, j, 0) of c^2 dt^2.
    pub(super) const fn at_c2(&self, i: usize, j: usize) -> usize {
        (i * self.rows_c2 + j) * self.row
    }

    /// Values of c^2 dt^2.
    pub(super) const fn len_c2(&self) -> usize {
        self.shape[0] * self.shape[1] * self.row
    }
}

const fn off_power_of_two(pitch: usize) -> usize {
    if pitch.is_multiple_of(256) { pitch + WIDEST } else { pitch }
}
