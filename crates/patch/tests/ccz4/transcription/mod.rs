//! CCZ4 once more, in Rust: full tensors with every index written, one term of the published
//! equations after the other (Dumbser, Guercilena, Koeppel, Rezzolla, Zanotti 2018, Phys. Rev. D 97,
//! 084053, in lapse and conformal factor). It shares nothing with `csrc/physics/ccz4.c` but the order
//! of the unknowns.

pub(crate) mod constraints;
pub(crate) mod problems;

pub(crate) type Vector = [f64; 3];
pub(crate) type Tensor = [[f64; 3]; 3];
pub(crate) type Third = [[[f64; 3]; 3]; 3];

/// Unknowns of a voxel.
pub(crate) type State = [f64; 59];

/// What the equations leave open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constants {
    pub(crate) one_plus_log: bool,
    pub(crate) advection: bool,
    pub(crate) s: f64,
    pub(crate) bs: f64,
    pub(crate) k1: f64,
    pub(crate) k2: f64,
    pub(crate) k3: f64,
    pub(crate) e: f64,
    pub(crate) c: f64,
    pub(crate) ds: f64,
    pub(crate) f: f64,
    pub(crate) xi: f64,
    pub(crate) eta: f64,
    pub(crate) mu: f64,
    pub(crate) itau: f64,
    pub(crate) alpha_floor: f64,
    pub(crate) phi_floor: f64,
}

/// Place of the pair (i, j) in xx xy xz yy yz zz.
pub(crate) fn pair(i: usize, j: usize) -> usize {
    let (low, high) = (i.min(j), i.max(j));
    low * (5 - low) / 2 + high
}

pub(crate) fn sum(term: impl Fn(usize) -> f64) -> f64 {
    (0..3).map(term).sum()
}

pub(crate) fn sum2(term: impl Fn(usize, usize) -> f64) -> f64 {
    sum(|i| sum(|j| term(i, j)))
}

pub(crate) fn vector(entry: impl Fn(usize) -> f64) -> Vector {
    std::array::from_fn(entry)
}

