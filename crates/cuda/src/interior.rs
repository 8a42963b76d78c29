//! How the interior is stepped: by a plain kernel, by tiles fed by tensor copies or by rows, or by two
//! fused steps with single ones for what remains.

use cudarc::driver::CudaStream;
use temblor_backend::{Result, SourceTable};
use temblor_physics::WaveProblem;

use crate::arguments::{TemblorFused, TemblorStep, TemblorTiles};
use crate::fields::Fields;
use crate::layout::{Layout, NodeBox};
use crate::limbs::{self, Limbs};
use crate::module::maps::{Element, TensorMap, tensor_map, tensor_map_until};
use crate::module::{Kernels, TmaShape, int};
use crate::ozaki::{self, Ozaki};
use crate::parameters::Choices;
use crate::points::{Sources, Tiling};
use crate::tiles::{Spread, spread};
use crate::variants;
use crate::variants::{fused_shared, tma_shared};
use crate::wide::{self, Wide};

/// A kernel with the maps of all fields that it copies from.
#[derive(Debug)]
struct Mapped {
    shape: TmaShape,
    /// Of each wavefield, as p and as p-.
    waves: Vec<[TensorMap; 2]>,
    speed: TensorMap,
}

impl Mapped {
    fn new(shape: TmaShape, kernels: &Kernels, layout: &Layout, fields: &Fields) -> Result<Self> {
        kernels.allow_shared(shape.kernel)?;
        let map =
            |address: u64, n: usize| tensor_map(address, layout, shape.boxes[n], Element::F32);
        Ok(Self {
            waves: fields
                .all()
                .iter()
                .map(|wave| Ok([map(wave.address(), 0)?, map(wave.address(), 1)?]))
                .collect::<Result<_>>()?,
            speed: map(fields.speed.address(), 1)?,
            shape,
        })
    }

    /// Maps of p^n, p^(n-1) and dt^2 c^2.
    fn maps(&self, fields: &Fields) -> [&TensorMap; 3] {
        [&self.waves[fields.slot(0)][0], &self.waves[fields.slot(1)][1], &self.speed]
    }
}

/// The kernel of two fused steps.
#[derive(Debug)]
struct Fused {
    mapped: Mapped,
    /// Of each wavefield as a result, up to the grid's end.
    results: Vec<TensorMap>,
}

impl Fused {
    fn new(mapped: Mapped, layout: &Layout, fields: &Fields) -> Result<Self> {
        // The kernel reads no p^(n+1) but its own: what lies beyond its box is zero.
        let whole = NodeBox { begin: [0; 3], end: layout.nodes };
        assert_eq!(layout.interior, whole, "two steps are fused on whole grids");
        let end = std::array::from_fn(|a| layout.halo[a] + layout.nodes[a]);
        let result = |address| tensor_map_until(address, layout, end, RESULT, Element::F32);
        let results = fields.all().iter().map(|w| result(w.address())).collect::<Result<_>>()?;
        Ok(Self { mapped, results })
    }
}

/// Rows and columns of a result that a warp copies at once.
const RESULT: [u32; 2] = [4, 64];

/// The kernel of one step.
#[derive(Debug)]
enum Single {
    /// By name; there is one per order.
    AnyOrder(String),
    /// Tiles fed by tensor copies.
    Tma(Mapped),
    /// Wide tiles fed by rows.
    Wide(Wide),
    /// By digits.
    Ozaki(Ozaki),
    /// By BF16 limbs.
    Limbs(Limbs),
}

/// The interior's kernels.
#[derive(Debug)]
pub(crate) struct Interior {
    /// Operator and box.
    step: TemblorStep,
    halo: [i32; 3],
    empty: bool,
    single: Single,
    fused: Option<Fused>,
    tiling: Option<Tiling>,
}

