// Wavefields in reduced storage: sources, receivers, transfers and health. points.cu says how tables
// and regions are laid out. A warp takes a storage tile where it writes; stride loops elsewhere.
// Any architecture. All sums run in a fixed order, so a run gives the same bits every time.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "stored.cuh"

namespace {

using namespace temblor;

template <class S>
__device__ __forceinline__ void record_samples(const TemblorStep& s, const TemblorStored& m,
                                       int32_t receivers, const int32_t* __restrict__ points,
                                       const float* __restrict__ weights,
                                       float* __restrict__ samples) {
  const int receiver = int(blockIdx.x) * 8 + int(threadIdx.x >> 5);
  if (receiver >= receivers) return;
  const int32_t* point = points + int64_t(receiver) * 9;
  const int ny = point[4], nz = point[5], total = point[3] * ny * nz;
  const int64_t base = point[0] * s.stride_x + point[1] * s.stride_y + point[2];
  const float *wx = weights + point[6], *wy = weights + point[7], *wz = weights + point[8];
  float sum = 0.0f;
  for (int n = int(threadIdx.x & 31); n < total; n += 32) {
    const int k = n % nz, j = n / nz % ny, i = n / (nz * ny);
    const float p =
        S::decode(m.p, m.p_exponents, base + i * s.stride_x + j * s.stride_y + k);
    sum = fma_rn(mul(mul(wx[i], wy[j]), wz[k]), p, sum);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) sum = add(sum, __shfl_down_sync(WARP, sum, offset));
  if ((threadIdx.x & 31) == 0) samples[receiver] = sum;
}

// A warp per storage tile with source nodes; nodes first[t] .. first[t + 1] - 1 lie in tile t.
template <class S>
__device__ __forceinline__ void inject_sources(const TemblorStored& m, int32_t tiles,
                                       const int32_t* __restrict__ tile,
                                       const int64_t* __restrict__ node,
                                       const int32_t* __restrict__ first,
                                       const int32_t* __restrict__ source,
                                       const float* __restrict__ weight,
                                       const float* __restrict__ amplitudes) {
  const int t = int(blockIdx.x) * 8 + int(threadIdx.x >> 5);
  if (t >= tiles) return;
  const int64_t at = (node[tile[t]] & ~int64_t(31)) + (threadIdx.x & 31);
  float more = 0.0f;
  for (int n = tile[t]; n < tile[t + 1]; ++n) {
    if (node[n] != at) continue;
    float sum = 0.0f;
    for (int term = first[n]; term < first[n + 1]; ++term)
      sum = fma_rn(weight[term], amplitudes[source[term]], sum);
    more = mul(speed_at(m, at), sum);
  }
  __syncwarp();
  if (m.increment) {
    // The increment was stored without the source: p+ is made again from p.
    const float d = add(S::decode(m.before, m.before_exponents, at), more);
    const float p = S::decode(m.p, m.p_exponents, at);
    __syncwarp();
    const float rounded = S::encode(m.before, m.before_exponents, at, d);
    S::encode(m.next, m.next_exponents, at, add(p, rounded));
  } else {
    const float next = add(S::decode(m.next, m.next_exponents, at), more);
    __syncwarp();
    S::encode(m.next, m.next_exponents, at, next);
  }
}

// Node n of a region, rows from g.first_row on.
__device__ __forceinline__ int64_t element(const TemblorRegion& g, int64_t row, int64_t k) {
  const int64_t i = g.start[0] + row / g.shape[1] * g.stride[0];
  const int64_t j = g.start[1] + row % g.shape[1] * g.stride[1];
  return i * g.stride_x + j * g.stride_y + g.start[2] + k * g.stride[2];
}

// Rows of a region into a compact array: p, or p- if `previous`.
template <class S>
__device__ __forceinline__ void pack_rows(const TemblorRegion& g, const TemblorStored& m,
                                     int32_t previous, float* __restrict__ compact) {
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < g.rows * g.shape[2];
       n += int64_t(gridDim.x) * blockDim.x) {
    const int64_t at = element(g, g.first_row + n / g.shape[2], n % g.shape[2]);
    float value = 0.0f;
    if (!previous || m.increment) value = S::decode(m.p, m.p_exponents, at);
    if (previous) {
      const float before = S::decode(m.before, m.before_exponents, at);
      value = m.increment ? sub(value, before) : before;
    }
    compact[n] = value;
  }
}

