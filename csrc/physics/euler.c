// Euler's equations of an ideal gas.
// d rho/dt + div(rho u) = 0,  d(rho u)/dt + div(rho u u) + grad p = 0,  dE/dt + div((E + p) u) = 0,
// p = (gamma - 1) (E - rho |u|^2 / 2).
// Unknowns: density, kg/m^3; momentum, kg/(m^2 s); total energy, J/m^3.
// Source: E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, 3rd edition, 2009:
// the flux, chapter 3; HLLC (Toro, Spruce and Speares 1994) and its wave speeds, chapter 10; the exact
// solution of a shock tube, chapter 4.
// Problems: 0 Sod's shock tube along x, the membrane at x = 0.5; 1 isentropic vortex; 2 density wave
// along x; 3 explosion at the origin, of which no exact solution is known here.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <math.h>

enum unknowns { DENSITY, MOMENTUM_X, MOMENTUM_Y, MOMENTUM_Z, ENERGY };

typedef struct {
  double gamma;    // ratio of specific heats
  int problem;     // initial state
  int dimensions;  // of the explosion: 2 or 3
  double period;   // edge of the periodic box of the vortex, centred on the origin, m
  double energy;   // of the explosion, J (in two dimensions J/m)
} parameters;

static const parameters defaults = {
    .gamma = 1.4, .problem = 0, .dimensions = 3, .period = 10.0, .energy = 1.0};

enum { SOD, VORTEX, DENSITY_WAVE, EXPLOSION };

static double pressure(const double *Q, double inverse, const parameters *P) {
  const double square = Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3];
  return (P->gamma - 1.0) * (Q[ENERGY] - 0.5 * inverse * square);
}

void flux(const double *Q, int n, const parameters *P, double *F) {
  const double inverse = 1.0 / Q[DENSITY];
  const double speed = Q[MOMENTUM_X + n] * inverse;
  const double p = pressure(Q, inverse, P);
  for (int i = 0; i < 5; i++) F[i] = speed * Q[i];
  F[MOMENTUM_X + n] += p;
  F[ENERGY] += speed * p;
}

double eigenvalue(const double *Q, int n, const parameters *P) {
  const double inverse = 1.0 / Q[DENSITY];
  const double p = pressure(Q, inverse, P);
  return fabs(Q[MOMENTUM_X + n] * inverse) + sqrt(P->gamma * p * inverse);
}

// How much faster than sound a wave is behind which the pressure is p_star.
static double wave_factor(double p_star, double p, double gamma) {
  const double excess = fmax(p_star / p - 1.0, 0.0);
  return sqrt(1.0 + (gamma + 1.0) / (2.0 * gamma) * excess);
}

// HLLC with the pressure estimate of the primitive-variable Riemann solver.
void face(const double *QL, const double *QR, int n, const parameters *P, double *F) {
  const double il = 1.0 / QL[DENSITY], ir = 1.0 / QR[DENSITY];
  const double pl = pressure(QL, il, P), pr = pressure(QR, ir, P);
  const double ul = QL[MOMENTUM_X + n] * il, ur = QR[MOMENTUM_X + n] * ir;
  const double al = sqrt(P->gamma * pl * il), ar = sqrt(P->gamma * pr * ir);

  const double impedance = 0.25 * (QL[DENSITY] + QR[DENSITY]) * (al + ar);
  const double p_star = fmax(0.5 * (pl + pr - (ur - ul) * impedance), 0.0);
  const double sl = ul - al * wave_factor(p_star, pl, P->gamma);
  const double sr = ur + ar * wave_factor(p_star, pr, P->gamma);
  const double ml = QL[DENSITY] * (sl - ul), mr = QR[DENSITY] * (sr - ur);
  const double s_star = (pr - pl + ul * ml - ur * mr) / (ml - mr);

  // The face lies on one side of the contact.
  const int left = s_star >= 0.0;
  double Q[5];
  for (int i = 0; i < 5; i++) Q[i] = left ? QL[i] : QR[i];
  const double p = left ? pl : pr, u = left ? ul : ur, s = left ? sl : sr;
  const double inverse = left ? il : ir;
  const int beyond = left ? sl >= 0.0 : sr <= 0.0;  // outside the fan

  const double star = Q[DENSITY] * (s - u) / (s - s_star);
  for (int i = 0; i < 5; i++) {
    double middle = star * inverse * Q[i];
    if (i == MOMENTUM_X + n) middle = star * s_star;
    if (i == ENERGY) {
      middle = star * (inverse * Q[i] + (s_star - u) * (s_star + p * inverse / (s - u)));
    }
    double flux = u * Q[i];
    if (i == MOMENTUM_X + n) flux += p;
    if (i == ENERGY) flux += u * p;
    F[i] = beyond ? flux : flux + s * (middle - Q[i]);
  }
}

// State of density, velocity and pressure.
static void conserved(double density, double u, double v, double p, const parameters *P, double *Q) {
  Q[DENSITY] = density;
  Q[MOMENTUM_X] = density * u;
  Q[MOMENTUM_Y] = density * v;
  Q[MOMENTUM_Z] = 0.0;
  Q[ENERGY] = p / (P->gamma - 1.0) + 0.5 * density * (u * u + v * v);
}

