// Advection of one scalar by a constant velocity, dq/dt + v . grad q = 0.
// Exact solution: a sine with the wave numbers `waves_*` (per metre), carried along.
// Source: R. J. LeVeque, Finite Volume Methods for Hyperbolic Problems, 2002, chapter 4.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <math.h>

enum unknowns { SCALAR };

typedef struct {
  double velocity_x, velocity_y, velocity_z;  // m/s
  double waves_x, waves_y, waves_z;           // periods per metre
} parameters;

static const parameters defaults = {.velocity_x = 1.0, .waves_x = 1.0};

static double velocity(int n, const parameters *P) {
  if (n == 0) return P->velocity_x;
  if (n == 1) return P->velocity_y;
  return P->velocity_z;
}

void flux(const double *Q, int n, const parameters *P, double *F) { F[0] = velocity(n, P) * Q[0]; }

double eigenvalue(int n, const parameters *P) { return fabs(velocity(n, P)); }

// From the side that the scalar comes from.
void face(const double *QL, const double *QR, int n, const parameters *P, double *F) {
  const double v = velocity(n, P);
  F[0] = v * (v > 0.0 ? QL[0] : QR[0]);
}

void exact(const double *x, double t, const parameters *P, double *R) {
  const double phase = P->waves_x * (x[0] - P->velocity_x * t) +
                       P->waves_y * (x[1] - P->velocity_y * t) +
                       P->waves_z * (x[2] - P->velocity_z * t);
  R[0] = sin(2.0 * M_PI * phase);
}

void initial(const double *x, const parameters *P, double *R) { exact(x, 0.0, P, R); }
