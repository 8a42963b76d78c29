// Isotropic acoustics, one leapfrog step, radius 1 to 8, Laplacian by any number of digits with
// any of their products, in 2-D and 3-D: what the tuned kernels are not built for.
// p+ = 2p - p- + dt^2 c^2 L p; scheme, cells, bricks and exponents as ozaki.cuh says, sums in the
// same order: where acoustic_iso_ozaki_dp4a.cu or _mma.cu has a kernel the bits are the same. Of a
// grid of one row, a cell is 64 x 1 x 64 nodes, a brick 4 x 1 x 16, and there are no taps along y.
// Cells may take fewer digits (adaptive): the fewest w whose error, 2^(E - 8w + 1) / sqrt(12) in
// the root mean square, is that many bits below the root mean square of the cell's own values; all
// if none reaches that.
// Layout as in acoustic_iso_baseline.cu, halo of the radius. No alignment, any box. next may be
// prev: a thread reads p- at its own nodes only.
// A warp takes a brick, a block of 256 threads 2 x 4 of them (y, z), which lie in one cell. Static
// shared memory alone. Neighbours are cut anew for every node: right, not fast.
// Any architecture. 16 B per point at best, A W products per tap.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ozaki.cuh"

namespace {

using namespace temblor;
using namespace temblor::ozaki;

constexpr int THREADS = 256, WARPS = THREADS / 32;
// Bricks of a block along (y, z).
constexpr int WY = 2, WZ = 4;
static_assert(WY * WZ == WARPS && CY % WY == 0 && CZ % WZ == 0, "blocks divide cells");

// Diagonals of three by three digits.
constexpr int DIAGONALS = 5;

// How values of a cell become digits.
struct Cut {
  Scale scale;
  // What makes bytes of an integer signed: 0x80 for each.
  uint32_t bias;
  // Diagonals that are dropped, least first.
  int trim;
};

__device__ __forceinline__ Scale scale_by(int digits, uint32_t peak) {
  return digits == 1   ? scale_of<Digits<1, 1, 1>>(peak)
         : digits == 2 ? scale_of<Digits<1, 2, 1>>(peak)
                       : scale_of<Digits<1, 3, 1>>(peak);
}

struct Nodes {
  int begin, end;
};

// Nodes of the cell that node `at` lies in.
template <int SIZE, int BRICKS>
__device__ __forceinline__ Nodes cell_of(const TemblorStep& s, int axis, int at) {
  const int first = s.begin[axis] + (at - s.begin[axis]) / (SIZE * BRICKS) * (SIZE * BRICKS);
  return {first, min(first + SIZE * BRICKS, s.end[axis])};
}

// Sum over a block, in an order that is the same for all blocks; `room`: a word per warp.
__device__ __forceinline__ float block_sum(float value, float* room) {
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) value = add(value, __shfl_xor_sync(0xffffffffu, value, by));
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < WARPS; ++w) sum = add(sum, room[w]);
  return sum;
}

// The digits that the block's cell takes.
__device__ __forceinline__ int digits_taken(const TemblorStep& s, const TemblorOzakiPlain& d,
                                            const Place& at, const float* __restrict__ p,
                                            uint32_t peak, float* room) {
  const Nodes x = cell_of<BX, CX>(s, 0, at.i0), y = cell_of<BY, CY>(s, 1, at.j0);
  const Nodes z = cell_of<BZ, CZ>(s, 2, at.k0);
  const int ny = y.end - y.begin, nz = z.end - z.begin, all = (x.end - x.begin) * ny * nz;
  // In units of the last of all digits: no square overflows.
  const float in = scale_by(d.digits, peak).in;
  float squares = 0.0f;
#pragma unroll 1
  for (int n = int(threadIdx.x); n < all; n += THREADS) {
    const int i = x.begin + n / (ny * nz), j = y.begin + n / nz % ny, k = z.begin + n % nz;
    const float value = mul(p[i * s.stride_x + j * s.stride_y + k], in);
    squares = fma_rn(value, value, squares);
  }
  squares = block_sum(squares, room);
  // Squared and times the number of nodes, error and what it may be.
  const float wanted = mul(mul(12.0f, squares), power(-2 * d.adaptive));
  for (int w = 1; w < d.digits; ++w) {
    const float unit = mul(scale_by(w, peak).out, in);
    if (mul(mul(unit, unit), float(all)) <= wanted) return w;
  }
  return d.digits;
}

__device__ __forceinline__ Cut cut_of(const TemblorOzakiPlain& d, int digits, uint32_t peak) {
  Cut cut;
  cut.scale = scale_by(digits, peak);
  cut.bias = 0x808080u >> 8 * (3 - digits);
  // A value of fewer digits lacks the least diagonals anyway.
  cut.trim = max(d.trim - (d.digits - digits), 0);
  return cut;
}

__device__ __forceinline__ uint32_t bytes_of(const Cut& cut, float x) {
  return (uint32_t(__float2int_rn(mul(x, cut.scale.in))) + cut.bias) ^ cut.bias;
}

