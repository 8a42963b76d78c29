//! Where variables are while a function runs: arrays as windows of one long memory.

use super::ast::{Fault, fault};

/// A variable or an array: its first number and how many there are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Place of the element `indices` of an array of sizes `dims` (the first of a pointer does not
/// count; the window says where it ends).
pub(super) fn element(
    window: Window,
    name: &str,
    dims: &[usize],
    pointer: bool,
    indices: &[i64],
    line: u32,
) -> Result<usize, Fault> {
    let mut flat = 0;
    for (place, (&index, &size)) in indices.iter().zip(dims).enumerate() {
        let inner: usize = dims[place + 1..].iter().product();
        let bound = if place == 0 && pointer { window.len / inner } else { size };
        match usize::try_from(index) {
            Ok(index) if index < bound => flat += index * inner,
            _ => {
                return fault(
                    line,
                    format!("the index {index} of {name} is outside 0..{bound}: correct it"),
                );
            }
        }
    }
    Ok(window.start + flat)
}

/// The part of an array that a call passes: the row `indices`, from `offset` rows of it on.
pub(super) fn part(
    window: Window,
    name: &str,
    dims: &[usize],
    pointer: bool,
    indices: &[i64],
    offset: Option<i64>,
    line: u32,
) -> Result<Window, Fault> {
    let start = element(window, name, dims, pointer, indices, line)?;
    let rest: usize = dims[indices.len()..].iter().product();
    let len = if indices.is_empty() { window.len } else { rest };
    let Some(offset) = offset else { return Ok(Window { start, len }) };
    let inner: usize = dims.get(indices.len() + 1..).unwrap_or_default().iter().product();
    match usize::try_from(offset) {
        Ok(offset) if offset * inner <= len => {
            Ok(Window { start: start + offset * inner, len: len - offset * inner })
        }
        _ => fault(line, format!("the offset {offset} of {name} is outside the array: correct it")),
    }
}
