//! Kernels as C99, for the host's compiler.
//!
//! Two ways to print one. *Fused* walks over patches outermost and over voxels in tiles of a few
//! lanes; a tile's work is straight-line code in loops over lanes, which compilers turn into vector
//! instructions whatever the patch size. *Plain* is what one writes by hand and what the fused form is
//! measured against: a loop nest over all patches and voxels per statement, temporaries for all
//! patches, terms called as the user wrote them.
//!
//! Both define, for a kernel of name `NAME`,
//! ```c
//! long NAME_scratch(int K);             /* doubles of scratch for K patches */
//! void NAME_prepare(double *scratch);   /* once per scratch */
//! void NAME_run(QIn, QOut, centre, size, t, dt, parameter, speed, K, double *scratch);
//! int NAME(QIn, QOut, centre, size, t, dt, parameter, speed, K);   /* with scratch of its own */
//! ```
//! with the arguments of [`SIGNATURE`]; `speed` may be null, and `NAME` returns 0, or 1 where memory is
//! short. Two styles are for compilers with OpenMP and have a function more,
//! ```c
//! void NAME_team(QIn, QOut, centre, size, t, dt, parameter, speed, K, double *scratch, int T);
//! ```
//! which works with T threads: [`Style::OpenMp`] with an even share of the patches and scratch of its own
//! for each, [`Style::PlainOpenMp`] loop by loop.

mod alike;
mod families;
mod flat;
mod frame;
mod fused;
mod plain;
mod planar;
mod rows;
mod segments;
mod team;
mod turn;
mod turned;

use std::fmt::Write as _;

use crate::emit::strides;
use crate::error::Result;
use crate::graph::{BlockId, Graph, Leaf, Node, Value};
use crate::kernel::{INPUT, Kernel, OUTPUT};

/// Arguments of a kernel in C.
pub const SIGNATURE: &str = "const double *const *QIn, double *const *QOut, \
    const double (*centre)[3], const double (*size)[3], const double *t, const double *dt, \
    const double *parameter, double *speed, int K";

/// What the maximum over no voxel is, and so the least that a patch's largest eigenvalue can be.
const LEAST: f64 = f64::NEG_INFINITY;

/// How a kernel is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// Patch by patch, in tiles of voxels.
    Fused,
    /// Statement by statement over all patches.
    Plain,
    /// As [`Style::Plain`], with all inputs packed into one array first and all outputs unpacked last.
    PlainFlat,
    /// As [`Style::Fused`], with patches spread by OpenMP where the compiler is told to.
    OpenMp,
    /// As [`Style::Plain`], every loop nest spread by OpenMP over patches and rows of voxels.
    PlainOpenMp,
}

impl Style {
    /// Whether tiles of voxels are walked over patch by patch.
    #[must_use]
    pub const fn is_fused(self) -> bool {
        matches!(self, Self::Fused | Self::OpenMp)
    }

    /// Whether the text has `NAME_team`.
    #[must_use]
    pub const fn has_team(self) -> bool {
        matches!(self, Self::OpenMp | Self::PlainOpenMp)
    }
}

/// What may be tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// How.
    pub style: Style,
    /// Voxels of a tile whose lanes gather: lanes of the widest vector (8 doubles in 512 bits) or a multiple.
    pub lanes: u16,
    /// Most values in one loop.
    pub longest: usize,
}

impl Options {
    /// A style with lanes and lengths that suit most kernels.
    // 8 lanes: Euler 20 to 30 % slower (gathers wait for each other), CCZ4 the same; 32: as 16.
    // Longest 200: CCZ4 by fd4 5 % slower, compiled in 1.5 times the time; 400: in 18 times.
    #[must_use]
    pub const fn new(style: Style) -> Self {
        Self { style, lanes: 16, longest: 100 }
    }
}

/// Flags that keep IEEE results while letting gcc and clang vectorise; `contract` allows `a * b + c`
/// in one rounding.
#[must_use]
pub fn flags(style: Style, contract: bool) -> Vec<&'static str> {
    // errno and traps alone: values stay those of IEEE 754, which -ffast-math would give up.
    let contract = if contract { "-ffp-contract=fast" } else { "-ffp-contract=off" };
    let mut flags = vec![
        "-std=gnu99",
        "-O3",
        if style.has_team() { "-fopenmp" } else { "-fopenmp-simd" },
        "-fno-math-errno",
        "-fno-trapping-math",
        // Terms of the physics may be inlined although others could call them.
        "-fno-semantic-interposition",
        contract,
    ];
    if style.is_fused() {
        // The loops over lanes are the vectors; looking for more in straight-line code took gcc 12
        // five times as long for code that was no faster.
        flags.extend(["-fno-tree-slp-vectorize", "-fno-inline-functions-called-once"]);
    }
    flags
}

