//! The fused form: patches outermost, voxels in tiles of lanes.
//!
//! A lane reads its chunk in place, by a table of voxel offsets: no voxel is padded but in a patch's
//! last tile (where lanes repeat the last voxel), whatever the patch size, and no transposed copy is
//! made. The loops over lanes have a constant, small trip count, so that a vector compiler makes one
//! vector of each scalar.

use std::collections::{HashMap, HashSet};

use super::flat;
use super::frame::{Frame, StageFrame, Table, written};
use super::rows::Form;
use super::segments::{Segment, segments, slots};
use super::{Options, loaded, planar, position, turn, turned, uniform_leaf};
use crate::emit::{depth_first, place};
use crate::graph::{Coordinate, Leaf, Node, Value};
use crate::kernel::Kernel;

pub(super) fn emit(kernel: &Kernel, forms: &[Form], options: &Options, text: &mut String) {
    let frame = Frame::new(kernel, forms, usize::from(options.lanes));
    turn::print(&frame, text);
    for stage in &frame.stages {
        print_stage(&frame, options, stage, text);
    }
    frame.print_entry(text);
}

/// Most pieces that are inlined, one loop after the other: Euler by godunov, of nine, 47 to 39 ns per voxel
/// at p = 6 (Zen 4), Euler by rusanov, of five, no difference.
const INLINED: usize = 10;

/// A stage as it is printed.
struct Printer<'a> {
    frame: &'a Frame<'a>,
    stage: &'a StageFrame<'a>,
    /// Where kept values lie in the tile.
    slots: HashMap<Value, usize>,
    text: &'a mut String,
}

fn print_stage(frame: &Frame, options: &Options, stage: &StageFrame, text: &mut String) {
    match stage.form {
        Form::Points => return planar::print_points(frame, stage, text),
        Form::Sums => return planar::print_sums(frame, stage, text),
        Form::Tiles => {}
    }
    if let Some(order) = flat::flat(frame.kernel, &frame.scalars, stage.stage) {
        flat::print(frame, stage, &order, text);
        return;
    }
    let outputs = stage.stage.outputs();
    let families = stage.families.as_ref();
    let pieces = segments(
        &frame.kernel.graph,
        &outputs,
        options.longest,
        &|value| frame.scalars.is_uniform(value),
        &|value| families.is_some_and(|families| families.members.contains_key(&value)),
    );
    let (mut slots, count) = slots(&pieces, &outputs);
    if stage.turned.as_ref().is_some_and(|turned| turned.rows) {
        turned::in_order(&mut slots, &stage.stage.writes);
    }
    let mut printer = Printer { frame, stage, slots, text };
    printer.families();
    printer.turns();
    let inlined = stage.turned.is_some() && pieces.len() <= INLINED;
    for (number, piece) in pieces.iter().enumerate() {
        printer.piece(number, piece, if inlined { "TEMBLOR_INLINE" } else { "static" });
    }
    printer.stage(pieces.len(), count);
}

