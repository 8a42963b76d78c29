// Shallow water over a fixed bed.
// dh/dt + div(h u) = 0,  d(h u)/dt + div(h u u) + g h grad(h + b) = 0.
// Unknowns: depth h, m; discharge h u, m^2/s. Fixed: height of the bed b, m.
// The slope of the surface is a product, so that water at rest feels no force whatever the bed; on a
// straight path between two depths the product is that of g h^2 / 2. `face` damps the jump of the
// surface and not that of the depth, so that water at rest stays at rest; to be used with the mean of
// `ncp` on both sides.
// Where there is less water than `dry`, its velocity fades (Kurganov and Petrova 2007, eq. 2.17).
// Source: E. F. Toro, Shock-Capturing Methods for Free-Surface Shallow Flows, 2001; the dam break,
// J. J. Stoker, Water Waves, 1957, section 10.8.
// Problems: 0 break of a dam at x = 0.5, over a flat bed; 1 water at rest over a mound around the origin.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <math.h>

enum unknowns { DEPTH, DISCHARGE_X, DISCHARGE_Y };
enum auxiliary { BED = 3 };

typedef struct {
  double gravity;                   // m/s^2
  double dry;                       // m
  int problem;                      // initial state
  double depth_left, depth_right;   // on both sides of the dam, left the deeper, m
} parameters;

static const parameters defaults = {
    .gravity = 9.81, .dry = 1e-6, .problem = 0, .depth_left = 2.0, .depth_right = 1.0};

enum { DAM_BREAK, AT_REST };

static double velocity(const double *Q, int n, const parameters *P) {
  const double h = Q[DEPTH], most = fmax(h, P->dry);
  return 2.0 * fmax(h, 0.0) * Q[DISCHARGE_X + n] / (h * h + most * most);
}

static double speed(const double *Q, int n, const parameters *P) {
  return fabs(velocity(Q, n, P)) + sqrt(P->gravity * fmax(Q[DEPTH], 0.0));
}

void flux(const double *Q, int n, const parameters *P, double *F) {
  // No third axis: nothing flows along it.
  const double u = n < 2 ? velocity(Q, n, P) : 0.0;
  F[DEPTH] = n < 2 ? Q[DISCHARGE_X + n] : 0.0;
  F[DISCHARGE_X] = u * Q[DISCHARGE_X];
  F[DISCHARGE_Y] = u * Q[DISCHARGE_Y];
}

void ncp(const double *Q, const double *dQ, int n, const parameters *P, double *B) {
  for (int i = 0; i < 3; i++) B[i] = 0.0;
  if (n < 2) B[DISCHARGE_X + n] = P->gravity * fmax(Q[DEPTH], 0.0) * (dQ[DEPTH] + dQ[BED]);
}

double eigenvalue(const double *Q, int n, const parameters *P) {
  return n < 2 ? speed(Q, n, P) : 0.0;
}

void face(const double *QL, const double *QR, int n, const parameters *P, double *F) {
  double left[3], right[3];
  flux(QL, n, P, left);
  flux(QR, n, P, right);
  const double most = fmax(eigenvalue(QL, n, P), eigenvalue(QR, n, P));
  for (int i = 0; i < 3; i++) {
    double jump = QR[i] - QL[i];
    if (i == DEPTH) jump += QR[BED] - QL[BED];
    F[i] = 0.5 * (left[i] + right[i]) - 0.5 * most * jump;
  }
}

// No negative depth, no flow where it is dry.
void post(const double *Q, const parameters *P, double *R) {
  const int wet = Q[DEPTH] > P->dry;
  R[DEPTH] = fmax(Q[DEPTH], 0.0);
  R[DISCHARGE_X] = wet ? Q[DISCHARGE_X] : 0.0;
  R[DISCHARGE_Y] = wet ? Q[DISCHARGE_Y] : 0.0;
}

// A rarefaction to the left, a bore to the right.
static void dam_break(double x, double t, const parameters *P, double *R) {
  const double g = P->gravity, hl = P->depth_left, hr = P->depth_right;
  const double cl = sqrt(g * hl);
  double h = 0.5 * (hl + hr);
  for (int turn = 0; turn < 30; turn++) {  // Newton
    const double root = sqrt(0.5 * g * (1.0 / h + 1.0 / hr));
    const double sum = 2.0 * (sqrt(g * h) - cl) + (h - hr) * root;
    const double slope = sqrt(g / h) + root - 0.25 * g * (h - hr) / (h * h * root);
    const double change = sum / slope;
    h -= change;
    if (fabs(change) < 1e-15 * hl) break;
  }
  const double u = 2.0 * (cl - sqrt(g * h));
  const double bore = h * u / (h - hr);
  double depth = hr, along = 0.0;
  if (x < -cl * t) {
    depth = hl;
  } else if (x < (u - sqrt(g * h)) * t) {
    along = 2.0 / 3.0 * (cl + x / t);
    depth = (cl - 0.5 * along) * (cl - 0.5 * along) / g;
  } else if (x < bore * t) {
    depth = h;
    along = u;
  }
  R[DEPTH] = depth;
  R[DISCHARGE_X] = depth * along;
  R[DISCHARGE_Y] = 0.0;
  R[BED] = 0.0;
}

void exact(const double *x, double t, const parameters *P, double *R) {
  if (P->problem == DAM_BREAK) dam_break(x[0] - 0.5, t, P, R);
  if (P->problem == AT_REST) {
    R[BED] = 0.5 * exp(-20.0 * (x[0] * x[0] + x[1] * x[1]));
    R[DEPTH] = 1.0 - R[BED];
    R[DISCHARGE_X] = R[DISCHARGE_Y] = 0.0;
  }
}

void initial(const double *x, const parameters *P, double *R) { exact(x, 0.0, P, R); }