// Velocity that a wave into gas of density, pressure p and sound speed a gives it, and its derivative
// by the pressure behind the wave.
static double push(double behind, double density, double p, double a, double gamma, double *slope) {
  if (behind > p) {  // shock
    const double A = 2.0 / ((gamma + 1.0) * density), B = (gamma - 1.0) / (gamma + 1.0) * p;
    const double root = sqrt(A / (behind + B));
    *slope = root * (1.0 - 0.5 * (behind - p) / (behind + B));
    return (behind - p) * root;
  }
  const double power = 0.5 * (gamma - 1.0) / gamma;  // rarefaction
  *slope = pow(behind / p, power - 1.0) / (density * a);
  return 2.0 * a / (gamma - 1.0) * (pow(behind / p, power) - 1.0);
}

// Sod's shock tube: a rarefaction to the left, a contact and a shock to the right.
static void sod(double x, double t, const parameters *P, double *R) {
  const double gamma = P->gamma, rho_l = 1.0, p_l = 1.0, rho_r = 0.125, p_r = 0.1;
  const double a_l = sqrt(gamma * p_l / rho_l), a_r = sqrt(gamma * p_r / rho_r);
  double p = 0.5 * (p_l + p_r), slope_l, slope_r;
  for (int turn = 0; turn < 20; turn++) {  // Newton
    const double sum =
        push(p, rho_l, p_l, a_l, gamma, &slope_l) + push(p, rho_r, p_r, a_r, gamma, &slope_r);
    const double change = sum / (slope_l + slope_r);
    p -= change;
    if (fabs(change) < 1e-15) break;
  }
  const double u = push(p, rho_r, p_r, a_r, gamma, &slope_r);
  const double ratio = (gamma - 1.0) / (gamma + 1.0);
  const double shock = a_r * sqrt(1.0 + (gamma + 1.0) / (2.0 * gamma) * (p / p_r - 1.0));
  const double tail = u - a_l * pow(p / p_l, 0.5 * (gamma - 1.0) / gamma);

  if (x < -a_l * t) {
    conserved(rho_l, 0.0, 0.0, p_l, P, R);
  } else if (x < tail * t) {
    const double speed = 2.0 / (gamma + 1.0) * (a_l + x / t);
    const double cooled = (a_l - 0.5 * (gamma - 1.0) * speed) / a_l;
    const double density = rho_l * pow(cooled, 2.0 / (gamma - 1.0));
    conserved(density, speed, 0.0, p_l * pow(cooled, 2.0 * gamma / (gamma - 1.0)), P, R);
  } else if (x < u * t) {
    conserved(rho_l * pow(p / p_l, 1.0 / gamma), u, 0.0, p, P, R);
  } else if (x < shock * t) {
    conserved(rho_r * (p / p_r + ratio) / (ratio * p / p_r + 1.0), u, 0.0, p, P, R);
  } else {
    conserved(rho_r, 0.0, 0.0, p_r, P, R);
  }
}

// Vortex of strength 5 carried along (1, 1) through a periodic box.
static void vortex(const double *x, double t, const parameters *P, double *R) {
  const double strength = 5.0, gamma = P->gamma;
  double at[2];
  for (int i = 0; i < 2; i++) {
    const double moved = x[i] - t;
    at[i] = moved - P->period * floor(moved / P->period + 0.5);
  }
  const double square = at[0] * at[0] + at[1] * at[1];
  const double swirl = strength / (2.0 * M_PI) * exp(0.5 * (1.0 - square));
  const double cooling = (gamma - 1.0) * strength * strength / (8.0 * gamma * M_PI * M_PI);
  const double temperature = 1.0 - cooling * exp(1.0 - square);
  const double density = pow(temperature, 1.0 / (gamma - 1.0));
  conserved(density, 1.0 - swirl * at[1], 1.0 + swirl * at[0], density * temperature, P, R);
}

// All the energy in the voxel at the origin, or shared by those that meet there.
static void explosion(const double *x, const double *dx, const parameters *P, double *R) {
  double share = P->energy;
  for (int i = 0; i < P->dimensions; i++) share *= fmax(1.0 - fabs(x[i]) / dx[i], 0.0) / dx[i];
  conserved(1.0, 0.0, 0.0, 1e-5, P, R);
  R[ENERGY] += share;
}

void exact(const double *x, double t, const parameters *P, double *R) {
  for (int i = 0; i < 5; i++) R[i] = 0.0;  // where none is known
  if (P->problem == SOD) sod(x[0] - 0.5, t, P, R);
  if (P->problem == VORTEX) vortex(x, t, P, R);
  if (P->problem == DENSITY_WAVE) {
    conserved(1.0 + 0.2 * sin(2.0 * M_PI * (x[0] - t)), 1.0, 0.0, 1.0, P, R);
  }
}

void initial(const double *x, const double *dx, const parameters *P, double *R) {
  if (P->problem == EXPLOSION) {
    explosion(x, dx, P, R);
  } else {
    exact(x, 0.0, P, R);
  }
}
