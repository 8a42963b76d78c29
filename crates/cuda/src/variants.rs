//! The kernel families, and which of them solve a problem on a device.

use temblor_backend::{Error, Result, Variant};
use temblor_physics::{
    Arithmetic, Axis, Boundary, DigitKind, Digits, Equation, Face, QuantisedOperator, Storage,
    WaveProblem, WavefieldStorage,
};

use crate::ID;
use crate::layout::{Layout, SECTOR};
use crate::limbs;
use crate::ozaki::{self, Engine};
use crate::stored;
use crate::wide;

/// Radii that the kernels of `sm_90` are built for.
pub(crate) const TUNED_RADII: std::ops::RangeInclusive<usize> = 2..=4;

/// What names of those kernels end in.
pub(crate) const fn suffix(radius: usize) -> &'static str {
    match radius {
        2 => "_r2",
        3 => "_r3",
        _ => "",
    }
}

/// Dynamic shared memory of `acoustic_iso_tma` for a radius, bytes; the kernel's `Shared`.
pub(crate) const fn tma_shared(radius: usize) -> usize {
    8 * (64 + 2 * radius) * 64 * 4 + 2 * 2 * 64 * 64 * 4 + 4 * 64 * 8 * 4 + 10 * 8
}

/// Dynamic shared memory of `acoustic_iso_fused2` for a radius, bytes; the kernel's `Shared`.
pub(crate) const fn fused_shared(radius: usize) -> usize {
    // Planes of p start at multiples of 128 bytes.
    let plane = (80 * (24 + 4 * radius) * 4).next_multiple_of(128);
    // Rows on which p is computed one step ahead.
    let rows = 24 + 2 * radius;
    // Rings of dt^2 c^2 and of p-, and of p one step ahead; of what the second step adds to, and p one
    // step ahead on its way out.
    let rings = (8 + 3) * 80 * rows + 2 * 72 * rows + (radius + 3 + 1) * 64 * 24;
    // Barriers, flags and offsets, sources.
    4 * plane + 4 * rings + 4 * (4 * 8 + 16 + 8)
}

/// Whether two steps of a problem can be made on chip: where no layer and no wall has a step of its own in
/// between.
pub(crate) fn fuses(problem: &WaveProblem) -> bool {
    let boundaries = &problem.boundaries;
    Face::ALL.into_iter().all(|face| {
        !problem.grid.active(face.axis()) || matches!(boundaries.at(face), Boundary::Zero)
    })
}

/// Layout of a problem's fields under a variant.
pub(crate) fn layout(problem: &WaveProblem, variant: &str) -> Layout {
    match stored::storage_of(problem) {
        Some(_) => Layout::stored(problem),
        None if variant == "fused2" && fuses(problem) => Layout::new(problem, SECTOR),
        None => Layout::new(problem, 0),
    }
}

/// What decides about variants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Compute capability: 90 for 9.0.
    pub(crate) capability: i32,
    /// Most shared memory per block, bytes.
    pub(crate) shared: usize,
}

/// All names, best first.
pub(crate) const NAMES: [&str; 5] = ["wide", "fused2", "tma", "baseline", "shared"];

