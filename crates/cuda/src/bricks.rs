//! Bricks: blocks of nodes of the interior whose largest values give cells their exponents
//! (`csrc/cuda/ozaki.cuh`), and beyond each face of the interior, as far as the operator reaches.

use temblor_physics::WaveProblem;

use crate::layout::{Layout, NodeBox};

/// Nodes of a brick along (x, y, z), as in the kernels.
pub(crate) const BRICK: [usize; 3] = [4, 8, 16];

/// The bricks of a box of nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bricks {
    part: NodeBox,
    /// Nodes beyond the box that taps reach along (x, y, z).
    reach: [usize; 3],
}

impl Bricks {
    /// Those of the interior of `layout`.
    pub(crate) fn new(problem: &WaveProblem, layout: &Layout) -> Self {
        let mut reach = [0; 3];
        for axis in problem.grid.active_axes() {
            reach[axis.index()] = problem.operator.radius();
        }
        Self { part: layout.interior, reach }
    }

    /// Bricks along (x, y, z): those of the box and one beyond either end.
    pub(crate) fn counts(&self) -> [usize; 3] {
        std::array::from_fn(|a| self.part.extent(a).div_ceil(BRICK[a]) + 2)
    }

    /// The place of the brick that holds a node in the array of largest values; none if no tap of the
    /// box reaches the node.
    pub(crate) fn place_of(&self, node: [usize; 3]) -> Option<usize> {
        let counts = self.counts();
        let mut beside = 0;
        let mut place = 0;
        for a in 0..3 {
            let (n, begin, end) = (node[a], self.part.begin[a], self.part.end[a]);
            let at = if n < begin {
                beside += 1;
                (n + self.reach[a] >= begin).then_some(0)?
            } else if n >= end {
                beside += 1;
                (n < end + self.reach[a]).then_some(counts[a] - 1)?
            } else {
                (n - begin) / BRICK[a] + 1
            };
            place = place * counts[a] + at;
        }
        (beside <= 1).then_some(place)
    }

    /// Places of the bricks beside the faces of the box.
    pub(crate) fn beside(&self) -> Vec<usize> {
        let counts = self.counts();
        let mut places = Vec::new();
        for place in 0..counts.iter().product() {
            let [_, ny, nz] = counts;
            let at = [place / (ny * nz), place / nz % ny, place % nz];
            let mut beyond = (0..3).filter(|&a| at[a] == 0 || at[a] == counts[a] - 1);
            let axis = beyond.next();
            if axis.is_some_and(|a| self.reach[a] > 0) && beyond.next().is_none() {
                places.push(place);
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRICKS: Bricks =
        Bricks { part: NodeBox { begin: [8, 0, 32], end: [40, 17, 70] }, reach: [4; 3] };

    #[test]
    fn every_node_that_taps_reach_has_a_brick_and_others_have_none() {
        // 8 bricks and two beside along x, 3 and two along y, 3 and two along z.
        assert_eq!(BRICKS.counts(), [10, 5, 5]);
        let place = |x: usize, y: usize, z: usize| Some((x * 5 + y) * 5 + z);
        assert_eq!(BRICKS.place_of([8, 0, 32]), place(1, 1, 1));
        assert_eq!(BRICKS.place_of([39, 16, 69]), place(8, 3, 3));
        assert_eq!(BRICKS.place_of([4, 9, 48]), place(0, 2, 2));
        assert_eq!(BRICKS.place_of([40, 9, 48]), place(9, 2, 2));
        assert_eq!(BRICKS.place_of([12, 20, 69]), place(2, 4, 3));
        for beyond in [[3, 9, 48], [44, 9, 48], [12, 21, 48], [7, 9, 31]] {
            assert_eq!(BRICKS.place_of(beyond), None, "{beyond:?}");
        }
    }

    #[test]
    fn bricks_beside_the_box_are_those_of_its_six_faces() {
        assert_eq!(BRICKS.beside().len(), 2 * (8 * 3 + 8 * 3 + 3 * 3));
        assert!(BRICKS.beside().contains(&BRICKS.place_of([4, 9, 48]).unwrap()));
    }

    #[test]
    fn a_box_of_one_row_has_bricks_beside_four_faces() {
        let part = NodeBox { begin: [8, 0, 32], end: [40, 1, 70] };
        let bricks = Bricks { part, reach: [8, 0, 8] };
        assert_eq!(bricks.counts(), [10, 3, 5]);
        assert_eq!(bricks.beside().len(), 2 * (8 + 3));
        assert_eq!(bricks.place_of([0, 0, 48]), Some(3 + 5 - 1));
        assert_eq!(bricks.place_of([8, 1, 48]), None);
    }
}
