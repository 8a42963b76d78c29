// Linear acoustics in a medium at rest whose density and sound speed vary.
// dp/dt + rho c^2 div v = 0,  dv/dt + grad p / rho = 0.
// Unknowns: pressure, Pa; particle velocity, m/s. Fixed: density, kg/m^3; sound speed, m/s.
// Written as a product of medium and gradient, since pressure and velocity are continuous where the
// medium jumps: what stands in front of the gradient may then jump. `face` is the upwind part of the
// exact Riemann solver at such a jump, to be used with the mean of `ncp` on both sides:
// A- = F + B dQ / 2, A+ = B dQ / 2 - F.
// Source: R. J. LeVeque, Finite Volume Methods for Hyperbolic Problems, 2002, sections 2.7 and 9.9;
// transmission and reflection, section 9.9 and L. M. Brekhovskikh, Waves in Layered Media, 1980.
// Exact solution: a Gaussian pulse along x that meets the interface between two media.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <math.h>

enum unknowns { PRESSURE, VELOCITY_X, VELOCITY_Y, VELOCITY_Z };
enum auxiliary { DENSITY = 4, SPEED };

typedef struct {
  double density_left, speed_left;    // medium where x < interface
  double density_right, speed_right;  // medium beyond
  double interface;                   // m
  double centre, width;               // of the pulse at t = 0, m
} parameters;

static const parameters defaults = {.density_left = 1.0,
                                    .speed_left = 1.0,
                                    .density_right = 4.0,
                                    .speed_right = 0.5,
                                    .interface = 0.5,
                                    .centre = 0.25,
                                    .width = 0.05};

void ncp(const double *Q, const double *dQ, int n, double *B) {
  for (int i = 0; i < 4; i++) B[i] = 0.0;
  B[PRESSURE] = Q[DENSITY] * Q[SPEED] * Q[SPEED] * dQ[VELOCITY_X + n];
  B[VELOCITY_X + n] = dQ[PRESSURE] / Q[DENSITY];
}

double eigenvalue(const double *Q) { return Q[SPEED]; }

void face(const double *QL, const double *QR, int n, double *F) {
  const double cl = QL[SPEED], cr = QR[SPEED];
  const double zl = QL[DENSITY] * cl, zr = QR[DENSITY] * cr;
  const double dp = QR[PRESSURE] - QL[PRESSURE], dv = QR[VELOCITY_X + n] - QL[VELOCITY_X + n];
  // Strengths of the waves to the left, (-zl, 1), and to the right, (zr, 1).
  const double inverse = 1.0 / (zl + zr);
  const double left = (zr * dv - dp) * inverse, right = (zl * dv + dp) * inverse;
  for (int i = 0; i < 4; i++) F[i] = 0.0;
  F[PRESSURE] = 0.5 * (cl * zl * left - cr * zr * right);
  F[VELOCITY_X + n] = -0.5 * (cl * left + cr * right);
}

static double pulse(double x, const parameters *P) {
  const double away = (x - P->centre) / P->width;
  return exp(-away * away);
}

void exact(const double *x, double t, const parameters *P, double *R) {
  const double zl = P->density_left * P->speed_left, zr = P->density_right * P->speed_right;
  const double along = x[0] - P->interface, reached = P->speed_left * t;
  R[VELOCITY_Y] = R[VELOCITY_Z] = 0.0;
  if (along < 0.0) {
    const double forth = pulse(P->interface + along - reached, P);
    const double back = (zr - zl) / (zr + zl) * pulse(P->interface - along - reached, P);
    R[PRESSURE] = forth + back;
    R[VELOCITY_X] = (forth - back) / zl;
    R[DENSITY] = P->density_left;
    R[SPEED] = P->speed_left;
  } else {
    const double there = P->interface + along * P->speed_left / P->speed_right - reached;
    R[PRESSURE] = 2.0 * zr / (zr + zl) * pulse(there, P);
    R[VELOCITY_X] = R[PRESSURE] / zr;
    R[DENSITY] = P->density_right;
    R[SPEED] = P->speed_right;
  }
}

void initial(const double *x, const parameters *P, double *R) { exact(x, 0.0, P, R); }
