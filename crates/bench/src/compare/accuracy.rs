//! Whether results are still the same, and as exact.

use super::{Gate, Group, Line, Verdict};
use crate::results::Measured;

/// Growth of an error that is worth a word where no bound is given.
const WORSE: f64 = 1.1;

/// Says changed checksums; an error that grew beyond its bound is a regression.
pub(super) fn look(old: &Group<'_>, new: &Group<'_>, line: &mut Line) {
    let last = |rows: &Group<'_>| rows.iter().rev().find_map(|r| r.outcome.measured().cloned());
    let (Some(was), Some(is)) = (last(old), last(new)) else { return };
    if was.twin != is.twin {
        let (was, is) = (was.twin, is.twin);
        line.notes.push(format!("accuracy not compared: the twin was {was:?} and is {is:?}"));
        return;
    }
    if was.checksum != is.checksum {
        line.notes.push(format!("results changed: checksum {} -> {}", was.checksum, is.checksum));
    }
    errors(&was, &is, line);
}

fn errors(was: &Measured, is: &Measured, line: &mut Line) {
    for new in &is.accuracy {
        let Some(old) = was.accuracy.iter().find(|old| old.steps == new.steps) else { continue };
        let grown = format!("L2 error after {} steps {:.2e} -> {:.2e}", new.steps, old.l2, new.l2);
        // The old file's bound, lest a looser one hide what grew.
        let bound = old.bound.or(new.bound);
        let worse = new.l2.is_nan() || new.l2 > old.l2;
        match bound {
            Some(bound) if worse && (new.l2.is_nan() || new.l2 > bound) => {
                line.notes.push(format!("{grown}, beyond its bound {bound:.2e}"));
                line.verdict = Verdict::Broken;
                line.gate = Gate::Regression;
            }
            _ if new.l2 > WORSE * old.l2 => line.notes.push(grown),
            _ => {}
        }
    }
}
