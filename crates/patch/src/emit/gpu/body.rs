//! The text of the kernels.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::emit::gpu::fit::{Line, Room};
use crate::emit::gpu::order::{Costs, Order, Step};
use crate::emit::gpu::share::{self, Shared};
use crate::emit::gpu::{Dialect, Entry, Layout, Layouts, Program, Schedule, Way};
use crate::emit::{Scalars, literal, unary_name};
use crate::graph::{Binary, BlockId, Coordinate, Graph, Leaf, Logic, Node, Unary, Value};
use crate::kernel::{INPUT, Kernel, OUTPUT, Stage};

/// Shared memory of a multiprocessor for the columns of its threads, bytes; what is left of 227 KiB is
/// for uniform values and what the system keeps per block.
const COLUMNS: usize = 216 << 10;

/// What all stages of a kernel share.
struct Printer<'a> {
    kernel: &'a Kernel,
    graph: &'a Graph,
    scalars: Scalars<'a>,
    schedule: Schedule,
    layouts: Layouts,
    dialect: Dialect,
    /// Layout of every block and, of temporaries, its place in the scratch memory of a patch.
    blocks: Vec<(Layout, usize)>,
    scratch: usize,
    /// The block that lies in shared memory beside the tile, if any, and where it starts there.
    beside: Option<(BlockId, usize)>,
    /// Slabs of a patch: a block's tile holds some of its planes.
    slabs: usize,
    /// Layout of the whole input patch.
    whole: Layout,
}

/// A stage being printed.
struct Work<'a> {
    stage: &'a Stage,
    outputs: Vec<Value>,
    /// Uniform values that voxels use, by their place in shared memory.
    uniform: HashMap<Value, usize>,
    uniforms: Vec<Value>,
    /// Voxels per axis.
    extent: [usize; 3],
    voxels: usize,
}

/// Prints a whole kernel.
pub(super) fn program(
    kernel: &Kernel,
    schedule: &Schedule,
    layouts: &Layouts,
    dialect: Dialect,
) -> Program {
    let parameters = kernel.parameters.len().max(1);
    let mut program = Program {
        source: String::new(),
        entries: Vec::new(),
        scratch: 0,
        flops: 0.0,
        moves: 0,
        loads: 0,
        pressure: 0,
        parameters,
    };
    let text = &mut program.source;
    text.push_str(dialect.prelude());
    put(text, format_args!("struct parameters {{ double v[{parameters}]; }};\n"));
    for (n, matrix) in kernel.matrices.iter().enumerate() {
        let entries: Vec<String> = matrix.entries.iter().map(|&e| literal(e)).collect();
        put(
            text,
            format_args!("TABLE double m{n}[{}] = {{{}}};\n", entries.len(), entries.join(", ")),
        );
    }
    let cut = |kernel: Kernel| cut(kernel, schedule);
    let split = if schedule.share { share::split(kernel) } else { None };
    let split = split.map(|s| Shared { points: cut(s.points), rest: cut(s.rest) });
    if let Some(Shared { points, rest }) = &split {
        let points = Printer::new(points, schedule, layouts, dialect);
        Printer::new(rest, schedule, layouts, dialect).stage(0, Some(points), &mut program);
    } else {
        let kernel = &cut(kernel.clone());
        let printer = Printer::new(kernel, schedule, layouts, dialect);
        program.scratch = printer.scratch;
        for n in 0..kernel.stages.len() {
            printer.stage(n, None, &mut program);
        }
    }
    program
}

/// Slabs of a patch.
fn slabs(kernel: &Kernel, schedule: &Schedule) -> usize {
    match schedule.planes {
        0 => 1,
        planes => usize::from(kernel.shape.cells) / planes as usize,
    }
}

/// A kernel on the planes of one slab: stages and blocks that a tile holds end with it.
fn cut(mut kernel: Kernel, schedule: &Schedule) -> Kernel {
    if slabs(&kernel, schedule) <= 1 {
        return kernel;
    }
    let less =
        kernel.shape.cells.cast_signed() - i16::try_from(schedule.planes).unwrap_or(i16::MAX);
    kernel.stages.iter_mut().for_each(|stage| stage.high[2] -= less);
    let blocks = kernel.blocks.iter_mut().enumerate().filter(|(n, _)| *n != 1);
    blocks.for_each(|(_, block)| block.high[2] -= less);
    kernel
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes all");
}

