// Laplacians by digits on tensor cores: the engine that makes sums of whole values (ozaki.cuh).
// A value is a word: its signed digits are W of the bytes, and the bytes of the operator's word
// choose the products of one diagonal. So a value is stored once and serves all three axes, and
// nothing is packed; a diagonal takes a product of its own, of which 3 of 4 bytes count at W = 3.
// A warp owns a brick: 16 (z) x 8 (y) nodes of four planes. Along z: operator (16 outputs) times
// data (24 neighbours x 8 rows); along y: data (16 z x 16 neighbours) times operator (8 outputs);
// both leave a thread (g, t) the nodes z = 2g, 2g + 1 and y = 2t, 2t + 1. Along x: data (16 z x 12
// planes) times operator (four outputs of two diagonals), which leaves it z = 2g, 2g + 1 of plane
// t: sums along y and z change threads through shared memory.
// The march along x is by four planes, a quad. Values of the quad after next come by asynchronous
// copies, a thread cuts its own in place, and one barrier per quad is enough: words of three quads
// are read while those of the next are cut.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "ozaki.cuh"

namespace temblor {
namespace ozaki {

template <class T>
__device__ __forceinline__ void march_values(const TemblorStep& s, const TemblorOzaki& o,
                                             const float* __restrict__ p, float* next,
                                             const float* __restrict__ v,
                                             const uint32_t* __restrict__ peaks,
                                             uint32_t* __restrict__ peaks_next);

template <class N, int ROWS, int COLUMNS>
struct Tensor {
  static __device__ __forceinline__ void step(const TemblorStep& s, const TemblorOzaki& o,
                                              const float* p, float* next, const float* v,
                                              const uint32_t* peaks, uint32_t* peaks_next) {
    march_values<Tensor>(s, o, p, next, v, peaks, peaks_next);
  }

  // Rows of a brick between those whose p-, v and p are asked for and those given out.
  static constexpr int AHEAD = 4;
  using Numbers = N;
  static constexpr int A = N::A, W = N::W, D = N::D, TY = ROWS, TZ = COLUMNS;
  static_assert(TY % BY == 0 && TZ % BZ == 0 && TZ % 32 == 0, "tiles are whole bricks and lines");
  static_assert(CY * BY % TY == 0 && CZ * BZ % TZ == 0, "cells are whole tiles");
  static constexpr int THREADS = TY * TZ / 4, WARPS = THREADS / 32;
  // Pairs of diagonals, the least significant first.
  static constexpr int PAIRS = (D + 1) / 2;

  // Shared memory, bytes. Quads of the tile: four planes [y][z], 32 B pieces of a row permuted by
  // (x + y) so that lanes on four rows or planes meet no bank twice. Quads beside it: four planes
  // of [8 rows][z], then four planes of [y][8 columns].
  static constexpr int PLANE = 4 * TY * TZ, QUAD = 4 * PLANE, QUADS = 4;
  static constexpr int PLANE_Y = 4 * 8 * TZ, PLANE_Z = 4 * TY * 8;
  static constexpr int BESIDE = 4 * (PLANE_Y + PLANE_Z), BESIDES = 3;
  static constexpr int AT_BESIDE = QUADS * QUAD, AT_SUMS = AT_BESIDE + BESIDES * BESIDE;
  static constexpr int SUMS = 4 * BX * BY * BZ;
  static constexpr int AT_ALONG_Z = AT_SUMS + WARPS * SUMS;
  static constexpr int BYTES = AT_ALONG_Z + 3 * D * 512 + 128;

