// CCZ4, the covariant and conformal Z4 form of Einstein's vacuum equations, first order in space and
// time: d_t Q = S(Q) - B_k(Q) d_k Q for 59 unknowns (Dumbser, Guercilena, Koeppel, Rezzolla, Zanotti
// 2018, Phys. Rev. D 97, 084053; lapse and conformal factor as they are, not their logarithms, as in
// ExaGRyPE, Zhang et al. 2024). Geometric units, c = G = 1: lengths, times and masses in m.
// Symmetric tensors keep xx xy xz yy yz zz; indices are raised with the conformal metric.
// What makes it cheap: no division but 1/det and 1/phi; every symmetric object once; terms that are a
// multiple of the metric enter only the traces; terms g_ki X^k_j + g_kj X^k_i share one X.
// Runs may have (s, bs) = (1, 1), or (0, 0) with a shift that is zero: otherwise the auxiliary
// equations are not the derivatives of the primary ones. The right-hand side computes what it is
// given; whoever starts a run refuses the rest.
// SPDX-License-Identifier: Apache-2.0 OR MIT

#include <math.h>

enum unknowns {
  G_XX, G_XY, G_XZ, G_YY, G_YZ, G_ZZ,  // conformal metric g_ij, determinant 1
  A_XX, A_XY, A_XZ, A_YY, A_YZ, A_ZZ,  // conformal trace-free extrinsic curvature A_ij, 1/m
  THETA,                               // projection of the Z4 vector on the normal, 1/m
  GH_X, GH_Y, GH_Z,                    // contracted Christoffel symbols plus 2 Z^i, 1/m
  ALPHA, BETA_X, BETA_Y, BETA_Z,       // lapse, shift
  B_X, B_Y, B_Z,                       // driver of the shift, 1/m
  DALPHA_X, DALPHA_Y, DALPHA_Z,        // d_k alpha, 1/m
  DBETA_XX, DBETA_XY, DBETA_XZ, DBETA_YX, DBETA_YY, DBETA_YZ,  // d_k beta^i, k first, 1/m
  DBETA_ZX, DBETA_ZY, DBETA_ZZ,
  DG_XXX, DG_XXY, DG_XXZ, DG_XYY, DG_XYZ, DG_XZZ,  // d_k g_ij / 2, k first, 1/m
  DG_YXX, DG_YXY, DG_YXZ, DG_YYY, DG_YYZ, DG_YZZ,
  DG_ZXX, DG_ZXY, DG_ZXZ, DG_ZYY, DG_ZYZ, DG_ZZZ,
  TRACE_K,                             // trace of the extrinsic curvature, 1/m
  PHI, DPHI_X, DPHI_Y, DPHI_Z,         // phi = det(gamma)^(-1/6), g_ij = phi^2 gamma_ij; d_k phi, 1/m
  K0                                   // value of K that the lapse is driven to, constant, 1/m
};

typedef struct {
  int lapse;                     // 0 harmonic, 1 one plus log
  int advection;                 // 1: the terms beta^k d_k; 0 leaves them to the scheme
  int s, bs;                     // 1: the shift evolves; it is advected along itself
  int sharp;                     // 1: eigenvalue gives the true speeds, 0 the bound of ExaHyPE
  int problem;                   // 0 flat, 1 gauge wave, 2 along x - y, 3 linear wave, 4 puncture
  double k1, k2, k3;             // damping of the constraints: 1/m, -, -
  double e, c, ds;               // speed of cleaning; 1: theta, and Z_i in the curvature, couple
  double f, xi, eta, mu;         // driver of the shift: -, -, 1/m; weight of the ordering constraints
  double itau;                   // rate at which det g = 1 is restored, 1/m
  double alpha_floor, phi_floor, state_floor;  // smallest that terms see; smallest that post leaves
  double glm_c, glm_d;           // speeds of cleaning that the bound of ExaHyPE holds at least
  double amplitude, wavelength;  // of a wave; its length along the axes, m
  double mass;                   // of the puncture, m
} parameters;

