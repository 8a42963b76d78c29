//! Kernels beside the patch kernel: halos, Runge-Kutta sums, time, faults; generated, since their sizes
//! are known.

use std::fmt::Write as _;

use temblor_patch::Shape;
use temblor_patch::emit::gpu::Layouts;

/// Threads of a block in all of them.
pub(crate) const THREADS: u32 = 256;

/// Most rates of a sum.
pub(crate) const TERMS: usize = 8;

/// Blocks of the kernels that gather and scatter chunks, and of that which moves them on the card: few, so that patch kernels run beside them, and
/// with 4 KiB under way in each warp at least what the latency of the bus asks for (55 GB/s for 1.5 us
/// are 80 KB); on the card many, since there is no bus to wait for.
// Results, of the pinned copies with a plain copy of the inputs at once, by 2, 4, 8, 16, 32 and 128 blocks:
// Euler p = 16 74, 76, 73, 68, 65, 63 %, p = 6 86, 83, 82, 80, 78, 74 %; p = 3 alone 29 GB/s by 2, 46 by 4.
// As fast or slower: stores of other caching, 1 KiB under way, bulk copies through shared memory (28 to 50
// GB/s alone). Inputs alone: 49 GB/s by 8 blocks as by 64, bulk copies 26 to 49.
pub(crate) const MOVERS: [u32; 3] = [8, 4, 64];

/// Names of the kernels that move chunks.
pub(crate) const MOVES: [&str; 2] = ["gather_chunks", "scatter_chunks"];

/// Kernels that move chunks between places anywhere in the host's memory and on the card.
pub(crate) const CHUNKS: &str = include_str!("../../../../csrc/cuda/patch_chunks.cuh");

/// Names of the kernels.
pub(crate) const NAMES: [&str; 6] =
    ["exchange", "combine", "set_time", "find_fault", "lay", "lift"];

/// Values that `exchange` moves per patch.
pub(crate) fn halo_values(shape: &Shape) -> usize {
    let faces = 2 * usize::from(shape.dimensions);
    let across = usize::from(shape.cells).pow(u32::from(shape.dimensions) - 1);
    faces * shape.width() * usize::from(shape.halo) * across
}

/// Values of an interior.
pub(crate) fn interior_values(shape: &Shape) -> usize {
    shape.voxels() * shape.width()
}

/// Patch `k` and the value of it, `rest`, that a thread takes, of `each` values of every patch.
fn share(each: usize, lanes: u32) -> String {
    if lanes == 1 {
        return format!("const int k = (int)(item / {each}), rest = (int)(item % {each});");
    }
    let row = each * lanes as usize;
    format!(
        "const int k = (int)(item / {row}) * {lanes} + (int)(item % {lanes}), rest = (int)(item % {row}) / {lanes};"
    )
}