/// Entry points that a variant needs in the interior.
pub(crate) fn kernel_names(variant: &str, problem: &WaveProblem) -> Vec<String> {
    let radius = problem.operator.radius();
    let shape = |shape: TmaShape| shape.kernel.to_owned();
    match variant {
        "fused2" => {
            let mut all = wide::names(radius).to_vec();
            if variants::fuses(problem) {
                all.push(shape(fused2(radius)));
            }
            all
        }
        "tma" => vec![shape(tma(radius))],
        "wide" => wide::names(radius).into(),
        other => match limbs::digits(other, problem.arithmetic) {
            Some(digits) => vec![limbs::name(other, digits)],
            None if ozaki::is_variant(other) => ozaki::names(other, problem),
            None => vec![any_order(other, problem)],
        },
    }
}

/// Entry point of a variant that has one per order.
fn any_order(variant: &str, problem: &WaveProblem) -> String {
    format!("acoustic_iso_{variant}_r{}", problem.operator.radius())
}

impl Interior {
    /// Prepares the kernels of a variant; `whole` has the operator, `units` the multiprocessors.
    pub(crate) fn new(
        variant: &str,
        problem: &WaveProblem,
        whole: &TemblorStep,
        kernels: &Kernels,
        stream: &CudaStream,
        layout: &Layout,
        fields: &Fields,
        units: usize,
        choices: Choices,
    ) -> Result<Self> {
        let part = layout.interior;
        let radius = problem.operator.radius();
        let mapped = |shape: TmaShape| {
            let Spread { tiles, blocks, .. } =
                spread(&part, shape.tile, shape.ramp, units, choices.planes);
            Mapped::new(TmaShape { tiles, blocks, ..shape }, kernels, layout, fields)
        };
        let fuses = variant == "fused2" && variants::fuses(problem);
        let single = match variant {
            "tma" => Single::Tma(mapped(tma(radius))?),
            // Whose bits are those of fused steps.
            "wide" | "fused2" => Single::Wide(Wide::new(kernels, layout, radius, units, choices)?),
            other => match limbs::digits(other, problem.arithmetic) {
                Some(digits) => Single::Limbs(Limbs::new(other, problem, layout, digits)),
                None if ozaki::is_variant(other) => {
                    Single::Ozaki(Ozaki::new(other, problem, kernels, stream, layout, choices)?)
                }
                None => Single::AnyOrder(any_order(other, problem)),
            },
        };
        let fused =
            fuses.then(|| Fused::new(mapped(fused2(radius))?, layout, fields)).transpose()?;
        Ok(Self {
            step: TemblorStep { begin: part.begin.map(int), end: part.end.map(int), ..*whole },
            halo: layout.halo.map(int),
            empty: part.is_empty(),
            single,
            tiling: fused.as_ref().map(|fused| Tiling {
                interior: part,
                tile: fused.mapped.shape.tile,
                // Nodes along z come in fours.
                rim: [radius, 4],
            }),
            fused,
        })
    }

    /// No interior: somebody else steps it.
    pub(crate) fn none(whole: &TemblorStep) -> Self {
        Self {
            step: *whole,
            halo: [0; 3],
            empty: true,
            single: Single::AnyOrder(String::new()),
            fused: None,
            tiling: None,
        }
    }

    /// Whether two steps can be made at once.
    pub(crate) fn fuses(&self) -> bool {
        self.fused.is_some()
    }

    /// How sources must be sorted for fused steps.
    pub(crate) fn tiling(&self) -> Option<Tiling> {
        self.tiling
    }

