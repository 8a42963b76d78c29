//! The Laplacian of digits, node by node, less the exact one.

use std::collections::HashMap;

use ndarray::{Array3, Axis as Dimension, Slice, s};
use temblor_physics::{Arithmetic, Axis, DigitKind, Digits, WaveProblem, boundary};

use super::Fault;
use super::integers::{Integers, digit};
use crate::arithmetic::exact::peak;

/// Nodes of a tile along (x, y, z).
const TILE: [usize; 3] = [16, 16, 32];

/// What does the products of a plan.
pub(super) struct Engine {
    problem: WaveProblem,
    digits: Digits,
    fault: Option<Fault>,
    weights: Vec<f64>,
    /// For each digit of the wavefield the weights that it is multiplied with.
    operator: Vec<Vec<f64>>,
    /// Largest values of tiles as they were a step ago.
    carried: HashMap<[usize; 3], f64>,
}

impl Engine {
    /// None where the arithmetic takes no digits.
    pub(super) fn new(problem: &WaveProblem, fault: Option<Fault>) -> Option<Self> {
        let Arithmetic::Digits(digits) = problem.arithmetic else { return None };
        let weights = problem.operator.second_derivative();
        let operator = operator(digits, &weights, fault);
        let (problem, carried) = (problem.clone(), HashMap::new());
        Some(Self { problem, digits, fault, weights, operator, carried })
    }

    /// Forgets what tiles held.
    pub(super) fn forget(&mut self) {
        self.carried.clear();
    }

    /// What an arithmetic makes of L p, less L p.
    pub(super) fn difference(&mut self, p: &Array3<f64>) -> Array3<f64> {
        let radius = self.weights.len() - 1;
        let padded = with_images(&self.problem, p, radius);
        let mut out = Array3::zeros(p.raw_dim());
        let shape = self.problem.grid.shape;
        let first = |axis: usize| (0..shape[axis]).step_by(TILE[axis]);
        for x in first(0) {
            for y in first(1) {
                for z in first(2) {
                    let start = [x, y, z];
                    let count: [usize; 3] =
                        std::array::from_fn(|a| TILE[a].min(shape[a] - start[a]));
                    let [i, j, k]: [usize; 3] = std::array::from_fn(|a| {
                        start[a] + count[a] + 2 * margin(&self.problem, a, radius)
                    });
                    let halo = padded.slice(s![x..i, y..j, z..k]).to_owned();
                    let tile = Tile { engine: self, halo, count };
                    let power = tile.power(self.carried.get(&start).copied());
                    let found = tile.differences(power);
                    let centre = s![x..x + count[0], y..y + count[1], z..z + count[2]];
                    self.carried.insert(start, peak(&p.slice(centre).to_owned()));
                    out.slice_mut(centre).assign(&found);
                }
            }
        }
        out
    }
}

fn margin(problem: &WaveProblem, axis: usize, radius: usize) -> usize {
    if problem.grid.active(Axis::ALL[axis]) { radius } else { 0 }
}

/// p with `radius` nodes of images, or zeros, on every side of active axes.
fn with_images(problem: &WaveProblem, p: &Array3<f64>, radius: usize) -> Array3<f64> {
    let mut grown = p.clone();
    for axis in problem.grid.active_axes() {
        let (dimension, (min, max)) = (Dimension(axis.index()), problem.ends(axis));
        let nodes = problem.grid.shape[axis.index()];
        let mut shape = grown.raw_dim();
        shape[axis.index()] += 2 * radius;
        let mut next = Array3::zeros(shape);
        for at in 0..nodes + 2 * radius {
            let node = at.cast_signed() - radius.cast_signed();
            if let Some((from, sign)) = boundary::image(node, nodes, &min, &max) {
                let mut plane = next.index_axis_mut(dimension, at);
                plane.assign(&grown.index_axis(dimension, from));
                plane *= sign;
            }
        }
        grown = next;
    }
    grown
}

