//! The Laplacian as products of digits: `ozaki-scalar`, `ozaki-simd`, `bf16-scalar`, `bf16-simd`.
//!
//! Wavefields stay FP32 in memory. A tile's values become integers under one exponent, which holds the
//! tile and its halo and is carried from the step that wrote them, and the integers balanced bytes; along each axis the operator's digits meet the
//! wavefield's as a banded Toeplitz product with 32-bit sums, one per diagonal a + b. Sums of
//! neighbouring diagonals are joined as integers, the rest in FP32, from least to most significant;
//! axes are added in the order x, y, z at the node that owns them. BF16 digits are limbs of each value
//! by itself, with FP32 sums, times the same digits of the operator, which BF16 holds exactly: so both
//! of the operator's constraints hold there too.
//!
//! Plain loops and vectors give the same bits. After Ozaki et al. (2012), Numer. Algorithms 59,
//! 95-118; where the published stencil of digits goes wrong is what the tests are about.

mod limbs;
mod outer;
mod packed;
mod peaks;
mod plain;
mod step;
mod tile;
mod vector;

use std::sync::{Mutex, PoisonError};

use temblor_backend::{Result, Variant};
use temblor_physics::quantised::TileScale;
use temblor_physics::{DigitKind, Digits, QuantisedOperator, Slicing, WaveProblem};

pub(super) use step::step;

use self::outer::Outer;
use self::packed::Packed;
use self::peaks::Peaks;
use self::tile::{Field, Tile, power_of_two};
use self::vector::Vectors;
use super::fields::largest_bits;
use super::kernels::Isa;
use super::layout::Layout;

/// What computes a tile's Laplacian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Bytes in plain loops.
    Scalar,
    /// Bytes in vectors.
    Simd(Vectors),
    /// Limbs in plain loops, for whatever the compiler's base target has.
    LimbsScalar,
    /// The same loops for an instruction set.
    LimbsSimd(Vectors),
}

impl Engine {
    /// Engines for a kind of digit on an instruction set, fastest first.
    fn all(kind: DigitKind, isa: Isa) -> Vec<Self> {
        let vectors = Vectors::of(isa);
        let (simd, scalar): (fn(_) -> _, _) = match kind {
            DigitKind::Int8 => (Self::Simd, Self::Scalar),
            DigitKind::Bf16 => (Self::LimbsSimd, Self::LimbsScalar),
        };
        vectors.map(simd).into_iter().chain([scalar]).collect()
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "ozaki-scalar",
            Self::Simd(_) => "ozaki-simd",
            Self::LimbsScalar => "bf16-scalar",
            Self::LimbsSimd(_) => "bf16-simd",
        }
    }

    fn about(self) -> String {
        match self {
            Self::Scalar => "signed bytes under a tile's exponent, plain loops, 32-bit sums".into(),
            Self::Simd(vectors) => format!(
                "signed bytes under a tile's exponent, four taps per product by {}, 32-bit sums",
                vectors.products()
            ),
            Self::LimbsScalar => "BF16 limbs of each value, plain loops, FP32 sums".into(),
            Self::LimbsSimd(_) => "BF16 limbs of each value, FP32 vectors and sums".into(),
        }
    }
}

/// Variants for a problem whose arithmetic is `digits`.
///
/// # Errors
/// If the operator has no such digits.
pub(super) fn variants(problem: &WaveProblem, digits: Digits, isa: Isa) -> Result<Vec<Variant>> {
    QuantisedOperator::new(&problem.operator, digits.operator)?;
    // A product of digits is a multiplication and an addition; a step is four operations.
    let taps = (2 * problem.operator.radius() + 1) * problem.grid.dimensions();
    let flops = 2.0 * (taps * digits.pairs().count()) as f64 + 4.0;
    let variant = |engine: Engine| Variant::new(engine.name(), engine.about(), 16.0, flops, 1);
    Ok(Engine::all(digits.kind, isa).into_iter().map(variant).collect())
}

