//! Rows, faces and interiors of a patch with halo.

use std::ops::Range;

use temblor_patch::Shape;

/// Bits of a double's exponent.
const EXPONENT: u64 = 0x7ff << 52;

/// Sizes of a patch, in values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// N + M.
    width: usize,
    /// p along an axis of the dimension, 1 beyond it.
    cells: [usize; 3],
    /// h along an axis of the dimension, 0 beyond it.
    halo: [usize; 3],
    /// Voxels between neighbours along an axis, halo included.
    strides: [usize; 3],
}

impl Geometry {
    pub(crate) fn new(shape: &Shape) -> Self {
        let inside = |axis: usize| axis < usize::from(shape.dimensions);
        let cells = [0, 1, 2].map(|axis| usize::from(shape.cells_along(axis)));
        let halo = [0, 1, 2].map(|axis| if inside(axis) { usize::from(shape.halo) } else { 0 });
        let extent = |axis: usize| cells[axis] + 2 * halo[axis];
        let strides = [1, extent(0), extent(0) * extent(1)];
        Self { width: shape.width(), cells, halo, strides }
    }

    /// Place of a voxel's first value; (0, 0, 0) is the first of the interior.
    fn at(&self, voxel: [usize; 3]) -> usize {
        (0..3).map(|axis| (voxel[axis] + self.halo[axis]) * self.strides[axis]).sum::<usize>()
            * self.width
    }

    /// Places of the interior's rows along x.
    fn rows(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let row = self.cells[0] * self.width;
        (0..self.cells[2]).flat_map(move |z| {
            (0..self.cells[1]).map(move |y| {
                let start = self.at([0, y, z]);
                start..start + row
            })
        })
    }

    /// Copies the first `unknowns` values of every voxel from an array without halo (N + M values
    /// per voxel) into the interior.
    pub(crate) fn put(&self, from: &[f64], to: &mut [f64], unknowns: usize) {
        for (row, from) in self.rows().zip(from.chunks(self.cells[0] * self.width)) {
            if unknowns == self.width {
                to[row].copy_from_slice(from);
                continue;
            }
            let voxels = to[row].chunks_mut(self.width).zip(from.chunks(self.width));
            for (to, from) in voxels {
                to[..unknowns].copy_from_slice(&from[..unknowns]);
            }
        }
    }

    /// Copies the interior of a patch.
    pub(crate) fn copy(&self, from: &[f64], to: &mut [f64]) {
        for row in self.rows() {
            to[row.clone()].copy_from_slice(&from[row]);
        }
    }

    /// Adds `factor * rate` to the evolved unknowns of the interior.
    pub(crate) fn add(&self, factor: f64, rate: &[f64], to: &mut [f64], unknowns: usize) {
        for (row, rate) in self.rows().zip(rate.chunks(self.cells[0] * unknowns)) {
            if unknowns == self.width {
                for (to, rate) in to[row].iter_mut().zip(rate) {
                    *to += factor * rate;
                }
                continue;
            }
            for (to, rate) in to[row].chunks_mut(self.width).zip(rate.chunks(unknowns)) {
                for (to, rate) in to.iter_mut().zip(rate) {
                    *to += factor * rate;
                }
            }
        }
    }

    /// Values of a patch with its halo.
    pub(crate) fn length(&self) -> usize {
        (0..3).map(|axis| self.cells[axis] + 2 * self.halo[axis]).product::<usize>() * self.width
    }

    /// Whether a patch has at least as many voxels along every axis as its halo.
    pub(crate) fn fills_halos(&self) -> bool {
        (0..3).all(|axis| self.cells[axis] >= self.halo[axis])
    }

    /// Visits what fills a face's halo, row by row: places in the source, which is the patch behind
    /// the face, or the patch itself where none is behind it, and where they go. Sources lie in the
    /// interior of a patch that [`Geometry::fills_halos`], targets in the face's halo.
    pub(crate) fn fill(
        &self,
        axis: usize,
        side: usize,
        behind: bool,
        mut copy: impl FnMut(Range<usize>, usize),
    ) {
        let (halo, cells) = (self.halo[axis], self.cells[axis]);
        let low = if side == 0 { 0 } else { halo + cells };
        // Layers along x that come from layers side by side are one row.
        let deep = if axis == 0 && behind { halo.max(1) } else { 1 };
        for layer in (low..low + halo).step_by(deep) {
            let source = match (behind, side) {
                (true, 0) => layer + cells,
                (true, _) => layer - cells,
                (false, 0) => halo,
                (false, _) => halo + cells - 1,
            };
            let range = |other: usize| {
                if other == axis {
                    layer..layer + deep
                } else {
                    self.halo[other]..self.halo[other] + self.cells[other]
                }
            };
            let x = range(0);
            for z in range(2) {
                for y in range(1) {
                    let to = z * self.strides[2] + y * self.strides[1] + x.start;
                    let from = to + source * self.strides[axis] - layer * self.strides[axis];
                    let row = from * self.width..(from + x.len()) * self.width;
                    copy(row, to * self.width);
                }
            }
        }
    }

    /// First value of the interior that is not finite: voxel, unknown, value.
    pub(crate) fn fault(&self, values: &[f64]) -> Option<([u16; 3], u16, f64)> {
        let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        for (number, row) in self.rows().enumerate() {
            // Without a branch per value: an exponent of ones is what is not finite.
            let odd = |value: &f64| u64::from(value.to_bits() & EXPONENT == EXPONENT);
            if values[row.clone()].iter().fold(0, |any, value| any | odd(value)) == 0 {
                continue;
            }
            let found = values[row].iter().enumerate().find(|(_, value)| !value.is_finite());
            if let Some((place, &value)) = found {
                let voxel = [place / self.width, number % self.cells[1], number / self.cells[1]];
                return Some((voxel.map(short), short(place % self.width), value));
            }
        }
        None
    }
}