impl<'a> Printer<'a> {
    fn new(kernel: &'a Kernel, schedule: &Schedule, layouts: &Layouts, dialect: Dialect) -> Self {
        let whole = *layouts;
        let mut layouts = *layouts;
        if slabs(kernel, schedule) > 1 {
            // The kernel was cut: its input is the tile of a block.
            let tile = &kernel.blocks[usize::from(INPUT.0)];
            let chunks = layouts.input.unknown == 1;
            layouts.input = if chunks { Layout::chunk(tile) } else { Layout::planes(tile) };
        }
        // The paper's baseline keeps its temporaries voxel by voxel.
        let slab = crate::lower::scratch(kernel);
        let last = kernel.blocks.len() - 1;
        let blocks = kernel.blocks.iter().enumerate().map(|(n, block)| match n {
            0 => (layouts.input, 0),
            1 => (layouts.output, 0),
            _ if schedule.share && n == last => (Layout::planes(block), 0),
            _ => (Layout::chunk(block), slab.offsets[n].unwrap_or(0)),
        });
        Self {
            kernel,
            graph: &kernel.graph,
            scalars: Scalars::new(&kernel.graph),
            schedule: *schedule,
            layouts,
            dialect,
            blocks: blocks.collect(),
            scratch: slab.len.next_multiple_of(16),
            beside: None,
            slabs: slabs(kernel, schedule),
            whole: whole.input,
        }
    }

