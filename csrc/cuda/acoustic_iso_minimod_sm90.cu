// Isotropic acoustics, one leapfrog step in Minimod's eta/phi layer, order 8, 3-D, tiles in shared
// memory. The same equations and storage as acoustic_iso_layers.cu (Meng et al. 2020; minimod.rs), with
// eta as three profiles.
// Layout (x, y, z), z fastest; groups of four nodes along z lie on 16 B in all arrays, phi too.
// Boxes: disjoint, up to six in one launch. In x slabs rows lie along x and blocks march along y,
// elsewhere rows lie along y and blocks march along x. next may be prev.
// sm_80 and newer, tuned for sm_90: 224 threads, two blocks per SM, about 65 KiB shared each.
// 24 B per point; 28 B between L2 and SM.
// On an H200, layers of 27 cells alone, Gpts/s at 512^3 / 800^3 / 256^3, N of the layers:
//   137 / 140 / 115  (acoustic_iso_minimod_r4: 111 / 115 / 92; least bytes at the roof: 183 / 185 / 173)
//   137 / 138 / 112  three planes fetched ahead
//   137 / 137 / 105  one block of 448 threads, tiles of 64 nodes along z
//   120 / 122 / 106  one block of 384 threads, tiles of 56 nodes, not on cache lines
//   108 / 110        tiles of 56 to 64 nodes and layers of 28 nodes along z, not on cache lines
//    81 / 81         neighbours along the march from shared memory, p-, v and phi into registers
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "layer_tiles.cuh"

namespace {

using namespace temblor;

constexpr int R = RADIUS, THREADS = 224, DEPTH = 2;
constexpr int SLOTS = R + 1 + DEPTH, STAGES = DEPTH + 1;

// 1/x to a unit or two in the last place.
__device__ __forceinline__ float inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return fma_rn(y, fma_rn(-x, y, 1.0f), y);
}

