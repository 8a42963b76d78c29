//! The frame of a kernel: which voxels a thread takes, tiles, what is computed once per patch.

use crate::emit::gpu::body::{COLUMNS, Printer, Work, put};
use crate::emit::gpu::fit::{Line, Room};
use crate::emit::gpu::order::{Costs, Order};
use crate::emit::gpu::{Entry, Way};
use crate::emit::{Scalars, expression};
use crate::graph::{BlockId, Leaf, Node};

/// Rows of `of` items, side by side, that some `threads` items may belong to.
fn rows_seen(threads: usize, of: usize) -> usize {
    if threads.is_multiple_of(of) {
        threads / of
    } else if of.is_multiple_of(threads) {
        1
    } else {
        (threads - 1).div_ceil(of) + 1
    }
}

/// Patch and item of a patch that a number stands for, where patches have `each` items and `lanes` of
/// them take turns.
fn by_turns(number: &str, each: usize, lanes: usize) -> [String; 2] {
    if lanes == 1 {
        return [format!("{number} / {each}"), format!("{number} % {each}")];
    }
    let row = each * lanes;
    [
        format!("{number} / {row} * {lanes} + {number} % {lanes}"),
        format!("{number} % {row} / {lanes}"),
    ]
}

impl Printer<'_> {
    pub(super) fn entry(
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
        let lanes = self.layouts.input.lanes as usize;
        let patches = if one { 1 } else { (wanted / work.voxels).min(fit).max(1) };
        let patches = if flat { patches } else { (patches / lanes).max(1) * lanes };
        let each = if flat { wanted } else { work.voxels.min(wanted / lanes).max(1) };
        let threads = (patches * each).next_multiple_of(32);
        let threads = u32::try_from(threads).unwrap_or(1024);
        // Patches that a block may see parts of.
        let seen =
            if flat { rows_seen(threads as usize, work.voxels * lanes) * lanes } else { patches };
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
                let all = if lanes > 1 {
                    format!("(K + {}) / {lanes} * {lanes}", lanes - 1)
                } else {
                    "K".into()
                };
                format!("(int)(((wide)({all}) * {} + {}) / {})", work.voxels, threads - 1, threads)
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
                    "  const wide base = (wide)block * {threads};\n  \
                     const int row_of_patches = (int)(base / {v});\n  \
                     const int first = row_of_patches * {lanes};\n  \
                     const int rest = (int)(base - (wide)row_of_patches * {v}) + THREAD;\n  \
                     const int nth = {nth}, start = {start};\n  \
                     const int k = first + nth;\n  \
                     const int here = k < K;\n",
                    v = work.voxels * lanes,
                    nth = by_turns("rest", work.voxels, lanes)[0],
                    start = by_turns("rest", work.voxels, lanes)[1],
                ),
            );
        } else {
            put(
                text,
                format_args!(
                    "{slab}  const int nth = {nth}, start = {start};\n  \
                 const int k = first + nth;\n  \
                 const int here = nth < {patches} && k < K;\n",
                    nth = by_turns("THREAD", each, lanes)[0],
                    start = by_turns("THREAD", each, lanes)[1],
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
            if lanes > 1 {
                put(text, format_args!("  reduce_beside(speeds, k, top, {lanes});\n"));
            } else {
                text.push_str("  reduce(speeds, k, top);\n");
            }
        }
        text.push_str("}\n");
        Entry {
            name,
            threads,
            shared: u32::try_from(shared).unwrap_or(u32::MAX),
            items: if flat { u64::from(threads) } else { patches as u64 },
            per_patch: if flat { work.voxels as u64 } else { self.slabs as u64 },
            groups: u32::try_from(groups).unwrap_or(1),
            lanes: self.layouts.input.lanes,
        }
    }

    /// Copies chunks, or the planes of a slab, into the tile.
    pub(super) fn print_copy(
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

    pub(super) fn again(&self) -> Self {
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
    pub(super) fn print_points(
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
    pub(super) fn print_uniforms(
        &self,
        work: &Work<'_>,
        seen: usize,
        at: usize,
        text: &mut String,
    ) {
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
            let operation = expression(self.graph, value, &|leaf| self.cell_leaf(leaf), &|v| {
                self.uniform_name(v)
            });
            put(text, format_args!("    const {kind} {name} = {operation};\n"));
            if let Some(n) = work.uniform.get(&value) {
                let count = work.uniforms.len();
                put(text, format_args!("    shared[{at} + THREAD * {count} + {n}] = {name};\n"));
            }
        }
        text.push_str("  }\n");
    }
}
