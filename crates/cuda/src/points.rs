//! Sources and receivers on the device.
//!
//! A source's nodes are multiplied out and nodes shared by several sources merged, so that each node
//! is written by one thread in a fixed order of terms. Receivers keep their separable weights.

use std::collections::BTreeMap;

use cudarc::driver::CudaStream;
use temblor_backend::{Error, ReceiverTable, Result, SourceTable};
use temblor_physics::PointWeights;

use crate::arguments::{TemblorFused, TemblorStored};
use crate::layers::single;
use crate::layout::{LINE, Layout, NodeBox};
use crate::memory::Buffer;
use crate::module::{Kernels, StepFields, int, long};

/// Sources.
#[derive(Debug)]
pub(crate) struct Sources {
    nodes: usize,
    /// Element of each node; start of its terms; source of each term; weight of each term.
    table: [Buffer; 4],
    amplitudes: Buffer,
    /// Amplitudes of the steps of a graph.
    window: Buffer,
    /// While a graph is captured, the step whose amplitudes its window begins with.
    window_from: Option<u64>,
    sources: usize,
    steps: u64,
    /// For fused steps: first entry of each tile; plane, place and node of each entry.
    tiles: Option<[Buffer; 4]>,
    /// Of reduced storage: first node of each storage tile, and their number.
    storage_tiles: Buffer,
}

/// Tiles of the fused kernel, for which sources are sorted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tiling {
    /// The interior.
    pub(crate) interior: NodeBox,
    /// Nodes that a tile gives out along (y, z).
    pub(crate) tile: [usize; 2],
    /// Nodes around it that it computes too, along (y, z).
    pub(crate) rim: [usize; 2],
}

impl Sources {
    /// Uploads a table; `None` if it has no source. A graph has `graph_rows` steps. Nodes on a free
    /// surface, `zero` as in [`crate::walls::zero_nodes`], stay zero.
    pub(crate) fn new(
        stream: &CudaStream,
        layout: &Layout,
        table: &SourceTable,
        tiling: Option<Tiling>,
        graph_rows: usize,
        zero: [[i32; 2]; 3],
    ) -> Result<Option<Self>> {
        let (steps, sources) = table.amplitudes.dim();
        if sources != table.points.len() && !(table.points.is_empty() && steps == 0) {
            return Err(Error::Invalid {
                what: format!("{} sources and amplitudes for {sources}", table.points.len()),
                remedy: "give amplitudes of shape (step, source)".into(),
            });
        }
        table.points.iter().try_for_each(|point| inside("a source", point, layout))?;
        if sources == 0 || steps == 0 {
            return Ok(None);
        }
        let mut nodes: BTreeMap<[usize; 3], Vec<(i32, f32)>> = BTreeMap::new();
        for (source, point) in table.points.iter().enumerate() {
            for (node, weight) in point.nodes() {
                if (0..3).any(|a| zero[a].contains(&int(node[a]))) {
                    continue;
                }
                let terms = nodes.entry(node).or_default();
                terms.push((int(source), single(weight)));
            }
        }
        if nodes.is_empty() {
            return Ok(None);
        }
        let offsets: Vec<i64> = nodes.keys().map(|&node| long(layout.offset(node))).collect();
        let mut first = vec![0_i32];
        let (mut source, mut weight) = (Vec::new(), Vec::new());
        for terms in nodes.values() {
            source.extend(terms.iter().map(|term| term.0));
            weight.extend(terms.iter().map(|term| term.1));
            first.push(int(source.len()));
        }
        let amplitudes: Vec<f32> = table.amplitudes.iter().map(|&s| single(s)).collect();
        Ok(Some(Self {
            nodes: offsets.len(),
            table: [
                Buffer::of(stream, &offsets)?,
                Buffer::of(stream, &first)?,
                Buffer::of(stream, &source)?,
                Buffer::of(stream, &weight)?,
            ],
            amplitudes: Buffer::of(stream, &amplitudes)?,
            window: Buffer::zeros(stream, graph_rows * sources)?,
            window_from: None,
            sources,
            steps: steps as u64,
            tiles: tiling.map(|tiling| tile_entries(stream, nodes.keys(), tiling)).transpose()?,
            storage_tiles: Buffer::of(stream, &storage_tiles(&offsets))?,
        }))
    }

