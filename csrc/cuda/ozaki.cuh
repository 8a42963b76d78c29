// Laplacians by products of digits (Ozaki et al. 2012, Numer. Algorithms 59): what the engines
// share.
// p+ = 2p - p- + dt^2 c^2 L p. A value of a block becomes the integer q = rn(x 2^(8W - 1 - E)) and
// q its W signed bytes, the operator A of them; products are summed in 32-bit integers per diagonal
// a + b and put together in FP32.
// A block takes a tile TY x TZ and marches along x by four planes (a quad). Each round cuts a quad
// into digits, four neighbours to a word along every axis, into shared memory:
//   xw[3 quads][digit][row][z]: the nodes of the tile;   yw[plane][digit][row / 4, one beyond
// either end][z];   zw[plane][digit][row][z / 4, one beyond either end].
// Sums along y and z of the new quad then wait a round for the words that follow along x.
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

// Digit b of four values in one word, 0 the most significant.
template <int W>
__device__ __forceinline__ void words_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                         uint32_t (&word)[W]) {
  const uint32_t low = __byte_perm(a, b, 0x5140), high = __byte_perm(c, d, 0x5140);
  word[W - 1] = __byte_perm(low, high, 0x5410);
  if (W >= 2) word[W - 2] = __byte_perm(low, high, 0x7632);
  if (W >= 3)
    word[0] = __byte_perm(__byte_perm(a, b, 0x0062), __byte_perm(c, d, 0x0062), 0x5410);
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

// The words of a tile in shared memory. PITCH_*: words from row to row, chosen by the engine so
// that its loads meet no bank twice.
template <class N, int ROWS, int COLUMNS, int PITCH_X, int PITCH_Y, int PITCH_Z>
struct Words {
  static constexpr int TY = ROWS, TZ = COLUMNS, W = N::W;
  static constexpr int PX = PITCH_X, PY = PITCH_Y, PZ = PITCH_Z;
  static_assert(TY % BY == 0 && TZ % BZ == 0 && TZ % 32 == 0, "tiles are whole bricks and lines");
  static_assert(CY * BY % TY == 0 && CZ * BZ % TZ == 0, "cells are whole tiles");
  static_assert(PX >= TZ && PY >= TZ && PZ >= TZ / 4 + 2, "rows overlap");
  static_assert(PX % 4 == 0 && PY % 4 == 0 && PZ % 2 == 0, "four words at a time");
  static constexpr int THREADS = TY * TZ / 4;
  static constexpr int X = TY * PX, Y = (TY / 4 + 2) * PY, Z = TY * PZ;
  static constexpr int X_ALL = 3 * W * X, Y_ALL = 4 * W * Y, Z_ALL = 4 * W * Z;
  // And a word per warp; engines may read up to two words beyond the last row along z.
  static constexpr int BYTES = 4 * (X_ALL + Y_ALL + Z_ALL + 32);

  uint32_t* base;
  // Digit b, 0 the most significant, of a row.
  __device__ __forceinline__ uint32_t* x(int slot, int b, int row) const {
    return base + (slot * W + b) * X + row * PX;
  }
  // Rows in fours; 0 lies before the tile.
  __device__ __forceinline__ uint32_t* y(int plane, int b, int four) const {
    return base + X_ALL + (plane * W + b) * Y + four * PY;
  }
  __device__ __forceinline__ uint32_t* z(int plane, int b, int row) const {
    return base + X_ALL + Y_ALL + (plane * W + b) * Z + row * PZ;
  }
  __device__ __forceinline__ uint32_t* room() const { return base + X_ALL + Y_ALL + Z_ALL; }
};

// Where a thread reads: planes i.., rows j.., columns k.. of the grid. Beyond the radius there may
// be no memory, and no tap: any value will do.
struct Reach {
  const float* p;
  int64_t stride_x, stride_y;
  int low_x, high_x, low_y, high_y, high_z;

  __device__ __forceinline__ Reach(const TemblorStep& s, const TemblorOzaki& o, const float* p)
      : p(p), stride_x(s.stride_x), stride_y(s.stride_y), low_x(s.begin[0] - o.radius),
        high_x(s.end[0] + o.radius - 1), low_y(s.begin[1] - o.radius),
        high_y(s.end[1] + o.radius - 1),
        high_z(s.begin[2] + (s.end[2] - s.begin[2] + o.radius - 1) / 4 * 4) {}
  __device__ __forceinline__ int64_t plane(int i) const {
    return max(min(i, high_x), low_x) * stride_x;
  }
  __device__ __forceinline__ int64_t row(int j, int k) const {
    return max(min(j, high_y), low_y) * stride_y + min(k, high_z);
  }
};

// The digits of four nodes along z.
template <int W>
__device__ __forceinline__ void digits_of_four(const float4& value, float in, uint32_t (&u)[4]) {
  u[0] = digits_of<W>(value.x, in);
  u[1] = digits_of<W>(value.y, in);
  u[2] = digits_of<W>(value.z, in);
  u[3] = digits_of<W>(value.w, in);
}

// Stores a word of each digit per column for four columns: digit b at to(b).
template <int W, class To>
__device__ __forceinline__ void store_across(const uint32_t (&word)[4][W], To to) {
#pragma unroll
  for (int b = 0; b < W; ++b)
    *reinterpret_cast<uint4*>(to(b)) =
        make_uint4(word[0][b], word[1][b], word[2][b], word[3][b]);
}

// Cuts 4 x 4 x 4 nodes of the tile: planes from i on, rows 4 four.., columns 4 z.. of it.
template <class S>
__device__ __forceinline__ void cut_tile(const S& words, const Reach& reach, const Place& at, int i,
                                         int four, int z, int slot, float in) {
  constexpr int W = S::W;
  int64_t plane[4], row[4];
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    plane[n] = reach.plane(i + n);
    row[n] = reach.row(at.j0 + 4 * four + n, at.k0 + 4 * z);
  }
  float4 value[4][4];
#pragma unroll
  for (int e = 0; e < 4; ++e)
#pragma unroll
    for (int r = 0; r < 4; ++r) value[e][r] = load4(reach.p + plane[e] + row[r]);
  uint32_t u[4][4][4];
#pragma unroll
  for (int e = 0; e < 4; ++e)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      digits_of_four<W>(value[e][r], in, u[e][r]);
      uint32_t word[W];
      words_of<W>(u[e][r][0], u[e][r][1], u[e][r][2], u[e][r][3], word);
#pragma unroll
      for (int b = 0; b < W; ++b) words.z(e, b, 4 * four + r)[z + 1] = word[b];
    }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    uint32_t word[4][W];
