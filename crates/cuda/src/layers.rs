//! Absorbing layers on the device: boxes, profiles and memory variables.

use cudarc::driver::{CudaContext, CudaStream};
use temblor_backend::Result;
use temblor_physics::{Axis, BoundaryKind, Grid, WaveProblem, cpml, minimod};

use crate::arguments::{TemblorBoxes, TemblorCpml, TemblorMinimod, TemblorStep};
use crate::layer_tiles::{LayerTiles, RADIUS, padded_points};
use crate::layout::{Layout, NodeBox};
use crate::memory::Buffer;
use crate::module::{Kernels, StepFields, int, long};
use crate::operator;
use crate::sys;

/// Which layer a problem has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// None.
    None,
    /// C-PML.
    Cpml,
    /// Minimod's.
    Minimod,
}

impl Kind {
    /// The kind of a problem; the problem's builder refuses a mix.
    pub(crate) fn of(problem: &WaveProblem) -> Self {
        let has = |kind| problem.boundaries.0.iter().any(|b| BoundaryKind::from(b) == kind);
        if has(BoundaryKind::Cpml) {
            Self::Cpml
        } else if has(BoundaryKind::Minimod) {
            Self::Minimod
        } else {
            Self::None
        }
    }

    /// Nodes along z per thread and threads per block of the layer's kernel.
    fn grouped(self, problem: &WaveProblem) -> (usize, usize) {
        if self == Self::Cpml && vectorised(problem) { (GROUP, 128) } else { (1, 256) }
    }

    /// Entry point of the layer's kernel for any architecture.
    fn kernel(self, problem: &WaveProblem) -> Option<String> {
        let radius = problem.operator.radius();
        match self {
            Self::None => None,
            Self::Cpml if vectorised(problem) => Some("acoustic_iso_cpml_order8".into()),
            Self::Cpml => Some(format!("acoustic_iso_cpml_r{radius}")),
            Self::Minimod => Some(format!("acoustic_iso_minimod_r{radius}")),
        }
    }
}

/// Entry points that a problem's layers need on a device, from a layout's tiles.
pub(crate) fn kernel_names(
    context: &CudaContext,
    problem: &WaveProblem,
    layout: &Layout,
) -> Result<Vec<String>> {
    let tiles = tiles(context, problem, layout)?;
    let tuned = tiles.map(|tiles| tiles.shape.kernel.to_owned());
    Ok(tuned.or_else(|| Kind::of(problem).kernel(problem)).into_iter().collect())
}

/// Tiles for the kernels of `sm_90`, if the problem and the device suit them.
fn tiles(
    context: &CudaContext,
    problem: &WaveProblem,
    layout: &Layout,
) -> Result<Option<LayerTiles>> {
    if !suits_tiles(problem, layout) || sys::capability(context)? < 90 {
        return Ok(None);
    }
    let room = sys::shared_per_block(context)?;
    let tiles = LayerTiles::new(problem, layout, sys::units(context)?);
    Ok(tiles.filter(|tiles| tiles.shared <= room))
}

/// Whether kernels that keep tiles of the layers in shared memory take the problem: as below, and rows of a
/// tile are offsets of 31 bits, and so are memory variables.
pub(crate) fn suits_tiles(problem: &WaveProblem, layout: &Layout) -> bool {
    let most = usize::try_from(i32::MAX).unwrap_or(0);
    vectorised(problem)
        && layout.stride_x() < most / 64
        && memory_elements(problem, layout).iter().all(|(_, elements)| *elements < most)
}

/// Nodes that a plan keeps beyond the grid's faces and counts as reached from a layer. Where there is a layer
/// a narrower operator is one of [`RADIUS`] whose outer weights are zero: the tuned kernels take it too.
pub(crate) fn reach(problem: &WaveProblem) -> usize {
    let radius = problem.operator.radius();
    if Kind::of(problem) == Kind::None || !problem.grid.active(Axis::Y) {
        return radius;
    }
    radius.max(RADIUS)
}

