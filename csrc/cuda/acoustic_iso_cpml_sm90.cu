// Isotropic acoustics, one leapfrog step in the C-PML, order 8, 3-D, tiles in shared memory.
// The same equations and storage as acoustic_iso_layers.cu (Pasalic and McGarry 2010; cpml.rs).
// Layout (x, y, z), z fastest; groups of four nodes along z lie on 16 B in all arrays, q and r too.
// Boxes: disjoint, up to six in one launch. Where x is damped, rows cross the layer along x and blocks
// march along y; elsewhere rows lie along y and blocks march along x: so the q that a slope needs is in
// the tile, but for the ends of a march along y, which hold nine planes of q. next may be prev.
// sm_80 and newer, tuned for sm_90: 192 threads, two blocks per SM, up to 103 KiB shared each.
// 16 B and 16 B per damped axis; 33 B per point between L2 and SM where 29 B is the least.
// On an H200, layers of 20 cells alone, Gpts/s at 512^3 / 800^3 / 256^3, N of the layers:
//   106 / 112 / 86  (acoustic_iso_cpml_order8: 76 / 80 / 53; least bytes at the roof: 150 / 154 / 120)
//   103 / 110 / 76  one block of 384 threads, tiles twice as wide along z
//    91 / 97 / 74   the same, one plane fetched ahead instead of two
//    91             the same, layers cut at 24 nodes along z instead of at a cache line (32)
//    81 / 90        the same, edges and corners as boxes of their own with tiles of six groups
//    78             192 threads, neighbours along the march from shared memory, three blocks per SM
//    71             the same, p-, v and r straight into registers, four blocks per SM
//    66 (now 82)    x slabs alone with q of the ends of their march straight from memory
//    87 (now 109)   z slabs alone with rows along x
// Without any arithmetic x slabs were no faster (99 against 97): the link between the halves of L2 was
// 90 % busy while blocks ran.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "layer_tiles.cuh"