    /// Queues one step from wavefields 0 and 1 into 1.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
    ) -> Result<()> {
        if self.empty {
            return Ok(());
        }
        let step = fields.step(0, 1, 1);
        match &self.single {
            Single::AnyOrder(name) => kernels.any_order(stream, name, &self.step, &step),
            Single::Wide(wide) => wide.step(stream, kernels, &self.step, &step),
            Single::Ozaki(ozaki) => ozaki.step(stream, kernels, &self.step, fields),
            Single::Limbs(limbs) => limbs.step(stream, kernels, &self.step, &step),
            Single::Tma(mapped) => {
                let maps = mapped.maps(fields);
                kernels.tma(stream, &mapped.shape, &self.step, maps, &step, self.halo)
            }
        }
    }

    /// The kernel by digits, if it has nodes to step.
    fn ozaki(&self) -> Option<&Ozaki> {
        match &self.single {
            Single::Ozaki(ozaki) if !self.empty => Some(ozaki),
            _ => None,
        }
    }

    /// Remembers where sources write.
    pub(crate) fn watch(&mut self, stream: &CudaStream, table: &SourceTable) -> Result<()> {
        match &mut self.single {
            Single::Ozaki(ozaki) if !self.empty => ozaki.watch(stream, table),
            _ => Ok(()),
        }
    }

    /// Queues a look at what a step wrote to wavefield 0 besides the interior, with sources' nodes if
    /// they were `injected`.
    pub(crate) fn look_beside(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        injected: bool,
    ) -> Result<()> {
        self.ozaki().map_or(Ok(()), |ozaki| {
            ozaki.look_beside(stream, kernels, &self.step, fields, injected)
        })
    }

    /// Queues a look at all of wavefield 0, which was set from outside.
    pub(crate) fn look_everywhere(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
    ) -> Result<()> {
        self.ozaki()
            .map_or(Ok(()), |ozaki| ozaki.look_everywhere(stream, kernels, &self.step, fields))
    }

    /// Queues two steps, the first of which is number `n`, into wavefields 2 and 3.
    pub(crate) fn two_steps(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        fields: &Fields,
        sources: Option<&Sources>,
        n: u64,
    ) -> Result<()> {
        let Some(own) = self.fused.as_ref().filter(|_| !self.empty) else { return Ok(()) };
        let mut fused = TemblorFused { halo: self.halo, ..Default::default() };
        if let Some(sources) = sources {
            sources.fuse(n, &mut fused);
        }
        let results = [2, 3].map(|n| &own.results[fields.slot(n)]);
        let Fused { mapped, .. } = own;
        kernels.fused2(stream, &mapped.shape, &self.step, &fused, mapped.maps(fields), results)
    }
}

/// Rows on both sides that taps reach, as boxes count.
const fn both(radius: usize) -> u32 {
    match radius {
        2 => 4,
        3 => 6,
        _ => 8,
    }
}

/// Launch figures of `acoustic_iso_tma`; a block reads 2R planes of p more than it gives out, a
/// third of its traffic.
const fn tma(radius: usize) -> TmaShape {
    TmaShape {
        kernel: match radius {
            2 => "acoustic_iso_tma_r2",
            3 => "acoustic_iso_tma_r3",
            _ => "acoustic_iso_tma",
        },
        tile: [64, 64],
        boxes: [[64 + both(radius), 64], [64, 64]],
        threads: 512,
        shared: tma_shared(radius),
        ramp: radius,
        tiles: NO_TILES,
        blocks: 0,
    }
}

/// Launch figures of `acoustic_iso_fused2`; a block makes 2R planes more of the first step and reads
/// 4R more of p.
const fn fused2(radius: usize) -> TmaShape {
    let [middle, plane] = [24 + both(radius), 24 + 2 * both(radius)];
    TmaShape {
        kernel: match radius {
            2 => "acoustic_iso_fused2_r2",
            3 => "acoustic_iso_fused2_r3",
            _ => "acoustic_iso_fused2",
        },
        tile: [24, 64],
        boxes: [[plane, 80], [middle, 80]],
        // A warp feeds, six make the second step; two rows of four nodes per thread.
        threads: 32 * (7 + (18 * middle / 2).div_ceil(32)),
        shared: fused_shared(radius),
        ramp: 3 * radius,
        tiles: NO_TILES,
        blocks: 0,
    }
}

const NO_TILES: TemblorTiles = TemblorTiles {
    tiles_z: 0,
    full_tiles: 0,
    full_blocks: 0,
    planes: 0,
    rest_tiles: 0,
    rest_planes: 0,
};
