//! The text of the kernels.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::emit::gpu::fit::{Line, Room};
use crate::emit::gpu::order::{Costs, Order};
use crate::emit::gpu::share::{self, Shared};
use crate::emit::gpu::{Dialect, Layout, Layouts, Program, Schedule};
use crate::emit::{Scalars, literal};
use crate::graph::{BlockId, Graph, Leaf, Node, Value};
use crate::kernel::{INPUT, Kernel, Stage};

/// Shared memory of a multiprocessor for the columns of its threads, bytes; what is left of 227 KiB is
/// for uniform values and what the system keeps per block.
pub(super) const COLUMNS: usize = 216 << 10;

/// What all stages of a kernel share.
pub(super) struct Printer<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) graph: &'a Graph,
    pub(super) scalars: Scalars<'a>,
    pub(super) schedule: Schedule,
    pub(super) layouts: Layouts,
    pub(super) dialect: Dialect,
    /// Layout of every block and, of temporaries, its place in the scratch memory of a patch.
    pub(super) blocks: Vec<(Layout, usize)>,
    pub(super) scratch: usize,
    /// The block that lies in shared memory beside the tile, if any, and where it starts there.
    pub(super) beside: Option<(BlockId, usize)>,
    /// Slabs of a patch: a block's tile holds some of its planes.
    pub(super) slabs: usize,
    /// Layout of the whole input patch.
    pub(super) whole: Layout,
}

/// A stage being printed.
pub(super) struct Work<'a> {
    pub(super) stage: &'a Stage,
    pub(super) outputs: Vec<Value>,
    /// Uniform values that voxels use, by their place in shared memory.
    pub(super) uniform: HashMap<Value, usize>,
    pub(super) uniforms: Vec<Value>,
    /// Voxels per axis.
    pub(super) extent: [usize; 3],
    pub(super) voxels: usize,
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

pub(super) fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
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
}
