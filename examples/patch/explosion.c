// A ball of compressed gas of radius 0.4 m at rest (Toro 2009, section 17.1).

void initial(const double *x, double *Q) {
  const int inside = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] < 0.16;
  Q[DENSITY] = inside ? 1.0 : 0.125;
  Q[MOMENTUM_X] = 0.0;
  Q[MOMENTUM_Y] = 0.0;
  Q[MOMENTUM_Z] = 0.0;
  Q[ENERGY] = (inside ? 1.0 : 0.1) / 0.4;
}
