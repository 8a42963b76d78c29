// Kernels by BF16 limbs on the CPU against f64.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_limbs_mma.cu"
#include "ozaki.hpp"

namespace {

using Kernel = void (*)(const TemblorStep, const TemblorLimbs, const float*, float*, const float*);

struct Row {
  int a, w;
  Kernel kernel;
};
#define ROW(A, W) {A, W, acoustic_iso_limbs_##A##x##W}
const Row TABLE[] = {ROW(1, 1), ROW(1, 2), ROW(1, 3), ROW(2, 1), ROW(2, 2),
                     ROW(2, 3), ROW(3, 1), ROW(3, 2), ROW(3, 3)};

double step(Case& c, const Row& row) {
  TemblorLimbs o = {};
  const int rows = (c.end[1] - c.begin[1] + 31) / 32;
  o.tiles_z = (c.end[2] - c.begin[2] + 31) / 32;
  o.radius = 4;
  o.kept = row.a + row.w - 1;
  for (int axis = 0; axis < 3; ++axis)
    for (int r = 0; r <= 4; ++r) {
      double left = ORDER8[size_t(r)] / (c.h[axis] * c.h[axis]);
      for (int a = 0; a < row.a; ++a) {
        const __nv_bfloat16 limb = __float2bfloat16_rn(float(left));
        o.taps[axis][5 * a + r] = limb.bits;
        left -= __bfloat162float(limb);
      }
    }
  c.lay_bare();
  const Kernel kernel = row.kernel;
  on_cpu::launch(dim3(unsigned(o.tiles_z * rows), 3), 256, [&] {
    kernel(c.s, o, c.at(c.p), c.at(c.next), c.at(c.v));
  });
  return c.error(ORDER8);
}

}  // namespace

int main() {
  flush_denormals();
  const int n[3] = {13, 19, 45};
  const double h[3] = {2, 1, 1.25};
  const Integers none = {1, 4, {}, 1.0};
  for (const Row& row : TABLE)
    for (const int out : {0, 5}) {
      const int whole[3] = {n[0] + 2 * out, n[1] + 2 * out, n[2] + 2 * out};
      Case c(whole, out, h, none);
      fill(c, 3);
      const double error = step(c, row);
      // Nine bits a limb on either side, and FP32's sums.
      const double bound = std::exp2(-9 * row.a) + std::exp2(-9 * row.w) + 5e-7;
      printf("%dx%d %.2e of %.1e\n", row.a, row.w, error, bound);
      check(error < bound && error > 1e-9,
            std::to_string(row.a) + "x" + std::to_string(row.w) + " limbs");
    }
  // What is not finite stays so.
  const Row row = TABLE[4];
  Case c(n, 0, h, none);
  c.at(c.p)[c.node(6, 9, 20)] = INFINITY;
  step(c, row);
  check(std::isnan(c.at(c.next)[c.node(6, 9, 24)]) && std::isnan(c.at(c.next)[c.node(6, 5, 20)]) &&
            std::isnan(c.at(c.next)[c.node(10, 9, 20)]),
        "an infinity spreads as NaN");
  if (failures == 0) puts("all as it should be");
  return failures != 0;
}
