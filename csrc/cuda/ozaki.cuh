// Laplacians by products of digits (Ozaki et al. 2012, Numer. Algorithms 59): what the engines
// share.
// p+ = 2p - p- + dt^2 c^2 L p. A value of a block becomes the integer q = rn(x 2^(8W - 1 - E)) and
// q its W signed bytes, the operator A of them; products are summed in 32-bit integers per diagonal
// a + b and put together in FP32. Engines differ in how they lay out the digits (ozaki_words.cuh,
// ozaki_mma.cuh), not in what they sum: their bits are the same.
//
// E is that of a cell of 64 planes, 32 rows and 64 columns, in which the block lies: a block
// marches 16, 32 or 64 planes of a tile that divides a cell, so tiles do not change bits. Uniform
// data lose nothing by a cell of that size; a front has the accuracy of its cell's peak.
// Why no value overflows: values with a tap on a node that the block gives out lie in the cell, or
// within the radius of it along one axis. `peaks` holds the largest |p| (its bits) of every brick
// of 4 x 8 x 16 nodes of the box, and of the nodes within the radius beyond each face of the box.
// Cells are whole bricks, and `largest_around` reads all bricks from the cell's to those that the
// taps of its outermost nodes lie in, across thin ones at the end of the box. Values
// without a tap may wrap: they are multiplied by zero or given out nowhere. Largest values are
// exact, not bounds: the kernel that writes p+ writes its bricks', acoustic_iso_peaks those of what
// others write. A NaN or an infinity makes the scale NaN and so all of the block's p+.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "four.cuh"
#include "machine.cuh"

namespace temblor {
namespace ozaki {

// Bricks: nodes along (x, y, z).
constexpr int BX = 4, BY = 8, BZ = 16;
// Cells, which share an exponent: bricks along (x, y, z).
constexpr int CX = 16, CY = 4, CZ = 4;
// Halo of a tile: nodes come in fours.
constexpr int H = 4;

// Digits of the operator and of the wavefield; diagonals that are kept.
template <int OPERATOR, int WAVEFIELD, int DIAGONALS>
struct Digits {
  static constexpr int A = OPERATOR, W = WAVEFIELD, D = DIAGONALS;
  static_assert(D >= 1 && D <= A + W - 1, "diagonals");
  // 127 (256^W - 1) / 255: what W signed bytes hold both ways.
  static constexpr int MOST = W == 1 ? 127 : W == 2 ? 32639 : 8355711;
};

// 2^k for -126 <= k <= 127.
__device__ __forceinline__ float power(int k) { return __uint_as_float(uint32_t(k + 127) << 23); }

// How a block turns values into integers, and sums back.
struct Scale {
  float in, out;
};

// From the bits of the largest |x|: E least with |rn(x 2^(8W - 1 - E))| <= MOST, but not below 8W -
// 127, so that both factors are normal: values below 2^(-127) are zero, as are blocks of nothing
// else.
template <class N>
__device__ __forceinline__ Scale scale_of(uint32_t peak) {
  constexpr int BITS = 8 * N::W - 1;
  if (peak >= 0x7f800000u) return {0.0f, __uint_as_float(0x7fffffffu)};
  // 2^(e - 1) <= |x| < 2^e.
  int e = max(int(peak >> 23) - 126, BITS - 126);
  if (__float2int_rn(mul(__uint_as_float(peak), power(BITS - e))) > N::MOST) ++e;
  return {power(BITS - e), power(e - BITS)};
}

// The digits of a value, most significant in the highest of W bytes.
template <int W>
__device__ __forceinline__ uint32_t digits_of(float x, float in) {
  constexpr uint32_t BIAS = W == 1 ? 0x80u : W == 2 ? 0x8080u : 0x808080u;
  return (uint32_t(__float2int_rn(mul(x, in))) + BIAS) ^ BIAS;
}

// The digits of four nodes along z.
template <int W>
__device__ __forceinline__ void digits_of_four(const float4& value, float in, uint32_t (&u)[4]) {
  u[0] = digits_of<W>(value.x, in);
  u[1] = digits_of<W>(value.y, in);
  u[2] = digits_of<W>(value.z, in);
  u[3] = digits_of<W>(value.w, in);
}

// acc + the sums of all diagonals, from the least significant on; neighbours are joined as
// integers:
// |sum| <= 3 pairs x 18 taps x 2^14. unit: of the least diagonal and of every second one from it.
template <class N, int COUNT>
__device__ __forceinline__ float add_up(const int (&sum)[N::D][COUNT], int n,
                                        const float (&unit)[3], float acc) {
#pragma unroll
  for (int d = N::D - 1; d >= 0; d -= 2) {
    const int both = d >= 1 ? sum[d - 1][n] * 256 + sum[d][n] : sum[0][n];
    acc = fma_rn(__int2float_rn(both), unit[(N::D - 1 - d) / 2], acc);
  }
  return acc;
}

// Where a block is.
struct Place {
  // First node of the tile, planes i0 to i1.
  int i0, i1, j0, k0;
};

template <int TY, int TZ>
__device__ __forceinline__ Place place_of(const TemblorStep& s, const TemblorOzaki& o) {
  const int tile = int(blockIdx.x) % o.tiles, chunk = int(blockIdx.x) / o.tiles;
  Place at;
  at.i0 = s.begin[0] + chunk * o.planes;
  at.i1 = min(at.i0 + o.planes, s.end[0]);
  at.j0 = s.begin[1] + tile / o.tiles_z * TY;
  at.k0 = s.begin[2] + tile % o.tiles_z * TZ;
  return at;
}

__device__ __forceinline__ uint32_t warp_largest(uint32_t most) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, most);
#else
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) most = max(most, __shfl_xor_sync(0xffffffffu, most, by));
  return most;
