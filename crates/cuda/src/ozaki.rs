//! The interior by digits (`acoustic_iso_ozaki_*`): operator, tiles, and the bricks whose largest values
//! give every block its exponent (csrc/cuda/ozaki.cuh).
//!
//! Each wavefield has an array of largest values, which therefore follows it through swaps and graphs.
//! Blocks write those of their own nodes; what layers, walls and sources write is looked at after each
//! step, and everything after an upload. Tuned kernels are built for some counts of digits, 3-D and
//! radius 1 to 4; a plain one does the rest.

pub(crate) mod plain;

use std::collections::BTreeSet;

use cudarc::driver::CudaStream;
use temblor_backend::{Error, Result, SourceTable};
use temblor_physics::{Arithmetic, Axis, Digits, QuantisedOperator, WaveProblem};

use crate::ID;
use crate::arguments::{TemblorOzaki, TemblorStep};
use crate::bricks::Bricks;
use crate::fields::Fields;
use crate::layers::single;
use crate::layout::Layout;
use crate::memory::Buffer;
use crate::module::ozaki::OzakiShape;
use crate::module::{Kernels, int};
use crate::parameters::Choices;

use self::plain::Plain;

/// Radii that the tuned kernels reach.
const RADII: std::ops::RangeInclusive<usize> = 1..=4;

/// Planes that a block marches: divisors of the cell of 64 that shares an exponent, so that bits do not
/// depend on them.
pub(crate) const PLANES: [u32; 3] = [16, 32, 64];

/// Digits of the operator and of the wavefield and diagonals dropped that kernels are built for.
const BUILT: [[u8; 3]; 6] = [[1, 1, 0], [1, 2, 0], [2, 2, 0], [2, 3, 0], [2, 3, 1], [3, 3, 0]];

/// The variant on tensor cores, of bytes and of BF16 limbs ([`crate::limbs`]).
pub(crate) const TENSOR: &str = "ozaki_mma";

/// The variant of four products of bytes at a time.
pub(crate) const FOUR: &str = "ozaki_dp4a";

/// How tuned kernels make sums of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Tensor cores.
    Tensor,
    /// Four products at a time.
    Four,
}

impl Engine {
    /// The engine of a variant.
    pub(crate) fn of(variant: &str) -> Option<Self> {
        match variant {
            TENSOR => Some(Self::Tensor),
            FOUR => Some(Self::Four),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "mma",
            Self::Four => "dp4a",
        }
    }

    /// Rows and columns of the tiles of (2, 3) digits on `sm_90`, the default first; other counts have
    /// that one.
    const fn tiles(self) -> &'static [[usize; 2]] {
        match self {
            Self::Tensor => &[[16, 32]],
            Self::Four => &[[16, 64], [8, 64], [16, 32], [32, 32], [32, 64]],
        }
    }

    /// Dynamic shared memory of a tile for digits of the wavefield and diagonals that are kept, bytes;
    /// `BYTES` of `Tensor` and of `Words` in the kernels.
    const fn shared(self, [rows, columns]: [usize; 2], wavefield: usize, kept: usize) -> usize {
        match self {
            Self::Tensor => {
                // Four quads of the tile, three of what is beside it, a brick of sums per warp, the
                // operator along z.
                let (quad, beside) = (16 * rows * columns, 128 * (rows + columns));
                4 * quad + 3 * beside + 16 * rows * columns + 3 * 512 * kept + 128
            }
            Self::Four => {
                let [x, y, z] = [columns + 16, columns, (columns / 4 + 5) / 8 * 8 + 4];
                let words = 3 * rows * x + 4 * (rows / 4 + 2) * y + 4 * rows * z;
                4 * (wavefield * words + 32)
            }
        }
    }
}

/// Most dynamic shared memory that a default tile takes, bytes.
pub(crate) const fn most_shared(engine: Engine) -> usize {
    engine.shared(engine.tiles()[0], 3, 5)
}

/// A tile as a parameter's value.
const fn value([rows, columns]: [usize; 2]) -> usize {
    1000 * rows + columns
}

