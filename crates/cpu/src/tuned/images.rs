//! Images across reflecting faces, pushed into the halo by whoever computes the node they show.
//!
//! Each node of the halo shows at most one node inside (`temblor_physics::boundary::image`, images
//! of images included), so pushing needs no order among rows and no special case for short axes.
//! Where the wavefield is zero beyond a face nothing is ever written and the halo stays zero.

use temblor_physics::{Axis, WaveProblem, boundary};

use super::layout::Layout;

/// Halo nodes that show a node, with their signs.
#[derive(Debug, Clone)]
pub(super) struct Images {
    /// Per plane i: planes of the halo.
    pub(super) planes: Vec<Vec<(isize, f32)>>,
    /// Per row j: rows of the halo.
    pub(super) rows: Vec<Vec<(isize, f32)>>,
    /// Whether no row has an image along y.
    rows_without: bool,
    /// Along z: (node of the halo, node inside, sign).
    pub(super) nodes: Vec<(isize, usize, f32)>,
    /// Whether p is held at zero on node (i, ., .), (., j, .), (., ., k).
    pub(super) held: [Vec<bool>; 3],
}

impl Images {
    pub(super) fn new(problem: &WaveProblem, layout: &Layout) -> Self {
        let along = |axis: Axis| {
            let nodes = layout.shape[axis.index()];
            let (min, max) = problem.ends(axis);
            let reach = layout.halo[axis.index()].cast_signed();
            let last = nodes.cast_signed();
            (-reach..0)
                .chain(last..last + reach)
                .filter_map(|node| {
                    let (source, sign) = boundary::image(node, nodes, &min, &max)?;
                    #[expect(clippy::cast_possible_truncation, reason = "the sign is 1 or -1")]
                    let sign = sign as f32;
                    Some((node, source, sign))
                })
                .collect::<Vec<_>>()
        };
        let by_source = |axis: Axis| {
            let mut lists = vec![Vec::new(); layout.shape[axis.index()]];
            for (node, source, sign) in along(axis) {
                lists[source].push((node, sign));
            }
            lists
        };
        let held = Axis::ALL.map(|axis| {
            let nodes = layout.shape[axis.index()];
            let (min, max) = problem.ends(axis);
            let inside = |n: usize| boundary::image(n.cast_signed(), nodes, &min, &max).is_none();
            (0..nodes).map(inside).collect()
        });
        Self {
            planes: by_source(Axis::X),
            rows: by_source(Axis::Y),
            rows_without: along(Axis::Y).is_empty(),
            nodes: along(Axis::Z),
            held,
        }
    }

    /// None at all, where whoever reads the halo makes it; nodes held at zero stay so.
    pub(super) fn made_by_readers(&self) -> Self {
        Self {
            planes: vec![Vec::new(); self.planes.len()],
            rows: vec![Vec::new(); self.rows.len()],
            rows_without: true,
            nodes: Vec::new(),
            held: self.held.clone(),
        }
    }

    /// Whether no node of a plane has an image.
    pub(super) fn none_of_plane(&self, i: usize) -> bool {
        self.planes[i].is_empty() && self.nodes.is_empty() && self.rows_without
    }

    /// Nodes of the halo that show a node.
    pub(super) fn halo_nodes(&self, [nx, ny, nz]: [usize; 3]) -> u64 {
        let count = |lists: &[Vec<(isize, f32)>]| lists.iter().map(Vec::len).sum::<usize>();
        let nodes = count(&self.planes) * ny * nz
            + count(&self.rows) * nx * nz
            + self.nodes.len() * nx * ny;
        nodes as u64
    }

    /// Whether p is held at zero on a node: it lies on a free surface.
    pub(super) fn held(&self, [i, j, k]: [usize; 3]) -> bool {
        self.held[0][i] || self.held[1][j] || self.held[2][k]
    }
}
