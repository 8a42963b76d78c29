//! Slabs of a patch, for more threads than patches.
//!
//! Where no value depends on a voxel's place along the slowest axis but by loads of neighbours, the
//! kernel of a few planes is the kernel of any others: only the chunk's first value moves. Operations
//! per voxel and their order stay, and with them all bits.

use crate::graph::{Coordinate, Leaf, Node};
use crate::kernel::{INPUT, Kernel, OUTPUT, Stage};

/// A kernel of `parts` equal slabs of a patch, and where their chunks lie in the patch's.
#[derive(Debug, Clone)]
pub struct Slab {
    /// The kernel of one slab.
    pub kernel: Kernel,
    /// Slabs of a patch.
    pub parts: usize,
    /// Values of a slab's input, halo included.
    pub input_len: usize,
    /// Values from the first of a slab's input to that of the next.
    pub input_step: usize,
    /// Values of a slab's output; outputs lie end to end.
    pub output_len: usize,
}

impl Kernel {
    /// The kernel of one of `parts` slabs of a patch, cut across the slowest axis. A patch's largest
    /// eigenvalue is the largest of its slabs'.
    ///
    /// None where planes do not divide evenly, or where a value depends on the plane: by its
    /// coordinate, by a matrix along that axis, or by a range that begins or ends within the patch.
    #[must_use]
    pub fn slab(&self, parts: u16) -> Option<Slab> {
        let cells = self.shape.cells;
        let axis = usize::from(self.shape.dimensions.checked_sub(1)?);
        if parts == 0 || !cells.is_multiple_of(parts) || self.depends_on_plane(axis) {
            return None;
        }
        let planes = cells / parts;
        let cut = i16::try_from(cells - planes).ok()?;
        let whole = |low: [i16; 3], high: [i16; 3]| {
            low[axis] <= 0 && u16::try_from(high[axis]).is_ok_and(|high| high >= cells)
        };
        let mut kernel = Self { name: format!("{}_slab{parts}", self.name), ..self.clone() };
        for block in &mut kernel.blocks {
            if !whole(block.low, block.high) {
                return None;
            }
            block.high[axis] -= cut;
        }
        for stage in &mut kernel.stages {
            if !whole(stage.low, stage.high) {
                return None;
            }
            stage.high[axis] -= cut;
        }
        let [input, output] = [INPUT, OUTPUT].map(|block| &kernel.blocks[usize::from(block.0)]);
        let values = |block: &crate::kernel::Block| block.voxels() * usize::from(block.width);
        let mut next = input.low;
        next[axis] += i16::try_from(planes).ok()?;
        Some(Slab {
            parts: usize::from(parts),
            input_len: values(input),
            input_step: input.offset(next),
            output_len: values(output),
            kernel,
        })
    }

    /// Whether some value depends on the place along an axis otherwise than by neighbours.
    fn depends_on_plane(&self, axis: usize) -> bool {
        let outputs: Vec<_> = self.stages.iter().flat_map(Stage::outputs).collect();
        let needed = self.graph.reachable(&outputs);
        self.graph.values().filter(|(value, _)| needed[value.index()]).any(|(_, node)| match node {
            Node::Leaf(Leaf::Load { at, .. }) => !matches!(at[axis], Coordinate::Shift(_)),
            Node::Leaf(
                Leaf::Coefficient { axis: along, .. } | Leaf::Position { axis: along, .. },
            ) => usize::from(along) == axis,
            _ => false,
        })
    }
}