static const parameters defaults = {
  .lapse = 0, .advection = 1, .s = 0, .bs = 0, .sharp = 0, .problem = 1, .k1 = 0.1, .k2 = 0.0,
  .k3 = 0.5, .e = 1.0, .c = 1.0, .ds = 1.0, .f = 0.75, .xi = 1.0, .eta = 1.0, .mu = 0.2, .itau = 1.0,
  .alpha_floor = 1e-4, .phi_floor = 1e-2, .state_floor = 1e-16, .glm_c = 1.2, .glm_d = 2.0,
  .amplitude = 0.1, .wavelength = 1.0, .mass = 1.0
};

static const int SYM[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

static void take(const double *Q, int first, int count, double *X) {
  for (int u = 0; u < count; u++) X[u] = Q[first + u];
}

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The same tensor with its mixed components doubled, for `sum`.
static void doubled(const double *X, double *Y) {
  for (int q = 0; q < 6; q++) Y[q] = (q == 0 || q == 3 || q == 5 ? 1.0 : 2.0) * X[q];
}

// X^ij Y_ij of symmetric tensors, one of them doubled.
static double sum(const double *X, const double *Y) {
  return X[0] * Y[0] + X[1] * Y[1] + X[2] * Y[2] + X[3] * Y[3] + X[4] * Y[4] + X[5] * Y[5];
}

// X_ij v_j of a symmetric tensor.
static void apply(const double *X, const double *v, double *Y) {
  for (int i = 0; i < 3; i++) {
    Y[i] = X[SYM[i][0]] * v[0] + X[SYM[i][1]] * v[1] + X[SYM[i][2]] * v[2];
  }
}

// Inverse of a symmetric tensor; its determinant.
static double invert(const double *g, double *U) {
  double C[6];
  C[0] = g[3] * g[5] - g[4] * g[4];
  C[1] = g[2] * g[4] - g[1] * g[5];
  C[2] = g[1] * g[4] - g[2] * g[3];
  C[3] = g[0] * g[5] - g[2] * g[2];
  C[4] = g[1] * g[2] - g[0] * g[4];
  C[5] = g[0] * g[3] - g[1] * g[1];
  const double det = g[0] * C[0] + g[1] * C[1] + g[2] * C[2], over_det = 1.0 / det;
  for (int q = 0; q < 6; q++) U[q] = C[q] * over_det;
  return det;
}

// Christoffel symbols of the conformal metric, L[l] = G_lij and G[k] = G^k_ij.
static void christoffel(double D[3][6], const double *U, double L[3][6], double G[3][6]) {
  for (int l = 0; l < 3; l++) for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    const int q = SYM[i][j];
    if (l == i || l == j) L[l][q] = D[l == i ? j : i][SYM[l][l]];
    else if (i == j) L[l][q] = 2.0 * D[i][SYM[i][l]] - D[l][q];
    else L[l][q] = D[i][SYM[j][l]] + D[j][SYM[i][l]] - D[l][q];
  }
  for (int k = 0; k < 3; k++) for (int q = 0; q < 6; q++) {
    G[k][q] = U[SYM[k][0]] * L[0][q] + U[SYM[k][1]] * L[1][q] + U[SYM[k][2]] * L[2][q];
  }
}

// U^lm (G^k_li G_jkm + G^k_lj G_ikm + G^k_im G_klj): the third term is symmetric, so that each of the
// first two takes half of it along.
static void quadratic(const double *U, double L[3][6], double G[3][6], double *X) {
  double both[3][3];
  for (int j = 0; j < 3; j++) {
    double J[3][3];
    for (int k = 0; k < 3; k++) {
      double lower[3];
      for (int m = 0; m < 3; m++) {
        lower[m] = j == k ? 1.5 * L[j][SYM[j][m]] : L[j][SYM[k][m]] + 0.5 * L[k][SYM[j][m]];
      }
      apply(U, lower, J[k]);
    }
    for (int i = 0; i < 3; i++) {
      both[i][j] = 0.0;
      for (int k = 0; k < 3; k++) for (int l = 0; l < 3; l++) both[i][j] += G[k][SYM[l][i]] * J[k][l];
    }
  }
  for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    X[SYM[i][j]] = i == j ? 2.0 * both[i][i] : both[i][j] + both[j][i];
  }
}

