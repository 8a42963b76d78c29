// Isotropic acoustics, one leapfrog step, any order 2 to 16, a thread per node.
// p+ = 2p - p- + dt^2 c^2 lap(p); central differences (Fornberg 1988).
// Layout (x, y, z), z fastest, halo of the radius along x and z, along y too unless ny = 1 (its
// weights are zero then and the neighbours read lie within the halo along x).
// No alignment, any shape; next may be prev. Block 32 x 8 (z, y), no shared memory.
// Any architecture. 16 B and 33 flop per point at order 8.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso.cuh"

namespace {

using namespace temblor;

template <int R>
__device__ __forceinline__ void step(const TemblorStep& s, const float* __restrict__ p,
                                     const float* prev, float* next,
                                     const float* __restrict__ v) {
  const int k = s.begin[2] + int(blockIdx.x) * 32 + int(threadIdx.x);
  const int j = s.begin[1] + int(blockIdx.y) * 8 + int(threadIdx.y);
  if (k >= s.end[2] || j >= s.end[1]) return;
  for (int i = s.begin[0] + int(blockIdx.z); i < s.end[0]; i += int(gridDim.z)) {
    const int64_t at = i * s.stride_x + j * s.stride_y + k;
    next[at] = stepped<R>(s, p, prev, v, at);
  }
}

}  // namespace

#define TEMBLOR_BASELINE(R)                                                                   \
  extern "C" __global__ void __launch_bounds__(256) acoustic_iso_baseline_r##R(               \
      const __grid_constant__ TemblorStep s, const float* p, const float* prev, float* next,  \
      const float* v) {                                                                       \
    step<R>(s, p, prev, next, v);                                                             \
  }
TEMBLOR_BASELINE(1)
TEMBLOR_BASELINE(2)
TEMBLOR_BASELINE(3)
TEMBLOR_BASELINE(4)
TEMBLOR_BASELINE(5)
TEMBLOR_BASELINE(6)
TEMBLOR_BASELINE(7)
TEMBLOR_BASELINE(8)
