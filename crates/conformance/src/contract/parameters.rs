//! Parameters: every value of each gives the bits of the default.

use temblor_backend::{Backend, Error, Parameters};

use super::{refused, small_of};
use crate::setup::{Case, Final};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

/// Steps: enough for graphs of 64 after the three that a saved state has behind it.
const STEPS: u32 = 70;

/// One longer along x and z than the shortest marches and the narrowest tiles that backends have, one
/// with many rows; no multiples of any.
const SHAPES: [[usize; 3]; 2] = [[117, 17, 141], [12, 150, 33]];

pub(super) fn same_bits(backend: &dyn Backend, variant: &str) -> Outcomes {
    let [case, rows] = SHAPES
        .map(|shape| Ok::<_, CheckError>(Case::random(&small_of(shape, 8)?.problem, STEPS, 8)));
    let (case, rows) = (case?, rows?);
    let known = backend.parameters(&case.problem, variant)?;
    let one = |name: &str, value: u32| Parameters::from([(name.to_owned(), value)]);
    let options = |asked: &Parameters| case.options(variant).parameters(asked.clone());
    let by = |error: &Error| matches!(error, Error::Unsupported { .. });
    let mut outcomes = Vec::new();
    let mut refuse = |what: &str, asked: &Parameters| {
        let plan = backend.propagator(&case.problem, &options(asked)).map(|_| ());
        outcomes.push(refused(format!("{what} by propagator"), plan, by));
        let footprint = backend.footprint(&case.problem, &options(asked));
        outcomes.push(refused(format!("{what} by footprint"), footprint, by));
    };
    refuse("an unknown parameter", &one("no such parameter", 1));
    for parameter in &known {
        let most = parameter.values.iter().max().copied().unwrap_or(0);
        refuse(&format!("an unknown value of {}", parameter.name), &one(&parameter.name, most + 1));
    }
    let unknown = backend.parameters(&case.problem, "no such variant");
    outcomes.push(refused("parameters of an unknown variant", unknown, by));
    if known.is_empty() {
        return Ok(outcomes);
    }

    let mut choices = Vec::new();
    for parameter in &known {
        let values = &parameter.values;
        let sound = values.is_sorted_by(|a, b| a < b) && values.contains(&parameter.default);
        let law = format!("{}: values ascend and hold the default", parameter.name);
        outcomes.push(Outcome::law(law, sound));
        let others = values.iter().filter(|&&value| value != parameter.default);
        choices.extend(others.map(|&value| one(&parameter.name, value)));
    }
    // All at once: the lowest of each, the highest of each.
    for pick in [<[u32]>::first, <[u32]>::last] {
        let value =
            |p: &temblor_backend::Parameter| (p.name.clone(), *pick(&p.values).unwrap_or(&0));
        choices.push(known.iter().map(value).collect());
    }
    for case in [&case, &rows] {
        outcomes.extend(runs(backend, variant, case, &choices)?);
    }
    Ok(outcomes)
}

/// Runs with the values of each choice beside one with the defaults; the last two also from a state
/// that the default saved at step 3.
fn runs(backend: &dyn Backend, variant: &str, case: &Case, choices: &[Parameters]) -> Outcomes {
    let mut state = Vec::new();
    let expected = {
        let mut plan = case.plan(backend, variant)?;
        plan.advance(3)?;
        plan.save(&mut state)?;
        plan.advance(STEPS - 3)?;
        Final::of(plan.as_mut(), case)?
    };
    let late = Final {
        traces: expected.traces.slice(ndarray::s![.., 3..]).to_owned(),
        ..expected.clone()
    };
    let mut outcomes = Vec::new();
    for (n, asked) in choices.iter().enumerate() {
        let options = case.options(variant).parameters(asked.clone());
        let mut plan = backend.propagator(&case.problem, &options)?;
        case.fill_all(plan.as_mut())?;
        plan.advance(STEPS)?;
        let run = Final::of(plan.as_mut(), case)?;
        let what = format!("values that differ with {asked:?}");
        outcomes.push(Outcome::new(what, run.differing(&expected), 0.0));
        if n + 2 >= choices.len() {
            plan.restore(&mut state.as_slice())?;
            plan.advance(STEPS - 3)?;
            let run = Final::of(plan.as_mut(), case)?;
            let what = format!("values that differ from the default's state on, {asked:?}");
            outcomes.push(Outcome::new(what, run.differing(&late), 0.0));
        }
    }
    Ok(outcomes)
}
