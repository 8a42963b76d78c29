//! A plan beside the oracle, step by step from the plan's own state.
//!
//! Before each step the oracle is given what the plan holds, so that an error is that of one step. It is
//! measured against the largest value of a node's surroundings, which hold all that may share an exponent
//! with it: a loud wavefield elsewhere hides nothing.

use ndarray::{Array3, Axis as Dimension, Zip};
use temblor_backend::{Backend, Field, Propagator, Region, SourceTable};
use temblor_cpu::ReferenceBackend;
use temblor_physics::{Arithmetic, DigitKind, WaveProblem};

use super::apply;
use super::exact::peak;
use crate::CheckError;

/// How far away along (x, y, z) values may lie that share an exponent with a node, in tiles that any backend
/// has: stored rows have an exponent per 32 nodes; digits one for a tile (16 x 16 x 64 on `cpu`, 64 x 32 x 64 on
/// `cuda`) and the tiles, or bricks of 4 x 8 x 16, that its halo reaches. What has no exponents sees the stencil.
fn reach(problem: &WaveProblem) -> [usize; 3] {
    let radius = problem.operator.radius();
    match problem.arithmetic {
        Arithmetic::Digits(digits) if digits.kind == DigitKind::Int8 => {
            [63 + radius.next_multiple_of(4), 31 + 8, 63 + 64]
        }
        Arithmetic::Stored(_) => [radius, radius, 31 + radius],
        _ => [radius; 3],
    }
}

/// A plan and the oracle.
pub(super) struct Beside {
    pub(super) plan: Box<dyn Propagator>,
    oracle: Box<dyn Propagator>,
    whole: Region,
    around: [usize; 3],
}

impl Beside {
    pub(super) fn new(
        backend: &dyn Backend,
        variant: &str,
        problem: &WaveProblem,
        sources: &SourceTable,
    ) -> Result<Self, CheckError> {
        let mut exact = problem.clone();
        exact.arithmetic = Arithmetic::F64;
        let mut plan = apply::plan(backend, variant, problem)?;
        let mut oracle = apply::plan(&ReferenceBackend::new(), "loops", &exact)?;
        plan.set_sources(sources)?;
        oracle.set_sources(sources)?;
        let whole = Region::whole(problem.grid.shape);
        Ok(Self { plan, oracle, whole, around: reach(problem) })
    }

    /// Uploads p and p- alike.
    pub(super) fn set(&mut self, p: &Array3<f64>) -> Result<(), CheckError> {
        self.plan.upload(Field::Pressure, self.whole, p.view().into())?;
        Ok(self.plan.upload(Field::PressurePrevious, self.whole, p.view().into())?)
    }

    pub(super) fn get(&mut self, field: Field) -> Result<Array3<f64>, CheckError> {
        let mut values = Array3::zeros(self.whole.shape);
        self.plan.download(field, self.whole, values.view_mut().into())?;
        Ok(values)
    }

    /// One step: the largest error over the largest value around. Infinite where something appears in
    /// silence.
    pub(super) fn step(&mut self) -> Result<f64, CheckError> {
        let held = [Field::Pressure, Field::PressurePrevious]
            .map(|field| self.get(field).map(|values| (field, values)));
        let mut largest = Array3::<f64>::zeros(self.whole.shape);
        let mut widen = |values: &Array3<f64>| {
            largest.zip_mut_with(values, |m, v| *m = m.max(v.abs()));
        };
        for field in held {
            let (field, values) = field?;
            widen(&values);
            self.oracle.upload(field, self.whole, values.view().into())?;
        }
        self.plan.advance(1)?;
        self.oracle.advance(1)?;
        let got = self.get(Field::Pressure)?;
        let mut wanted = Array3::zeros(self.whole.shape);
        self.oracle.download(Field::Pressure, self.whole, wanted.view_mut().into())?;
        widen(&wanted);
        let around = largest_around(&largest, self.around);
        let mut errors = got - wanted;
        Zip::from(&mut errors).and(&around).for_each(|error, around| {
            *error = if *error == 0.0 { 0.0 } else { *error / around };
        });
        Ok(peak(&errors))
    }
}

/// The largest value within a box around each node.
fn largest_around(values: &Array3<f64>, reach: [usize; 3]) -> Array3<f64> {
    let mut out = values.clone();
    for (axis, reach) in reach.into_iter().enumerate() {
        for mut lane in out.lanes_mut(Dimension(axis)) {
            let line = lane.to_vec();
            lane.iter_mut().zip(sliding(&line, reach)).for_each(|(to, from)| *to = from);
        }
    }
    out
}

/// The largest value within `reach` of each, by windows that double.
fn sliding(line: &[f64], reach: usize) -> Vec<f64> {
    let width = 2 * reach + 1;
    let mut largest = vec![0.0; line.len() + 2 * reach];
    largest[reach..reach + line.len()].copy_from_slice(line);
    let mut covered = 1;
    while 2 * covered <= width {
        for n in 0..largest.len() - covered {
            largest[n] = f64::max(largest[n], largest[n + covered]);
        }
        covered *= 2;
    }
    (0..line.len()).map(|n| largest[n].max(largest[n + width - covered])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_share_an_exponent_with_a_cell_and_the_bricks_that_its_halo_reaches() {
        let around = |order| {
            let operator = temblor_physics::Operator::Direct { order };
            let arithmetic = "int8-2x3".parse().unwrap();
            reach(&apply::problem([9, 8, 7], [10.0; 3], operator, arithmetic).unwrap())
        };
        // From the first of 64 planes to the last of the one or two bricks of 4 beyond them.
        assert_eq!(around(2), [67, 39, 127]);
        assert_eq!(around(8), [67, 39, 127]);
        assert_eq!(around(16), [71, 39, 127]);
    }

    #[test]
    fn surroundings_reach_as_far_as_they_say() {
        let mut values = Array3::zeros([5, 1, 9]);
        values[[2, 0, 4]] = 3.0;
        let around = largest_around(&values, [1, 0, 2]);
        for ((i, _, k), value) in around.indexed_iter() {
            let near = i.abs_diff(2) <= 1 && k.abs_diff(4) <= 2;
            assert!(value.to_bits() == if near { 3.0_f64 } else { 0.0 }.to_bits(), "{i} {k}");
        }
    }
}
