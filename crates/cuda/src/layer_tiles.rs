//! Tiles of the layers for the kernels that keep them in shared memory: the shape of a tile and how
//! far a block marches.

use temblor_physics::{Axis, Boundary, WaveProblem};

use crate::arguments::TemblorLayerTiles;
use crate::layers::{GROUP, Kind};
use crate::layout::{Layout, NodeBox};
use crate::module::{int, long};

/// Neighbours on either side that the tuned kernels of the layers are written for.
pub(crate) const RADIUS: usize = 4;

/// Threads fetch one group each of the eight rows beside a tile.
const MOST_LANES: usize = 24;

/// Groups of a cache line.
const LINE: usize = 8;

/// Blocks that follow each other in a multiprocessor's place, if that gives them not too few or too
/// many planes. Blocks that drift apart no longer meet in L2: on an H200 at 512^3, 12 were best and
/// 3 cost 4 (C-PML) to 11 % (Minimod's layer).
const BLOCKS_PER_PLACE: usize = 12;

/// Fewest planes that a block marches: it reads eight more of p.
const FEWEST_PLANES: usize = 12;

/// Most planes that a block marches.
const MOST_PLANES: usize = 32;

/// Shared memory of a multiprocessor of `sm_90` that blocks may take, bytes.
const ROOM: usize = 227 * 1024;

/// What the driver takes of it per block, bytes.
const RESERVED: usize = 1024;

/// How the wavefields rest in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    /// In single precision, the wave speed too.
    Floats,
    /// int16, an exponent per storage tile, of which a tile holds whole ones; bytes of the wave speed.
    Codes { speed: usize },
}

/// Launch figures of a kernel of the layers; the same numbers as in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileShape {
    /// Entry point.
    pub(crate) kernel: &'static str,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Blocks on a multiprocessor.
    resident: usize,
    /// Planes fetched ahead.
    depth: usize,
    /// Most rows of a tile that spans a layer, so that the usual layer is one tile wide.
    rows: usize,
    fields: Fields,
}

const CPML: TileShape = TileShape {
    kernel: "acoustic_iso_cpml",
    threads: 192,
    resident: 2,
    depth: 2,
    rows: 32,
    fields: Fields::Floats,
};

const MINIMOD: TileShape =
    TileShape { kernel: "acoustic_iso_minimod", threads: 224, rows: 36, ..CPML };

/// Entry points for int16 and its increments, with floats and with codes for the wave speed.
const CPML_OF_CODES: [[&str; 2]; 2] = [
    ["acoustic_iso_int16_cpml", "acoustic_iso_int16_u16_cpml"],
    ["acoustic_iso_int16_increment_cpml", "acoustic_iso_int16_increment_u16_cpml"],
];
const MINIMOD_OF_CODES: [[&str; 2]; 2] = [
    ["acoustic_iso_int16_minimod", "acoustic_iso_int16_u16_minimod"],
    ["acoustic_iso_int16_increment_minimod", "acoustic_iso_int16_increment_u16_minimod"],
];

/// Memory variables in shared memory.
#[derive(Debug, Clone, Copy)]
enum Streams {
    /// phi.
    Phi,
    /// q and r of a C-PML along z, and where they may occur along the rows and along the march.
    Cpml { rows: bool, march: bool },
}