pub(crate) fn tensor(entry: impl Fn(usize, usize) -> f64) -> Tensor {
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

pub(crate) fn third(entry: impl Fn(usize, usize, usize) -> f64) -> Third {
    std::array::from_fn(|k| tensor(|i, j| entry(k, i, j)))
}

pub(crate) fn symmetric(q: &[f64], first: usize) -> Tensor {
    tensor(|i, j| q[first + pair(i, j)])
}

/// Inverse and determinant by cyclic cofactors.
pub(crate) fn inverse(g: &Tensor) -> (Tensor, f64) {
    let cofactor = |i: usize, j: usize| {
        let ((a, b), (c, d)) = (((i + 1) % 3, (i + 2) % 3), ((j + 1) % 3, (j + 2) % 3));
        g[a][c] * g[b][d] - g[a][d] * g[b][c]
    };
    let det = sum(|j| g[0][j] * cofactor(0, j));
    (tensor(|i, j| cofactor(j, i) / det), det)
}

/// Rate of a state from its derivatives: `dq[k][u]` is that of unknown u along k.
#[allow(clippy::too_many_lines, reason = "one equation after the other, as published")]
pub(crate) fn rate(constants: &Constants, q: &State, dq: &[State; 3]) -> State {
    let Constants { s, bs, k1, k2, k3, e, c, ds, f, xi, eta, mu, itau, .. } = *constants;
    let alpha = q[16].max(constants.alpha_floor);
    let phi = q[54].max(constants.phi_floor);
    let (f_a, df_a) =
        if constants.one_plus_log { (2.0 / alpha, -2.0 / (alpha * alpha)) } else { (1.0, 0.0) };
    let (theta, trace_k, k0) = (q[12], q[53], q[58]);
    let (gamma_hat, beta, driver): (Vector, Vector, Vector) =
        (vector(|i| q[13 + i]), vector(|i| q[17 + i]), vector(|i| q[20 + i]));
    let (a, p): (Vector, Vector) = (vector(|k| q[23 + k]), vector(|k| q[55 + k]));
    let b = tensor(|k, i| q[26 + 3 * k + i]);
    let d = third(|k, i, j| q[35 + 6 * k + pair(i, j)]);
    let da = tensor(|k, l| dq[k][23 + l]);
    let dp = tensor(|k, l| dq[k][55 + l]);
    let db = third(|k, l, i| dq[k][26 + 3 * l + i]);
    let dd = |k: usize, l: usize, i: usize, j: usize| dq[k][35 + 6 * l + pair(i, j)];
    let half_pair = |x: f64, y: f64| 0.5 * (x + y);
    let sym_a = tensor(|k, l| half_pair(da[k][l], da[l][k]));
    let sym_p = tensor(|k, l| half_pair(dp[k][l], dp[l][k]));
    let sym_b = third(|k, l, i| half_pair(db[k][l][i], db[l][k][i]));
    let sym_d = |k, l, i, j| half_pair(dd(k, l, i, j), dd(l, k, i, j));
    let advected = |u: usize| if constants.advection { sum(|k| beta[k] * dq[k][u]) } else { 0.0 };

    let g = symmetric(q, 0);
    let (up, det) = inverse(&g);
    let raw = symmetric(q, 6);
    let trace_a = sum2(|i, j| up[i][j] * raw[i][j]);
    let ex = tensor(|i, j| raw[i][j] - g[i][j] * trace_a / 3.0);
    let ex_up = tensor(|i, j| sum2(|m, n| up[i][m] * up[j][n] * ex[m][n]));
    let d_up = third(|k, m, l| -2.0 * sum2(|n, j| up[m][n] * up[l][j] * d[k][n][j]));
    let lower = third(|l, i, j| d[i][j][l] + d[j][i][l] - d[l][i][j]);
    let christoffel = third(|k, i, j| sum(|l| up[k][l] * lower[l][i][j]));
    let gamma = vector(|i| sum2(|j, l| up[j][l] * christoffel[i][j][l]));
    let z = vector(|i| 0.5 * ds * sum(|j| g[i][j] * (gamma_hat[j] - gamma[j])));
    let z_up = vector(|i| phi * phi * sum(|j| up[i][j] * z[j]));
    let div = sum(|k| b[k][k]);

    let phi_ij = tensor(|i, j| sym_p[i][j] - sum(|k| christoffel[k][i][j] * p[k]));
    let box_phi = sum2(|k, l| up[k][l] * phi_ij[k][l]);
    let square_p = sum2(|k, l| up[k][l] * p[k] * p[l]);
    let z_p = sum(|k| z_up[k] * p[k]);
    let ricci_z = tensor(|i, j| {
        let second = -sum2(|k, l| up[k][l] * sym_d(k, l, i, j));
        let gammas = 0.5 * sum(|k| g[k][i] * dq[j][13 + k] + g[k][j] * dq[i][13 + k]);
        let conformal = (phi_ij[i][j] + g[i][j] * box_phi) / phi;
        let squares = -2.0 * g[i][j] * square_p / phi.powi(2);
        let first = sum(|k| gamma_hat[k] * d[k][i][j]);
        let products = sum2(|l, m| {
            let at = |k: usize| {
                christoffel[k][l][i] * lower[j][k][m]
                    + christoffel[k][l][j] * lower[i][k][m]
                    + christoffel[k][i][m] * lower[k][l][j]
            };
            up[l][m] * sum(at)
        });
        let zs = sum(|k| g[i][k] * z_up[k] * p[j] + g[j][k] * z_up[k] * p[i]) - g[i][j] * z_p;
        second + gammas + conformal + squares + first + products + 2.0 * zs / phi.powi(3)
    });
    let r_star = phi * phi * sum2(|i, j| up[i][j] * ricci_z[i][j]);
    let p_a = sum2(|k, l| up[k][l] * p[k] * a[l]);
    let hessian = tensor(|i, j| {
        sym_a[i][j] - sum(|k| christoffel[k][i][j] * a[k])
            + (p[i] * a[j] + p[j] * a[i] - g[i][j] * p_a) / phi
    });
    let laplacian = phi * phi * sum2(|i, j| up[i][j] * hessian[i][j]);
    let t = vector(|k| {
        sum2(|i, j| up[i][j] * dq[k][6 + pair(i, j)]) + sum2(|i, j| d_up[k][i][j] * ex[i][j])
    });
    let bracket = tensor(|i, j| -hessian[i][j] + alpha * ricci_z[i][j]);
    let bracket_trace = sum2(|i, j| up[i][j] * bracket[i][j]);
    let slicing = trace_k - k0 - 2.0 * c * theta;

    let mut r = [0.0; 59];
    for i in 0..3 {
        for j in i..3 {
            let shear = |x: &Tensor| {
                sum(|k| x[k][i] * b[j][k] + x[k][j] * b[i][k]) - 2.0 / 3.0 * x[i][j] * div
            };
            r[pair(i, j)] = 2.0 * sum(|k| beta[k] * d[k][i][j]) + shear(&g)
                - 2.0 * alpha * ex[i][j]
                - itau * (det - 1.0) * g[i][j];
            let square = sum2(|l, m| ex[i][l] * up[l][m] * ex[m][j]);
            r[6 + pair(i, j)] = advected(6 + pair(i, j))
                + phi * phi * (bracket[i][j] - g[i][j] * bracket_trace / 3.0)
                + alpha * ex[i][j] * (trace_k - 2.0 * c * theta)
                - 2.0 * alpha * square
                + shear(&ex);
        }
    }
    let squares = sum2(|i, j| ex[i][j] * ex_up[i][j]);
    r[12] = advected(12) + 0.5 * alpha * e * e * (r_star - squares + 2.0 / 3.0 * trace_k * trace_k)
        - alpha * c * theta * trace_k
        - sum(|i| z_up[i] * a[i])
        - k1 * (2.0 + k2) * theta;
    for i in 0..3 {
        let push = sum2(|m, n| christoffel[i][m][n] * ex_up[m][n])
            - 3.0 * sum(|m| ex_up[i][m] * p[m]) / phi
            - sum(|m| ex_up[i][m] * a[m]) / alpha
            - sum(|m| up[i][m] * (theta * a[m] / alpha + 2.0 / 3.0 * trace_k * z[m]));
        let third_damping =
            2.0 / 3.0 * sum(|l| up[i][l] * z[l]) * div - sum2(|l, k| up[l][k] * z[l] * b[k][i]);
        let shift = sum2(|k, l| up[k][l] * sym_b[k][l][i])
            + sum(|k| up[i][k] * sum(|l| sym_b[k][l][l])) / 3.0;
        let g_i =
            2.0 * alpha * push - 2.0 * k1 * sum(|m| up[i][m] * z[m]) - sum(|m| gamma[m] * b[m][i])
                + 2.0 / 3.0 * gamma[i] * div
                + 2.0 * k3 * third_damping
                - 4.0 / 3.0 * alpha * sum(|j| up[i][j] * dq[j][53])
                + 2.0 * alpha * sum(|j| up[i][j] * dq[j][12])
                + s * shift;
        r[13 + i] = advected(13 + i) + g_i;
        r[17 + i] = s * (f * driver[i] + bs * sum(|k| beta[k] * b[k][i]));
        r[20 + i] = s * (xi * g_i - eta * driver[i] + bs * advected(20 + i));
    }
    r[16] = sum(|k| beta[k] * a[k]) - alpha * alpha * f_a * slicing;
    for k in 0..3 {
        r[23 + k] = advected(23 + k) + sum(|l| b[k][l] * a[l])
            - alpha * a[k] * (2.0 * f_a + alpha * df_a) * slicing
            - alpha * alpha * f_a * (dq[k][53] - 2.0 * c * dq[k][12])
            - s * alpha * alpha * f_a * t[k];
        for i in 0..3 {
            let order = vector(|j| {
                (dp[k][j] - dp[j][k]) / phi
                    - sum2(|n, l| up[n][l] * (dd(k, l, j, n) - dd(l, k, j, n)))
            });
            r[26 + 3 * k + i] = s
                * (f * dq[k][20 + i]
                    + mu * alpha * alpha * sum(|j| up[i][j] * order[j])
                    + sum(|l| b[k][l] * b[l][i])
                    + bs * advected(26 + 3 * k + i));
        }
        let sym_div = sum(|m| sym_b[k][m][m]);
        for i in 0..3 {
            for j in i..3 {
                let u = 35 + 6 * k + pair(i, j);
                r[u] = advected(u)
                    + sum(|l| b[k][l] * d[l][i][j] + b[j][l] * d[k][l][i] + b[i][l] * d[k][l][j])
                    - 2.0 / 3.0 * div * d[k][i][j]
                    - a[k] * ex[i][j]
                    - alpha * dq[k][6 + pair(i, j)]
                    + alpha / 3.0 * g[i][j] * t[k]
                    + s * (0.5 * sum(|m| g[m][i] * sym_b[k][j][m] + g[m][j] * sym_b[k][i][m])
                        - g[i][j] * sym_div / 3.0);
            }
        }
        r[55 + k] = advected(55 + k)
            + sum(|l| b[k][l] * p[l])
            + (alpha * trace_k - div) * p[k] / 3.0
            + phi * trace_k * a[k] / 3.0
            + phi * alpha * dq[k][53] / 3.0
            - s * phi * sym_div / 3.0
            + s * phi * alpha * t[k] / 3.0;
    }
    r[53] = advected(53) - laplacian
        + alpha * (r_star + trace_k * trace_k - 2.0 * c * theta * trace_k)
        - 3.0 * k1 * (1.0 + k2) * theta;
    r[54] = sum(|k| beta[k] * p[k]) + phi * (alpha * trace_k - div) / 3.0;
    r
}