    fn work(&self, number: usize) -> Work<'a> {
        let stage = &self.kernel.stages[number];
        let extent: [usize; 3] = std::array::from_fn(|axis| {
            usize::try_from(stage.high[axis] - stage.low[axis]).unwrap_or(0)
        });
        let outputs = stage.outputs();
        let uniforms = self.uniforms(&outputs);
        Work {
            stage,
            uniform: uniforms.iter().enumerate().map(|(n, &value)| (value, n)).collect(),
            uniforms,
            outputs,
            extent,
            voxels: extent.iter().product(),
        }
    }

    fn stage(&self, number: usize, points: Option<Self>, program: &mut Program) {
        let work = self.work(number);
        let groups = self.groups(&work);
        let lines: Vec<(Vec<usize>, Line)> = groups
            .into_iter()
            .map(|group| {
                let line = self.line(&work, &group);
                (group, line)
            })
            .collect();
        let share = (work.voxels * self.slabs) as f64 / self.kernel.shape.voxels() as f64;
        for (group, line) in &lines {
            let outputs: Vec<Value> = group.iter().map(|&n| work.outputs[n]).collect();
            program.flops += f64::from(self.graph.flops(&outputs).total()) * share;
            program.moves += line.moves;
            program.loads += line.loads;
            program.pressure = program.pressure.max(line.pressure);
        }
        let points = points.map(|printer| {
            let work = printer.work(0);
            let share = (work.voxels * self.slabs) as f64 / self.kernel.shape.voxels() as f64;
            program.flops += f64::from(printer.graph.flops(&work.outputs).total()) * share;
            (printer, work)
        });
        let entry = self.entry(number, &work, &lines, points, &mut program.source);
        program.entries.push(entry);
    }

    /// Uniform values that voxels read, apart from constants and parameters, which have a memory of
    /// their own.
    fn uniforms(&self, outputs: &[Value]) -> Vec<Value> {
        let reach = self.graph.reachable(outputs);
        let mut read = vec![false; self.graph.nodes().len()];
        outputs.iter().for_each(|output| read[output.index()] = true);
        for (value, node) in self.graph.values() {
            if reach[value.index()] && !self.scalars.is_uniform(value) {
                node.operands().into_iter().flatten().for_each(|o| read[o.index()] = true);
            }
        }
        let kept = |value: Value, node: Node| {
            let plain = matches!(node, Node::Constant(_) | Node::Leaf(Leaf::Parameter(_)));
            read[value.index()] && self.scalars.is_uniform(value) && !plain && !node.is_truth()
        };
        self.graph.values().filter(|&(v, node)| kept(v, node)).map(|(v, _)| v).collect()
    }

    /// Outputs by group: those that share most stay together.
    fn groups(&self, work: &Work<'_>) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..work.outputs.len()).map(|n| vec![n]).collect();
        let wanted = (self.schedule.groups as usize).min(groups.len());
        if wanted == 1 {
            return vec![(0..work.outputs.len()).collect()];
        }
        let sets = |group: &[usize]| {
            let values: Vec<Value> = group.iter().map(|&n| work.outputs[n]).collect();
            self.graph.reachable(&values)
        };
        let mut needs: Vec<Vec<bool>> = groups.iter().map(|group| sets(group)).collect();
        let weight: Vec<usize> = self
            .graph
            .values()
            .map(|(value, node)| {
                usize::from(!self.scalars.is_uniform(value) && !matches!(node, Node::Constant(_)))
            })
            .collect();
        let count =
            |set: &[bool]| set.iter().zip(&weight).filter(|(s, _)| **s).map(|(_, w)| w).sum();
        let mut sizes: Vec<usize> = needs.iter().map(|set| count(set)).collect();
        // Joins the pair whose union is smallest, so that groups stay of like size.
        while groups.len() > wanted {
            let mut best = (usize::MAX, 0, 1);
            for a in 0..groups.len() {
                for b in a + 1..groups.len() {
                    let union: usize = needs[a]
                        .iter()
                        .zip(&needs[b])
                        .zip(&weight)
                        .filter(|((x, y), _)| **x || **y)
                        .map(|(_, w)| w)
                        .sum();
                    let key = union + (sizes[a].max(sizes[b]) + union) / 4
                        - (sizes[a] + sizes[b] - union) / 2;
                    if key < best.0 {
                        best = (key, a, b);
                    }
                }
            }
            let (_, a, b) = best;
            let (group, need) = (groups.remove(b), needs.remove(b));
            sizes.remove(b);
            groups[a].extend(group);
            needs[a].iter_mut().zip(need).for_each(|(x, y)| *x |= y);
            sizes[a] = count(&needs[a]);
        }
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups
    }

    /// The program of a voxel for a group of outputs.
    fn line(&self, work: &Work<'_>, group: &[usize]) -> Line {
        let outputs: Vec<Value> = group.iter().map(|&n| work.outputs[n]).collect();
        let costs = Costs::new(&self.scalars);
        let values = match self.schedule.values {
            0 => usize::MAX,
            values => values as usize,
        };
        // What the blocks of a multiprocessor leave to each thread.
        let threads = (self.schedule.threads * self.schedule.blocks) as usize;
        let room = Room { values, slots: COLUMNS / (8 * threads) };
        let orders = match self.schedule.order {
            Some(order) => vec![order],
            None if values == usize::MAX => vec![Order::Built],
            None => vec![Order::Built, Order::Eager, Order::Depth, Order::Greedy],
        };
        let lines = orders.into_iter().map(|order| {
            let steps = costs.order(&outputs, order);
            costs.allocate(&steps, &outputs, room)
        });
        // A repeated load costs more than a move to or from shared memory.
        lines
            .min_by_key(|line| {
                let over = (line.slots as usize).saturating_sub(room.slots);
                (over, line.moves + 3 * line.loads)
            })
            .unwrap_or_default()
    }

    fn entry(
        &self,
        number: usize,
        work: &Work<'_>,
        lines: &[(Vec<usize>, Line)],
        points: Option<(Self, Work<'_>)>,
        text: &mut String,
    ) -> Entry {
        let schedule = &self.schedule;
        let way = schedule.way;
        let tiled = matches!(way, Way::Tile | Way::Bulk);
        let flat = matches!(way, Way::Flat | Way::Unfused);
        let wanted = schedule.threads as usize;
        // Patches of a block, threads of a patch.
        let chunk = self.layouts.input.len.next_multiple_of(2);
        let beside = self.blocks.last().filter(|_| points.is_some()).map_or(0, |last| last.0.len);
        let room = 8 * (chunk + beside) * schedule.blocks as usize;
        let fit = if tiled { COLUMNS / room } else { wanted };
        let one = flat || self.slabs > 1;
        let patches = if one { 1 } else { (wanted / work.voxels).min(fit).max(1) };
        let each = if flat { wanted } else { work.voxels.min(wanted) };
        let threads = (patches * each).next_multiple_of(32);
        let threads = u32::try_from(threads).unwrap_or(1024);
        // Patches that a block may see parts of.
        let seen = if flat { (threads as usize - 1).div_ceil(work.voxels) + 1 } else { patches };
        let uniforms = work.uniforms.len();
        let tile = if tiled { chunk * patches } else { 0 };
        let slots = lines.iter().map(|(_, line)| line.slots as usize).max().unwrap_or(0);
        // Tile, then a gate, then uniform values, then the threads' columns.
        let gate = if way == Way::Bulk { 2 } else { 0 };
        let at_points = tile + gate;
        let at_shared = at_points + patches * beside;
        let own = points.as_ref().map_or(0, |(_, work)| work.uniforms.len());
        let at_uniform = at_shared + seen * own;
        let at_slots = at_uniform + seen * uniforms;
        let shared = 8 * (at_slots + slots * threads as usize);
        let groups = lines.len();
        let name = if self.kernel.stages.len() == 1 {
            self.kernel.name.clone()
        } else {
            format!("{}_stage{number}", self.kernel.name)
        };
        put(text, format_args!("\n// {}\n", work.stage.name));
        text.push_str(&self.dialect.head(&name, threads, schedule.blocks));
        text.push_str("{\n");
        if shared > 0 {
            put(text, format_args!("  SHARED({shared})\n"));
        }
        let place = if groups == 1 {
            "  const int block = BLOCK;\n".to_owned()
        } else if schedule.sweep {
            let of = if flat {
                format!("(int)(((wide)K * {} + {}) / {})", work.voxels, threads - 1, threads)
            } else {
                format!("(K + {}) / {patches}", patches - 1)
            };
            format!("  const int row = {of}, block = BLOCK % row, group = BLOCK / row;\n")
        } else {
            format!("  const int block = BLOCK / {groups}, group = BLOCK % {groups};\n")
        };
        text.push_str(&place);
        if flat {
            put(
                text,
                format_args!(
                    "  const wide item = (wide)block * {threads} + THREAD;\n  \
                 const int first = (int)((wide)block * {threads} / {v});\n  \
                 const int k = (int)(item / {v}), nth = k - first;\n  \
                 const int start = (int)(item - (wide)k * {v});\n  \
                 const int here = k < K;\n",
                    v = work.voxels
                ),
            );
        } else {
            put(
                text,
                format_args!(
                    "{slab}  const int nth = THREAD / {each}, start = THREAD % {each};\n  \
                 const int k = first + nth;\n  \
                 const int here = nth < {patches} && k < K;\n",
                    slab = if self.slabs > 1 {
                        format!(
                            "  const int first = block / {s}, low = block % {s} * {};\n",
                            self.schedule.planes,
                            s = self.slabs
                        )
                    } else {
                        format!("  const int first = block * {patches};\n")
                    }
                ),
            );
        }
        if uniforms > 0 {
            self.print_uniforms(work, seen, at_uniform, text);
        }
        if tiled {
            self.print_copy(patches, each, chunk, tile, text);
        }
        if let Some((printer, work)) = &points {
            printer.print_uniforms(work, seen, at_shared, text);
        }
        if uniforms > 0 || tiled || points.is_some() {
            text.push_str("  BARRIER();\n");
        }
        let block = BlockId(u16::try_from(self.blocks.len() - 1).unwrap_or(u16::MAX));
        let rest = Self { beside: points.as_ref().map(|_| (block, at_points)), ..self.again() };
        if let Some((printer, work)) = points {
            let printer = Self { beside: Some((block, at_points)), ..printer };
            printer.print_points(&work, (each, chunk, at_shared), text);
        }
        let speeds = work.stage.maximum.is_some();
        if speeds {
            text.push_str("  key_t64 top = 0;\n");
        }
        text.push_str("  if (here) {\n");
        rest.print_pointers(work, tiled, chunk, text);
        if uniforms > 0 {
            put(
                text,
                format_args!(
                    "    LOCAL const volatile double* const uniform = shared + {at_uniform} + nth * {uniforms};\n"
                ),
            );
        }
        if slots > 0 {
            put(
                text,
                format_args!(
                    "    LOCAL volatile double* const slot = shared + {at_slots} + THREAD;\n"
                ),
            );
        }
        let looped = !flat && each < work.voxels;
        if looped {
            put(
                text,
                format_args!(
                    "    for (int voxel = start; voxel < {}; voxel += {each}) {{\n",
                    work.voxels
                ),
            );
        } else {
            text.push_str("    const int voxel = start;\n    {\n");
        }
        rest.print_indices(work, text);
        for (n, (group, line)) in lines.iter().enumerate() {
            if groups > 1 {
                let word = if n == 0 { "if" } else { "else if" };
                put(text, format_args!("      {word} (group == {n}) {{\n"));
            }
            self.print_line(work, group, line, threads, tiled, text);
            if groups > 1 {
                text.push_str("      }\n");
            }
        }
        text.push_str("    }\n  }\n");
        if speeds {
            text.push_str("  reduce(speeds, k, top);\n");
        }
        text.push_str("}\n");
        Entry {
            name,
            threads,
            shared: u32::try_from(shared).unwrap_or(u32::MAX),
            items: if flat { u64::from(threads) } else { patches as u64 },
            per_patch: if flat { work.voxels as u64 } else { self.slabs as u64 },
            groups: u32::try_from(groups).unwrap_or(1),
        }
    }

    /// Copies chunks, or the planes of a slab, into the tile.
    fn print_copy(
        &self,
        patches: usize,
        each: usize,
        chunk: usize,
        gate: usize,
        text: &mut String,
    ) {
        let bulk = self.schedule.way == Way::Bulk;
        let len = self.layouts.input.len;
        if self.slabs > 1 {
            // A piece per unknown, or one where unknowns lie together.
            let whole = &self.whole;
            let chunks = whole.unknown == 1;
            let width = self.kernel.shape.width();
            let (pieces, apart) = if chunks { (1, 0) } else { (width, whole.unknown) };
            let (piece, plane) = (len / pieces, whole.voxel[2]);
            let even = |n: i64| n % 2 == 0;
            let aligned = piece % 2 == 0
                && even(apart)
                && even(plane * i64::from(self.schedule.planes.cast_signed()));
            if bulk && aligned {
                put(
                    text,
                    format_args!(
                        "  bulk_pieces(shared, {piece}, in[first < K ? first : 0] + low * {plane}, \
                         {apart}, {pieces}, {}u, (key_t64*)(shared + {gate}));\n",
                        8 * piece
                    ),
                );
            } else {
                put(
                    text,
                    format_args!(
                        "  if (here) {{\n    GLOBAL const double* const from = CHUNK_IN(k) + low * \
                         {plane};\n    for (int n = start; n < {len}; n += {each}) shared[n] = \
                         READ(from + n / {piece} * {apart} + n % {piece});\n  }}\n"
                    ),
                );
            }
        } else if bulk {
            put(
                text,
                format_args!(
                    "  bulk(shared, {chunk}, in + first, first + {patches} <= K ? {patches} : K - \
                     first, {}u, (key_t64*)(shared + {gate}));\n",
                    8 * chunk
                ),
            );
        } else {
            put(
                text,
                format_args!(
                    "  if (here) {{\n    GLOBAL const double* const from = CHUNK_IN(k);\n    for (int \
                     n = start; n < {len}; n += {each}) shared[nth * {chunk} + n] = READ(from + \
                     n);\n  }}\n"
                ),
            );
        }
    }

    fn again(&self) -> Self {
        Self {
            kernel: self.kernel,
            graph: self.graph,
            scalars: Scalars::new(self.graph),
            schedule: self.schedule,
            layouts: self.layouts,
            dialect: self.dialect,
            blocks: self.blocks.clone(),
            scratch: self.scratch,
            beside: self.beside,
            slabs: self.slabs,
            whole: self.whole,
        }
    }

    /// The threads of a patch compute the values that neighbours read, for all voxels of its tile.
    fn print_points(
        &self,
        work: &Work<'_>,
        (each, chunk, at_uniform): (usize, usize, usize),
        text: &mut String,
    ) {
        let uniforms = work.uniforms.len();
        text.push_str("  if (here) {\n");
        self.print_pointers(work, true, chunk, text);
        if uniforms > 0 {
            put(
                text,
                format_args!(
                    "    LOCAL const volatile double* const uniform = shared + {at_uniform} + nth * \
                     {uniforms};\n"
                ),
            );
        }
        let voxels = work.voxels;
        put(
            text,
            format_args!("    for (int voxel = start; voxel < {voxels}; voxel += {each}) {{\n"),
        );
        self.print_indices(work, text);
        let group: Vec<usize> = (0..work.outputs.len()).collect();
        let costs = Costs::new(&self.scalars);
        let steps = costs.order(&work.outputs, Order::Built);
        let room = Room { values: usize::MAX, slots: 0 };
        let line = costs.allocate(&steps, &work.outputs, room);
        self.print_line(work, &group, &line, 0, true, text);
        text.push_str("    }\n  }\n  BARRIER();\n");
    }

    /// Thread n of a block computes the uniform values of the n-th patch that it sees.
    fn print_uniforms(&self, work: &Work<'_>, seen: usize, at: usize, text: &mut String) {
        put(
            text,
            format_args!(
                "  if (THREAD < {seen} && first + THREAD < K) {{\n    \
             GLOBAL const struct cell* const cell = cells + first + THREAD;\n"
            ),
        );
        let reach = self.graph.reachable(&work.uniforms);
        for (value, node) in self.graph.values().filter(|(v, _)| reach[v.index()]) {
            if let Node::Constant(_) | Node::Leaf(Leaf::Parameter(_)) = node {
                continue;
            }
            let kind = if node.is_truth() { "int" } else { "double" };
            let name = format!("u{}", value.index());
            let expression =
                self.expression(value, &|v| self.uniform_name(v), &|leaf| self.cell_leaf(leaf));
            put(text, format_args!("    const {kind} {name} = {expression};\n"));
            if let Some(n) = work.uniform.get(&value) {
                let count = work.uniforms.len();
                put(text, format_args!("    shared[{at} + THREAD * {count} + {n}] = {name};\n"));
            }
        }
        text.push_str("  }\n");
    }

    fn uniform_name(&self, value: Value) -> String {
        match self.graph.node(value) {
            Node::Constant(bits) => literal(f64::from_bits(bits)),
            Node::Leaf(Leaf::Parameter(n)) => format!("P.v[{n}]"),
            _ => format!("u{}", value.index()),
        }
    }

    fn cell_leaf(&self, leaf: Leaf) -> String {
        match leaf {
            Leaf::Parameter(n) => format!("P.v[{n}]"),
            Leaf::Spacing(axis) => self.spacing(axis),
            Leaf::Time => "cell->time".into(),
            Leaf::TimeStep => "cell->time_step".into(),
            _ => "0.0".into(),
        }
    }

    fn spacing(&self, axis: u8) -> String {
        let cells = if axis < self.kernel.shape.dimensions { self.kernel.shape.cells } else { 1 };
        format!("cell->size[{axis}] / {}", literal(f64::from(cells)))
    }

    /// Blocks that a stage reads, except through the tile.
    fn blocks_read(&self, work: &Work<'_>) -> Vec<BlockId> {
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

    fn print_pointers(&self, work: &Work<'_>, tiled: bool, chunk: usize, text: &mut String) {
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

    fn pointer(&self, block: BlockId, input: &str) -> String {
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
    fn print_indices(&self, work: &Work<'_>, text: &mut String) {
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
    fn height(&self) -> &'static str {
        if self.slabs > 1 { "height" } else { "z" }
    }

    /// Whether a block lies in shared memory beside the tile.
    fn is_beside(&self, block: BlockId) -> bool {
        self.beside.is_some_and(|(beside, _)| beside == block)
    }

    fn tiled(&self) -> bool {
        matches!(self.schedule.way, Way::Tile | Way::Bulk)
    }

    /// Blocks and which of the voxel's indices count in their loads.
    fn faces_of(&self, work: &Work<'_>) -> Vec<(BlockId, [bool; 3])> {
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

    fn print_line(
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
                        let expression = self.expression(value, &name, &leaf);
                        put(text, format_args!("      {kind}v{n} = {expression};\n"));
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
    fn choice(&self, node: Node, name: &dyn Fn(Value) -> String) -> Option<(String, [String; 2])> {
        match node {
            Node::Binary(Binary::Minimum, a, b) => Some(("a < b".into(), [name(a), name(b)])),
            Node::Binary(Binary::Maximum, a, b) => Some(("a > b".into(), [name(a), name(b)])),
            Node::Select(c, a, b) => Some((name(c), [name(a), name(b)])),
            _ => None,
        }
    }

    /// How a value is written where it is used.
    fn name(&self, work: &Work<'_>, value: Value) -> String {
        match self.graph.node(value) {
            Node::Constant(bits) => literal(f64::from_bits(bits)),
            Node::Leaf(Leaf::Parameter(n)) => format!("P.v[{n}]"),
            node if self.scalars.is_uniform(value) => match work.uniform.get(&value) {
                Some(n) => format!("uniform[{n}]"),
                // A truth value of uniform ones: rare, and cheap enough to be repeated.
                None => {
                    let name = |v| self.name(work, v);
                    let _ = node;
                    format!("({})", self.expression(value, &name, &|leaf| self.cell_leaf(leaf)))
                }
            },
            Node::Unary(Unary::Negate, a) => format!("(-{})", self.name(work, a)),
            _ => format!("v{}", value.index()),
        }
    }

    fn voxel_leaf(&self, leaf: Leaf, limited: bool, tiled: bool) -> String {
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

    fn expression(
        &self,
        value: Value,
        name: &dyn Fn(Value) -> String,
        leaf: &dyn Fn(Leaf) -> String,
    ) -> String {
        match self.graph.node(value) {
            Node::Constant(bits) => literal(f64::from_bits(bits)),
            Node::Leaf(start) => leaf(start),
            Node::Unary(Unary::Negate, a) => format!("-{}", name(a)),
            Node::Unary(function, a) => format!("{}({})", unary_name(function), name(a)),
            Node::Binary(function, a, b) => {
                let (a, b) = (name(a), name(b));
                match function {
                    Binary::Add => format!("{a} + {b}"),
                    Binary::Subtract => format!("{a} - {b}"),
                    Binary::Multiply => format!("{a} * {b}"),
                    Binary::Divide => format!("{a} / {b}"),
                    Binary::Minimum => format!("{a} < {b} ? {a} : {b}"),
                    Binary::Maximum => format!("{a} > {b} ? {a} : {b}"),
                    Binary::Power => format!("pow({a}, {b})"),
                    Binary::ArcTangent2 => format!("atan2({a}, {b})"),
                }
            }
            Node::Logic(logic, a, b) => {
                let sign = match logic {
                    Logic::Less => "<",
                    Logic::LessEqual => "<=",
                    Logic::Equal => "==",
                    Logic::And => "&",
                    Logic::Or => "|",
                };
                format!("{} {sign} {}", name(a), name(b))
            }
            Node::Not(a) => format!("!{}", name(a)),
            Node::Select(c, a, b) => format!("{} ? {} : {}", name(c), name(a), name(b)),
        }
    }
}

fn along(at: [Coordinate; 3]) -> [bool; 3] {
    at.map(|coordinate| matches!(coordinate, Coordinate::Shift(_)))
}

fn mask(along: [bool; 3]) -> u8 {
    (0..3).map(|axis| u8::from(along[axis]) << axis).sum()
}
