// Isotropic acoustics, one leapfrog step, any order 2 to 16, 2.5-D: planes in shared memory.
// p+ = 2p - p- + dt^2 c^2 lap(p); central differences (Fornberg 1988); sums in the order of
// acoustic_iso_baseline.cu, bit for bit.
// Layout (x, y, z), z fastest, halo of the radius along all axes. No alignment, any box; next may be
// prev: a thread reads p- at its own nodes only.
// Tile 32 x 16 (z, y) marched along x, a thread per column: 2R + 1 nodes along x in registers, the
// plane in between with its rim in shared memory, by plain loads, two planes in turn so that one
// barrier per plane is enough: at order 8 two planes of 40 x 24, 7.5 KiB; at order 16, 48 x 32, 12 KiB.
// Any architecture. 16 B and 33 flop per point at order 8; the plane is read 1.9 times from L1 or L2.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso.cuh"

namespace {

using namespace temblor;

constexpr int TZ = 32, TY = 16, THREADS = TZ * TY;

template <int R>
__device__ __forceinline__ void step(const TemblorStep& s, const float* __restrict__ p,
                                     const float* prev, float* next,
                                     const float* __restrict__ v) {
  constexpr int WZ = TZ + 2 * R, WY = TY + 2 * R, PLANE = WZ * WY;
  __shared__ float plane[2][PLANE];
  const int thread = int(threadIdx.y) * TZ + int(threadIdx.x);
  const int k0 = s.begin[2] + int(blockIdx.x) * TZ, j0 = s.begin[1] + int(blockIdx.y) * TY;
  const int k = k0 + int(threadIdx.x), j = j0 + int(threadIdx.y);
  const bool active = k < s.end[2] && j < s.end[1];
  const int chunk = (s.end[0] - s.begin[0] + int(gridDim.z) - 1) / int(gridDim.z);
  const int i0 = s.begin[0] + int(blockIdx.z) * chunk, i1 = min(i0 + chunk, s.end[0]);
  const int64_t column = j * s.stride_y + k;
  const int own = (int(threadIdx.y) + R) * WZ + int(threadIdx.x) + R;
  float queue[2 * R + 1];
#pragma unroll
  for (int r = 0; r < 2 * R; ++r)
    queue[r + 1] = active && i0 < i1 ? p[(i0 - R + r) * s.stride_x + column] : 0.0f;
  for (int i = i0; i < i1; ++i) {
    float* tile = plane[i & 1];
    // The halo is as wide as the rim, so the box's rim lies in the field.
    const float* from = p + i * s.stride_x + (j0 - R) * s.stride_y + k0 - R;
#pragma unroll
    for (int first = 0; first < PLANE; first += THREADS) {
      const int n = first + thread, y = n / WZ, z = n - y * WZ;
      if (n < PLANE && j0 - R + y < s.end[1] + R && k0 - R + z < s.end[2] + R)
        tile[n] = from[y * s.stride_y + z];
    }
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
    if (active) queue[2 * R] = p[(i + R) * s.stride_x + column];
    __syncthreads();
    if (active) {
      const float centre = queue[R];
      float lap = mul(s.centre, centre);
#pragma unroll
      for (int r = 1; r <= R; ++r)
        lap = pair(s.second[2][r], tile[own - r], tile[own + r], lap);
#pragma unroll
      for (int r = 1; r <= R; ++r)
        lap = pair(s.second[1][r], tile[own - r * WZ], tile[own + r * WZ], lap);
#pragma unroll
      for (int r = 1; r <= R; ++r)
        lap = pair(s.second[0][r], queue[R - r], queue[R + r], lap);
      const int64_t at = i * s.stride_x + column;
      next[at] = leap(centre, prev[at], v[at], lap);
    }
    // The other plane is written next; this one two planes on, after the barrier in between.
  }
}

}  // namespace

#define TEMBLOR_SHARED(R)                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, 2) acoustic_iso_shared_r##R(          \
      const __grid_constant__ TemblorStep s, const float* p, const float* prev, float* next,  \
      const float* v) {                                                                       \
    step<R>(s, p, prev, next, v);                                                             \
  }
TEMBLOR_SHARED(1)
TEMBLOR_SHARED(2)
TEMBLOR_SHARED(3)
TEMBLOR_SHARED(4)
TEMBLOR_SHARED(5)
TEMBLOR_SHARED(6)
TEMBLOR_SHARED(7)
TEMBLOR_SHARED(8)
