//! Where a plan's fields lie in device memory and which nodes each kernel updates.
//!
//! Fields have a halo of what the operator and the layers' kernels reach along active axes. The first
//! interior node of every row lies on 128 bytes, so that tiles start on a cache line, or as far past it as
//! tiles read before their first node; rows are padded to 128 bytes.

use temblor_physics::{Axis, Boundary, WaveProblem};

use crate::layers::reach;

/// A box of nodes, `begin..end` per axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeBox {
    /// First node.
    pub(crate) begin: [usize; 3],
    /// One past the last node.
    pub(crate) end: [usize; 3],
}

impl NodeBox {
    /// Nodes along an axis.
    pub(crate) fn extent(&self, axis: usize) -> usize {
        self.end[axis] - self.begin[axis]
    }

    /// Whether it has no node.
    pub(crate) fn is_empty(&self) -> bool {
        (0..3).any(|a| self.end[a] <= self.begin[a])
    }
}

/// Layout of all fields of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Nodes along (x, y, z).
    pub(crate) nodes: [usize; 3],
    /// Elements before node 0 along (x, y, z).
    pub(crate) halo: [usize; 3],
    /// Elements of a row.
    pub(crate) pitch: usize,
    /// Rows of a plane.
    pub(crate) rows: usize,
    /// Planes.
    pub(crate) planes: usize,
    /// Nodes of the plain kernel: all without the layers.
    pub(crate) interior: NodeBox,
    /// Disjoint slabs that cover the layers, with the axis normal to each, empty ones left out.
    pub(crate) layers: Vec<(usize, NodeBox)>,
}

/// Elements of a cache line of floats, and nodes of a storage tile.
pub(crate) const LINE: usize = 32;

/// Nodes that travel together between memory and multiprocessors.
pub(crate) const SECTOR: usize = 8;

/// Nodes along z that a thread of a tuned kernel takes.
const GROUP: usize = 4;

impl Layout {
    /// The layout for a problem; the interior's first node lies `past_line` elements after a line's begin.
    pub(crate) fn new(problem: &WaveProblem, past_line: usize) -> Self {
        let nodes = problem.grid.shape;
        let radius = reach(problem);
        let mut interior = NodeBox { begin: [0; 3], end: nodes };
        for axis in Axis::ALL {
            let a = axis.index();
            let (min, max) = problem.ends(axis);
            // q of a C-PML is felt one radius outside the layer.
            let width = |boundary: &Boundary| match boundary {
                Boundary::Cpml(layer) => layer.cells + radius,
                other => other.cells(),
            };
            let (mut low, mut high) = (width(&min), width(&max));
            if axis == Axis::Z {
                low += spare(low);
                if low > nodes[a] {
                    low = width(&min).next_multiple_of(GROUP);
                }
                let inner = nodes[a].saturating_sub(low + high);
                high += if high == 0 { 0 } else { past(inner) };
            }
            interior.begin[a] = low.min(nodes[a]);
            interior.end[a] = nodes[a].saturating_sub(high).max(interior.begin[a]);
        }
        let layers = slabs(&NodeBox { begin: [0; 3], end: nodes }, &interior);
        let halo_y = if problem.grid.active(Axis::Y) { radius } else { 0 };
        // The least padding not below the radius that puts the interior there.
        let past = (radius + interior.begin[2] + LINE - past_line) % LINE;
        let halo_z = radius + if past == 0 { 0 } else { LINE - past };
        Self {
            nodes,
            halo: [radius, halo_y, halo_z],
            pitch: (halo_z + nodes[2] + radius).next_multiple_of(LINE),
            rows: nodes[1] + 2 * halo_y,
            planes: nodes[0] + 2 * radius,
            interior,
            layers,
        }
    }