  // Pieces that a thread fetches and cuts, four nodes along z of the four planes of a quad: one of
  // the tile, and some of those beside it.
  static constexpr int FOURS = TZ / 4, BESIDE_PIECES = 2 * H * FOURS + 2 * TY;
  static constexpr int TURNS = 1 + (BESIDE_PIECES + THREADS - 1) / THREADS;
};

// Plane e of four whose rows are permuted.
__device__ __forceinline__ unsigned plane_at(unsigned first, unsigned stride, int e) {
  return (first ^ unsigned(e) << 5) + unsigned(e) * stride;
}

// What a thread fetches and cuts; piece 0 is of the tile.
template <class T>
struct Pieces {
  // First plane of the quad that is fetched next.
  const float* from[T::TURNS];
  // Place in a quad of the tile or beside it, and bytes from plane to plane.
  unsigned place[T::TURNS], stride[T::TURNS];
  // In reach: there may be no memory beyond, and no tap.
  bool exists[T::TURNS];

  __device__ __forceinline__ Pieces(const TemblorStep& s, const TemblorOzaki& o, const Place& at,
                                    const float* p) {
    const int high_z = s.begin[2] + (s.end[2] - s.begin[2] + o.radius - 1) / 4 * 4;
#pragma unroll
    for (int u = 0; u < T::TURNS; ++u) {
      int y, z;
      bool any = true;
      if (u == 0) {
        y = int(threadIdx.x) / T::FOURS;
        z = int(threadIdx.x) % T::FOURS * 4;
        place[u] = 4 * (y * T::TZ + (z ^ (y & 3) << 3));
        stride[u] = T::PLANE;
      } else {
        const int n = int(threadIdx.x) + (u - 1) * T::THREADS;
        any = n < T::BESIDE_PIECES;
        if (n < 2 * H * T::FOURS) {
          // Rows before the tile follow those after it, so that row and place agree modulo 8.
          const int row = n / T::FOURS;
          y = row < H ? T::TY + row : row - 2 * H;
          z = n % T::FOURS * 4;
          place[u] = T::AT_BESIDE + 4 * (row * T::TZ + (z ^ (row & 3) << 3));
          stride[u] = T::PLANE_Y;
        } else {
          // Columns before the tile lie in the second half: as if it went on.
          const int m = n - 2 * H * T::FOURS;
          y = m % T::TY;
          z = m < T::TY ? -H : T::TZ;
          place[u] = T::AT_BESIDE + 4 * T::PLANE_Y + 32 * y + (m < T::TY ? 16 : 0);
          stride[u] = T::PLANE_Z;
        }
      }
      const int j = at.j0 + y, k = at.k0 + z;
      exists[u] = any && j >= s.begin[1] - o.radius && j < s.end[1] + o.radius && k <= high_z;
      from[u] = p + (at.i0 - H) * s.stride_x + j * s.stride_y + k;
      keep(place[u]);
    }
  }

  // Asks for the next quad, whose first `count` planes from plane `first` on exist; `beside`: its
  // own sums are wanted.
  __device__ __forceinline__ void fetch(const TemblorStep& s, unsigned char* shared, int first,
                                        int count, unsigned quad, unsigned beside, bool inner) {
#pragma unroll
    for (int u = 0; u < T::TURNS; ++u) {
      const unsigned to = u == 0 ? quad : beside;
      keep(from[u]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (exists[u] && (u == 0 || inner) && e >= first && e < count)
          copy_async<16>(shared + plane_at(place[u], stride[u], e) + to, from[u]);
        from[u] += s.stride_x;
      }
    }
  }

  // Words in the place of values.
  __device__ __forceinline__ void cut(unsigned char* shared, unsigned quad, unsigned beside,
                                      bool inner, float in) const {
#pragma unroll
    for (int u = 0; u < T::TURNS; ++u)
      if (u == 0 || (exists[u] && inner)) {
        const unsigned to = u == 0 ? quad : beside;
        float4 value[4];
#pragma unroll
        for (int e = 0; e < 4; ++e)
          value[e] =
              *reinterpret_cast<const float4*>(shared + plane_at(place[u], stride[u], e) + to);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          uint32_t word[4];
          digits_of_four<T::W>(value[e], in, word);
          *reinterpret_cast<uint4*>(shared + plane_at(place[u], stride[u], e) + to) =
              make_uint4(word[0], word[1], word[2], word[3]);
        }
      }
  }
};

// A thread's part of the products of its warp's brick.
template <class T>
struct Products {
  using N = typename T::Numbers;
  static constexpr int D = T::D;
  unsigned char* shared;
  int g, t, brick_y, brick_z;
  // Operator along y by diagonals, along x by pairs of them.
  uint32_t along_y[D][2][2], along_x[T::PAIRS][3];
  // Places of data along z, y and x in a quad, and of sums: left by (y, z), read along x.
  unsigned at_z, at_y, at_x, at_left, at_read;

