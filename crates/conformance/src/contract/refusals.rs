//! Arguments that are refused, change nothing and do not poison.

use ndarray::{Array2, Array3, s};
use temblor_backend::{Backend, Error, Field, Propagator, ReceiverTable, Region, SourceTable};
use temblor_physics::{AxisWeights, PointWeights};

use super::{refused, small};
use crate::setup::{Case, Final};
use crate::{CheckError, Outcome};

type Outcomes = Result<Vec<Outcome>, CheckError>;

const FIELDS: [Field; 3] = [Field::WaveSpeed, Field::Pressure, Field::PressurePrevious];

/// The plan still runs, and as if nothing had been asked.
fn undisturbed(
    backend: &dyn Backend,
    variant: &str,
    case: &Case,
    plan: &mut dyn Propagator,
) -> Result<Outcome, CheckError> {
    plan.advance(case.steps)?;
    let differing = Final::of(plan, case)?.differing(&case.run(backend, variant)?);
    Ok(Outcome::new("values that differ after what was refused", differing, 0.0))
}

pub(super) fn wrong_shape(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let [nx, ny, nz] = case.problem.grid.shape;
    let by = |error: &Error| matches!(error, Error::Shape { .. });
    let mut outcomes = Vec::new();
    for shape in [[nz, ny, nx], [nx, ny, nz - 1], [nx, ny, nz + 1], [1, 1, 1]] {
        let mut host = Array3::<f32>::zeros(shape);
        for field in FIELDS {
            let answer = plan.upload(field, case.whole(), host.view().into());
            outcomes.push(refused(format!("{field:?} from {shape:?}"), answer, by));
        }
        let answer = plan.download(Field::Pressure, case.whole(), host.view_mut().into());
        outcomes.push(refused(format!("pressure into {shape:?}"), answer, by));
    }
    outcomes.push(undisturbed(backend, variant, &case, plan.as_mut())?);
    Ok(outcomes)
}

pub(super) fn outside(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let shape = case.problem.grid.shape;
    let by = |error: &Error| matches!(error, Error::Outside { .. });
    let mut regions = Vec::new();
    for axis in 0..3 {
        let one = Region { start: [0; 3], shape: [2; 3], stride: [1; 3] };
        let mut changed = |change: &dyn Fn(&mut Region)| {
            let mut region = one;
            change(&mut region);
            regions.push(region);
        };
        changed(&|region| region.start[axis] = shape[axis] - 1);
        changed(&|region| region.start[axis] = usize::MAX);
        changed(&|region| region.stride[axis] = shape[axis]);
        changed(&|region| region.stride[axis] = usize::MAX);
        changed(&|region| region.stride[axis] = 0);
    }
    let mut outcomes = Vec::new();
    let mut host = Array3::<f32>::zeros([2; 3]);
    for region in regions {
        let answer = plan.upload(Field::Pressure, region, host.view().into());
        outcomes.push(refused(format!("upload to {region:?}"), answer, by));
        let answer = plan.download(Field::Pressure, region, host.view_mut().into());
        outcomes.push(refused(format!("download of {region:?}"), answer, by));
        let answer = plan.snapshot(Field::Pressure, region);
        outcomes.push(refused(format!("snapshot of {region:?}"), answer, by));
    }
    outcomes.push(undisturbed(backend, variant, &case, plan.as_mut())?);
    Ok(outcomes)
}

pub(super) fn not_transferable(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let by = |error: &Error| matches!(error, Error::Unsupported { .. });
    let mut host = Array3::<f32>::zeros(case.problem.grid.shape);
    let upload = plan.upload(Field::Layers, case.whole(), host.view().into());
    let mut outcomes = vec![refused("upload of Layers", upload, by)];
    for field in [Field::Layers, Field::WaveSpeed] {
        let download = plan.download(field, case.whole(), host.view_mut().into());
        outcomes.push(refused(format!("download of {field:?}"), download, by));
        let snapshot = plan.snapshot(field, case.whole());
        outcomes.push(refused(format!("snapshot of {field:?}"), snapshot, by));
    }
    outcomes.push(undisturbed(backend, variant, &case, plan.as_mut())?);
    Ok(outcomes)
}

