// Four nodes along z at a time, rounded as acoustic_iso.cuh rounds one.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "acoustic_iso.cuh"

namespace temblor {

__device__ __forceinline__ float4 load4(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

__device__ __forceinline__ float4 zero4() { return make_float4(0.0f, 0.0f, 0.0f, 0.0f); }

// acc + w a
__device__ __forceinline__ float4 fma4(float w, const float4& a, const float4& acc) {
  return make_float4(fma_rn(w, a.x, acc.x), fma_rn(w, a.y, acc.y), fma_rn(w, a.z, acc.z),
                     fma_rn(w, a.w, acc.w));
}

__device__ __forceinline__ float4 leap4(const float4& p, const float4& prev, const float4& v,
                                        const float4& lap) {
  return make_float4(leap(p.x, prev.x, v.x, lap.x), leap(p.y, prev.y, v.y, lap.y),
                     leap(p.z, prev.z, v.z, lap.z), leap(p.w, prev.w, v.w, lap.w));
}

// The centre and the taps along z of four nodes; radius 4 at most, as its neighbours are four.
template <int R>
__device__ __forceinline__ float4 along_z(const TemblorStep& s, const float4& low,
                                          const float4& mid, const float4& high) {
  const float line[12] = {low.x, low.y, low.z,  low.w,  mid.x,  mid.y,
                          mid.z, mid.w, high.x, high.y, high.z, high.w};
  float sum[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    sum[e] = mul(s.centre, line[4 + e]);
#pragma unroll
    for (int r = 1; r <= R; ++r)
      sum[e] = pair(s.second[2][r], line[4 + e - r], line[4 + e + r], sum[e]);
  }
  return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

}  // namespace temblor
