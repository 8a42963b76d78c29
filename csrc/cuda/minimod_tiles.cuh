// Minimod's eta/phi layer in tiles (layer_tiles.cuh), order 8, whatever holds the wavefields. The same
// equations and storage as acoustic_iso_layers.cu (Meng et al. 2020; minimod.rs), with eta as three
// profiles.
// In x slabs rows lie along x and blocks march along y, elsewhere rows lie along y and blocks march along
// x.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "layer_tiles.cuh"
#include "minimod.cuh"

namespace temblor {

constexpr int MINIMOD_THREADS = 224;

template <class Fields, int ROW>
__device__ __forceinline__ void march_minimod(const TemblorStep& s, const TemblorLayerTiles& g,
                                              int b, const TemblorMinimod& m,
                                              const Fields& fields, float4* shared) {
  constexpr int R = RADIUS, THREADS = MINIMOD_THREADS, MARCH = 1 - ROW;
  // Planes fetched ahead.
  constexpr int DEPTH = 2, STAGES = DEPTH + 1;
  constexpr bool APART = Fields::APART;
  const LayerTile<ROW, THREADS> tile(s, g, b);
  typename Fields::template Planes<ROW, THREADS, DEPTH> planes(tile, fields, shared);
  const int t = tile.t, lanes = tile.lanes;
  const int count = tile.count, j = tile.j, k = tile.k;

  const int row_z = (g.end[b][2] - g.begin[b][2] + 7) / 8 * 8;
  const int64_t plane_x = int64_t(row_z) * (g.end[b][1] - g.begin[b][1]);
  const int64_t step_phi = ROW == 0 ? row_z : plane_x, row_phi = ROW == 0 ? plane_x : row_z;
  float* const phi = m.phi + g.first_element[b] + (tile.i0 - g.begin[b][MARCH]) * step_phi +
                     (j - g.begin[b][ROW]) * row_phi + (k - g.begin[b][2]);

  // A stage: what `planes` want, and phi.
  const int at_phi = planes.stage_size(), stage_size = at_phi + tile.groups;
  const int room = planes.room();
  float4* const stages = shared + room;
  for (int n = t; n < room + STAGES * stage_size; n += THREADS)
    shared[n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  __syncthreads();

  // Fetches what plane n needs, `ahead` of the present one; plane n + R of p is new.
  auto fetch = [&](int n, int ahead, float4* stage) {
    if (n < count) {
      planes.fetch(n, ahead, stage);
      if (tile.active) copy_async(stage + at_phi + t, phi + n * step_phi);
    }
    copy_async_commit();
  };

  planes.ask();
  copy_async_commit();
#pragma unroll
  for (int n = 0; n < DEPTH; ++n) fetch(n, n, stages + n * stage_size);
  float4 queue[2 * R + 1];
  planes.start(queue);

  // eta and its slope along the rows and along z. Beyond the last node nothing is stored, and with eta
  // below zero phi stays zero.
  float eta_r = 0.0f, eta_rest[4], slope_z[4], slope_r = 0.0f;
  if (tile.active) {
    const float* const eta_z = m.eta[2] + k;
    eta_r = m.eta[ROW][j];
    slope_r = mul(m.quarter[ROW], sub(m.eta[ROW][j + 1], m.eta[ROW][j - 1]));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const bool inside = k + e < s.nodes[2];
      eta_rest[e] = !inside ? -1e6f : APART ? eta_z[e] : add(eta_r, eta_z[e]);
      slope_z[e] = inside ? mul(m.quarter[2], sub(eta_z[e + 1], eta_z[e - 1])) : 0.0f;
    }
  }

  int stage_at = 0;
#pragma unroll 1
  for (int n = 0; n < count; ++n) {
    copy_async_wait<DEPTH - 1>();
    const float4* const stage = stages + stage_at * stage_size;
    planes.decode(queue, n, stage);
    __syncthreads();
    fetch(n + DEPTH, DEPTH, stages + around<STAGES>(stage_at + DEPTH) * stage_size);
    if (tile.active) {
      planes.enter(queue);
      const float4* const plane = planes.plane();
      const float4* const beside = planes.beside(stage);
      const int i = tile.i0 + n;
      const float eta_m = m.eta[MARCH][i];
      const float slope_m = mul(m.quarter[MARCH], sub(m.eta[MARCH][i + 1], m.eta[MARCH][i - 1]));
      float c[4], sum[4], along_row[4], along_march[4], fall[4], line[12];
      split(c, queue[R]);
      line_of(line, tile.before(plane, beside), queue[R], tile.after(plane, beside));
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[e] = mul(APART ? s.second[2][0] : s.centre, c[e]);
        along_row[e] = mul(s.second[ROW][0], c[e]);
        along_march[e] = mul(s.second[MARCH][0], c[e]);
        fall[e] = mul(slope_z[e], sub(line[5 + e], line[3 + e]));
#pragma unroll
        for (int r = 1; r <= R; ++r)
          sum[e] = pair(s.second[2][r], line[4 + e - r], line[4 + e + r], sum[e]);
      }
      float(&row)[4] = APART ? along_row : sum;
      float(&march)[4] = APART ? along_march : sum;
#pragma unroll
      for (int r = 1; r <= R; ++r)
        gain_pair(row, s.second[ROW][r], plane[-r * lanes], plane[r * lanes]);
      // Where axes are apart, x is the last one.
      if (!APART || ROW == 1) gain_slope(fall, slope_r, plane[-lanes], plane[lanes]);
      if (APART && ROW == 1) gain(sum, row);
#pragma unroll
      for (int r = 1; r <= R; ++r)
        gain_pair(march, s.second[MARCH][r], queue[R - r], queue[R + r]);
      gain_slope(fall, slope_m, queue[R - 1], queue[R + 1]);
      if (APART) gain(sum, march);
      if (APART && ROW == 0) {
        gain_slope(fall, slope_r, plane[-lanes], plane[lanes]);
        gain(sum, row);
      }
      float old_phi[4], eta[4], new_phi[4];
      split(old_phi, stage[at_phi + t]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        eta[e] = add(APART ? add(eta_m, eta_r) : eta_m, eta_rest[e]);
        // A box may hold nodes beside the layer, where phi stays zero.
        new_phi[e] =
            eta[e] > 0.0f ? mul(sub(old_phi[e], fall[e]), inverse(add(1.0f, eta[e]))) : 0.0f;
      }
      gain(sum, old_phi);
      planes.damp(n, c, sum, eta, stage);
      store_group(phi + n * step_phi, new_phi, 4);
    }
    planes.give(n);
    planes.turn();
    stage_at = around<STAGES>(stage_at + 1);
  }
}

template <class Fields>
__device__ __forceinline__ void step_minimod(const TemblorStep& s, const TemblorLayerTiles& g,
                                             const TemblorMinimod& m, const Fields& fields,
                                             float4* shared) {
  const int b = box_of(g);
  if (g.march[b] == 1) {
    march_minimod<Fields, 0>(s, g, b, m, fields, shared);
  } else {
    march_minimod<Fields, 1>(s, g, b, m, fields, shared);
  }
}

}  // namespace temblor
