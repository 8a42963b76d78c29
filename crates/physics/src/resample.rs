//! From the run's time step to the record interval, for any ratio, band-limited.
//!
//! Each output sample is a weighted sum of steps around it, the weights a Kaiser-windowed sinc with
//! its cut-off at the Nyquist frequency `f_n` of the coarser of the two samplings: flat to 1e-5 below
//! `0.8 f_n`, at or below -100 dB above `1.2 f_n`, so that what aliases lands above the passband. The
//! steps before t = 0 are zero, and the run goes past the duration by [`Resampler::half_width`].
//! Equal steps are copied.

use std::collections::HashMap;

use ndarray::{Array2, ArrayView2};

use crate::{Error, Result, kaiser};

/// Ripple and stopband attenuation, dB.
pub const ATTENUATION_DB: f64 = 100.0;

/// End of the passband in units of the Nyquist frequency of the coarser sampling.
pub const PASSBAND: f64 = 0.8;

/// Start of the stopband in the same unit.
pub const STOPBAND: f64 = 1.2;

/// Half width in units of the coarser sampling interval: Kaiser's
/// `N = (A - 7.95) / (2.285 dw)`, dw = pi (1.2 - 0.8), N/2 on either side, rounded up.
const HALF_WIDTH: f64 = 17.0;

