//! Speeds, constraints and initial data, each by a route of its own.

use super::{Constants, State, inverse, pair, sum, sum2, symmetric, tensor};
use std::f64::consts::{PI, SQRT_2};

/// Bound of `ExaHyPE` on the speeds along an axis; `glm` are its speeds of cleaning.
pub(crate) fn bound(constants: &Constants, glm: [f64; 2], q: &State, n: usize) -> f64 {
    let a = 1f64.max(q[16]) * 1f64.max(q[54]) / q[0].min(q[3]).min(q[5]).sqrt();
    let factors = [constants.e, constants.ds, glm[0] / a, glm[1] / a];
    let w = a * factors.into_iter().fold(SQRT_2, f64::max);
    1f64.max((w - q[17 + n]).abs()).max((w + q[17 + n]).abs())
}

/// True speeds along an axis: light, cleaning, slicing, driver of the shift.
pub(crate) fn fastest(constants: &Constants, q: &State, n: usize) -> f64 {
    let (alpha, phi) = (q[16].max(constants.alpha_floor), q[54].max(constants.phi_floor));
    let conformal = inverse(&symmetric(q, 0)).0[n][n].sqrt();
    let physical = phi * conformal;
    let mut speeds = vec![alpha * physical, constants.e * alpha * physical];
    if constants.one_plus_log {
        speeds.push((2.0 * alpha).sqrt() * physical);
    }
    if constants.s > 0.0 {
        speeds.push((4.0 * constants.xi * constants.f / 3.0).sqrt() * conformal);
    }
    speeds.into_iter().fold(0.0, f64::max) + q[17 + n].abs()
}

/// A state with det g = 1, tensors without trace, positive lapse and conformal factor.
pub(crate) fn enforced(q: &State, floor: f64) -> State {
    let mut r = *q;
    let det = inverse(&symmetric(q, 0)).1;
    let g = symmetric(q, 0).map(|row| row.map(|entry| entry * det.powf(-1.0 / 3.0)));
    let up = inverse(&g).0;
    for i in 0..3 {
        for j in i..3 {
            r[pair(i, j)] = g[i][j];
            for first in [6, 35, 41, 47] {
                let x = symmetric(q, first);
                let trace = sum2(|m, n| up[m][n] * x[m][n]);
                r[first + pair(i, j)] = x[i][j] - g[i][j] * trace / 3.0;
            }
        }
    }
    r[16] = q[16].max(floor);
    r[54] = q[54].max(floor);
    r
}

pub(crate) fn flat() -> State {
    let mut q = [0.0; 59];
    for u in [0, 3, 5, 16, 54] {
        q[u] = 1.0;
    }
    q
}

/// Gauge wave along x, entry by entry; `phase` = x - t.
fn wave_along_x(phase: f64, wavelength: f64, amplitude: f64) -> State {
    let k = 2.0 * PI / wavelength;
    let h = 1.0 - amplitude * (k * phase).sin();
    let dh = -k * amplitude * (k * phase).cos();
    let kxx = 0.5 * dh / h.sqrt();
    let mut q = flat();
    q[0] = h.powf(2.0 / 3.0);
    q[3] = h.powf(-1.0 / 3.0);
    q[5] = q[3];
    q[6] = 2.0 / 3.0 * h.powf(-1.0 / 3.0) * kxx;
    q[9] = -1.0 / 3.0 * h.powf(-4.0 / 3.0) * kxx;
    q[11] = q[9];
    q[13] = 2.0 / 3.0 * h.powf(-5.0 / 3.0) * dh;
    q[16] = h.sqrt();
    q[23] = 0.5 * dh / h.sqrt();
    q[35] = h.powf(-1.0 / 3.0) * dh / 3.0;
    q[38] = -h.powf(-4.0 / 3.0) * dh / 6.0;
    q[40] = q[38];
    q[53] = kxx / h;
    q[54] = h.powf(-1.0 / 6.0);
    q[55] = -h.powf(-7.0 / 6.0) * dh / 6.0;
    q
}

