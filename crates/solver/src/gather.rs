//! Traces of a shot: raw ones as the plan records them, and the gather at the record interval.

use ndarray::{Array2, ArrayView2, s};
use temblor_backend::tables::TraceSamples;
use temblor_backend::{ElementType, Traces};
use temblor_physics::resample::Resampler;

use crate::error::{Error, Result};

/// Traces of a finished shot at the record interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Gather {
    /// Record interval, s.
    pub interval: f64,
    /// Samples, shape (receiver, sample), Pa.
    pub samples: TraceSamples,
}

impl Gather {
    /// Continues a CRC-32 over the samples, little-endian, receiver by receiver.
    pub fn digest(&self, hasher: &mut crc32fast::Hasher) {
        match &self.samples {
            TraceSamples::F32(samples) => {
                samples.iter().for_each(|v| hasher.update(&v.to_le_bytes()));
            }
            TraceSamples::F64(samples) => {
                samples.iter().for_each(|v| hasher.update(&v.to_le_bytes()));
            }
        }
    }

    /// CRC-32 of the samples, little-endian, receiver by receiver.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        self.digest(&mut hasher);
        hasher.finalize()
    }
}

/// Raw traces of the running shot, shape (receiver, step), one column per step of the run.
#[derive(Debug)]
pub struct RawTraces {
    samples: TraceSamples,
    recorded: usize,
}

impl RawTraces {
    /// Room for a shot, zero.
    #[must_use]
    pub fn new(receivers: usize, steps: usize, element: ElementType) -> Self {
        let samples = match element {
            ElementType::F32 => TraceSamples::F32(Array2::zeros((receivers, steps))),
            ElementType::F64 => TraceSamples::F64(Array2::zeros((receivers, steps))),
        };
        Self { samples, recorded: 0 }
    }

    /// Steps recorded.
    #[must_use]
    pub const fn recorded(&self) -> usize {
        self.recorded
    }

    /// Appends what the plan recorded since the last call.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the plan's traces do not follow the recorded ones: a fault of the
    /// backend.
    pub fn append(&mut self, traces: &Traces) -> Result<()> {
        let (receivers, steps) = traces.samples.dim();
        let (want, room) = self.samples.dim();
        if steps == 0 {
            return Ok(());
        }
        let end = self.recorded + steps;
        if receivers != want || end > room || traces.first_step != self.recorded as u64 {
            let got = format!(
                "{receivers} traces of steps {}..{} instead of {want} from step {}",
                traces.first_step,
                traces.first_step + steps as u64,
                self.recorded
            );
            return Err(Error::invalid("the backend's record", got, "report this as a bug"));
        }
        let columns = s![.., self.recorded..end];
        match (&mut self.samples, &traces.samples) {
            (TraceSamples::F32(all), TraceSamples::F32(new)) => {
                all.slice_mut(columns).assign(new);
            }
            (TraceSamples::F64(all), TraceSamples::F64(new)) => {
                all.slice_mut(columns).assign(new);
            }
            (TraceSamples::F32(all), TraceSamples::F64(new)) => {
                #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
                all.slice_mut(columns).zip_mut_with(new, |to, &from| *to = from as f32);
            }
            (TraceSamples::F64(all), TraceSamples::F32(new)) => {
                all.slice_mut(columns).zip_mut_with(new, |to, &from| *to = from.into());
            }
        }
        self.recorded = end;
        Ok(())
    }

    /// Number of recorded steps before the first at which a receiver has more than `limit`, or no
    /// number at all.
    #[must_use]
    pub fn sound_steps(&self, limit: f64) -> usize {
        let bad = |value: f64| !value.is_finite() || value.abs() > limit;
        (0..self.recorded)
            .find(|&step| match &self.samples {
                TraceSamples::F32(all) => all.column(step).iter().any(|&v| bad(v.into())),
                TraceSamples::F64(all) => all.column(step).iter().any(|&v| bad(v)),
            })
            .unwrap_or(self.recorded)
    }

    /// Sets all samples from step `from` on to zero.
    pub fn clear_from(&mut self, from: usize) {
        let columns = s![.., from.min(self.recorded)..];
        match &mut self.samples {
            TraceSamples::F32(all) => all.slice_mut(columns).fill(0.0),
            TraceSamples::F64(all) => all.slice_mut(columns).fill(0.0),
        }
        self.recorded = self.recorded.min(from);
    }

    /// The gather at the record interval; steps not recorded count as zero.
    #[must_use]
    pub fn resample(&self, resampler: &Resampler) -> Gather {
        let samples = match &self.samples {
            TraceSamples::F32(all) => TraceSamples::F32(resampler.apply(&all.view())),
            TraceSamples::F64(all) => TraceSamples::F64(resampler.apply(&all.view())),
        };
        Gather { interval: resampler.interval(), samples }
    }

    /// Writes the recorded columns, little-endian, receiver by receiver.
    pub(crate) fn write(&self, to: &mut dyn std::io::Write) -> std::io::Result<()> {
        let columns = s![.., ..self.recorded];
        match &self.samples {
            TraceSamples::F32(all) => write_rows(&all.slice(columns), to, f32::to_le_bytes),
            TraceSamples::F64(all) => write_rows(&all.slice(columns), to, f64::to_le_bytes),
        }
    }

    /// Reads `recorded` columns that [`RawTraces::write`] wrote.
    pub(crate) fn read(
        &mut self,
        recorded: usize,
        from: &mut dyn std::io::Read,
    ) -> std::io::Result<()> {
        let columns = s![.., ..recorded];
        match &mut self.samples {
            TraceSamples::F32(all) => {
                for value in all.slice_mut(columns) {
                    let mut bytes = [0; 4];
                    from.read_exact(&mut bytes)?;
                    *value = f32::from_le_bytes(bytes);
                }
            }
            TraceSamples::F64(all) => {
                for value in all.slice_mut(columns) {
                    let mut bytes = [0; 8];
                    from.read_exact(&mut bytes)?;
                    *value = f64::from_le_bytes(bytes);
                }
            }
        }
        self.recorded = recorded;
        Ok(())
    }
}

fn write_rows<T: Copy, const N: usize>(
    rows: &ArrayView2<'_, T>,
    to: &mut dyn std::io::Write,
    bytes: impl Fn(T) -> [u8; N],
) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(N * rows.ncols());
    for row in rows.outer_iter() {
        buffer.clear();
        row.iter().for_each(|&v| buffer.extend_from_slice(&bytes(v)));
        to.write_all(&buffer)?;
    }
    Ok(())
}