// mu alpha^2 U^ij times the ordering constraints of the second derivatives,
// (d_k P_j - d_j P_k) / phi - U^nl (d_k D_ljn - d_l D_kjn), as R[k][i].
static void ordering(const double *U, const double dQ[3][59], double mu, double over_phi,
                     double R[3][3]) {
  double curl[3][6], scaled[6];
  for (int q = 0; q < 6; q++) scaled[q] = mu * U[q];
  for (int k = 0; k < 3; k++) for (int l = k + 1; l < 3; l++) for (int q = 0; q < 6; q++) {
    curl[k + l - 1][q] = dQ[k][DG_XXX + 6 * l + q] - dQ[l][DG_XXX + 6 * k + q];
  }
  for (int k = 0; k < 3; k++) {
    double order[3];
    for (int j = 0; j < 3; j++) {
      order[j] = 0.0;
      if (k < j) order[j] = over_phi * (dQ[k][DPHI_X + j] - dQ[j][DPHI_X + k]);
      if (k > j) order[j] -= over_phi * (dQ[j][DPHI_X + k] - dQ[k][DPHI_X + j]);
      for (int l = 0; l < 3; l++) for (int n = 0; n < 3; n++) {
        if (l > k) order[j] -= U[SYM[n][l]] * curl[k + l - 1][SYM[j][n]];
        if (l < k) order[j] += U[SYM[n][l]] * curl[k + l - 1][SYM[j][n]];
      }
    }
    apply(scaled, order, R[k]);
  }
}

// beta^k d_k of an unknown.
static double advect(const double *Q, const double dQ[3][59], const parameters *P, int u) {
  double rate = 0.0;
  if (P->advection) for (int k = 0; k < 3; k++) rate += Q[BETA_X + k] * dQ[k][u];
  return rate;
}

