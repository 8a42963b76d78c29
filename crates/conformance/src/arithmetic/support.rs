//! What is offered is what the table says, in every call that can tell.

use temblor_backend::{Backend, Error, PlanOptions};
use temblor_physics::{Arithmetic, Operator, SpeedStorage, WaveProblem};

use super::{Kind, apply, offer};
use crate::{CheckError, Outcome};

/// What a backend answers to a problem on a variant.
fn answers(
    backend: &dyn Backend,
    variant: &str,
    problem: &WaveProblem,
) -> Result<[bool; 3], CheckError> {
    let unknown = |error: Error| match error {
        Error::Unsupported { .. } => Ok(false),
        error => Err(error),
    };
    let options = PlanOptions::new(0, 0).variant(variant).speeds(1500.0, 4500.0);
    let listed = offer::lists(backend, variant, problem)?;
    let footprint = backend.footprint(problem, &options).map_or_else(unknown, |_| Ok(true))?;
    let plan = backend.propagator(problem, &options).map_or_else(unknown, |_| Ok(true))?;
    Ok([listed, footprint, plan])
}

pub(super) fn offers(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    let id = &backend.device().backend;
    let order8 = Operator::Direct { order: 8 };
    for arithmetic in offer::catalogue() {
        let problem = apply::problem([24, 20, 40], [10.0; 3], order8, arithmetic)?;
        let offered = offer::offered(id, variant, arithmetic);
        let alike = answers(backend, variant, &problem)? == [offered; 3];
        let word = if offered { "offered" } else { "refused" };
        outcomes
            .push(Outcome::law(format!("{arithmetic} is {word} by all, as OFFERS says"), alike));
        if !offered {
            continue;
        }
        // Of digits they list some: there are too many.
        let known = backend.capabilities().arithmetics.iter().any(|&listed| match arithmetic {
            Arithmetic::Digits(d) => Kind::Digits(d.kind).holds(listed),
            _ => listed == arithmetic,
        });
        outcomes.push(Outcome::law(format!("capabilities list {arithmetic} or its like"), known));
        let blind = PlanOptions::new(0, 0).variant(variant);
        if matches!(arithmetic, Arithmetic::Stored(s) if s.speed == SpeedStorage::Uint16) {
            let refused =
                matches!(backend.propagator(&problem, &blind), Err(Error::Invalid { .. }));
            let law = format!("{arithmetic} is refused without the range of the wave speed");
            outcomes.push(Outcome::law(law, refused));
        }
    }
    Ok(outcomes)
}
