// What the device moves and computes at most: the streams of STREAM (McCalpin 1995), the traffic of
// one leapfrog step in place (three reads and one write per point), and multiply-adds in registers.
// Measured beside the kernels that they bound. Names and arrays as in crates/backend/src/roofs.rs.
// Streams: a thread takes 16 B of each array; count a multiple of 4, addresses of 16 B. 8 (copy, scale),
// 12 (add, triad) and 16 B (step) and up to 2 flop per element. Block 256, no shared memory.
// Any architecture.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <stdint.h>

namespace {

__device__ __forceinline__ int64_t here() { return int64_t(blockIdx.x) * 256 + threadIdx.x; }

// x + s y, rounded once.
__device__ __forceinline__ float4 scaled(const float4& x, float s, const float4& y) {
  return make_float4(__fmaf_rn(s, y.x, x.x), __fmaf_rn(s, y.y, x.y), __fmaf_rn(s, y.z, x.z),
                     __fmaf_rn(s, y.w, x.w));
}

__device__ __forceinline__ float4 negative(const float4& x) {
  return make_float4(-x.x, -x.y, -x.z, -x.w);
}

// A multiple of 2^-22 in [0, 1) by the mixer of splitmix64 (Steele, Lea and Flood 2014).
__device__ __forceinline__ float noise(uint64_t number) {
  uint64_t x = number * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return float((x ^ (x >> 31)) >> 42) / 4194304.0f;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    stream_copy(int64_t count, const float4* __restrict__ a, float4*, float4* __restrict__ c) {
  const int64_t n = here();
  if (n < count / 4) c[n] = a[n];
}

extern "C" __global__ void __launch_bounds__(256)
    stream_scale(int64_t count, float4*, float4* __restrict__ b, const float4* __restrict__ c) {
  const int64_t n = here();
  if (n < count / 4) b[n] = scaled(make_float4(0.0f, 0.0f, 0.0f, 0.0f), 3.0f, c[n]);
}

extern "C" __global__ void __launch_bounds__(256)
    stream_add(int64_t count, const float4* __restrict__ a, const float4* __restrict__ b,
               float4* __restrict__ c) {
  const int64_t n = here();
  if (n < count / 4) c[n] = scaled(a[n], 1.0f, b[n]);
}

extern "C" __global__ void __launch_bounds__(256)
    stream_triad(int64_t count, float4* __restrict__ a, const float4* __restrict__ b,
                 const float4* __restrict__ c) {
  const int64_t n = here();
  if (n < count / 4) a[n] = scaled(b[n], 3.0f, c[n]);
}

extern "C" __global__ void __launch_bounds__(256)
    stream_step(int64_t count, float4* __restrict__ a, const float4* __restrict__ b,
                const float4* __restrict__ c) {
  const int64_t n = here();
  if (n < count / 4) a[n] = scaled(scaled(negative(a[n]), 2.0f, b[n]), 1.0f, c[n]);
}

// The first `noisy` elements of every chunk at random, the others `constant`; array number `which`.
extern "C" __global__ void __launch_bounds__(256)
    stream_fill(int64_t count, int64_t chunk, int64_t noisy, int32_t which, float constant,
                float* __restrict__ array) {
  const int64_t n = here();
  if (n < count) array[n] = n % chunk < noisy ? noise(which * count + n) : constant;
}

// Sums that tend to 1, sixteen per thread, so that four cycles of latency are hidden by one warp per
// scheduler; eight blocks on a multiprocessor. 32 flop per turn and thread.
extern "C" __global__ void __launch_bounds__(256, 8)
    multiply_adds(int32_t turns, float factor, float offset, float* __restrict__ sums) {
  float sum[16];
#pragma unroll
  for (int n = 0; n < 16; ++n) sum[n] = float(threadIdx.x + n) / 256.0f;
  // Eight turns at a time: the loop's own instructions are then below 3 %.
#pragma unroll 8
  for (int32_t turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int n = 0; n < 16; ++n) sum[n] = __fmaf_rn(sum[n], factor, offset);
  }
  float total = 0.0f;
#pragma unroll
  for (int n = 0; n < 16; ++n) total += sum[n];
  sums[here()] = total;
}