// R = whole * S(Q) + L(Q) dQ, with L linear: everything that is free of derivatives stands in
// `if (whole)`, so that neither part is computed for the other's sake.
static void core(const double *Q, const double dQ[3][59], const parameters *P, int whole, double *R) {
  const double third = 1.0 / 3.0;
  const double alpha = fmax(Q[ALPHA], P->alpha_floor), phi = fmax(Q[PHI], P->phi_floor);
  const double phi2 = phi * phi, over_phi = 1.0 / phi, ratio = alpha * over_phi;
  const double K = Q[TRACE_K], theta = Q[THETA], cleaning = 0.5 * P->e * P->e;
  const double lapse_rate = P->lapse ? 2.0 * alpha : alpha * alpha;  // alpha^2 f of the slicing
  for (int u = 0; u < 59; u++) R[u] = 0.0;

  double g[6], U[6], UU[6], a[3], p[3], beta[3], B[3][3], D[3][6];
  take(Q, G_XX, 6, g);
  take(Q, DALPHA_X, 3, a);
  take(Q, DPHI_X, 3, p);
  take(Q, BETA_X, 3, beta);
  for (int k = 0; k < 3; k++) take(Q, DBETA_XX + 3 * k, 3, B[k]);
  for (int k = 0; k < 3; k++) take(Q, DG_XXX + 6 * k, 6, D[k]);
  const double det = invert(g, U), div = B[0][0] + B[1][1] + B[2][2], third_div = third * div;
  doubled(U, UU);

  // A without its trace, A^i_j, A^ij.
  double A[6], Amix[3][3], Aup[6], AA[6];
  take(Q, A_XX, 6, A);
  const double third_trace = third * sum(UU, A);
  for (int q = 0; q < 6; q++) A[q] -= third_trace * g[q];
  for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
    Amix[i][j] = 0.0;
    for (int k = 0; k < 3; k++) Amix[i][j] += U[SYM[i][k]] * A[SYM[k][j]];
  }
  for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    Aup[SYM[i][j]] = 0.0;
    for (int k = 0; k < 3; k++) Aup[SYM[i][j]] += Amix[i][k] * U[SYM[k][j]];
  }
  doubled(Aup, AA);

  double L[3][6], Gam[3][6], Gt[3], z[3];
  christoffel(D, U, L, Gam);
  for (int k = 0; k < 3; k++) {
    Gt[k] = sum(UU, Gam[k]);
    z[k] = 0.5 * P->ds * (Q[GH_X + k] - Gt[k]);  // U^kl Z_l
  }

  // Pairs d_iX_j + d_jX_i (d_iX_i alone), and the symmetrised d_(kB_l)^i with its trace over l = i.
  double da[6], dp[6], dB[6][3], dBdiv[3];
  for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    const int q = SYM[i][j];
    da[q] = dQ[i][DALPHA_X + j] + (i == j ? 0.0 : dQ[j][DALPHA_X + i]);
    dp[q] = dQ[i][DPHI_X + j] + (i == j ? 0.0 : dQ[j][DPHI_X + i]);
    for (int m = 0; m < 3; m++) {
      dB[q][m] = 0.0;
      if (P->s) dB[q][m] = dQ[i][DBETA_XX + 3 * j + m];
      if (P->s && i != j) dB[q][m] = 0.5 * (dB[q][m] + dQ[j][DBETA_XX + 3 * i + m]);
    }
  }
  for (int k = 0; k < 3; k++) dBdiv[k] = dB[SYM[k][0]][0] + dB[SYM[k][1]][1] + dB[SYM[k][2]][2];

  // T_k = d_k (U^ij A_ij).
  double T[3], dA[6];
  for (int k = 0; k < 3; k++) {
    take(dQ[k], A_XX, 6, dA);
    T[k] = sum(UU, dA);
    if (whole) T[k] -= 2.0 * sum(AA, D[k]);
  }

  // M_ij = alpha (R_ij + D_i Z_j + D_j Z_i) - D_i D_j alpha but for multiples of the metric.
  double M[6], low[3][3], curvature[6], Z[3], V[3], W[3], pup[3], v[3];
  for (int j = 0; j < 3; j++) {
    take(dQ[j], GH_X, 3, v);
    apply(g, v, low[j]);
  }
  quadratic(U, L, Gam, curvature);
  apply(g, z, Z);
  for (int k = 0; k < 3; k++) {
    V[k] = a[k] - ratio * p[k];
    W[k] = 2.0 * ratio * Z[k] - over_phi * a[k];
  }
  for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    const int q = SYM[i][j];
    double box = 0.0;
    for (int k = 0; k < 3; k++) for (int l = k; l < 3; l++) {
      box += U[SYM[k][l]] * (dQ[k][DG_XXX + 6 * l + q] + (k == l ? 0.0 : dQ[l][DG_XXX + 6 * k + q]));
    }
    M[q] = ratio * dp[q] - da[q];
    if (i == j) M[q] += alpha * (low[i][i] - box);
    else M[q] = 0.5 * (M[q] + alpha * (low[i][j] + low[j][i])) - alpha * box;
    if (whole) {
      double products = i == j ? 2.0 * p[i] * W[i] : p[i] * W[j] + p[j] * W[i];
      for (int k = 0; k < 3; k++) {
        products += Gam[k][q] * V[k];
        curvature[q] += Q[GH_X + k] * D[k][q];
      }
      M[q] += products + alpha * curvature[q];
    }
  }

  // Its trace with those multiples: second = alpha R* - lap alpha.
  const double trace_M = sum(UU, M);
  double laplacian = phi2 * sum(U, da);
  double second = phi2 * trace_M + 3.0 * alpha * phi * sum(U, dp);
  if (whole) {
    apply(U, p, pup);
    const double phi_pa = phi * dot(pup, a);
    laplacian -= phi2 * dot(Gt, a) + phi_pa;
    second += 3.0 * (phi_pa - alpha * (phi * dot(Gt, p) + 2.0 * (phi * dot(z, p) + dot(pup, p))));
  }

  // K, theta, lapse, conformal factor.
  const double drive = K - 2.0 * P->c * theta, slicing = drive - Q[K0];
  const double stretch = third * (alpha * K - div);
  R[TRACE_K] = advect(Q, dQ, P, TRACE_K) + second;
  R[THETA] = advect(Q, dQ, P, THETA) + cleaning * (second + laplacian);
  if (whole) {
    const double squares = 2.0 * third * K * K - sum(AA, A);
    R[TRACE_K] += alpha * K * drive - 3.0 * P->k1 * (1.0 + P->k2) * theta;
    R[THETA] += cleaning * alpha * squares - alpha * P->c * theta * K - phi2 * dot(z, a)
              - P->k1 * (2.0 + P->k2) * theta;
    R[ALPHA] = dot(beta, a) - lapse_rate * slicing;
    R[PHI] = dot(beta, p) + phi * stretch;
  }

  // Metric and A by N^k_j = B_j^k - alpha A^k_j and multiples of the unit tensor.
  const double relax = third_div + 0.5 * P->itau * (det - 1.0);
  const double shrink = 0.5 * alpha * drive - third_div;
  double NG[3][3], NA[3][3], BT[3][3];
  for (int k = 0; k < 3; k++) for (int j = 0; j < 3; j++) {
    const double N = B[j][k] - alpha * Amix[k][j];
    NG[k][j] = N - (k == j ? relax : 0.0);
    NA[k][j] = N + (k == j ? shrink : 0.0);
    BT[j][k] = B[j][k] - (k == j ? third_div : 0.0);
  }
  for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    const int q = SYM[i][j];
    R[A_XX + q] = advect(Q, dQ, P, A_XX + q) + phi2 * (M[q] - third * trace_M * g[q]);
    if (whole) {
      double metric = 0.0, extrinsic = 0.0, shear = 0.0;
      for (int k = 0; k < 3; k++) {
        metric += g[SYM[k][i]] * NG[k][j] + (i == j ? 0.0 : g[SYM[k][j]] * NG[k][i]);
        extrinsic += A[SYM[k][i]] * NA[k][j] + (i == j ? 0.0 : A[SYM[k][j]] * NA[k][i]);
        shear += beta[k] * D[k][q];
      }
      R[G_XX + q] = (i == j ? 2.0 : 1.0) * metric + 2.0 * shear;
      R[A_XX + q] += (i == j ? 2.0 : 1.0) * extrinsic;
    }
  }

  // Contracted Christoffel symbols, shift, its driver.
  double G[3], dBi[6], order[3][3];
  for (int k = 0; k < 3; k++) {
    v[k] = 2.0 * alpha * (dQ[k][THETA] - 2.0 * third * dQ[k][TRACE_K]) + third * dBdiv[k];
    if (whole) v[k] -= 2.0 * theta * a[k];
  }
  apply(U, v, G);
  for (int i = 0; i < 3; i++) {
    for (int q = 0; q < 6; q++) dBi[q] = dB[q][i];
    G[i] += sum(UU, dBi);
    if (whole) {
      double push = alpha * sum(AA, Gam[i]);
      for (int k = 0; k < 3; k++) {
        push -= Aup[SYM[i][k]] * (3.0 * ratio * p[k] + a[k]);
        G[i] -= (Gt[k] + 2.0 * P->k3 * z[k]) * B[k][i];
      }
      G[i] += 2.0 * (push + third_div * (Gt[i] + 2.0 * P->k3 * z[i]));
      G[i] -= (4.0 * third * alpha * K + 2.0 * P->k1) * z[i];
    }
    R[GH_X + i] = advect(Q, dQ, P, GH_X + i) + G[i];
    if (P->s) R[B_X + i] = P->xi * G[i];
    if (P->s && P->bs) R[B_X + i] += advect(Q, dQ, P, B_X + i);
    if (P->s && whole) {
      R[B_X + i] -= P->eta * Q[B_X + i];
      R[BETA_X + i] = P->f * Q[B_X + i];
      if (P->bs) R[BETA_X + i] += beta[0] * B[0][i] + beta[1] * B[1][i] + beta[2] * B[2][i];
    }
  }

  // d_k alpha, d_k phi, d_k beta^i.
  ordering(U, dQ, P->mu * alpha * alpha, over_phi, order);
  for (int k = 0; k < 3; k++) {
    double gain = dQ[k][TRACE_K] - 2.0 * P->c * dQ[k][THETA], swell = alpha * dQ[k][TRACE_K];
    gain += P->s * T[k];
    swell += P->s * (alpha * T[k] - dBdiv[k]);
    if (whole) swell += K * a[k];
    R[DALPHA_X + k] = advect(Q, dQ, P, DALPHA_X + k) - lapse_rate * gain;
    R[DPHI_X + k] = advect(Q, dQ, P, DPHI_X + k) + third * phi * swell;
    if (whole) {
      R[DALPHA_X + k] += dot(B[k], a) - (P->lapse ? 2.0 : 2.0 * alpha) * slicing * a[k];
      R[DPHI_X + k] += dot(B[k], p) + stretch * p[k];
    }
    if (P->s) for (int i = 0; i < 3; i++) {
      const int u = DBETA_XX + 3 * k + i;
      R[u] = P->f * dQ[k][B_X + i] + order[k][i];
      if (P->bs) R[u] += advect(Q, dQ, P, u);
      if (whole) for (int l = 0; l < 3; l++) R[u] += B[k][l] * B[l][i];
    }
  }

  // d_k g_ij / 2.
  for (int k = 0; k < 3; k++) {
    double turned[3][3];
    for (int j = 0; j < 3; j++) apply(g, dB[SYM[k][j]], turned[j]);
    const double traces = third * (alpha * T[k] - dBdiv[k]);
    for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
      const int q = SYM[i][j], u = DG_XXX + 6 * k + q;
      R[u] = advect(Q, dQ, P, u) + traces * g[q] - alpha * dQ[k][A_XX + q];
      R[u] += i == j ? turned[i][i] : 0.5 * (turned[i][j] + turned[j][i]);
      if (whole) {
        double turn = 0.0;
        for (int l = 0; l < 3; l++) {
          turn += D[k][SYM[l][i]] * BT[j][l] + (i == j ? 0.0 : D[k][SYM[l][j]] * BT[i][l]);
        }
        R[u] += (i == j ? 2.0 : 1.0) * turn - a[k] * A[q];
        for (int l = 0; l < 3; l++) R[u] += B[k][l] * D[l][q];
      }
    }
  }
}