  // The operator's word for a value `off` nodes after the first tap: bytes of digit b of a value
  // meet digit d - b of the weight.
  static __device__ __forceinline__ uint32_t word_of(const TemblorOzaki& o, int d, int off) {
    uint32_t word = 0;
    if (off < 0 || off > 8) return 0;
#pragma unroll
    for (int b = 0; b < T::W; ++b) {
      const int a = d - b;
      if (a >= 0 && a < T::A)
        word |= (uint32_t(o.taps[a][off / 4]) >> off % 4 * 8 & 255) << 8 * (T::W - 1 - b);
    }
    return word;
  }

  __device__ __forceinline__ Products(const TemblorOzaki& o, unsigned char* shared)
      : shared(shared) {
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
    g = lane / 4;
    t = lane % 4;
    brick_z = warp % (T::TZ / BZ) * BZ;
    brick_y = warp / (T::TZ / BZ) * BY;
#pragma unroll
    for (int d = 0; d < D; ++d)
#pragma unroll
      for (int c = 0; c < 2; ++c)
#pragma unroll
        for (int n = 0; n < 2; ++n)
          along_y[d][c][n] = word_of(o, d, 8 * c + 4 * n + t - g);
#pragma unroll
    for (int j = 0; j < T::PAIRS; ++j)
#pragma unroll
      for (int w = 0; w < 3; ++w)
        along_x[j][w] = word_of(o, D - 2 - 2 * j + (g & 1), 4 * w + t - g / 2);
    // Along z: rows 2g and 2g + 1, words 2t and 2t + 1.
#pragma unroll 1
    for (int n = warp; n < 3 * D; n += T::WARPS) {
      const int d = n % D, off = n / D * 8 + 2 * (t - g);
      const uint32_t middle = word_of(o, d, off);
      *reinterpret_cast<uint4*>(shared + T::AT_ALONG_Z + 512 * n + 16 * lane) =
          make_uint4(middle, word_of(o, d, off - 1), word_of(o, d, off + 1), middle);
    }
    at_z = 4 * ((brick_y + g) * T::TZ + ((brick_z + 4 + 2 * t) ^ (g & 3) << 3));
    at_y = 4 * ((brick_y + t) * T::TZ + ((brick_z + 2 * g) ^ t << 3));
    at_x = t * T::PLANE + 4 * (brick_y * T::TZ + ((brick_z + 2 * g) ^ t << 3));
    // 8 B pieces of sums: y * 32 + x * 8 + z / 2, where bit 2 is changed by those of y >> 1 and
    // x >> 1, bit 3 by that of y >> 2: then no bank is met twice.
    const unsigned sums = T::AT_SUMS + unsigned(warp) * T::SUMS;
    at_left = sums + 8 * (2 * t * 32 + (g ^ (t & 1) << 2 ^ (t >> 1) << 3));
    at_read = sums + 8 * (t * 8 + (g ^ (t >> 1) << 2));
    keep(at_z);
    keep(at_x);
    keep(at_left);
  }

  __device__ __forceinline__ uint2 pair(unsigned at) const {
    return *reinterpret_cast<const uint2*>(shared + at);
  }

