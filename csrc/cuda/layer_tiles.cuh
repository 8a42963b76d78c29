// Tiles of the absorbing layers in shared memory, order 8, four nodes along z per thread.
// A block takes `rows` rows of `lanes` groups and marches along the third axis. Whatever a plane
// needs comes by cp.async DEPTH planes ahead: p with four rows on either side into a ring of planes,
// the other streams and the groups beside each row into stages. What is never fetched reads as zero:
// p beyond open faces, memory variables where none are stored.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "minimod.cuh"
#include "tma.cuh"

namespace temblor {

constexpr int RADIUS = 4;

// Position in a ring of SIZE places.
template <int SIZE>
__device__ __forceinline__ int around(int place) {
  return place < SIZE ? place : place - SIZE;
}

__device__ __forceinline__ float4 load_group(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

__device__ __forceinline__ void store_group(float* to, const float (&value)[4], int count) {
  if (count >= 4) {
    *reinterpret_cast<float4*>(to) = make_float4(value[0], value[1], value[2], value[3]);
  } else {
    to[0] = value[0];
    if (count > 1) to[1] = value[1];
    if (count > 2) to[2] = value[2];
  }
}

__device__ __forceinline__ void split(float (&to)[4], const float4& from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}

// sum += value
__device__ __forceinline__ void gain(float (&sum)[4], const float (&value)[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e) sum[e] = add(sum[e], value[e]);
}

// sum += weight (low + high)
__device__ __forceinline__ void gain_pair(float (&sum)[4], float weight, const float4& low,
                                          const float4& high) {
  float below[4], above[4];
  split(below, low);
  split(above, high);
#pragma unroll
  for (int e = 0; e < 4; ++e) sum[e] = pair(weight, below[e], above[e], sum[e]);
}

// sum += weight (high - low)
__device__ __forceinline__ void gain_slope(float (&sum)[4], float weight, const float4& low,
                                           const float4& high) {
  float below[4], above[4];
  split(below, low);
  split(above, high);
#pragma unroll
  for (int e = 0; e < 4; ++e) sum[e] = fma_rn(weight, sub(above[e], below[e]), sum[e]);
}

// Twelve nodes in a row from three groups.
__device__ __forceinline__ void line_of(float (&to)[12], const float4& low, const float4& centre,
                                        const float4& high) {
  const float4 all[3] = {low, centre, high};
#pragma unroll
  for (int n = 0; n < 3; ++n) {
    to[4 * n] = all[n].x;
    to[4 * n + 1] = all[n].y;
    to[4 * n + 2] = all[n].z;
    to[4 * n + 3] = all[n].w;
  }
}

__device__ __forceinline__ int box_of(const TemblorLayerTiles& g) {
  int b = 0;
  while (b + 1 < g.count && int(blockIdx.x) >= g.first_block[b + 1]) ++b;
  return b;
}

// The block's tile, rows along axis ROW (0 x, 1 y), and the thread's part of it: its own group, one of
// the four rows on either side, and one of the groups beside the rows.
template <int ROW, int THREADS>
struct LayerTile {
  static constexpr int MARCH = 1 - ROW;
  int rows, lanes, groups, wide;  // groups of the tile, and with the rows on either side
  int i0, count, j0, k0, end_j, end_k;
  int t, row, lane, j, k, halo_row, halo_j, halo_at, edge_row, edge_j, edge_k, edge_at;
  bool mine, active, fetch_own, fetch_halo, fetch_edge;
  int own, halo, edge;
  int64_t step, origin;

  __device__ __forceinline__ LayerTile(const TemblorStep& s, const TemblorLayerTiles& g, int b) {
    t = int(threadIdx.x);
    rows = g.rows[b];
    lanes = g.lanes[b];
    int local = int(blockIdx.x) - g.first_block[b];
    k0 = g.begin[b][2] + 4 * (local % g.tiles_z[b]) * lanes;
    local /= g.tiles_z[b];
    j0 = g.begin[b][ROW] + local % g.tiles_row[b] * rows;
    i0 = g.begin[b][MARCH] + local / g.tiles_row[b] * g.planes[b];
    count = min(g.planes[b], g.end[b][MARCH] - i0);
    end_j = g.end[b][ROW];
    end_k = g.end[b][2];
    groups = rows * lanes;
    wide = groups + 2 * RADIUS * lanes;
    row = t / lanes;
    lane = t - row * lanes;
    j = j0 + row;
    k = k0 + 4 * lane;
    mine = t < groups;
    active = mine && j < end_j && k < end_k;
    const int row_step = int(ROW == 0 ? s.stride_x : s.stride_y);
    step = ROW == 0 ? s.stride_y : s.stride_x;
    origin = i0 * step + int64_t(j0) * row_step + k0;
    const bool open_j0 = g.open >> (2 * ROW) & 1, open_j1 = g.open >> (2 * ROW + 1) & 1;
    const bool open_k0 = g.open >> 4 & 1, open_k1 = g.open >> 5 & 1;
    const int first_j = open_j0 ? 0 : -RADIUS, first_k = open_k0 ? 0 : -RADIUS;
    const int last_j = min(s.nodes[ROW] + (open_j1 ? 0 : RADIUS), end_j + RADIUS);
    const int last_k = min(s.nodes[2] + (open_k1 ? 0 : RADIUS), end_k + RADIUS);
    own = row * row_step + 4 * lane;
    fetch_own = mine && j < last_j && k < last_k;
    halo_row = row < RADIUS ? row - RADIUS : rows + row - RADIUS;
    halo_j = j0 + halo_row;
    halo_at = (halo_row + RADIUS) * lanes + lane;
    halo = halo_row * row_step + 4 * lane;
    fetch_halo =
        t < 2 * RADIUS * lanes && halo_j >= first_j && halo_j < last_j && k < end_k;
    // Other warps than those that fetch the rows.
    edge_at = THREADS - 1 - t;
    edge_row = edge_at >> 1;
    edge_j = j0 + edge_row;
    edge_k = edge_at & 1 ? k0 + 4 * lanes : k0 - RADIUS;
    edge = edge_row * row_step + edge_k - k0;
    fetch_edge = edge_at < 2 * rows && edge_j < end_j && edge_k >= first_k && edge_k < last_k;
  }

  // Copies a plane of p with its rows on either side.
  __device__ __forceinline__ void fetch_plane(float4* to, const float* plane) const {
    if (fetch_own) copy_async(to + RADIUS * lanes + t, plane + own);
    if (fetch_halo) copy_async(to + halo_at, plane + halo);
  }

  // The groups before and after the thread's in a row whose tile has its groups at `at` and what lies
  // beside the rows at `beside`.
  __device__ __forceinline__ float4 before(const float4* at, const float4* beside) const {
    return *(lane == 0 ? beside + 2 * row : at - 1);
  }
  __device__ __forceinline__ float4 after(const float4* at, const float4* beside) const {
    return *(lane == lanes - 1 ? beside + 2 * row + 1 : at + 1);
  }
};

// Wavefields in single precision and their planes of a tile: p in a ring of planes that are fetched
// DEPTH ahead; a stage holds p-, v, and p beside the rows.
struct Floats {
  const float *p, *prev;
  float* next;
  const float* v;
  // Whether the terms of the axes are summed one by one, along z, y, x, as the general kernel of the same
  // fields does.
  static constexpr bool APART = false;

  template <int ROW, int THREADS, int DEPTH>
  struct Planes {
    static constexpr int R = RADIUS, SLOTS = R + 1 + DEPTH;
    const LayerTile<ROW, THREADS>& tile;
    const Floats& f;
    float4* const ring;
    int slot = 0;

    __device__ __forceinline__ Planes(const LayerTile<ROW, THREADS>& tile, const Floats& fields,
                                      float4* shared)
        : tile(tile), f(fields), ring(shared) {}

    // Groups of shared memory that the planes take, and a stage of them.
    __device__ __forceinline__ int room() const { return SLOTS * tile.wide; }
    __device__ __forceinline__ int stage_size() const { return 2 * tile.groups + 2 * tile.rows; }

    // Planes -4 .. -1 of p live in registers only, 0 .. 3 in the first slots.
    __device__ __forceinline__ void ask() const {
#pragma unroll
      for (int r = 0; r < R; ++r)
        tile.fetch_plane(ring + r * tile.wide, f.p + tile.origin + r * tile.step);
    }

    // Asks for what plane n needs, `ahead` of the present one; plane n + R of p is new.
    __device__ __forceinline__ void fetch(int n, int ahead, float4* stage) const {
      const int64_t at = tile.origin + n * tile.step;
      tile.fetch_plane(ring + around<SLOTS>(slot + R + ahead) * tile.wide,
                       f.p + at + R * tile.step);
      if (tile.active) {
        copy_async(stage + tile.t, f.prev + at + tile.own);
        copy_async(stage + tile.groups + tile.t, f.v + at + tile.own);
      }
      if (tile.fetch_edge)
        copy_async(stage + 2 * tile.groups + tile.edge_at, f.p + at + tile.edge);
    }

    // p of planes -4 .. 3 at the thread's group, when all but what was fetched last has come.
    __device__ __forceinline__ void start(float4 (&queue)[2 * R + 1]) const {
      if (tile.active) {
#pragma unroll
        for (int r = 0; r < R; ++r)
          queue[r + 1] = load_group(f.p + tile.origin + (r - R) * tile.step + tile.own);
      }
      copy_async_wait<DEPTH>();
      if (tile.active) {
#pragma unroll
        for (int r = 0; r < R; ++r)
          queue[R + r + 1] = ring[r * tile.wide + R * tile.lanes + tile.t];
      }
    }

    // What a thread does to what it fetched before others read it.
    __device__ __forceinline__ void decode(float4 (&)[2 * R + 1], int, const float4*) const {}

    __device__ __forceinline__ void enter(float4 (&queue)[2 * R + 1]) const {
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
      queue[2 * R] = ring[around<SLOTS>(slot + R) * tile.wide + R * tile.lanes + tile.t];
    }

    // The thread's group of the present plane, and what lies beside the rows.
    __device__ __forceinline__ const float4* plane() const {
      return ring + slot * tile.wide + R * tile.lanes + tile.t;
    }
    __device__ __forceinline__ const float4* beside(const float4* stage) const {
      return stage + 2 * tile.groups;
    }

    __device__ __forceinline__ void store(int n, const float (&after)[4]) const {
      store_group(f.next + tile.origin + n * tile.step + tile.own, after, tile.end_k - tile.k);
    }

    // p+ of plane n from p and its Laplacian.
    __device__ __forceinline__ void leap(int n, const float (&c)[4], const float (&lap)[4],
                                         const float4* stage) const {
      float old[4], speed[4], after[4];
      split(old, stage[tile.t]);
      split(speed, stage[tile.groups + tile.t]);
#pragma unroll
      for (int e = 0; e < 4; ++e) after[e] = temblor::leap(c[e], old[e], speed[e], lap[e]);
      store(n, after);
    }

    // The same in Minimod's layer, given lap + phi.
    __device__ __forceinline__ void damp(int n, const float (&c)[4], const float (&lap)[4],
                                         const float (&eta)[4], const float4* stage) const {
      float old[4], speed[4], after[4];
      split(old, stage[tile.t]);
      split(speed, stage[tile.groups + tile.t]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float weight = fma_rn(eta[e], sub(2.0f, eta[e]), 2.0f);
        const float total = fma_rn(speed[e], lap[e], fma_rn(weight, c[e], -old[e]));
        after[e] = mul(total, inverse(fma_rn(2.0f, eta[e], 1.0f)));
      }
      store(n, after);
    }

    // What all threads do together after that.
    __device__ __forceinline__ void give(int) const {}
    __device__ __forceinline__ void turn() { slot = around<SLOTS>(slot + 1); }
  };
};

}  // namespace temblor
