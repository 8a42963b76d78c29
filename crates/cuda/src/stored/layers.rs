//! Layers of reduced storage: which boxes the tuned kernels take and which are left to the general ones.

use temblor_physics::{Axis, Boundary, SpeedStorage, Storage, WaveProblem};

use super::{elements, is_increment};
use crate::arguments::TemblorBoxes;
use crate::layer_tiles::{LayerTiles, RADIUS, TileShape};
use crate::layers::{Kind, suits_tiles};
use crate::layout::{LINE, Layout, NodeBox};
use crate::module::int;

/// The tuned kernel of the layers, if they and the operator are of a kind that has one.
pub(super) fn tile_shape(problem: &WaveProblem, storage: Storage) -> Option<TileShape> {
    if problem.operator.radius() != RADIUS {
        return None;
    }
    let coded = storage.speed == SpeedStorage::Uint16;
    TileShape::of_codes(Kind::of(problem), is_increment(storage.wavefields), coded)
}

/// Whether nodes of a box have taps across a reflecting face that the tuned kernels do not mirror: they do so
/// before node 0 along z, from eight nodes.
pub(super) fn meets_a_wall(problem: &WaveProblem, part: &NodeBox) -> bool {
    let radius = problem.operator.radius();
    let is_wall = |boundary| matches!(boundary, Boundary::Free | Boundary::Rigid);
    problem.grid.active_axes().any(|axis| {
        let (min, max) = problem.ends(axis);
        let (a, nodes) = (axis.index(), problem.grid.shape[axis.index()]);
        let mirrored = axis == Axis::Z && nodes >= 2 * radius;
        is_wall(min) && !mirrored && part.begin[a] < radius
            || is_wall(max) && part.end[a] + radius > nodes
    })
}

/// Tiles of the layers that no reflecting face is near, if the problem suits the tuned kernels.
pub(super) fn tiles(
    problem: &WaveProblem,
    layout: &Layout,
    storage: Storage,
    units: usize,
) -> Option<LayerTiles> {
    // Storage tiles are counted in 31 bits.
    let suits = suits_tiles(problem, layout) && i32::try_from(elements(layout) / LINE).is_ok();
    let shape = tile_shape(problem, storage).filter(|_| suits)?;
    let takes = |part: &NodeBox| !meets_a_wall(problem, part);
    let tiles = LayerTiles::of(problem, layout, units, shape, takes);
    (tiles.table.count > 0).then_some(tiles)
}

/// Leaves the boxes that are wanted.
pub(super) fn keep(boxes: &mut TemblorBoxes, wanted: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for b in 0..usize::try_from(boxes.count).unwrap_or(0) {
        if wanted(b) {
            boxes.begin[kept] = boxes.begin[b];
            boxes.end[kept] = boxes.end[b];
            boxes.first_element[kept] = boxes.first_element[b];
            kept += 1;
        }
    }
    boxes.count = int(kept);
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Boundaries, Cpml, Face, Grid, WavefieldStorage};

    use super::*;
    use crate::layers::boxes;

    #[test]
    fn only_what_lies_along_a_wall_is_left_to_the_general_kernel() {
        let grid = Grid::new([90, 80, 120], [10.0; 3], [0.0; 3]).unwrap();
        let layer = Cpml { cells: 10, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 };
        let problem = WaveProblem::builder(grid, 1e-4)
            .boundaries(Boundaries::uniform(Boundary::Cpml(layer)))
            .boundary(Face::ZMin, Boundary::Free)
            .boundary(Face::ZMax, Boundary::Free)
            .boundary(Face::YMax, Boundary::Rigid)
            .build()
            .unwrap();
        let layout = Layout::stored(&problem);
        let slabs = layout.layers.iter().map(|&(_, part)| part);
        let (walls, layers): (Vec<NodeBox>, Vec<NodeBox>) =
            slabs.partition(|part| meets_a_wall(&problem, part));
        assert_eq!(walls[0], NodeBox { begin: [0, 76, 0], end: [90, 80, 120] });
        assert_eq!(walls[1], NodeBox { begin: [0, 0, 96], end: [90, 76, 120] });
        assert_eq!((walls.len(), layers.len()), (2, 4));
        assert_eq!(layers[3], NodeBox { begin: [14, 14, 0], end: [76, 76, 32] });
        let storage =
            Storage { wavefields: WavefieldStorage::Int16Increment, speed: SpeedStorage::Uint16 };
        let tiles = tiles(&problem, &layout, storage, 132).unwrap();
        assert_eq!(tiles.shape.kernel, "acoustic_iso_int16_increment_u16_cpml");
        let mut rest = boxes(&layout.layers, (1, 256));
        keep(&mut rest, |n| meets_a_wall(&problem, &layout.layers[n].1));
        assert_eq!((tiles.table.count, rest.count), (4, 2));
        // Each keeps its place among the memory variables.
        let all = boxes(&layout.layers, (1, 256));
        assert_eq!(rest.first_element[..2], all.first_element[..2]);
        assert_eq!(tiles.table.first_element[..4], all.first_element[2..6]);
    }
}
