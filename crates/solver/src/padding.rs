//! Layers are added outside the user's model; this maps nodes of one grid to the other.

use temblor_physics::Grid;

/// The user's grid inside the grid with layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// Nodes of the user's model along (x, y, z).
    pub inner: [usize; 3],
    /// Nodes with layers along (x, y, z).
    pub padded: [usize; 3],
    /// Layer nodes before the model's first node along (x, y, z).
    pub before: [usize; 3],
}

impl Padding {
    /// `cells` are layer widths in the order of [`temblor_physics::Face::ALL`]; an inactive axis
    /// gets none.
    #[must_use]
    pub fn new(grid: &Grid, cells: [usize; 6]) -> Self {
        let width = |axis: usize, end: usize| {
            if grid.shape[axis] > 1 { cells[2 * axis + end] } else { 0 }
        };
        Self {
            inner: grid.shape,
            padded: std::array::from_fn(|a| width(a, 0) + grid.shape[a] + width(a, 1)),
            before: std::array::from_fn(|a| width(a, 0)),
        }
    }

    /// Node of the model, along one axis, whose value a node of the padded grid takes: the nearest.
    #[must_use]
    pub fn inner_node(&self, axis: usize, node: usize) -> usize {
        node.saturating_sub(self.before[axis]).min(self.inner[axis] - 1)
    }

    /// The grid with layers around `grid`.
    ///
    /// # Errors
    /// If it has too many nodes.
    pub fn grid(&self, grid: &Grid) -> temblor_physics::Result<Grid> {
        let origin =
            std::array::from_fn(|a| grid.origin[a] - self.before[a] as f64 * grid.spacing[a]);
        Grid::new(self.padded, grid.spacing, origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_lie_outside_the_model_and_repeat_its_edge() {
        let grid = Grid::new([4, 1, 3], [10.0; 3], [100.0, 0.0, 0.0]).unwrap();
        let padding = Padding::new(&grid, [2, 3, 5, 5, 0, 4]);
        assert_eq!(padding.padded, [9, 1, 7]);
        let along_x: Vec<_> = (0..9).map(|i| padding.inner_node(0, i)).collect();
        assert_eq!(along_x, [0, 0, 0, 1, 2, 3, 3, 3, 3]);
        let padded = padding.grid(&grid).unwrap();
        assert_eq!(
            padded.position([2, 0, 0]).map(f64::to_bits),
            [100.0_f64, 0.0, 0.0].map(f64::to_bits)
        );
    }
}