/// Values of the parameter `tile`, the default first.
pub(crate) fn tiles(engine: Engine, arithmetic: Arithmetic) -> Vec<usize> {
    let all = matches!(arithmetic, Arithmetic::Digits(d) if [d.operator, d.wavefield, d.trim] == [2, 3, 0]);
    let tiles = engine.tiles();
    tiles[..if all { tiles.len() } else { 1 }].iter().copied().map(value).collect()
}

/// Whether a variant takes the Laplacian by digits of bytes.
pub(crate) fn is_variant(variant: &str) -> bool {
    Engine::of(variant).is_some() || variant == plain::VARIANT
}

/// Whether tuned kernels are built for a problem.
pub(crate) fn is_tuned(problem: &WaveProblem, digits: Digits) -> bool {
    problem.grid.active(Axis::Y)
        && RADII.contains(&problem.operator.radius())
        && digits.adaptive == 0
        && BUILT.contains(&[digits.operator, digits.wavefield, digits.trim])
}

/// Entry points that a plan needs.
pub(crate) fn names(variant: &str, problem: &WaveProblem) -> Vec<String> {
    let Arithmetic::Digits(digits) = problem.arithmetic else { return Vec::new() };
    let mut names = vec!["acoustic_iso_peaks".to_owned()];
    match Engine::of(variant) {
        Some(engine) => names.extend(
            tiles(engine, problem.arithmetic).into_iter().map(|tile| name(engine, digits, tile)),
        ),
        None => names.push(plain::KERNEL.to_owned()),
    }
    names
}

fn name(engine: Engine, digits: Digits, tile: usize) -> String {
    let Digits { operator, wavefield, trim, .. } = digits;
    let trim = if trim > 0 { format!("_t{trim}") } else { String::new() };
    let (engine, rows, columns) = (engine.name(), tile / 1000, tile % 1000);
    format!("acoustic_iso_ozaki_{engine}_{operator}x{wavefield}{trim}_y{rows}z{columns}")
}

/// Whether nodes beside the interior are written.
fn has_neighbours(problem: &WaveProblem, layout: &Layout) -> bool {
    !layout.layers.is_empty() || !crate::walls::images(problem).is_empty()
}

