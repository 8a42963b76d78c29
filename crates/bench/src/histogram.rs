//! What kinds of values a field holds as it is stepped: the stencil paper's Figure 2.
//!
//! A zero start stays easy to compress until waves have filled the grid; denormal numbers would slow
//! processors down and are flushed by every backend, which shows here.

use std::num::FpCategory;

use ndarray::{Array3, ArrayViewMut3};
use rayon::prelude::*;
use temblor_backend::{Field, Propagator, Region, Result};
use temblor_physics::Arithmetic;

use crate::results::Kinds;

/// Values of a slab on its way to the host.
const SLAB_VALUES: usize = 16 << 20;

/// Nodes by kind: normal, denormal, zero, not finite.
type Counts = [u64; 4];

/// Kinds of the values of p, in the plan's own precision.
///
/// # Errors
/// Those of [`Propagator::download`].
pub fn kinds(
    plan: &mut dyn Propagator,
    shape: [usize; 3],
    arithmetic: Arithmetic,
) -> Result<Kinds> {
    let counts = match arithmetic {
        Arithmetic::F64 => {
            counted(plan, shape, |view: ArrayViewMut3<'_, f64>| view.into(), f64::classify)?
        }
        _ => counted(plan, shape, |view: ArrayViewMut3<'_, f32>| view.into(), f32::classify)?,
    };
    let points = counts.iter().sum::<u64>().max(1) as f64;
    let [normal, denormal, zero, nan] = counts.map(|count| count as f64 / points);
    Ok(Kinds { step: plan.step(), normal, denormal, zero, nan })
}

fn counted<T: Copy + Default + Sync + Send>(
    plan: &mut dyn Propagator,
    shape: [usize; 3],
    view: impl Fn(ArrayViewMut3<'_, T>) -> temblor_backend::HostViewMut<'_>,
    classify: fn(T) -> FpCategory,
) -> Result<Counts> {
    let [nx, ny, nz] = shape;
    let planes = (SLAB_VALUES / (ny * nz).max(1)).clamp(1, nx);
    let mut total = [0; 4];
    for first in (0..nx).step_by(planes) {
        let count = planes.min(nx - first);
        let mut slab = Array3::from_elem((count, ny, nz), T::default());
        plan.download(Field::Pressure, Region::slab(shape, first, count), view(slab.view_mut()))?;
        let values = slab.as_slice().expect("an array of its own is contiguous");
        let counts = values
            .par_chunks(1 << 16)
            .map(|part| counts_of(part, classify))
            .reduce(|| [0; 4], |a, b| std::array::from_fn(|n| a[n] + b[n]));
        total = std::array::from_fn(|n| total[n] + counts[n]);
    }
    Ok(total)
}

fn counts_of<T: Copy>(values: &[T], classify: fn(T) -> FpCategory) -> Counts {
    let mut counts = [0; 4];
    for &value in values {
        let kind = match classify(value) {
            FpCategory::Normal => 0,
            FpCategory::Subnormal => 1,
            FpCategory::Zero => 2,
            FpCategory::Nan | FpCategory::Infinite => 3,
        };
        counts[kind] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_counted_in_the_precision_that_it_has() {
        let values = [1.0, -0.0, 0.0, 1e-40, f32::NAN, f32::INFINITY, -3e-39, f32::MIN_POSITIVE];
        assert_eq!(counts_of(&values, f32::classify), [2, 2, 2, 2]);
        // What is denormal in single precision is normal in double precision.
        assert_eq!(counts_of(&[1e-40_f64, 1e-310], f64::classify), [1, 1, 0, 0]);
    }
}