#endif
}

// Bits of |x|; those of NaN are above those of infinity.
__device__ __forceinline__ uint32_t size_bits(float x) { return __float_as_uint(x) & 0x7fffffffu; }

// Nodes beyond the box that taps reach along an axis: none across a grid of one row.
__device__ __forceinline__ int reach_along(const TemblorStep& s, const TemblorOzaki& o, int axis) {
  return s.nodes[axis] > 1 ? o.radius : 0;
}

// Bricks along an axis: those of a cell, own_low to own_high, and with those that taps of it reach,
// low to high.
struct Span {
  int low, own_low, own_high, high;
};

// Of the cell that node `at` lies in, BRICKS bricks of SIZE nodes. Taps may reach across bricks
// that are thinner than the radius, as the last one of a box can be.
template <int SIZE, int BRICKS>
__device__ __forceinline__ Span span_of(const TemblorStep& s, const TemblorOzaki& o, int axis,
                                        int at) {
  const unsigned extent = s.end[axis] - s.begin[axis], reach = reach_along(s, o, axis);
  const unsigned first = unsigned(at - s.begin[axis]) / (SIZE * BRICKS) * (SIZE * BRICKS);
  const unsigned last = min(first + SIZE * BRICKS, extent) - 1;
  Span span;
  span.own_low = int(first / SIZE) + 1;
  span.own_high = int(last / SIZE) + 1;
  span.low = first >= reach ? int((first - reach) / SIZE) + 1 : 0;
  span.high = last + reach < extent ? int((last + reach) / SIZE) + 1 : o.bricks[axis] - 1;
  return span;
}

// Largest |p| of the block's cell, CX x CY x CZ bricks counted from the box's first node, and of
// the bricks that its taps reach along one axis. All threads get it; `room`: a word per warp.
template <int THREADS>
__device__ __forceinline__ uint32_t largest_around(const TemblorStep& s, const TemblorOzaki& o,
                                                   const Place& at,
                                                   const uint32_t* __restrict__ peaks,
                                                   uint32_t* room) {
  const Span x = span_of<BX, CX>(s, o, 0, at.i0), y = span_of<BY, CY>(s, o, 1, at.j0);
  const Span z = span_of<BZ, CZ>(s, o, 2, at.k0);
  const unsigned ny = y.high - y.low + 1, nz = z.high - z.low + 1;
  const unsigned all = (x.high - x.low + 1) * ny * nz;
  uint32_t most = 0;
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < all; n += THREADS) {
    const int bz = z.low + int(n % nz), by = y.low + int(n / nz % ny);
    const int bx = x.low + int(n / (nz * ny));
    const int beside = int(bx < x.own_low || bx > x.own_high) +
                       int(by < y.own_low || by > y.own_high) +
                       int(bz < z.own_low || bz > z.own_high);
    if (beside <= 1)
      most = max(most, peaks[(int64_t(bx) * o.bricks[1] + by) * o.bricks[2] + bz]);
  }
  most = warp_largest(most);
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = most;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < THREADS / 32; ++w) most = max(most, room[w]);
  return most;
}

// Where the largest value of the brick from node (i, j, k) on is kept.
__device__ __forceinline__ int64_t brick_at(const TemblorStep& s, const TemblorOzaki& o, int i,
                                            int j, int k) {
  const unsigned x = unsigned(i - s.begin[0]) / BX + 1, y = unsigned(j - s.begin[1]) / BY + 1;
  const unsigned z = unsigned(k - s.begin[2]) / BZ + 1;
  return (int64_t(x) * o.bricks[1] + y) * o.bricks[2] + z;
}

// Leaves the largest value of the brick whose first node is (i, j, k); a warp has one, and calls it
// whole.
__device__ __forceinline__ void leave_peak(const TemblorStep& s, const TemblorOzaki& o, int i,
                                           int j, int k, uint32_t most,
                                           uint32_t* __restrict__ peaks) {
  most = warp_largest(most);
  if (threadIdx.x % 32 == 0 && j < s.end[1] && k < s.end[2])
    peaks[brick_at(s, o, i, j, k)] = most;
}

}  // namespace ozaki
}  // namespace temblor
