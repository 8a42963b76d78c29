// The C-PML in tiles of the absorbing layers (layer_tiles.cuh), order 8, whatever holds the wavefields.
// The same equations and storage as acoustic_iso_layers.cu (Pasalic and McGarry 2010; cpml.rs).
// Where x is damped, rows cross the layer along x and blocks march along y; elsewhere rows lie along y and
// blocks march along x: so the q that a slope needs is in the tile, but for the ends of a march along
// y, which hold nine planes of q.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "layer_tiles.cuh"

namespace temblor {

constexpr int CPML_THREADS = 192;

// Where nodes of axis A have memory variables: below `low` and from `high` on, there stored `gap`
// further down; along z by groups of four.
template <int A>
struct Stored {
  int low, high, gap, nodes;
  __device__ __forceinline__ Stored(const TemblorStep& s, const TemblorCpml& m) {
    low = m.low[A];
    nodes = s.nodes[A];
    high = m.high[A] == 0 ? nodes : A == 2 ? (nodes - m.high[A]) / 4 * 4 : nodes - m.high[A];
    gap = m.gap[A];
  }
  __device__ __forceinline__ bool has(int node) const {
    return node >= 0 && node < nodes && (node < low || node >= high);
  }
  __device__ __forceinline__ int at(int node) const { return node < low ? node : node - gap; }
  // Whether the axis' term differs from the second derivative at any of nodes begin..end.
  __device__ __forceinline__ bool acts(int begin, int end) const {
    return (low > 0 && begin < low + RADIUS) || (high < nodes && end > high - RADIUS);
  }
};

// An axis' recursions; `second` becomes its term of the Laplacian.
__device__ __forceinline__ void recur(const float (&a)[4], const float (&b)[4],
                                      const float (&slope)[4], const float (&first)[4],
                                      float (&second)[4], const float (&q_first)[4],
                                      const float4& q, const float4& r, float* q_next,
                                      float* r_next) {
  float old_q[4], old_r[4], new_q[4], new_r[4];
  split(old_q, q);
  split(old_r, r);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float gained = add(1.0f, b[e]);
    const float t = add(fma_rn(gained, second[e], mul(slope[e], first[e])), q_first[e]);
    new_r[e] = mul(a[e], fma_rn(b[e], t, old_r[e]));
    new_q[e] = mul(a[e], fma_rn(b[e], first[e], old_q[e]));
    second[e] = fma_rn(gained, t, old_r[e]);
  }
  store_group(q_next, new_q, 4);
  store_group(r_next, new_r, 4);
}

__device__ __forceinline__ void fill(float (&to)[4], float value) {
#pragma unroll
  for (int e = 0; e < 4; ++e) to[e] = value;
}

