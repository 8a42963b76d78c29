//! The contract's laws in every arithmetic: a run may be cut, saved, restored and repeated, and plans may run side
//! by side, without a bit's change. Noise of rounding, carried exponents and peaks that a step leaves for the
//! next are state, which a cut must not touch and a saved run must keep.

use ndarray::{Axis, concatenate};
use temblor_backend::{Backend, Propagator};

use super::offer;
use crate::contract::small;
use crate::setup::{Case, Final};
use crate::{CheckError, Outcome};

/// Pieces of the case's seven steps.
const PIECES: [&[u32]; 2] = [&[3, 4], &[1, 2, 1, 3]];

fn in_pieces(plan: &mut dyn Propagator, case: &Case, pieces: &[u32]) -> Result<Final, CheckError> {
    for &piece in pieces {
        plan.advance(piece)?;
    }
    Ok(Final::of(plan, case)?)
}

/// Saved after three steps, restored into a plan that has gone elsewhere, and gone on.
fn restored(backend: &dyn Backend, variant: &str, case: &Case) -> Result<Final, CheckError> {
    let mut first = case.plan(backend, variant)?;
    first.advance(3)?;
    let before = first.traces()?.samples.to_f64();
    let mut state = Vec::new();
    first.save(&mut state)?;
    let mut second = case.plan(backend, variant)?;
    second.advance(2)?;
    second.restore(&mut state.as_slice())?;
    second.advance(case.steps - 3)?;
    let end = Final::of(second.as_mut(), case)?;
    Ok(Final { traces: concatenate![Axis(1), before, end.traces], ..end })
}

pub(super) fn unchanged(backend: &dyn Backend, variant: &str) -> Result<Vec<Outcome>, CheckError> {
    let mut outcomes = Vec::new();
    for arithmetic in offer::offered_by(backend, variant) {
        let case = small()?.with_arithmetic(arithmetic);
        let whole = case.run(backend, variant)?;
        let moved = whole.pressure.iter().zip(&case.pressure);
        let moved = moved.filter(|(a, b)| (*a - f64::from(**b)).abs() > 0.1).count();
        outcomes.push(Outcome::law(format!("{arithmetic}: the wavefield moved"), moved > 100));
        let mut same = |what: String, run: &Final| {
            let what = format!("{arithmetic}: values that differ, {what}");
            outcomes.push(Outcome::new(what, whole.differing(run), 0.0));
        };
        for pieces in PIECES {
            let run = in_pieces(case.plan(backend, variant)?.as_mut(), &case, pieces)?;
            same(format!("7 steps as {pieces:?}"), &run);
        }
        same("restored at step 3".to_owned(), &restored(backend, variant, &case)?);
        let mut again = case.plan(backend, variant)?;
        again.advance(5)?;
        again.reset()?;
        case.fill_all(again.as_mut())?;
        same("after a reset".to_owned(), &in_pieces(again.as_mut(), &case, &[7])?);
        let beside = std::thread::scope(|scope| {
            let other = scope.spawn(|| case.run(backend, variant));
            (case.run(backend, variant), other.join())
        });
        let (one, Ok(other)) = beside else {
            outcomes
                .push(Outcome::law(format!("{arithmetic}: no run beside another panics"), false));
            continue;
        };
        same("beside another, first thread".to_owned(), &one?);
        same("beside another, second thread".to_owned(), &other?);
    }
    Ok(outcomes)
}