namespace {

using namespace temblor;

constexpr int R = RADIUS, THREADS = 192;

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
    return (low > 0 && begin < low + R) || (high < nodes && end > high - R);
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

// sum += value
__device__ __forceinline__ void gain(float (&sum)[4], const float (&value)[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e) sum[e] = add(sum[e], value[e]);
}

// DR, DZ, DM: the C-PML acts along the rows, along z, along the march somewhere in the tile.
template <int ROW, bool DR, bool DZ, bool DM>
__device__ __forceinline__ void march(const TemblorStep& s, const TemblorLayerTiles& g, int b,
                                      const TemblorCpml& m, const float* __restrict__ p,
                                      const float* prev, float* next,
                                      const float* __restrict__ v, float4* shared) {
  // Planes fetched ahead; the planes of q along the march take the room of the second.
  constexpr int MARCH = 1 - ROW, DEPTH = DM ? 1 : 2;
  constexpr int SLOTS = R + 1 + DEPTH, STAGES = DEPTH + 1, Q_SLOTS = 2 * R + 1 + DEPTH;
  const LayerTile<ROW, THREADS> tile(s, g, b);
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

  // A stage: p-, v, p beside the rows, then q and r along the rows, then q, q beside the rows and r
  // along z, then r along the march.
  const int at_v = groups, at_edge = 2 * groups, at_qr = at_edge + 2 * tile.rows;
  const int at_r = at_qr + (DR ? wide : 0), at_qz = at_r + (DR ? groups : 0);
  const int at_ez = at_qz + (DZ ? groups : 0), at_rz = at_ez + (DZ ? 2 * tile.rows : 0);
  const int at_rm = at_rz + (DZ ? groups : 0), stage_size = at_rm + (DM ? groups : 0);
  float4* const stages = shared + SLOTS * wide;
  float4* const q_ring = stages + STAGES * stage_size;
  const int all = SLOTS * wide + STAGES * stage_size + (DM ? Q_SLOTS * groups : 0);
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
  // Fetches what plane n needs; plane n + R of p and of q along the march is new.
  auto fetch = [&](int n, float4* slot, float4* stage, float4* q_slot) {
    if (n < count) {
      const int64_t at = tile.origin + n * tile.step;
      tile.fetch_plane(slot, p + at + R * tile.step);
      if (tile.active) {
        copy_async(stage + t, prev + at + tile.own);
        copy_async(stage + at_v + t, v + at + tile.own);
      }
      if (tile.fetch_edge) copy_async(stage + at_edge + tile.edge_at, p + at + tile.edge);
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

  // Planes -4 .. -1 of p live in registers only, 0 .. 3 in the first slots.
#pragma unroll
  for (int r = 0; r < R; ++r)
    tile.fetch_plane(shared + r * wide, p + tile.origin + r * tile.step);
  if (DM) {
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) fetch_q(r - R, q_ring + r * groups);
  }
  copy_async_commit();
#pragma unroll
  for (int n = 0; n < DEPTH; ++n)
    fetch(n, shared + (R + n) * wide, stages + n * stage_size, q_ring + (2 * R + n) * groups);
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
  float a_r = 0.0f, b_r = 0.0f, slope_r = 0.0f;
  if (here_r) {
    a_r = m.decay[ROW][j];
    b_r = m.gain[ROW][j];
    slope_r = m.slope[ROW][j];
  }
  int slot = 0, stage_at = 0, q_slot = 0;
#pragma unroll 1
  for (int n = 0; n < count; ++n) {
    copy_async_wait<DEPTH - 1>();
    __syncthreads();
    fetch(n + DEPTH, shared + around<SLOTS>(slot + R + DEPTH) * wide,
          stages + around<STAGES>(stage_at + DEPTH) * stage_size,
          q_ring + around<Q_SLOTS>(q_slot + 2 * R + DEPTH) * groups);
    if (tile.active) {
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
      queue[2 * R] = shared[around<SLOTS>(slot + R) * wide + R * lanes + t];
      const float4* const plane = shared + slot * wide + R * lanes + t;
      const float4* const stage = stages + stage_at * stage_size;
      float c[4], sum[4];
      split(c, queue[R]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[e] = 0.0f;
        if (!DR) sum[e] = fma_rn(s.second[ROW][0], c[e], sum[e]);
        if (!DM) sum[e] = fma_rn(s.second[MARCH][0], c[e], sum[e]);
        if (!DZ) sum[e] = fma_rn(s.second[2][0], c[e], sum[e]);
      }
      {
        float line[12];
        line_of(line, tile.before(plane, stage + at_edge), queue[R],
                tile.after(plane, stage + at_edge));
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
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          float low[4], high[4];
          split(low, plane[-r * lanes]);
          split(high, plane[r * lanes]);
#pragma unroll
          for (int e = 0; e < 4; ++e)
            sum[e] = pair(s.second[ROW][r], low[e], high[e], sum[e]);
        }
      } else {
        float second[4], first[4], q_first[4];
        const float4* const q = stage + at_qr + R * lanes + t;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          second[e] = mul(s.second[ROW][0], c[e]);
          first[e] = q_first[e] = 0.0f;
        }
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          float low[4], high[4], q_low[4], q_high[4];
          split(low, plane[-r * lanes]);
          split(high, plane[r * lanes]);
          split(q_low, q[-r * lanes]);
          split(q_high, q[r * lanes]);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            second[e] = pair(s.second[ROW][r], low[e], high[e], second[e]);
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
          recur(a, b_row, slope, first, second, q_first, *q, stage[at_r + t],
                m.q_next[ROW] + to, m.r[ROW] + to);
        } else {
          gain(second, q_first);
        }
        gain(sum, second);
      }
      if (!DM) {
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          float low[4], high[4];
          split(low, queue[R - r]);
          split(high, queue[R + r]);
#pragma unroll
          for (int e = 0; e < 4; ++e)
            sum[e] = pair(s.second[MARCH][r], low[e], high[e], sum[e]);
        }
      } else {
        const int i = tile.i0 + n;
        float second[4], first[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          second[e] = mul(s.second[MARCH][0], c[e]);
          first[e] = 0.0f;
        }
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          float low[4], high[4];
          split(low, queue[R - r]);
          split(high, queue[R + r]);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            second[e] = pair(s.second[MARCH][r], low[e], high[e], second[e]);
            first[e] = fma_rn(s.first[MARCH][r], sub(high[e], low[e]), first[e]);
          }
        }
        if (on_march.acts(i, i + 1)) {
          float q_first[4];
          fill(q_first, 0.0f);
          auto q_at = [&](int r) { return q_ring[around<Q_SLOTS>(q_slot + R + r) * groups + t]; };
#pragma unroll
          for (int r = 1; r <= R; ++r) {
            float q_low[4], q_high[4];
            split(q_low, q_at(-r));
            split(q_high, q_at(r));
#pragma unroll
            for (int e = 0; e < 4; ++e)
              q_first[e] = fma_rn(s.first[MARCH][r], sub(q_high[e], q_low[e]), q_first[e]);
          }
          if (on_march.has(i)) {
            float a[4], b_m[4], slope[4];
            fill(a, m.decay[MARCH][i]);
            fill(b_m, m.gain[MARCH][i]);
            fill(slope, m.slope[MARCH][i]);
            const int64_t to = on_march.at(i) * step_m + column_m;
            recur(a, b_m, slope, first, second, q_first, q_at(0), stage[at_rm + t],
                  m.q_next[MARCH] + to, m.r[MARCH] + to);
          } else {
            gain(second, q_first);
          }
        }
        gain(sum, second);
      }
      float old[4], speed[4], after[4];
      split(old, stage[t]);
      split(speed, stage[at_v + t]);
