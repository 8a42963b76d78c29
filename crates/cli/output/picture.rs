//! The picture of a shot that a run draws by itself.

use std::path::Path;

use ndarray::Array2;
use temblor_backend::tables::TraceSamples;
use temblor_solver::{BoxError, Gather, Shot};

use crate::picture::{self, Colours, Horizontal, Style, clip_level};

/// Percentile of the amplitudes at which colours saturate.
const CLIP_PERCENT: f64 = 99.0;

/// Up to so many traces are drawn as wiggles: as coloured bands they would be too wide to compare.
const FEW_TRACES: usize = 30;

/// Draws a gather; `traces` is the file that holds it, for the title.
pub(super) fn write(
    path: &Path,
    traces: &Path,
    shot: &Shot,
    gather: &Gather,
) -> Result<(), BoxError> {
    let single: Array2<f32>;
    let samples = match &gather.samples {
        TraceSamples::F32(samples) => samples.view(),
        TraceSamples::F64(samples) => {
            #[expect(clippy::cast_possible_truncation, reason = "colours are coarser")]
            {
                single = samples.mapv(|v| v as f32);
            }
            single.view()
        }
    };
    let name = traces.file_name().unwrap_or_default().to_string_lossy();
    let image = picture::Gather {
        title: format!("{name}, shot {}", shot.id),
        samples,
        start: 0.0,
        interval: Some(gather.interval),
        horizontal: Horizontal::of_receivers(&shot.receivers, 1),
        clip: clip_level(samples.iter().copied(), CLIP_PERCENT),
        label: "Pressure (Pa)".to_owned(),
        style: if samples.nrows() > FEW_TRACES { Style::Density } else { Style::Wiggle },
        colours: Colours::Grey,
    }
    .draw(None)?;
    Ok(image.write(path)?)
}