struct Tile<'a> {
    engine: &'a Engine,
    /// Values with their halo.
    halo: Array3<f64>,
    /// Nodes of the tile itself.
    count: [usize; 3],
}

impl Tile<'_> {
    fn margin(&self, axis: usize) -> usize {
        margin(&self.engine.problem, axis, self.engine.weights.len() - 1)
    }

    /// Values of the tile moved by `away` nodes along an axis.
    fn moved(&self, field: &Array3<f64>, axis: usize, away: isize) -> Array3<f64> {
        let mut view = field.view();
        for a in 0..3 {
            let start = self.margin(a).cast_signed() + if a == axis { away } else { 0 };
            view.slice_axis_inplace(
                Dimension(a),
                Slice::from(start..start + self.count[a].cast_signed()),
            );
        }
        view.to_owned()
    }

    /// 2^E.
    fn power(&self, before: Option<f64>) -> f64 {
        let own = peak(&self.moved(&self.halo, 0, 0));
        let largest = match self.engine.fault {
            Some(Fault::DropsOverflow) => own,
            Some(Fault::CarriesBlindly) => before.map_or(peak(&self.halo), |p| 2.0 * p),
            _ => peak(&self.halo),
        };
        (largest / self.most()).log2().ceil().exp2()
    }

    /// Largest value that the digits hold, over 2^E.
    fn most(&self) -> f64 {
        let w = i32::from(self.engine.digits.wavefield);
        127.0 * (256.0_f64.powi(w) - 1.0) / 255.0 * self.unit()
    }

    /// Distance of values, over 2^E.
    fn unit(&self) -> f64 {
        (1.0 - 8.0 * f64::from(self.engine.digits.wavefield)).exp2()
    }

    fn differences(&self, power: f64) -> Array3<f64> {
        let mut halo = self.halo.clone();
        if self.engine.fault == Some(Fault::SilencesNan) {
            halo.mapv_inplace(|v| if v.is_finite() { v } else { 0.0 });
        }
        if halo.iter().all(|v| *v == 0.0) {
            return Array3::zeros(self.count);
        }
        if halo.iter().any(|v| !v.is_finite()) {
            return Array3::from_elem(self.count, f64::NAN);
        }
        if peak(&halo) < (-120.0_f64).exp2() {
            let rest =
                if self.engine.fault == Some(Fault::UnderflowsToNan) { f64::NAN } else { 0.0 };
            return Array3::from_elem(self.count, rest);
        }
        let limbs = self.limbs(&halo, power);
        let mut parts = Vec::new();
        for axis in self.engine.problem.grid.active_axes() {
            let read = if self.engine.fault == Some(Fault::SwapsAxes) {
                2 - axis.index()
            } else {
                axis.index()
            };
            let h2 = self.engine.problem.grid.spacing[axis.index()].powi(2);
            let mut sum = Array3::zeros(self.count);
            for (limb, weights) in limbs.iter().zip(&self.engine.operator) {
                for (r, weight) in weights.iter().enumerate() {
                    for away in
                        if r == 0 { vec![0] } else { vec![r.cast_signed(), -r.cast_signed()] }
                    {
                        sum.scaled_add(weight / h2, &self.moved(limb, read, away));
                    }
                }
            }
            parts.push((axis.index(), sum));
        }
        let mut total = self.exact(&halo);
        total *= -1.0;
        for (axis, part) in &parts {
            for ((i, j, k), value) in total.indexed_iter_mut() {
                // Row r and column (a, b) of a product are (x; y, z), (y; x, z) or (z; x, y).
                let mixed = match axis {
                    1 => [j, i, k],
                    2 => [j, k, i],
                    _ => [i, j, k],
                };
                let mixes = self.engine.fault == Some(Fault::MixesAxes);
                *value +=
                    if mixes { part.get(mixed).copied().unwrap_or(0.0) } else { part[[i, j, k]] };
            }
        }
        total
    }

    /// L p of the tile in double precision.
    fn exact(&self, halo: &Array3<f64>) -> Array3<f64> {
        let mut sum = Array3::zeros(self.count);
        for axis in self.engine.problem.grid.active_axes() {
            let h2 = self.engine.problem.grid.spacing[axis.index()].powi(2);
            for (r, weight) in self.engine.weights.iter().enumerate() {
                for away in if r == 0 { vec![0] } else { vec![r.cast_signed(), -r.cast_signed()] } {
                    sum.scaled_add(weight / h2, &self.moved(halo, axis.index(), away));
                }
            }
        }
        sum
    }

    /// The digits, each over its place: what they stand for is their sum.
    fn limbs(&self, halo: &Array3<f64>, power: f64) -> Vec<Array3<f64>> {
        let count = self.engine.digits.wavefield;
        if self.engine.digits.kind == DigitKind::Bf16 {
            let mut rest = halo.clone();
            return (0..count)
                .map(|_| {
                    let limb = rest.mapv(bf16);
                    rest -= &limb;
                    limb
                })
                .collect();
        }
        let step = power * self.unit();
        let most = self.most() * power;
        let whole = halo.mapv(|v| {
            if v.abs() > most {
                return 0;
            }
            let count = v / step;
            #[expect(clippy::cast_possible_truncation, reason = "below 2^24")]
            let whole = match self.engine.fault {
                Some(Fault::Truncates) => count.trunc() as i64,
                _ => count.round_ties_even() as i64,
            };
            whole
        });
        (0..count)
            .map(|b| {
                let place = count - 1 - b;
                let worth = step * 256.0_f64.powi(i32::from(place));
                whole.mapv(|q| digit(q, place) as f64 * worth)
            })
            .collect()
    }
}

