// Laplacians by digits, four neighbours to a word along every axis: the march of the engine that
// multiplies four at a time (ozaki.cuh).
// A block takes a tile TY x TZ and marches along x by four planes (a quad). Each round cuts a quad
// into digits and packs them, into shared memory:
//   xw[3 quads][digit][row][z]: the nodes of the tile;   yw[plane][digit][row / 4, one beyond
// either end][z];   zw[plane][digit][row][z / 4, one beyond either end].
// Sums along y and z of the new quad then wait a round for the words that follow along x.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "ozaki.cuh"

namespace temblor {
namespace ozaki {

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
__device__ __forceinline__ void march_words(const TemblorStep& s, const TemblorOzaki& o,
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

}  // namespace ozaki
}  // namespace temblor