  // Sums along y and z of a quad over the operator's unit, left to all lanes of the warp; JOINT:
  // the unit is the same along both.
  template <bool JOINT>
  __device__ __forceinline__ void across(const TemblorOzaki& o, unsigned quad,
                                         unsigned beside) const {
    int sum[4][D][4];
    float part[4][4] = {};
#pragma unroll
    for (int e = 0; e < 4; ++e)
#pragma unroll
      for (int d = 0; d < D; ++d) sum[e][d][0] = sum[e][d][1] = sum[e][d][2] = sum[e][d][3] = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      // Words 8c - 4 + 2t, 8c - 3 + 2t of the brick's row g.
      const bool out = c == 0 ? brick_z == 0 && t < 2 : c == 2 && brick_z + BZ == T::TZ && t >= 2;
      const int z = brick_z - 4 + 8 * c + 2 * t, row = brick_y + g;
      const unsigned own = c == 1 ? at_z : 4 * (row * T::TZ + (z ^ (row & 3) << 3));
      const unsigned edge = T::AT_BESIDE + 4 * T::PLANE_Y + 32 * row + 4 * (z & 7);
      const unsigned first = out ? edge + beside : own + quad, stride = out ? T::PLANE_Z : T::PLANE;
      uint32_t data[4][2];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const uint2 two = pair(plane_at(first, stride, e));
        data[e][0] = two.x;
        data[e][1] = two.y;
      }
#pragma unroll
      for (int d = 0; d < D; ++d) {
        const uint4 four = *reinterpret_cast<const uint4*>(
            shared + T::AT_ALONG_Z + 512 * (c * D + d) + 16 * (threadIdx.x % 32));
        const uint32_t taps[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) mma_s8_k32(sum[e][d], taps, data[e]);
      }
    }
    if (!JOINT) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
#pragma unroll
        for (int n = 0; n < 4; ++n) part[e][n] = add_up<N, 4>(sum[e], n, o.unit[2], 0.0f);
#pragma unroll
        for (int d = 0; d < D; ++d) sum[e][d][0] = sum[e][d][1] = sum[e][d][2] = sum[e][d][3] = 0;
      }
    }
    // Rows before the tile lie after those beyond it.
    const unsigned low = brick_y == 0
                             ? T::AT_BESIDE + beside + 4 * 4 * T::TZ
                             : quad - 4 * 4 * T::TZ;
    const unsigned high = brick_y + BY == T::TY
                              ? T::AT_BESIDE + beside - 4 * brick_y * T::TZ
                              : quad + 4 * 8 * T::TZ;
    const unsigned low_stride = brick_y == 0 ? T::PLANE_Y : T::PLANE;
    const unsigned high_stride = brick_y + BY == T::TY ? T::PLANE_Y : T::PLANE;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      uint32_t data[4][4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const uint2 first = c == 0 ? pair(plane_at(at_y, low_stride, e) + low)
                                   : pair(plane_at(at_y, T::PLANE, e) + quad + 4 * 4 * T::TZ);
        const uint2 second = c == 0 ? pair(plane_at(at_y, T::PLANE, e) + quad)
                                    : pair(plane_at(at_y, high_stride, e) + high);
        data[e][0] = first.x;
        data[e][1] = first.y;
        data[e][2] = second.x;
        data[e][3] = second.y;
      }
#pragma unroll
      for (int d = 0; d < D; ++d)
#pragma unroll
        for (int e = 0; e < 4; ++e) mma_s8_k32(sum[e][d], data[e], along_y[d][c]);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      // Rows of the product are z, columns y.
      float value[4];