/// The text, for patches that stay on the device. Needs what the patch kernel's text declares.
pub(crate) fn source(shape: &Shape, layouts: &Layouts) -> String {
    let (p, h, w, n) = (shape.cells, shape.halo, shape.width(), shape.unknowns);
    let d = shape.dimensions;
    let state = &layouts.input;
    let [sx, sy, sz] = state.voxel;
    let rate = &layouts.output;
    let [rx, ry, rz] = rate.voxel;
    let depth = if d == 3 { p } else { 1 };
    let across = if d == 3 { u32::from(p) * u32::from(p) } else { u32::from(p) };
    let items = halo_values(shape);
    let values = interior_values(shape);
    let mut text = String::new();
    write!(
        text,
        r#"
struct terms {{ double factor[{TERMS}]; const double* const* rate[{TERMS}]; int count; }};

// Face halos from the neighbours' interiors: a thread per value.
extern "C" __global__ void __launch_bounds__({THREADS}) exchange(
    double* const* state, const int* neighbours, const long long all) {{
  const long long item = (long long)blockIdx.x * {THREADS} + threadIdx.x;
  if (item >= all) return;
  {exchanged}
  const int face = rest / {per_face}, in_face = rest % {per_face};
  const int u = in_face / {layers}, in_layers = in_face % {layers};
  const int layer = in_layers / {across}, place = in_layers % {across};
  const int axis = face / 2, high = face % 2;
  const int a = place % {p}, b = place / {p};
  const long long along = axis == 0 ? {sx} : axis == 1 ? {sy} : {sz};
  const long long first = axis == 0 ? {sy} : {sx}, second = axis == 2 ? {sy} : {sz};
  const int beyond = neighbours[6 * k + face];
  if (beyond == -2) return;
  const long long line = {base} + (long long)u * {unknown} + a * first + b * second;
  const int to = high ? {p} + layer : -1 - layer;
  const int from = beyond < 0 ? (high ? {p} - 1 : 0) : high ? layer : {p} - 1 - layer;
  const double* const there = state[beyond < 0 ? k : beyond];
  state[k][line + to * along] = there[line + from * along];
}}

// into = base + sum of factor * rate; fixed unknowns are copied.
extern "C" __global__ void __launch_bounds__({THREADS}) combine(
    double* const* into, const double* const* base, const struct terms terms, const long long all) {{
  const long long item = (long long)blockIdx.x * {THREADS} + threadIdx.x;
  if (item >= all) return;
  {shared}
  const int u = rest / {voxels}, voxel = rest % {voxels};
  const int x = voxel % {p}, y = voxel / {p} % {p}, z = voxel / {p} / {p};
  const long long place = {base} + x * {sx} + y * {sy} + z * {sz} + (long long)u * {unknown};
  double value = base[k][place];
  if (u < {n}) {{
    const long long there = {rbase} + x * {rx} + y * {ry} + z * {rz} + (long long)u * {runknown};
    for (int t = 0; t < terms.count; t++) value = value + terms.factor[t] * terms.rate[t][k][there];
  }}
  into[k][place] = value;
}}

extern "C" __global__ void __launch_bounds__({THREADS}) set_time(
    struct cell* cells, const double time, const double time_step, const int all) {{
  const int k = blockIdx.x * {THREADS} + threadIdx.x;
  if (k >= all) return;
  cells[k].time = time;
  cells[k].time_step = time_step;
}}

// Lowest place (patch, voxel, unknown) of a value that is not finite.
extern "C" __global__ void __launch_bounds__({THREADS}) find_fault(
    const double* const* state, key_t64* found, const long long all) {{
  const long long item = (long long)blockIdx.x * {THREADS} + threadIdx.x;
  if (item >= all) return;
  {shared}
  const int u = rest / {voxels}, voxel = rest % {voxels};
  const int x = voxel % {p}, y = voxel / {p} % {p}, z = voxel / {p} / {p};
  const double value = state[k][{base} + x * {sx} + y * {sy} + z * {sz} + (long long)u * {unknown}];
  if (!(value - value == 0.0)) {{
    atomicMin(found, ((key_t64)k * {voxels} + voxel) * {w} + u);
  }}
}}

// A patch of one piece to its place among those that lie side by side, and back.
extern "C" __global__ void __launch_bounds__({THREADS}) lay(
    double* to, const double* from, const long long all) {{
  const long long item = (long long)blockIdx.x * {THREADS} + threadIdx.x;
  if (item < all) to[item * {lanes}] = from[item];
}}

extern "C" __global__ void __launch_bounds__({THREADS}) lift(
    double* to, const double* from, const long long all) {{
  const long long item = (long long)blockIdx.x * {THREADS} + threadIdx.x;
  if (item < all) to[item] = from[item * {lanes}];
}}
"#,
        exchanged = share(items, state.lanes),
        shared = share(values, state.lanes),
        lanes = state.lanes,
        per_face = items / (2 * usize::from(d)),
        layers = u32::from(h.max(1)) * across,
        voxels = u32::from(p) * u32::from(p) * u32::from(depth),
        base = state.base,
        unknown = state.unknown,
        rbase = rate.base,
        runknown = rate.unknown,
    )
    .expect("a string takes all");
    text
}
