//! Uploads, downloads and snapshots.

use ndarray::{Array3, ArrayView3, ArrayViewMut3, Axis, Slice};
use temblor_backend::{Backend, ElementType, Error, Field, HostArray, Region};
use temblor_physics::Arithmetic;

use super::{plain, refused, small};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

fn slice(axis: usize, region: &Region) -> Slice {
    let (start, count, stride) = (region.start[axis], region.shape[axis], region.stride[axis]);
    let end = if count == 0 { start } else { start + (count - 1) * stride + 1 };
    Slice::new(start.cast_signed(), Some(end.cast_signed()), stride.cast_signed())
}

/// The nodes of a region, of an array of all nodes.
fn part<'a>(whole: &'a Array3<f32>, region: &Region) -> ArrayView3<'a, f32> {
    let mut view = whole.view();
    (0..3).for_each(|axis| view.slice_axis_inplace(Axis(axis), slice(axis, region)));
    view
}

fn part_mut<'a>(whole: &'a mut Array3<f32>, region: &Region) -> ArrayViewMut3<'a, f32> {
    let mut view = whole.view_mut();
    (0..3).for_each(|axis| view.slice_axis_inplace(Axis(axis), slice(axis, region)));
    view
}

fn differing(a: &ArrayView3<'_, f32>, b: &ArrayView3<'_, f32>) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a.to_bits() != b.to_bits()).count() as f64
}

pub(super) fn round_trip(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = plain()?;
    let shape = case.problem.grid.shape;
    let [nx, ny, nz] = shape;
    let regions = [
        case.whole(),
        Region::slab(shape, 5, 3),
        Region { start: [1, 2, 3], shape: [4, 3, 5], stride: [3, 4, 5] },
        Region { start: [nx - 1, ny - 1, nz - 1], shape: [1; 3], stride: [1; 3] },
        Region { start: [2, 0, 0], shape: [1, ny, nz], stride: [7, 1, 1] },
        Region { start: [0; 3], shape: [2, 0, 5], stride: [1; 3] },
    ];
    let mut plan = case.bare(backend, variant)?;
    let mut outcomes = Vec::new();
    for field in [Field::Pressure, Field::PressurePrevious] {
        let before = &case.previous;
        for region in regions {
            plan.upload(field, case.whole(), before.view().into())?;
            // `part` is a view with strides, also where the region is all nodes reversed in memory.
            plan.upload(field, region, part(&case.pressure, &region).into())?;
            let mut expected = before.clone();
            part_mut(&mut expected, &region).assign(&part(&case.pressure, &region));
            let mut got = Array3::zeros(shape);
            plan.download(field, case.whole(), got.view_mut().into())?;
            let count = differing(&expected.view(), &got.view());
            outcomes.push(Outcome::new(format!("{field:?} to {region:?}"), count, 0.0));
            let mut got = Array3::zeros(shape);
            plan.download(field, region, part_mut(&mut got, &region).into())?;
            let count = differing(&part(&expected, &region), &part(&got, &region));
            outcomes.push(Outcome::new(format!("{field:?} from {region:?}"), count, 0.0));
        }
        // Fortran order, and an axis that runs backwards.
        let transposed = case.pressure.t().as_standard_layout().to_owned();
        let mut odd = transposed.t();
        odd.invert_axis(Axis(2));
        plan.upload(field, case.whole(), odd.into())?;
        let mut got = Array3::zeros([nz, ny, nx]);
        plan.download(field, case.whole(), got.view_mut().reversed_axes().into())?;
        let count = differing(&odd, &got.t());
        outcomes.push(Outcome::new(format!("{field:?} by reversed axes"), count, 0.0));
    }
    Ok(outcomes)
}

pub(super) fn host_types(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = plain()?;
    let mut plan = case.bare(backend, variant)?;
    let fine = case.pressure.mapv(|v| f64::from(v) * std::f64::consts::PI);
    let rounded = Array3::from_shape_fn(fine.dim(), |at| {
        #[expect(clippy::cast_possible_truncation, reason = "rounding once is what is tested")]
        let value = fine[at] as f32;
        value
    });
    plan.upload(Field::Pressure, case.whole(), fine.view().into())?;
    let mut single = Array3::<f32>::zeros(fine.dim());
    let mut double = Array3::<f64>::zeros(fine.dim());
    plan.download(Field::Pressure, case.whole(), single.view_mut().into())?;
    plan.download(Field::Pressure, case.whole(), double.view_mut().into())?;
    let wide = rounded.mapv(f64::from);
    let count = wide.iter().zip(&double).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    Ok(vec![
        Outcome::new("f64 up, f32 down", differing(&rounded.view(), &single.view()), 0.0),
        Outcome::new("f64 up, f64 down", count as f64, 0.0),
    ])
}

pub(super) fn snapshots(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let region = Region { start: [1, 0, 2], shape: [4, 5, 6], stride: [2, 2, 3] };
    let mut plan = case.plan(backend, variant)?;
    let mut expected = Vec::new();
    let mut tickets = Vec::new();
    for field in [Field::Pressure, Field::PressurePrevious] {
        plan.advance(1)?;
        tickets.push(plan.snapshot(field, region)?);
        let mut now = Array3::<f32>::zeros(region.shape);
        plan.download(field, region, now.view_mut().into())?;
        expected.push(now);
    }
    plan.advance(case.steps - 2)?;
    let mut outcomes = Vec::new();
    // The later one first: tickets are waited for in any order.
    for (&ticket, expected) in tickets.iter().zip(&expected).rev() {
        let count = match plan.wait(ticket)? {
            HostArray::F32(got) if got.dim() == expected.dim() => {
                differing(&expected.view(), &got.view())
            }
            _ => f64::NAN,
        };
        outcomes.push(Outcome::new(format!("{ticket:?} against a download"), count, 0.0));
    }
    let by = |error: &Error| matches!(error, Error::Invalid { .. });
    outcomes.push(refused("a ticket's second wait", plan.wait(tickets[0]), by));
    let largest = expected[0].iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    outcomes.push(Outcome::law("the snapshot shows a wavefield", largest > 0.0));
    Ok(outcomes)
}

pub(super) fn element_types(backend: &dyn Backend, variant: &str) -> Outcomes {
    let mut outcomes = Vec::new();
    for &arithmetic in &backend.capabilities().arithmetics {
        let case = small()?.with_arithmetic(arithmetic);
        // Reduced storage has variants of its own.
        if !backend.variants(&case.problem)?.iter().any(|v| v.name == variant) {
            continue;
        }
        let mut plan = case.plan(backend, variant)?;
        plan.advance(2)?;
        let ticket = plan.snapshot(Field::Pressure, case.whole())?;
        let snapshot = match plan.wait(ticket)? {
            HostArray::F32(_) => ElementType::F32,
            HostArray::F64(_) => ElementType::F64,
        };
        let samples = plan.traces()?.samples.element_type();
        let expected = match arithmetic {
            Arithmetic::F64 => ElementType::F64,
            _ => ElementType::F32,
        };
        let law = format!("{arithmetic:?}: {samples:?} samples, {snapshot:?} snapshot");
        outcomes.push(Outcome::law(law, samples == expected && snapshot == expected));
    }
    Ok(outcomes)
}
