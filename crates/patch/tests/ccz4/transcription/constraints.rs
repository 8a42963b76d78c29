//! Einstein's equations in terms of the physical metric and extrinsic curvature (Arnowitt, Deser,
//! Misner; York 1979), with the Ricci tensor by its definition: no conformal decomposition, no
//! contracted Christoffel symbols.

use super::{
    State, Tensor, Third, Vector, inverse, pair, sum, sum2, symmetric, tensor, third, vector,
};

/// What follows from a state and its derivatives.
pub(crate) struct Physical {
    /// Metric.
    pub(crate) gamma: Tensor,
    /// Extrinsic curvature, 1/m.
    pub(crate) k: Tensor,
    /// `H = R - K_ij K^ij + K^2`, 1/m^2.
    pub(crate) hamiltonian: f64,
    /// `M_i = D_j K^j_i - d_i K`, 1/m^2.
    pub(crate) momentum: Vector,
    /// Rate of the metric, 1/m.
    pub(crate) gamma_rate: Tensor,
    /// Rate of the extrinsic curvature, whether the constraints hold or not, 1/m^2.
    pub(crate) k_rate: Tensor,
}

/// Hamiltonian and momentum constraint, 1/m^2.
pub(crate) fn constraints(q: &State, dq: &[State; 3]) -> (f64, Vector) {
    let physical = physical(q, dq);
    (physical.hamiltonian, physical.momentum)
}

pub(crate) fn physical(q: &State, dq: &[State; 3]) -> Physical {
    let (phi, trace_k) = (q[54], q[53]);
    let p = vector(|k| q[55 + k]);
    let g = symmetric(q, 0);
    let a = symmetric(q, 6);
    let d = third(|k, i, j| q[35 + 6 * k + pair(i, j)]);
    let dd = |l: usize, k: usize, i: usize, j: usize| dq[l][35 + 6 * k + pair(i, j)];
    let (square, cube, fourth) = (phi.powi(-2), phi.powi(-3), phi.powi(-4));

    // gamma_ij = g_ij / phi^2 with its first and second derivatives.
    let gamma = tensor(|i, j| g[i][j] * square);
    let d_gamma = third(|k, i, j| 2.0 * d[k][i][j] * square - 2.0 * p[k] * g[i][j] * cube);
    let dd_gamma = |l: usize, k: usize, i: usize, j: usize| {
        2.0 * dd(l, k, i, j) * square
            - 4.0 * (d[k][i][j] * p[l] + d[l][i][j] * p[k]) * cube
            - 2.0 * dq[l][55 + k] * g[i][j] * cube
            + 6.0 * p[k] * p[l] * g[i][j] * fourth
    };
    let (up, _) = inverse(&gamma);
    let d_up = third(|m, k, l| -sum2(|a, b| up[k][a] * up[l][b] * d_gamma[m][a][b]));
    let lower = third(|l, i, j| 0.5 * (d_gamma[i][j][l] + d_gamma[j][i][l] - d_gamma[l][i][j]));
    let d_lower = |m: usize, l: usize, i: usize, j: usize| {
        0.5 * (dd_gamma(m, i, j, l) + dd_gamma(m, j, i, l) - dd_gamma(m, l, i, j))
    };
    let chris: Third = third(|k, i, j| sum(|l| up[k][l] * lower[l][i][j]));
    // d_m Gamma^k_ij.
    let d_chris = |m: usize, k: usize, i: usize, j: usize| {
        sum(|l| d_up[m][k][l] * lower[l][i][j] + up[k][l] * d_lower(m, l, i, j))
    };
    let ricci = tensor(|i, j| {
        sum(|k| d_chris(k, k, i, j) - d_chris(j, k, i, k))
            + sum2(|k, l| chris[k][k][l] * chris[l][i][j] - chris[k][j][l] * chris[l][i][k])
    });
    let scalar = sum2(|i, j| up[i][j] * ricci[i][j]);

    // K_ij = (A_ij + g_ij K / 3) / phi^2 and its derivative.
    let bare = tensor(|i, j| a[i][j] + g[i][j] * trace_k / 3.0);
    let k_low = tensor(|i, j| bare[i][j] * square);
    let dk = third(|k, i, j| {
        let d_bare =
            dq[k][6 + pair(i, j)] + (2.0 * d[k][i][j] * trace_k + g[i][j] * dq[k][53]) / 3.0;
        d_bare * square - 2.0 * p[k] * bare[i][j] * cube
    });
    let k_up = tensor(|i, j| sum2(|m, n| up[i][m] * up[j][n] * k_low[m][n]));
    let trace = sum2(|i, j| up[i][j] * k_low[i][j]);
    let h = scalar - sum2(|i, j| k_low[i][j] * k_up[i][j]) + trace * trace;
    let momentum = vector(|i| {
        let divergence = sum2(|j, k| {
            let turned = sum(|l| chris[l][k][i] * k_low[l][j] + chris[l][k][j] * k_low[i][l]);
            up[j][k] * (dk[k][i][j] - turned)
        });
        divergence - dq[i][53]
    });

    // d_t gamma = -2 alpha K + L_beta gamma,
    // d_t K_ij = -D_i D_j alpha + alpha (R_ij + K K_ij - 2 K_ik K^k_j) + L_beta K.
    let alpha = q[16];
    let lie = |x: &Tensor, dx: &Third, i: usize, j: usize| {
        sum(|k| q[17 + k] * dx[k][i][j] + x[k][j] * q[26 + 3 * i + k] + x[i][k] * q[26 + 3 * j + k])
    };
    let gamma_rate = tensor(|i, j| -2.0 * alpha * k_low[i][j] + lie(&gamma, &d_gamma, i, j));
    let k_rate = tensor(|i, j| {
        let hessian = dq[i][23 + j] - sum(|k| chris[k][i][j] * q[23 + k]);
        let square = sum2(|m, n| up[m][n] * k_low[i][m] * k_low[n][j]);
        -hessian
            + alpha * (ricci[i][j] + trace * k_low[i][j] - 2.0 * square)
            + lie(&k_low, &dk, i, j)
    });
    Physical { gamma, k: k_low, hamiltonian: h, momentum, gamma_rate, k_rate }
}