// DR, DZ, DM: the C-PML acts along the rows, along z, along the march somewhere in the tile.
template <class Fields, int ROW, bool DR, bool DZ, bool DM>
__device__ __forceinline__ void march_cpml(const TemblorStep& s, const TemblorLayerTiles& g, int b,
                                           const TemblorCpml& m, const Fields& fields,
                                           float4* shared) {
  // Planes fetched ahead; the planes of q along the march take the room of the second.
  constexpr int R = RADIUS, THREADS = CPML_THREADS, MARCH = 1 - ROW, DEPTH = DM ? 1 : 2;
  constexpr int STAGES = DEPTH + 1, Q_SLOTS = 2 * R + 1 + DEPTH;
  constexpr bool APART = Fields::APART;
  const LayerTile<ROW, THREADS> tile(s, g, b);
  typename Fields::template Planes<ROW, THREADS, DEPTH> planes(tile, fields, shared);
  const int t = tile.t, lanes = tile.lanes, groups = tile.groups, wide = tile.wide;
  const int count = tile.count, j = tile.j, k = tile.k;

  const Stored<ROW> on_row(s, m);
  const Stored<2> on_z(s, m);
  const Stored<MARCH> on_march(s, m);
  // Memory variables along the rows: node (i, j, k) at i * step_r + at(j) * row_r + k.
  const int row_r = int(ROW == 0 ? m.stride_x[ROW] : m.stride_y[ROW]);
  const int64_t step_r = ROW == 0 ? m.stride_y[ROW] : m.stride_x[ROW];
  const int64_t from_r = tile.i0 * step_r + tile.k0;
  const bool has_r = DR && tile.mine && k < tile.end_k && on_row.has(j);
  const bool here_r = has_r && tile.active;
  const int own_r = on_row.at(j) * row_r + 4 * tile.lane;
  const bool halo_has_r = DR && t < 2 * R * lanes && k < tile.end_k && on_row.has(tile.halo_j);
  const int halo_r = on_row.at(tile.halo_j) * row_r + 4 * tile.lane;
  // Along z: at i * step_z + j * row_z + at(k).
  const int row_z = int(ROW == 0 ? m.stride_x[2] : m.stride_y[2]);
  const int64_t step_z = ROW == 0 ? m.stride_y[2] : m.stride_x[2];
  const int64_t from_z = tile.i0 * step_z + int64_t(tile.j0) * row_z;
  const bool has_z = DZ && tile.mine && j < tile.end_j && on_z.has(k);
  const bool here_z = has_z && tile.active;
  const int own_z = tile.row * row_z + on_z.at(k);
  const bool edge_has_z = DZ && tile.edge_at < 2 * tile.rows && tile.edge_j < tile.end_j &&
                          on_z.has(tile.edge_k);
  const int edge_z = tile.edge_row * row_z + on_z.at(tile.edge_k);

  // Along the march: at at(i) * step_m + j * row_m + k.
  const int64_t step_m = ROW == 0 ? m.stride_y[MARCH] : m.stride_x[MARCH];
  const int64_t row_m = ROW == 0 ? m.stride_x[MARCH] : m.stride_y[MARCH];
  const int64_t column_m = j * row_m + k;

  // A stage: what `planes` want, then q and r along the rows, then q, q beside the rows and r along z,
  // then r along the march.
  const int at_qr = planes.stage_size();
  const int at_r = at_qr + (DR ? wide : 0), at_qz = at_r + (DR ? groups : 0);
  const int at_ez = at_qz + (DZ ? groups : 0), at_rz = at_ez + (DZ ? 2 * tile.rows : 0);
  const int at_rm = at_rz + (DZ ? groups : 0), stage_size = at_rm + (DM ? groups : 0);
  const int room = planes.room();
  float4* const stages = shared + room;
  float4* const q_ring = stages + STAGES * stage_size;
  const int all = room + STAGES * stage_size + (DM ? Q_SLOTS * groups : 0);
  for (int n = t; n < all; n += THREADS)
    shared[n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  __syncthreads();

  // Plane n of q along the march, which only the thread itself reads, into its slot.
  auto fetch_q = [&](int n, float4* slot) {
    if (!tile.active) return;
    if (on_march.has(tile.i0 + n)) {
      copy_async(slot + t, m.q[MARCH] + on_march.at(tile.i0 + n) * step_m + column_m);
    } else {
      slot[t] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  };
  // Fetches what plane n needs, `ahead` of the present one; plane n + R of p and of q along the march
  // is new.
  auto fetch = [&](int n, int ahead, float4* stage, float4* q_slot) {
    if (n < count) {
      planes.fetch(n, ahead, stage);
      if (DR) {
        const int64_t from = from_r + n * step_r;
        if (has_r) copy_async(stage + at_qr + R * lanes + t, m.q[ROW] + from + own_r);
        if (halo_has_r) copy_async(stage + at_qr + tile.halo_at, m.q[ROW] + from + halo_r);
        if (here_r) copy_async(stage + at_r + t, m.r[ROW] + from + own_r);
      }
      if (DZ) {
        const int64_t from = from_z + n * step_z;
        if (has_z) copy_async(stage + at_qz + t, m.q[2] + from + own_z);
        if (edge_has_z) copy_async(stage + at_ez + tile.edge_at, m.q[2] + from + edge_z);
        if (here_z) copy_async(stage + at_rz + t, m.r[2] + from + own_z);
      }
      if (DM) {
        fetch_q(n + R, q_slot);
        if (tile.active && on_march.has(tile.i0 + n))
          copy_async(stage + at_rm + t,
                     m.r[MARCH] + on_march.at(tile.i0 + n) * step_m + column_m);
      }
    }
    copy_async_commit();
  };

  planes.ask();
  if (DM) {
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) fetch_q(r - R, q_ring + r * groups);
  }
  copy_async_commit();
#pragma unroll
  for (int n = 0; n < DEPTH; ++n)
    fetch(n, n, stages + n * stage_size, q_ring + (2 * R + n) * groups);
  float4 queue[2 * R + 1];
  planes.start(queue);
  float a_r = 0.0f, b_r = 0.0f, slope_r = 0.0f;
  if (here_r) {
    a_r = m.decay[ROW][j];
    b_r = m.gain[ROW][j];
    slope_r = m.slope[ROW][j];
  }
  int stage_at = 0, q_slot = 0;
#pragma unroll 1
  for (int n = 0; n < count; ++n) {
    copy_async_wait<DEPTH - 1>();
    const float4* const stage = stages + stage_at * stage_size;
    planes.decode(queue, n, stage);
    __syncthreads();
    fetch(n + DEPTH, DEPTH, stages + around<STAGES>(stage_at + DEPTH) * stage_size,
          q_ring + around<Q_SLOTS>(q_slot + 2 * R + DEPTH) * groups);
    if (tile.active) {
      planes.enter(queue);
      const float4* const plane = planes.plane();
      const float4* const beside = planes.beside(stage);
      float c[4], sum[4], along_row[4], along_march[4];
      split(c, queue[R]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[e] = 0.0f;
        if (!DR && !APART) sum[e] = fma_rn(s.second[ROW][0], c[e], sum[e]);
        if (!DM && !APART) sum[e] = fma_rn(s.second[MARCH][0], c[e], sum[e]);
        along_row[e] = mul(s.second[ROW][0], c[e]);
        along_march[e] = mul(s.second[MARCH][0], c[e]);
        if (!DZ) sum[e] = fma_rn(s.second[2][0], c[e], sum[e]);
      }
      {
        float line[12];
        line_of(line, tile.before(plane, beside), queue[R], tile.after(plane, beside));
        if (!DZ) {
#pragma unroll
          for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int r = 1; r <= R; ++r)
              sum[e] = pair(s.second[2][r], line[4 + e - r], line[4 + e + r], sum[e]);
        } else {
          float second[4], first[4], q_first[4], q_line[12];
          const float4* const q = stage + at_qz + t;
          line_of(q_line, tile.before(q, stage + at_ez), *q, tile.after(q, stage + at_ez));
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            second[e] = mul(s.second[2][0], c[e]);
            first[e] = q_first[e] = 0.0f;
#pragma unroll
            for (int r = 1; r <= R; ++r) {
              const float low = line[4 + e - r], high = line[4 + e + r];
              second[e] = pair(s.second[2][r], low, high, second[e]);
              first[e] = fma_rn(s.first[2][r], sub(high, low), first[e]);
              q_first[e] =
                  fma_rn(s.first[2][r], sub(q_line[4 + e + r], q_line[4 + e - r]), q_first[e]);
            }
          }
          if (here_z) {
            float a[4], b_z[4], slope[4];
            split(a, load_group(m.decay[2] + k));
            split(b_z, load_group(m.gain[2] + k));
            split(slope, load_group(m.slope[2] + k));
            const int64_t to = from_z + n * step_z + own_z;
            recur(a, b_z, slope, first, second, q_first, *q, stage[at_rz + t], m.q_next[2] + to,
                  m.r[2] + to);
          } else {
            gain(second, q_first);
          }
          gain(sum, second);
        }
      }
      if (!DR) {
        float(&to)[4] = APART ? along_row : sum;
#pragma unroll
        for (int r = 1; r <= R; ++r)
          gain_pair(to, s.second[ROW][r], plane[-r * lanes], plane[r * lanes]);
      } else {
        float first[4], q_first[4];
        const float4* const q = stage + at_qr + R * lanes + t;
        fill(first, 0.0f);
        fill(q_first, 0.0f);
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          // All at once: by gain_pair and gain_slope it spills.
          float low[4], high[4], q_low[4], q_high[4];
          split(low, plane[-r * lanes]);
          split(high, plane[r * lanes]);
          split(q_low, q[-r * lanes]);
          split(q_high, q[r * lanes]);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            along_row[e] = pair(s.second[ROW][r], low[e], high[e], along_row[e]);
            first[e] = fma_rn(s.first[ROW][r], sub(high[e], low[e]), first[e]);
            q_first[e] = fma_rn(s.first[ROW][r], sub(q_high[e], q_low[e]), q_first[e]);
          }
        }
        if (here_r) {
          float a[4], b_row[4], slope[4];
          fill(a, a_r);
          fill(b_row, b_r);
          fill(slope, slope_r);
          const int64_t to = from_r + n * step_r + own_r;
          recur(a, b_row, slope, first, along_row, q_first, *q, stage[at_r + t],
                m.q_next[ROW] + to, m.r[ROW] + to);
        } else {
          gain(along_row, q_first);
        }
      }
      if (ROW == 1 ? DR || APART : DR && !APART) gain(sum, along_row);
      if (!DM) {
        float(&to)[4] = APART ? along_march : sum;
#pragma unroll
        for (int r = 1; r <= R; ++r)
          gain_pair(to, s.second[MARCH][r], queue[R - r], queue[R + r]);
      } else {
        const int i = tile.i0 + n;
        float first[4];
        fill(first, 0.0f);
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          gain_pair(along_march, s.second[MARCH][r], queue[R - r], queue[R + r]);
          gain_slope(first, s.first[MARCH][r], queue[R - r], queue[R + r]);
        }
        if (on_march.acts(i, i + 1)) {
          float q_first[4];
          fill(q_first, 0.0f);
          auto q_at = [&](int r) { return q_ring[around<Q_SLOTS>(q_slot + R + r) * groups + t]; };
#pragma unroll
          for (int r = 1; r <= R; ++r) gain_slope(q_first, s.first[MARCH][r], q_at(-r), q_at(r));
          if (on_march.has(i)) {
            float a[4], b_m[4], slope[4];
            fill(a, m.decay[MARCH][i]);
            fill(b_m, m.gain[MARCH][i]);
            fill(slope, m.slope[MARCH][i]);
            const int64_t to = on_march.at(i) * step_m + column_m;
            recur(a, b_m, slope, first, along_march, q_first, q_at(0), stage[at_rm + t],
                  m.q_next[MARCH] + to, m.r[MARCH] + to);
          } else {
            gain(along_march, q_first);
          }
        }
      }
      if (DM || APART) gain(sum, along_march);
      // Where axes are apart, x is the last one.
      if (ROW == 0 && APART) gain(sum, along_row);
      planes.leap(n, c, sum, stage);
    }
    planes.give(n);
    planes.turn();
    stage_at = around<STAGES>(stage_at + 1);
    q_slot = around<Q_SLOTS>(q_slot + 1);
  }
}

