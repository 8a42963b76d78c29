// Isotropic acoustics: what all kernels share.
// p+ = 2p - p- + dt^2 c^2 lap(p); weights by Fornberg (1988), given by the host, divided by h^2.
// Rounding is spelled out so that every kernel gives the same bits: one-step and fused kernels of a
// variant must agree when a run is cut at an odd step.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "temblor_cuda.h"

namespace temblor {

__device__ __forceinline__ float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float sub(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }

// One leapfrog step from the Laplacian; v = dt^2 c^2.
__device__ __forceinline__ float leap(float p, float prev, float v, float lap) {
  return fma_rn(v, lap, fma_rn(2.0f, p, -prev));
}

// acc + w (low + high): one pair of taps.
__device__ __forceinline__ float pair(float w, float low, float high, float acc) {
  return fma_rn(w, add(low, high), acc);
}

// p^(n+1) of the node at `at`; terms along z, y, x, nearest first.
template <int R>
__device__ __forceinline__ float stepped(const TemblorStep& s, const float* __restrict__ p,
                                         const float* prev, const float* __restrict__ v,
                                         int64_t at) {
  const float centre = p[at];
  float lap = mul(s.centre, centre);
#pragma unroll
  for (int r = 1; r <= R; ++r) lap = pair(s.second[2][r], p[at - r], p[at + r], lap);
#pragma unroll
  for (int r = 1; r <= R; ++r)
    lap = pair(s.second[1][r], p[at - r * s.stride_y], p[at + r * s.stride_y], lap);
#pragma unroll
  for (int r = 1; r <= R; ++r)
    lap = pair(s.second[0][r], p[at - r * s.stride_x], p[at + r * s.stride_x], lap);
  return leap(centre, prev[at], v[at], lap);
}

}  // namespace temblor