// A compact array into rows of a region, storage tile by storage tile; nodes on a free surface stay
// zero. An upload of p keeps p- where an increment is stored.
template <class S>
__device__ __forceinline__ void unpack_rows(const TemblorRegion& g, const TemblorStored& m, void* p,
                                       void* p_exponents, int32_t previous,
                                       const float* __restrict__ compact) {
  const int lane = int(threadIdx.x & 31);
  const int first = g.start[2] / STORED_TILE;
  const int last = (g.start[2] + (g.shape[2] - 1) * g.stride[2]) / STORED_TILE;
  const int64_t tiles = last - first + 1;
  const int64_t warps = int64_t(gridDim.x) * (blockDim.x >> 5);
  for (int64_t n = int64_t(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       n < g.rows * tiles; n += warps) {
    const int64_t row = g.first_row + n / tiles;
    const int64_t i = g.start[0] + row / g.shape[1] * g.stride[0];
    const int64_t j = g.start[1] + row % g.shape[1] * g.stride[1];
    const int64_t k = (first + n % tiles) * STORED_TILE + lane;
    const int64_t at = i * g.stride_x + j * g.stride_y + k;
    const int64_t past = k - g.start[2];
    const bool given =
        past >= 0 && past % g.stride[2] == 0 && past / g.stride[2] < g.shape[2];
    const bool zero = i == g.zero[0][0] || i == g.zero[0][1] || j == g.zero[1][0] ||
                      j == g.zero[1][1] || k == g.zero[2][0] || k == g.zero[2][1];
    float value = 0.0f;
    if (given && !zero) value = compact[(n / tiles) * g.shape[2] + past / g.stride[2]];
    const float now = S::decode(p, p_exponents, at);
    const float before = S::decode(m.before, m.before_exponents, at);
    __syncwarp();
    if (previous) {
      const float other = m.increment ? sub(now, value) : value;
      S::encode(m.before, m.before_exponents, at, given ? other : before);
    } else {
      const float rounded = S::encode(p, p_exponents, at, given ? value : now);
      if (m.increment) {
        const float d = given ? sub(rounded, sub(now, before)) : before;
        S::encode(m.before, m.before_exponents, at, d);
      }
    }
    __syncwarp();
  }
}

// Largest |p| (its bits: NaN is above infinity) and the first node that is not finite.
template <class S>
__device__ __forceinline__ void survey(const TemblorStep& s, const TemblorStored& m,
                                       uint32_t* __restrict__ largest,
                                       unsigned long long* __restrict__ first_bad) {
  const int64_t points = int64_t(s.nodes[0]) * s.nodes[1] * s.nodes[2];
  uint32_t most = 0;
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < points;
       n += int64_t(gridDim.x) * blockDim.x) {
    const int64_t k = n % s.nodes[2], row = n / s.nodes[2];
    const int64_t j = row % s.nodes[1], i = row / s.nodes[1];
    const float p = S::decode(m.p, m.p_exponents, i * s.stride_x + j * s.stride_y + k);
    const uint32_t bits = __float_as_uint(p) & ABSOLUTE;
    if (bits >= INFINITE) atomicMin(first_bad, (unsigned long long)n);
    most = max(most, bits);
  }
  __syncwarp();
  most = largest_in_warp(most);
  if ((threadIdx.x & 31) == 0) atomicMax(largest, most);
}

}  // namespace

// Codes of the wave speed, given as floats.
extern "C" __global__ void __launch_bounds__(256)
    stored_speed(const __grid_constant__ TemblorRegion g, uint16_t* __restrict__ codes,
                 const float* __restrict__ compact) {
  for (int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; n < g.rows * g.shape[2];
       n += int64_t(gridDim.x) * blockDim.x)
    codes[element(g, g.first_row + n / g.shape[2], n % g.shape[2])] =
        uint16_t(__float2int_rn(compact[n]));
}

#define TEMBLOR_STORED(NAME, S)                                                                  \
  extern "C" __global__ void __launch_bounds__(256) stored_record_##NAME(                        \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorStored m,            \
      int32_t receivers, const int32_t* points, const float* weights, float* samples) {          \
    record_samples<S>(s, m, receivers, points, weights, samples);                                        \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) stored_inject_##NAME(                        \
      const __grid_constant__ TemblorStored m, int32_t tiles, const int32_t* tile,               \
      const int64_t* node, const int32_t* first, const int32_t* source, const float* weight,     \
      const float* amplitudes) {                                                                 \
    inject_sources<S>(m, tiles, tile, node, first, source, weight, amplitudes);                          \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) stored_pack_##NAME(                          \
      const __grid_constant__ TemblorRegion g, const __grid_constant__ TemblorStored m,          \
      int32_t previous, float* compact) {                                                        \
    pack_rows<S>(g, m, previous, compact);                                                            \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) stored_unpack_##NAME(                        \
      const __grid_constant__ TemblorRegion g, const __grid_constant__ TemblorStored m, void* p, \
      void* p_exponents, int32_t previous, const float* compact) {                               \
    unpack_rows<S>(g, m, p, p_exponents, previous, compact);                                          \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) stored_health_##NAME(                        \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorStored m,            \
      uint32_t* largest, unsigned long long* first_bad) {                                        \
    survey<S>(s, m, largest, first_bad);                                                         \
  }
TEMBLOR_STORED(f32, StoredF32)
TEMBLOR_STORED(int16, StoredInt16)
TEMBLOR_STORED(bf16, StoredBf16)
TEMBLOR_STORED(bf16x2, StoredBf16Pair)
TEMBLOR_STORED(fp16, StoredFp16)
TEMBLOR_STORED(fp16_scaled, StoredFp16Scaled)