impl TileShape {
    /// The tuned kernel for a kind of layer.
    pub(crate) fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::None => None,
            Kind::Cpml => Some(CPML),
            Kind::Minimod => Some(MINIMOD),
        }
    }

    /// The same for wavefields in int16 or, if `increment`, its increments, and wave speeds in floats
    /// or, if `coded`, codes.
    pub(crate) fn of_codes(kind: Kind, increment: bool, coded: bool) -> Option<Self> {
        let (shape, names) = match kind {
            Kind::None => return None,
            Kind::Cpml => (CPML, CPML_OF_CODES),
            Kind::Minimod => (MINIMOD, MINIMOD_OF_CODES),
        };
        Some(Self {
            kernel: names[usize::from(increment)][usize::from(coded)],
            // In tiles of one storage tile along z.
            rows: shape.threads as usize / LINE,
            fields: Fields::Codes { speed: if coded { 2 } else { 4 } },
            ..shape
        })
    }

    /// Bytes of shared memory of a tile: a ring of planes of p and stages of the other streams.
    fn shared(&self, rows: usize, lanes: usize, streams: Streams) -> usize {
        let (own, wide, beside) = (rows * lanes, (rows + 2 * RADIUS) * lanes, 2 * rows);
        let planes = |depth: usize, stage: usize| {
            let (ring, fields) = match self.fields {
                Fields::Floats => ((RADIUS + 1 + depth) * wide, 2 * own + beside),
                // Two planes of floats; two codes and a wave speed per group, and per thread a code of
                // what lies beside the tile.
                Fields::Codes { speed } => {
                    (2 * (wide + beside), ((2 + speed / 2) * own + self.threads as usize) / 2)
                }
            };
            ring + (depth + 1) * (fields + stage)
        };
        let groups = match streams {
            Streams::Phi => planes(self.depth, own),
            Streams::Cpml { rows, march } => {
                let along_z = 2 * own + beside;
                let along_rows = if rows { wide + own } else { 0 };
                let without = planes(self.depth, along_z + along_rows);
                // Tiles that meet the march's ends hold a ring of planes of q and fetch less far ahead.
                let ends = planes(1, along_z + along_rows + own) + (2 * RADIUS + 2) * own;
                if march { without.max(ends) } else { without }
            }
        };
        groups * GROUP * 4
    }

    /// Bytes of shared memory that a block may take.
    fn room(&self) -> usize {
        ROOM / self.resident - RESERVED
    }

    /// Rows and lanes of the tiles of a box with `rows` rows and `groups` groups along z.
    fn tile(&self, rows: usize, groups: usize, streams: Streams) -> (usize, usize) {
        let threads = self.threads as usize;
        let tall = rows > self.rows;
        let usual = rows.div_ceil(rows.div_ceil(self.rows));
        let most = if tall { LINE } else { (threads / usual).clamp(1, MOST_LANES) };
        let mut lanes = most.min(groups);
        let (least, fewer) = if self.fields == Fields::Floats { (1, 2) } else { (LINE, LINE) };
        if self.fields == Fields::Floats {
            // Whole cache lines if that costs few threads, else whole sectors.
            lanes -= match lanes {
                LINE.. if lanes % LINE <= 2 => lanes % LINE,
                2.. if lanes < groups => lanes % 2,
                _ => 0,
            };
        } else {
            // A thread fetches one group beside the tile or beside its rows.
            let groups = groups.next_multiple_of(LINE);
            lanes = (most.min(groups) / LINE * LINE).clamp(LINE, 2 * LINE);
        }
        loop {
            let fits = |rows| self.shared(rows, lanes, streams) <= self.room();
            let mut height = usual;
            if tall {
                // Two threads fetch what lies beside a row.
                height = rows.min(threads / lanes.max(2));
                while height > 1 && !fits(height) {
                    height -= 1;
                }
                height = rows.div_ceil(rows.div_ceil(height));
            }
            if lanes == least || fits(height) {
                return (height, lanes);
            }
            lanes = lanes.saturating_sub(fewer).max(least);
        }
    }
}

/// The tiles of all boxes and how to launch them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerTiles {
    pub(crate) table: TemblorLayerTiles,
    pub(crate) shape: TileShape,
    /// Bytes of shared memory per block.
    pub(crate) shared: usize,
}

impl LayerTiles {
    /// Blocks of a launch.
    pub(crate) fn blocks(&self) -> usize {
        let count = usize::try_from(self.table.count).unwrap_or(0);
        usize::try_from(self.table.first_block[count]).unwrap_or(0)
    }

    /// Tiles of a problem's layers on a device with `units` multiprocessors.
    pub(crate) fn new(problem: &WaveProblem, layout: &Layout, units: usize) -> Option<Self> {
        Some(Self::of(problem, layout, units, TileShape::of(Kind::of(problem))?, |_| true))
    }