/// What a plan of digits has besides its fields.
#[derive(Debug)]
pub(super) struct Digital {
    digits: Digits,
    engine: Engine,
    operator: QuantisedOperator,
    slicing: Slicing,
    isa: Isa,
    /// Scale of the operator over the spacing squared and over 2^(8W-1), by W - 1 and axis, 1/m^2.
    scales: [[f32; 3]; 3],
    /// Weights as vectors take them.
    packed: Packed,
    /// Nodes of a tile.
    shape: [usize; 3],
    /// What is done in C-PML layers.
    outer: Option<Outer>,
    /// What exponents are found from.
    peaks: Peaks,
    /// Whether peaks have to be found anew before the next step.
    stale: bool,
    /// Workspaces that no thread uses.
    spare: Mutex<Vec<Workspace>>,
}

/// Memory of one thread.
#[derive(Debug, Default)]
struct Workspace {
    /// Laplacian of a block, shape (x, y, z) of it, rows of whole tiles.
    laplacian: Vec<f32>,
    /// Digits of a tile and its halo, as the engine takes them.
    bytes: Vec<i8>,
    limbs: Vec<limbs::Row>,
}

/// Where a tile's Laplacian goes.
struct Target<'a> {
    values: &'a mut [f32],
    /// Of the tile's first node.
    first: usize,
    /// From plane to plane and from row to row.
    stride: [usize; 2],
}

impl Target<'_> {
    #[inline(always)]
    const fn at(&self, i: usize, j: usize) -> usize {
        self.first + i * self.stride[0] + j * self.stride[1]
    }

    fn fill(&mut self, tile: &Tile, value: f32) {
        for i in 0..tile.shape[0] {
            for j in 0..tile.shape[1] {
                let at = self.at(i, j);
                self.values[at..at + tile.shape[2]].fill(value);
            }
        }
    }
}

impl Digital {
    /// # Errors
    /// If the operator has no such digits.
    pub(super) fn new(
        problem: &WaveProblem,
        digits: Digits,
        variant: &Variant,
        isa: Isa,
    ) -> Result<Self> {
        let operator = QuantisedOperator::new(&problem.operator, digits.operator)?;
        Ok(Self::with(problem, digits, &variant.name, isa, operator, Slicing::Nearest))
    }

    fn with(
        problem: &WaveProblem,
        digits: Digits,
        variant: &str,
        isa: Isa,
        operator: QuantisedOperator,
        slicing: Slicing,
    ) -> Self {
        let mut engines = Engine::all(digits.kind, isa).into_iter();
        let engine = engines
            .find(|engine| engine.name() == variant)
            .expect("the variant is one of this problem's");
        // BF16 limbs carry their own exponents.
        let point = |w: i32| if digits.kind == DigitKind::Int8 { 8 * w - 1 } else { 0 };
        let scale = |w: i32, axis: usize| {
            operator.scale * problem.grid.spacing[axis].powi(-2) * f64::from(-point(w)).exp2()
        };
        let scales = [1, 2, 3].map(|w| {
            let scales = [0, 1, 2].map(|axis| scale(w, axis));
            #[expect(clippy::cast_possible_truncation, reason = "fields are f32")]
            let scales = scales.map(|s| s as f32);
            scales
        });
        let packed = Packed::new(&operator, digits);
        let shape = tile::tile_shape(problem);
        let peaks = Peaks::new(&Layout::new(problem), shape);
        Self {
            digits,
            engine,
            operator,
            slicing,
            isa,
            scales,
            packed,
            shape,
            outer: Outer::new(problem),
            peaks,
            stale: true,
            spare: Mutex::default(),
        }
    }

    /// Bytes of all threads' workspaces at most.
    pub(super) fn bytes(problem: &WaveProblem, layout: &Layout) -> u64 {
        let [x, y, z] = tile::tile_shape(problem);
        let halo = 2 * layout.radius.next_multiple_of(4);
        let block = x * y * layout.shape[2].next_multiple_of(z) * size_of::<f32>();
        // Three bytes for each of a tile's values and of its halo's; limbs take less.
        let digits = 3 * (x + halo) * (y + halo) * (z + halo);
        let threads = rayon::current_num_threads() * (block + digits);
        threads as u64 + Peaks::bytes(layout, tile::tile_shape(problem))
    }