    /// The layout of reduced storage: rows of whole storage tiles of [`LINE`] nodes with a tile of zeros
    /// before each; the interior begins and ends on a tile along z and leaves out what reads across
    /// reflecting faces. Of the slabs, those along such faces come first, so that no other one does,
    /// but for the face before node 0 along z.
    pub(crate) fn stored(problem: &WaveProblem) -> Self {
        let nodes = problem.grid.shape;
        let radius = problem.operator.radius();
        let whole = NodeBox { begin: [0; 3], end: nodes };
        // What remains without nodes at either end, in whole tiles along z; the width of a boundary may
        // differ on the face before node 0 along z.
        let inner = |outer: &NodeBox, width: &dyn Fn(&Boundary, bool) -> usize| {
            let mut inner = *outer;
            for axis in Axis::ALL {
                let a = axis.index();
                let (min, max) = problem.ends(axis);
                let mut low = width(&min, axis == Axis::Z);
                let mut end = nodes[a].saturating_sub(width(&max, false));
                if axis == Axis::Z {
                    low = low.next_multiple_of(LINE);
                    end = if end < nodes[a] { end / LINE * LINE } else { end };
                }
                inner.begin[a] = low.clamp(outer.begin[a], outer.end[a]);
                inner.end[a] = end.clamp(inner.begin[a], outer.end[a]);
            }
            inner
        };
        let of_wall = |boundary: &Boundary| match boundary {
            Boundary::Free | Boundary::Rigid => radius,
            _ => 0,
        };
        // All kernels mirror across the face before node 0 along z.
        let clear = inner(&whole, &|boundary, surface| if surface { 0 } else { of_wall(boundary) });
        let mut interior = inner(&clear, &|boundary, _| match boundary {
            Boundary::Cpml(layer) => layer.cells + radius,
            other => other.cells().max(of_wall(other)),
        });
        // A row's last nodes are no whole tile.
        interior.end[2] = (interior.end[2] / LINE * LINE).max(interior.begin[2]);
        let mut layers = slabs(&whole, &clear);
        layers.extend(slabs(&clear, &interior));
        let halo_y = if problem.grid.active(Axis::Y) { radius } else { 0 };
        Self {
            nodes,
            halo: [radius, halo_y, LINE],
            // Two bytes an element: twice as many on a cache line.
            pitch: (LINE + nodes[2].next_multiple_of(LINE)).next_multiple_of(2 * LINE),
            rows: nodes[1] + 2 * halo_y,
            planes: nodes[0] + 2 * radius,
            interior,
            layers,
        }
    }

    /// Elements between neighbours along y.
    pub(crate) fn stride_y(&self) -> usize {
        self.pitch
    }

    /// Elements between neighbours along x.
    pub(crate) fn stride_x(&self) -> usize {
        self.pitch * self.rows
    }

    /// Elements of a field.
    pub(crate) fn elements(&self) -> usize {
        self.stride_x() * self.planes
    }

    /// Element of a node, counted from node 0.
    pub(crate) fn offset(&self, node: [usize; 3]) -> usize {
        node[0] * self.stride_x() + node[1] * self.stride_y() + node[2]
    }

    /// Elements before node 0.
    pub(crate) fn origin(&self) -> usize {
        self.offset(self.halo)
    }
}

/// Nodes along z that the layers take on top of `nodes`, so that interior and layers meet on a cache
/// line where that costs no more than a sector's worth of nodes, else on a sector. Rows of the layers
/// are few nodes long, and a line counts whole however little of it is read: on an H200 layers of 20
/// cells took 4 % less time at 512^3 although they had a tenth more nodes.
fn spare(nodes: usize) -> usize {
    let to_line = nodes.next_multiple_of(LINE) - nodes;
    if to_line <= SECTOR { to_line } else { nodes.next_multiple_of(SECTOR) - nodes }
}

/// The same at the other end, for an interior of `nodes` that begins on a line.
fn past(nodes: usize) -> usize {
    let past_line = nodes % LINE;
    if past_line <= SECTOR { past_line } else { nodes % SECTOR }
}

