//! Voxels' unknowns, side by side in memory, turned to vectors of voxels and back.
//!
//! Where vectors of 512 bits are at hand a turn is shuffles within registers; elsewhere it is loops.
//! Taken apart are any eight voxels, four unknowns at a time: a load per voxel and twelve shuffles, where
//! gathers load every value by itself. Put together are eight voxels of a row: for an odd number of
//! unknowns `w` the values of a vector, `w` apart, go to different lanes (w l mod 8 takes all values), so
//! that one permutation per unknown and blends, which run on two ports, do it.
// Taking voxels apart by masked loads and blends, 34 for five unknowns: as slow as gathers.

use std::fmt::Write as _;

use super::flat::VECTOR;
use super::frame::{Frame, StageFrame, written};
use super::rows::Form;
use crate::kernel::INPUT;

/// Aligns an array to whole vectors; defined by [`print`].
pub(super) const LINE: &str = "TEMBLOR_LINE";

/// Most unknowns that are shuffled: beyond, shuffles cost as much as loads of single values.
pub(super) const MOST: usize = 9;

/// Unknowns of a voxel that one load takes.
const QUAD: usize = 4;

/// A lane of one of several vectors.
type Lane = (usize, usize);

/// The functions that turn voxels to vectors and back, printed before a kernel's stages.
pub(super) fn print(frame: &Frame, text: &mut String) {
    let name = &frame.kernel.name;
    let heights = heights(frame);
    let sums = has_sums(frame);
    if !sums && frame.stages.iter().all(|stage| stage.turned.is_none()) {
        return;
    }
    text.push_str(
        "#if defined(__GNUC__)
#define TEMBLOR_LINE __attribute__((aligned(64)))
#define TEMBLOR_INLINE static inline __attribute__((always_inline))
#else
#define TEMBLOR_LINE
#define TEMBLOR_INLINE static inline
#endif
#if defined(__AVX512F__) && (defined(__clang__) || __GNUC__ >= 12)
typedef double temblor_lanes __attribute__((vector_size(64)));
typedef double temblor_loose __attribute__((vector_size(64), aligned(8), may_alias));
typedef double temblor_half __attribute__((vector_size(32), aligned(8), may_alias));
#define TEMBLOR_SHUFFLE __builtin_shufflevector
#elif defined(__AVX__) && (defined(__clang__) || __GNUC__ >= 12)
typedef double temblor_half __attribute__((vector_size(32), aligned(8), may_alias));
#define TEMBLOR_HALVES __builtin_shufflevector
#endif

",
    );
    print_takes(name, text);
    if sums {
        let width = usize::from(frame.kernel.blocks[usize::from(INPUT.0)].width);
        print_voxel(name, width, text);
    }
    heights.into_iter().for_each(|height| print_put(name, height, text));
}

/// Whether a stage sums values by unknown and leaves them by voxel.
pub(super) fn has_sums(frame: &Frame) -> bool {
    frame.stages.iter().any(|stage| stage.form == Form::Sums)
}

/// Unknowns of the blocks that vectors are turned back to.
fn heights(frame: &Frame) -> Vec<usize> {
    let puts = |stage: &&StageFrame| {
        stage.form == Form::Sums || stage.turned.as_ref().is_some_and(|turned| turned.rows)
    };
    let width = |stage: &StageFrame| {
        let to = written(stage.stage)[0];
        usize::from(frame.kernel.blocks[usize::from(to.0)].width)
    };
    let mut heights: Vec<usize> = frame.stages.iter().filter(puts).map(width).collect();
    heights.sort_unstable();
    heights.dedup();
    heights
}

/// Loads that bring a voxel's unknowns to vectors: first unknown and how many, of those `used`.
///
/// Four at a time where that is two or more: four cost about as much as one and a half by themselves.
pub(super) fn takes(width: usize, used: &[bool]) -> Vec<(usize, usize)> {
    let mut takes = Vec::new();
    let mut next = 0;
    while let Some(first) = (next..width).find(|&unknown| used[unknown]) {
        let start = first.min(width.saturating_sub(QUAD));
        let count = (start..width.min(start + QUAD)).filter(|&u| u >= first && used[u]).count();
        if width >= QUAD && count > 1 {
            takes.push((start, QUAD));
            next = start + QUAD;
        } else {
            takes.push((first, 1));
            next = first + 1;
        }
    }
    takes
}

