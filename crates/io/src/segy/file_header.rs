//! The headers of a file: text and binary.

use std::path::Path;

use super::{BINARY_BYTES, TEXT_BYTES, samples::SampleFormat, text};
use crate::{Error, Result};

/// What a SEG-Y file says once for all its traces.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SegyHeader {
    /// Lines for the text header, without `C 1`; wrapped at 76 characters.
    pub text: Vec<String>,
    /// Time between samples, s; a whole number of microseconds.
    pub sample_interval: f64,
    /// Samples per trace, at most 65,535.
    pub samples: usize,
    /// Traces of one shot (data traces per ensemble), at most 65,535; 0 if they differ.
    pub traces_per_record: usize,
    /// Power of ten by which coordinates are stored, as the standard's scalar: -1000 for
    /// millimetres, -100 for centimetres, 1 for metres. If absent, each trace takes the finest that
    /// its coordinates need and that fits; [`super::coordinate_scalar`] finds one for a survey.
    pub coordinate_scalar: Option<i16>,
}

impl SegyHeader {
    /// A header for traces of `samples` samples, `sample_interval` s apart.
    #[must_use]
    pub fn new(sample_interval: f64, samples: usize) -> Self {
        Self { sample_interval, samples, ..Self::default() }
    }

    /// The sample interval in microseconds, as the standard stores it.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the nearest interval if it is not a whole number from 1 to 65,535.
    pub(super) fn interval_us(&self, path: &Path) -> Result<u16> {
        let exact = self.sample_interval * 1e6;
        let nearest = exact.round();
        // 1e-6 of a sample over a trace of 65,535 is less than a tenth of a sample.
        if (1.0..=65535.0).contains(&nearest) && (exact - nearest).abs() <= 1e-6 * nearest {
            #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
            #[expect(clippy::cast_sign_loss, reason = "the range was checked")]
            return Ok(nearest as u16);
        }
        let got = format!("{} s", self.sample_interval);
        let remedy = if exact.is_finite() {
            let would_be = nearest.clamp(1.0, 65535.0) / 1e6;
            format!(
                "SEG-Y revision 1 stores whole microseconds up to 65,535: take {would_be} s, or write npy"
            )
        } else {
            "give a positive number of seconds".to_owned()
        };
        Err(Error::invalid(path, "the sample interval", got, remedy))
    }

    /// Samples per trace as the standard stores it.
    pub(super) fn samples_u16(&self, path: &Path) -> Result<u16> {
        match u16::try_from(self.samples) {
            Ok(samples) if samples > 0 => Ok(samples),
            Ok(_) => {
                Err(Error::invalid(path, "the number of samples", 0, "give at least one sample"))
            }
            Err(_) => {
                let remedy = "SEG-Y revision 1 holds 65,535 per trace: record less often or \
                              shorter, or write npy";
                Err(Error::invalid(path, "the number of samples", self.samples, remedy))
            }
        }
    }

    /// Whether revision 1 can hold it; `path` is named in the error.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the value and what would fit.
    pub fn check(&self, path: &Path) -> Result<()> {
        self.encode(path).map(drop)
    }

    /// Text and binary header, 3600 bytes.
    pub(super) fn encode(&self, path: &Path) -> Result<Vec<u8>> {
        let interval = self.interval_us(path)?;
        let samples = self.samples_u16(path)?;
        let Ok(traces) = u16::try_from(self.traces_per_record) else {
            let remedy =
                "SEG-Y revision 1 holds 65,535 per shot: split the receivers, or write npy";
            return Err(Error::invalid(path, "traces per shot", self.traces_per_record, remedy));
        };
        let mut bytes = text::encode(path, &self.text)?;
        bytes.resize(TEXT_BYTES + BINARY_BYTES, 0);
        let mut put16 = |byte: usize, value: u16| {
            bytes[byte - 1..byte + 1].copy_from_slice(&value.to_be_bytes());
        };
        put16(3213, traces);
        put16(3217, interval);
        put16(3219, interval);
        put16(3221, samples);
        put16(3223, samples);
        put16(3225, SampleFormat::Ieee.code());
        put16(3227, 1); // ensemble fold
        put16(3229, 1); // as recorded
        put16(3231, 1); // no vertical sum
        put16(3249, 1); // not correlated
        put16(3253, 1); // no gain recovery
        put16(3255, 1); // metres
        put16(3257, 2); // increase of pressure is a positive number
        put16(3501, 0x0100); // revision 1.0
        put16(3503, 1); // all traces have the same length and interval
        put32(&mut bytes, 3201, 1); // job
        put32(&mut bytes, 3205, 1); // line
        put32(&mut bytes, 3209, 1); // reel
        Ok(bytes)
    }
}

fn put32(bytes: &mut [u8], byte: usize, value: i32) {
    bytes[byte - 1..byte + 3].copy_from_slice(&value.to_be_bytes());
}