    /// Nodes, and terms of all of them.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.nodes as u64, self.table[2].elements() as u64]
    }

    /// Queues the injection of step `step` into wavefields in reduced storage.
    pub(crate) fn inject_stored(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: u64,
        kernel: &str,
        stored: &TemblorStored,
    ) -> Result<()> {
        if step >= self.steps {
            return Ok(());
        }
        let tiles = self.storage_tiles.elements() - 1;
        let table = self.table.each_ref().map(Buffer::address);
        let first = self.storage_tiles.address();
        kernels.stored_inject(stream, kernel, stored, (tiles, first), table, self.row(step))
    }

    /// Queues the injection of step `step` into `fields.next`.
    pub(crate) fn inject(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: u64,
        fields: &StepFields,
    ) -> Result<()> {
        if step >= self.steps {
            return Ok(());
        }
        let row = self.row(step);
        let table = self.table.each_ref().map(Buffer::address);
        kernels.inject(stream, self.nodes, table, row, fields)
    }
}

impl Sources {
    /// Where the amplitudes of a step lie.
    fn row(&self, step: u64) -> u64 {
        let row = 4 * self.sources as u64;
        match self.window_from {
            Some(first) => self.window.address() + row * (step - first),
            None => self.amplitudes.address() + row * step,
        }
    }

    /// Whether the table has all of `count` steps from `first` on.
    pub(crate) fn covers(&self, first: u64, count: u64) -> bool {
        first.checked_add(count).is_some_and(|end| end <= self.steps)
    }

    /// Whether the table ends before `step`.
    pub(crate) fn is_over(&self, step: u64) -> bool {
        step >= self.steps
    }

    /// Lets launches read amplitudes from the window, which begins with those of a step, or again
    /// from the table.
    pub(crate) fn read_window_from(&mut self, step: Option<u64>) {
        self.window_from = step;
    }

    /// Queues the copy of the amplitudes of `rows` steps from `first` on into the window.
    pub(crate) fn stage(&self, stream: &CudaStream, first: u64, rows: usize) -> Result<()> {
        let first = usize::try_from(first).unwrap_or(usize::MAX).saturating_mul(self.sources);
        self.window.copy(stream, 0, &self.amplitudes, first, rows * self.sources)
    }

    /// Writes the tables into the arguments of two fused steps of which `step` is the first.
    pub(crate) fn fuse(&self, step: u64, fused: &mut TemblorFused) {
        let Some([first, plane, place, node]) = &self.tiles else { return };
        if step >= self.steps {
            return;
        }
        fused.sources = int(self.nodes);
        fused.entry_first = first.address();
        fused.entry_plane = plane.address();
        fused.entry_place = place.address();
        fused.entry_node = node.address();
        fused.term_first = self.table[1].address();
        fused.term_source = self.table[2].address();
        fused.term_weight = self.table[3].address();
        fused.amplitudes = self.row(step);
    }
}

/// First of the nodes in each storage tile, and the number of nodes; elements of nodes in rising order.
fn storage_tiles(nodes: &[i64]) -> Vec<i32> {
    let tile = |n: usize| nodes[n].div_euclid(long(LINE));
    let mut first: Vec<i32> =
        (0..nodes.len()).filter(|&n| n == 0 || tile(n) != tile(n - 1)).map(int).collect();
    first.push(int(nodes.len()));
    first
}

