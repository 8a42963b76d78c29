//! Source wavelets s(t), as functions of time, with t = 0 the start of the run.
//!
//! A wavelet's unit is that of p times a length (3-D: Pa m; 2-D: Pa). Each
//! has its centre at `t0`; the default places it so late that what is cut off before t = 0 is below
//! 2e-7 of the peak (Ormsby: zero).
//!
//! - Ricker: `(1 - 2z) exp(-z)`, `z = (pi f (t - t0))^2` (Ricker 1953).
//! - Ormsby: a trapezoid in frequency with corners f1..f4 (Ryan, H. (1994), Ricker, Ormsby, Klauder,
//!   Butterworth: a choice of wavelets, CSEG Recorder 19), within a Hann window.
//! - Gaussian derivative of order n, `H_n(x) exp(-x^2)`, largest value 1; order 2 is the Ricker.
//! - Samples: the user's own series, band-limited between its samples.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, kaiser};

/// Highest order of a Gaussian derivative.
pub const LARGEST_DERIVATIVE: u32 = 8;

/// Half width, samples, and shape of the window that interpolates a user's samples.
const INTERPOLATION: (f64, f64) = (16.0, 10.0);

/// The level above the peak frequency that ends a wavelet's band: -40 dB.
const BAND_EDGE: f64 = 1e-2;

/// A source wavelet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Wavelet {
    /// Second derivative of a Gaussian, sign changed.
    Ricker {
        /// Frequency of the spectrum's peak, Hz.
        peak_hz: f64,
        /// Time of the centre, s; default 1.4 / `peak_hz`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        t0: Option<f64>,
        /// Value at the centre.
        #[serde(default = "one")]
        scale: f64,
    },
    /// Flat between f2 and f3, zero below f1 and above f4.
    Ormsby {
        /// Corner frequencies f1 < f2 <= f3 < f4, Hz; f1 may be zero.
        corners_hz: [f64; 4],
        /// Time of the centre, s; default the half width of its window, 2 over the narrower flank.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        t0: Option<f64>,
        /// Value at the centre.
        #[serde(default = "one")]
        scale: f64,
    },
    /// Derivative of a Gaussian, order 1 to 8; largest absolute value `scale`.
    GaussianDerivative {
        /// Order of the derivative.
        order: u32,
        /// Frequency of the spectrum's peak, Hz.
        peak_hz: f64,
        /// Time of the centre, s; default where what is cut off is below 2e-7.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        t0: Option<f64>,
        /// Largest absolute value; the sign is that of (-1)^floor(order / 2) times the derivative.
        #[serde(default = "one")]
        scale: f64,
    },
    /// A series of samples, the first at t = 0; zero before and after.
    Samples {
        /// Interval, s.
        dt: f64,
        /// Values.
        values: Vec<f64>,
        /// Factor on all values.
        #[serde(default = "one")]
        scale: f64,
    },
}

const fn one() -> f64 {
    1.0
}

