//! The plain form: what one writes by hand, and the baseline of every claim of speed.
//!
//! A loop nest over all patches and voxels per statement, in the order of the scheme, with temporaries
//! for all patches; terms are called as the user wrote them, on private arrays; what is alike for all
//! unknowns is a loop over unknowns.
//!
//! With OpenMP every loop nest is a parallel region of its own, collapsed over patches and rows of
//! voxels, as the baseline with threads of Stokes et al. 2026 (arXiv:2608.19273, section IV-A) has it.

use std::fmt::Write as _;

use super::alike::{Group, groups};
use super::frame::written;
use super::{SIGNATURE, Style, base, length, loaded, position, temporaries, uniform_leaf};
use crate::emit::{Scalars, depth_first, graph_order, literal, place};
use crate::error::Result;
use crate::graph::{BlockId, Coordinate, Leaf, Value};
use crate::kernel::{Call, INPUT, Kernel, OUTPUT, Stage, Write};
use crate::physics::Term;

pub(super) fn emit(kernel: &Kernel, style: Style, text: &mut String) -> Result<()> {
    if style.has_team() {
        text.push_str("#include <omp.h>\n\n");
    }
    let calls = kernel.stages.iter().any(|stage| stage.call.is_some());
    if calls {
        let _ = writeln!(text, "/* {} */\n{}", kernel.physics.file, kernel.physics.text);
    }
    for (number, stage) in kernel.stages.iter().enumerate() {
        print_stage(kernel, number, stage, style, text)?;
    }
    print_entry(kernel, style, text);
    Ok(())
}

/// Where a block of patch `k` begins.
fn start(kernel: &Kernel, block: BlockId) -> String {
    match block {
        INPUT => "QIn[k]".into(),
        OUTPUT => "QOut[k]".into(),
        _ => {
            let before: usize = temporaries(kernel)
                .take_while(|&other| other != block)
                .map(|other| length(kernel, other))
                .sum();
            format!("scratch + (size_t){before} * K + (size_t){} * k", length(kernel, block))
        }
    }
}

/// Values that a stage computes itself: what it writes, or the arguments of its call.
fn computed(kernel: &Kernel, stage: &Stage) -> Result<Vec<Value>> {
    let Some(call) = &stage.call else { return Ok(stage.outputs()) };
    let taken = crate::c::taken(&kernel.physics, call.term)?;
    Ok(taken.into_iter().map(|place| call.arguments[place]).chain(stage.maximum).collect())
}

/// The struct of the physics' parameters.
fn print_parameters(kernel: &Kernel, indent: usize, text: &mut String) {
    let members: Vec<String> = kernel
        .physics
        .parameters
        .iter()
        .enumerate()
        .map(|(place, known)| {
            let frozen = kernel.frozen.iter().find(|(at, _)| usize::from(*at) == place);
            let value = match frozen {
                Some((_, value)) => literal(*value),
                None if known.integer => format!("{}", kernel.parameters[place].default),
                None => format!("parameter[{place}]"),
            };
            format!(".{} = {value}", known.name)
        })
        .collect();
    let space = " ".repeat(indent);
    let members = members.join(", ");
    let _ = writeln!(text, "{space}const parameters P = {{{members}}};\n{space}(void)P;");
}