/// Source nodes of the interior by tile, each in all tiles that compute it.
fn tile_entries<'a>(
    stream: &CudaStream,
    nodes: impl Iterator<Item = &'a [usize; 3]>,
    tiling: Tiling,
) -> Result<[Buffer; 4]> {
    let Tiling { interior, tile, rim } = tiling;
    let tiles = [1, 2].map(|a| interior.extent(a).div_ceil(tile[a - 1]));
    let mut entries: Vec<Vec<[i32; 3]>> = vec![Vec::new(); tiles[0] * tiles[1]];
    // Nodes come by rising x, so each tile's entries do too.
    for (n, node) in nodes.enumerate() {
        if (0..3).any(|a| node[a] < interior.begin[a] || node[a] >= interior.end[a]) {
            continue;
        }
        let near = |a: usize| {
            let (size, rim) = (tile[a - 1], rim[a - 1]);
            let at = node[a] - interior.begin[a] + rim;
            // Tile t computes at + rim in t size .. t size + size + 2 rim.
            let last = (at / size).min(tiles[a - 1] - 1);
            let first = (at + 1).saturating_sub(size + 2 * rim).div_ceil(size);
            (first..=last).map(move |t| (t, at - t * size))
        };
        for (tile_y, y) in near(1) {
            for (tile_z, z) in near(2) {
                let row = tile[1] + 2 * rim[1];
                entries[tile_y * tiles[1] + tile_z].push([int(node[0]), int(y * row + z), int(n)]);
            }
        }
    }
    let mut first = vec![0];
    let mut columns: [Vec<i32>; 3] = Default::default();
    for list in &entries {
        for entry in list {
            columns.iter_mut().zip(entry).for_each(|(column, &value)| column.push(value));
        }
        first.push(int(columns[0].len()));
    }
    let [plane, place, node] = columns;
    Ok([
        Buffer::of(stream, &first)?,
        Buffer::of(stream, &plane)?,
        Buffer::of(stream, &place)?,
        Buffer::of(stream, &node)?,
    ])
}

/// Receivers.
#[derive(Debug)]
pub(crate) struct Receivers {
    /// Number of receivers.
    pub(crate) count: usize,
    /// Nodes of all of them.
    nodes: u64,
    points: Buffer,
    weights: Buffer,
}

impl Receivers {
    /// Uploads a table; `None` if it has no receiver.
    pub(crate) fn new(
        stream: &CudaStream,
        layout: &Layout,
        table: &ReceiverTable,
    ) -> Result<Option<Self>> {
        table.points.iter().try_for_each(|point| inside("a receiver", point, layout))?;
        if table.points.is_empty() {
            return Ok(None);
        }
        let mut points: Vec<i32> = Vec::with_capacity(9 * table.points.len());
        let mut weights: Vec<f32> = Vec::new();
        for point in &table.points {
            points.extend(point.axes.iter().map(|axis| int(axis.first)));
            points.extend(point.axes.iter().map(|axis| int(axis.weights.len())));
            for axis in &point.axes {
                points.push(int(weights.len()));
                weights.extend(axis.weights.iter().map(|&w| single(w)));
            }
        }
        Ok(Some(Self {
            count: table.points.len(),
            nodes: table.points.iter().map(|point| point.nodes().count() as u64).sum(),
            points: Buffer::of(stream, &points)?,
            weights: Buffer::of(stream, &weights)?,
        }))
    }

    /// Receivers, and nodes of all of them.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.count as u64, self.nodes]
    }

    /// Addresses of points and weights.
    pub(crate) fn tables(&self) -> [u64; 2] {
        [self.points.address(), self.weights.address()]
    }

    /// Queues a sample of the field whose node 0 is at `field` into `samples`.
    pub(crate) fn record(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        layout: &Layout,
        field: u64,
        samples: u64,
    ) -> Result<()> {
        let (points, weights) = (self.points.address(), self.weights.address());
        kernels.record(stream, self.count, points, weights, field, layout, samples)
    }
}

fn inside(what: &str, point: &PointWeights, layout: &Layout) -> Result<()> {
    for (axis, &nodes) in point.axes.iter().zip(&layout.nodes) {
        let end = axis.first.checked_add(axis.weights.len());
        if axis.weights.is_empty() || end.is_none_or(|end| end > nodes) {
            return Err(Error::Outside {
                what: format!("{what} on nodes {} and {} more", axis.first, axis.weights.len()),
                shape: layout.nodes,
            });
        }
    }
    Ok(())
}
