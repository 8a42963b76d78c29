// Laplacians by digits on tensor cores: the engine that makes sums of words (ozaki_words.cuh).
// A warp owns 16 (z) x 8 (y) nodes of four planes, a brick. Along z: operator (16 x 32) times data
// (32 z x 8 y); along y: data (16 z x 16 y) times operator (16 x 8); both leave a thread (g, t) the
// nodes z = 2g, 2g + 1 and y = 2t, 2t + 1. Along x the same nodes by dp4a on words of four planes:
// a third product would leave them to other threads, and moving sums costs more than its 18
// instructions of about 65 a point.
// Zeros of the banded operator are in registers. Operator rows and columns are permuted so that a
// thread's words lie side by side.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "ozaki_words.cuh"

namespace temblor {
namespace ozaki {

// Rows of words: two, or four, rows that lanes read at once fall on different banks.
constexpr int mma_pitch_x(int tz) { return tz + 4; }
constexpr int mma_pitch_y(int tz) { return tz + 8; }
constexpr int mma_pitch_z(int tz) { return (tz / 4 + 4 + 7) / 16 * 16 + 8; }

template <class N, int TY, int TZ>
struct Tensor {
  using Numbers = N;
  using Shared = Words<N, TY, TZ, mma_pitch_x(TZ), mma_pitch_y(TZ), mma_pitch_z(TZ)>;
  static constexpr int A = N::A, W = N::W, D = N::D;

  // Operator digits as fragments, and this thread's first row and column.
  uint32_t along_z[A][4], along_y[A];
  int y, z, brick_y, brick_z;
  // Sums along y and z of the quad before, over the operator's unit: by plane, row and column.
  float waiting[4][2][2];

  __device__ __forceinline__ explicit Tensor(const TemblorOzaki& o) {
    const unsigned warp = threadIdx.x / 32;
    const int g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
    brick_z = int(warp % (TZ / BZ)) * BZ;
    brick_y = int(warp / (TZ / BZ)) * BY;
    z = brick_z + 2 * g;
    y = brick_y + 2 * t;
    // Taps of output `out` on word `word`, which begins 4 nodes before output 0.
    auto taps = [&](int a, int out, int word) {
      const int w = word - out / 4;
      return w >= 0 && w <= 2 ? uint32_t(o.taps[a][out % 4 * 3 + w]) : 0u;
    };
#pragma unroll
    for (int a = 0; a < A; ++a) {
      along_z[a][0] = taps(a, 2 * g, 2 * t);
      along_z[a][1] = taps(a, 2 * g + 1, 2 * t);
      along_z[a][2] = taps(a, 2 * g, 2 * t + 1);
      along_z[a][3] = taps(a, 2 * g + 1, 2 * t + 1);
      along_y[a] = taps(a, g, t);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
      waiting[e][0][0] = waiting[e][0][1] = waiting[e][1][0] = waiting[e][1][1] = 0.0f;
  }

  __device__ __forceinline__ void wait(const TemblorOzaki& o, const Shared& words) {
    const int g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
    const bool joint = o.joint != 0;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int sum[D][4];
      float part[4] = {};
#pragma unroll
      for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = sum[d][2] = sum[d][3] = 0;
#pragma unroll
      for (int b = 0; b < W; ++b) {
        const uint2 two = *reinterpret_cast<const uint2*>(words.z(e, b, brick_y + g) +
                                                          brick_z / 4 + 2 * t);
        const uint32_t data[2] = {two.x, two.y};
#pragma unroll
        for (int a = 0; a < A; ++a)
          if (a + b < D) mma_s8_k32(sum[a + b], along_z[a], data);
      }
      if (!joint) {
#pragma unroll
        for (int n = 0; n < 4; ++n) part[n] = add_up<N>(sum, n, o.unit[2], 0.0f);
#pragma unroll
        for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = sum[d][2] = sum[d][3] = 0;
      }
#pragma unroll
      for (int b = 0; b < W; ++b) {
        const uint2 two =
            *reinterpret_cast<const uint2*>(words.y(e, b, brick_y / 4 + t) + z);
        const uint32_t data[2] = {two.x, two.y};
#pragma unroll
        for (int a = 0; a < A; ++a)
          if (a + b < D) mma_s8_k16(sum[a + b], data, along_y[a]);
      }
      // Rows of the product are z, columns y.
#pragma unroll
      for (int n = 0; n < 4; ++n)
        waiting[e][n % 2][n / 2] = add_up<N>(sum, n, o.unit[1], part[n]);
    }
  }

  __device__ __forceinline__ void give_out(const TemblorStep& s, const TemblorOzaki& o,
                                           const Shared& words, const Place& at,
                                           const float* __restrict__ p, float* next,
                                           const float* __restrict__ v, int i, int slot, float out,
                                           uint32_t* __restrict__ peaks) {
    uint32_t most = 0;
    // Nodes beyond the box read what the nearest one in it does and are not given out.
    const int in_row = s.end[2] - (at.k0 + z), last = at.i1 - 1 - i;
    const int column = at.k0 + z + min(in_row - 1, 0) / 2 * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int j = min(at.j0 + y + r, s.end[1] - 1);
      const bool exists = at.j0 + y + r < s.end[1] && in_row > 0;
      const int64_t first = i * s.stride_x + j * s.stride_y + column;
      float2 before[4], speed[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t node = first + min(e, last) * s.stride_x;
        before[e] = *reinterpret_cast<const float2*>(next + node);
        speed[e] = *reinterpret_cast<const float2*>(v + node);
      }
      // The quad before, this one, and the next, which lies in `slot`.
      uint2 data[3][W];
#pragma unroll
      for (int w = 0; w < 3; ++w)
#pragma unroll
        for (int b = 0; b < W; ++b)
          data[w][b] = *reinterpret_cast<const uint2*>(
              words.x((slot + w + 1) % 3, b, y + r) + z);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int sum[D][2];
#pragma unroll
        for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = 0;
#pragma unroll
        for (int w = 0; w < 3; ++w)
#pragma unroll
          for (int b = 0; b < W; ++b)
#pragma unroll
            for (int a = 0; a < A; ++a)
              if (a + b < D) {
                const int taps = o.taps[a][e * 3 + w];
                sum[a + b][0] = __dp4a(int(data[w][b].x), taps, sum[a + b][0]);
                sum[a + b][1] = __dp4a(int(data[w][b].y), taps, sum[a + b][1]);
              }
        const float2 here =
            *reinterpret_cast<const float2*>(p + first + min(e, last) * s.stride_x);
        float lap[2];
#pragma unroll
        for (int n = 0; n < 2; ++n)
          lap[n] = mul(add_up<N>(sum, n, o.unit[0], waiting[e][r][n]), out);
        const float2 value = make_float2(leap(here.x, before[e].x, speed[e].x, lap[0]),
                                         leap(here.y, before[e].y, speed[e].y, lap[1]));
        if (exists && e <= last) {
          float* to = next + first + e * s.stride_x;
          most = max(most, size_bits(value.x));
          if (in_row >= 2) {
            most = max(most, size_bits(value.y));
            *reinterpret_cast<float2*>(to) = value;
          } else {
            *to = value.x;
          }
        }
      }
    }
    leave_peak(s, o, i, at.j0 + brick_y, at.k0 + brick_z, most, peaks);
  }
};

}  // namespace ozaki
}  // namespace temblor
