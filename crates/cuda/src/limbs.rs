//! The interior by BF16 limbs (`acoustic_iso_limbs_*`), on tensor cores or by plain loops: an oracle for
//! engines that multiply BF16.

use cudarc::driver::CudaStream;
use temblor_backend::Result;
use temblor_physics::{Arithmetic, Axis, DigitKind, Digits, WaveProblem};

use crate::arguments::{TemblorLimbs, TemblorLimbsPlain, TemblorStep};
use crate::layers::single;
use crate::layout::Layout;
use crate::module::{Kernels, StepFields, int};
use crate::ozaki::TENSOR;
use crate::ozaki::plain::VARIANT as PLAIN;

/// Rows and columns of a block's tile, as in the kernel on tensor cores.
const TILE: [usize; 2] = [32, 32];

/// Nodes that taps reach at most on tensor cores, and in the plain kernel.
const REACH: [usize; 2] = [4, 8];

/// The limbs of a variant, if it is one by limbs.
pub(crate) fn digits(variant: &str, arithmetic: Arithmetic) -> Option<Digits> {
    match arithmetic {
        Arithmetic::Digits(digits)
            if digits.kind == DigitKind::Bf16 && [TENSOR, PLAIN].contains(&variant) =>
        {
            Some(digits)
        }
        _ => None,
    }
}

/// Whether the kernel on tensor cores can do a problem.
pub(crate) fn is_tuned(problem: &WaveProblem) -> bool {
    problem.grid.active(Axis::Y) && problem.operator.radius() <= REACH[0]
}

/// Entry point.
pub(crate) fn name(variant: &str, digits: Digits) -> String {
    if variant == PLAIN {
        "acoustic_iso_limbs_plain".into()
    } else {
        format!("acoustic_iso_limbs_{}x{}", digits.operator, digits.wavefield)
    }
}

/// The interior by limbs.
#[derive(Debug)]
pub(crate) enum Limbs {
    /// On tensor cores: entry point, blocks, arguments.
    Tensor(String, usize, Box<TemblorLimbs>),
    /// By plain loops.
    Plain(Box<TemblorLimbsPlain>),
}

impl Limbs {
    /// Prepares a variant's kernel for the interior of `layout`.
    pub(crate) fn new(
        variant: &str,
        problem: &WaveProblem,
        layout: &Layout,
        digits: Digits,
    ) -> Self {
        let radius = int(problem.operator.radius());
        let kept = i32::from(digits.operator + digits.wavefield - 1 - digits.trim);
        if variant == PLAIN {
            let mut taps = [[0; 27]; 3];
            fill(problem, digits, &mut taps, REACH[1]);
            let digits = digits.wavefield.into();
            return Self::Plain(Box::new(TemblorLimbsPlain { digits, radius, kept, taps }));
        }
        let [rows, columns] = [1, 2].map(|a| layout.interior.extent(a).div_ceil(TILE[a - 1]));
        let mut taps = [[0; 15]; 3];
        fill(problem, digits, &mut taps, REACH[0]);
        let arguments = TemblorLimbs { tiles_z: int(columns), radius, kept, taps };
        Self::Tensor(name(variant, digits), rows * columns, Box::new(arguments))
    }

    /// Queues one step in the box of `step`.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &StepFields,
    ) -> Result<()> {
        match self {
            Self::Tensor(name, blocks, limbs) => {
                kernels.limbs(stream, name, *blocks, step, limbs, fields)
            }
            Self::Plain(limbs) => kernels.limbs_plain(stream, step, limbs, fields),
        }
    }
}