/// Elements of the arrays of a plan by what they are for.
pub(crate) fn memory_elements(
    problem: &WaveProblem,
    layout: &Layout,
) -> [(&'static str, usize); 2] {
    let bricks = Bricks::new(problem, layout);
    let all = if layout.interior.is_empty() { 0 } else { bricks.counts().iter().product() };
    let beside = if all > 0 && has_neighbours(problem, layout) { bricks.beside().len() } else { 0 };
    [("largest values of bricks", 2 * all), ("bricks beside the interior", beside)]
}

/// Which kernel steps.
#[derive(Debug)]
enum Kernel {
    Tuned(OzakiShape),
    Plain(Box<Plain>),
}

/// The interior by digits.
#[derive(Debug)]
pub(crate) struct Ozaki {
    kernel: Kernel,
    arguments: TemblorOzaki,
    bricks: Bricks,
    /// Largest values by allocation of wavefields.
    peaks: [Buffer; 2],
    /// Bricks that are looked at after every step, and after every injection.
    beside: Option<Buffer>,
    sources: Option<Buffer>,
}

impl Ozaki {
    /// Prepares a variant's kernel for the interior of `layout`.
    pub(crate) fn new(
        variant: &str,
        problem: &WaveProblem,
        kernels: &Kernels,
        stream: &CudaStream,
        layout: &Layout,
        choices: Choices,
    ) -> Result<Self> {
        let Arithmetic::Digits(digits) = problem.arithmetic else {
            let what = format!("digits of arithmetic {}", problem.arithmetic);
            return Err(Error::Unsupported { backend: ID.into(), what });
        };
        let part = layout.interior;
        let bricks = Bricks::new(problem, layout);
        let mut arguments = operator_of(problem, digits)?;
        arguments.bricks = bricks.counts().map(int);
        let kernel = if let Some(engine) = Engine::of(variant) {
            let tile = if choices.tile == 0 { value(engine.tiles()[0]) } else { choices.tile };
            let [rows, columns] = [tile / 1000, tile % 1000];
            let tiles = [part.extent(1).div_ceil(rows), part.extent(2).div_ceil(columns)];
            arguments.tiles_z = int(tiles[1]);
            arguments.tiles = int(tiles[0] * tiles[1]);
            arguments.planes = int(choices.planes);
            let shape = OzakiShape {
                kernel: name(engine, digits, tile),
                blocks: tiles[0] * tiles[1] * part.extent(0).div_ceil(choices.planes),
                threads: u32::try_from(rows * columns / 4).unwrap_or(u32::MAX),
                shared: engine.shared(
                    [rows, columns],
                    usize::from(digits.wavefield),
                    usize::from(digits.operator + digits.wavefield - 1 - digits.trim),
                ),
            };
            kernels.allow_shared(&shape.kernel)?;
            Kernel::Tuned(shape)
        } else {
            Kernel::Plain(Box::new(Plain::new(problem, digits, &part)?))
        };
        let [(_, all), (_, around)] = memory_elements(problem, layout);
        let list = |places: Vec<usize>| {
            Buffer::of(stream, &places.into_iter().map(int).collect::<Vec<i32>>())
        };
        Ok(Self {
            kernel,
            arguments,
            bricks,
            peaks: [Buffer::zeros(stream, all / 2)?, Buffer::zeros(stream, all / 2)?],
            beside: if around > 0 { Some(list(bricks.beside())?) } else { None },
            sources: None,
        })
    }

    /// Queues one step in the box of `step`, from wavefields 0 and 1 into 1.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &Fields,
    ) -> Result<()> {
        let peaks = [0, 1].map(|wave| self.peaks[fields.slot(wave)].address());
        let (ozaki, fields) = (&self.arguments, fields.step(0, 1, 1));
        match &self.kernel {
            Kernel::Tuned(shape) => kernels.ozaki(stream, shape, step, ozaki, &fields, peaks),
            Kernel::Plain(plain) => kernels.ozaki_plain(stream, plain, step, ozaki, &fields, peaks),
        }
    }

    /// Remembers which bricks sources write to.
    pub(crate) fn watch(&mut self, stream: &CudaStream, table: &SourceTable) -> Result<()> {
        let nodes = table.points.iter().flat_map(|point| point.nodes().map(|(node, _)| node));
        let places: BTreeSet<_> = nodes.filter_map(|node| self.bricks.place_of(node)).collect();
        let places: Vec<i32> = places.into_iter().map(int).collect();
        self.sources = if places.is_empty() { None } else { Some(Buffer::of(stream, &places)?) };
        Ok(())
    }

    /// Queues a look at all that others than the interior's kernel wrote to wavefield 0; at sources'
    /// nodes too if they were `injected`.
    pub(crate) fn look_beside(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &Fields,
        injected: bool,
    ) -> Result<()> {
        let sources = self.sources.as_ref().filter(|_| injected);
        for list in self.beside.iter().chain(sources) {
            let bricks = (list.address(), list.elements());
            self.look(stream, kernels, step, fields, bricks)?;
        }
        Ok(())
    }

    /// Queues a look at all of wavefield 0.
    pub(crate) fn look_everywhere(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &Fields,
    ) -> Result<()> {
        self.look(stream, kernels, step, fields, (0, self.peaks[0].elements()))
    }

    fn look(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &Fields,
        bricks: (u64, usize),
    ) -> Result<()> {
        let (p, peaks) = (fields.node(0), self.peaks[fields.slot(0)].address());
        kernels.peaks(stream, step, &self.arguments, bricks, p, peaks)
    }
}

