//! Profiles of the convolutional perfectly matched layer in expanded second-order form.
//!
//! Pasalic, D., McGarry, R. (2010), Convolutional perfectly matched layer for isotropic and
//! anisotropic acoustic wave equations, SEG Expanded Abstracts 29, 2925-2929; recursion as in
//! Komatitsch, D., Martin, R. (2007), Geophysics 72, SM155-SM167. Along each axis the derivative is
//! divided by s = 1 + d/(alpha + i omega), which makes two memory variables per damped axis:
//!
//! ```text
//! a = exp(-(d + alpha) dt),  b = d / (d + alpha) (a - 1)
//! psi^n  = a psi^(n-1)  + b p_x
//! zeta^n = a zeta^(n-1) + b (p_xx + psi^n_x)
//! the axis' term of the Laplacian: p_xx + psi^n_x + zeta^n
//! ```
//!
//! Differentiating the first recursion, `psi^n_x = (a psi^(n-1))_x + b_x p_x + b p_xx`, leaves one
//! pass of the operator's radius. With q = a psi and r = a zeta stored, each damped axis does
//!
//! ```text
//! t    = (1 + b) p_xx + b_x p_x + q_x        q of step n-1, at neighbours too
//! term = (1 + b) t + r                       r of step n-1
//! r    = a (b t + r)
//! q    = a (b p_x + q)
//! ```
//!
//! The damping d rises with the fourth power of the depth to `-(5/2) vmax ln(R0) / width`, and the
//! shift alpha falls linearly from half of pi times the peak frequency to zero, as Komatitsch and
//! Martin let it from all of it. Measured in 2-D, 20 cells, 10 per wavelength, CFL 0.9, R0 = 1e-6;
//! peak of the residual over that of the direct wave at 24 cells inwards | 40, 100, 160 along the
//! layer, source 6 cells from it, dB:
//!
//! ```text
//! d ~ x^2, alpha constant pi f     -48 |  -45  -37  -30   low frequencies pass undamped
//! d ~ x^2, alpha falls from pi f   -80 |  -80  -79  -55
//! d ~ x^3, alpha falls from pi f/2 -113 | -116  -91  -61
//! d ~ x^4, alpha falls from pi f/2 -112 | -113 -103  -69   10 cells, R0 1e-3: -70 | -71  -44  -28
//! ```
//!
//! Outside the layer a is irrelevant, `b = b_x = 0`, so q = r = 0; but within one radius of the layer
//! `q_x` reaches into it and `t = p_xx + q_x` must still be formed. Beyond the grid q is zero, also
//! across a wall at the other end: a layer is not mirrored.

use crate::{Axis, Boundary, Cpml, WaveProblem};

/// The damping rises with this power of the depth.
const DAMPING_POWER: i32 = 4;

/// Frequency shift at the layer's inner edge in units of pi times the peak frequency.
const SHIFT_OVER_PI_PEAK: f64 = 0.5;

/// Profiles along one axis, one value per node; `b` and `b_slope` vanish outside the layers.
#[derive(Debug, Clone, PartialEq)]
pub struct CpmlProfile {
    /// Decay of the memory variables over one step, dimensionless; zero outside the layers.
    pub a: Vec<f64>,
    /// Gain of the memory variables, dimensionless.
    pub b: Vec<f64>,
    /// Derivative of `b` along the axis, 1/m.
    pub b_slope: Vec<f64>,
    /// Damped nodes at the low end: `0..low` have memory variables.
    pub low: usize,
    /// Damped nodes at the high end: `nodes - high..nodes` have memory variables.
    pub high: usize,
}

/// The profiles along an axis, or `None` where neither end has a C-PML.
#[must_use]
pub fn profile(problem: &WaveProblem, axis: Axis) -> Option<CpmlProfile> {
    let (at_min, at_max) = problem.ends(axis);
    let layer = |boundary| if let Boundary::Cpml(layer) = boundary { Some(layer) } else { None };
    let (min, max) = (layer(at_min), layer(at_max));
    if min.is_none() && max.is_none() {
        return None;
    }
    let nodes = problem.grid.shape[axis.index()];
    let spacing = problem.grid.spacing[axis.index()];
    let mut profile = CpmlProfile {
        a: vec![0.0; nodes],
        b: vec![0.0; nodes],
        b_slope: vec![0.0; nodes],
        low: at_min.cells(),
        high: at_max.cells(),
    };
    let mut fill = |layer: Cpml, min: bool| {
        for depth in 1..=layer.cells {
            let node = if min { layer.cells - depth } else { nodes - 1 - (layer.cells - depth) };
            let (a, b, slope) = at_depth(&layer, spacing, problem.dt, depth as f64);
            profile.a[node] = a;
            profile.b[node] = b;
            profile.b_slope[node] = if min { -slope } else { slope };
        }
    };
    if let Some(layer) = min {
        fill(layer, true);
    }
    if let Some(layer) = max {
        fill(layer, false);
    }
    Some(profile)
}