// Byte b as a signed number, 0 the least.
__device__ __forceinline__ int byte_of(uint32_t bytes, int b) {
  return int(int8_t(bytes >> 8 * b & 0xffu));
}

// Sums of products along an axis at the node `p`, by diagonal, the least first.
__device__ __forceinline__ void add_axis(const TemblorOzakiPlain& d, int radius, const Cut& cut,
                                         const float* __restrict__ p, int64_t stride,
                                         int (&sum)[DIAGONALS]) {
#pragma unroll 1
  for (int r = 0; r <= radius; ++r) {
    // Both neighbours have the same weight.
    const uint32_t low = bytes_of(cut, p[-r * stride]);
    const uint32_t high = r > 0 ? bytes_of(cut, p[r * stride]) : 0u;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      const int digit = byte_of(low, b) + byte_of(high, b);
#pragma unroll
      for (int a = 0; a < 3; ++a) sum[a + b] += d.taps[a][r] * digit;
    }
  }
}

// acc + the sums of the kept diagonals, from the least on; neighbours are joined as integers:
// |sum| <= 3 pairs x 34 taps x 2^14.
__device__ __forceinline__ float add_up(const int (&sum)[DIAGONALS], int trim, float unit,
                                        float acc) {
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    if (trim % 2 != odd) continue;
#pragma unroll
    for (int l = odd; l < DIAGONALS; l += 2) {
      const int both = l + 1 < DIAGONALS ? sum[l + 1] * 256 + sum[l] : sum[l];
      if (l >= trim) acc = fma_rn(__int2float_rn(both), mul(unit, power(8 * l)), acc);
    }
  }
  return acc;
}

// L p at a node.
__device__ __forceinline__ float laplacian(const TemblorStep& s, const TemblorOzaki& o,
                                           const TemblorOzakiPlain& d, const Cut& cut,
                                           const float* __restrict__ p) {
  int sum[DIAGONALS] = {};
  float part = 0.0f;
  add_axis(d, o.radius, cut, p, 1, sum);
  if (o.joint == 0) {
    part = add_up(sum, cut.trim, d.unit[2], part);
#pragma unroll
    for (int l = 0; l < DIAGONALS; ++l) sum[l] = 0;
  }
  if (s.nodes[1] > 1) add_axis(d, o.radius, cut, p, s.stride_y, sum);
  part = add_up(sum, cut.trim, d.unit[1], part);
#pragma unroll
  for (int l = 0; l < DIAGONALS; ++l) sum[l] = 0;
  add_axis(d, o.radius, cut, p, s.stride_x, sum);
  return mul(add_up(sum, cut.trim, d.unit[0], part), cut.scale.out);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
    acoustic_iso_ozaki_plain(const __grid_constant__ TemblorStep s,
                             const __grid_constant__ TemblorOzaki o,
                             const __grid_constant__ TemblorOzakiPlain d, const float* p,
                             float* next, const float* v, const uint32_t* peaks,
                             uint32_t* peaks_next) {
  __shared__ uint32_t most_of_warp[WARPS];
  __shared__ float sum_of_warp[WARPS];
  const unsigned across_z = unsigned(o.bricks[2] - 2 + WZ - 1) / WZ;
  const unsigned across_y = unsigned(o.bricks[1] - 2 + WY - 1) / WY;
  const int i = s.begin[0] + int(blockIdx.x / (across_y * across_z)) * BX;
  const Place at = {i, min(i + BX, s.end[0]),
                    s.begin[1] + int(blockIdx.x / across_z % across_y) * WY * BY,
                    s.begin[2] + int(blockIdx.x % across_z) * WZ * BZ};
  const uint32_t peak = largest_around<THREADS>(s, o, at, peaks, most_of_warp);
  int digits = d.digits;
  // What is not finite makes the scale NaN, whatever the digits.
  if (d.adaptive > 0 && peak < 0x7f800000u)
    digits = digits_taken(s, d, at, p, peak, sum_of_warp);
  const Cut cut = cut_of(d, digits, peak);
  const int warp = int(threadIdx.x / 32);
  const int j = at.j0 + warp / WZ * BY, k = at.k0 + warp % WZ * BZ;
  const int ny = max(min(BY, s.end[1] - j), 0), nz = max(min(BZ, s.end[2] - k), 0);
  uint32_t most = 0;
#pragma unroll 1
  for (int n = int(threadIdx.x % 32); n < (at.i1 - i) * ny * nz; n += 32) {
    const int64_t node = (i + n / (ny * nz)) * s.stride_x + (j + n / nz % ny) * s.stride_y +
                         (k + n % nz);
    const float value = leap(p[node], next[node], v[node], laplacian(s, o, d, cut, p + node));
    most = max(most, size_bits(value));
    next[node] = value;
  }
  leave_peak(s, o, i, j, k, most, peaks_next);
}