/// Whether `acoustic_iso_cpml_order8` takes the problem: order 8 or less, 3-D, offsets of 31 bits.
fn vectorised(problem: &WaveProblem) -> bool {
    let [_, ny, nz] = problem.grid.shape;
    let plane = (ny + 8).saturating_mul(nz + 128);
    problem.operator.radius() <= RADIUS
        && problem.grid.active(Axis::Y)
        && plane < usize::try_from(i32::MAX).unwrap_or(0) / 8
}

/// Storage of one axis' C-PML memory variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Storage {
    /// Damped nodes at the low and the high end, as the kernels see them.
    low: usize,
    high: usize,
    /// How much further down in storage nodes of the high end lie than at the low end's rule.
    gap: isize,
    /// Elements between neighbours along x and y, and of all.
    stride_x: usize,
    stride_y: usize,
    elements: usize,
}

impl Storage {
    /// Across x and y the axis holds the damped nodes only, low end first, in rows of whole sectors.
    /// Along z each end is an array of its own in groups of four: a row of few nodes is contiguous
    /// with the next. Where the ends are so close that a stencil would meet both, all nodes are
    /// stored: undamped ones have a = b = 0 and so keep q = r = 0. Kernels that step groups of four
    /// also step what pads a row across x and y, from the field's halo; no node reads it.
    fn new(grid: &Grid, axis: Axis, radius: usize, low: usize, high: usize) -> Self {
        let [_, ny, nz] = grid.shape;
        let nodes = grid.shape[axis.index()];
        let free = nodes - low - high;
        let spare = if axis == Axis::Z { 2 * GROUP } else { 0 };
        let all = high > 0 && low > 0 && free < 2 * radius + spare;
        if axis == Axis::Z && !all {
            let first_high = (nodes - high) / GROUP * GROUP;
            let wide_high = if high > 0 { nodes.next_multiple_of(GROUP) - first_high } else { 0 };
            let row = low.next_multiple_of(GROUP).max(wide_high);
            let end = row * ny * grid.shape[0];
            let below = if low > 0 { end } else { 0 };
            return Self {
                low,
                high,
                gap: first_high.cast_signed() - below.cast_signed(),
                stride_x: row * ny,
                stride_y: row,
                elements: end * (usize::from(low > 0) + usize::from(high > 0)),
            };
        }
        let (low, high, gap) = if all { (nodes, 0, 0) } else { (low, high, free) };
        let mut extent = [grid.shape[0], ny, nz.next_multiple_of(2 * GROUP)];
        if axis != Axis::Z {
            extent[axis.index()] = nodes - gap;
        }
        Self {
            low,
            high,
            gap: gap.cast_signed(),
            stride_x: extent[1] * extent[2],
            stride_y: extent[2],
            elements: extent.iter().product(),
        }
    }

    fn of(problem: &WaveProblem, axis: Axis) -> Option<Self> {
        let profile = cpml::profile(problem, axis)?;
        Some(Self::new(&problem.grid, axis, reach(problem), profile.low, profile.high))
    }
}

/// Nodes along z that a thread of a tuned kernel takes.
pub(crate) const GROUP: usize = 4;

/// Elements of the memory variables: q (each of two) and r per axis, or phi.
pub(crate) fn memory_elements(problem: &WaveProblem, layout: &Layout) -> Vec<(String, usize)> {
    match Kind::of(problem) {
        Kind::None => Vec::new(),
        Kind::Cpml => Axis::ALL
            .into_iter()
            .filter_map(|axis| Some((axis, Storage::of(problem, axis)?)))
            .flat_map(|(axis, storage)| {
                let elements = storage.elements;
                ["q", "q of the next step", "r"]
                    .map(|name| (format!("C-PML {name} along {}", axis.name()), elements))
            })
            .collect(),
        Kind::Minimod => {
            let elements = layout.layers.iter().map(|(_, slab)| padded_points(slab)).sum();
            vec![("Minimod phi".into(), elements)]
        }
    }
}