impl Wavelet {
    /// A Ricker wavelet of unit height with the default start.
    #[must_use]
    pub const fn ricker(peak_hz: f64) -> Self {
        Self::Ricker { peak_hz, t0: None, scale: 1.0 }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// With the parameter's name if a frequency is not positive, Ormsby corners are not ascending,
    /// the order is outside 1..=8, or a sample is not finite.
    pub fn check(&self) -> Result<()> {
        let finite = |what: &str, value: f64| {
            let remedy = "give a finite number";
            value.is_finite().then_some(()).ok_or_else(|| Error::invalid(what, value, remedy))
        };
        let positive = |what: &str, value: f64, unit: &str| {
            let remedy = format!("give a positive number of {unit}");
            let good = value.is_finite() && value > 0.0;
            good.then_some(()).ok_or_else(|| Error::invalid(what, value, remedy))
        };
        match self {
            Self::Ricker { peak_hz, .. } => positive("wavelet peak_hz", *peak_hz, "Hz")?,
            Self::GaussianDerivative { order, peak_hz, .. } => {
                positive("wavelet peak_hz", *peak_hz, "Hz")?;
                if !(1..=LARGEST_DERIVATIVE).contains(order) {
                    let remedy = format!("give an order from 1 to {LARGEST_DERIVATIVE}");
                    return Err(Error::invalid("wavelet order", order, remedy));
                }
            }
            Self::Ormsby { corners_hz: corners, .. } => {
                let [f1, f2, f3, f4] = *corners;
                let ascending = f1 >= 0.0 && f1 < f2 && f2 <= f3 && f3 < f4 && f4.is_finite();
                if !ascending {
                    let remedy = "give four corners in Hz, 0 <= f1 < f2 <= f3 < f4";
                    return Err(Error::invalid(
                        "wavelet corners_hz",
                        format!("{corners:?}"),
                        remedy,
                    ));
                }
            }
            Self::Samples { dt, values, .. } => {
                positive("wavelet dt", *dt, "seconds")?;
                if values.is_empty() {
                    return Err(Error::invalid("wavelet values", "empty", "give samples"));
                }
                if let Some(n) = values.iter().position(|v| !v.is_finite()) {
                    let what = format!("wavelet value {n} (counted from 0)");
                    return Err(Error::invalid(what, values[n], "give finite numbers"));
                }
            }
        }
        match self {
            Self::Ricker { t0, scale, .. }
            | Self::Ormsby { t0, scale, .. }
            | Self::GaussianDerivative { t0, scale, .. } => {
                finite("wavelet t0", t0.unwrap_or(0.0))?;
                finite("wavelet scale", *scale)
            }
            Self::Samples { scale, .. } => finite("wavelet scale", *scale),
        }
    }

    /// Time of the centre, s; zero for samples.
    #[must_use]
    pub fn t0(&self) -> f64 {
        match self {
            Self::Ricker { peak_hz, t0, .. } => t0.unwrap_or(1.4 / peak_hz),
            Self::Ormsby { corners_hz, t0, .. } => t0.unwrap_or_else(|| ormsby_reach(corners_hz)),
            Self::GaussianDerivative { order, peak_hz, t0, .. } => {
                t0.unwrap_or_else(|| hermite_reach(*order) / hermite_rate(*order, *peak_hz))
            }
            Self::Samples { .. } => 0.0,
        }
    }

    /// s(t) at `t`, s.
    #[must_use]
    pub fn amplitude(&self, t: f64) -> f64 {
        let since = t - self.t0();
        match self {
            Self::Ricker { peak_hz, scale, .. } => {
                let z = (PI * peak_hz * since).powi(2);
                scale * (1.0 - 2.0 * z) * (-z).exp()
            }
            Self::Ormsby { corners_hz, scale, .. } => scale * ormsby(corners_hz, since),
            Self::GaussianDerivative { order, peak_hz, scale, .. } => {
                let x = hermite_rate(*order, *peak_hz) * since;
                scale * signed_hermite(*order, x) / hermite_peak(*order)
            }
            Self::Samples { dt, values, scale } => scale * interpolated(values, t / dt),
        }
    }

    /// s(n dt) for n in 0..count.
    #[must_use]
    pub fn sampled(&self, dt: f64, count: usize) -> Vec<f64> {
        // The Gaussian derivative's constants cost more than a sample: take them out by pinning t0.
        let pinned = self.with_t0(self.t0());
        (0..count).map(|n| pinned.amplitude(n as f64 * dt)).collect()
    }

    /// When the wavelet is over, s: after it, it stays below 2e-7 of its peak.
    #[must_use]
    pub fn end(&self) -> f64 {
        match self {
            Self::Ricker { peak_hz, .. } => self.t0() + 1.4 / peak_hz,
            Self::Ormsby { corners_hz, .. } => self.t0() + ormsby_reach(corners_hz),
            Self::GaussianDerivative { order, peak_hz, .. } => {
                self.t0() + hermite_reach(*order) / hermite_rate(*order, *peak_hz)
            }
            Self::Samples { dt, values, .. } => (values.len() as f64 + INTERPOLATION.0) * dt,
        }
    }

    fn with_t0(&self, centre: f64) -> Self {
        let mut pinned = self.clone();
        match &mut pinned {
            Self::Ricker { t0, .. }
            | Self::Ormsby { t0, .. }
            | Self::GaussianDerivative { t0, .. } => *t0 = Some(centre),
            Self::Samples { .. } => {}
        }
        pinned
    }

    /// Frequency of the spectrum's peak, Hz; the middle of an Ormsby's flat part.
    #[must_use]
    pub fn peak_hz(&self) -> f64 {
        match self {
            Self::Ricker { peak_hz, .. } | Self::GaussianDerivative { peak_hz, .. } => *peak_hz,
            Self::Ormsby { corners_hz, .. } => 0.5 * (corners_hz[1] + corners_hz[2]),
            Self::Samples { dt, values, .. } => sampled_band(values, *dt).0,
        }
    }

    /// Frequency above which the spectrum stays 40 dB below its peak, Hz.
    #[must_use]
    pub fn max_hz(&self) -> f64 {
        match self {
            Self::Ricker { peak_hz, .. } => peak_hz * hermite_band(2),
            Self::GaussianDerivative { order, peak_hz, .. } => peak_hz * hermite_band(*order),
            Self::Ormsby { corners_hz, .. } => corners_hz[3] + 0.5 / ormsby_reach(corners_hz),
            Self::Samples { dt, values, .. } => sampled_band(values, *dt).1,
        }
    }
}

/// Half width of the Ormsby's Hann window, s: it rounds the corners by half the narrower flank.
fn ormsby_reach([f1, f2, f3, f4]: &[f64; 4]) -> f64 {
    2.0 / (f2 - f1).min(f4 - f3)
}

fn ormsby(corners: &[f64; 4], t: f64) -> f64 {
    let reach = ormsby_reach(corners);
    if t.abs() >= reach {
        return 0.0;
    }
    let [f1, f2, f3, f4] = *corners;
    let hump = |f: f64| (f * kaiser::sinc(f * t)).powi(2);
    let value = (hump(f4) - hump(f3)) / (f4 - f3) - (hump(f2) - hump(f1)) / (f2 - f1);
    let hann = (0.5 * PI * t / reach).cos().powi(2);
    hann * value / (f4 + f3 - f2 - f1)
}

/// Hermite polynomial `H_n(x)` times `exp(-x^2)`.
fn hermite(order: u32, x: f64) -> f64 {
    let (mut below, mut value) = (0.0, 1.0);
    for n in 0..order {
        let next = 2.0 * x * value - 2.0 * f64::from(n) * below;
        below = value;
        value = next;
    }
    value * (-x * x).exp()
}

/// The derivative `d^n/dx^n exp(-x^2) = (-1)^n H_n exp(-x^2)`, even orders positive at the centre.
fn signed_hermite(order: u32, x: f64) -> f64 {
    let flips = order + order / 2;
    if flips.is_multiple_of(2) { hermite(order, x) } else { -hermite(order, x) }
}

/// x per second: the spectrum `w^n exp(-w^2 / (4 a))` peaks at `w^2 = 2 n a`, and `x = sqrt(a) t`.
fn hermite_rate(order: u32, peak_hz: f64) -> f64 {
    2.0 * PI * peak_hz / f64::from(2 * order).sqrt()
}

/// Largest `|H_n(x) exp(-x^2)|`: at the zero of `H_(n+1)` nearest to the centre.
fn hermite_peak(order: u32) -> f64 {
    if order.is_multiple_of(2) {
        return hermite(order, 0.0).abs();
    }
    let sign = hermite(order + 1, 0.0).signum();
    let mut high = 0.0;
    while hermite(order + 1, high) * sign > 0.0 {
        high += 0.05;
    }
    let mut low = high - 0.05;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if hermite(order + 1, middle) * sign > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    hermite(order, low).abs()
}

/// x beyond which the function stays below 2e-7 of its peak.
fn hermite_reach(order: u32) -> f64 {
    let level = 2e-7 * hermite_peak(order);
    let mut x = 8.0;
    while hermite(order, x - 0.01).abs() < level {
        x -= 0.01;
    }
    x
}

/// Frequency over peak frequency, u > 1, where `(u^2 exp(1 - u^2))^(n/2)` falls to -40 dB.
fn hermite_band(order: u32) -> f64 {
    let target = 2.0 / f64::from(order) * BAND_EDGE.ln();
    let (mut low, mut high) = (1.0_f64, 50.0_f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle.ln() * 2.0 + 1.0 - middle * middle > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The series at `at` samples from its first.
fn interpolated(values: &[f64], at: f64) -> f64 {
    let (half_width, beta) = INTERPOLATION;
    let weight = |n: usize| kaiser::windowed_sinc(n as f64 - at, half_width, beta);
    let near = |n: &usize| (*n as f64 - at).abs() < half_width;
    // The few samples in reach, without scanning the series.
    let first = crate::resample::floor_index((at - half_width).max(0.0)).cast_unsigned();
    (first..values.len())
        .skip_while(|n| !near(n) && (*n as f64) < at)
        .take_while(near)
        .map(|n| values[n] * weight(n))
        .sum()
}

/// (peak, -40 dB edge) of a series' amplitude spectrum, Hz, on 2048 frequencies up to Nyquist's.
fn sampled_band(values: &[f64], dt: f64) -> (f64, f64) {
    const COUNT: u32 = 2048;
    let hz = |m: u32| 0.5 / dt * f64::from(m) / f64::from(COUNT);
    let level: Vec<f64> = (0..=COUNT)
        .map(|m| {
            let step = 2.0 * PI * hz(m) * dt;
            let (mut re, mut im) = (0.0, 0.0);
            for (n, value) in values.iter().enumerate() {
                let (sin, cos) = (step * n as f64).sin_cos();
                re += value * cos;
                im += value * sin;
            }
            f64::hypot(re, im)
        })
        .collect();
    let largest = level.iter().copied().fold(0.0, f64::max);
    let peak = (0..=COUNT).find(|&m| level[m as usize] >= largest).unwrap_or(0);
    let edge = (0..=COUNT).rfind(|&m| level[m as usize] >= BAND_EDGE * largest).unwrap_or(COUNT);
    // A constant has its peak at 0 Hz; report the lowest frequency that the series resolves.
    (hz(peak.max(1)), hz(edge.max(1)))
}

#[cfg(test)]
#[path = "wavelet_tests.rs"]
mod tests;
