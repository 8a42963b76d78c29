//! Rows, faces and interiors of a patch with halo.

use std::ops::Range;

use temblor_patch::Shape;

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
            for (to, rate) in to[row].chunks_mut(self.width).zip(rate.chunks(unknowns)) {
                for (to, rate) in to.iter_mut().zip(rate) {
                    *to += factor * rate;
                }
            }
        }
    }

    /// Visits the voxels of a slab, as places of their values: `along` on one axis, the interior on
    /// the others; indices along the axis count the halo.
    fn slab(&self, axis: usize, along: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
        let range = |other: usize| {
            if other == axis {
                along.clone()
            } else {
                self.halo[other]..self.halo[other] + self.cells[other]
            }
        };
        for z in range(2) {
            for y in range(1) {
                let x = range(0);
                let start = (z * self.strides[2] + y * self.strides[1] + x.start) * self.width;
                visit(start..start + x.len() * self.width);
            }
        }
    }

    /// What a neighbour sees of this patch behind its own face: the `side` of the neighbour.
    pub(crate) fn face(&self, values: &[f64], axis: usize, side: usize) -> Vec<f64> {
        let (halo, cells) = (self.halo[axis], self.cells[axis]);
        // Behind a low face lie the neighbour's last voxels, and its first behind a high face. A
        // patch thinner than its halo has no more to give than its own halo holds.
        let start = if side == 0 { cells } else { halo };
        let mut face = Vec::new();
        self.slab(axis, start..start + halo, |row| face.extend_from_slice(&values[row]));
        face
    }

    /// The outermost voxels at a face, repeated over the halo.
    pub(crate) fn edge(&self, values: &[f64], axis: usize, side: usize) -> Vec<f64> {
        let (halo, cells) = (self.halo[axis], self.cells[axis]);
        let from = if side == 0 { halo } else { halo + cells - 1 };
        let to = if side == 0 { 0 } else { halo + cells };
        let shift = |row: usize, index: usize| {
            row + from * self.strides[axis] * self.width - index * self.strides[axis] * self.width
        };
        let mut edge = Vec::new();
        self.slab(axis, to..to + halo, |row| {
            for start in row.step_by(self.width) {
                let index = start / self.width / self.strides[axis] % (cells + 2 * halo);
                let place = shift(start, index);
                edge.extend_from_slice(&values[place..place + self.width]);
            }
        });
        edge
    }

    /// Writes a face's halo; nothing where there is nothing to write.
    pub(crate) fn fill(&self, face: &[f64], patch: &mut [f64], axis: usize, side: usize) {
        if face.is_empty() {
            return;
        }
        let start = if side == 0 { 0 } else { self.halo[axis] + self.cells[axis] };
        let mut rest = face;
        self.slab(axis, start..start + self.halo[axis], |row| {
            let (now, later) = rest.split_at(row.len());
            patch[row].copy_from_slice(now);
            rest = later;
        });
    }

    /// First value of the interior that is not finite: voxel, unknown, value.
    pub(crate) fn fault(&self, values: &[f64]) -> Option<([u16; 3], u16, f64)> {
        let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        for (number, row) in self.rows().enumerate() {
            let found = values[row].iter().enumerate().find(|(_, value)| !value.is_finite());
            if let Some((place, &value)) = found {
                let voxel = [place / self.width, number % self.cells[1], number / self.cells[1]];
                return Some((voxel.map(short), short(place % self.width), value));
            }
        }
        None
    }
}
