//! Which receivers are recorded.

use std::sync::Arc;

use temblor_physics::Grid;
use temblor_solver::survey::inside;

use super::schema::{OutsidePolicy, ReceiverTable};

/// Leaves out receivers outside the model where that is asked for.
pub(super) fn keep(
    table: &ReceiverTable,
    grid: &Grid,
    mut points: Vec<[f64; 3]>,
    whose: &str,
    notes: &mut Vec<String>,
) -> Arc<[[f64; 3]]> {
    if table.outside == OutsidePolicy::Drop {
        let before = points.len();
        points.retain(|&p| inside(grid, p));
        if points.len() < before {
            let dropped = before - points.len();
            notes.push(format!("{dropped} of {before} receivers{whose} lie outside: left out"));
        }
    }
    points.into()
}
