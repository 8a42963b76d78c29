//! The wave speed of each node, in single precision or two bytes.

use ndarray::{Array3, Zip};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Field, Region};
use temblor_physics::{Arithmetic, Operator, SpeedStorage, WaveProblem, WavefieldStorage};

use super::bounds::at_worst;
use super::exact::{laplacian, peak};
use super::storage::half_steps;
use super::{apply, fields, offer};
use crate::{CheckError, Outcome};

const SHAPE: [usize; 3] = [27, 22, 70];

/// Half the distance of wave speeds as they are held, m/s.
fn half_unit(arithmetic: Arithmetic) -> f64 {
    match arithmetic {
        Arithmetic::Stored(storage) if storage.speed == SpeedStorage::Uint16 => {
            (apply::RANGE[1] - apply::RANGE[0]) / 131_070.0
        }
        _ => 0.0,
    }
}

/// Largest error of c^2 dt^2 L p over what rounding may change it by, node by node.
fn worst(backend: &dyn Backend, variant: &str, problem: &WaveProblem) -> Result<f64, CheckError> {
    let mut rng = ChaCha8Rng::seed_from_u64(71);
    let [least, largest] = apply::RANGE;
    let mut speed = Array3::from_shape_simple_fn(SHAPE, || rng.random_range(least..largest));
    // Both ends of the range.
    (speed[[0, 0, 0]], speed[[26, 21, 69]]) = (least, largest);
    let whole = Region::whole(SHAPE);
    let mut plan = apply::plan(backend, variant, problem)?;
    plan.upload(Field::WaveSpeed, whole, speed.view().into())?;
    let [p, next] = apply::step(plan.as_mut(), &fields::uniform(SHAPE, 72))?;
    let l = laplacian(problem, &problem.operator.second_derivative(), &p);
    let c2dt2 = speed.mapv(|c| (c * problem.dt).powi(2));
    let wanted = &l * &c2dt2;
    let mut allowed = match problem.arithmetic {
        Arithmetic::Stored(storage) => {
            let mut steps = half_steps(storage.wavefields, &wanted);
            if storage.wavefields == WavefieldStorage::Int16Increment {
                steps += &half_steps(storage.wavefields, &(&wanted - &p));
            }
            // Either neighbour may be taken, if by chance that makes up for itself.
            steps *= 2.0;
            let mut single = problem.clone();
            single.arithmetic = Arithmetic::F32;
            steps + at_worst(&single, peak(&c2dt2)) * peak(&p)
        }
        _ => Array3::from_elem(SHAPE, at_worst(problem, peak(&c2dt2)) * 2.0 * peak(&p)),
    };
    let half = half_unit(problem.arithmetic);
    Zip::from(&mut allowed).and(&wanted).and(&speed).for_each(|allowed, wanted, c| {
        *allowed += wanted.abs() * ((1.0 + half / c).powi(2) - 1.0);
    });
    Ok(peak(&((next - wanted) / allowed)))
}

pub(super) fn own(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in offer::offered_by(backend, variant) {
        let order8 = Operator::Direct { order: 8 };
        let problem = apply::problem(SHAPE, [10.0; 3], order8, arithmetic)?;
        let what = format!("{arithmetic}: error of c^2 dt^2 L p over what rounding may change");
        outcomes.push(Outcome::new(what, worst(backend, variant, &problem)?, 1.0));
        if half_unit(arithmetic) > 0.0 {
            let mut plan = apply::plan(backend, variant, &problem)?;
            let one = Region { start: [3, 4, 5], shape: [1; 3], stride: [1; 3] };
            for c in [apply::RANGE[0] - 1.0, apply::RANGE[1] + 1.0] {
                let host = Array3::from_elem([1; 3], c);
                let refused = plan.upload(Field::WaveSpeed, one, host.view().into()).is_err();
                let law = format!("{arithmetic}: {c} m/s, outside the range, is refused");
                outcomes.push(Outcome::law(law, refused));
            }
            let law = format!("{arithmetic}: a refused wave speed does not poison");
            outcomes.push(Outcome::law(law, plan.advance(1).is_ok()));
        }
    }
    Ok(outcomes)
}
