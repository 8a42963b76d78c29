// Two fused steps for one radius; included once per radius by acoustic_iso_fused2_sm90.cu, which says what it
// does. (As a template over the radius the kernel of radius 4 came out 8 instructions longer.)
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "four.cuh"
#include "tiles.cuh"
#include "tma.cuh"

namespace TEMBLOR_FUSED2_OF {

using namespace temblor;

// Halo along z: nodes come in fours.
constexpr int H = 4;
constexpr int THREADS = 512;
constexpr int TZ = 56;                   // what a tile gives out along z
constexpr int MZ = TZ + 2 * H, MY = 32;  // where p^(n+1) is computed
constexpr int PZ = MZ + 2 * H;           // where p^n is read
constexpr int R = TEMBLOR_RADIUS, RING = 8, PREV_RING = 3;
constexpr int MIDDLE = MZ * MY, QUEUE = 2 * R + 1;
static_assert(MZ / 4 * MY == THREADS, "a thread per four nodes of the middle step");

struct Shared {
  static_assert(R <= H && 2 * R <= RING, "taps beyond the halo or the ring");
  static constexpr int MIDDLE_RING = R + 1, SPEED_RING = PREV_RING + R;
  static constexpr int PLANE = PZ * (MY + 2 * R);
  // Bulk tensor copies write to multiples of 128 B.
  static constexpr int ROOM = (PLANE + 31) / 32 * 32;
  float p[RING][ROOM];
  float middle[MIDDLE_RING][MIDDLE];
  float v[SPEED_RING][MIDDLE];
  float prev[PREV_RING][MIDDLE];
  uint64_t full[RING];
  uint64_t full_streams[PREV_RING];
};

__device__ __forceinline__ float4 pair4(float w, const float4& a, const float4& b, float4 acc) {
  acc.x = pair(w, a.x, b.x, acc.x);
  acc.y = pair(w, a.y, b.y, acc.y);
  acc.z = pair(w, a.z, b.z, acc.z);
  acc.w = pair(w, a.w, b.w, acc.w);
  return acc;
}

// Laplacian of four nodes; `plane` points at them in a plane of pitch P, `queue` holds their
// planes along x, the first one in place `turn`.
template <int P>
__device__ __forceinline__ float4 laplacian(const TemblorStep& s, const float* plane,
                                            const float4 (&queue)[QUEUE], int turn) {
  float4 lap = along_z<R>(s, load4(plane - 4), queue[(turn + R) % QUEUE], load4(plane + 4));
#pragma unroll
  for (int r = 1; r <= R; ++r)
    lap = pair4(s.second[1][r], load4(plane - r * P), load4(plane + r * P), lap);
#pragma unroll
  for (int r = 1; r <= R; ++r)
    lap = pair4(s.second[0][r], queue[(turn + R - r) % QUEUE], queue[(turn + R + r) % QUEUE], lap);
  return lap;
}

// Stores four nodes, of which the first `count` exist.
__device__ __forceinline__ void store4(float* to, const float4& value, int count) {
  if (count >= 4) {
    __stcs(reinterpret_cast<float4*>(to), value);
  } else {
    if (count > 0) to[0] = value.x;
    if (count > 1) to[1] = value.y;
    if (count > 2) to[2] = value.z;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    TEMBLOR_FUSED2(const __grid_constant__ TemblorStep s,
                   const __grid_constant__ TemblorTiles tiles,
                   const __grid_constant__ TemblorFused f, const __grid_constant__ CUtensorMap p,
                   const __grid_constant__ CUtensorMap prev,
                   const __grid_constant__ CUtensorMap v) {
  constexpr int TY = MY - 2 * R;
  constexpr int PLANE = Shared::PLANE, MIDDLE_RING = Shared::MIDDLE_RING,
                SPEED_RING = Shared::SPEED_RING;
  extern __shared__ __align__(128) unsigned char raw[];
  Shared& shared = *reinterpret_cast<Shared*>(raw);
  const March march = march_of(s, tiles);
  const int tile = march.tile, i0 = march.i0, i1 = march.i1;
  const int k0 = s.begin[2] + tile % tiles.tiles_z * TZ;
  const int j0 = s.begin[1] + tile / tiles.tiles_z * TY;
  const int thread = int(threadIdx.x);
  const int count = i1 - i0, last_plane = count + 4 * R, last_middle = count + 2 * R;
  // Neighbouring tiles read the rims of all streams again.
  const uint64_t keep = policy_normal();

  // Plane m of p^n, counted from i0 - 2R.
  auto fetch_plane = [&](int m) {
    uint64_t* barrier = &shared.full[m % RING];
    barrier_expect(barrier, PLANE * 4);
    copy_box(shared.p[m % RING], &p, barrier, f.halo[2] + k0 - 2 * H, f.halo[1] + j0 - 2 * R,
             f.halo[0] + i0 - 2 * R + m, keep);
  };
  // Plane n of p^(n-1) and v, counted from i0 - R.
  auto fetch_streams = [&](int n) {
    uint64_t* barrier = &shared.full_streams[n % PREV_RING];
    barrier_expect(barrier, 2 * MIDDLE * 4);
    const int z = f.halo[2] + k0 - H, y = f.halo[1] + j0 - R, x = f.halo[0] + i0 - R + n;
    copy_box(shared.prev[n % PREV_RING], &prev, barrier, z, y, x, keep);
    copy_box(shared.v[n % SPEED_RING], &v, barrier, z, y, x, keep);
  };
  if (thread == 0) {
    for (int n = 0; n < RING; ++n) barrier_init(&shared.full[n], 1);
    for (int n = 0; n < PREV_RING; ++n) barrier_init(&shared.full_streams[n], 1);
    barrier_init_fence();
    for (int m = 0; m < RING; ++m) fetch_plane(m);
    for (int n = 0; n < PREV_RING; ++n) fetch_streams(n);
  }
  __syncthreads();

  const int z = (thread & 15) * 4, y = thread >> 4;
  const int own = (y + R) * PZ + z + H, own_middle = y * MZ + z;
  const int k = k0 - H + z, j = j0 - R + y;
  // p^(n+1): computed inside the box, read where it is needed beside it, zero elsewhere.
  const bool row_inside = j >= s.begin[1] && j < s.end[1];
  const bool near = j < s.end[1] + R && k < s.end[2] + R;
  const int inside_z = row_inside && k >= s.begin[2] ? s.end[2] - k : 0;
  // Nodes that this thread gives out.
  const bool gives = y >= R && y < R + TY && z >= H && z < H + TZ;
  const int given = gives && j < s.end[1] ? s.end[2] - k : 0;

  // Unrolled nine times so that planes stay in their registers: shifting them took 64 moves.
  float4 queue[QUEUE], middle[QUEUE];
#pragma unroll
  for (int r = 0; r < QUEUE; ++r) middle[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int r = 0; r < 2 * R; ++r) {
    barrier_wait(&shared.full[r], 0);
    queue[r] = load4(&shared.p[r][own]);
  }
  __syncthreads();
  if (thread == 0)
    for (int m = RING; m < min(RING + R, last_plane); ++m) fetch_plane(m);

  int entry = f.sources > 0 ? f.entry_first[tile] : 0;
  const int entry_end = f.sources > 0 ? f.entry_first[tile + 1] : 0;
  while (entry < entry_end && f.entry_plane[entry] < i0 - R) ++entry;
  int source_plane = entry < entry_end ? f.entry_plane[entry] : INT32_MAX;

  int64_t at = int64_t(i0 - R) * s.stride_x + int64_t(j) * s.stride_y + k;
  for (int first = 0; first < last_middle; ++first) {
   constexpr int turn = 0;
   {
    const int n = first + turn, newest = n + 2 * R, i = i0 - R + n;
    barrier_wait(&shared.full[newest % RING], (newest / RING) & 1);
    const int last = (turn + 2 * R) % QUEUE, mid = (turn + R) % QUEUE;
    queue[last] = load4(&shared.p[newest % RING][own]);
    const float4 lap = laplacian<PZ>(s, &shared.p[(n + R) % RING][own], queue, turn);
    barrier_wait(&shared.full_streams[n % PREV_RING], (n / PREV_RING) & 1);
    const float4 speed = load4(&shared.v[n % SPEED_RING][own_middle]);
    float4 value =
        leap4(queue[mid], load4(&shared.prev[n % PREV_RING][own_middle]), speed, lap);
    if (i == source_plane) {
      while (entry < entry_end && f.entry_plane[entry] == i) {
        const int place = f.entry_place[entry];
        if (place / 4 == thread) {
          const int node = f.entry_node[entry];
          float sum = 0.0f;
          for (int t = f.term_first[node]; t < f.term_first[node + 1]; ++t)
            sum = fma_rn(f.term_weight[t], f.amplitudes[f.term_source[t]], sum);
          const int e = place % 4;
          if (e == 0) value.x = fma_rn(speed.x, sum, value.x);
          if (e == 1) value.y = fma_rn(speed.y, sum, value.y);
          if (e == 2) value.z = fma_rn(speed.z, sum, value.z);
          if (e == 3) value.w = fma_rn(speed.w, sum, value.w);
        }
        ++entry;
      }
      source_plane = entry < entry_end ? f.entry_plane[entry] : INT32_MAX;
    }
    const int computed = i >= s.begin[0] && i < s.end[0] ? inside_z : 0;
    if (computed < 4) {
      float4 read = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (near) read = load4(f.first + at);
      if (computed < 1) value.x = read.x;
      if (computed < 2) value.y = read.y;
      if (computed < 3) value.z = read.z;
      value.w = read.w;
    }
    middle[last] = value;
    *reinterpret_cast<float4*>(&shared.middle[n % MIDDLE_RING][own_middle]) = value;
    if (i >= i0 && i < i1) store4(f.first + at, value, given);
    if (n >= 2 * R && y >= R && y < R + TY) {
      const int centre = n - R;
      const float4 lap2 =
          laplacian<MZ>(s, &shared.middle[centre % MIDDLE_RING][own_middle], middle, turn);
      const float4 after = leap4(
          middle[mid], queue[turn], load4(&shared.v[centre % SPEED_RING][own_middle]), lap2);
      store4(f.second + at - R * s.stride_x, after, given);
    }
    __syncthreads();
    if (thread == 0) {
      if (n + R + RING < last_plane) fetch_plane(n + R + RING);
      if (n + PREV_RING < last_middle) fetch_streams(n + PREV_RING);
    }
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) {
      queue[r] = queue[r + 1];
      middle[r] = middle[r + 1];
    }
    at += s.stride_x;
   }
  }
}

}  // namespace TEMBLOR_FUSED2_OF
