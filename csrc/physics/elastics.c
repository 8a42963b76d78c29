// Linear elastics in an isotropic medium, velocity and stress.
// rho dv/dt = div sigma,  dsigma/dt = lambda tr(e) I + 2 mu e,  e = (grad v + grad v^T) / 2.
// Unknowns: particle velocity, m/s; stress, Pa. Fixed: density, kg/m^3; Lame's lambda and mu, Pa.
// Source: J. Virieux, P-SV wave propagation in heterogeneous media, Geophysics 51, 1986, eq. 1.
// Written as a product of medium and gradient, as in acoustics.c: the medium may jump.
// Exact solution: a plane Gaussian pulse along x that meets the interface between two media at right
// angles, P (wave 0) or S moving along y (wave 1); there it is acoustics with the impedance rho c.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <math.h>

enum unknowns {
  VELOCITY_X, VELOCITY_Y, VELOCITY_Z,
  STRESS_XX, STRESS_YY, STRESS_ZZ, STRESS_XY, STRESS_XZ, STRESS_YZ
};
enum auxiliary { DENSITY = 9, LAMBDA, MU };

typedef struct {
  int wave;                                      // 0 P, 1 S
  double density_left, lambda_left, mu_left;     // medium where x < interface
  double density_right, lambda_right, mu_right;  // medium beyond
  double interface;                              // m
  double centre, width;                          // of the pulse at t = 0, m
} parameters;

static const parameters defaults = {.wave = 0,
                                    .density_left = 1.0,
                                    .lambda_left = 2.0,
                                    .mu_left = 1.0,
                                    .density_right = 4.0,
                                    .lambda_right = 2.0,
                                    .mu_right = 1.0,
                                    .interface = 0.5,
                                    .centre = 0.25,
                                    .width = 0.05};

// Place of the stress of a pair of axes.
static const int stress[3][3] = {{STRESS_XX, STRESS_XY, STRESS_XZ},
                                 {STRESS_XY, STRESS_YY, STRESS_YZ},
                                 {STRESS_XZ, STRESS_YZ, STRESS_ZZ}};

void ncp(const double *Q, const double *dQ, int n, double *B) {
  const double inverse = 1.0 / Q[DENSITY];
  for (int i = 0; i < 9; i++) B[i] = 0.0;
  for (int i = 0; i < 3; i++) {
    B[VELOCITY_X + i] = -inverse * dQ[stress[n][i]];
    B[stress[i][i]] -= Q[LAMBDA] * dQ[VELOCITY_X + n];
    B[stress[n][i]] -= Q[MU] * (i == n ? 2.0 : 1.0) * dQ[VELOCITY_X + i];
  }
}

double eigenvalue(const double *Q) { return sqrt((Q[LAMBDA] + 2.0 * Q[MU]) / Q[DENSITY]); }

static double pulse(double x, const parameters *P) {
  const double away = (x - P->centre) / P->width;
  return exp(-away * away);
}

void exact(const double *x, double t, const parameters *P, double *R) {
  const double ml = P->wave == 0 ? P->lambda_left + 2.0 * P->mu_left : P->mu_left;
  const double mr = P->wave == 0 ? P->lambda_right + 2.0 * P->mu_right : P->mu_right;
  const double cl = sqrt(ml / P->density_left), cr = sqrt(mr / P->density_right);
  const double zl = P->density_left * cl, zr = P->density_right * cr;
  const double along = x[0] - P->interface;
  const double lambda = along < 0.0 ? P->lambda_left : P->lambda_right;
  const double mu = along < 0.0 ? P->mu_left : P->mu_right;
  double velocity, strain;
  if (along < 0.0) {
    const double forth = pulse(P->interface + along - cl * t, P);
    const double back = (zl - zr) / (zl + zr) * pulse(P->interface - along - cl * t, P);
    velocity = forth + back;
    strain = (back - forth) / cl;
  } else {
    velocity = 2.0 * zl / (zl + zr) * pulse(P->interface + along * cl / cr - cl * t, P);
    strain = -velocity / cr;
  }
  for (int i = 0; i < 9; i++) R[i] = 0.0;
  if (P->wave == 0) {
    R[VELOCITY_X] = velocity;
    R[STRESS_XX] = (lambda + 2.0 * mu) * strain;
    R[STRESS_YY] = R[STRESS_ZZ] = lambda * strain;
  } else {
    R[VELOCITY_Y] = velocity;
    R[STRESS_XY] = mu * strain;
  }
  R[DENSITY] = along < 0.0 ? P->density_left : P->density_right;
  R[LAMBDA] = lambda;
  R[MU] = mu;
}

void initial(const double *x, const parameters *P, double *R) { exact(x, 0.0, P, R); }