    /// The same for the layers' boxes that `takes` wants.
    pub(crate) fn of(
        problem: &WaveProblem,
        layout: &Layout,
        units: usize,
        shape: TileShape,
        takes: impl Fn(&NodeBox) -> bool,
    ) -> Self {
        let kind = Kind::of(problem);
        let mut table = TemblorLayerTiles { open: open_faces(problem), ..Default::default() };
        let (mut shared, mut work, mut elements) = (0, 0, 0);
        let mut tiles = Vec::new();
        for (axis, part) in &layout.layers {
            let (n, first_element) = (tiles.len(), elements);
            elements += padded_points(part);
            if !takes(part) {
                continue;
            }
            // The rows cross a layer along x or y, so that its q lies in one tile.
            let (march, row) = if *axis == 0 { (1, 0) } else { (0, 1) };
            let streams = match kind {
                Kind::Cpml => Streams::Cpml { rows: *axis < 2, march: *axis == 0 },
                _ => Streams::Phi,
            };
            let groups = part.extent(2).div_ceil(GROUP);
            let (rows, lanes) = shape.tile(part.extent(row), groups, streams);
            let (tiles_z, tiles_row) = (groups.div_ceil(lanes), part.extent(row).div_ceil(rows));
            table.begin[n] = part.begin.map(int);
            table.end[n] = part.end.map(int);
            table.march[n] = int(march);
            table.rows[n] = int(rows);
            table.lanes[n] = int(lanes);
            table.tiles_z[n] = int(tiles_z);
            table.tiles_row[n] = int(tiles_row);
            table.first_element[n] = long(first_element);
            tiles.push((tiles_z * tiles_row, part.extent(march)));
            work += tiles_z * tiles_row * part.extent(march);
            shared = shared.max(shape.shared(rows, lanes, streams));
        }
        let places = units.max(1) * shape.resident;
        let most = work.div_ceil(places * BLOCKS_PER_PLACE).clamp(FEWEST_PLANES, MOST_PLANES);
        let mut blocks = 0;
        for (n, (tiles, extent)) in tiles.iter().enumerate() {
            let planes = extent.div_ceil(extent.div_ceil(most));
            table.planes[n] = int(planes);
            table.first_block[n] = int(blocks);
            blocks += tiles * extent.div_ceil(planes);
        }
        table.count = int(tiles.len());
        table.first_block[tiles.len()] = int(blocks);
        Self { table, shape, shared }
    }
}

/// Elements of a box in compact storage, whose rows are whole sectors of 32 B.
pub(crate) fn padded_points(part: &NodeBox) -> usize {
    part.extent(0) * part.extent(1) * part.extent(2).next_multiple_of(2 * GROUP)
}