/// (a, b, slope of b into the layer, 1/m) at `depth` nodes into the layer.
fn at_depth(layer: &Cpml, spacing: f64, dt: f64, depth: f64) -> (f64, f64, f64) {
    let (width, share) = (layer.cells as f64 * spacing, depth / layer.cells as f64);
    let power = f64::from(DAMPING_POWER);
    let peak = -0.5 * (power + 1.0) * layer.vmax * layer.r0.ln() / width;
    let d = peak * share.powi(DAMPING_POWER);
    let d_slope = power * peak * share.powi(DAMPING_POWER - 1) / width;
    let shift = SHIFT_OVER_PI_PEAK * std::f64::consts::PI * layer.peak_hz;
    let (alpha, alpha_slope) = (shift * (1.0 - share), -shift / width);
    let (sum, sum_slope) = (d + alpha, d_slope + alpha_slope);
    let a = (-sum * dt).exp();
    let b = d / sum * (a - 1.0);
    let share_slope = (d_slope * alpha - d * alpha_slope) / (sum * sum);
    (a, b, share_slope * (a - 1.0) - d / sum * sum_slope * dt * a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundaries, Face, Grid};

    const LAYER: Cpml = Cpml { cells: 20, r0: 1e-6, peak_hz: 20.0, vmax: 2000.0 };

    #[test]
    fn the_damping_integrates_to_r0_at_normal_incidence() {
        // exp(-2/c int d dx), d from a = exp(-(d + alpha) dt), by Simpson's rule.
        let (spacing, dt) = (10.0, 1e-3);
        let damping = |depth: f64| {
            let (a, _, _) = at_depth(&LAYER, spacing, dt, depth);
            let shift = 0.5 * std::f64::consts::PI * 20.0 * (1.0 - depth / 20.0);
            -a.ln() / dt - shift
        };
        let weight = |n: u32| match n {
            0 | 400 => 1.0,
            n if n % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let integral: f64 = (0..=400)
            .map(|n| weight(n) * damping(0.05 * f64::from(n)) * 0.05 * spacing / 3.0)
            .sum();
        let reflection = (-2.0 / LAYER.vmax * integral).exp();
        assert!((reflection / LAYER.r0 - 1.0).abs() < 1e-6, "{reflection:e}");
    }

    #[test]
    fn the_slope_is_the_derivative_of_the_gain() {
        let gain = |depth: f64| at_depth(&LAYER, 10.0, 2e-3, depth).1;
        for depth in [1.0, 5.0, 13.0, 19.0] {
            let step = 1e-4;
            let numerical = (gain(depth + step) - gain(depth - step)) / (2.0 * step * 10.0);
            let slope = at_depth(&LAYER, 10.0, 2e-3, depth).2;
            assert!((slope / numerical - 1.0).abs() < 1e-6, "depth {depth}: {slope}, {numerical}");
        }
    }

    #[test]
    fn both_ends_are_mirror_images_and_the_middle_is_undamped() {
        let grid = Grid::new([100, 1, 60], [10.0; 3], [0.0; 3]).unwrap();
        let boundaries = Boundaries::uniform(Boundary::Cpml(LAYER));
        let problem = WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build().unwrap();
        let along = profile(&problem, Axis::X).unwrap();
        for n in 0..50 {
            assert!((along.b[n] - along.b[99 - n]).abs() < 1e-15);
            assert!((along.b_slope[n] + along.b_slope[99 - n]).abs() < 1e-15);
            assert_eq!(along.b[n].abs() > 0.0, n < 20, "node {n}");
        }
        let one = WaveProblem::builder(grid, 1e-3)
            .boundary(Face::ZMax, Boundary::Cpml(LAYER))
            .build()
            .unwrap();
        assert!(profile(&one, Axis::X).is_none());
        let down = profile(&one, Axis::Z).unwrap();
        assert_eq!((down.low, down.high), (0, 20));
        assert!(down.b[..40].iter().all(|b| b.abs() < 1e-300) && down.b[40] < 0.0);
    }
}