pub(super) fn too_many_receivers(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let mut receivers = case.receivers.clone();
    receivers.points.push(PointWeights::on_node([1, 1, 1]));
    let by = |error: &Error| matches!(error, Error::Invalid { .. });
    Ok(vec![
        refused("one receiver too many", plan.set_receivers(&receivers), by),
        undisturbed(backend, variant, &case, plan.as_mut())?,
    ])
}

pub(super) fn points_outside(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let by = |error: &Error| matches!(error, Error::Outside { .. });
    let mut outcomes = Vec::new();
    for axis in 0..3 {
        let mut point = PointWeights::on_node([2, 2, 2]);
        let first = case.problem.grid.shape[axis] - 1;
        point.axes[axis] = AxisWeights { first, weights: vec![0.5, 0.5] };
        let points = vec![point];
        let amplitudes = Array2::ones((1, 1));
        let answer = plan.set_sources(&SourceTable { points: points.clone(), amplitudes });
        outcomes.push(refused(format!("a source past axis {axis}"), answer, by));
        let answer = plan.set_receivers(&ReceiverTable { points });
        outcomes.push(refused(format!("a receiver past axis {axis}"), answer, by));
    }
    outcomes.push(undisturbed(backend, variant, &case, plan.as_mut())?);
    Ok(outcomes)
}

pub(super) fn amplitude_columns(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let mut sources = case.sources.clone();
    sources.amplitudes = sources.amplitudes.slice(s![.., 1..]).to_owned();
    let by = |error: &Error| matches!(error, Error::Invalid { .. });
    Ok(vec![
        refused("amplitudes of one source missing", plan.set_sources(&sources), by),
        undisturbed(backend, variant, &case, plan.as_mut())?,
    ])
}

pub(super) fn trace_overflow(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let mut plan = case.plan(backend, variant)?;
    let by = |error: &Error| matches!(error, Error::Invalid { .. });
    plan.advance(3)?;
    let mut outcomes = vec![
        refused("one step more than the buffer holds", plan.advance(case.steps - 2), by),
        Outcome::law("the refused steps were not taken", plan.step() == 3),
    ];
    plan.advance(case.steps - 3)?;
    let differing = Final::of(plan.as_mut(), &case)?.differing(&case.run(backend, variant)?);
    outcomes.push(Outcome::new("values that differ after what was refused", differing, 0.0));
    Ok(outcomes)
}

pub(super) fn unset_wave_speed(backend: &dyn Backend, variant: &str) -> Outcomes {
    let case = small()?;
    let [nx, ny, nz] = case.problem.grid.shape;
    let by = |error: &Error| matches!(error, Error::Invalid { .. });
    let mut plan = backend.propagator(&case.problem, &case.options(variant))?;
    let mut outcomes = vec![refused("a step with no wave speed at all", plan.advance(1), by)];
    // All nodes but the last one, by slab, row and piece of a row.
    let speed = &case.wave_speed;
    let regions = [
        Region::slab([nx, ny, nz], 0, nx - 1),
        Region { start: [nx - 1, 0, 0], shape: [1, ny - 1, nz], stride: [1; 3] },
        Region { start: [nx - 1, ny - 1, 0], shape: [1, 1, nz - 1], stride: [1; 3] },
    ];
    for region in regions {
        let [x, y, z] = std::array::from_fn(|a| region.start[a]..region.start[a] + region.shape[a]);
        plan.upload(Field::WaveSpeed, region, speed.slice(s![x, y, z]).into())?;
    }
    outcomes.push(refused("a step with one node unset", plan.advance(1), by));
    let last = Region { start: [nx - 1, ny - 1, nz - 1], shape: [1; 3], stride: [1; 3] };
    plan.upload(Field::WaveSpeed, last, speed.slice(s![nx - 1.., ny - 1.., nz - 1..]).into())?;
    case.fill(plan.as_mut())?;
    for bad in [0.0, f32::NAN, f32::INFINITY] {
        let one = Region { start: [4, 5, 6], shape: [1; 3], stride: [1; 3] };
        plan.upload(Field::WaveSpeed, one, Array3::from_elem([1; 3], bad).view().into())?;
        outcomes.push(refused(format!("a step with wave speed {bad}"), plan.advance(1), by));
        plan.upload(Field::WaveSpeed, one, speed.slice(s![4..5, 5..6, 6..7]).into())?;
    }
    outcomes.push(undisturbed(backend, variant, &case, plan.as_mut())?);
    Ok(outcomes)
}
