//! The plain kernel by digits (`acoustic_iso_ozaki_plain`): any counts of digits, any dropped products,
//! fewer digits where a cell's own range allows, radius 1 to 8, 2-D and 3-D. For what the tuned
//! kernels are not built for, and to check those.

use temblor_backend::Result;
use temblor_physics::{Digits, QuantisedOperator, WaveProblem};

use crate::arguments::TemblorOzakiPlain;
use crate::bricks::BRICK;
use crate::layers::single;
use crate::layout::NodeBox;

/// The variant.
pub(crate) const VARIANT: &str = "ozaki_plain";

/// Entry point.
pub(crate) const KERNEL: &str = "acoustic_iso_ozaki_plain";

/// Bricks of a block along (x, y, z), as in the kernel.
const BLOCK: [usize; 3] = [1, 2, 4];

/// What a launch needs besides what all kernels by digits take.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) blocks: usize,
    pub(crate) arguments: TemblorOzakiPlain,
}

impl Plain {
    /// Prepares the kernel for the bricks of an interior.
    ///
    /// # Errors
    /// As [`QuantisedOperator::new`].
    pub(crate) fn new(problem: &WaveProblem, digits: Digits, part: &NodeBox) -> Result<Self> {
        let operator = QuantisedOperator::new(&problem.operator, digits.operator)?;
        let mut arguments = TemblorOzakiPlain {
            digits: digits.wavefield.into(),
            trim: digits.trim.into(),
            adaptive: digits.adaptive.into(),
            unit: problem.grid.spacing.map(|h| single(operator.scale / (h * h))),
            ..Default::default()
        };
        for a in 0..digits.operator {
            // The kernel counts digits from the least.
            let taps = &mut arguments.taps[usize::from(digits.operator - 1 - a)];
            for (tap, digit) in taps.iter_mut().zip(operator.digit(a)) {
                *tap = digit.into();
            }
        }
        let blocks = (0..3).map(|a| part.extent(a).div_ceil(BRICK[a] * BLOCK[a])).product();
        Ok(Self { blocks, arguments })
    }
}

#[cfg(test)]
mod tests {
    use temblor_physics::{Arithmetic, DigitKind, Grid, Operator};

    use super::*;

    #[test]
    fn digits_of_the_weights_begin_with_the_least() {
        let grid = Grid::new([20, 1, 20], [10.0, 1.0, 12.0], [0.0; 3]).unwrap();
        let operator = Operator::Direct { order: 16 };
        let digits = Digits { trim: 1, adaptive: 9, ..Digits::new(DigitKind::Int8, 2, 3) };
        let problem = WaveProblem::builder(grid, 1e-3)
            .operator(operator)
            .arithmetic(Arithmetic::Digits(digits))
            .build()
            .unwrap();
        let part = NodeBox { begin: [0; 3], end: [13, 1, 65] };
        let plain = Plain::new(&problem, digits, &part).unwrap();
        let whole = QuantisedOperator::new(&operator, 2).unwrap();
        let taps = plain.arguments.taps;
        for (r, &n) in whole.integers.iter().enumerate() {
            assert_eq!(256 * taps[1][r] + taps[0][r], n, "distance {r}");
        }
        assert_eq!(taps[2], [0; 9]);
        let TemblorOzakiPlain { digits, trim, adaptive, unit, .. } = plain.arguments;
        assert_eq!((digits, trim, adaptive), (3, 1, 9));
        assert!((f64::from(unit[2]) / (whole.scale / 144.0) - 1.0).abs() < 1e-7);
        // Four bricks of 4 planes, and two groups of four bricks of 16 columns.
        assert_eq!(plain.blocks, 4 * 2);
    }
}
