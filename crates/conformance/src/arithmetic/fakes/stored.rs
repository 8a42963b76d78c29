//! Rounding to what each storage holds, tile by tile.

use ndarray::{Array3, Axis as Dimension};
use temblor_physics::WavefieldStorage;

use super::Fault;
use crate::arithmetic::storage::{TILE, half_steps};

/// Below this a tile of codes is zero.
const SILENCE: f64 = 7.523_163_845_262_64e-37;

/// Values as a storage holds them; `old` is what the tiles held before.
pub(super) fn round(
    storage: WavefieldStorage,
    values: &Array3<f64>,
    old: Option<&Array3<f64>>,
    fault: Option<Fault>,
) -> Array3<f64> {
    let tiled = matches!(storage, WavefieldStorage::Int16 | WavefieldStorage::Int16Increment);
    let mut limited = values.clone();
    if fault == Some(Fault::UnderflowsToNan) {
        limited.mapv_inplace(|v| if v != 0.0 && v.abs() < SILENCE { f64::NAN } else { v });
    }
    // Codes that a tile's old exponent cannot hold wrap to nothing.
    if let (true, Some(Fault::KeepsExponents), Some(old)) = (tiled, fault, old) {
        for (mut row, was) in
            limited.lanes_mut(Dimension(2)).into_iter().zip(old.lanes(Dimension(2)))
        {
            let tiles = row.axis_chunks_iter_mut(Dimension(0), TILE);
            for (mut tile, was) in tiles.zip(was.axis_chunks_iter(Dimension(0), TILE)) {
                let most = 2.0 * was.fold(0.0_f64, |m, v| m.max(v.abs()));
                tile.mapv_inplace(|v| if v.abs() > most { 0.0 } else { v });
            }
        }
    }
    // Shrunk by what the steps are uncertain by, so that they are those of the values.
    let shrunk = limited.mapv(|v| v / (1.0 + 1e-5));
    let mut out = half_steps(storage, &shrunk);
    // Fields of digits are FP32 and rounded as ever.
    let truncates = fault == Some(Fault::Truncates) && storage != WavefieldStorage::F32;
    for (step, value) in out.iter_mut().zip(&limited) {
        let count = value / (2.0 * *step);
        let whole = if truncates { count.trunc() } else { count.round_ties_even() };
        let rounded = whole * 2.0 * *step;
        let silent =
            value.abs() < f64::from(f32::MIN_POSITIVE) || (tiled && rounded.abs() < SILENCE);
        *step = if silent { 0.0 } else { rounded };
        if fault == Some(Fault::SilencesNan) && step.is_nan() {
            *step = 0.0;
        }
    }
    out
}

/// The wave speed in 65535 parts of its range, if it has one.
pub(super) fn round_speed(
    speed: &Array3<f64>,
    range: Option<[f64; 2]>,
    fault: Option<Fault>,
) -> Array3<f64> {
    let Some([least, largest]) = range else { return speed.clone() };
    let unit = (largest - least) / 65535.0;
    speed.mapv(|c| {
        let count = (c - least) / unit;
        let whole = if fault == Some(Fault::CutsSpeed) { count.floor() } else { count.round() };
        least + whole * unit
    })
}

/// Wave speeds, if all lie in the range.
pub(super) fn within(speed: &Array3<f64>, range: Option<[f64; 2]>) -> Option<Array3<f64>> {
    let fits = |c: &f64| range.is_none_or(|[least, largest]| (least..=largest).contains(c));
    speed.iter().all(fits).then(|| speed.clone())
}