#pragma unroll
      for (int n = 0; n < 4; ++n)
        value[n] = add_up<N, 4>(sum[e], n, o.unit[1], part[e][n]);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const unsigned left = at_left ^ unsigned(e & 2) << 4 ^ unsigned(e & 1) << 6;
        *reinterpret_cast<float2*>(shared + left + 8 * (r * 32 + (e & 2) * 8)) =
            make_float2(value[r], value[2 + r]);
      }
    }
  }

  // The Laplacian over the operator's unit of nodes z = 2g, 2g + 1 of plane t of a quad, row y of
  // the brick; quads before, this one and the next.
  __device__ __forceinline__ float2 along(const TemblorOzaki& o, int y,
                                          const unsigned (&quad)[3]) const {
    const unsigned first = (at_x ^ unsigned(y & 3) << 5) + 4 * y * T::TZ;
    const uint2 a = pair(first + quad[0]), b = pair(first + quad[1]), c = pair(first + quad[2]);
    const uint32_t two[4] = {a.x, a.y, b.x, b.y}, one[2] = {c.x, c.y};
    float2 acc = *reinterpret_cast<const float2*>(
        shared + (at_read ^ unsigned(y & 2) << 4 ^ unsigned(y & 4) << 4) + 8 * y * 32);
#pragma unroll
    for (int j = 0; j < T::PAIRS; ++j) {
      const uint32_t taps[2] = {along_x[j][0], along_x[j][1]};
      int sum[4] = {0, 0, 0, 0};
      mma_s8_k32(sum, two, taps);
      mma_s8_k16(sum, one, along_x[j][2]);
      acc.x = fma_rn(__int2float_rn(sum[0] * 256 + sum[1]), o.unit[0][j], acc.x);
      acc.y = fma_rn(__int2float_rn(sum[2] * 256 + sum[3]), o.unit[0][j], acc.y);
    }
    return acc;
  }
};

// p-, v and p of two of a thread's nodes.
struct Around {
  float2 before, speed, here;
};

