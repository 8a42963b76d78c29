// Isotropic acoustics, one leapfrog step, radius 4 (order 8), 3 and 2 in space, all streams fed by TMA.
// p+ = 2p - p- + dt^2 c^2 lap(p); weights from the host.
// Layout (x, y, z), z fastest, pitch a multiple of 16 B, halo of the radius, 4 along z; the box's first
// node lies on 16 B.
// Any box; tiles on its far edges are cut. next may be prev: a tile reads p- at its own nodes only.
// Numbers are those of radius 4.
// Tile 64 x 64 (z, y) marched along x: ring of 8 planes of p, 64 x 72 f32, and of 2 planes of p- and
// v, 64 x 64: 216 KiB shared, one block of 512 threads per SM; a thread owns 2 rows of 4 nodes and
// keeps 9 planes of them in registers. The halo along z, 16 B a row and side, comes by cp.async three
// planes ahead: a tensor copy fetches 64 B chunks, 384 B for a row of 288 B that starts 16 B before a
// line. (Rows of 72 by tensor copy: 231 Gpts/s at 768^3 on an H200, the link between the halves of L2
// 96 % busy. The halo by plain loads one plane ahead into registers: 215, waiting for them.)
// sm_90, CUDA >= 12.0. 16 B and 33 flop per point; 17.5 B per point between L2 and SM.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "four.cuh"
#include "tiles.cuh"
#include "tma.cuh"

