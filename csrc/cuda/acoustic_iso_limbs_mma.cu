// Isotropic acoustics, one leapfrog step, radius 1 to 4, Laplacian by BF16 limbs on tensor cores:
// an oracle for engines that multiply BF16, not a fast kernel.
// p+ = 2p - p- + dt^2 c^2 L p. A value is the sum of W limbs, each the nearest BF16 of what the
// ones before leave, a weight over h^2 of A limbs; products of a pair (a, b) are exact, sums are
// FP32, one per diagonal a + b, and are added from the least significant on. No exponents are
// shared.
// Layout (x, y, z), z fastest, pitch a multiple of 128 B, halo of the radius; the box's first node
// lies on 128 B. Any box. next may be prev: a thread reads p- at its own nodes only.
// A warp takes 16 (z) x 8 (y) nodes of a plane: along z operator times data, along y data times
// operator, along x by multiply-adds on a thread's own nodes, as in ozaki_mma.cuh. No shared
// memory.
// sm_80 and later. 16 B per point at best; 27 A W products.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "limbs.cuh"
#include "machine.cuh"

namespace {

using namespace temblor;

constexpr int TY = 32, TZ = 32, REACH = 4;

// Limbs of two neighbours in a word each.
template <int W>
__device__ __forceinline__ void pairs_of(float low, float high, uint32_t (&word)[W]) {
  uint32_t first[W], second[W];
  limbs_of<W>(low, first);
  limbs_of<W>(high, second);
#pragma unroll
  for (int b = 0; b < W; ++b) word[b] = first[b] | second[b] << 16;
}

template <int A, int W>
__device__ __forceinline__ void step(const TemblorStep& s, const TemblorLimbs& o,
                                     const float* __restrict__ p, float* next,
                                     const float* __restrict__ v) {
  constexpr int D = A + W - 1;
  const int warp = int(threadIdx.x / 32), g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
  const int z0 = s.begin[2] + int(blockIdx.x) % o.tiles_z * TZ + warp % (TZ / 16) * 16;
  const int y0 = s.begin[1] + int(blockIdx.x) / o.tiles_z * TY + warp / (TZ / 16) * 8;
  // A whole warp leaves.
  if (z0 >= s.end[2] || y0 >= s.end[1]) return;
  auto tap = [&](int axis, int a, int distance) {
    const int r = distance < 0 ? -distance : distance;
    return r <= REACH ? uint32_t(o.taps[axis][a * (REACH + 1) + r]) : 0u;
  };
  auto taps = [&](int axis, int a, int distance) {
    return tap(axis, a, distance) | tap(axis, a, distance + 1) << 16;
  };
  // Beyond the radius there may be no memory, and no tap: any value will do.
  auto row = [&](int j) {
    return max(min(j, s.end[1] + o.radius - 1), s.begin[1] - o.radius) * s.stride_y;
  };
  const int high = s.begin[2] + (s.end[2] - s.begin[2] + o.radius - 1) / 2 * 2;
  for (int i = s.begin[0] + int(blockIdx.y); i < s.end[0]; i += int(gridDim.y)) {
    const float* plane = p + i * s.stride_x;
    float sum[D][4];
#pragma unroll
    for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = sum[d][2] = sum[d][3] = 0.0f;
    // Along z, 16 of 32 neighbours at a time: rows of the product are z, columns y.
    for (int half = 0; half < 2; ++half) {
      const int k = z0 - REACH + 16 * half + 2 * t;
      uint32_t word[2][W];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const float* from = plane + row(y0 + g) + min(k + 8 * n, high);
        pairs_of<W>(from[0], from[1], word[n]);
      }
#pragma unroll
      for (int a = 0; a < A; ++a) {
        const int apart = 16 * half + 2 * t - REACH - g;
        const uint32_t weights[4] = {taps(2, a, apart), taps(2, a, apart - 8),
                                       taps(2, a, apart + 8), taps(2, a, apart)};
#pragma unroll
        for (int b = 0; b < W; ++b) {
          const uint32_t data[2] = {word[0][b], word[1][b]};
          if (a + b < o.kept) mma_bf16(sum[a + b], weights, data);
        }
      }
    }
    // Along y: 16 neighbours.
    uint32_t word[4][W];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const float* from = plane + min(z0 + g + n % 2 * 8, high);
      const int j = y0 - REACH + 2 * t + n / 2 * 8;
      pairs_of<W>(from[row(j)], from[row(j + 1)], word[n]);
    }
#pragma unroll
    for (int a = 0; a < A; ++a) {
      const int apart = 2 * t - REACH - g;
      const uint32_t weights[2] = {taps(1, a, apart), taps(1, a, apart + 8)};
#pragma unroll
      for (int b = 0; b < W; ++b) {
        const uint32_t data[4] = {word[0][b], word[1][b], word[2][b], word[3][b]};
        if (a + b < o.kept) mma_bf16(sum[a + b], data, weights);
      }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int k = z0 + g + n / 2 * 8, j = y0 + 2 * t + n % 2;
      const float* from = p + row(j) + min(k, high);
      for (int r = -o.radius; r <= o.radius; ++r) {
        uint32_t limb[W];
        limbs_of<W>(from[(i + r) * s.stride_x], limb);
#pragma unroll
        for (int a = 0; a < A; ++a)
#pragma unroll
          for (int b = 0; b < W; ++b)
            if (a + b < o.kept)
              sum[a + b][n] =
                  fma_rn(value_of(tap(0, a, r)), value_of(limb[b]), sum[a + b][n]);
      }
      if (k < s.end[2] && j < s.end[1]) {
        float lap = sum[D - 1][n];
#pragma unroll
        for (int d = D - 2; d >= 0; --d) lap = add(lap, sum[d][n]);
        const int64_t node = i * s.stride_x + j * s.stride_y + k;
        next[node] = leap(p[node], next[node], v[node], lap);
      }
    }
  }
}

}  // namespace

#define TEMBLOR_LIMBS(A, W)                                                                       \
  extern "C" __global__ void __launch_bounds__(TY* TZ / 4) acoustic_iso_limbs_##A##x##W(          \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorLimbs o,              \
      const float* p, float* next, const float* v) {                                              \
    step<A, W>(s, o, p, next, v);                                                                 \
  }
TEMBLOR_LIMBS(1, 1)
TEMBLOR_LIMBS(1, 2)
TEMBLOR_LIMBS(1, 3)
TEMBLOR_LIMBS(2, 1)
TEMBLOR_LIMBS(2, 2)
TEMBLOR_LIMBS(2, 3)
TEMBLOR_LIMBS(3, 1)
TEMBLOR_LIMBS(3, 2)
TEMBLOR_LIMBS(3, 3)