/// The layers of a plan.
#[derive(Debug)]
pub(crate) struct Layers {
    kernel: Option<String>,
    boxes: TemblorBoxes,
    /// For the kernels of `sm_90`; the others take `boxes`.
    tiles: Option<LayerTiles>,
    /// Memory variables, for state and health: q twice and r per damped axis, or phi.
    memory: Vec<Buffer>,
    /// Which q is the old one.
    parity: usize,
    /// Kept alive for the addresses in `cpml` and `minimod`.
    _profiles: Option<Buffer>,
    cpml: TemblorCpml,
    minimod: TemblorMinimod,
    kind: Kind,
}

impl Layers {
    /// Allocates memory variables at rest and uploads the profiles; without kernels, somebody else
    /// steps the layers by [`Layers::arguments`].
    pub(crate) fn new(
        stream: &CudaStream,
        problem: &WaveProblem,
        layout: &Layout,
        kernels: Option<&Kernels>,
    ) -> Result<Self> {
        let kind = Kind::of(problem);
        let mut tiles = None;
        if let Some(kernels) = kernels {
            tiles = self::tiles(stream.context(), problem, layout)?;
            if let Some(tiles) = &tiles {
                kernels.allow_shared(tiles.shape.kernel)?;
            }
        }
        let mut layers = Self {
            kernel: kernels.and_then(|_| kind.kernel(problem)),
            boxes: boxes(&layout.layers, kind.grouped(problem)),
            tiles,
            memory: Vec::new(),
            parity: 0,
            _profiles: None,
            cpml: TemblorCpml::default(),
            minimod: TemblorMinimod::default(),
            kind,
        };
        for (_, elements) in memory_elements(problem, layout) {
            layers.memory.push(Buffer::zeros(stream, elements)?);
        }
        match kind {
            Kind::None => {}
            Kind::Cpml => layers.upload_cpml(stream, problem)?,
            Kind::Minimod => layers.upload_minimod(stream, problem)?,
        }
        Ok(layers)
    }

    fn upload_cpml(&mut self, stream: &CudaStream, problem: &WaveProblem) -> Result<()> {
        let mut values: Vec<f32> = Vec::new();
        let mut places = [[0_usize; 3]; 3];
        for axis in Axis::ALL {
            let Some(profile) = cpml::profile(problem, axis) else { continue };
            let Some(storage) = Storage::of(problem, axis) else { continue };
            for (n, list) in [&profile.a, &profile.b, &profile.b_slope].into_iter().enumerate() {
                places[axis.index()][n] = values.len();
                values.extend(list.iter().map(|&x| single(x)));
                values.resize(values.len().next_multiple_of(GROUP), 0.0);
            }
            let a = axis.index();
            self.cpml.low[a] = int(storage.low);
            self.cpml.high[a] = int(storage.high);
            self.cpml.gap[a] = i32::try_from(storage.gap).unwrap_or(0);
            self.cpml.stride_x[a] = long(storage.stride_x);
            self.cpml.stride_y[a] = long(storage.stride_y);
        }
        let profiles = Buffer::of(stream, &values)?;
        for (a, places) in places.iter().enumerate() {
            let at = |n: usize| profiles.address() + 4 * places[n] as u64;
            self.cpml.decay[a] = at(0);
            self.cpml.gain[a] = at(1);
            self.cpml.slope[a] = at(2);
        }
        self._profiles = Some(profiles);
        self.point_at_memory();
        Ok(())
    }

    /// Writes the addresses of q, by parity, and r.
    fn point_at_memory(&mut self) {
        let mut memory = self.memory.chunks_exact(3);
        for a in 0..3 {
            if self.cpml.low[a] + self.cpml.high[a] > 0
                && let Some(variables) = memory.next()
            {
                self.cpml.q[a] = variables[self.parity].address();
                self.cpml.q_next[a] = variables[1 - self.parity].address();
                self.cpml.r[a] = variables[2].address();
            }
        }
    }

