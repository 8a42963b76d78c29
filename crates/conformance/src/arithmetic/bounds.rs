//! What the error of one application of the Laplacian may be.
//!
//! All errors are root mean squares in the unit of L p. Where the errors of neighbouring values are
//! independent, a stencil with weights w multiplies their size by `|w|`, the root of the sum of its
//! squared weights (`gain`); where they are not, by at most the sum of magnitudes (`reach`).
//!
//! *Signed bytes.* W digits hold a tile's values as multiples of `2^(E - 8W + 1)`, where `2^E` is the
//! least power of two of which the largest value of tile and halo is at most 127.5/128 or so. Rounding
//! errs by `1/sqrt(12)` of a multiple. What the operator's digits err by is known weight by weight. A
//! product that is left out has digits of the wavefield that are spread evenly over -128..127: 74 root
//! mean square.
//!
//! *BF16 digits.* Limbs of 8 bits are rounded to nearest, so that each leaves at most 2^-8 of a power
//! of two at or below what it rounded, of which the next limb keeps one bit more by its sign.
//!
//! *Storage.* What p+ is rounded to; see [`super::storage`]. To either neighbour by chance, as far as makes
//! up for itself, it errs by 0.41 of their distance, to nearest by 0.29; half of it passes.

use ndarray::Array3;
use temblor_physics::{
    Arithmetic, DigitKind, Digits, Operator, QuantisedOperator, WaveProblem, WavefieldStorage,
};

use super::exact::{laplacian, peak, rms};
use super::storage::half_steps;

/// One rounding of FP32, relative.
const ROUNDING: f64 = 0.5 * f32::EPSILON as f64;

/// What a wavefield is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Independent values, uniform in -1..1.
    Uniform,
    /// Plane waves of 8 cells and more per wavelength.
    Waves,
}

/// Bounds of the relative error for order 8: (operator, wavefield) digits, uniform data, waves.
const TABLE: [(u8, u8, f64, f64); 5] = [
    (1, 1, 1e-2, 3e-1),
    (1, 2, 4e-3, 1e-2),
    (2, 2, 4e-5, 1.2e-3),
    (2, 3, 5e-7, 5e-6),
    (3, 3, 5e-7, 5e-6),
];

/// One application: what was multiplied, and what came out in exact arithmetic.
pub(super) struct Applied<'a> {
    pub(super) problem: &'a WaveProblem,
    pub(super) data: Data,
    /// p as the plan holds it.
    pub(super) p: &'a Array3<f64>,
    /// L p.
    pub(super) exact: &'a Array3<f64>,
    /// c^2 dt^2, m^2.
    pub(super) c2dt2: f64,
    /// Nodes that are compared.
    pub(super) of: &'a dyn Fn((usize, usize, usize)) -> bool,
}

