// The one-step roof: three reads and one write per point, in place, nothing else; what a step that
// reads p, p- and v once and writes p+ once cannot beat. Measured beside the kernels it bounds.
// 16 B and 2 flop per point. Any architecture; count a multiple of 4, addresses of 16 B.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <stdint.h>

extern "C" __global__ void __launch_bounds__(256)
    roof(int64_t count, const float4* __restrict__ p, float4* __restrict__ prev,
         const float4* __restrict__ v) {
  const int64_t n = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (n >= count / 4) return;
  const float4 a = p[n], b = prev[n], c = v[n];
  prev[n] = make_float4(a.x * c.x - b.x, a.y * c.y - b.y, a.z * c.z - b.z, a.w * c.w - b.w);
}