#pragma unroll
    for (int c = 0; c < 4; ++c)
      words_of<W>(u[e][0][c], u[e][1][c], u[e][2][c], u[e][3][c], word[c]);
    store_across<W>(word, [&](int b) { return words.y(e, b, four + 1) + 4 * z; });
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    uint32_t word[4][W];
#pragma unroll
    for (int c = 0; c < 4; ++c)
      words_of<W>(u[0][r][c], u[1][r][c], u[2][r][c], u[3][r][c], word[c]);
    store_across<W>(word, [&](int b) { return words.x(slot, b, 4 * four + r) + 4 * z; });
  }
}

// Cuts 4 x 4 nodes of plane i + e beside the tile along y: rows 4 four - 4.., columns 4 z.. of it.
template <class S>
__device__ __forceinline__ void cut_beside_y(const S& words, const Reach& reach, const Place& at,
                                             int i, int e, int four, int z, float in) {
  constexpr int W = S::W;
  const float* from = reach.p + reach.plane(i + e);
  float4 value[4];
#pragma unroll
  for (int r = 0; r < 4; ++r)
    value[r] = load4(from + reach.row(at.j0 + 4 * four - 4 + r, at.k0 + 4 * z));
  uint32_t u[4][4], word[4][W];
#pragma unroll
  for (int r = 0; r < 4; ++r) digits_of_four<W>(value[r], in, u[r]);
#pragma unroll
  for (int c = 0; c < 4; ++c) words_of<W>(u[0][c], u[1][c], u[2][c], u[3][c], word[c]);
  store_across<W>(word, [&](int b) { return words.y(e, b, four) + 4 * z; });
}

// Cuts four rows of plane i + e beside the tile along z: rows 4 four.., columns 4 z - 4.. of it.
template <class S>
__device__ __forceinline__ void cut_beside_z(const S& words, const Reach& reach, const Place& at,
                                             int i, int e, int four, int z, float in) {
  constexpr int W = S::W;
  const float* from = reach.p + reach.plane(i + e);
  float4 value[4];
#pragma unroll
  for (int r = 0; r < 4; ++r)
    value[r] = load4(from + reach.row(at.j0 + 4 * four + r, at.k0 + 4 * z - 4));
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    uint32_t u[4], word[W];
    digits_of_four<W>(value[r], in, u);
    words_of<W>(u[0], u[1], u[2], u[3], word);
#pragma unroll
    for (int b = 0; b < W; ++b) words.z(e, b, 4 * four + r)[z] = word[b];
  }
}

