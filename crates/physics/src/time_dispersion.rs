//! Correction of the leapfrog scheme's time dispersion.
//!
//! Leapfrog turns `w` into `W(w) = (2/dt) sin(w dt / 2)`: driven by a series of spectrum S', it
//! gives the spectrum `G(W(w)) S'(w)`, G being the response of exact time. So a run whose source is
//! `S'(w) = S(W(w))` records `Q(w) = P(W(w))`, and `P(W) = Q(w(W))` with
//! `w(W) = (2/dt) asin(W dt / 2)` is free of it (Koene, E. F. M., Robertsson, J. O. A., Broggini, F.,
//! Andersson, F. (2018), Eliminating time dispersion from seismic wave modeling, Geophys. J. Int.
//! 213, 169-180). Both hold in any medium, to the accuracy of the space operator; with C-PML in the
//! layer only to the order of dt.
//!
//! The correction of traces is composed with the change to the record interval: the weight of step
//! n in the sample at t is `dt/pi int H(W) cos(W t - w(W) n dt) dW`, H a lowpass that falls in its
//! upper third. Stationary phase confines it to steps between `t cos(W_s dt / 2)` and t, and the
//! lowpass' half width around.

use std::f64::consts::PI;

use crate::resample::{self, PASSBAND, Resampler, STOPBAND, floor_index};
use crate::{Result, Wavelet, kaiser};

/// Shape of the lowpass' flank: the integral of a Kaiser window, about 100 dB in time.
const FLANK_BETA: f64 = 12.0;

/// Largest `W dt` of the lowpass: 3.9 steps per period; at 2 the scheme has no such frequency.
const LARGEST_W_DT: f64 = 1.6;

/// The lowpass reaches to this multiple of the wavelet's largest frequency.
const BAND_OF_WAVELET: f64 = 2.25;

/// The source series, `count` steps of `dt` in s, that makes the scheme act as the wavelet does in
/// exact time.
#[must_use]
pub fn source_series(wavelet: &Wavelet, dt: f64, count: usize) -> Vec<f64> {
    let wavelet_steps = floor_index(wavelet.end() / dt).cast_unsigned() + 2;
    let original = wavelet.sampled(dt, wavelet_steps);
    // A period of twice the wavelet keeps the series' periodic images apart.
    let period = 2 * wavelet_steps;
    let mut series = vec![0.0; count];
    for m in 0..=wavelet_steps {
        let frequency = 2.0 * PI * m as f64 / period as f64;
        let replaced = 2.0 * (0.5 * frequency).sin();
        let (mut re, mut im) = (0.0, 0.0);
        for (value, (cos, sin)) in original.iter().zip(rotation(0.0, replaced)) {
            re += value * cos;
            im -= value * sin;
        }
        let ends = m == 0 || m == wavelet_steps;
        let share = if ends { 1.0 } else { 2.0 } / period as f64;
        let turning = rotation(0.0, frequency).take(wavelet_steps);
        for (value, (cos, sin)) in series.iter_mut().zip(turning) {
            *value += share * (re * cos - im * sin);
        }
    }
    series
}

impl Resampler {
    /// As [`Resampler::new`], and the time dispersion of steps of `dt` is taken out of the traces;
    /// the run's source must be [`source_series`]. Frequencies above 1.5 `max_hz`, the wavelet's
    /// largest, may be cut off.
    ///
    /// # Errors
    /// As [`Resampler::new`], and if `max_hz` is not positive.
    pub fn without_time_dispersion(
        dt: f64,
        interval: f64,
        duration: f64,
        max_hz: f64,
    ) -> Result<Self> {
        let samples = resample::sample_count(duration, interval)?;
        resample::check_positive("time step dt", dt)?;
        resample::check_positive("largest frequency", max_hz)?;
        let stop = (STOPBAND * PI / dt.max(interval))
            .min(LARGEST_W_DT / dt)
            .min(2.0 * PI * BAND_OF_WAVELET * max_hz);
        let lowpass = Lowpass { pass: stop * PASSBAND / STOPBAND, stop };
        let half_width = lowpass.half_width();
        let mut resampler = Self::with_rows(dt, interval, half_width, samples);
        resampler.limit_passband(lowpass.pass / (2.0 * PI));
        for n in 0..samples {
            let (first, weights) = row(&lowpass, n as f64 * interval, dt, half_width);
            resampler.push_row(first, weights);
        }
        Ok(resampler)
    }
}

