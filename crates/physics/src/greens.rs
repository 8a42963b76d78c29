//! Solutions of the wave equation in exact space and time, for checks and self-tests.
//!
//! The equation is `(1/c^2) p_tt = lap p + s(t) delta(x - xs)`; all are at rest before t = 0.
//!
//! - 3-D: `p = s(t - r/c) / (4 pi r)`.
//! - 2-D: `p = 1/(2 pi) int_0^inf s(t - (r/c) cosh u) du`, which is the convolution of s with
//!   `H(t - r/c) / (2 pi sqrt(t^2 - r^2/c^2))` after `tau = (r/c) cosh u`.
//! - A plane wall adds the source's mirror image, with sign -1 at a free surface and +1 at a rigid
//!   wall; for a free surface that is Lloyd's mirror.
//! - Two half spaces of equal density: a plane wave's reflection coefficient.

use std::f64::consts::PI;

use crate::Wavelet;

/// Pressure in a homogeneous 3-D medium at `distance`, m, and time `t`, s.
#[must_use]
pub fn homogeneous_3d(wavelet: &Wavelet, wave_speed: f64, distance: f64, t: f64) -> f64 {
    let retarded = t - distance / wave_speed;
    if retarded < 0.0 { 0.0 } else { wavelet.amplitude(retarded) / (4.0 * PI * distance) }
}

/// Pressure in a homogeneous 2-D medium at `distance`, m, and time `t`, s.
#[must_use]
pub fn homogeneous_2d(wavelet: &Wavelet, wave_speed: f64, distance: f64, t: f64) -> f64 {
    let travel = distance / wave_speed;
    if t <= travel {
        return 0.0;
    }
    // The integrand is smooth and even in u, and vanishes with the wavelet at the upper end: the
    // trapezoidal rule converges faster than any power. The wavelet is resolved by steps in time of
    // at most a fortieth of its shortest period.
    let end = (t / travel).acosh();
    let finest = 1.0 / (40.0 * wavelet.max_hz());
    let slope = (t * t - travel * travel).sqrt();
    let count = crate::resample::floor_index(end * slope / finest).max(64);
    let step = end / count as f64;
    let inner: f64 =
        (1..count).map(|n| wavelet.amplitude(t - travel * (step * n as f64).cosh())).sum();
    let ends = wavelet.amplitude(t - travel) + wavelet.amplitude(0.0);
    step * (inner + 0.5 * ends) / (2.0 * PI)
}

/// Pressure in a homogeneous medium of 2 or 3 dimensions with mirror images of the source: the sum
/// over (sign, distance in m).
#[must_use]
pub fn with_images(
    dimensions: usize,
    wavelet: &Wavelet,
    wave_speed: f64,
    images: &[(f64, f64)],
    t: f64,
) -> f64 {
    let one = if dimensions == 3 { homogeneous_3d } else { homogeneous_2d };
    images.iter().map(|(sign, distance)| sign * one(wavelet, wave_speed, *distance, t)).sum()
}

/// Reflection coefficient of pressure for a plane wave from a half space of wave speed `above` onto
/// one of `below`, m/s, equal densities, at `angle` from the normal, rad; `None` beyond the
/// critical angle, where it is complex with modulus one.
#[must_use]
pub fn reflection_coefficient(above: f64, below: f64, angle: f64) -> Option<f64> {
    let sine = angle.sin() * below / above;
    if sine.abs() > 1.0 {
        return None;
    }
    let (cos_above, cos_below) = (angle.cos(), (1.0 - sine * sine).sqrt());
    Some((below * cos_above - above * cos_below) / (below * cos_above + above * cos_below))
}

/// Relative L2 error of a Ricker trace in a homogeneous medium that leapfrog's steps of `dt`, s,
/// cause at `distance`, m, with exact space and small errors.
///
/// A phase error `w^3 dt^2 r / (24 c)` weighted with the spectrum: the root of the ratio of
/// Ricker moments, 2.22 in 3-D and sqrt(3) in 2-D.
#[must_use]
pub fn ricker_time_error(
    dimensions: usize,
    peak_hz: f64,
    dt: f64,
    distance: f64,
    wave_speed: f64,
) -> f64 {
    // int w^10 exp(-2 w^2/w0^2) over int w^4 exp(..), and with w^9 over w^3 in 2-D.
    let moment = if dimensions == 3 { (315.0_f64 / 64.0).sqrt() } else { 3.0_f64.sqrt() };
    moment * (2.0 * PI * peak_hz).powi(3) * dt * dt * distance / (24.0 * wave_speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_2d_solution_is_a_line_of_3d_sources() {
        // Independent of the integral above: 3-D sources along y, summed at 0.5 m.
        let wavelet = Wavelet::ricker(10.0);
        let (c, r, step) = (2000.0, 300.0, 0.5);
        for t in [0.2, 0.27, 0.29, 0.31, 0.4] {
            let mut sum = 0.0;
            for n in -4000..=4000 {
                let y = step * f64::from(n);
                sum += step * homogeneous_3d(&wavelet, c, f64::hypot(r, y), t);
            }
            let got = homogeneous_2d(&wavelet, c, r, t);
            assert!((got - sum).abs() < 1e-7, "t = {t}: {got} and {sum}");
        }
    }

    #[test]
    fn a_constant_source_in_2d_grows_as_acosh() {
        let wavelet = Wavelet::Samples { dt: 1e-3, values: vec![1.0; 3000], scale: 1.0 };
        let got = homogeneous_2d(&wavelet, 1000.0, 100.0, 1.0);
        let want = f64::acosh(10.0) / (2.0 * PI);
        // The series' start rings within 16 samples.
        assert!((got - want).abs() < 2e-3, "{got}, {want}");
    }

    #[test]
    fn reflection_has_its_normal_and_critical_values() {
        let normal = reflection_coefficient(1500.0, 3000.0, 0.0).unwrap();
        assert!((normal - 1.0 / 3.0).abs() < 1e-15);
        let critical = reflection_coefficient(1500.0, 3000.0, (0.5_f64 - 1e-12).asin()).unwrap();
        assert!((critical - 1.0).abs() < 1e-5);
        assert!(reflection_coefficient(1500.0, 3000.0, 0.6).is_none());
    }

    #[test]
    fn the_ricker_moment_is_the_published_factor() {
        let factor = ricker_time_error(3, 0.5 / PI, 1.0, 24.0, 1.0);
        assert!((factor - 2.22).abs() < 2e-3, "{factor}");
    }
}
