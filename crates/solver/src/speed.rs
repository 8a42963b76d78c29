//! The wave speed of the user's model, read by slabs of x planes so that it is never whole in
//! memory.

use ndarray::{Array3, s};
use temblor_backend::{Field, Propagator, Region};

use crate::error::{BoxError, Error, Result};
use crate::padding::Padding;

/// Bytes of a slab that is read at once; small beside any grid that fills a memory.
const SLAB_BYTES: usize = 8 << 20;

/// A wave speed model that can be read by x planes.
pub trait WaveSpeed {
    /// Nodes along (x, y, z).
    fn shape(&self) -> [usize; 3];

    /// Planes `start..start + count` along x, shape (count, ny, nz), m/s.
    ///
    /// # Errors
    /// Whatever reading meets.
    fn planes(&mut self, start: usize, count: usize) -> Result<Array3<f32>, BoxError>;

    /// The model with x and y left out, where the wave speed depends on depth alone, m/s: [`scan`]
    /// then needs no pass over the nodes.
    fn column(&self) -> Option<&[f32]> {
        None
    }
}

/// What a pass over a model finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedRange {
    /// Smallest wave speed, m/s.
    pub min: f64,
    /// Largest wave speed, m/s.
    pub max: f64,
    /// CRC-32 of the values as little-endian f32, z fastest; of one column where that is all.
    pub checksum: u32,
}

/// Number of x planes in a slab of about [`SLAB_BYTES`].
fn planes_per_slab(shape: [usize; 3]) -> usize {
    (SLAB_BYTES / 4 / (shape[1] * shape[2]).max(1)).clamp(1, shape[0])
}

/// Bytes that reading and padding the model by slabs takes, beside the plan.
#[must_use]
pub fn slab_bytes(padding: &Padding) -> u64 {
    let slab = |shape: [usize; 3]| planes_per_slab(padding.padded) * shape[1] * shape[2] * 4;
    (slab(padding.inner) + slab(padding.padded)) as u64
}

/// Reads the whole model once, slab by slab.
///
/// # Errors
/// [`Error::BadWaveSpeed`] at the first value that is not positive and finite; [`Error::Model`] if
/// reading fails.
pub fn scan(model: &mut dyn WaveSpeed) -> Result<SpeedRange> {
    if let Some(column) = model.column() {
        let mut column = Column(column.to_vec());
        return scan(&mut column);
    }
    let shape = model.shape();
    let step = planes_per_slab(shape);
    let (mut min, mut max) = (f32::INFINITY, 0.0_f32);
    let mut checksum = crc32fast::Hasher::new();
    let mut row = Vec::with_capacity(4 * shape[2]);
    for start in (0..shape[0]).step_by(step) {
        let slab = model.planes(start, step.min(shape[0] - start)).map_err(Error::Model)?;
        for (i, plane) in slab.outer_iter().enumerate() {
            for (j, values) in plane.outer_iter().enumerate() {
                row.clear();
                for (k, &value) in values.iter().enumerate() {
                    if !(value.is_finite() && value > 0.0) {
                        let (node, value) = ([start + i, j, k], f64::from(value));
                        return Err(Error::BadWaveSpeed { node, value });
                    }
                    min = min.min(value);
                    max = max.max(value);
                    row.extend_from_slice(&value.to_le_bytes());
                }
                checksum.update(&row);
            }
        }
    }
    Ok(SpeedRange { min: min.into(), max: max.into(), checksum: checksum.finalize() })
}

/// A single column of nodes.
struct Column(Vec<f32>);

impl WaveSpeed for Column {
    fn shape(&self) -> [usize; 3] {
        [1, 1, self.0.len()]
    }

    fn planes(&mut self, _: usize, count: usize) -> Result<Array3<f32>, BoxError> {
        Ok(Array3::from_shape_fn((count, 1, self.0.len()), |(_, _, k)| self.0[k]))
    }
}

/// Uploads the model with its edges continued into the layers.
///
/// # Errors
/// [`Error::Model`] if reading fails, [`Error::Backend`] if the upload does.
pub fn upload(
    model: &mut dyn WaveSpeed,
    padding: &Padding,
    plan: &mut dyn Propagator,
) -> Result<()> {
    let [nx, ny, nz] = padding.padded;
    let step = planes_per_slab(padding.padded);
    for start in (0..nx).step_by(step) {
        let count = step.min(nx - start);
        let first = padding.inner_node(0, start);
        let last = padding.inner_node(0, start + count - 1);
        let inner = model.planes(first, last - first + 1).map_err(Error::Model)?;
        let mut slab = Array3::<f32>::zeros((count, ny, nz));
        for i in 0..count {
            let plane = inner.slice(s![padding.inner_node(0, start + i) - first, .., ..]);
            for j in 0..ny {
                let from = plane.slice(s![padding.inner_node(1, j), ..]);
                for k in 0..nz {
                    slab[[i, j, k]] = from[padding.inner_node(2, k)];
                }
            }
        }
        plan.upload(
            Field::WaveSpeed,
            Region::slab(padding.padded, start, count),
            slab.view().into(),
        )?;
    }
    Ok(())
}