/// Variants for a problem, preferred first.
pub(crate) fn list(problem: &WaveProblem, limits: Limits) -> Result<Vec<Variant>> {
    let refuse = |what: String| Error::Unsupported { backend: ID.into(), what };
    if problem.equation != Equation::AcousticIso {
        return Err(refuse(format!("equation {:?}", problem.equation)));
    }
    if let Arithmetic::Digits(digits) = problem.arithmetic {
        return by_digits(problem, digits, limits);
    }
    let storage = stored::storage_of(problem);
    if storage.is_none() && problem.arithmetic != Arithmetic::F32 {
        return Err(refuse(format!("arithmetic {}", problem.arithmetic)));
    }
    // Weights are data: any operator of radius 1 to 8 will do.
    let radius = problem.operator.radius();
    if problem.grid.shape.iter().any(|&n| i32::try_from(n).is_err()) {
        return Err(refuse(format!("a grid of {:?} nodes", problem.grid.shape)));
    }
    let flops = flops(problem);
    if let Some(storage) = storage {
        return Ok(stored_list(problem, storage, limits, flops));
    }
    let mut variants = Vec::new();
    let tuned =
        limits.capability >= 90 && TUNED_RADII.contains(&radius) && problem.grid.active(Axis::Y);
    // Where terms along x and y are added one by one, not in pairs: one more operation per pair.
    let more = (2 * radius) as f64;
    if tuned && !wide::fitting(limits.shared, radius).is_empty() {
        let about = "wide tiles marched along x, p by rows of bulk copies, partial sums (sm_90)";
        variants.push(Variant::new("wide", about, 16.0, flops + more, 1));
    }
    if tuned && limits.shared >= tma_shared(radius) {
        let about = "64x64 tiles marched along x, every stream by bulk tensor copies (sm_90)";
        variants.push(Variant::new("tma", about, 16.0, flops, 1));
    }
    // Odd steps are made by the kernels of `wide`, which need less.
    if tuned && limits.shared >= fused_shared(radius) {
        // Best on large grids only, which tuning tables know.
        let about = "two steps on chip in 64x24 tiles, a crew of warps per step; beside layers and walls as `wide`";
        let (bytes, steps) = if fuses(problem) { (10.0, 2) } else { (16.0, 1) };
        variants.push(Variant::new("fused2", about, bytes, flops + more, steps));
    }
    let about = "a thread per node, any order and shape";
    variants.push(Variant::new("baseline", about, 16.0, flops, 1));
    if problem.grid.active(Axis::Y) {
        // Behind `baseline` until a card shows it to be faster.
        let about = "32x16 columns marched along x, planes in shared memory by plain loads";
        variants.push(Variant::new("shared", about, 16.0, flops, 1));
    }
    Ok(variants)
}

/// Variants whose Laplacian is summed from products of digits, preferred first.
fn by_digits(problem: &WaveProblem, digits: Digits, limits: Limits) -> Result<Vec<Variant>> {
    let refuse = |what: String| Error::Unsupported { backend: ID.into(), what };
    if problem.grid.shape.iter().any(|&n| i32::try_from(n).is_err()) {
        return Err(refuse(format!("a grid of {:?} nodes", problem.grid.shape)));
    }
    let flops = flops(problem);
    if digits.kind == DigitKind::Bf16 {
        let mut variants = Vec::new();
        if limits.capability >= 80 && limbs::is_tuned(problem) {
            let about = "products of BF16 limbs on tensor cores, an oracle";
            variants.push(Variant::new(ozaki::TENSOR, about, 16.0, flops, 1));
        }
        let about = "products of BF16 limbs by plain loops, any counts, operator and shape";
        variants.push(Variant::new(ozaki::plain::VARIANT, about, 16.0, flops, 1));
        return Ok(variants);
    }
    QuantisedOperator::new(&problem.operator, digits.operator)?;
    let fits =
        |engine| ozaki::is_tuned(problem, digits) && limits.shared >= ozaki::most_shared(engine);
    let mut variants = Vec::new();
    // On an H200 at 800^3, (2,3) digits: tensor cores 154 Gpts/s, dp4a 124 (docs/arithmetic.md).
    if limits.capability >= 80 && fits(Engine::Tensor) {
        let about = "products of digits on tensor cores";
        variants.push(Variant::new(ozaki::TENSOR, about, 16.0, flops, 1));
    }
    if fits(Engine::Four) {
        let about = "products of digits, four at a time (dp4a)";
        variants.push(Variant::new(ozaki::FOUR, about, 16.0, flops, 1));
    }
    let about = "products of digits by plain loops, any counts, operator and shape";
    variants.push(Variant::new(ozaki::plain::VARIANT, about, 16.0, flops, 1));
    Ok(variants)
}

