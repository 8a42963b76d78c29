//! What to do about a file that has another shape than the one wanted.

use super::elements;
use crate::Element;

/// What to do about an npy shape that is not the one wanted.
pub(super) fn transposition(want: [usize; 3], found: &[usize]) -> String {
    let squeeze = |shape: &[usize]| shape.iter().copied().filter(|&n| n > 1).collect::<Vec<_>>();
    let (mut a, mut b) = (squeeze(&want), squeeze(found));
    let same_axes = a == b;
    a.sort_unstable();
    b.sort_unstable();
    if same_axes {
        "the same axes with others of length 1 between them: set the grid's shape to the file's"
            .to_owned()
    } else if a == b {
        "the same axes in another order: `temblor model convert --transpose` puts z last".to_owned()
    } else {
        "set the grid's shape to the file's, or take another file".to_owned()
    }
}

/// What to do about a raw file whose size does not fit.
pub(super) fn raw_remedy(shape: [usize; 3], element: Element, bytes: u64) -> String {
    let count = elements(shape).unwrap_or(usize::MAX) as u64;
    let other = Element::ALL
        .into_iter()
        .find(|e| *e != element && count.checked_mul(e.bytes() as u64) == Some(bytes));
    if let Some(other) = other {
        return format!("{} elements would fit that shape", other.name());
    }
    let found = bytes / element.bytes() as u64;
    let [nx, ny, nz] = shape.map(|n| n as u64);
    if count < found && found - count <= 1024 {
        let extra = (found - count) * element.bytes() as u64;
        return format!("{extra} bytes more: if they are a header, skip them (header bytes)");
    }
    // The length of one axis that would make up the file, given the other two.
    let length = |a: u64, b: u64| {
        a.checked_mul(b)
            .filter(|&plane| plane > 0 && found.is_multiple_of(plane))
            .map(|p| found / p)
    };
    if let Some(nx) = length(ny, nz) {
        return format!("shape ({nx}, {ny}, {nz}) would fit");
    }
    if let Some(ny) = length(nx, nz) {
        return format!("shape ({nx}, {ny}, {nz}) would fit");
    }
    if let Some(nz) = length(nx, ny) {
        return format!("shape ({nx}, {ny}, {nz}) would fit");
    }
    format!("the file holds {found} {} elements: check the shape", element.name())
}