fn print_stage(
    kernel: &Kernel,
    number: usize,
    stage: &Stage,
    style: Style,
    text: &mut String,
) -> Result<()> {
    let outputs = computed(kernel, stage)?;
    let team = if style.has_team() { ", int T" } else { "" };
    let _ = writeln!(
        text,
        "/* {} */\nstatic void {}_stage{number}({SIGNATURE}, double *scratch{team}) {{",
        stage.name.replace("*/", "* /"),
        kernel.name
    );
    let (low, high) = (stage.low, stage.high);
    let [x, y, z] = [("x", 0), ("y", 1), ("z", 2)].map(|(name, axis): (&str, usize)| {
        format!("for (int {name} = {}; {name} < {}; {name}++)", low[axis], high[axis])
    });
    if style.has_team() {
        // What a patch's voxels share is found again for every row, so that the three loops collapse.
        let _ = writeln!(
            text,
            "#pragma omp parallel for collapse(3) num_threads(T)\n  \
             for (int k = 0; k < K; k++)\n  {z}\n  {y} {{"
        );
        if stage.call.is_some() {
            // Here and not before, where it would be memory that threads share and no constants.
            print_parameters(kernel, 4, text);
        }
        print_patch(kernel, stage, &outputs, text);
        if stage.maximum.is_some() {
            let _ = writeln!(text, "    double largest = {};", literal(super::LEAST));
        }
        let _ = writeln!(text, "    {x} {{");
    } else {
        if stage.call.is_some() {
            print_parameters(kernel, 2, text);
        }
        text.push_str("  for (int k = 0; k < K; k++) {\n");
        print_patch(kernel, stage, &outputs, text);
        if stage.maximum.is_some() {
            text.push_str("    double largest = speed ? speed[k] : 0.0;\n");
        }
        let _ = writeln!(text, "    {z}\n    {y}\n    {x} {{");
    }
    print_voxel(kernel, &Scalars::new(&kernel.graph), stage, text)?;
    text.push_str("    }\n");
    if stage.maximum.is_none() {
        text.push_str("  }\n}\n\n");
    } else if style.has_team() {
        // A maximum per row, compared in the order of the rows, so that no bit depends on threads.
        let (rows, per_plane) = (rows(stage), high[1] - low[1]);
        let before = temporary(kernel);
        let _ = writeln!(
            text,
            "    (scratch + (size_t){before} * K + (size_t){rows} * k)\
             [(z - ({})) * {per_plane} + y - ({})] = largest;\n  }}\n  if (!speed)\n    return;\n\
             #pragma omp parallel for num_threads(T)\n  for (int k = 0; k < K; k++) {{\n    \
             const double *const row = scratch + (size_t){before} * K + (size_t){rows} * k;\n    \
             double largest = speed[k];\n    for (int r = 0; r < {rows}; r++)\n      \
             largest = row[r] > largest ? row[r] : largest;\n    speed[k] = largest;\n  }}\n}}\n",
            low[2], low[1]
        );
    } else {
        text.push_str("    if (speed)\n      speed[k] = largest;\n  }\n}\n\n");
    }
    Ok(())
}

/// Rows along x of a stage.
fn rows(stage: &Stage) -> usize {
    let extent = |axis: usize| usize::try_from(stage.high[axis] - stage.low[axis]).unwrap_or(0);
    extent(1) * extent(2)
}

/// What all voxels of patch `k` have alike.
fn print_patch(kernel: &Kernel, stage: &Stage, outputs: &[Value], text: &mut String) {
    let (graph, scalars) = (&kernel.graph, Scalars::new(&kernel.graph));
    for block in loaded(graph, outputs) {
        let _ = writeln!(text, "    const double *const b{} = {};", block.0, start(kernel, block));
    }
    for block in written(stage) {
        let _ = writeln!(text, "    double *const o{} = {};", block.0, start(kernel, block));
    }
    let order = depth_first(graph, outputs);
    let uniform: Vec<Value> =
        order.iter().copied().filter(|&value| scalars.is_uniform(value)).collect();
    let uniform = graph_order(graph, &uniform);
    text.push_str(&scalars.statements(&uniform, 4, &|leaf| uniform_leaf(kernel, leaf)));
    for axis in 0..usize::from(kernel.shape.dimensions) {
        let cells = literal(f64::from(kernel.shape.cells));
        let _ = writeln!(
            text,
            "    const double low{axis} = centre[k][{axis}] - 0.5 * size[k][{axis}];\n    \
             const double dx{axis} = size[k][{axis}] / {cells};\n    \
             (void)low{axis}, (void)dx{axis};"
        );
    }
}

