//! How far a scheme may step: bounds on dt from von Neumann analysis.
//!
//! A speed lambda and a spacing dx give the Courant number `C = dt lambda / dx`; the eigenvalue of a
//! patch is the largest over directions, not their sum, so unsplit schemes lose a factor d.
//! Runge-Kutta with s = 1 to 4 stages of order s has |sum z^k / k!| <= 1 down to z = -[`real_axis`] and
//! up to z = i [`imaginary_axis`] (Hairer and Wanner 1996, section IV.2).

/// The rule for a scheme's time step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Largest C of `dt = C min(dx) / eigenvalue`.
    pub courant: f64,
    /// Largest D of `dt = D min(dx) / sigma` for dissipation of strength sigma, m/s; infinite for
    /// schemes without a parameter `sigma`.
    pub dissipation: f64,
}

/// Limits of a shipped scheme in d dimensions with p voxels per axis and Runge-Kutta of so many
/// stages (1 for schemes that step by themselves); none for schemes that are not known here, and where
/// no step is stable.
#[must_use]
pub fn limits(scheme: &str, dimensions: u8, cells: u16, stages: u8) -> Option<Limits> {
    let d = f64::from(dimensions);
    let (real, imaginary) = (real_axis(stages)?, imaginary_axis(stages)?);
    let limits = match scheme {
        "rusanov" | "godunov" => Limits { courant: 1.0 / d, dissipation: f64::INFINITY },
        "fd4" => Limits { courant: imaginary / (LARGEST_SYMBOL * d), dissipation: real / d },
        // dt <= H / (lambda (2 N + 1)) of an element of width H = p dx and degree N = p - 1 (Cockburn
        // and Shu 2001, section 2.2). The spectra of 2 to 16 nodes with Rusanov's flux allow 3 to 0.67
        // times that with 3 or 4 stages, passing 1 at 9 nodes. Two stages are stable for N = 1 only.
        "dg" if cells > 1 && (stages > 2 || stages == 2 && cells == 2) => {
            let p = f64::from(cells);
            let less = (8.0 / p).min(1.0);
            Limits { courant: less * p / ((2.0 * p - 1.0) * d), dissipation: f64::INFINITY }
        }
        _ => return None,
    };
    (limits.courant > 0.0).then_some(limits)
}

/// Largest step, s, of `fd4` for a speed and a dissipation together, m/s, on spacings m per axis. The
/// symbols of all directions add up inside the triangle between the ends of both axes, which the
/// region of stability contains for 3 and 4 stages.
#[must_use]
pub fn fd4_step(speed: f64, sigma: f64, spacing: &[f64], stages: u8) -> Option<f64> {
    let (real, imaginary) = (real_axis(stages)?, imaginary_axis(stages)?);
    if imaginary == 0.0 {
        return None;
    }
    let rate: f64 = spacing
        .iter()
        .map(|dx| {
            (0..=400)
                .map(|sample| {
                    let angle = std::f64::consts::PI * f64::from(sample) / 400.0;
                    let wave = (8.0 * angle.sin() - (2.0 * angle).sin()) / 6.0;
                    let damping = (0.5 * angle).sin().powi(6);
                    (speed / imaginary * wave + sigma / real * damping) / dx
                })
                .fold(0.0, f64::max)
        })
        .sum();
    Some(1.0 / rate)
}

/// Largest value of `(8 sin a - sin 2a) / 6`, the symbol of the fourth-order central difference.
const LARGEST_SYMBOL: f64 = 1.372_222;

/// How far the region of stability reaches along the negative real axis.
#[must_use]
pub const fn real_axis(stages: u8) -> Option<f64> {
    match stages {
        1 | 2 => Some(2.0),
        3 => Some(2.512_745),
        4 => Some(2.785_293),
        _ => None,
    }
}

/// How far the region of stability reaches along the imaginary axis: nowhere for 1 and 2 stages.
#[must_use]
pub const fn imaginary_axis(stages: u8) -> Option<f64> {
    match stages {
        1 | 2 => Some(0.0),
        3 => Some(1.732_050_8),
        4 => Some(2.828_427_1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// |1 + z + ... + z^s / s!|^2.
    fn amplification(stages: u8, re: f64, im: f64) -> f64 {
        let (mut sum, mut term) = ((1.0, 0.0), (1.0, 0.0));
        for k in 1..=stages {
            let k = f64::from(k);
            term = ((term.0 * re - term.1 * im) / k, (term.0 * im + term.1 * re) / k);
            sum = (sum.0 + term.0, sum.1 + term.1);
        }
        sum.0 * sum.0 + sum.1 * sum.1
    }

    #[test]
    fn axes_end_where_the_amplification_passes_one() {
        for stages in 1..=4 {
            let end = real_axis(stages).unwrap();
            assert!(amplification(stages, -end * (1.0 - 1e-6), 0.0) <= 1.0);
            assert!(amplification(stages, -end * (1.0 + 1e-6), 0.0) > 1.0);
        }
        for stages in 3..=4 {
            let end = imaginary_axis(stages).unwrap();
            assert!(amplification(stages, 0.0, end * (1.0 - 1e-6)) <= 1.0);
            assert!(amplification(stages, 0.0, end * (1.0 + 1e-6)) > 1.0);
        }
    }

    #[test]
    fn triangle_between_the_axes_is_stable() {
        for stages in 3..=4 {
            let (real, imaginary) = (real_axis(stages).unwrap(), imaginary_axis(stages).unwrap());
            for i in 0..=200 {
                for j in 0..=200 - i {
                    let (a, b) = (f64::from(i) / 200.0, f64::from(j) / 200.0);
                    let size = amplification(stages, -a * real, b * imaginary * (1.0 - 1e-7));
                    assert!(size <= 1.0 + 1e-6, "{stages} stages: {size} at {a}, {b}");
                }
            }
        }
    }

    #[test]
    fn largest_symbol_is_the_largest() {
        let largest = (0..100_000)
            .map(|k| std::f64::consts::PI * f64::from(k) / 100_000.0)
            .map(|a| (8.0 * a.sin() - (2.0 * a).sin()) / 6.0)
            .fold(0.0, f64::max);
        assert!((largest - LARGEST_SYMBOL).abs() < 1e-7, "{largest}");
    }

    #[test]
    fn default_dissipation_alone_allows_the_published_step() {
        // 0.116 dx for sigma = 8 in three dimensions.
        let step = fd4_step(0.0, 8.0, &[1.0; 3], 4).unwrap();
        assert!((step - 2.785_293 / 24.0).abs() < 1e-9, "{step}");
        let both = limits("fd4", 3, 6, 4).unwrap();
        assert!((both.dissipation / 8.0 - step).abs() < 1e-9);
        assert!(fd4_step(1.0, 8.0, &[1.0; 3], 4).unwrap() < step);
    }
}