void rhs(const double *Q, const double dQ[3][59], const parameters *P, double *R) {
  core(Q, dQ, P, 1, R);
}

void source(const double *Q, const parameters *P, double *S) {
  double none[3][59];
  for (int k = 0; k < 3; k++) for (int u = 0; u < 59; u++) none[k][u] = 0.0;
  core(Q, none, P, 1, S);
}

void ncp(const double *Q, const double *dQ, int n, const parameters *P, double *R) {
  double one[3][59];
  for (int k = 0; k < 3; k++) for (int u = 0; u < 59; u++) one[k][u] = k == n ? dQ[u] : 0.0;
  core(Q, one, P, 0, R);
  for (int u = 0; u < 59; u++) R[u] = -R[u];
}

// The bound of ExaHyPE; or the true speeds: light times that of cleaning, slicing, driver of the shift.
double eigenvalue(const double *Q, int n, const parameters *P) {
  const double beta = fabs(Q[BETA_X + n]);
  if (P->sharp) {
    double g[6], U[6];
    take(Q, G_XX, 6, g);
    invert(g, U);
    const double alpha = fmax(Q[ALPHA], P->alpha_floor), phi = fmax(Q[PHI], P->phi_floor);
    double speed = alpha * phi * fmax(1.0, P->e);
    if (P->lapse) speed = fmax(speed, phi * sqrt(2.0 * alpha));
    if (P->s) speed = fmax(speed, sqrt(4.0 / 3.0 * P->xi * P->f));
    return sqrt(U[SYM[n][n]]) * speed + beta;
  }
  const double least = sqrt(fmin(Q[G_XX], fmin(Q[G_YY], Q[G_ZZ])));
  const double light = fmax(1.0, Q[ALPHA]) * fmax(1.0, Q[PHI]) / least;
  const double w = fmax(light * fmax(sqrt(2.0), fmax(P->e, P->ds)), fmax(P->glm_c, P->glm_d));
  return fmax(1.0, w + beta);
}