/// What remains of `whole` without `inner`: two slabs along x, then y, then z.
pub(crate) fn slabs(whole: &NodeBox, inner: &NodeBox) -> Vec<(usize, NodeBox)> {
    let mut rest = *whole;
    let mut slabs = Vec::new();
    for a in 0..3 {
        let mut low = rest;
        low.end[a] = inner.begin[a];
        let mut high = rest;
        high.begin[a] = inner.end[a];
        slabs.extend([low, high].into_iter().filter(|b| !b.is_empty()).map(|b| (a, b)));
        rest.begin[a] = inner.begin[a];
        rest.end[a] = inner.end[a];
        if rest.is_empty() {
            break;
        }
    }
    slabs
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Boundaries, Cpml, Face, Grid};

    use super::*;

    fn layered(shape: [usize; 3]) -> Layout {
        let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
        let layer = Boundary::Cpml(Cpml { cells: 6, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 });
        let problem = WaveProblem::builder(grid, 1e-3)
            .boundaries(Boundaries::uniform(layer))
            .build()
            .unwrap();
        Layout::new(&problem, 0)
    }

    #[test]
    fn interior_and_layers_cover_each_node_once() {
        for shape in [[33, 27, 65], [40, 1, 51], [13, 15, 200], [12, 12, 12]] {
            let layout = layered(shape);
            let mut seen = vec![0; shape.iter().product()];
            let parts = layout.layers.iter().map(|(_, part)| part).chain([&layout.interior]);
            for part in parts.filter(|b| !b.is_empty()) {
                for i in part.begin[0]..part.end[0] {
                    for j in part.begin[1]..part.end[1] {
                        for k in part.begin[2]..part.end[2] {
                            seen[(i * shape[1] + j) * shape[2] + k] += 1;
                        }
                    }
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{shape:?}");
        }
    }

    #[test]
    fn stored_interior_and_layers_cover_each_node_once_in_whole_tiles() {
        let layer = Boundary::Cpml(Cpml { cells: 6, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 });
        let of = |low, high| {
            let mut boundaries = Boundaries::uniform(low);
            for face in [Face::XMax, Face::YMax, Face::ZMax] {
                boundaries.set(face, high);
            }
            boundaries
        };
        for boundaries in [
            of(Boundary::Zero, Boundary::Zero),
            of(Boundary::Rigid, Boundary::Rigid),
            of(layer, layer),
            of(layer, Boundary::Rigid),
            of(Boundary::Free, layer),
            of(Boundary::Zero, Boundary::Free),
        ] {
            for shape in [[33, 27, 65], [40, 1, 51], [13, 15, 200], [12, 12, 12], [13, 14, 96]] {
                let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
                let builder = WaveProblem::builder(grid, 1e-4);
                let problem = builder.boundaries(boundaries).build().unwrap();
                let layout = Layout::stored(&problem);
                let mut seen = vec![0; shape.iter().product()];
                let parts = layout.layers.iter().map(|(_, part)| part).chain([&layout.interior]);
                for part in parts.filter(|b| !b.is_empty()) {
                    assert_eq!(part.begin[2] % LINE, 0);
                    assert!(part.end[2] % LINE == 0 || part.end[2] == shape[2]);
                    for i in part.begin[0]..part.end[0] {
                        for j in part.begin[1]..part.end[1] {
                            for k in part.begin[2]..part.end[2] {
                                seen[(i * shape[1] + j) * shape[2] + k] += 1;
                            }
                        }
                    }
                }
                assert!(seen.iter().all(|&n| n == 1), "{boundaries:?} {shape:?}");
                assert!(layout.layers.len() <= 6, "{boundaries:?} {shape:?}");
            }
        }
    }

    #[test]
    fn the_interior_starts_on_a_cache_line() {
        let layout = layered([50, 50, 77]);
        assert_eq!((layout.halo[2] + layout.interior.begin[2]) % 32, 0);
        assert_eq!(layout.pitch % 32, 0);
        assert!(layout.halo[2] >= 4 && layout.pitch >= layout.halo[2] + 77 + 4);
    }

    #[test]
    fn the_interior_starts_a_sector_past_a_line_where_tiles_read_eight_nodes_before_it() {
        for cells in 0..40 {
            let grid = Grid::new([100; 3], [10.0; 3], [0.0; 3]).unwrap();
            let layer = Boundary::Cpml(Cpml { cells, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 });
            let layer = if cells == 0 { Boundary::Zero } else { layer };
            let builder = WaveProblem::builder(grid, 1e-4).boundaries(Boundaries::uniform(layer));
            let layout = Layout::new(&builder.build().unwrap(), SECTOR);
            assert_eq!((layout.halo[2] + layout.interior.begin[2]) % LINE, SECTOR);
            assert!((4..4 + LINE).contains(&layout.halo[2]));
        }
    }
}
