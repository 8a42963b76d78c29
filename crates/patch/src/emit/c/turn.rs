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
use super::frame::Frame;
use super::rows::Form;

/// Aligns an array to whole vectors; defined by [`print`].
pub(super) const LINE: &str = "TEMBLOR_LINE";

/// Most unknowns that are shuffled: beyond, shuffles cost as much as loads of single values.
const MOST: usize = 9;

/// Unknowns of a voxel that one load takes.
const QUAD: usize = 4;

/// A lane of one of several vectors.
type Lane = (usize, usize);

/// Whether [`print`] has gone before the stages of a kernel.
pub(super) fn is_printed(frame: &Frame) -> bool {
    frame.stages.iter().any(|stage| stage.form == Form::Sums)
}

/// The functions `NAME_take` (any voxels of `width` unknowns to vectors by unknown) and
/// `NAME_put` (vectors by unknown, `height` of them, to a row of voxels).
pub(super) fn print(name: &str, width: usize, height: usize, text: &mut String) {
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
#endif

",
    );
    let _ = writeln!(
        text,
        "/* any {VECTOR} voxels, by unknown */\nTEMBLOR_INLINE void {name}_take(const double *const b, \
         const ptrdiff_t *const at, double (*restrict const x)[{VECTOR}]) {{"
    );
    // Four unknowns at a time where there are as many, a last one alone: a gather costs about as much.
    let mut quads: Vec<usize> = (0..width / QUAD).map(|quad| quad * QUAD).collect();
    if width > QUAD && width % QUAD > 1 {
        quads.push(width - QUAD);
    }
    let rest = quads.last().map_or(0, |first| first + QUAD);
    let single = |from: usize| {
        format!(
            "  for (int u = {from}; u < {width}; u++)\n#pragma omp simd\n    \
             for (int l = 0; l < {VECTOR}; l++)\n      x[u][l] = b[at[l] + u];\n"
        )
    };
    if !quads.is_empty() {
        text.push_str("#ifdef TEMBLOR_SHUFFLE\n");
        for first in quads {
            take(first, text);
        }
        if rest < width {
            text.push_str(&single(rest));
        }
        text.push_str("#else\n");
    }
    text.push_str(&single(0));
    if width >= QUAD {
        text.push_str("#endif\n");
    }
    let _ = writeln!(
        text,
        "}}\n\n/* {VECTOR} voxels, side by side */\nTEMBLOR_INLINE void {name}_put(double \
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
fn take(first: usize, text: &mut String) {
    text.push_str("  {\n");
    for (pair, [a, b]) in [[0, 2], [1, 3], [4, 6], [5, 7]].into_iter().enumerate() {
        let half = |voxel: usize| format!("*(const temblor_half *)(b + at[{voxel}] + {first})");
        let _ = writeln!(
            text,
            "    const temblor_lanes z{pair} = TEMBLOR_SHUFFLE({}, {}, 0, 1, 2, 3, 4, 5, 6, 7);",
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
                "    const temblor_lanes t{side}{half} = TEMBLOR_SHUFFLE(z{a}, z{b}, {lanes});"
            );
        }
    }
    for u in 0..QUAD {
        let (side, lanes) =
            (u % 2, ["0, 1, 4, 5, 8, 9, 12, 13", "2, 3, 6, 7, 10, 11, 14, 15"][u / 2]);
        let _ = writeln!(
            text,
            "    *(temblor_loose *)x[{}] = TEMBLOR_SHUFFLE(t{side}0, t{side}1, {lanes});",
            first + u
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