/// Prints a kernel.
///
/// # Errors
/// [`crate::Error::Mismatch`] where the kernel cannot be printed in that style.
pub fn emit(kernel: &Kernel, options: &Options) -> Result<String> {
    let mut text = head(kernel);
    match options.style {
        Style::Fused | Style::OpenMp => {
            let stored = rows::stored(kernel);
            let (kernel, forms) =
                stored.as_ref().map_or((kernel, &[][..]), |(made, forms)| (made, forms));
            fused::emit(kernel, forms, options, &mut text);
        }
        Style::Plain | Style::PlainFlat | Style::PlainOpenMp => {
            plain::emit(kernel, options.style, &mut text)?;
        }
    }
    if options.style == Style::OpenMp {
        team::emit(kernel, &mut text);
    } else {
        tail(kernel, &mut text);
    }
    Ok(text)
}

fn head(kernel: &Kernel) -> String {
    let mut text = String::from(
        "#include <math.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <string.h>\n\n",
    );
    for (place, matrix) in kernel.matrices.iter().enumerate() {
        let entries: Vec<String> =
            matrix.entries.iter().map(|&entry| super::literal(entry)).collect();
        let _ = writeln!(
            text,
            "/* matrix {} */\nstatic const double matrix{place}[] = {{{}}};\n",
            matrix.name,
            entries.join(", ")
        );
    }
    text
}

fn tail(kernel: &Kernel, text: &mut String) {
    let name = &kernel.name;
    let _ = write!(
        text,
        "
int {name}({SIGNATURE}) {{
  double *const scratch = (double *)malloc(sizeof(double) * (size_t)({name}_scratch(K) + 1));
  if (!scratch)
    return 1;
  {name}_prepare(scratch);
  {name}_run(QIn, QOut, centre, size, t, dt, parameter, speed, K, scratch);
  free(scratch);
  return 0;
}}
"
    );
}

/// Expression of a leaf that does not vary within a patch; `k` is the patch.
fn uniform_leaf(kernel: &Kernel, leaf: Leaf) -> String {
    match leaf {
        Leaf::Parameter(place) => format!("parameter[{place}]"),
        Leaf::Spacing(axis) => {
            let cells = f64::from(kernel.shape.cells_along(usize::from(axis)));
            format!("size[k][{axis}] / {}", super::literal(cells))
        }
        Leaf::Time => "t[k]".into(),
        Leaf::TimeStep => "dt[k]".into(),
        _ => unreachable!("the leaf varies within a patch"),
    }
}

/// Blocks that hold temporaries.
fn temporaries(kernel: &Kernel) -> impl Iterator<Item = BlockId> + '_ {
    (0u16..)
        .take(kernel.blocks.len())
        .map(BlockId)
        .filter(|&block| block != INPUT && block != OUTPUT)
}

/// Values of a block.
fn length(kernel: &Kernel, block: BlockId) -> usize {
    let block = &kernel.blocks[usize::from(block.0)];
    block.voxels() * usize::from(block.width)
}

/// Blocks that values load from.
fn loaded(graph: &Graph, outputs: &[Value]) -> Vec<BlockId> {
    let needed = graph.reachable(outputs);
    let mut blocks: Vec<BlockId> = graph
        .values()
        .filter(|(value, _)| needed[value.index()])
        .filter_map(|(_, node)| match node {
            Node::Leaf(Leaf::Load { block, .. }) => Some(block),
            _ => None,
        })
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// `a * i + b * j` of the voxel (x, y, z) in a block, for the axes of `along`, without the constant.
fn base(kernel: &Kernel, block: BlockId, along: [bool; 3]) -> String {
    let strides = strides(&kernel.blocks[usize::from(block.0)]);
    let terms: Vec<String> = ["x", "y", "z"]
        .iter()
        .enumerate()
        .filter(|&(axis, _)| along[axis] && axis < usize::from(kernel.shape.dimensions))
        .map(|(axis, name)| format!("{} * {name}", strides[axis]))
        .collect();
    if terms.is_empty() { "0".into() } else { terms.join(" + ") }
}

/// `coordinate of the voxel with index INDEX` along an axis, from `low[]` (the patch's lower corner)
/// and `dx[]`: `low + (2 index + 1 + halves) / 2 * dx`.
fn position(axis: u8, halves: i8, index: &str) -> String {
    let offset = 1 + i32::from(halves);
    format!("low{axis} + 0.5 * (double)(2 * {index} + {offset}) * dx{axis}")
}