// DR, DZ, DM by where the block's tile lies. Where an axis is not damped, the code for a damped one finds
// no memory variables and gives the plain derivative; only what occurs often has code of its own.
template <class Fields>
__device__ __forceinline__ void step_cpml(const TemblorStep& s, const TemblorLayerTiles& g,
                                          const TemblorCpml& m, const Fields& fields,
                                          float4* shared) {
  const int b = box_of(g);
  int local = int(blockIdx.x) - g.first_block[b];
  const int k0 = g.begin[b][2] + 4 * (local % g.tiles_z[b]) * g.lanes[b];
  local /= g.tiles_z[b] * g.tiles_row[b];
  const bool z = Stored<2>(s, m).acts(k0, min(k0 + 4 * g.lanes[b], g.end[b][2]));
  if (g.march[b] == 1) {
    const int i0 = g.begin[b][1] + local * g.planes[b];
    if (Stored<1>(s, m).acts(i0, min(i0 + g.planes[b], g.end[b][1]))) {
      march_cpml<Fields, 0, true, true, true>(s, g, b, m, fields, shared);
    } else if (z) {
      march_cpml<Fields, 0, true, true, false>(s, g, b, m, fields, shared);
    } else {
      march_cpml<Fields, 0, true, false, false>(s, g, b, m, fields, shared);
    }
  } else if (!Stored<1>(s, m).acts(g.begin[b][1], g.end[b][1])) {
    march_cpml<Fields, 1, false, true, false>(s, g, b, m, fields, shared);
  } else if (z) {
    march_cpml<Fields, 1, true, true, false>(s, g, b, m, fields, shared);
  } else {
    march_cpml<Fields, 1, true, false, false>(s, g, b, m, fields, shared);
  }
}

}  // namespace temblor