/// For each digit of the wavefield the weights that it is multiplied with: all digits of the
/// operator whose products with it are kept.
fn operator(digits: Digits, weights: &[f64], fault: Option<Fault>) -> Vec<Vec<f64>> {
    let count = digits.operator;
    let places: Vec<Vec<f64>> = if digits.kind == DigitKind::Bf16 {
        let mut rest = weights.to_vec();
        (0..count)
            .map(|_| {
                let mut limb: Vec<f64> = rest.iter().map(|w| bf16(*w)).collect();
                // The centre makes up for what the others lose.
                limb[0] =
                    bf16(rest[0] + 2.0 * (1..rest.len()).map(|r| rest[r] - limb[r]).sum::<f64>());
                rest.iter_mut().zip(&limb).for_each(|(w, l)| *w -= l);
                limb
            })
            .collect()
    } else {
        let mut integers = Integers::of(weights, count);
        if fault == Some(Fault::NoRefit) {
            integers = Integers::rounded(weights, count);
        }
        if fault == Some(Fault::ScaleOfTwo) {
            integers.scale = integers.scale.log2().round().exp2();
        }
        (0..count)
            .map(|a| {
                let worth = integers.scale * 256.0_f64.powi(i32::from(count - 1 - a));
                integers.digit(a).map(|d| d * worth).collect()
            })
            .collect()
    };
    let mut pairs: Vec<_> = digits.pairs().collect();
    if fault == Some(Fault::DropsLeading) {
        pairs.retain(|pair| *pair != (0, 0));
    }
    (0..digits.wavefield)
        .map(|b| {
            let mut sum = vec![0.0; weights.len()];
            for (a, _) in pairs.iter().filter(|pair| pair.1 == b) {
                sum.iter_mut().zip(&places[usize::from(*a)]).for_each(|(s, w)| *s += w);
            }
            sum
        })
        .collect()
}

/// The nearest number of 8 bits.
fn bf16(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let step = (value.abs().log2().floor() - 7.0).exp2();
    (value / step).round_ties_even() * step
}