    fn upload_minimod(&mut self, stream: &CudaStream, problem: &WaveProblem) -> Result<()> {
        let mut values: Vec<f32> = Vec::new();
        let mut places = [0_usize; 3];
        for axis in Axis::ALL {
            let a = axis.index();
            let nodes = problem.grid.shape[a];
            let eta = minimod::profile(problem, axis).unwrap_or_else(|| vec![0.0; nodes]);
            places[a] = values.len() + 1;
            values.push(single(eta[0]));
            values.extend(eta.iter().map(|&x| single(x)));
            values.push(single(eta[nodes - 1]));
            if problem.grid.active(axis) {
                self.minimod.quarter[a] = single(0.25 / problem.grid.spacing[a].powi(2));
            }
        }
        let profiles = Buffer::of(stream, &values)?;
        self.minimod.eta = places.map(|place| profiles.address() + 4 * place as u64);
        self.minimod.phi = self.memory[0].address();
        self._profiles = Some(profiles);
        Ok(())
    }

    /// Queues one step of the layers.
    pub(crate) fn step(
        &mut self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &StepFields,
    ) -> Result<()> {
        let Some(kernel) = &self.kernel else { return Ok(()) };
        if self.boxes.count == 0 {
            return Ok(());
        }
        match self.kind {
            Kind::None => Ok(()),
            Kind::Cpml => {
                if let Some(tiles) = &self.tiles {
                    kernels.cpml_tiles(stream, tiles, step, &self.cpml, fields)?;
                } else {
                    let threads = if kernel == "acoustic_iso_cpml_order8" { 128 } else { 256 };
                    kernels.cpml(stream, kernel, threads, step, &self.boxes, &self.cpml, fields)?;
                }
                self.turn();
                Ok(())
            }
            Kind::Minimod => match &self.tiles {
                Some(tiles) => kernels.minimod_tiles(stream, tiles, step, &self.minimod, fields),
                None => kernels.minimod(stream, kernel, step, &self.boxes, &self.minimod, fields),
            },
        }
    }

    /// After a step of the C-PML: the new q is the old one of the next.
    pub(crate) fn turn(&mut self) {
        self.parity = 1 - self.parity;
        self.point_at_memory();
    }

    /// Which layer there is, its boxes (with the places of phi) and both kinds' arguments.
    pub(crate) fn arguments(&self) -> (Kind, &TemblorBoxes, &TemblorCpml, &TemblorMinimod) {
        (self.kind, &self.boxes, &self.cpml, &self.minimod)
    }

    /// Which of the two q is the old one: 0 or 1.
    pub(crate) fn parity(&self) -> usize {
        self.parity
    }

    /// Whether any node belongs to a layer or a wall.
    pub(crate) fn is_empty(&self) -> bool {
        self.boxes.count == 0
    }

    /// Memory variables that the next step reads: the old q and r of each axis, or phi.
    pub(crate) fn state(&self) -> Vec<&Buffer> {
        match self.kind {
            Kind::None => Vec::new(),
            Kind::Cpml => {
                self.memory.chunks_exact(3).flat_map(|v| [&v[self.parity], &v[2]]).collect()
            }
            Kind::Minimod => self.memory.iter().collect(),
        }
    }

    /// At rest.
    pub(crate) fn clear(&mut self, stream: &CudaStream) -> Result<()> {
        self.memory.iter().try_for_each(|buffer| buffer.clear(stream))
    }
}

/// Tiles and blocks of the layer kernels, for threads of `grouped` = (nodes along z, threads per
/// block).
pub(crate) fn boxes(slabs: &[(usize, NodeBox)], grouped: (usize, usize)) -> TemblorBoxes {
    let (group, threads) = grouped;
    let mut boxes = TemblorBoxes { count: int(slabs.len()), ..Default::default() };
    let (mut blocks, mut elements) = (0, 0);
    for (n, (axis, slab)) in slabs.iter().enumerate() {
        // A tile spans a thin slab along z exactly, else 64 or 32 nodes.
        let groups = slab.extent(2).div_ceil(group);
        let most = 64 / group.max(2);
        let lanes = groups.div_ceil(groups.div_ceil(most));
        let tiles_z = groups.div_ceil(lanes);
        let tiles_y = slab.extent(1).div_ceil(threads / lanes);
        let planes = match slab.extent(0) {
            0..=48 => slab.extent(0),
            49..512 => 32,
            _ => 64,
        };
        boxes.axis[n] = int(*axis);
        boxes.begin[n] = slab.begin.map(int);
        boxes.end[n] = slab.end.map(int);
        boxes.tiles_z[n] = int(tiles_z);
        boxes.tiles_y[n] = int(tiles_y);
        boxes.lanes[n] = int(lanes);
        boxes.planes[n] = int(planes);
        boxes.first_block[n] = int(blocks);
        boxes.first_element[n] = long(elements);
        blocks += tiles_z * tiles_y * slab.extent(0).div_ceil(planes);
        elements += padded_points(slab);
    }
    boxes.first_block[slabs.len()] = int(blocks);
    boxes
}