namespace {

using namespace temblor;

// Halo along z: nodes come in fours.
constexpr int H = 4;
constexpr int TZ = 64, TY = 64, THREADS = 512, ROWS = 2;
constexpr int PZ = TZ;
constexpr int RING = 8, STREAM_RING = 2, EDGE_RING = 4;
constexpr int STREAM = TZ * TY;
constexpr uint32_t STREAM_BYTES = STREAM * 4;

template <int R>
struct Shared {
  static_assert(R <= H && 2 * R <= RING, "taps beyond the halo or the ring");
  static constexpr int PLANE = PZ * (TY + 2 * R);
  float p[RING][PLANE];
  float prev[STREAM_RING][STREAM];
  float v[STREAM_RING][STREAM];
  // Beside each row: four nodes before it, four after it.
  float edge[EDGE_RING][TY][2 * H];
  uint64_t full[RING];
  uint64_t full_streams[STREAM_RING];
};

template <int R>
__device__ __forceinline__ void step_tile(const TemblorStep& s, const CUtensorMap* p,
                                          const CUtensorMap* prev, const CUtensorMap* v,
                                          const float* __restrict__ node, float* __restrict__ next,
                                          const TemblorTiles& tiles, int32_t halo_x,
                                          int32_t halo_y, int32_t halo_z) {
  constexpr uint32_t PLANE_BYTES = Shared<R>::PLANE * 4;
  extern __shared__ __align__(128) unsigned char raw[];
  Shared<R>& shared = *reinterpret_cast<Shared<R>*>(raw);
  const March march = march_of(s, tiles);
  const int i0 = march.i0, i1 = march.i1;
  const int k0 = s.begin[2] + march.tile % tiles.tiles_z * TZ;
  const int j0 = s.begin[1] + march.tile / tiles.tiles_z * TY;
  const int thread = int(threadIdx.x);
  const uint64_t keep = policy_normal(), drop = policy_evict_first();

  // Plane number n, counted from i0 - R, lies in slot n % RING.
  auto fetch_plane = [&](int n) {
    uint64_t* barrier = &shared.full[n % RING];
    barrier_expect(barrier, PLANE_BYTES);
    copy_box(shared.p[n % RING], p, barrier, halo_z + k0, halo_y + j0 - R,
             halo_x + i0 - R + n, keep);
  };
  auto fetch_streams = [&](int n) {
    uint64_t* barrier = &shared.full_streams[n % STREAM_RING];
    barrier_expect(barrier, 2 * STREAM_BYTES);
    copy_box(shared.prev[n % STREAM_RING], prev, barrier, halo_z + k0, halo_y + j0,
             halo_x + i0 + n, drop);
    copy_box(shared.v[n % STREAM_RING], v, barrier, halo_z + k0, halo_y + j0, halo_x + i0 + n,
             drop);
  };
  const int count = i1 - i0, last_plane = count + 2 * R;
  if (thread == 0) {
    for (int n = 0; n < RING; ++n) barrier_init(&shared.full[n], 1);
    for (int n = 0; n < STREAM_RING; ++n) barrier_init(&shared.full_streams[n], 1);
    barrier_init_fence();
    for (int n = 0; n < min(RING, last_plane); ++n) fetch_plane(n);
    for (int n = 0; n < min(STREAM_RING, count); ++n) fetch_streams(n);
  }
  __syncthreads();

  const int z = (thread & 15) * 4, y = (thread >> 4) * ROWS;
  const int own = (y + R) * PZ + z;
  float4 queue[2 * R + 1][ROWS];
#pragma unroll
  for (int r = 0; r < 2 * R; ++r) {
    barrier_wait(&shared.full[r], 0);
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      queue[r + 1][row] = load4(&shared.p[r][own + row * PZ]);
  }
  // The first R planes live in registers only.
  __syncthreads();
  if (thread == 0)
    for (int n = RING; n < min(RING + R, last_plane); ++n) fetch_plane(n);
  const int k = k0 + z;
  float* out = next + int64_t(i0) * s.stride_x + int64_t(j0 + y) * s.stride_y + k;
  const bool whole = k + 3 < s.end[2];
  // The first 128 threads fetch the halo beside the rows: row t / 2, before it or after it.
  const int edge_row = thread >> 1, edge_k = thread & 1 ? k0 + TZ : k0 - H;
  const bool fetches = thread < 2 * TY && j0 + edge_row < s.end[1] && edge_k < s.end[2] + R;
  const float* beside = node + int64_t(i0) * s.stride_x +
                        int64_t(j0 + edge_row) * s.stride_y + edge_k;
  auto fetch_edge = [&](int n) {
    if (fetches && n < count)
      copy_async(&shared.edge[n % EDGE_RING][edge_row][(thread & 1) * H],
                 beside + n * s.stride_x);
    copy_async_commit();
  };
  for (int n = 0; n < EDGE_RING - 1; ++n) fetch_edge(n);
  copy_async_wait<EDGE_RING - 2>();
  __syncthreads();
  const bool left = z == 0, right = z == TZ - 4;

  for (int n = 0; n < count; ++n, out += s.stride_x) {
    const int newest = n + 2 * R;
    fetch_edge(n + EDGE_RING - 1);
    barrier_wait(&shared.full[newest % RING], (newest / RING) & 1);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) queue[r][row] = queue[r + 1][row];
      queue[2 * R][row] = load4(&shared.p[newest % RING][own + row * PZ]);
    }
    const float* plane = &shared.p[(n + R) % RING][own];
    float4 lap[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      const float* edge = shared.edge[n % EDGE_RING][y + row];
      const float4 low = load4(left ? edge : plane + row * PZ - 4);
      const float4 high = load4(right ? edge + H : plane + row * PZ + 4);
      const float4 mid = queue[R][row];
      const float line[12] = {low.x, low.y, low.z,  low.w,  mid.x,  mid.y,
                              mid.z, mid.w, high.x, high.y, high.z, high.w};
      float sum[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[e] = mul(s.centre, line[4 + e]);
#pragma unroll
        for (int r = 1; r <= R; ++r)
          sum[e] = pair(s.second[2][r], line[4 + e - r], line[4 + e + r], sum[e]);
      }
      lap[row] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
    {
      // Rows y - R .. y + ROWS + R - 1, each read once for all rows of the thread.
      float4 column[ROWS + 2 * R];
#pragma unroll
      for (int r = 0; r < ROWS + 2 * R; ++r)
        column[r] = r >= R && r < R + ROWS ? queue[R][r - R] : load4(plane + (r - R) * PZ);
#pragma unroll
      for (int row = 0; row < ROWS; ++row)
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          const float w = s.second[1][r];
          const float4 a = column[R + row - r], b = column[R + row + r];
          lap[row].x = pair(w, a.x, b.x, lap[row].x);
          lap[row].y = pair(w, a.y, b.y, lap[row].y);
          lap[row].z = pair(w, a.z, b.z, lap[row].z);
          lap[row].w = pair(w, a.w, b.w, lap[row].w);
        }
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
#pragma unroll
      for (int r = 1; r <= R; ++r) {
        const float w = s.second[0][r];
        const float4 a = queue[R - r][row], b = queue[R + r][row];
        lap[row].x = pair(w, a.x, b.x, lap[row].x);
        lap[row].y = pair(w, a.y, b.y, lap[row].y);
        lap[row].z = pair(w, a.z, b.z, lap[row].z);
        lap[row].w = pair(w, a.w, b.w, lap[row].w);
      }
    barrier_wait(&shared.full_streams[n % STREAM_RING], (n / STREAM_RING) & 1);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      const float4 c = queue[R][row];
      const float4 before = load4(&shared.prev[n % STREAM_RING][(y + row) * TZ + z]);
      const float4 speed = load4(&shared.v[n % STREAM_RING][(y + row) * TZ + z]);
      const float4 after = make_float4(
          leap(c.x, before.x, speed.x, lap[row].x), leap(c.y, before.y, speed.y, lap[row].y),
          leap(c.z, before.z, speed.z, lap[row].z), leap(c.w, before.w, speed.w, lap[row].w));
      if (j0 + y + row < s.end[1]) {
        float* to = out + row * s.stride_y;
        if (whole) {
          *reinterpret_cast<float4*>(to) = after;
        } else {
          if (k < s.end[2]) to[0] = after.x;
          if (k + 1 < s.end[2]) to[1] = after.y;
          if (k + 2 < s.end[2]) to[2] = after.z;
        }
      }
    }
    copy_async_wait<EDGE_RING - 2>();
    __syncthreads();
    if (thread == 0) {
      // Plane n + R was read for the last time before this barrier.
      if (n + R + RING < last_plane) fetch_plane(n + R + RING);
      if (n + STREAM_RING < count) fetch_streams(n + STREAM_RING);
    }
  }
}

}  // namespace

#define TEMBLOR_TMA(NAME, R)                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, 1)                                       \
      NAME(const __grid_constant__ TemblorStep s, const __grid_constant__ CUtensorMap p,         \
           const __grid_constant__ CUtensorMap prev, const __grid_constant__ CUtensorMap v,      \
           const float* __restrict__ node, float* __restrict__ next,                             \
           const __grid_constant__ TemblorTiles tiles, int32_t halo_x, int32_t halo_y,           \
           int32_t halo_z) {                                                                     \
    step_tile<R>(s, &p, &prev, &v, node, next, tiles, halo_x, halo_y, halo_z);                   \
  }
TEMBLOR_TMA(acoustic_iso_tma, 4)
TEMBLOR_TMA(acoustic_iso_tma_r3, 3)
TEMBLOR_TMA(acoustic_iso_tma_r2, 2)