impl Applied<'_> {
    /// Largest relative error that passes.
    pub(super) fn bound(&self) -> f64 {
        let norm = rms(self.exact, self.of);
        match self.problem.arithmetic {
            Arithmetic::F64 => 1e-13,
            Arithmetic::Digits(digits) => self.tabled(digits).unwrap_or_else(|| {
                let error = match digits.kind {
                    DigitKind::Int8 => self.bytes(digits),
                    DigitKind::Bf16 => self.limbs(digits),
                };
                // How far the mean square of so many roundings strays, and what smooth data keep of
                // them in step.
                1.1 * (error + self.single()) / norm
            }),
            Arithmetic::Stored(storage) => (self.stored(storage.wavefields) + self.single()) / norm,
            _ if self.in_table() => 1e-6,
            _ => self.single() / norm,
        }
    }

    /// Whether the case is one of the table: order 8, equal spacing or white data.
    fn in_table(&self) -> bool {
        let grid = &self.problem.grid;
        let spacing: Vec<_> = grid.active_axes().map(|a| grid.spacing[a.index()]).collect();
        let equal = spacing.iter().all(|h| h.to_bits() == spacing[0].to_bits());
        let order8 = self.problem.operator == Operator::Direct { order: 8 };
        order8 && (equal || self.data == Data::Uniform)
    }

    /// The bound of the table, where it applies.
    fn tabled(&self, digits: Digits) -> Option<f64> {
        let plain = digits.kind == DigitKind::Int8 && digits.trim == 0 && digits.adaptive == 0;
        if !(plain && self.in_table()) {
            return None;
        }
        let row = TABLE.iter().find(|row| (row.0, row.1) == (digits.operator, digits.wavefield))?;
        Some(if self.data == Data::Uniform { row.2 } else { row.3 })
    }

    /// 1/h^2 of the active axes.
    fn scales(&self) -> impl Iterator<Item = f64> {
        let grid = &self.problem.grid;
        grid.active_axes().map(|axis| grid.spacing[axis.index()].powi(-2))
    }

    /// `|w|` of the whole stencil, whose axes share the centre.
    fn gain(&self, weights: &[f64]) -> f64 {
        let centre: f64 = self.scales().map(|s| s * weights[0]).sum();
        let arms: f64 = self
            .scales()
            .map(|s| 2.0 * s * s * weights[1..].iter().map(|w| w * w).sum::<f64>())
            .sum();
        (centre * centre + arms).sqrt()
    }

    /// Sum of the magnitudes of all weights.
    fn reach(&self, weights: &[f64]) -> f64 {
        let one = weights[0].abs() + 2.0 * weights[1..].iter().map(|w| w.abs()).sum::<f64>();
        self.scales().map(|s| s * one).sum()
    }

    fn weights(&self) -> Vec<f64> {
        self.problem.operator.second_derivative()
    }

    fn quantised(&self, digits: Digits) -> QuantisedOperator {
        quantised(self.problem, digits)
    }

    fn size(&self) -> f64 {
        rms(self.p, |_| true)
    }

    /// FP32 arithmetic: three roundings of what the stencil adds up, of independent signs.
    fn single(&self) -> f64 {
        3.0 * ROUNDING * self.gain(&self.weights()) * self.size()
    }

    fn bytes(&self, digits: Digits) -> f64 {
        let (a_digits, w_digits) = (i32::from(digits.operator), i32::from(digits.wavefield));
        let most = 127.0 * (256.0_f64.powi(w_digits) - 1.0) / 255.0;
        let unit = (f64::from(1 - 8 * w_digits)).exp2();
        let power = (peak(self.p) / (most * unit)).log2().ceil().exp2();
        let step = power * unit;
        let exact = self.weights();
        let integers = self.quantised(digits);
        let off = laplacian(self.problem, &difference(&integers.weights(), &exact), self.p);
        let mut error = rms(&off, self.of) + self.gain(&exact) * step / 12.0_f64.sqrt();
        if digits.adaptive > 0 {
            error += self.gain(&exact) * self.size() * (-f64::from(digits.adaptive)).exp2();
        }
        for (a, b) in dropped(digits) {
            let digit = integers.digit(a);
            let digit: Vec<f64> = digit.iter().map(|d| f64::from(*d) * integers.scale).collect();
            let shift = 256.0_f64.powi(a_digits - 1 - i32::from(a) + w_digits - 1 - i32::from(b));
            // The leading digits of a smooth wavefield are smooth.
            let gain = if b == 0 { self.reach(&digit) } else { self.gain(&digit) };
            error += gain * 74.0 * shift * step;
        }
        error
    }

    /// BF16 limbs; their sums are FP32, a rounding for each of the products that the largest have.
    fn limbs(&self, digits: Digits) -> f64 {
        let left = |limbs: u8| (1.0 - 9.0 * f64::from(limbs)).exp2();
        let weights = self.weights();
        let (gain, reach, size) = (self.gain(&weights), self.reach(&weights), self.size());
        // The centre takes up what the others have lost, of the same sign at the worst. Limbs may also
        // be the bytes of the quantised operator, which BF16 holds.
        let operator = match self.data {
            Data::Uniform => gain + reach,
            Data::Waves => 2.0 * reach,
        };
        let bytes = difference(&self.quantised(digits).weights(), &weights);
        let bytes = rms(&laplacian(self.problem, &bytes, self.p), self.of);
        let mut error = bytes.max(size * operator * left(digits.operator));
        error += size * gain * left(digits.wavefield);
        for (a, b) in dropped(digits) {
            error += size * reach * left(a) * left(b) / left(0).powi(2);
        }
        error + 3.0 * ROUNDING * reach * size
    }

    /// Rounding of what is stored, over c^2 dt^2.
    fn stored(&self, wavefields: WavefieldStorage) -> f64 {
        let next = self.exact * self.c2dt2;
        let mut steps = half_steps(wavefields, &next);
        if wavefields == WavefieldStorage::Int16Increment {
            // The increment is rounded first.
            steps += &half_steps(wavefields, &(&next - self.p));
        }
        rms(&steps, self.of) / self.c2dt2
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Most that one step errs by at any node, over the largest |p^n|, |p^(n-1)| and |p^(n+1)| of its tile and
/// halo: the sum of magnitudes where [`Applied::bound`] has mean squares.
pub(super) fn at_worst(problem: &WaveProblem, c2dt2: f64) -> f64 {
    let weights = problem.operator.second_derivative();
    let over_h2: f64 =
        problem.grid.active_axes().map(|a| problem.grid.spacing[a.index()].powi(-2)).sum();
    let reach = |weights: &[f64]| {
        let arms: f64 = weights[1..].iter().map(|w| w.abs()).sum();
        c2dt2 * over_h2 * (weights[0].abs() + 2.0 * arms)
    };
    let all = reach(&weights);
    // p+ has terms of 2, 1 and `all` times the largest value, each rounded a few times.
    let single = 4.0 * ROUNDING * (3.0 + all);
    let error = match problem.arithmetic {
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Int8 => {
            // 2^E is at most twice the largest value, and a little for digits below 128.
            let step = 1.01 * (2.0 - 8.0 * f64::from(digits.wavefield)).exp2();
            let quantised = quantised(problem, digits);
            let mut error = 0.5 * step * all + reach(&difference(&quantised.weights(), &weights));
            for (a, b) in dropped(digits) {
                let places = digits.operator + digits.wavefield - 2 - a - b;
                let digit = quantised.digit(a);
                let digit: Vec<_> = digit.iter().map(|d| f64::from(*d) * quantised.scale).collect();
                error += 128.0 * step * 256.0_f64.powi(places.into()) * reach(&digit);
            }
            if digits.adaptive > 0 {
                // Errors at a node are up to four times their mean square.
                error += 4.0 * all * (-f64::from(digits.adaptive)).exp2();
            }
            error
        }
        Arithmetic::Digits(digits) => {
            let left = |limbs: u8| (1.0 - 9.0 * f64::from(limbs)).exp2();
            let bytes = reach(&difference(&quantised(problem, digits).weights(), &weights));
            let lost: f64 = dropped(digits).into_iter().map(|(a, b)| left(a + b)).sum();
            bytes.max(2.0 * all * left(digits.operator))
                + all * (left(digits.wavefield) + lost)
                + 54.0 * ROUNDING * all
        }
        Arithmetic::Stored(storage) => {
            // To either neighbour; the increment is up to twice p, and p is rounded after it.
            let half: f64 = match storage.wavefields {
                WavefieldStorage::Int16 => -15.0,
                WavefieldStorage::Int16Increment => -13.0,
                WavefieldStorage::Bf16 => -8.0,
                WavefieldStorage::Bf16Pair => -17.0,
                WavefieldStorage::Fp16 | WavefieldStorage::Fp16Scaled => -11.0,
                _ => -24.0,
            };
            2.0 * half.exp2()
        }
        _ => 0.0,
    };
    error + single
}

/// What a step adds to p of peak one.
pub(super) struct Noise {
    /// Independent from node to node, root mean square.
    pub(super) white: f64,
    /// Largest change of c^2 dt^2 times the symbol that the operator's own rounding makes, beyond what
    /// its quantised weights say.
    pub(super) operator: f64,
}

/// The noise of a step: [`at_worst`] with mean squares.
pub(super) fn noise(problem: &WaveProblem, c2dt2: f64) -> Noise {
    let worst = at_worst(problem, c2dt2);
    // What is spread evenly over its bound has 1/sqrt(3) of it as root mean square.
    let white = worst / 3.0_f64.sqrt();
    let Arithmetic::Digits(digits) = problem.arithmetic else {
        return Noise { white, operator: 0.0 };
    };
    let over_h2: f64 =
        problem.grid.active_axes().map(|a| problem.grid.spacing[a.index()].powi(-2)).sum();
    let reach = |weights: &[f64]| {
        c2dt2
            * over_h2
            * (weights[0].abs() + 2.0 * weights[1..].iter().map(|w| w.abs()).sum::<f64>())
    };
    let weights = problem.operator.second_derivative();
    let bytes = reach(&difference(&quantised(problem, digits).weights(), &weights));
    let limbs = 2.0 * reach(&weights) * (1.0 - 9.0 * f64::from(digits.operator)).exp2();
    let operator = if digits.kind == DigitKind::Int8 { bytes } else { bytes.max(limbs) };
    let white = (worst - operator) / 3.0_f64.sqrt();
    // Quantised weights are known; what limbs leave is not.
    let operator = if digits.kind == DigitKind::Bf16 { operator } else { 0.0 };
    Noise { white, operator }
}

fn quantised(problem: &WaveProblem, digits: Digits) -> QuantisedOperator {
    let quantised = QuantisedOperator::new(&problem.operator, digits.operator);
    quantised.expect("an operator that a plan was made for has integers")
}

/// Pairs of digits whose products are left out.
fn dropped(digits: Digits) -> Vec<(u8, u8)> {
    let kept: Vec<_> = digits.pairs().collect();
    let all = Digits { trim: 0, ..digits };
    all.pairs().filter(|pair| !kept.contains(pair)).collect()
}
