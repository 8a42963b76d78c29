//! The Kaiser-windowed sinc, for points off the grid and for series at other times.
//!
//! `w(x) = I0(beta sqrt(1 - (x/r)^2)) / I0(beta) sinc(x)` for |x| < r, in units of the sampling
//! interval (Hicks, G. J. (2002), Geophysics 67, 156-165). A filter's ripple of A dB needs
//! `beta = 0.1102 (A - 8.7)` (Kaiser 1974).

/// Modified Bessel function of the first kind and order zero, by its power series.
#[must_use]
pub fn bessel_i0(x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

/// `sin(pi x) / (pi x)`.
#[must_use]
pub fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    if angle.abs() < 1e-8 { 1.0 } else { angle.sin() / angle }
}

/// Kaiser's window at `x` of half width `half_width` (same unit); zero outside.
#[must_use]
pub fn window(x: f64, half_width: f64, beta: f64) -> f64 {
    let u = x / half_width;
    if u.abs() >= 1.0 { 0.0 } else { bessel_i0(beta * (1.0 - u * u).sqrt()) / bessel_i0(beta) }
}

/// Windowed sinc at `x` samples from the centre.
#[must_use]
pub fn windowed_sinc(x: f64, half_width: f64, beta: f64) -> f64 {
    window(x, half_width, beta) * sinc(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bessel_i0_has_tabulated_values() {
        // Abramowitz and Stegun (1964), table 9.8.
        for (x, value) in [(1.0, 1.266_065_877_752), (5.0, 27.239_871_823_604)] {
            assert!((bessel_i0(x) / value - 1.0).abs() < 1e-12, "I0({x})");
        }
    }

    #[test]
    fn windowed_sinc_is_one_at_zero_and_zero_at_other_samples() {
        assert!((windowed_sinc(0.0, 4.0, 6.31) - 1.0).abs() < 1e-15);
        for n in 1..6 {
            assert!(windowed_sinc(f64::from(n), 4.0, 6.31).abs() < 1e-15);
        }
    }
}