// Cuts a quad from plane i on; `inner`: its own sums are wanted, so what lies beside the tile is
// too.
template <class S>
__device__ __forceinline__ void cut_quad(const S& words, const Reach& reach, const Place& at, int i,
                                         int slot, float in, bool inner) {
  constexpr unsigned FY = S::TY / 4, FZ = S::TZ / 4;
  constexpr unsigned MIDDLE = FY * FZ, SIDE_Y = 4 * 2 * FZ, SIDE_Z = 4 * 2 * FY;
  const unsigned all = inner ? MIDDLE + SIDE_Y + SIDE_Z : MIDDLE;
  // Kinds begin on whole warps where the tile allows: a warp does one at a time.
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < all; n += S::THREADS) {
    if (n < MIDDLE) {
      cut_tile(words, reach, at, i, int(n / FZ), int(n % FZ), slot, in);
    } else if (n < MIDDLE + SIDE_Y) {
      const unsigned m = n - MIDDLE, side = m / FZ % 2;
      cut_beside_y(words, reach, at, i, int(m / (2 * FZ)), int(side * (FY + 1)), int(m % FZ), in);
    } else {
      const unsigned m = n - MIDDLE - SIDE_Y, side = m % 2;
      cut_beside_z(words, reach, at, i, int(m / (2 * FY)), int(m / 2 % FY), int(side * (FZ + 1)),
                   in);
    }
  }
}

// Asks L2 for what the next round reads: p of the quad from plane i on, p- and v of the quad before
// it.
template <class S>
__device__ __forceinline__ void ask_ahead(const TemblorStep& s, const TemblorOzaki& o,
                                          const Place& at, const float* p, const float* prev,
                                          const float* v, int i) {
  constexpr unsigned LINES = S::TZ / 32, ROWS = S::TY + 2 * H;
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < 4 * ROWS * LINES; n += S::THREADS) {
    const int plane = i + int(n / (ROWS * LINES)), j = at.j0 - H + int(n / LINES % ROWS);
    const int k = at.k0 + int(n % LINES * 32);
    const int64_t node = plane * s.stride_x + j * s.stride_y + k;
    const bool row = k < s.end[2] && j >= s.begin[1] - o.radius && j < s.end[1] + o.radius;
    if (row && plane < s.end[0] + o.radius) prefetch_l2(p + node);
    if (row && j >= at.j0 && j < at.j0 + S::TY && plane - 4 < at.i1) {
      prefetch_l2(prev + node - 4 * s.stride_x);
      prefetch_l2(v + node - 4 * s.stride_x);
    }
  }
}

// The march of a block. An engine takes words to sums: it makes the sums along y and z of a quad
// wait, and gives a quad out when its neighbours along x are there.
template <class Engine>
__device__ __forceinline__ void step_tile(const TemblorStep& s, const TemblorOzaki& o,
                                          const float* __restrict__ p, float* next,
                                          const float* __restrict__ v,
                                          const uint32_t* __restrict__ peaks,
                                          uint32_t* __restrict__ peaks_next) {
  using S = typename Engine::Shared;
  using N = typename Engine::Numbers;
  const S words = {reinterpret_cast<uint32_t*>(dynamic_shared())};
  const Place at = place_of<S::TY, S::TZ>(s, o);
  const Scale scale =
      scale_of<N>(largest_around<S::THREADS>(s, o, at, peaks, words.room()));
  Engine engine(o);
  const int quads = (at.i1 - at.i0 + 3) / 4;
  int slot = 0;
  for (int q = -1; q <= quads; ++q) {
    const int i = at.i0 + 4 * q;
    const bool inner = q >= 0 && q < quads;
    // The words of the round before have been read.
    __syncthreads();
    cut_quad(words, Reach(s, o, p), at, i, slot, scale.in, inner);
    __syncthreads();
    if (q < quads) ask_ahead<S>(s, o, at, p, next, v, i + 4);
    if (q >= 1)
      engine.give_out(s, o, words, at, p, next, v, i - 4, slot, scale.out, peaks_next);
    if (inner) engine.wait(o, words);
    slot = slot == 2 ? 0 : slot + 1;
  }
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