template <class T>
__device__ __forceinline__ void march_values(const TemblorStep& s, const TemblorOzaki& o,
                                             const float* __restrict__ p, float* next,
                                             const float* __restrict__ v,
                                             const uint32_t* __restrict__ peaks,
                                             uint32_t* __restrict__ peaks_next) {
  using N = typename T::Numbers;
  unsigned char* shared = dynamic_shared();
  const Place at = place_of<T::TY, T::TZ>(s, o);
  Pieces<T> pieces(s, o, at, p);
  const int quads = (at.i1 - at.i0 + 3) / 4, high_x = s.end[0] + o.radius;
  // Quad q lies in place q mod 4, what is beside it in place q mod 3.
  auto quad_at = [](int q) { return unsigned(q & 3) * T::QUAD; };
  auto after = [](unsigned beside) {
    return beside == unsigned(T::BESIDES - 1) * T::BESIDE ? 0u : beside + T::BESIDE;
  };
  auto fetch = [&](int q, unsigned beside) {
    if (q <= quads)
      pieces.fetch(s, shared, q < 0 ? s.begin[0] - o.radius - (at.i0 - H) : 0,
                   high_x - (at.i0 + 4 * q), quad_at(q), beside, q >= 0 && q < quads);
    copy_async_commit();
  };
  unsigned beside = 0;
  fetch(-1, 0);
  fetch(0, 0);
  fetch(1, after(0));
  const Products<T> products(o, shared);
  const Scale scale = scale_of<N>(largest_around<T::THREADS>(
      s, o, at, peaks, reinterpret_cast<uint32_t*>(shared + T::BYTES - 128)));
  copy_async_wait<2>();
  pieces.cut(shared, quad_at(-1), 0, false, scale.in);
  copy_async_wait<1>();
  pieces.cut(shared, quad_at(0), 0, true, scale.in);

  const int t = products.t;
  const int j = at.j0 + products.brick_y, k = at.k0 + products.brick_z + 2 * products.g;
  const int rows = s.end[1] - j;
  // First node of the thread in a quad.
  int64_t node = (at.i0 + t) * s.stride_x + j * s.stride_y + k;
  const int to_row = int(s.stride_y);
  const bool box_yz = rows >= BY && at.k0 + products.brick_z + BZ <= s.end[2];
  // Asks L2 for a line of p- or of v of the next quad.
  constexpr unsigned LINES = T::TZ / 32, HALF = T::THREADS / 2;
  static_assert(4 * T::TY * LINES == HALF, "a line per thread");
  const int line = int(threadIdx.x % HALF);
  const int ahead = 4 + line / int(T::TY * LINES);
  const int line_j = at.j0 + line / int(LINES) % T::TY, line_k = at.k0 + line % int(LINES) * 32;
  // Planes left when the line's is beyond the march.
  const int line_last = line_j < s.end[1] && line_k < s.end[2] ? at.i1 - at.i0 - ahead : 0;
  const float* line_from = (threadIdx.x < HALF ? next : v) + (at.i0 + ahead) * s.stride_x +
                           line_j * s.stride_y + line_k;

  // The largest value of the warp's brick.
  const bool leaves = threadIdx.x % 32 == 0 && j < s.end[1] && at.k0 + products.brick_z < s.end[2];
  int brick = int(brick_at(s, o, at.i0, j, at.k0 + products.brick_z));

#pragma unroll 1
  for (int q = 0; q < quads; ++q) {
    copy_async_wait<0>();
    pieces.cut(shared, quad_at(q + 1), after(beside), q + 1 < quads, scale.in);
    // Words are there, and those of the quad before last have been read.
    __syncthreads();
    fetch(q + 2, after(after(beside)));
    if (4 * q < line_last) prefetch_l2(line_from);
    line_from += 4 * s.stride_x;
    if (o.joint != 0)
      products.template across<true>(o, quad_at(q), beside);
    else
      products.template across<false>(o, quad_at(q), beside);
    __syncwarp();
    const unsigned quad[3] = {quad_at(q - 1), quad_at(q), quad_at(q + 1)};
    const int last = at.i1 - 1 - (at.i0 + 4 * q);
    const float* p_here = p + node;
    float* next_here = next + node;
    const float* v_here = v + node;
    node += 4 * s.stride_x;
    uint32_t most = 0;
    if (box_yz && last >= 3) {
      keep(p_here);
      keep(next_here);
      keep(v_here);
      Around around[BY];
      auto ask = [&](int y) {
        around[y].before = *reinterpret_cast<const float2*>(next_here + y * to_row);
        around[y].speed = *reinterpret_cast<const float2*>(v_here + y * to_row);
        around[y].here = *reinterpret_cast<const float2*>(p_here + y * to_row);
      };
#pragma unroll
      for (int y = 0; y < T::AHEAD; ++y) ask(y);
#pragma unroll
      for (int y = 0; y < BY; ++y) {
        if (y + T::AHEAD < BY) ask(y + T::AHEAD);
        const Around& a = around[y];
        const float2 lap = products.along(o, y, quad);
        const float2 value =
            make_float2(leap(a.here.x, a.before.x, a.speed.x, mul(lap.x, scale.out)),
                        leap(a.here.y, a.before.y, a.speed.y, mul(lap.y, scale.out)));
        *reinterpret_cast<float2*>(next_here + y * to_row) = value;
        most = max(max(most, size_bits(value.x)), size_bits(value.y));
      }
    } else {
      // On the box's far edges: nodes that do not exist are neither read nor given out.
#pragma unroll 1
      for (int y = 0; y < BY; ++y) {
        const float2 lap = products.along(o, y, quad);
        const int row = y * to_row;
#pragma unroll
        for (int n = 0; n < 2; ++n)
          if (t <= last && y < rows && k + n < s.end[2]) {
            const float value = leap(p_here[row + n], next_here[row + n], v_here[row + n],
                                     mul(n == 0 ? lap.x : lap.y, scale.out));
            next_here[row + n] = value;
            most = max(most, size_bits(value));
          }
      }
    }
    most = warp_largest(most);
    if (leaves) peaks_next[brick] = most;
    brick += o.bricks[1] * o.bricks[2];
    beside = after(beside);
  }
}

}  // namespace ozaki
}  // namespace temblor