/// An element of a trace.
pub trait Sample: Copy + Default + private::Sealed {
    /// As double precision.
    fn widen(self) -> f64;
    /// Rounded from double precision.
    fn narrow(value: f64) -> Self;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Sample for f32 {
    fn widen(self) -> f64 {
        f64::from(self)
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
    fn narrow(value: f64) -> Self {
        value as Self
    }
}

impl Sample for f64 {
    fn widen(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> Self {
        value
    }
}

/// A linear map from the steps of a run to the samples of a record, built once and applied to all
/// traces.
#[derive(Debug, Clone, PartialEq)]
pub struct Resampler {
    interval: f64,
    half_width: f64,
    passband_hz: f64,
    steps: usize,
    /// Per output sample: its kernel and the step of the kernel's first weight.
    rows: Vec<(usize, isize)>,
    kernels: Vec<Vec<f64>>,
}

impl Resampler {
    /// From steps of `dt` to samples every `interval` from 0 to `duration`, all in s.
    ///
    /// # Errors
    /// If a time is not positive (the duration may be zero) or there are too many samples.
    pub fn new(dt: f64, interval: f64, duration: f64) -> Result<Self> {
        let samples = sample_count(duration, interval)?;
        check_positive("time step dt", dt)?;
        let same = (interval / dt - 1.0).abs() < 1e-9;
        let coarse = dt.max(interval);
        let half_width = if same { 0.0 } else { HALF_WIDTH * coarse };
        let mut resampler = Self::with_rows(dt, interval, half_width, samples);
        let mut known = HashMap::new();
        for n in 0..samples {
            if same {
                if n == 0 {
                    resampler.kernels.push(vec![1.0]);
                }
                resampler.rows.push((0, n.cast_signed()));
                continue;
            }
            let at = n as f64 * interval / dt;
            let phase = at - at.floor();
            // Phases that agree to 1e-9 of a step share a kernel, so that rational ratios store few.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the phase is in 0..=1"
            )]
            let key = (phase * 1e9).round() as u64;
            let kernels = &mut resampler.kernels;
            let (index, first) = *known.entry(key).or_insert_with(|| {
                let (first, weights) = lowpass(phase, dt, coarse, half_width);
                kernels.push(weights);
                (kernels.len() - 1, first)
            });
            resampler.rows.push((index, floor_index(at) + first));
        }
        Ok(resampler)
    }

    /// No rows yet; the steps that a run must make are those up to the last sample's window.
    pub(crate) fn with_rows(dt: f64, interval: f64, half_width: f64, samples: usize) -> Self {
        let end = (samples - 1) as f64 * interval + half_width;
        let steps = floor_index(end / dt + 1e-9).cast_unsigned() + 1;
        let passband_hz = PASSBAND * 0.5 / dt.max(interval);
        let (rows, kernels) = (Vec::new(), Vec::new());
        Self { interval, half_width, passband_hz, steps, rows, kernels }
    }

    /// Adds the next sample's weights, `first` being the step of the first.
    pub(crate) fn push_row(&mut self, first: isize, weights: Vec<f64>) {
        self.rows.push((self.kernels.len(), first));
        self.kernels.push(weights);
    }

    /// States a passband other than the plain resampler's, Hz.
    pub(crate) const fn limit_passband(&mut self, hz: f64) {
        self.passband_hz = hz;
    }

    /// Number of output samples: `floor(duration / interval) + 1`.
    #[must_use]
    pub const fn samples(&self) -> usize {
        self.rows.len()
    }

    /// Number of steps, from step 0, that the output depends on: how far a run must go.
    #[must_use]
    pub const fn steps(&self) -> usize {
        self.steps
    }

    /// Time by which the run goes past the last sample, s.
    #[must_use]
    pub const fn half_width(&self) -> f64 {
        self.half_width
    }

    /// Interval of the output, s.
    #[must_use]
    pub const fn interval(&self) -> f64 {
        self.interval
    }

    /// Up to where amplitudes are kept to 1e-5, Hz.
    #[must_use]
    pub const fn passband_hz(&self) -> f64 {
        self.passband_hz
    }

    /// Resamples one trace from step 0 on; steps that it lacks count as zero.
    ///
    /// # Panics
    /// If `out` is not [`Resampler::samples`] long.
    pub fn apply_to<T: Sample>(&self, trace: &[T], out: &mut [T]) {
        assert_eq!(out.len(), self.samples(), "length of the output");
        for (value, &(kernel, first)) in out.iter_mut().zip(&self.rows) {
            let weights = &self.kernels[kernel];
            let skip = (-first).max(0).cast_unsigned().min(weights.len());
            let start = first.max(0).cast_unsigned().min(trace.len());
            let sum: f64 =
                weights[skip..].iter().zip(&trace[start..]).map(|(w, p)| w * p.widen()).sum();
            *value = T::narrow(sum);
        }
    }

    /// Resamples traces, shape (receiver, step), to shape (receiver, sample).
    ///
    /// # Panics
    /// Never: the output has the length that it needs.
    #[must_use]
    pub fn apply<T: Sample>(&self, traces: &ArrayView2<'_, T>) -> Array2<T> {
        let mut out = Array2::default((traces.nrows(), self.samples()));
        for (trace, mut row) in traces.rows().into_iter().zip(out.rows_mut()) {
            let trace = trace.to_vec();
            self.apply_to(&trace, row.as_slice_mut().expect("rows of a new array are contiguous"));
        }
        out
    }
}

/// `floor(duration / interval) + 1`, forgiving the rounding of decimal intervals.
///
/// # Errors
/// If the interval is not positive, the duration negative, or the count beyond 2^31.
pub fn sample_count(duration: f64, interval: f64) -> Result<usize> {
    check_positive("record interval", interval)?;
    if !(duration.is_finite() && duration >= 0.0) {
        return Err(Error::invalid("duration", duration, "give a time in s, zero or more"));
    }
    let count = (duration / interval + 1e-9).floor();
    if count >= 2_147_483_648.0 {
        let remedy = format!("that is {count} samples every {interval} s: raise the interval");
        return Err(Error::invalid("duration", duration, remedy));
    }
    Ok(floor_index(count).cast_unsigned() + 1)
}

pub(crate) fn check_positive(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::invalid(what, value, "give a positive time in s"))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "step numbers are far below 2^53")]
pub(crate) fn floor_index(value: f64) -> isize {
    value.floor() as isize
}

