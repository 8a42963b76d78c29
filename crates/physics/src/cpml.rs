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
//! Outside the layer a is irrelevant, `b = b_x = 0`, so q = r = 0; but within one radius of the layer
//! `q_x` reaches into it and `t = p_xx + q_x` must still be formed. Beyond the grid q is zero, also
//! across a wall at the other end: a layer is not mirrored.

use crate::{Axis, Boundary, Cpml, WaveProblem};

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
            let (a, b, slope) = at_depth(&layer, spacing, problem.dt, depth);
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

/// (a, b, slope of b into the layer, 1/m) at `depth` nodes into the layer; quadratic damping,
/// frequency shift alpha = pi `peak_hz`, constant across the layer.
fn at_depth(layer: &Cpml, spacing: f64, dt: f64, depth: usize) -> (f64, f64, f64) {
    let (width, x) = (layer.cells as f64 * spacing, depth as f64 * spacing);
    let peak = -3.0 * layer.vmax * layer.r0.ln() / (2.0 * width);
    let alpha = std::f64::consts::PI * layer.peak_hz;
    let d = peak * (x / width).powi(2);
    let d_slope = 2.0 * peak * x / (width * width);
    let sum = d + alpha;
    let a = (-sum * dt).exp();
    let b = d / sum * (a - 1.0);
    // d/dx of d/(d + alpha) (a - 1), alpha constant.
    let slope = d_slope * (alpha / (sum * sum) * (a - 1.0) - d / sum * dt * a);
    (a, b, slope)
}
