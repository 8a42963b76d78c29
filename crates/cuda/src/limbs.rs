//! The interior by BF16 limbs (`acoustic_iso_limbs_*`): an oracle for engines that multiply BF16.

use cudarc::driver::CudaStream;
use temblor_backend::Result;
use temblor_physics::{Arithmetic, Axis, DigitKind, Digits, WaveProblem};

use crate::arguments::{TemblorLimbs, TemblorStep};
use crate::layers::single;
use crate::layout::Layout;
use crate::module::{Kernels, StepFields, int};

/// Rows and columns of a block's tile, as in the kernel.
const TILE: [usize; 2] = [32, 32];

/// Nodes that taps reach at most, as in the kernel.
const REACH: usize = 4;

/// The limbs of a variant, if it is one by limbs.
pub(crate) fn digits(variant: &str, arithmetic: Arithmetic) -> Option<Digits> {
    match arithmetic {
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Bf16 && variant == "ozaki_mma" => {
            Some(digits)
        }
        _ => None,
    }
}

/// Why the kernels cannot do a problem, if so.
pub(crate) fn refusal(problem: &WaveProblem) -> Option<String> {
    let radius = problem.operator.radius();
    if !problem.grid.active(Axis::Y) {
        return Some("BF16 digits in 2-D: their kernels step a 3-D grid; take int8 digits".into());
    }
    (radius > REACH).then(|| {
        format!("BF16 digits of an operator of radius {radius}: 1 to {REACH} can be had; take int8")
    })
}

/// Entry point.
pub(crate) fn name(digits: Digits) -> String {
    format!("acoustic_iso_limbs_{}x{}", digits.operator, digits.wavefield)
}

/// The interior by limbs.
#[derive(Debug)]
pub(crate) struct Limbs {
    name: String,
    blocks: usize,
    arguments: TemblorLimbs,
}

impl Limbs {
    /// Prepares the kernel for the interior of `layout`.
    pub(crate) fn new(problem: &WaveProblem, layout: &Layout, digits: Digits) -> Self {
        let [rows, columns] = [1, 2].map(|a| layout.interior.extent(a).div_ceil(TILE[a - 1]));
        let mut arguments = TemblorLimbs {
            tiles_z: int(columns),
            radius: int(problem.operator.radius()),
            kept: i32::from(digits.operator + digits.wavefield - 1 - digits.trim),
            ..Default::default()
        };
        let weights = problem.operator.second_derivative();
        for (taps, spacing) in arguments.taps.iter_mut().zip(problem.grid.spacing) {
            let scaled: Vec<f64> = weights.iter().map(|w| w / (spacing * spacing)).collect();
            let limbs = limbs_of(&scaled, usize::from(digits.operator));
            for (a, limb) in limbs.iter().enumerate() {
                for (tap, &bits) in taps[(REACH + 1) * a..].iter_mut().zip(limb) {
                    *tap = i32::from(bits);
                }
            }
        }
        Self { name: name(digits), blocks: rows * columns, arguments }
    }

    /// Queues one step in the box of `step`.
    pub(crate) fn step(
        &self,
        stream: &CudaStream,
        kernels: &Kernels,
        step: &TemblorStep,
        fields: &StepFields,
    ) -> Result<()> {
        kernels.limbs(stream, &self.name, self.blocks, step, &self.arguments, fields)
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
    fn what_no_kernel_does_is_refused_with_what_one_does() {
        let refused = |shape: [usize; 3], order: usize| {
            let grid = Grid::new(shape, [10.0; 3], [0.0; 3]).unwrap();
            refusal(&WaveProblem::builder(grid, 1e-3).order(order).build().unwrap())
        };
        assert_eq!(refused([20; 3], 8), None);
        assert!(refused([20; 3], 12).unwrap().contains("1 to 4"));
        assert!(refused([20, 1, 20], 8).unwrap().contains("int8"));
    }
}