/// Weights of the steps around a sample `phase` steps after step 0, and the step of the first;
/// scaled to pass a constant unchanged.
fn lowpass(phase: f64, dt: f64, coarse: f64, half_width: f64) -> (isize, Vec<f64>) {
    let reach = half_width / dt;
    let beta = 0.1102 * (ATTENUATION_DB - 8.7);
    let (first, last) = (-floor_index(reach - phase), floor_index(phase + reach));
    let mut weights: Vec<f64> = (first..=last)
        .map(|n| {
            let away = (n as f64 - phase) * dt;
            kaiser::window(away, half_width, beta) * kaiser::sinc(away / coarse)
        })
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    (first, weights)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn tone(hz: f64, dt: f64, count: usize) -> Vec<f64> {
        (0..count).map(|n| (2.0 * PI * hz * n as f64 * dt + 0.4).sin()).collect()
    }

    /// Largest deviation from `scale` times a tone away from the start of the record.
    fn worst(resampler: &Resampler, hz: f64, dt: f64, scale: f64) -> f64 {
        let traces =
            Array2::from_shape_vec((1, resampler.steps()), tone(hz, dt, resampler.steps()));
        let out = resampler.apply(&traces.unwrap().view());
        let expected = tone(hz, resampler.interval(), resampler.samples());
        let start = floor_index(resampler.half_width() / resampler.interval()).cast_unsigned() + 1;
        (start..resampler.samples())
            .map(|n| (out[[0, n]] - scale * expected[n]).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn tones_in_the_passband_are_kept_to_1e_5_for_any_ratio() {
        for (dt, interval) in [(1e-3, 4e-3), (1.37e-3, 4e-3), (1.9e-3, 2e-3), (2.3e-3, 1e-3)] {
            let resampler = Resampler::new(dt, interval, 1.0).unwrap();
            for fraction in [0.01, 0.3, 0.7, 0.999] {
                let error = worst(&resampler, fraction * resampler.passband_hz(), dt, 1.0);
                assert!(error < 2e-5, "{dt} to {interval} at {fraction}: {error}");
            }
        }
    }

    #[test]
    fn tones_in_the_stopband_are_removed_to_100_db() {
        for (dt, interval) in [(1e-3, 4e-3), (1.37e-3, 4e-3)] {
            let resampler = Resampler::new(dt, interval, 1.0).unwrap();
            for times in [1.201, 1.7, 2.3] {
                let error = worst(&resampler, times * 0.5 / interval, dt, 0.0);
                assert!(error < 2e-5, "{dt} to {interval} at {times} f_n: {error}");
            }
        }
    }

    #[test]
    fn equal_steps_are_copied_bit_for_bit() {
        let resampler = Resampler::new(2e-3, 2e-3, 0.1).unwrap();
        let trace: Vec<f32> = (0_u16..51).map(|n| f32::from(n).sin()).collect();
        let mut out = vec![0.0_f32; 51];
        resampler.apply_to(&trace, &mut out);
        assert_eq!(resampler.steps(), 51);
        assert!(trace.iter().zip(&out).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn the_sample_count_is_exact_for_decimal_intervals() {
        for (duration, interval, count) in
            [(4.0, 0.004, 1001), (0.3, 0.1, 4), (0.7, 0.1, 8), (1.0, 0.003, 334), (0.0, 0.004, 1)]
        {
            assert_eq!(sample_count(duration, interval).unwrap(), count, "{duration}/{interval}");
        }
        assert!(sample_count(1e9, 1e-6).is_err());
        assert!(sample_count(1.0, 0.0).is_err());
        assert!(sample_count(f64::NAN, 0.1).is_err());
    }

    #[test]
    fn the_run_reaches_every_weight_and_no_further() {
        let resampler = Resampler::new(1.37e-3, 4e-3, 0.5).unwrap();
        let last = resampler
            .rows
            .iter()
            .map(|&(k, first)| first + resampler.kernels[k].len().cast_signed());
        let last = last.max().unwrap();
        assert!((0..=1).contains(&(resampler.steps().cast_signed() - last)), "{last}");
    }

    #[test]
    fn a_trace_shorter_than_the_run_counts_as_zero_after_its_end() {
        let resampler = Resampler::new(1e-3, 4e-3, 0.5).unwrap();
        let mut long = tone(10.0, 1e-3, resampler.steps());
        long[300..].fill(0.0);
        let mut out = [vec![0.0; resampler.samples()], vec![0.0; resampler.samples()]];
        resampler.apply_to(&long, &mut out[0]);
        resampler.apply_to(&long[..300], &mut out[1]);
        assert_eq!(out[0], out[1]);
    }
}
