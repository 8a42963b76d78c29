// Laplacians by digits, four products of bytes at a time (dp4a): the engine that makes sums of
// words (ozaki_words.cuh).
// A thread owns four nodes along z of four planes, a warp 16 (z) x 8 (y) of them, a brick. A word
// of four neighbours serves four outputs, by taps shifted a byte each.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "ozaki_words.cuh"

namespace temblor {
namespace ozaki {

// Rows of words: two rows of four times four words, or eight of four words, fall on different
// banks.
constexpr int dp4a_pitch_x(int tz) { return tz + 16; }
constexpr int dp4a_pitch_y(int tz) { return tz; }
constexpr int dp4a_pitch_z(int tz) { return (tz / 4 + 2 + 3) / 8 * 8 + 4; }

template <class N, int TY, int TZ>
struct Four {
  using Numbers = N;
  using Shared = Words<N, TY, TZ, dp4a_pitch_x(TZ), dp4a_pitch_y(TZ), dp4a_pitch_z(TZ)>;
  static constexpr int A = N::A, W = N::W, D = N::D;

  static __device__ __forceinline__ void step(const TemblorStep& s, const TemblorOzaki& o,
                                              const float* p, float* next, const float* v,
                                              const uint32_t* peaks, uint32_t* peaks_next) {
    march_words<Four>(s, o, p, next, v, peaks, peaks_next);
  }

  // First node, and the taps along y, which depend on the row.
  int y, z, brick_y, brick_z;
  int along_y[A][3];
  // Sums along y and z of the quad before, over the operator's unit: by plane and column.
  float waiting[4][4];

  __device__ __forceinline__ explicit Four(const TemblorOzaki& o) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    brick_z = int(warp % (TZ / BZ)) * BZ;
    brick_y = int(warp / (TZ / BZ)) * BY;
    z = brick_z + int(lane % 4) * 4;
    y = brick_y + int(lane / 4);
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
      for (int w = 0; w < 3; ++w) along_y[a][w] = o.taps[a][y % 4 * 3 + w];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      waiting[e][0] = waiting[e][1] = waiting[e][2] = waiting[e][3] = 0.0f;
  }

  // The sums of word `w` of digit `b`, one word per column.
  static __device__ __forceinline__ void add_across(int (&sum)[D][4], const uint4& word, int b,
                                                    int a, int taps) {
    sum[a + b][0] = __dp4a(int(word.x), taps, sum[a + b][0]);
    sum[a + b][1] = __dp4a(int(word.y), taps, sum[a + b][1]);
    sum[a + b][2] = __dp4a(int(word.z), taps, sum[a + b][2]);
    sum[a + b][3] = __dp4a(int(word.w), taps, sum[a + b][3]);
  }

  __device__ __forceinline__ void wait(const TemblorOzaki& o, const Shared& words) {
    const bool joint = o.joint != 0;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int sum[D][4];
      float part[4] = {};
#pragma unroll
      for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = sum[d][2] = sum[d][3] = 0;
#pragma unroll
      for (int b = 0; b < W; ++b)
#pragma unroll
        for (int w = 0; w < 3; ++w) {
          const int word = int(words.z(e, b, y)[z / 4 + w]);
#pragma unroll
          for (int a = 0; a < A; ++a)
            if (a + b < D) {
#pragma unroll
              for (int n = 0; n < 4; ++n)
                sum[a + b][n] = __dp4a(word, o.taps[a][n * 3 + w], sum[a + b][n]);
            }
        }
      if (!joint) {
#pragma unroll
        for (int n = 0; n < 4; ++n) part[n] = add_up<N>(sum, n, o.unit[2], 0.0f);
#pragma unroll
        for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = sum[d][2] = sum[d][3] = 0;
      }
#pragma unroll
      for (int b = 0; b < W; ++b)
#pragma unroll
        for (int w = 0; w < 3; ++w) {
          const uint4 word = *reinterpret_cast<const uint4*>(words.y(e, b, y / 4 + w) + z);
#pragma unroll
          for (int a = 0; a < A; ++a)
            if (a + b < D) add_across(sum, word, b, a, along_y[a][w]);
        }
#pragma unroll
      for (int n = 0; n < 4; ++n)
        waiting[e][n] = add_up<N>(sum, n, o.unit[1], part[n]);
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
    const int j = min(at.j0 + y, s.end[1] - 1), column = at.k0 + z + min(in_row - 1, 0) / 4 * 4;
    const bool exists = at.j0 + y < s.end[1] && in_row > 0;
    const int64_t first = i * s.stride_x + j * s.stride_y + column;
    // The quad before, this one, and the next, which lies in `slot`.
    uint4 data[3][W];
#pragma unroll
    for (int w = 0; w < 3; ++w)
#pragma unroll
      for (int b = 0; b < W; ++b)
        data[w][b] = *reinterpret_cast<const uint4*>(words.x((slot + w + 1) % 3, b, y) + z);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int64_t node = first + min(e, last) * s.stride_x;
      const float4 here = load4(p + node), before = load4(next + node), speed = load4(v + node);
      int sum[D][4];
#pragma unroll
      for (int d = 0; d < D; ++d) sum[d][0] = sum[d][1] = sum[d][2] = sum[d][3] = 0;
#pragma unroll
      for (int w = 0; w < 3; ++w)
#pragma unroll
        for (int b = 0; b < W; ++b)
#pragma unroll
          for (int a = 0; a < A; ++a)
            if (a + b < D) add_across(sum, data[w][b], b, a, o.taps[a][e * 3 + w]);
      float lap[4];
#pragma unroll
      for (int n = 0; n < 4; ++n)
        lap[n] = mul(add_up<N>(sum, n, o.unit[0], waiting[e][n]), out);
      const float4 value =
          leap4(here, before, speed, make_float4(lap[0], lap[1], lap[2], lap[3]));
      if (exists && e <= last) {
        most = max(most, size_bits(value.x));
        if (in_row >= 4) {
          most = max(max(most, size_bits(value.y)), max(size_bits(value.z), size_bits(value.w)));
          *reinterpret_cast<float4*>(next + node) = value;
        } else {
          next[node] = value.x;
          if (in_row > 1) {
            most = max(most, size_bits(value.y));
            next[node + 1] = value.y;
          }
          if (in_row > 2) {
            most = max(most, size_bits(value.z));
            next[node + 2] = value.z;
          }
        }
      }
    }
    leave_peak(s, o, i, at.j0 + brick_y, at.k0 + brick_z, most, peaks);
  }
};

}  // namespace ozaki
}  // namespace temblor