/// `NAME_four` and `NAME_one`: unknowns of any eight voxels.
// The one by a gather: Euler by rusanov 7 % slower (Zen 4).
fn print_takes(name: &str, text: &mut String) {
    let arguments = "const double *const b, const ptrdiff_t *const at, double";
    let _ = writeln!(
        text,
        "/* {QUAD} unknowns of any {VECTOR} voxels */\nTEMBLOR_INLINE void {name}_four({arguments} \
         (*restrict const x)[{VECTOR}]) {{\n#ifdef TEMBLOR_SHUFFLE"
    );
    take(text);
    text.push_str("#elif defined(TEMBLOR_HALVES)\n");
    take_halves(text);
    let lanes: Vec<String> = (0..VECTOR).map(|lane| format!("b[at[{lane}]]")).collect();
    let _ = writeln!(
        text,
        "#else\n  for (int u = 0; u < {QUAD}; u++)\n#pragma omp simd\n    \
         for (int l = 0; l < {VECTOR}; l++)\n      x[u][l] = b[at[l] + u];\n#endif\n}}\n\n\
         /* one */\nTEMBLOR_INLINE void {name}_one({arguments} *restrict const x) {{\n\
         #ifdef TEMBLOR_SHUFFLE\n  *(temblor_loose *)x = (temblor_lanes){{{}}};\n#else\n\
         #pragma omp simd\n  for (int l = 0; l < {VECTOR}; l++)\n    x[l] = b[at[l]];\n\
         #endif\n}}\n",
        lanes.join(", ")
    );
}

/// A call of what [`print_takes`] prints: `count` unknowns of the voxels whose first values lie at
/// `from`, into the vectors from `to` on.
pub(super) fn call(name: &str, from: &str, at: &str, count: usize, to: &str) -> String {
    if count == 1 {
        format!("{name}_one({from}, {at}, {to});")
    } else {
        format!("{name}_four({from}, {at}, &{to});")
    }
}

/// `NAME_take`: all unknowns of any eight voxels.
fn print_voxel(name: &str, width: usize, text: &mut String) {
    let _ = writeln!(
        text,
        "/* any {VECTOR} voxels, by unknown */\nTEMBLOR_INLINE void {name}_take(const double *const b, \
         const ptrdiff_t *const at, double (*restrict const x)[{VECTOR}]) {{"
    );
    for (first, count) in takes(width, &vec![true; width]) {
        let (from, to) = (format!("b + {first}"), format!("x[{first}]"));
        let _ = writeln!(text, "  {}", call(name, &from, "at", count, &to));
    }
    text.push_str("}\n\n");
}

/// `NAME_putN`: vectors by unknown to a row of voxels of N unknowns.
fn print_put(name: &str, height: usize, text: &mut String) {
    let _ = writeln!(
        text,
        "/* {VECTOR} voxels, side by side */\nTEMBLOR_INLINE void {name}_put{height}(double \
         (*const r)[{VECTOR}], double *restrict const o) {{"
    );
    if height <= MOST {
        text.push_str("#ifdef TEMBLOR_SHUFFLE\n");
        text.push_str(&put(height));
        text.push_str("#else\n");
    }
    let _ = writeln!(
        text,
        "  for (int l = 0; l < {VECTOR}; l++)\n    for (int u = 0; u < {height}; u++)\n      \
         o[{height} * l + u] = r[u][l];"
    );
    if height <= MOST {
        text.push_str("#endif\n");
    }
    text.push_str("}\n\n");
}

/// Four unknowns of eight voxels.
///
/// Halves of the vectors are voxels that shuffles within and then of pairs of values bring into order.
fn take(text: &mut String) {
    for (pair, [a, b]) in [[0, 2], [1, 3], [4, 6], [5, 7]].into_iter().enumerate() {
        let half = |voxel: usize| format!("*(const temblor_half *)(b + at[{voxel}])");
        let _ = writeln!(
            text,
            "  const temblor_lanes z{pair} = TEMBLOR_SHUFFLE({}, {}, 0, 1, 2, 3, 4, 5, 6, 7);",
            half(a),
            half(b)
        );
    }
    for (side, lanes) in
        ["0, 8, 2, 10, 4, 12, 6, 14", "1, 9, 3, 11, 5, 13, 7, 15"].iter().enumerate()
    {
        for half in 0..2 {
            let (a, b) = (2 * half, 2 * half + 1);
            let _ = writeln!(
                text,
                "  const temblor_lanes t{side}{half} = TEMBLOR_SHUFFLE(z{a}, z{b}, {lanes});"
            );
        }
    }
    for u in 0..QUAD {
        let (side, lanes) =
            (u % 2, ["0, 1, 4, 5, 8, 9, 12, 13", "2, 3, 6, 7, 10, 11, 14, 15"][u / 2]);
        let _ = writeln!(
            text,
            "  *(temblor_loose *)x[{u}] = TEMBLOR_SHUFFLE(t{side}0, t{side}1, {lanes});"
        );
    }
}

