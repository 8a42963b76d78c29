// Euler's equations of an ideal gas.
// d rho/dt + div(rho u) = 0,  d(rho u)/dt + div(rho u u) + grad p = 0,  dE/dt + div((E + p) u) = 0,
// p = (gamma - 1) (E - rho |u|^2 / 2).
// Unknowns: density (kg/m^3), momentum (kg/m^2/s), total energy (J/m^3).
// Source: E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, 3rd ed., chapter 3.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <math.h>

enum unknowns { DENSITY, MOMENTUM_X, MOMENTUM_Y, MOMENTUM_Z, ENERGY };

typedef struct {
  double gamma;  // ratio of specific heats
} parameters;

static const parameters defaults = {.gamma = 1.4};

static inline double pressure(const double *Q, const parameters *P) {
  const double momentum = Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3];
  return (P->gamma - 1.0) * (Q[ENERGY] - 0.5 * momentum / Q[DENSITY]);
}

void flux(const double *Q, int n, const parameters *P, double *F) {
  const double p = pressure(Q, P);
  const double speed = Q[1 + n] / Q[DENSITY];
  for (int i = 0; i < 5; i++) F[i] = speed * Q[i];
  F[1 + n] += p;
  F[ENERGY] += speed * p;
}

double eigenvalue(const double *Q, int n, const parameters *P) {
  return fabs(Q[1 + n] / Q[DENSITY]) + sqrt(P->gamma * pressure(Q, P) / Q[DENSITY]);
}