/// What the kernels know of the operator.
fn operator_of(problem: &WaveProblem, digits: Digits) -> Result<TemblorOzaki> {
    let operator = QuantisedOperator::new(&problem.operator, digits.operator)?;
    let spacing = problem.grid.spacing;
    let mut arguments = TemblorOzaki {
        radius: int(problem.operator.radius()),
        joint: i32::from(
            problem.grid.active(Axis::Y) && spacing[1].to_bits() == spacing[2].to_bits(),
        ),
        ..Default::default()
    };
    // Of tuned kernels, which reach four nodes; the plain one has its own.
    for a in 0..digits.operator {
        let digit = operator.digit(a);
        let taps = &mut arguments.taps[usize::from(a)];
        for (n, word) in taps.iter_mut().enumerate() {
            let (output, first) = (n / 3, 4 * (n % 3));
            *word = i32::from_le_bytes(std::array::from_fn(|k| {
                let distance = (first + k).abs_diff(output + 4);
                digit.get(distance).copied().unwrap_or(0).to_le_bytes()[0]
            }));
        }
    }
    for (axis, units) in arguments.unit.iter_mut().enumerate() {
        // Kept diagonals begin at digit `trim`; every second one weighs 256^2 more.
        let least = f64::from(8 * u32::from(digits.trim)).exp2();
        let unit = operator.scale / (spacing[axis] * spacing[axis]) * least;
        for (unit_of, power) in units.iter_mut().zip([0.0_f64, 16.0, 32.0]) {
            *unit_of = single(unit * power.exp2());
        }
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use temblor_physics::{DigitKind, Grid, Operator};

    use super::*;

    #[test]
    fn taps_are_shifted_digits_of_the_weights() {
        let grid = Grid::new([20, 20, 20], [10.0, 10.0, 12.0], [0.0; 3]).unwrap();
        let digits = Digits { trim: 1, ..Digits::new(DigitKind::Int8, 2, 3) };
        let problem = WaveProblem::builder(grid, 1e-3)
            .operator(Operator::Direct { order: 8 })
            .arithmetic(Arithmetic::Digits(digits))
            .build()
            .unwrap();
        let arguments = operator_of(&problem, digits).unwrap();
        let whole = QuantisedOperator::new(&problem.operator, 2).unwrap();
        assert_eq!((arguments.radius, arguments.joint), (4, 0));
        for output in 0..4_usize {
            let row = |a: usize| -> Vec<i32> {
                let words = &arguments.taps[a][3 * output..][..3];
                words
                    .iter()
                    .flat_map(|w| w.to_le_bytes())
                    .map(|b| i32::from(b.cast_signed()))
                    .collect()
            };
            let weights: Vec<i32> =
                row(0).iter().zip(row(1)).map(|(high, low)| 256 * high + low).collect();
            for (n, weight) in weights.into_iter().enumerate() {
                let expected = whole.integers.get(n.abs_diff(output + 4)).copied().unwrap_or(0);
                assert_eq!(weight, expected, "output {output}, node {n}");
            }
        }
        let unit = 256.0 * whole.scale / 100.0;
        assert!((f64::from(arguments.unit[0][0]) / unit - 1.0).abs() < 1e-7);
        assert!((f64::from(arguments.unit[2][1]) / (unit * 65536.0 / 1.44) - 1.0).abs() < 1e-7);
    }

    #[test]
    fn shared_memory_is_that_of_the_kernels() {
        // Words of values: four quads of four planes of 16 x 32, three of 8 rows and 8 columns beside
        // them, 16 x 8 x 4 sums of four warps, three quads of words of each lane per diagonal.
        let words = 4 * 4 * 16 * 32 + 3 * 4 * (8 * 32 + 8 * 16) + 4 * 512 + 3 * 4 * 32 * 4;
        assert_eq!(Engine::Tensor.shared([16, 32], 3, 4), 4 * (words + 32));
        // Three quads along x of 16 rows of 80, four planes of 6 fours of rows of 64, of 16 rows of 20.
        let words = 3 * 16 * 80 + 4 * 6 * 64 + 4 * 16 * 20;
        assert_eq!(Engine::Four.shared([16, 64], 1, 1), 4 * (words + 32));
    }

    #[test]
    fn tuned_kernels_are_built_for_some_digits_in_three_dimensions() {
        let tuned = |shape: [usize; 3], order: usize, digits: Digits| {
            let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
            let problem = WaveProblem::builder(grid, 1e-3).order(order).build().unwrap();
            is_tuned(&problem, digits)
        };
        let (int8, cube) = (|a, w| Digits::new(DigitKind::Int8, a, w), [20; 3]);
        assert!(tuned(cube, 8, int8(2, 3)) && tuned(cube, 2, Digits { trim: 1, ..int8(2, 3) }));
        assert!(!tuned(cube, 8, int8(3, 1)) && !tuned(cube, 8, Digits { trim: 2, ..int8(2, 3) }));
        assert!(!tuned(cube, 8, Digits { adaptive: 12, ..int8(2, 3) }));
        assert!(!tuned(cube, 10, int8(2, 3)) && !tuned([20, 1, 20], 8, int8(2, 3)));
    }
}
