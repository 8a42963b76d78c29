//! The straight-line code of a voxel: addresses, values, choices.

use crate::emit::gpu::body::{Printer, Work, put};
use crate::emit::gpu::fit::Line;
use crate::emit::gpu::order::Step;
use crate::emit::gpu::{Layout, Way};
use crate::emit::{expression, literal};
use crate::graph::{Binary, BlockId, Coordinate, Leaf, Node, Unary, Value};
use crate::kernel::{INPUT, OUTPUT};

impl Printer<'_> {
    pub(super) fn uniform_name(&self, value: Value) -> String {
        match self.graph.node(value) {
            Node::Constant(bits) => literal(f64::from_bits(bits)),
            Node::Leaf(Leaf::Parameter(n)) => format!("P.v[{n}]"),
            _ => format!("u{}", value.index()),
        }
    }

    pub(super) fn cell_leaf(&self, leaf: Leaf) -> String {
        match leaf {
            Leaf::Parameter(n) => format!("P.v[{n}]"),
            Leaf::Spacing(axis) => self.spacing(axis),
            Leaf::Time => "cell->time".into(),
            Leaf::TimeStep => "cell->time_step".into(),
            _ => "0.0".into(),
        }
    }

    pub(super) fn spacing(&self, axis: u8) -> String {
        let cells = if axis < self.kernel.shape.dimensions { self.kernel.shape.cells } else { 1 };
        format!("cell->size[{axis}] / {}", literal(f64::from(cells)))
    }

    /// Blocks that a stage reads, except through the tile.
    pub(super) fn blocks_read(&self, work: &Work<'_>) -> Vec<BlockId> {
        let reach = self.graph.reachable(&work.outputs);
        let mut list = Vec::new();
        for (value, node) in self.graph.values() {
            if let Node::Leaf(Leaf::Load { block, .. }) = node
                && reach[value.index()]
                && !list.contains(&block)
            {
                list.push(block);
            }
        }
        list
    }

    pub(super) fn print_pointers(
        &self,
        work: &Work<'_>,
        tiled: bool,
        chunk: usize,
        text: &mut String,
    ) {
        let mut read = self.blocks_read(work);
        read.sort_unstable();
        for block in read {
            let n = block.0;
            if self.is_beside(block) {
                let from = self.pointer(block, "");
                put(text, format_args!("    LOCAL const double* const q{n} = {from};\n"));
            } else if block == INPUT && tiled {
                put(
                    text,
                    format_args!("    LOCAL const double* const q0 = shared + nth * {chunk};\n"),
                );
            } else {
                let from = self.pointer(block, "CHUNK_IN(k)");
                put(text, format_args!("    GLOBAL const double* const q{n} = {from};\n"));
            }
        }
        let mut written: Vec<BlockId> = work.stage.writes.iter().map(|w| w.block).collect();
        written.sort_unstable();
        written.dedup();
        for block in written {
            let n = block.0;
            let to = self.pointer(block, "CHUNK_OUT(k)");
            let space = if self.is_beside(block) { "LOCAL" } else { "GLOBAL" };
            put(text, format_args!("    {space} double* const r{n} = {to};\n"));
        }
        let reach = self.graph.reachable(&work.outputs);
        let positions = self
            .graph
            .values()
            .any(|(v, node)| reach[v.index()] && matches!(node, Node::Leaf(Leaf::Position { .. })));
        if positions {
            text.push_str("    GLOBAL const struct cell* const cell = cells + k;\n");
        }
    }

    pub(super) fn pointer(&self, block: BlockId, input: &str) -> String {
        match block {
            INPUT => input.to_owned(),
            OUTPUT => "CHUNK_OUT(k)".into(),
            _ if self.is_beside(block) => {
                let at = self.beside.map_or(0, |(_, at)| at);
                let len = self.blocks[usize::from(block.0)].0.len;
                format!("shared + {at} + nth * {len}")
            }
            _ => {
                let (_, at) = self.blocks[usize::from(block.0)];
                format!("scratch + (wide)k * {} + {at}", self.scratch)
            }
        }
    }

    /// Voxel indices and, per block, the address of the voxel.
    pub(super) fn print_indices(&self, work: &Work<'_>, text: &mut String) {
        let [nx, ny, _] = work.extent;
        let [lx, ly, lz] = work.stage.low;
        let signed = |low: i16| if low == 0 { String::new() } else { format!(" + ({low})") };
        put(
            text,
            format_args!(
                "      const int x = voxel % {nx}{}, y = voxel / {nx} % {ny}{}, z = voxel / {}{};\n",
                signed(lx),
                signed(ly),
                nx * ny,
                signed(lz)
            ),
        );
        if self.slabs > 1 {
            text.push_str("      const int height = low + z;\n");
        }
        let at = |layout: &Layout, along: [bool; 3], absolute: bool| {
            let axes = ["x", "y", if absolute { self.height() } else { "z" }];
            let terms: Vec<String> = axes
                .into_iter()
                .zip(layout.voxel)
                .zip(along)
                .filter(|(_, along)| *along)
                .map(|((axis, stride), _)| format!("{axis} * {stride}"))
                .collect();
            if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
        };
        for (block, along) in self.faces_of(work) {
            let (n, mask) = (block.0, mask(along));
            let layout = &self.blocks[usize::from(block.0)].0;
            let local = block == INPUT && self.tiled() || self.is_beside(block);
            let space = if local { "LOCAL" } else { "GLOBAL" };
            put(
                text,
                format_args!(
                    "      {space} const double* const q{n}_{mask} = q{n} + ({});\n",
                    at(layout, along, false)
                ),
            );
        }
        let mut written: Vec<BlockId> = work.stage.writes.iter().map(|w| w.block).collect();
        written.sort_unstable();
        written.dedup();
        for block in written {
            let n = block.0;
            let layout = &self.blocks[usize::from(block.0)].0;
            let space = if self.is_beside(block) { "LOCAL" } else { "GLOBAL" };
            let place = at(layout, [true; 3], !self.is_beside(block));
            put(text, format_args!("      {space} double* const w{n} = r{n} + ({place});\n"));
        }
    }

    /// The voxel's index along z in its patch; `z` itself counts from the start of the slab.
    pub(super) fn height(&self) -> &'static str {
        if self.slabs > 1 { "height" } else { "z" }
    }

    /// Whether a block lies in shared memory beside the tile.
    pub(super) fn is_beside(&self, block: BlockId) -> bool {
        self.beside.is_some_and(|(beside, _)| beside == block)
    }

    pub(super) fn tiled(&self) -> bool {
        matches!(self.schedule.way, Way::Tile | Way::Bulk)
    }

    /// Blocks and which of the voxel's indices count in their loads.
    pub(super) fn faces_of(&self, work: &Work<'_>) -> Vec<(BlockId, [bool; 3])> {
        let reach = self.graph.reachable(&work.outputs);
        let mut list = Vec::new();
        for (value, node) in self.graph.values() {
            if let Node::Leaf(Leaf::Load { block, at, .. }) = node
                && reach[value.index()]
            {
                let entry = (block, along(at));
                if !list.contains(&entry) {
                    list.push(entry);
                }
            }
        }
        list
    }

    pub(super) fn print_line(
        &self,
        work: &Work<'_>,
        group: &[usize],
        line: &Line,
        threads: u32,
        tiled: bool,
        text: &mut String,
    ) {
        let mut named = vec![false; self.graph.nodes().len()];
        let name = |value| self.name(work, value);
        let limited = self.schedule.values > 0;
        let leaf = |leaf| self.voxel_leaf(leaf, limited, tiled);
        for &step in &line.steps {
            match step {
                Step::Compute(value) => {
                    let node = self.graph.node(value);
                    let kind = match (named[value.index()], node.is_truth()) {
                        (true, _) => "",
                        (false, true) => "int ",
                        (false, false) => "double ",
                    };
                    named[value.index()] = true;
                    let n = value.index();
                    if let Some((truth, [a, b])) = self.choice(node, &name) {
                        // Both sides are read first: choosing between places in memory would cost a
                        // branch, or a stack.
                        if !kind.is_empty() {
                            put(text, format_args!("      {kind}v{n};\n"));
                        }
                        put(
                            text,
                            format_args!(
                                "      {{ const double a = {a}, b = {b}; v{n} = \
                                 {truth} ? a : b; }}\n"
                            ),
                        );
                    } else {
                        let operation = expression(self.graph, value, &leaf, &name);
                        put(text, format_args!("      {kind}v{n} = {operation};\n"));
                    }
                }
                Step::Save(value, slot) => put(
                    text,
                    format_args!(
                        "      slot[{}] = v{};\n",
                        u64::from(slot) * u64::from(threads),
                        value.index()
                    ),
                ),
                Step::Restore(value, slot) => put(
                    text,
                    format_args!(
                        "      v{} = slot[{}];\n",
                        value.index(),
                        u64::from(slot) * u64::from(threads)
                    ),
                ),
                Step::Output(n) => {
                    let output = group[n];
                    let value = name(work.outputs[output]);
                    if let Some(write) = work.stage.writes.get(output) {
                        let layout = &self.blocks[usize::from(write.block.0)].0;
                        let place = layout.place([0; 3], i64::from(write.unknown));
                        put(text, format_args!("      w{}[{place}] = {value};\n", write.block.0));
                    } else {
                        put(
                            text,
                            format_args!(
                                "      {{ const key_t64 key = key_of({value}); top = key > top ? key : top; }}\n"
                            ),
                        );
                    }
                }
            }
        }
    }

    /// Condition and sides of a choice.
    pub(super) fn choice(
        &self,
        node: Node,
        name: &dyn Fn(Value) -> String,
    ) -> Option<(String, [String; 2])> {
        match node {
            Node::Binary(Binary::Minimum, a, b) => Some(("a < b".into(), [name(a), name(b)])),
            Node::Binary(Binary::Maximum, a, b) => Some(("a > b".into(), [name(a), name(b)])),
            Node::Select(c, a, b) => Some((name(c), [name(a), name(b)])),
            _ => None,
        }
    }

    /// How a value is written where it is used.
    pub(super) fn name(&self, work: &Work<'_>, value: Value) -> String {
        match self.graph.node(value) {
            Node::Constant(bits) => literal(f64::from_bits(bits)),
            Node::Leaf(Leaf::Parameter(n)) => format!("P.v[{n}]"),
            node if self.scalars.is_uniform(value) => match work.uniform.get(&value) {
                Some(n) => format!("uniform[{n}]"),
                // A truth value of uniform ones: rare, and cheap enough to be repeated.
                None => {
                    let name = |v| self.name(work, v);
                    let _ = node;
                    format!(
                        "({})",
                        expression(self.graph, value, &|leaf| self.cell_leaf(leaf), &name)
                    )
                }
            },
            Node::Unary(Unary::Negate, a) => format!("(-{})", self.name(work, a)),
            _ => format!("v{}", value.index()),
        }
    }

    pub(super) fn voxel_leaf(&self, leaf: Leaf, limited: bool, tiled: bool) -> String {
        match leaf {
            Leaf::Load { block, unknown, at } => {
                let layout = &self.blocks[usize::from(block.0)].0;
                let offsets = at.map(|coordinate| match coordinate {
                    Coordinate::Shift(shift) => i64::from(shift),
                    Coordinate::At(index) => i64::from(index),
                });
                let place = layout.place(offsets, i64::from(unknown));
                let address = format!("q{}_{} + ({place})", block.0, mask(along(at)));
                if block != INPUT || tiled {
                    format!("*({address})")
                } else if limited {
                    format!("read_here({address})")
                } else {
                    format!("READ({address})")
                }
            }
            Leaf::Coefficient { matrix, axis, column } => {
                let columns = self.kernel.matrices[usize::from(matrix)].columns;
                let index = ["x", "y", self.height()][usize::from(axis)];
                format!("m{matrix}[{index} * {columns} + {column}]")
            }
            Leaf::Position { axis, halves } => {
                let index = ["x", "y", self.height()][usize::from(axis)];
                let half = literal(0.5 * f64::from(1 + i16::from(halves)));
                format!(
                    "(cell->centre[{axis}] - 0.5 * cell->size[{axis}]) + ((double){index} + {half}) * ({})",
                    self.spacing(axis)
                )
            }
            other => self.cell_leaf(other),
        }
    }
}

fn along(at: [Coordinate; 3]) -> [bool; 3] {
    at.map(|coordinate| matches!(coordinate, Coordinate::Shift(_)))
}

fn mask(along: [bool; 3]) -> u8 {
    (0..3).map(|axis| u8::from(along[axis]) << axis).sum()
}