/// The same where vectors are half as long.
// By gathers: Euler by rusanov 7 to 13 % slower (Zen 4, AVX2 alone).
fn take_halves(text: &mut String) {
    let _ = writeln!(text, "  for (int l = 0; l < {VECTOR}; l += {QUAD}) {{");
    for voxel in 0..QUAD {
        let _ = writeln!(
            text,
            "    const temblor_half a{voxel} = *(const temblor_half *)(b + at[l + {voxel}]);"
        );
    }
    for pair in [0, 2] {
        for (side, lanes) in ["0, 4, 2, 6", "1, 5, 3, 7"].iter().enumerate() {
            let _ = writeln!(
                text,
                "    const temblor_half t{pair}{side} = TEMBLOR_HALVES(a{pair}, a{}, {lanes});",
                pair + 1
            );
        }
    }
    for u in 0..QUAD {
        let (side, lanes) = (u % 2, ["0, 1, 4, 5", "2, 3, 6, 7"][u / 2]);
        let _ = writeln!(
            text,
            "    *(temblor_half *)(x[{u}] + l) = TEMBLOR_HALVES(t0{side}, t2{side}, {lanes});"
        );
    }
    text.push_str("  }\n");
}

fn put(height: usize) -> String {
    let mut text = String::new();
    let odd = height % 2 == 1;
    let mut names = Vec::new();
    for u in 0..height {
        let mut name = format!("r{u}");
        let _ = writeln!(text, "  const temblor_lanes {name} = *(const temblor_loose *)r[{u}];");
        if odd {
            let mut turned: [Lane; VECTOR] = [(0, 0); VECTOR];
            for l in 0..VECTOR {
                turned[(u + height * l) % VECTOR] = (0, l);
            }
            let from = name.clone();
            name = assemble(&format!("t{u}"), &|_| from.clone(), &turned, &mut text);
        }
        names.push(name);
    }
    for j in 0..height {
        let wanted: [Lane; VECTOR] = std::array::from_fn(|m| {
            let element = VECTOR * j + m;
            (element % height, if odd { m } else { element / height })
        });
        let made = assemble(&format!("o{j}"), &|source| names[source].clone(), &wanted, &mut text);
        let _ = writeln!(text, "  *(temblor_loose *)(o + {}) = {made};", VECTOR * j);
    }
    text
}

/// Shuffles of two vectors at a time that bring lanes together; the name of the result.
fn assemble(
    name: &str,
    source: &dyn Fn(usize) -> String,
    wanted: &[Lane; VECTOR],
    text: &mut String,
) -> String {
    let mut sources: Vec<usize> = Vec::new();
    for (one, _) in wanted {
        if !sources.contains(one) {
            sources.push(*one);
        }
    }
    let identity = wanted.iter().enumerate().all(|(lane, from)| from.1 == lane);
    if sources.len() == 1 && identity {
        return source(sources[0]);
    }
    let mut made = source(sources[0]);
    // The first shuffle takes two sources, every other one more.
    let rest: Vec<usize> = if sources.len() == 1 { sources.clone() } else { sources[1..].to_vec() };
    for (step, other) in rest.into_iter().enumerate() {
        let lanes: Vec<String> = wanted
            .iter()
            .enumerate()
            .map(|(lane, &(from, at))| {
                let at = match (from == other, step, from == sources[0]) {
                    (true, ..) if sources.len() > 1 => VECTOR + at,
                    (_, 0, true) => at,
                    _ => lane,
                };
                at.to_string()
            })
            .collect();
        let next = format!("{name}_{step}");
        let _ = writeln!(
            text,
            "  const temblor_lanes {next} = TEMBLOR_SHUFFLE({made}, {}, {});",
            source(other),
            lanes.join(", ")
        );
        made = next;
    }
    made
}