impl Printer<'_> {
    /// The value in the tile: an array's entry, or what is the same for all lanes.
    fn in_tile(&self, value: Value) -> String {
        match self.slots.get(&value) {
            Some(slot) => format!("x[{slot}][l]"),
            None => self.frame.scalars.operand(value),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Declares the uniform values among what `wanted` says.
    fn uniforms(&mut self, wanted: &dyn Fn(Value) -> bool) {
        let (scalars, graph) = (&self.frame.scalars, &self.frame.kernel.graph);
        for (slot, &value) in self.frame.uniforms.iter().enumerate() {
            if wanted(value) {
                let truth = graph.node(value).is_truth();
                let (kind, test) = if truth { ("int", " != 0.0") } else { ("double", "") };
                let name = scalars.operand(value);
                self.line(&format!("  const {kind} {name} = u[{slot}]{test};"));
            }
        }
    }

    /// Pointers to the tile's part of the stage's tables.
    fn tables(&mut self, wanted: &dyn Fn(&Table) -> bool) {
        for (slot, table) in self.stage.tables.iter().enumerate() {
            if wanted(table) {
                let start = slot * self.stage.padded;
                self.line(&format!(
                    "  const ptrdiff_t *const {} = tables + {start};",
                    table.name()
                ));
            }
        }
    }

    /// The function that computes a tile's families, by a vector of unknowns per voxel.
    fn families(&mut self) {
        let Some(families) = self.stage.families.clone() else { return };
        let (kernel, scalars) = (self.frame.kernel, &self.frame.scalars);
        let (graph, block) = (&kernel.graph, families.block);
        self.line(&format!(
            "static void {}_stage{}_unknowns(const double *const b{}, const double *const u, \
             const ptrdiff_t *const tables, double *restrict const f) {{",
            kernel.name, self.stage.number, block.0
        ));
        let order: Vec<Value> = depth_first(graph, &families.samples)
            .into_iter()
            .filter(|&value| !scalars.is_uniform(value))
            .collect();
        let uses: HashSet<Value> = order
            .iter()
            .flat_map(|&value| graph.node(value).operands().into_iter().flatten())
            .collect();
        self.uniforms(&|value| uses.contains(&value));
        let table = Table::Base(block, [true; 3]);
        self.tables(&|known| *known == table);
        self.line(&format!(
            "  for (int l = 0; l < {}; l++) {{\n    const double *const q = b{} + {}[l];\n    \
             double *restrict const to = f + {} * l;\n#pragma omp simd\n    \
             for (int i = 0; i < {}; i++) {{",
            self.stage.lanes,
            block.0,
            table.name(),
            families.stride(),
            families.count
        ));
        let leaves = |leaf: Leaf| match leaf {
            Leaf::Load { block, at, .. } => {
                let shape = &kernel.blocks[usize::from(block.0)];
                format!("q[{} + i]", place(shape, families.first, at).constant)
            }
            other => uniform_leaf(kernel, other),
        };
        self.text.push_str(&scalars.statements(&order, 6, &leaves));
        for (family, &sample) in families.samples.iter().enumerate() {
            let (start, value) = (family * families.count, scalars.operand(sample));
            self.line(&format!("      to[{start} + i] = {value};"));
        }
        self.line("    }\n  }\n}\n");
        let starts: Vec<String> =
            (0..self.stage.lanes).map(|lane| (lane * families.stride()).to_string()).collect();
        self.line(&format!(
            "static const ptrdiff_t {}_stage{}_lane[] = {{{}}};\n",
            kernel.name,
            self.stage.number,
            starts.join(", ")
        ));
    }

    /// The functions that turn what a tile loads to vectors.
    fn turns(&mut self) {
        let (kernel, stage) = (self.frame.kernel, self.stage);
        let Some(turned) = &stage.turned else { return };
        let families = if stage.families.is_some() { "const double *const f, " } else { "" };
        let blocks: String = loaded(&kernel.graph, &stage.stage.outputs())
            .iter()
            .map(|block| format!("const double *const b{}, ", block.0))
            .collect();
        let table = |block: Option<_>| match block {
            Some(block) => format!("tables + {}", stage.table(block) * stage.padded),
            None => format!("{}_stage{}_lane", kernel.name, stage.number),
        };
        for part in 0..turned.parts() {
            self.line(&format!(
                "{} void {}_stage{}_turn{part}({blocks}{families}const ptrdiff_t *const tables, \
                 double (*restrict const q)[{}]) {{",
                if turned.parts() == 1 { "TEMBLOR_INLINE" } else { "static" },
                kernel.name,
                stage.number,
                stage.lanes
            ));
            for call in turned.calls(part, &kernel.name, &table) {
                self.line(&format!("  {call}"));
            }
            self.line("}\n");
        }
    }

    /// Where a lane finds a member of a family.
    fn member(&self, value: Value) -> Option<String> {
        if let Some(vector) = self.stage.turned.as_ref().and_then(|turned| turned.member(value)) {
            return Some(format!("q[{vector}][l]"));
        }
        let place = self.stage.families.as_ref()?.place(value)?;
        let (kernel, stage) = (&self.frame.kernel.name, self.stage.number);
        Some(format!("f[{kernel}_stage{stage}_lane[l] + {place}]"))
    }

    /// The function of a piece: one tile.
    fn piece(&mut self, number: usize, piece: &Segment, kind: &str) {
        let (kernel, scalars) = (self.frame.kernel, &self.frame.scalars);
        let (graph, stage, lanes) = (&kernel.graph, self.stage, self.stage.lanes);
        let blocks: Vec<String> = loaded(graph, &self.stage.stage.outputs())
            .iter()
            .map(|block| format!("const double *const b{}, ", block.0))
            .collect();
        self.line(&format!(
            "{kind} void {}_stage{}_{number}({}const double *const u, const ptrdiff_t *const tables, \
             {}{}double (*restrict const x)[{lanes}]) {{",
            kernel.name,
            self.stage.number,
            blocks.concat(),
            if stage.families.is_some() && stage.turned.is_none() {
                "const double *const f, "
            } else {
                ""
            },
            stage.turned.as_ref().map_or(String::new(), |_| format!("double (*const q)[{lanes}], "))
        ));
        let uses: HashSet<Value> = piece
            .values
            .iter()
            .flat_map(|&value| graph.node(value).operands().into_iter().flatten())
            .collect();
        self.uniforms(&|value| uses.contains(&value));
        let mut tables = Vec::new();
        for &value in &piece.values {
            if let Node::Leaf(leaf) = graph.node(value) {
                if stage.vector(leaf).is_none() {
                    tables.extend(table_of(kernel, leaf));
                }
                if let Leaf::Position { axis, .. } = leaf {
                    let slot = self.frame.uniforms.len() + 2 * usize::from(axis);
                    let line = format!(
                        "  const double low{axis} = u[{slot}], dx{axis} = u[{}];",
                        slot + 1
                    );
                    if !self.text.ends_with(&format!("{line}\n")) {
                        self.line(&line);
                    }
                }
            }
        }
        self.tables(&|table| tables.contains(table));
        let leaves = |leaf: Leaf| match stage.vector(leaf) {
            Some(vector) => format!("q[{vector}][l]"),
            None => lane_leaf(kernel, leaf),
        };
        if piece.library {
            // A loop per call: the calls themselves are scalar.
            for &value in &piece.values {
                let operand = |operand| self.in_tile(operand);
                let call = scalars.expression_of(value, &leaves, &operand);
                let to = self.in_tile(value);
                self.line(&format!("  for (int l = 0; l < {lanes}; l++)\n    {to} = {call};"));
            }
            self.line("}\n");
            return;
        }
        self.line(&format!("#pragma omp simd\n  for (int l = 0; l < {lanes}; l++) {{"));
        for &value in &piece.reads {
            let truth = graph.node(value).is_truth();
            let (kind, test) = if truth { ("int", " != 0.0") } else { ("double", "") };
            let (name, from) = (scalars.operand(value), self.in_tile(value));
            self.line(&format!("    const {kind} {name} = {from}{test};"));
        }
        for &value in &piece.values {
            if let Some(member) = self.member(value) {
                self.line(&format!("    const double {} = {member};", scalars.operand(value)));
            } else {
                self.text.push_str(&scalars.statements(&[value], 4, &leaves));
            }
        }
        for &value in &piece.keeps {
            let truth = graph.node(value).is_truth();
            let number = scalars.operand(value) + if truth { " ? 1.0 : 0.0" } else { "" };
            self.line(&format!("    {} = {number};", self.in_tile(value)));
        }
        self.line("  }\n}\n");
    }

    /// The function of the stage: all tiles, piece by piece.
    fn stage(&mut self, pieces: usize, slots: usize) {
        let (kernel, lanes) = (self.frame.kernel, self.stage.lanes);
        let (stage, outputs) = (self.stage, self.stage.stage.outputs());
        let blocks: Vec<u16> =
            loaded(&kernel.graph, &outputs).into_iter().map(|block| block.0).collect();
        let mut arguments: Vec<String> =
            blocks.iter().map(|block| format!("const double *const b{block}")).collect();
        for block in written(stage.stage) {
            arguments.push(format!("double *const o{}", block.0));
        }
        arguments.extend(["const double *const u".into(), "const ptrdiff_t *tables".into()]);
        if stage.stage.maximum.is_some() {
            arguments.push("double *const maximum".into());
        }
        self.line(&format!(
            "/* {} */\nstatic void {}_stage{}({}) {{",
            stage.stage.name.replace("*/", "* /"),
            kernel.name,
            stage.number,
            arguments.join(", ")
        ));
        let direct: HashSet<Value> = outputs.iter().copied().collect();
        self.uniforms(&|value| direct.contains(&value));
        if let Some(turned) = &stage.turned {
            let (vectors, line) = (turned.count(), turn::LINE);
            self.line(&format!(
                "  double q[{vectors}][{lanes}] {line}, x[{}][{lanes}] {line};",
                slots.max(1)
            ));
        } else {
            self.line(&format!("  double x[{}][{lanes}];", slots.max(1)));
        }
        self.line(&format!(
            "  for (int first = 0; first < {}; first += {lanes}, tables += {lanes}) {{",
            stage.voxels
        ));
        let given: String = blocks.iter().map(|block| format!("b{block}, ")).collect();
        let (mut shared, mut f) = ("", "");
        if let Some(families) = &stage.families {
            (shared, f) = ("f, ", "f, ");
            let name = format!("{}_stage{}_unknowns", kernel.name, stage.number);
            let (block, size) = (families.block.0, lanes * families.stride());
            self.line(&format!("    double f[{size}];\n    {name}(b{block}, u, tables, f);"));
        }
        if let Some(turned) = &stage.turned {
            shared = "q, ";
            for part in 0..turned.parts() {
                let name = format!("{}_stage{}_turn{part}", kernel.name, stage.number);
                self.line(&format!("    {name}({given}{f}tables, q);"));
            }
        }
        for piece in 0..pieces {
            let name = format!("{}_stage{}_{piece}", kernel.name, stage.number);
            self.line(&format!("    {name}({given}u, tables, {shared}x);"));
        }
        if let Some(value) = stage.stage.maximum {
            let value = self.in_tile(value);
            self.line(&format!(
                "#pragma omp simd\n    for (int l = 0; l < {lanes}; l++)\n      \
                 maximum[l] = {value} > maximum[l] ? {value} : maximum[l];"
            ));
        }
        self.writes();
        self.line("  }\n}\n");
    }

    /// Copies the tile's results to their blocks; lanes beyond the range are dropped.
    fn writes(&mut self) {
        let (stage, lanes) = (self.stage, self.stage.lanes);
        if stage.stage.writes.is_empty() {
            return;
        }
        let count = stage.voxels;
        if stage.turned.as_ref().is_some_and(|turned| turned.rows) {
            let (to, width) = (written(stage.stage)[0].0, stage.stage.writes.len());
            let put = format!("{}_put{width}", self.frame.kernel.name);
            let (whole, line) = (count / lanes * lanes, turn::LINE);
            if whole == count {
                self.line(&format!("    {put}(x, o{to} + {width} * first);"));
            } else {
                self.line(&format!(
                    "    if (first < {whole}) {{\n      {put}(x, o{to} + {width} * first);\n    }} else {{\n      \
                     double row[{}] {line};\n      {put}(x, row);\n      \
                     memcpy(o{to} + {width} * first, row, {} * sizeof(double));\n    }}",
                    width * lanes,
                    width * (count - whole)
                ));
            }
            return;
        }
        let valid = if count % lanes == 0 {
            lanes.to_string()
        } else {
            format!("({count} - first < {lanes} ? {count} - first : {lanes})")
        };
        self.line(&format!("    for (int l = 0; l < {valid}; l++) {{"));
        for block in written(stage.stage) {
            let slot = stage.table(block);
            let shape = &self.frame.kernel.blocks[usize::from(block.0)];
            let origin = place(shape, 0, [Coordinate::Shift(0); 3]).constant;
            let number = block.0;
            self.line(&format!(
                "      double *const to{number} = o{number} + tables[{} + l] + {origin};",
                slot * stage.padded
            ));
            for write in stage.stage.writes.iter().filter(|write| write.block == block) {
                let value = self.in_tile(write.value);
                self.line(&format!("      to{number}[{}] = {value};", write.unknown));
            }
        }
        self.line("    }");
    }
}

/// The table that a leaf looks a lane up in.
fn table_of(kernel: &Kernel, leaf: Leaf) -> Option<Table> {
    match leaf {
        Leaf::Load { block, unknown, at } => {
            let place = place(&kernel.blocks[usize::from(block.0)], unknown, at);
            Some(Table::Base(block, place.along))
        }
        Leaf::Position { axis, .. } | Leaf::Coefficient { axis, .. } => Some(Table::Index(axis)),
        _ => None,
    }
}

/// Expression of a leaf in lane `l` of a tile.
fn lane_leaf(kernel: &Kernel, leaf: Leaf) -> String {
    match leaf {
        Leaf::Load { block, unknown, at } => {
            let place = place(&kernel.blocks[usize::from(block.0)], unknown, at);
            let table = Table::Base(block, place.along).name();
            format!("b{}[{table}[l] + {}]", block.0, place.constant)
        }
        Leaf::Coefficient { matrix, axis, column } => {
            let columns = kernel.matrices[usize::from(matrix)].columns;
            format!("matrix{matrix}[index{axis}[l] * {columns} + {column}]")
        }
        Leaf::Position { axis, halves } => position(axis, halves, &format!("index{axis}[l]")),
        other => uniform_leaf(kernel, other),
    }
}
