//! A box of voxels cut into patches: places, neighbours, what lies beyond the faces.

use temblor_backend::patch::{Beyond, Cell};
use temblor_patch::Shape;

use crate::error::{Error, Result};

/// What lies beyond a face of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The opposite face.
    Periodic,
    /// The outermost voxels again.
    Outflow,
    /// The initial state, which stays.
    Fixed,
}

/// A box of patches, all of the same size. Patches are counted x fastest, as voxels are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tiling {
    /// d: 2 or 3.
    pub dimensions: u8,
    /// p: voxels of a patch per axis.
    pub cells: u16,
    /// Patches along (x, y, z); 1 beyond the dimension.
    pub patches: [usize; 3],
    /// Corner of the box with the smallest coordinates, m; 0 beyond the dimension.
    pub origin: [f64; 3],
    /// Width of a voxel, m; beyond the dimension that along x.
    pub spacing: [f64; 3],
    /// Faces of the box, `[axis][0 low, 1 high]`.
    pub sides: [[Side; 2]; 3],
}

impl Tiling {
    /// A box of `size` m from `origin`, cut into `patches` patches of `cells` voxels per axis; what
    /// is given for axes beyond the dimension is ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a dimension other than 2 and 3, an empty box, and a face that is
    /// periodic while the opposite one is not.
    pub fn new(
        dimensions: u8,
        cells: u16,
        patches: [usize; 3],
        origin: [f64; 3],
        size: [f64; 3],
        sides: [[Side; 2]; 3],
    ) -> Result<Self> {
        if !matches!(dimensions, 2 | 3) {
            return Err(Error::invalid("the dimension", dimensions, "give 2 or 3"));
        }
        if cells == 0 {
            return Err(Error::invalid("the number of cells per patch", 0, "give at least 1"));
        }
        let axes = usize::from(dimensions);
        let mut tiling = Self {
            dimensions,
            cells,
            patches: [1; 3],
            origin: [0.0; 3],
            spacing: [0.0; 3],
            sides: [[Side::Outflow; 2]; 3],
        };
        for axis in 0..axes {
            let name = ["x", "y", "z"][axis];
            if patches[axis] == 0 {
                let what = format!("the number of patches along {name}");
                return Err(Error::invalid(what, 0, "give at least 1"));
            }
            if !(size[axis].is_finite() && size[axis] > 0.0 && origin[axis].is_finite()) {
                let (what, got) = (format!("the box along {name}"), format!("{} m", size[axis]));
                return Err(Error::invalid(what, got, "give a finite origin and a positive size"));
            }
            let [low, high] = sides[axis];
            if (low == Side::Periodic) != (high == Side::Periodic) {
                let what = format!("one face along {name}");
                return Err(Error::invalid(what, "periodic", "make both faces periodic, or none"));
            }
            tiling.patches[axis] = patches[axis];
            tiling.origin[axis] = origin[axis];
            tiling.sides[axis] = sides[axis];
            tiling.spacing[axis] = size[axis] / (patches[axis] * usize::from(cells)) as f64;
        }
        if axes == 2 {
            tiling.spacing[2] = tiling.spacing[0];
        }
        Ok(tiling)
    }

    /// K: number of patches.
    #[must_use]
    pub fn count(&self) -> usize {
        self.patches.iter().product()
    }

    /// Voxels along (x, y, z); 1 beyond the dimension.
    #[must_use]
    pub fn voxels(&self) -> [usize; 3] {
        let mut voxels = self.patches;
        for count in &mut voxels[..usize::from(self.dimensions)] {
            *count *= usize::from(self.cells);
        }
        voxels
    }

    /// Smallest width of a voxel, m.
    #[must_use]
    pub fn finest(&self) -> f64 {
        self.spacing[..usize::from(self.dimensions)].iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Place of a patch in the box, (x, y, z).
    #[must_use]
    pub fn place(&self, patch: usize) -> [usize; 3] {
        let [nx, ny, _] = self.patches;
        [patch % nx, patch / nx % ny, patch / (nx * ny)]
    }

    /// First voxel of a patch in the box.
    #[must_use]
    pub fn first_voxel(&self, patch: usize) -> [usize; 3] {
        let mut voxel = self.place(patch);
        for place in &mut voxel[..usize::from(self.dimensions)] {
            *place *= usize::from(self.cells);
        }
        voxel
    }

    /// Centre of a voxel of the box, m; voxels beyond the box are those of its halo. The same for
    /// every cut of the box.
    #[must_use]
    pub fn position(&self, voxel: [i64; 3]) -> [f64; 3] {
        let mut position = [0.0; 3];
        for axis in 0..usize::from(self.dimensions) {
            position[axis] = self.origin[axis] + (voxel[axis] as f64 + 0.5) * self.spacing[axis];
        }
        position
    }

    /// Centre and size of every patch, m; time and step are zero.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let cells = f64::from(self.cells);
        let mut size = self.spacing;
        for width in &mut size[..usize::from(self.dimensions)] {
            *width *= cells;
        }
        let cell = |patch: usize| {
            let place = self.place(patch);
            let mut centre = [0.0; 3];
            for axis in 0..usize::from(self.dimensions) {
                centre[axis] = self.origin[axis] + (place[axis] as f64 + 0.5) * size[axis];
            }
            Cell { centre, size, time: 0.0, time_step: 0.0 }
        };
        (0..self.count()).map(cell).collect()
    }

    /// What lies behind the faces of every patch.
    #[must_use]
    pub fn neighbours(&self) -> Vec<[[Beyond; 2]; 3]> {
        let [nx, ny, _] = self.patches;
        let index = |place: [usize; 3]| (place[2] * ny + place[1]) * nx + place[0];
        let behind = |place: [usize; 3], axis: usize, high: bool| {
            let count = self.patches[axis];
            let mut other = place;
            let edge = if high { place[axis] + 1 == count } else { place[axis] == 0 };
            match (edge, self.sides[axis][usize::from(high)]) {
                (true, Side::Outflow) => return Beyond::Outflow,
                (true, Side::Fixed) => return Beyond::Fixed,
                (true, Side::Periodic) => other[axis] = if high { 0 } else { count - 1 },
                (false, _) => other[axis] = if high { place[axis] + 1 } else { place[axis] - 1 },
            }
            Beyond::Patch(index(other))
        };
        let faces = |patch: usize| {
            let place = self.place(patch);
            let mut faces = [[Beyond::Outflow; 2]; 3];
            for axis in 0..usize::from(self.dimensions) {
                faces[axis] = [behind(place, axis, false), behind(place, axis, true)];
            }
            faces
        };
        (0..self.count()).map(faces).collect()
    }

    /// Whether a kernel of this shape fits.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names what differs.
    pub fn fits(&self, shape: &Shape) -> Result<()> {
        if (self.dimensions, self.cells) == (shape.dimensions, shape.cells) {
            return Ok(());
        }
        let got = format!("{} dimensions, {} cells", self.dimensions, self.cells);
        let want = format!("the kernel is for {} and {}", shape.dimensions, shape.cells);
        Err(Error::invalid("the tiling", got, want))
    }
}