/// Faces beyond which the field is zero: bit 2a below node 0 along axis a, bit 2a + 1 above.
fn open_faces(problem: &WaveProblem) -> i32 {
    let mut open = 0;
    for axis in Axis::ALL {
        let (min, max) = problem.ends(axis);
        for (side, boundary) in [min, max].iter().enumerate() {
            if !matches!(boundary, Boundary::Free | Boundary::Rigid) {
                open |= 1 << (2 * axis.index() + side);
            }
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Boundaries, Cpml, Face, Grid, Minimod};

    use super::*;

    fn layer(cells: usize, minimod: bool) -> Boundary {
        if minimod {
            Boundary::Minimod(Minimod { cells, eta_peak: 0.3 })
        } else {
            Boundary::Cpml(Cpml { cells, r0: 1e-6, peak_hz: 10.0, vmax: 3000.0 })
        }
    }

    fn layered(shape: [usize; 3], top: Boundary, layer: Boundary) -> WaveProblem {
        let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
        WaveProblem::builder(grid, 1e-3)
            .boundaries(Boundaries::uniform(layer))
            .boundary(Face::ZMin, top)
            .build()
            .unwrap()
    }

    fn all() -> impl Iterator<Item = (WaveProblem, Layout, LayerTiles)> {
        let shapes = [[33, 27, 65], [70, 130, 101], [12, 90, 200], [150, 41, 40]];
        let sizes = [1, 2, 6, 11, 20, 27, 33].map(|n| [(n, true), (n, false)]);
        shapes.into_iter().flat_map(move |shape| {
            sizes.into_iter().flatten().flat_map(move |(cells, minimod)| {
                if shape.iter().any(|&n| n < 2 * cells) {
                    return Vec::new();
                }
                let layer = layer(cells, minimod);
                let top = if cells.is_multiple_of(2) { Boundary::Free } else { layer };
                let problem = layered(shape, top, layer);
                let layout = Layout::new(&problem, 0);
                let tiles = LayerTiles::new(&problem, &layout, 132).unwrap();
                let floats = (problem.clone(), layout, tiles);
                let of_codes = |coded| {
                    let shape = TileShape::of_codes(Kind::of(&problem), false, coded).unwrap();
                    let layout = Layout::stored(&problem);
                    let tiles = LayerTiles::of(&problem, &layout, 132, shape, |_| true);
                    (problem.clone(), layout, tiles)
                };
                vec![floats, of_codes(false), of_codes(true)]
            })
        })
    }

    #[test]
    fn every_node_of_the_layers_belongs_to_one_thread() {
        for (problem, layout, tiles) in all() {
            let [nx, ny, nz] = problem.grid.shape;
            let mut seen = vec![0_u8; nx * ny * nz];
            let t = &tiles.table;
            for n in 0..layout.layers.len() {
                let (march, row) = if t.march[n] == 0 { (0, 1) } else { (1, 0) };
                for block in 0..t.first_block[n + 1] - t.first_block[n] {
                    let tile_z = block % t.tiles_z[n];
                    let tile_row = block / t.tiles_z[n] % t.tiles_row[n];
                    let chunk = block / (t.tiles_z[n] * t.tiles_row[n]);
                    let part = |a: usize, at: i32, size: i32| {
                        let first = t.begin[n][a] + at * size;
                        assert!(first < t.end[n][a], "a block without nodes");
                        first..(first + size).min(t.end[n][a])
                    };
                    for i in part(march, chunk, t.planes[n]) {
                        for j in part(row, tile_row, t.rows[n]) {
                            for k in part(2, tile_z, 4 * t.lanes[n]) {
                                let [x, y] = if march == 0 { [i, j] } else { [j, i] };
                                let at = (x * int(ny) + y) * int(nz) + k;
                                seen[usize::try_from(at).unwrap()] += 1;
                            }
                        }
                    }
                }
            }
            let points = |b: &NodeBox| (0..3).map(|a| b.extent(a)).product::<usize>();
            let layers: usize = layout.layers.iter().map(|(_, b)| points(b)).sum();
            assert!(seen.iter().all(|&n| n <= 1), "{:?}", problem.grid.shape);
            assert_eq!(seen.iter().map(|&n| usize::from(n)).sum::<usize>(), layers);
        }
    }

    #[test]
    fn tiles_suit_their_threads_and_shared_memory() {
        for (problem, layout, tiles) in all() {
            let (shape, t) = (tiles.shape, &tiles.table);
            assert!(tiles.shared <= shape.room(), "{}", tiles.shared);
            for n in 0..layout.layers.len() {
                let (rows, lanes, threads) = (t.rows[n], t.lanes[n], shape.threads.cast_signed());
                let what = format!("{:?} {rows} {lanes}", problem.grid.shape);
                assert!(rows * lanes <= threads && 2 * rows <= threads, "{what}");
                assert!(8 * lanes <= threads, "{what}");
                if shape.fields != Fields::Floats {
                    assert_eq!(lanes % 8, 0, "{what}");
                    // A thread fetches one group beside the tile or beside its rows.
                    assert!(8 * lanes + 2 * rows <= threads, "{what}");
                }
            }
        }
    }

    #[test]
    fn the_usual_layers_lie_in_one_tile_of_whole_lines() {
        for (cells, minimod) in [(20, false), (27, true)] {
            let layer = layer(cells, minimod);
            let problem = layered([512; 3], layer, layer);
            let layout = Layout::new(&problem, 0);
            let t = LayerTiles::new(&problem, &layout, 132).unwrap().table;
            for n in 0..6 {
                assert_eq!(t.lanes[n], 8, "{cells} {n}");
                assert!(n >= 4 || t.tiles_row[n] == 1, "{cells} {n}");
            }
            let shape = TileShape::of_codes(Kind::of(&problem), true, true).unwrap();
            let layout = Layout::stored(&problem);
            let t = LayerTiles::of(&problem, &layout, 132, shape, |_| true).table;
            for n in 0..6 {
                assert_eq!(t.lanes[n], 8, "{cells} {n}");
                assert!(n >= 4 || t.tiles_row[n] == 1, "{cells} {n}");
            }
        }
    }

    #[test]
    fn shared_memory_of_codes_is_that_of_the_kernels_arrays() {
        let shape = |kind, coded| TileShape::of_codes(kind, false, coded).unwrap();
        // 24 rows of eight groups: two planes of 32 rows with a float group at either end of the 24, and
        // three stages of two codes (eight bytes) and a wave speed per group, one of 192 threads, and
        // of phi.
        let planes = 2 * (32 * 8 + 48) * 16;
        let bytes = shape(Kind::Minimod, true).shared(24, 8, Streams::Phi);
        assert_eq!(bytes, planes + 3 * (3 * 192 * 8 + 224 * 8 + 192 * 16));
        let streams = Streams::Cpml { rows: false, march: false };
        let bytes = shape(Kind::Cpml, false).shared(24, 8, streams);
        assert_eq!(bytes, planes + 3 * (4 * 192 * 8 + 192 * 8 + (2 * 192 + 48) * 16));
    }

    #[test]
    fn every_form_of_codes_has_its_kernels() {
        let known: Vec<_> = crate::BLOBS.iter().flat_map(|blob| blob.kernels).collect();
        for name in [CPML_OF_CODES, MINIMOD_OF_CODES].into_iter().flatten().flatten() {
            assert!(known.is_empty() || known.contains(&&name), "{name}");
        }
    }
}