/// Operator weights, node counts and strides; the box is the whole grid.
pub(crate) fn whole_step(problem: &WaveProblem, layout: &Layout) -> TemblorStep {
    scaled_step(problem, layout, 1.0)
}

/// The same with weights of the second derivative times `factor`.
pub(crate) fn scaled_step(problem: &WaveProblem, layout: &Layout, factor: f64) -> TemblorStep {
    let mut step = TemblorStep {
        nodes: layout.nodes.map(int),
        end: layout.nodes.map(int),
        stride_x: long(layout.stride_x()),
        stride_y: long(layout.stride_y()),
        ..Default::default()
    };
    let second = problem.operator.second_derivative();
    let first = problem.operator.first_derivative();
    let axes: Vec<_> = problem.grid.active_axes().collect();
    let scaled = |axis: &Axis| {
        let spacing = problem.grid.spacing[axis.index()];
        second[1..].iter().map(|w| factor * w / (spacing * spacing)).collect()
    };
    let (centre, weights) = operator::rounded(&axes.iter().map(scaled).collect::<Vec<_>>());
    for (axis, weights) in axes.iter().zip(weights) {
        let a = axis.index();
        let sum: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        step.second[a][0] = single(-2.0 * sum);
        step.second[a][1..second.len()].copy_from_slice(&weights);
        for r in 0..first.len() {
            step.first[a][r] = single(first[r] / problem.grid.spacing[a]);
        }
    }
    step.centre = centre;
    step
}

/// The nearest f32.
#[expect(clippy::cast_possible_truncation, reason = "device data is single precision")]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Element of a node as the kernels compute it, if the node is stored.
    fn element(
        storage: &Storage,
        shape: [usize; 3],
        axis: usize,
        node: [usize; 3],
    ) -> Option<isize> {
        let mut at = node.map(usize::cast_signed);
        if node[axis] >= storage.low {
            if node[axis] < shape[axis] - storage.high {
                return None;
            }
            at[axis] -= storage.gap;
        }
        let strides = [storage.stride_x.cast_signed(), storage.stride_y.cast_signed(), 1];
        Some((0..3).map(|a| at[a] * strides[a]).sum())
    }

    #[test]
    fn every_damped_node_has_an_element_of_its_own() {
        for shape in [[33, 27, 65], [20, 17, 42], [40, 1, 51]] {
            let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
            for (low, high) in [(6, 7), (0, 5), (9, 0), (10, 10), (8, 3)] {
                for axis in Axis::ALL.into_iter().filter(|&axis| shape[axis.index()] > low + high) {
                    let storage = Storage::new(&grid, axis, 4, low, high);
                    let mut seen = vec![false; storage.elements];
                    let mut stored = 0;
                    for n in 0..shape.iter().product() {
                        let node = [n / shape[2] / shape[1], n / shape[2] % shape[1], n % shape[2]];
                        let along = node[axis.index()];
                        let damped = along < low || along >= shape[axis.index()] - high;
                        let at = element(&storage, shape, axis.index(), node);
                        assert!(at.is_some() || !damped, "{shape:?} {axis:?} {node:?}");
                        let Some(at) = at else { continue };
                        let seen = &mut seen[usize::try_from(at).unwrap()];
                        assert!(!*seen, "{shape:?} {axis:?} {node:?}");
                        *seen = true;
                        stored += 1;
                    }
                    assert!(stored > 0);
                }
            }
        }
    }
}