// Algebraic constraints: det g = 1, A and D_k without trace, lapse and conformal factor positive.
void post(const double *Q, const parameters *P, double *R) {
  double g[6], U[6], UU[6], X[6];
  take(Q, G_XX, 6, g);
  const double scale = 1.0 / cbrt(invert(g, U));
  doubled(U, UU);
  for (int u = 0; u < 59; u++) R[u] = Q[u];
  for (int q = 0; q < 6; q++) R[G_XX + q] = scale * g[q];
  for (int k = 0; k < 4; k++) {
    const int first = k < 3 ? DG_XXX + 6 * k : A_XX;
    take(Q, first, 6, X);
    const double third_trace = 1.0 / 3.0 * sum(UU, X);
    for (int q = 0; q < 6; q++) R[first + q] = X[q] - third_trace * g[q];
  }
  R[ALPHA] = fmax(Q[ALPHA], P->state_floor);
  R[PHI] = fmax(Q[PHI], P->state_floor);
}

// Flat space in wavy coordinates (Alcubierre et al. 2004): ds^2 = H (-dt^2 + dn^2) + the rest, where
// H = 1 - A sin(k (n.x - t)) and n is a unit vector.
static void gauge_wave(const double *n, double k, double along, double t, double A, double *R) {
  const double H = 1.0 - A * sin(k * (along - t)), dH = -k * A * cos(k * (along - t));
  const double r = cbrt(H), root = sqrt(H), Knn = 0.5 * dH / root;
  for (int i = 0; i < 3; i++) for (int j = i; j < 3; j++) {
    const int q = SYM[i][j];
    const double nn = n[i] * n[j], rest = (i == j ? 1.0 : 0.0) - nn;
    R[G_XX + q] = r * r * nn + rest / r;
    R[A_XX + q] = Knn * (2.0 * nn - rest / H) / (3.0 * r);
    for (int l = 0; l < 3; l++) R[DG_XXX + 6 * l + q] = n[l] * dH * (2.0 * nn - rest / H) / (6.0 * r);
  }
  R[ALPHA] = root;
  R[TRACE_K] = Knn / H;
  R[PHI] = 1.0 / sqrt(r);
  for (int i = 0; i < 3; i++) {
    R[GH_X + i] = n[i] * 2.0 * dH / (3.0 * r * r * H);
    R[DALPHA_X + i] = n[i] * Knn;
    R[DPHI_X + i] = -n[i] * dH / (6.0 * H * sqrt(r));
  }
}