/// (cos, sin) of `start`, `start + step`, ..., by recurrence: 1e-12 after ten thousand terms.
fn rotation(start: f64, step: f64) -> impl Iterator<Item = (f64, f64)> {
    let ((sin, cos), (turn_sin, turn_cos)) = (start.sin_cos(), step.sin_cos());
    std::iter::successors(Some((cos, sin)), move |(cos, sin)| {
        Some((cos * turn_cos - sin * turn_sin, sin * turn_cos + cos * turn_sin))
    })
}

/// One up to `pass`, zero from `stop` on, both in rad/s.
struct Lowpass {
    pass: f64,
    stop: f64,
}

impl Lowpass {
    /// Where the response has fallen by 100 dB, s: the main lobe of the flank's transform.
    fn half_width(&self) -> f64 {
        2.0 * FLANK_BETA.hypot(PI) / (self.stop - self.pass)
    }

    /// The response on `count` equal intervals from 0 to `stop`.
    fn sampled(&self, count: usize) -> Vec<f64> {
        let (middle, half) = (0.5 * (self.pass + self.stop), 0.5 * (self.stop - self.pass));
        // The flank is integrated on its own fine grid, then read by linear interpolation.
        const FINE: u32 = 4096;
        let mut integral = vec![0.0];
        for m in 0..FINE {
            let x = (f64::from(m) + 0.5) / f64::from(FINE) * 2.0 - 1.0;
            integral.push(integral[m as usize] + kaiser::window(x, 1.0, FLANK_BETA));
        }
        let total = integral[FINE as usize];
        let fallen = |w: f64| {
            let at = ((w - middle) / half + 1.0) * 0.5 * f64::from(FINE);
            if at <= 0.0 {
                return 0.0;
            }
            let below = floor_index(at).cast_unsigned();
            match integral.get(below + 1) {
                Some(above) => {
                    let share = at - below as f64;
                    (integral[below] * (1.0 - share) + above * share) / total
                }
                None => 1.0,
            }
        };
        (0..=count).map(|m| 1.0 - fallen(self.stop * m as f64 / count as f64)).collect()
    }
}