/// Limbs of the weights over the spacing squared along each axis, those of a limb up to distance `reach`.
fn fill<const N: usize>(
    problem: &WaveProblem,
    digits: Digits,
    taps: &mut [[i32; N]; 3],
    reach: usize,
) {
    let weights = problem.operator.second_derivative();
    for (taps, spacing) in taps.iter_mut().zip(problem.grid.spacing) {
        let scaled: Vec<f64> = weights.iter().map(|w| w / (spacing * spacing)).collect();
        let limbs = limbs_of(&scaled, usize::from(digits.operator));
        for (a, limb) in limbs.iter().enumerate() {
            for (tap, &bits) in taps[(reach + 1) * a..].iter_mut().zip(limb) {
                *tap = i32::from(bits);
            }
        }
    }
}

/// The nearest BF16's bits, ties to even.
fn rounded(value: f64) -> u16 {
    let bits = single(value).to_bits();
    u16::try_from((bits + 0x7fff + (bits >> 16 & 1)) >> 16).unwrap_or(u16::MAX)
}

fn value(limb: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(limb) << 16))
}

/// Limbs of weights, centre first, by limb. The centre is what the others, as limbs hold them, add up to:
/// what is left of the sum is the centre's own rounding, 2^-9 of it per limb, which is 4e-6 of it for two
/// limbs and below FP32's rounding for three.
fn limbs_of(weights: &[f64], count: usize) -> Vec<Vec<u16>> {
    let split = |weight: f64| {
        let mut left = weight;
        let limbs: Vec<u16> = (0..count)
            .map(|_| {
                let limb = rounded(left);
                left -= value(limb);
                limb
            })
            .collect();
        (limbs, weight - left)
    };
    let outer: Vec<_> = weights[1..].iter().map(|&w| split(w)).collect();
    let centre = split(-2.0 * outer.iter().map(|(_, held)| held).sum::<f64>());
    (0..count)
        .map(|a| [&centre].into_iter().chain(&outer).map(|(limbs, _)| limbs[a]).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Grid, Operator};

    use super::*;

    #[test]
    fn limbs_add_up_to_the_weights_and_the_weights_to_nothing() {
        let weights: Vec<f64> =
            Operator::Direct { order: 8 }.second_derivative().iter().map(|w| w / 144.0).collect();
        for count in 1..=3 {
            let limbs = limbs_of(&weights, count);
            let of = |r: usize| limbs.iter().map(|limb| value(limb[r])).sum::<f64>();
            // Nine bits a limb: eight of significand, and a sign for what is left. Three limbs stop at
            // the f32 that the first is rounded from.
            let bound = 2.0_f64.powi(-9 * i32::try_from(count).unwrap()).max(2.0_f64.powi(-24));
            for (r, weight) in weights.iter().enumerate().skip(1) {
                assert!((of(r) - weight).abs() <= bound * weight.abs(), "{count} limbs, tap {r}");
            }
            let sum = of(0) + 2.0 * (1..weights.len()).map(of).sum::<f64>();
            assert!(sum.abs() <= bound * weights[0].abs(), "{count} limbs: {sum:e}");
        }
    }

    #[test]
    fn the_plain_kernel_gets_the_taps_of_the_other_and_more() {
        let problem = |shape: [usize; 3], order: usize| {
            let grid = Grid::new(shape, [10.0, 11.0, 12.0], [0.0; 3]).unwrap();
            WaveProblem::builder(grid, 1e-3).order(order).build().unwrap()
        };
        let digits = Digits::new(DigitKind::Bf16, 2, 3);
        let (mut few, mut many) = ([[0; 15]; 3], [[0; 27]; 3]);
        fill(&problem([20; 3], 8), digits, &mut few, REACH[0]);
        fill(&problem([20; 3], 8), digits, &mut many, REACH[1]);
        for axis in 0..3 {
            for a in 0..3 {
                assert_eq!(few[axis][5 * a..][..5], many[axis][9 * a..][..5]);
                assert_eq!(many[axis][9 * a + 5..][..4], [0; 4]);
            }
        }
        assert!(is_tuned(&problem([20; 3], 8)) && !is_tuned(&problem([20; 3], 10)));
        assert!(!is_tuned(&problem([20, 1, 20], 8)));
    }
}