/// Variants of reduced storage, preferred first.
fn stored_list(
    problem: &WaveProblem,
    storage: Storage,
    limits: Limits,
    flops: f64,
) -> Vec<Variant> {
    use WavefieldStorage::{Int16, Int16Increment};
    let (radius, bytes) = (problem.operator.radius(), problem.arithmetic.bytes_per_point());
    let mut variants = Vec::new();
    // Places in a plane are offsets of 32 bits, in bytes.
    let [_, ny, nz] = problem.grid.shape;
    let short = (ny + 128).saturating_mul(nz + 512) < 1 << 30;
    let tuned = limits.capability >= 90
        && TUNED_RADII.contains(&radius)
        && problem.grid.active(Axis::Y)
        && short
        && matches!(storage.wavefields, Int16 | Int16Increment)
        && limits.shared >= stored::most_shared(storage, radius);
    if tuned {
        let about = "wide tiles and tiles of the layers, codes by asynchronous copies, decoded once (sm_90)";
        // Terms along x and y are added one by one, not in pairs.
        let more = (2 * radius) as f64;
        variants.push(Variant::new(stored::NAMES[0], about, bytes, flops + more, 1));
    }
    let about = "a warp per storage tile, any order and shape";
    variants.push(Variant::new(stored::NAMES[1], about, bytes, flops, 1));
    variants
}

/// Operations per point: three per pair of taps, one for the centre, four for the step.
pub(crate) fn flops(problem: &WaveProblem) -> f64 {
    let pairs = problem.grid.dimensions() * problem.operator.radius();
    (3 * pairs + 5) as f64
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Boundaries, Grid, Minimod};

    use super::*;
    use crate::layout::NodeBox;

    fn names(arithmetic: &str, capability: i32, kib: usize) -> Vec<String> {
        let grid = Grid::new([64; 3], [10.0; 3], [0.0; 3]).unwrap();
        let builder = WaveProblem::builder(grid, 1e-3).arithmetic(arithmetic.parse().unwrap());
        let limits = Limits { capability, shared: kib << 10 };
        let variants = list(&builder.build().unwrap(), limits).unwrap();
        variants.into_iter().map(|variant| variant.name).collect()
    }

    #[test]
    fn steps_are_fused_where_no_face_has_a_layer_or_a_wall() {
        let steps = |boundaries: Boundaries| {
            let grid = Grid::new([64; 3], [10.0; 3], [0.0; 3]).unwrap();
            let problem = WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build().unwrap();
            let limits = Limits { capability: 90, shared: 227 << 10 };
            let variants = list(&problem, limits).unwrap();
            let fused2 = variants.iter().find(|variant| variant.name == "fused2").unwrap();
            if fuses(&problem) {
                // Beyond its box the kernel takes all for zero.
                let whole = NodeBox { begin: [0; 3], end: problem.grid.shape };
                assert_eq!(layout(&problem, "fused2").interior, whole);
            }
            (
                fused2.steps_per_pass,
                layout(&problem, "fused2").halo == layout(&problem, "wide").halo,
            )
        };
        assert_eq!(steps(Boundaries::uniform(Boundary::Zero)), (2, false));
        for boundary in [
            Boundary::Free,
            Boundary::Rigid,
            Boundary::Minimod(Minimod { cells: 8, eta_peak: 0.1 }),
        ] {
            let mut boundaries = Boundaries::uniform(Boundary::Zero);
            boundaries.set(Face::YMax, boundary);
            assert_eq!(steps(boundaries), (1, true), "{boundary:?}");
        }
    }

    /// Capability and shared memory per block as CUDA's programming guide has them: 9.0 with 227 KiB, 12.0 with
    /// 99, 8.0 with 163, 7.5 with 64.
    #[test]
    fn variants_are_those_that_a_card_has_the_memory_and_the_instructions_for() {
        let all = ["wide", "tma", "fused2", "baseline", "shared"];
        assert_eq!(names("f32", 90, 227), all);
        assert_eq!(names("f32", 120, 99), ["wide", "baseline", "shared"]);
        for (capability, kib) in [(80, 163), (75, 64)] {
            assert_eq!(names("f32", capability, kib), ["baseline", "shared"]);
            assert_eq!(names("int16+u16", capability, kib), ["stored"]);
        }
        assert_eq!(names("int16+u16", 90, 227), ["stored_wide", "stored"]);
        assert_eq!(names("int8-2x3", 80, 163), ["ozaki_mma", "ozaki_dp4a", "ozaki_plain"]);
        assert_eq!(names("int8-2x3", 75, 64), ["ozaki_plain"]);
    }
}
