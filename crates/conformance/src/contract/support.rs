//! What a backend says that it can do, and what a plan takes.

use temblor_backend::{Backend, Error, PlanOptions};
use temblor_physics::{Arithmetic, Boundaries, Boundary, BoundaryKind};

use crate::setup::{cpml, minimod, problem, supports};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

pub(super) fn alike(backend: &dyn Backend, variant: &str) -> Outcomes {
    let capabilities = backend.capabilities();
    let mut outcomes = Vec::new();
    let named = capabilities.variants.iter().any(|name| name == variant);
    outcomes.push(Outcome::law("capabilities name the variant", named));
    for arithmetic in [Arithmetic::F32, Arithmetic::F64] {
        for order in (2..=16).step_by(2) {
            for boundary in [Boundary::Zero, Boundary::Free, Boundary::Rigid, cpml(2), minimod(2)] {
                let kind = BoundaryKind::from(&boundary);
                let boundaries = Boundaries::uniform(boundary);
                let problem = problem([9, 7, 12], order, boundaries, arithmetic)?;
                let listed = capabilities.arithmetics.contains(&arithmetic)
                    && capabilities.boundaries.contains(&kind)
                    && (capabilities.orders.0..=capabilities.orders.1).contains(&order);
                let case = format!("{arithmetic:?}, order {order}, {kind:?}");
                match backend.variants(&problem) {
                    Ok(variants) => {
                        let law = format!("variants exist and capabilities list it: {case}");
                        outcomes.push(Outcome::law(law, listed && !variants.is_empty()));
                        for variant in variants {
                            let options = PlanOptions::new(3, 5).variant(&variant.name);
                            let footprint = backend.footprint(&problem, &options)?;
                            let plan = backend.propagator(&problem, &options)?;
                            let law = format!("the variant asked for is made: {case}");
                            outcomes.push(Outcome::law(law, *plan.variant() == variant));
                            // Two wavefields and c^2 dt^2 at the least, in any storage above 8 bit.
                            let least = 3 * problem.grid.points();
                            let law = format!("the footprint holds three grids: {case}");
                            outcomes.push(Outcome::law(law, footprint.total() >= least));
                        }
                    }
                    Err(Error::Unsupported { .. }) => {
                        let options = PlanOptions::new(3, 5);
                        let refused = matches!(
                            backend.propagator(&problem, &options),
                            Err(Error::Unsupported { .. })
                        ) && matches!(
                            backend.footprint(&problem, &options),
                            Err(Error::Unsupported { .. })
                        );
                        let law = format!("refused by all and not listed: {case}");
                        outcomes.push(Outcome::law(law, refused && !listed));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    let options = PlanOptions::new(0, 0).variant("no such variant");
    let zero = Boundaries::uniform(Boundary::Zero);
    let problem = problem([9, 7, 12], 8, zero, Arithmetic::F32)?;
    let unknown = |answer: Result<(), Error>| matches!(answer, Err(Error::Unsupported { .. }));
    let refused = unknown(backend.propagator(&problem, &options).map(|_| ()))
        && unknown(backend.footprint(&problem, &options).map(|_| ()));
    outcomes.push(Outcome::law("an unknown variant is refused by name", refused));
    Ok(outcomes)
}

pub(super) fn beyond_memory(backend: &dyn Backend, variant: &str) -> Outcomes {
    let boundaries = Boundaries::uniform(cpml(20));
    let problem = problem([1 << 13, 1 << 13, 1 << 14], 8, boundaries, Arithmetic::F32)?;
    supports(backend, variant, &problem)?;
    let options = PlanOptions::new(0, 0).variant(variant);
    let total = backend.footprint(&problem, &options)?.total();
    let told = match backend.propagator(&problem, &options) {
        Err(Error::OutOfMemory { needed, available }) => {
            Outcome::law("needed is the footprint", needed == total && available < needed)
        }
        Err(error) => Outcome::law(format!("refused as OutOfMemory, not: {error}"), false),
        Ok(_) => Outcome::law("refused", false),
    };
    Ok(vec![told])
}