#pragma unroll
      for (int e = 0; e < 4; ++e) after[e] = leap(c[e], old[e], speed[e], sum[e]);
      store_group(next + tile.origin + n * tile.step + tile.own, after, tile.end_k - k);
    }
    slot = around<SLOTS>(slot + 1);
    stage_at = around<STAGES>(stage_at + 1);
    q_slot = around<Q_SLOTS>(q_slot + 1);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    acoustic_iso_cpml(const __grid_constant__ TemblorStep s,
                      const __grid_constant__ TemblorLayerTiles g,
                      const __grid_constant__ TemblorCpml m, const float* p, const float* prev,
                      float* next, const float* v) {
  extern __shared__ float4 shared[];
  const int b = box_of(g);
  int local = int(blockIdx.x) - g.first_block[b];
  const int k0 = g.begin[b][2] + 4 * (local % g.tiles_z[b]) * g.lanes[b];
  local /= g.tiles_z[b] * g.tiles_row[b];
  const bool z = Stored<2>(s, m).acts(k0, min(k0 + 4 * g.lanes[b], g.end[b][2]));
  // Where an axis is not damped, the code for a damped one finds no memory variables and gives the
  // plain derivative; only what occurs often has code of its own.
  if (g.march[b] == 1) {
    const int i0 = g.begin[b][1] + local * g.planes[b];
    if (Stored<1>(s, m).acts(i0, min(i0 + g.planes[b], g.end[b][1]))) {
      march<0, true, true, true>(s, g, b, m, p, prev, next, v, shared);
    } else if (z) {
      march<0, true, true, false>(s, g, b, m, p, prev, next, v, shared);
    } else {
      march<0, true, false, false>(s, g, b, m, p, prev, next, v, shared);
    }
  } else if (!Stored<1>(s, m).acts(g.begin[b][1], g.end[b][1])) {
    march<1, false, true, false>(s, g, b, m, p, prev, next, v, shared);
  } else if (z) {
    march<1, true, true, false>(s, g, b, m, p, prev, next, v, shared);
  } else {
    march<1, true, false, false>(s, g, b, m, p, prev, next, v, shared);
  }
}
