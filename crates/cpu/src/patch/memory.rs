//! Halo exchange within one array of patches, on several threads.

#![allow(unsafe_code, reason = "threads write halos of an array whose interiors others read")]

use temblor_backend::Beyond;

use super::geometry::Geometry;
use super::tasks::{self, Hands};

/// Patches side by side, open to all threads.
struct Patches {
    start: *mut f64,
    values: usize,
}

// SAFETY: the pointer is that of an exclusive borrow, which outlives all threads of `exchange`; they
// write places that no other thread reads or writes.
unsafe impl Sync for Patches {}

/// Fills the face halos of all patches of a state.
///
/// # Panics
/// Where patches are thinner than their halo, and where lengths do not go together.
pub(crate) fn exchange(
    hands: Hands,
    values: &mut [f64],
    geometry: &Geometry,
    dimensions: usize,
    neighbours: &[[[Beyond; 2]; 3]],
) {
    let length = geometry.length();
    assert!(geometry.fills_halos(), "interiors alone are read");
    assert_eq!(values.len(), length * neighbours.len());
    let patches = Patches { start: values.as_mut_ptr(), values: values.len() };
    let patches = &patches;
    tasks::numbers(hands, neighbours.len(), 16, |own| {
        let beyond = &neighbours[own];
        for axis in 0..dimensions {
            for side in 0..2 {
                let (source, behind) = match beyond[axis][side] {
                    Beyond::Patch(patch) => (patch, true),
                    Beyond::Outflow => (own, false),
                    Beyond::Fixed => continue,
                };
                geometry.fill(axis, side, behind, |row, to| {
                    let (from, to) = (source * length + row.start, own * length + to);
                    assert!(from.max(to) + row.len() <= patches.values);
                    // SAFETY: in bounds, as asserted.
                    let from = unsafe { patches.start.add(from) };
                    // SAFETY: as above.
                    let to = unsafe { patches.start.add(to) };
                    // SAFETY: the source lies in an interior, which nothing writes meanwhile, and the
                    // target in a face's halo, which this thread alone touches; so they are apart.
                    unsafe { std::ptr::copy_nonoverlapping(from, to, row.len()) };
                });
            }
        }
    });
}