template <int ROW>
__device__ __forceinline__ void march(const TemblorStep& s, const TemblorLayerTiles& g, int b,
                                      const TemblorMinimod& m, const float* __restrict__ p,
                                      const float* prev, float* next,
                                      const float* __restrict__ v, float4* shared) {
  constexpr int MARCH = 1 - ROW;
  const LayerTile<ROW, THREADS> tile(s, g, b);
  const int t = tile.t, lanes = tile.lanes, groups = tile.groups, wide = tile.wide;
  const int count = tile.count, j = tile.j, k = tile.k;

  const int row_z = (g.end[b][2] - g.begin[b][2] + 7) / 8 * 8;
  const int64_t plane_x = int64_t(row_z) * (g.end[b][1] - g.begin[b][1]);
  const int64_t step_phi = ROW == 0 ? row_z : plane_x, row_phi = ROW == 0 ? plane_x : row_z;
  float* const phi = m.phi + g.first_element[b] + (tile.i0 - g.begin[b][MARCH]) * step_phi +
                     (j - g.begin[b][ROW]) * row_phi + (k - g.begin[b][2]);

  // A stage: p-, v, phi, p beside the rows.
  const int at_v = groups, at_phi = 2 * groups, at_edge = 3 * groups;
  const int stage_size = at_edge + 2 * tile.rows;
  float4* const stages = shared + SLOTS * wide;
  for (int n = t; n < SLOTS * wide + STAGES * stage_size; n += THREADS)
    shared[n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  __syncthreads();

  // Fetches what plane n needs; plane n + R of p is new.
  auto fetch = [&](int n, float4* slot, float4* stage) {
    if (n < count) {
      const int64_t at = tile.origin + n * tile.step;
      tile.fetch_plane(slot, p + at + R * tile.step);
      if (tile.active) {
        copy_async(stage + t, prev + at + tile.own);
        copy_async(stage + at_v + t, v + at + tile.own);
        copy_async(stage + at_phi + t, phi + n * step_phi);
      }
      if (tile.fetch_edge) copy_async(stage + at_edge + tile.edge_at, p + at + tile.edge);
    }
    copy_async_commit();
  };

  // Planes -4 .. -1 of p live in registers only, 0 .. 3 in the first slots.
#pragma unroll
  for (int r = 0; r < R; ++r)
    tile.fetch_plane(shared + r * wide, p + tile.origin + r * tile.step);
  copy_async_commit();
#pragma unroll
  for (int n = 0; n < DEPTH; ++n)
    fetch(n, shared + (R + n) * wide, stages + n * stage_size);
  float4 queue[2 * R + 1];
  if (tile.active) {
#pragma unroll
    for (int r = 0; r < R; ++r)
      queue[r + 1] = load_group(p + tile.origin + (r - R) * tile.step + tile.own);
  }
  copy_async_wait<DEPTH>();
  if (tile.active) {
#pragma unroll
    for (int r = 0; r < R; ++r) queue[R + r + 1] = shared[r * wide + R * lanes + t];
  }

  // eta and its slope along the rows and along z. Beyond the last node nothing is stored, and with eta
  // below zero phi stays zero.
  float eta_rest[4], slope_z[4], slope_r = 0.0f;
  if (tile.active) {
    const float* const eta_z = m.eta[2] + k;
    const float eta_r = m.eta[ROW][j];
    slope_r = mul(m.quarter[ROW], sub(m.eta[ROW][j + 1], m.eta[ROW][j - 1]));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const bool inside = k + e < s.nodes[2];
      eta_rest[e] = inside ? add(eta_r, eta_z[e]) : -1e6f;
      slope_z[e] = inside ? mul(m.quarter[2], sub(eta_z[e + 1], eta_z[e - 1])) : 0.0f;
    }
  }

  int slot = 0, stage_at = 0;
#pragma unroll 1
  for (int n = 0; n < count; ++n) {
    copy_async_wait<DEPTH - 1>();
    __syncthreads();
    fetch(n + DEPTH, shared + around<SLOTS>(slot + R + DEPTH) * wide,
          stages + around<STAGES>(stage_at + DEPTH) * stage_size);
    if (tile.active) {
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
      queue[2 * R] = shared[around<SLOTS>(slot + R) * wide + R * lanes + t];
      const float4* const plane = shared + slot * wide + R * lanes + t;
      const float4* const stage = stages + stage_at * stage_size;
      const int i = tile.i0 + n;
      const float eta_m = m.eta[MARCH][i];
      const float slope_m = mul(m.quarter[MARCH], sub(m.eta[MARCH][i + 1], m.eta[MARCH][i - 1]));
      float c[4], sum[4], fall[4], line[12];
      split(c, queue[R]);
      line_of(line, tile.before(plane, stage + at_edge), queue[R],
              tile.after(plane, stage + at_edge));
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[e] = mul(s.centre, c[e]);
        fall[e] = mul(slope_z[e], sub(line[5 + e], line[3 + e]));
#pragma unroll
        for (int r = 1; r <= R; ++r)
          sum[e] = pair(s.second[2][r], line[4 + e - r], line[4 + e + r], sum[e]);
      }
#pragma unroll
      for (int r = 1; r <= R; ++r) {
        float low[4], high[4];
        split(low, plane[-r * lanes]);
        split(high, plane[r * lanes]);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          sum[e] = pair(s.second[ROW][r], low[e], high[e], sum[e]);
          if (r == 1) fall[e] = fma_rn(slope_r, sub(high[e], low[e]), fall[e]);
        }
      }
#pragma unroll
      for (int r = 1; r <= R; ++r) {
        float low[4], high[4];
        split(low, queue[R - r]);
        split(high, queue[R + r]);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          sum[e] = pair(s.second[MARCH][r], low[e], high[e], sum[e]);
          if (r == 1) fall[e] = fma_rn(slope_m, sub(high[e], low[e]), fall[e]);
        }
      }
      float old[4], speed[4], old_phi[4], after[4], new_phi[4];
      split(old, stage[t]);
      split(speed, stage[at_v + t]);
      split(old_phi, stage[at_phi + t]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float eta = add(eta_m, eta_rest[e]);
        const float weight = fma_rn(eta, sub(2.0f, eta), 2.0f);
        const float total =
            fma_rn(speed[e], add(sum[e], old_phi[e]), fma_rn(weight, c[e], -old[e]));
        after[e] = mul(total, inverse(fma_rn(2.0f, eta, 1.0f)));
        // A box may hold nodes beside the layer, where phi stays zero.
        new_phi[e] = eta > 0.0f ? mul(sub(old_phi[e], fall[e]), inverse(add(1.0f, eta))) : 0.0f;
      }
      store_group(next + tile.origin + n * tile.step + tile.own, after, tile.end_k - k);
      store_group(phi + n * step_phi, new_phi, 4);
    }
    slot = around<SLOTS>(slot + 1);
    stage_at = around<STAGES>(stage_at + 1);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    acoustic_iso_minimod(const __grid_constant__ TemblorStep s,
                         const __grid_constant__ TemblorLayerTiles g,
                         const __grid_constant__ TemblorMinimod m, const float* p,
                         const float* prev, float* next, const float* v) {
  extern __shared__ float4 shared[];
  const int b = box_of(g);
  if (g.march[b] == 1) {
    march<0>(s, g, b, m, p, prev, next, v, shared);
  } else {
    march<1>(s, g, b, m, p, prev, next, v, shared);
  }
}