// Plane wave, gamma = diag(1, 1 + b, 1 - b), b = A sin(k (x - t)): a solution but for terms in A^2.
static void linear_wave(double k, double x, double t, double A, double *R) {
  const double b = A * sin(k * (x - t)), db = k * A * cos(k * (x - t)), det = 1.0 - b * b;
  const double phi = 1.0 / sqrt(cbrt(det)), phi2 = phi * phi, dphi = phi * b * db / (3.0 * det);
  const double K = -b * db / det, gamma[3] = {1.0, 1.0 + b, 1.0 - b}, slope[3] = {0.0, db, -db};
  for (int i = 0; i < 3; i++) {
    const int q = SYM[i][i];
    R[G_XX + q] = phi2 * gamma[i];
    R[A_XX + q] = phi2 * (0.5 * slope[i] - gamma[i] * K / 3.0);
    R[DG_XXX + q] = phi * dphi * gamma[i] + 0.5 * phi2 * slope[i];
  }
  R[GH_X] = 2.0 * dphi / (phi2 * phi);
  R[TRACE_K] = K;
  R[PHI] = phi;
  R[DPHI_X] = dphi;
}

// A black hole at rest at the origin (Brandt and Bruegmann 1997): psi = 1 + M / (2 r). The origin must
// lie between voxels.
static void puncture(const double *x, const parameters *P, double *R) {
  const double r = sqrt(fmax(dot(x, x), 1e-24)), over_psi = 1.0 / (1.0 + 0.5 * P->mass / r);
  R[PHI] = over_psi * over_psi;
  R[ALPHA] = R[PHI];
  for (int k = 0; k < 3; k++) {
    const double dpsi = -0.5 * P->mass * x[k] / (r * r * r);
    R[DPHI_X + k] = -2.0 * R[PHI] * over_psi * dpsi;
    R[DALPHA_X + k] = R[DPHI_X + k];
  }
}

// The solution at a time; of the puncture none is known, and this is flat space.
void exact(const double *x, double t, const parameters *P, double *R) {
  const double k = 2.0 * M_PI / P->wavelength, A = P->amplitude;
  const double axis[3] = {1.0, 0.0, 0.0}, diagonal[3] = {sqrt(0.5), -sqrt(0.5), 0.0};
  for (int u = 0; u < 59; u++) R[u] = u == G_XX || u == G_YY || u == G_ZZ || u == ALPHA || u == PHI;
  if (P->problem == 1) gauge_wave(axis, k, x[0], t, A, R);
  else if (P->problem == 2) gauge_wave(diagonal, sqrt(2.0) * k, sqrt(0.5) * (x[0] - x[1]), t, A, R);
  else if (P->problem == 3) linear_wave(k, x[0], t, A, R);
}

void initial(const double *x, const parameters *P, double *R) {
  exact(x, 0.0, P, R);
  if (P->problem == 4) puncture(x, P, R);
}