/// The gauge wave along x.
pub(crate) fn gauge_wave(x: [f64; 3], t: f64, wavelength: f64, amplitude: f64) -> State {
    wave_along_x(x[0] - t, wavelength, amplitude)
}

/// The gauge wave along (1, -1, 0): that along x turned by 45 degrees, tensor by tensor.
pub(crate) fn diagonal_gauge_wave(x: [f64; 3], t: f64, wavelength: f64, amplitude: f64) -> State {
    let along = 0.5f64.sqrt() * (x[0] - x[1]);
    turned(&wave_along_x(along - t, wavelength / SQRT_2, amplitude))
}

/// A state without shift whose x axis is turned to (1, -1, 0) / sqrt(2).
pub(crate) fn turned(straight: &State) -> State {
    let h = 0.5f64.sqrt();
    // Rows are the old axes.
    let axes = [[h, -h, 0.0], [h, h, 0.0], [0.0, 0.0, 1.0]];
    let mut q = *straight;
    for first in [0, 6] {
        let s = symmetric(straight, first);
        let turned = tensor(|i, j| sum2(|a, b| axes[a][i] * axes[b][j] * s[a][b]));
        for i in 0..3 {
            for j in i..3 {
                q[first + pair(i, j)] = turned[i][j];
            }
        }
    }
    for i in 0..3 {
        for first in [13, 23, 55] {
            q[first + i] = sum(|a| axes[a][i] * straight[first + a]);
        }
        for k in 0..3 {
            for j in k..3 {
                q[35 + 6 * i + pair(k, j)] = sum(|c| {
                    let s = symmetric(straight, 35 + 6 * c);
                    axes[c][i] * sum2(|a, b| axes[a][k] * axes[b][j] * s[a][b])
                });
            }
        }
    }
    q
}

/// Metric diag(1, 1 + b, 1 - b), b = A sin(2 pi (x - t) / wavelength), from metric and extrinsic
/// curvature by the definitions of the unknowns.
pub(crate) fn linear_wave(x: [f64; 3], t: f64, wavelength: f64, amplitude: f64) -> State {
    let k = 2.0 * PI / wavelength;
    let (b, db) = (amplitude * (k * (x[0] - t)).sin(), k * amplitude * (k * (x[0] - t)).cos());
    let gamma = [1.0, 1.0 + b, 1.0 - b];
    let d_gamma = [0.0, db, -db];
    let det = gamma[1] * gamma[2];
    let d_det = -2.0 * b * db;
    // K_ij = -d_t gamma_ij / 2 and d_t = -d_x.
    let k_ij = d_gamma.map(|d| 0.5 * d);
    let trace: f64 = (0..3).map(|i| k_ij[i] / gamma[i]).sum();
    let phi = det.powf(-1.0 / 6.0);
    let d_phi = -det.powf(-7.0 / 6.0) * d_det / 6.0;
    let mut q = flat();
    for i in 0..3 {
        q[pair(i, i)] = phi.powi(2) * gamma[i];
        q[6 + pair(i, i)] = phi.powi(2) * (k_ij[i] - gamma[i] * trace / 3.0);
        q[35 + pair(i, i)] = 0.5 * (2.0 * phi * d_phi * gamma[i] + phi.powi(2) * d_gamma[i]);
    }
    // Gamma^x = -d_x g^xx and g^xx = phi^-2.
    q[13] = 2.0 * d_phi * phi.powi(-3);
    q[53] = trace;
    q[54] = phi;
    q[55] = d_phi;
    q
}

/// A puncture at the origin; radii below 1e-12 are taken as that.
pub(crate) fn puncture(x: [f64; 3], mass: f64) -> State {
    let r = x.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
    let psi = 1.0 + mass / (2.0 * r);
    let mut q = flat();
    q[16] = psi.powi(-2);
    q[54] = q[16];
    for k in 0..3 {
        let d_psi = -mass * x[k] / (2.0 * r.powi(3));
        q[55 + k] = -2.0 * psi.powi(-3) * d_psi;
        q[23 + k] = q[55 + k];
    }
    q
}
