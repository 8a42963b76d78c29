// Sources, receivers, images across reflecting faces, transfers and health: everything of a step
// that is not the stencil. Layout as in acoustic_iso_baseline.cu. Any architecture.
// All sums run in a fixed order, so a run gives the same bits every time.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso.cuh"

using namespace temblor;

// A warp per receiver: the weighted sum of p over a box of nodes with separable weights.
// points: per receiver first node (x, y, z), counts, offsets into weights.
extern "C" __global__ void __launch_bounds__(256)
    record(int32_t receivers, const int32_t* __restrict__ points,
           const float* __restrict__ weights, const float* __restrict__ p, int64_t stride_x,
           int64_t stride_y, float* __restrict__ samples) {
  const int receiver = int(blockIdx.x) * 8 + int(threadIdx.x >> 5);
  if (receiver >= receivers) return;
  const int32_t* point = points + int64_t(receiver) * 9;
  const int ny = point[4], nz = point[5], total = point[3] * ny * nz;
  const int64_t base = point[0] * stride_x + point[1] * stride_y + point[2];
  const float *wx = weights + point[6], *wy = weights + point[7], *wz = weights + point[8];
  float sum = 0.0f;
  for (int n = int(threadIdx.x & 31); n < total; n += 32) {
    const int k = n % nz, j = n / nz % ny, i = n / (nz * ny);
    sum = fma_rn(mul(mul(wx[i], wy[j]), wz[k]), p[base + i * stride_x + j * stride_y + k], sum);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1)
    sum = add(sum, __shfl_down_sync(0xffffffffu, sum, offset));
  if ((threadIdx.x & 31) == 0) samples[receiver] = sum;
}

// A thread per source node: p+ += dt^2 c^2 sum_s w_s s[n]; first: start of each node's terms.
extern "C" __global__ void __launch_bounds__(256)
    inject(int32_t nodes, const int64_t* __restrict__ node, const int32_t* __restrict__ first,
           const int32_t* __restrict__ source, const float* __restrict__ weight,
           const float* __restrict__ amplitudes, const float* __restrict__ v,
           float* __restrict__ next) {
  const int n = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (n >= nodes) return;
  float sum = 0.0f;
  for (int t = first[n]; t < first[n + 1]; ++t)
    sum = fma_rn(weight[t], amplitudes[source[t]], sum);
  const int64_t at = node[n];
  next[at] = fma_rn(v[at], sum, next[at]);
}

// Fills the halo along one axis; z fastest among the two other axes.
extern "C" __global__ void __launch_bounds__(256)
    images(const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorImages m,
           float* __restrict__ p) {
  const int slow = m.axis == 0 ? 1 : 0, fast = m.axis == 2 ? 1 : 2;
  const int64_t stride[3] = {s.stride_x, s.stride_y, 1};
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n >= int64_t(s.nodes[slow]) * s.nodes[fast]) return;
  const int64_t base = n / s.nodes[fast] * stride[slow] + n % s.nodes[fast] * stride[fast];
  for (int h = 0; h < m.count; ++h)
    p[base + m.target[h] * stride[m.axis]] =
        mul(m.sign[h], p[base + m.source[h] * stride[m.axis]]);
}

// Rows of a region into a compact array.
extern "C" __global__ void __launch_bounds__(256)
    pack(const __grid_constant__ TemblorRegion g, const float* __restrict__ field,
         float* __restrict__ compact) {
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < g.rows * g.shape[2];
       n += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = g.first_row + n / g.shape[2];
    const int64_t i = g.start[0] + row / g.shape[1] * g.stride[0];
    const int64_t j = g.start[1] + row % g.shape[1] * g.stride[1];
    const int64_t k = g.start[2] + n % g.shape[2] * g.stride[2];
    compact[n] = field[i * g.stride_x + j * g.stride_y + k];
  }
}

// A compact array into rows of a region; nodes on a free surface stay zero.
extern "C" __global__ void __launch_bounds__(256)
    unpack(const __grid_constant__ TemblorRegion g, float* __restrict__ field,
           const float* __restrict__ compact) {
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < g.rows * g.shape[2];
       n += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = g.first_row + n / g.shape[2];
    const int64_t i = g.start[0] + row / g.shape[1] * g.stride[0];
    const int64_t j = g.start[1] + row % g.shape[1] * g.stride[1];
    const int64_t k = g.start[2] + n % g.shape[2] * g.stride[2];
    const bool zero = i == g.zero[0][0] || i == g.zero[0][1] || j == g.zero[1][0] ||
                      j == g.zero[1][1] || k == g.zero[2][0] || k == g.zero[2][1];
    field[i * g.stride_x + j * g.stride_y + k] = zero ? 0.0f : compact[n];
  }
}

__device__ __forceinline__ uint32_t warp_max(uint32_t most) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1)
    most = max(most, __shfl_xor_sync(0xffffffffu, most, offset));
  return most;
}

// Largest |p| (its bits: NaN is above infinity) and the first node that is not finite.
extern "C" __global__ void __launch_bounds__(256)
    health(const __grid_constant__ TemblorStep s, const float* __restrict__ p,
           uint32_t* __restrict__ largest, unsigned long long* __restrict__ first_bad) {
  const int64_t points = int64_t(s.nodes[0]) * s.nodes[1] * s.nodes[2];
  uint32_t most = 0;
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < points;
       n += int64_t(gridDim.x) * blockDim.x) {
    const int64_t k = n % s.nodes[2], row = n / s.nodes[2];
    const int64_t j = row % s.nodes[1], i = row / s.nodes[1];
    const uint32_t bits =
        __float_as_uint(p[i * s.stride_x + j * s.stride_y + k]) & 0x7fffffffu;
    if (bits >= 0x7f800000u) atomicMin(first_bad, (unsigned long long)n);
    most = max(most, bits);
  }
  most = warp_max(most);
  if ((threadIdx.x & 31) == 0) atomicMax(largest, most);
}

// Largest absolute value of an array, as bits.
extern "C" __global__ void __launch_bounds__(256)
    largest_of(int64_t count, const float* __restrict__ values, uint32_t* __restrict__ largest) {
  uint32_t most = 0;
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < count;
       n += int64_t(gridDim.x) * blockDim.x)
    most = max(most, __float_as_uint(values[n]) & 0x7fffffffu);
  most = warp_max(most);
  if ((threadIdx.x & 31) == 0) atomicMax(largest, most);
}