fn print_voxel(kernel: &Kernel, scalars: &Scalars, stage: &Stage, text: &mut String) -> Result<()> {
    let graph = &kernel.graph;
    for block in written(stage) {
        let shape = &kernel.blocks[usize::from(block.0)];
        let origin = place(shape, 0, [Coordinate::Shift(0); 3]).constant;
        let _ = writeln!(
            text,
            "      double *const to{} = o{} + {} + {origin};",
            block.0,
            block.0,
            base(kernel, block, [true; 3])
        );
    }
    let mut known = vec![false; graph.nodes().len()];
    match &stage.call {
        None => {
            for group in groups(graph, &stage.writes) {
                let to = format!("to{}", group.block.0);
                print_group(kernel, scalars, &group, &to, &mut known, text);
            }
        }
        Some(call) => print_call(kernel, scalars, stage, call, &mut known, text)?,
    }
    if let Some(value) = stage.maximum {
        print_values(kernel, scalars, &[value], &mut known, text);
        let value = scalars.operand(value);
        let _ = writeln!(text, "      largest = {value} > largest ? {value} : largest;");
    }
    Ok(())
}

/// Gathers the arguments, calls the user's function, scatters its results.
fn print_call(
    kernel: &Kernel,
    scalars: &Scalars,
    stage: &Stage,
    call: &Call,
    known: &mut [bool],
    text: &mut String,
) -> Result<()> {
    let _ = writeln!(text, "      double a[{}], r[{}];", call.arguments.len(), stage.writes.len());
    let argument = |place: usize| {
        let unknown = u16::try_from(place).expect("a term has fewer than 2^16 arguments");
        Write { block: INPUT, unknown, value: call.arguments[place] }
    };
    let gathers: Vec<Write> =
        crate::c::taken(&kernel.physics, call.term)?.into_iter().map(argument).collect();
    for group in groups(&kernel.graph, &gathers) {
        print_group(kernel, scalars, &group, "a", known, text);
    }
    let arguments = crate::c::call(&kernel.physics, call.term, call.direction)?.join(", ");
    let result = if call.term == Term::Eigenvalue { "r[0] = " } else { "" };
    let _ = writeln!(text, "      {result}{}({arguments});", call.term.name());
    for (place, write) in stage.writes.iter().enumerate() {
        let _ = writeln!(text, "      to{}[{}] = r[{place}];", write.block.0, write.unknown);
    }
    Ok(())
}

/// Values that do not depend on the unknown, then the writes.
fn print_group(
    kernel: &Kernel,
    scalars: &Scalars,
    group: &Group,
    to: &str,
    known: &mut [bool],
    text: &mut String,
) {
    if group.count == 1 {
        print_values(kernel, scalars, &[group.value], known, text);
        let value = scalars.operand(group.value);
        let _ = writeln!(text, "      {to}[{}] = {value};", group.first);
        return;
    }
    print_values(kernel, scalars, &group.fixed, known, text);
    let _ = writeln!(text, "      for (int u = 0; u < {}; u++) {{", group.count);
    let varying: Vec<Value> = depth_first(&kernel.graph, &[group.value])
        .into_iter()
        .filter(|value| group.moving.contains(value))
        .collect();
    let leaves = |leaf: Leaf| format!("{}[u]", voxel_load(kernel, leaf));
    text.push_str(&scalars.statements(&varying, 8, &leaves));
    let value = scalars.operand(group.value);
    let _ = writeln!(text, "        {to}[{} + u] = {value};\n      }}", group.first);
}

/// Statements for what `values` need and is not known yet in this voxel.
fn print_values(
    kernel: &Kernel,
    scalars: &Scalars,
    values: &[Value],
    known: &mut [bool],
    text: &mut String,
) {
    let mut order = depth_first(&kernel.graph, values);
    order.retain(|&value| !known[value.index()] && !scalars.is_uniform(value));
    for value in &order {
        known[value.index()] = true;
    }
    let leaves = |leaf: Leaf| match leaf {
        Leaf::Load { .. } => format!("*{}", voxel_load(kernel, leaf)),
        Leaf::Coefficient { matrix, axis, column } => {
            let columns = kernel.matrices[usize::from(matrix)].columns;
            let index = ["x", "y", "z"][usize::from(axis)];
            format!("matrix{matrix}[{index} * {columns} + {column}]")
        }
        Leaf::Position { axis, halves } => {
            position(axis, halves, ["x", "y", "z"][usize::from(axis)])
        }
        other => uniform_leaf(kernel, other),
    };
    text.push_str(&scalars.statements(&order, 6, &leaves));
}

