// Isotropic acoustics, one leapfrog step, radius 1 to 8, Laplacian by any number of BF16 limbs with
// any of their products, in 2-D and 3-D, a thread per node: what acoustic_iso_limbs_mma.cu is not
// built for.
// p+ = 2p - p- + dt^2 c^2 L p. Limbs as there; products are exact, sums FP32, one per diagonal
// a + b, over the axes z, y, x, and are added from the least significant on. Fragments add up in
// another order: the bits are not those of the tensor cores.
// Layout as in acoustic_iso_baseline.cu. No alignment, any box. next may be prev.
// Block 32 x 8 (z, y), no shared memory. Any architecture. 16 B per point at best.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "limbs.cuh"

namespace {

using namespace temblor;

constexpr int LIMBS = 3, SUMS = 2 * LIMBS - 1, TAPS = 9;

// Adds the products along an axis at the node `p`, by diagonal.
__device__ __forceinline__ void add_axis(const TemblorLimbsPlain& o, int axis,
                                         const float* __restrict__ p, int64_t stride,
                                         float (&sum)[SUMS]) {
#pragma unroll 1
  for (int r = -o.radius; r <= o.radius; ++r) {
    uint32_t limb[LIMBS];
    limbs_of<LIMBS>(p[r * stride], limb);
#pragma unroll
    for (int b = 0; b < LIMBS; ++b) {
      if (b >= o.digits) continue;
#pragma unroll
      for (int a = 0; a < LIMBS; ++a) {
        // Weights have no limb where there is none: zero.
        const float tap = value_of(uint32_t(o.taps[axis][a * TAPS + (r < 0 ? -r : r)]));
        if (a + b < o.kept) sum[a + b] = fma_rn(tap, value_of(limb[b]), sum[a + b]);
      }
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    acoustic_iso_limbs_plain(const __grid_constant__ TemblorStep s,
                             const __grid_constant__ TemblorLimbsPlain o, const float* p,
                             float* next, const float* v) {
  const int k = s.begin[2] + int(blockIdx.x) * 32 + int(threadIdx.x);
  const int j = s.begin[1] + int(blockIdx.y) * 8 + int(threadIdx.y);
  if (k >= s.end[2] || j >= s.end[1]) return;
  for (int i = s.begin[0] + int(blockIdx.z); i < s.end[0]; i += int(gridDim.z)) {
    const int64_t at = i * s.stride_x + j * s.stride_y + k;
    float sum[SUMS] = {};
    add_axis(o, 2, p + at, 1, sum);
    if (s.nodes[1] > 1) add_axis(o, 1, p + at, s.stride_y, sum);
    add_axis(o, 0, p + at, s.stride_x, sum);
    float lap = sum[SUMS - 1];
#pragma unroll
    for (int d = SUMS - 2; d >= 0; --d) lap = add(lap, sum[d]);
    next[at] = leap(p[at], next[at], v[at], lap);
  }
}
