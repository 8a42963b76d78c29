// Kernels by BF16 limbs on the CPU against f64.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_limbs_mma.cu"
#include "acoustic_iso_limbs_plain.cu"
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

// Order 16 (Fornberg 1988).
const std::vector<double> ORDER16 = {-1077749.0 / 352800, 16.0 / 9, -14.0 / 45, 112.0 / 1485,
                                     -7.0 / 396,          112.0 / 32175, -2.0 / 3861,
                                     16.0 / 315315,       -1.0 / 411840};

double step_plainly(Case& c, const Row& row, int trim, const std::vector<double>& weights) {
  TemblorLimbsPlain o = {};
  o.digits = row.w;
  o.radius = int(weights.size()) - 1;
  o.kept = row.a + row.w - 1 - trim;
  for (int axis = 0; axis < 3; ++axis)
    for (size_t r = 0; r < weights.size(); ++r) {
      double left = weights[r] / (c.h[axis] * c.h[axis]);
      for (int a = 0; a < row.a; ++a) {
        const __nv_bfloat16 limb = __float2bfloat16_rn(float(left));
        o.taps[axis][9 * a + int(r)] = limb.bits;
        left -= __bfloat162float(limb);
      }
    }
  c.lay_bare();
  const int across[2] = {c.end[2] - c.begin[2], c.end[1] - c.begin[1]};
  on_cpu::launch(dim3(unsigned(across[0] + 31) / 32, unsigned(across[1] + 7) / 8, 4), dim3(32, 8),
                 [&] { acoustic_iso_limbs_plain(c.s, o, c.at(c.p), c.at(c.next), c.at(c.v)); });
  return c.error(weights);
}

// By plain loops: any products, order 16, 2-D.
void plain_loops_give_the_laplacian() {
  const int shapes[3][3] = {{13, 19, 45}, {21, 22, 37}, {43, 1, 45}};
  const double h[3] = {2, 1, 1.25};
  for (const Row& row : TABLE)
    for (const auto& n : shapes)
      for (int trim = 0; trim < row.a + row.w - 1; ++trim) {
        const bool high = n[0] != 13;
        const Integers none = {1, high ? 8 : 4, {}, 1.0};
        Case c(n, high ? 2 : 0, h, none);
        fill(c, 3);
        const double error = step_plainly(c, row, trim, high ? ORDER16 : ORDER8);
        // Nine bits a limb on either side; a pair (a, b) of the first diagonal that is dropped, of
        // which there are three at most, is 9 (a + b) bits below the whole.
        const double dropped = trim > 0 ? 3 * std::exp2(-9 * (row.a + row.w - 1 - trim)) : 0.0;
        const double bound = std::exp2(-9 * row.a) + std::exp2(-9 * row.w) + dropped + 7e-7;
        // Much less would be products of more limbs.
        check(error < bound && error > 0.05 * bound,
              "plain " + std::to_string(row.a) + "x" + std::to_string(row.w) + " trim " +
                  std::to_string(trim) + ", " + std::to_string(n[1]) + " rows: " +
                  std::to_string(error / bound) + " of the bound");
      }
}

}  // namespace

int main() {
  flush_denormals();
  plain_loops_give_the_laplacian();
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