/// Pointer to what a load of the voxel (x, y, z) reads.
fn voxel_load(kernel: &Kernel, leaf: Leaf) -> String {
    let Leaf::Load { block, unknown, at } = leaf else {
        unreachable!("only loads move with the unknown")
    };
    let place = place(&kernel.blocks[usize::from(block.0)], unknown, at);
    format!("(b{} + {} + {})", block.0, base(kernel, block, place.along), place.constant)
}

/// Doubles of a patch's temporaries.
fn temporary(kernel: &Kernel) -> usize {
    temporaries(kernel).map(|block| length(kernel, block)).sum()
}

fn print_entry(kernel: &Kernel, style: Style, text: &mut String) {
    let name = &kernel.name;
    let (flat, team) = (style == Style::PlainFlat, style.has_team());
    let temporary = temporary(kernel);
    let (inputs, outputs) = (kernel.shape.input_len(), kernel.shape.output_len());
    let packed = if flat { inputs + outputs } else { 0 };
    // Two doubles per patch hold the pointers into the packed arrays.
    let pointers = if flat { 2 } else { 0 };
    let reduced = kernel.stages.iter().filter(|stage| stage.maximum.is_some());
    let maxima = if team { reduced.map(rows).max().unwrap_or(0) } else { 0 };
    let all = temporary + packed + pointers + maxima;
    let (entry, argument, threads) =
        if team { ("team", ", int T", ", T") } else { ("run", "", "") };
    let _ = writeln!(
        text,
        "long {name}_scratch(int K) {{\n  return {all}l * K;\n}}\n\n\
         void {name}_prepare(double *scratch) {{\n  (void)scratch;\n}}\n\n\
         void {name}_{entry}({SIGNATURE}, double *scratch{argument}) {{"
    );
    let (mut source, mut target) = ("QIn", "QOut");
    if flat {
        let _ = writeln!(
            text,
            "  const double **const in = (const double **)(scratch + (size_t){} * K);\n  \
             double **const out = (double **)(in + K);\n  \
             double *const packed = scratch + (size_t){temporary} * K;\n  \
             double *const unpacked = packed + (size_t){inputs} * K;\n  \
             for (int k = 0; k < K; k++) {{\n    \
             memcpy(packed + (size_t){inputs} * k, QIn[k], {inputs} * sizeof(double));\n    \
             in[k] = packed + (size_t){inputs} * k;\n    \
             out[k] = unpacked + (size_t){outputs} * k;\n  }}",
            temporary + packed
        );
        (source, target) = ("in", "out");
    }
    if kernel.stages.iter().any(|stage| stage.maximum.is_some()) {
        let _ = writeln!(
            text,
            "  for (int k = 0; speed && k < K; k++)\n    speed[k] = {};",
            literal(super::LEAST)
        );
    }
    for number in 0..kernel.stages.len() {
        let _ = writeln!(
            text,
            "  {name}_stage{number}({source}, {target}, centre, size, t, dt, parameter, speed, K, \
             scratch{threads});"
        );
    }
    if flat {
        let _ = writeln!(
            text,
            "  for (int k = 0; k < K; k++)\n    \
             memcpy(QOut[k], unpacked + (size_t){outputs} * k, {outputs} * sizeof(double));"
        );
    }
    text.push_str("}\n");
    if team {
        let _ = writeln!(
            text,
            "\nvoid {name}_run({SIGNATURE}, double *scratch) {{\n  \
             {name}_team(QIn, QOut, centre, size, t, dt, parameter, speed, K, scratch, \
             omp_get_max_threads());\n}}"
        );
    }
}