    /// Values of wavefields were set from outside: carried peaks are not theirs.
    pub(super) const fn forget_peaks(&mut self) {
        self.stale = true;
    }

    /// Finds the peaks of p^n, unless they were carried.
    pub(super) fn refresh_peaks(&mut self, which: usize, p: &[f32], layout: &Layout) {
        if !std::mem::take(&mut self.stale) || !self.has_peaks() {
            return;
        }
        let field = Field { p, layout };
        let [nx, ny, nz] = layout.shape;
        for i in (0..nx).step_by(self.shape[0]) {
            for j in (0..ny).step_by(self.shape[1]) {
                for k in (0..nz).step_by(self.shape[2]) {
                    let tile = self.tile(layout, [i, j, k]);
                    let mut bits = 0;
                    for i in 0..tile.shape[0].cast_signed() {
                        for j in 0..tile.shape[1].cast_signed() {
                            let row = field.row(&tile, [i, j, 0], tile.shape[2]);
                            bits = bits.max(self.largest(row));
                        }
                    }
                    self.peaks.set(which, &tile, bits);
                }
            }
        }
    }

    /// Whether tiles have exponents.
    const fn has_peaks(&self) -> bool {
        matches!(self.engine, Engine::Scalar | Engine::Simd(_))
    }

    /// Bits of the largest magnitude of a row.
    fn largest(&self, row: &[f32]) -> u32 {
        match self.engine {
            Engine::Simd(vectors) => vectors.largest(row),
            _ => largest_bits(row),
        }
    }

    /// The tile that starts at a node.
    fn tile(&self, layout: &Layout, first: [usize; 3]) -> Tile {
        let shape = [0, 1, 2].map(|a| self.shape[a].min(layout.shape[a] - first[a]));
        Tile { first, shape }
    }

    fn take_workspace(&self) -> Workspace {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, workspace: Workspace) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
    }

    /// The Laplacian of a tile, 1/m^2 times p, whose values and halo are at most `peak` in magnitude.
    fn laplacian(
        &self,
        field: Field<'_>,
        tile: &Tile,
        peak: f32,
        workspace: &mut Workspace,
        to: [usize; 3],
    ) {
        let Workspace { laplacian, bytes, limbs } = workspace;
        let [first, plane, row] = to;
        let mut target = Target { values: laplacian, first, stride: [plane, row] };
        match self.engine {
            Engine::LimbsScalar => limbs::portable(self, field, tile, limbs, &mut target),
            Engine::LimbsSimd(vectors) => {
                limbs::vectors(vectors, self, field, tile, limbs, &mut target);
            }
            Engine::Scalar | Engine::Simd(_) => {
                debug_assert!(
                    !peak.is_finite() || field.peak(tile) <= peak,
                    "the peak of {tile:?} was not carried"
                );
                let (w, scale) = field.scale(tile, peak, self.digits);
                let exponent = match scale {
                    TileScale::Exponent(exponent) => exponent,
                    TileScale::Zero => return target.fill(tile, 0.0),
                    TileScale::NotFinite => return target.fill(tile, f32::NAN),
                };
                let slice = Slice {
                    digits: w,
                    kept: usize::from(self.digits.operator + self.digits.wavefield)
                        .saturating_sub(1 + usize::from(self.digits.trim)),
                    scales: self.scales[usize::from(w) - 1],
                    exponent,
                };
                if let Engine::Simd(vectors) = self.engine {
                    packed::laplacian(vectors, self, field, tile, &slice, &mut target);
                } else {
                    plain::laplacian(self, field, tile, &slice, bytes, &mut target);
                }
            }
        }
    }
}

/// How a tile is sliced.
#[derive(Debug, Clone, Copy)]
struct Slice {
    /// Digits of the wavefield.
    digits: u8,
    /// Diagonals a + b below this are multiplied.
    kept: usize,
    /// Scale of each axis.
    scales: [f32; 3],
    exponent: i32,
}

impl Slice {
    /// `2^(8W-1-E)` as two factors that are normal numbers.
    #[inline(always)]
    const fn factors(&self) -> [f32; 2] {
        [power_of_two(-self.exponent), power_of_two(8 * self.digits as i32 - 1)]
    }
}

#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod tests;