/// First step and weights of the sample at `t`.
fn row(lowpass: &Lowpass, t: f64, dt: f64, half_width: f64) -> (isize, Vec<f64>) {
    let slowest = (1.0 - (0.5 * lowpass.stop * dt).powi(2)).sqrt();
    let first = floor_index((t * slowest - half_width) / dt).max(0);
    let last = floor_index((t + half_width) / dt);
    // The integrand's phase turns by at most this much per rad/s: sample it at twice its rate.
    let turn =
        (t * (1.0 / slowest - 1.0) + half_width / slowest).max(t + half_width - first as f64 * dt);
    let count = floor_index(1.2 * lowpass.stop * turn / PI).cast_unsigned() + 16;
    let response = lowpass.sampled(count);
    let spacing = lowpass.stop / count as f64;
    let mut weights = vec![0.0; (last - first + 1).cast_unsigned()];
    for (m, h) in response.iter().enumerate() {
        let exact = spacing * m as f64;
        let of_scheme = 2.0 * (0.5 * exact * dt).asin();
        let phases = rotation(exact * t - of_scheme * first as f64, -of_scheme);
        let share = h * spacing * dt / PI * if m == 0 { 0.5 } else { 1.0 };
        for (weight, (cos, _)) in weights.iter_mut().zip(phases) {
            *weight += share * cos;
        }
    }
    (first, weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operator, cfl};

    /// A 1-D leapfrog run of order 16 (spacing 1 m, 1 m/s): trace at `distance` m.
    fn run(source: &[f64], dt: f64, distance: usize, steps: usize) -> Vec<f64> {
        let weights = Operator::Direct { order: 16 }.second_derivative();
        let nodes = 2 * distance + 600;
        let (at, mut now, mut next) = (300, vec![0.0; nodes], vec![0.0; nodes]);
        let mut trace = Vec::new();
        for n in 0..steps {
            trace.push(now[at + distance]);
            for i in 8..nodes - 8 {
                let lap = (1..=8).fold(weights[0] * now[i], |sum, r| {
                    sum + weights[r] * (now[i - r] + now[i + r])
                });
                next[i] = 2.0 * now[i] - next[i] + dt * dt * lap;
            }
            next[at] += dt * dt * source.get(n).unwrap_or(&0.0);
            std::mem::swap(&mut now, &mut next);
        }
        trace
    }

    /// 1-D: p = (c/2) times the integral of s up to t - r/c.
    fn exact(wavelet: &Wavelet, distance: f64, interval: f64, samples: usize) -> Vec<f64> {
        let fine = 100;
        let step = interval / f64::from(fine);
        let (mut integral, mut out) = (0.0, Vec::new());
        for n in 0..samples {
            out.push(0.5 * integral);
            for m in 0..fine {
                let t = (n as f64) * interval + (f64::from(m) + 0.5) * step - distance;
                integral += wavelet.amplitude(t) * step;
            }
        }
        out
    }

    fn relative_l2(got: &[f64], want: &[f64]) -> f64 {
        let square = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>();
        let mut difference = got.iter().zip(want).map(|(a, b)| a - b);
        (square(&mut difference) / square(&mut want.iter().copied())).sqrt()
    }

    #[test]
    fn a_far_trace_of_a_coarse_step_meets_exact_time_to_2e_4() {
        let wavelet = Wavelet::GaussianDerivative { order: 3, peak_hz: 0.05, t0: None, scale: 1.0 };
        let grid = crate::Grid::new([2, 1, 2], [1.0; 3], [0.0; 3]).unwrap();
        // 1-D: the 2-D limit times sqrt(2).
        let limit = cfl::largest_dt(&grid, &Operator::Direct { order: 16 }, 1.0) * 2.0_f64.sqrt();
        let (dt, interval, distance) = (0.9 * limit, 1.7, 400);
        let corrected =
            Resampler::without_time_dispersion(dt, interval, 480.0, wavelet.max_hz()).unwrap();
        let plain = Resampler::new(dt, interval, 480.0).unwrap();
        let steps = corrected.steps().max(plain.steps());
        let want = exact(&wavelet, distance as f64, interval, plain.samples());
        let record = |resampler: &Resampler, source: &[f64]| {
            let mut out = vec![0.0; resampler.samples()];
            resampler.apply_to(&run(source, dt, distance, steps), &mut out);
            relative_l2(&out, &want)
        };
        let before = record(&plain, &wavelet.sampled(dt, steps));
        let after = record(&corrected, &source_series(&wavelet, dt, steps));
        assert!(before > 0.2, "nothing to correct: {before}");
        assert!(after < 2e-4, "{before} before, {after} after");
    }

    #[test]
    fn a_small_step_needs_no_correction() {
        let wavelet = Wavelet::ricker(10.0);
        let (dt, count) = (1e-4, 3000);
        let (plain, corrected) = (wavelet.sampled(dt, count), source_series(&wavelet, dt, count));
        // At 20 Hz w changes by (w dt)^2 / 24 = 6.6e-6, which over 0.28 s turns the phase by 2.3e-4.
        for n in (0..count).step_by(10) {
            assert!((plain[n] - corrected[n]).abs() < 3e-4, "step {n}");
        }
    }

    #[test]
    fn frequencies_in_the_passband_are_moved_from_w_to_sine_w() {
        let (dt, interval) = (1e-3, 4e-3);
        let resampler = Resampler::without_time_dispersion(dt, interval, 2.0, 200.0).unwrap();
        for hz in [5.0, 20.0, 60.0, 0.99 * resampler.passband_hz()] {
            let exact = 2.0 * PI * hz;
            let of_scheme = 2.0 / dt * (0.5 * exact * dt).asin();
            let trace: Vec<f64> =
                (0..resampler.steps()).map(|n| (of_scheme * n as f64 * dt).cos()).collect();
            let mut out = vec![0.0; resampler.samples()];
            resampler.apply_to(&trace, &mut out);
            for (n, value) in out.iter().enumerate().skip(60) {
                // Spectra keep their value, so a tone is scaled by dW/dw.
                let want = (0.5 * of_scheme * dt).cos() * (exact * n as f64 * interval).cos();
                assert!((value - want).abs() < 5e-5, "{hz} Hz, sample {n}: {value}, {want}");
            }
        }
    }
}
