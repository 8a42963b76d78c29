// Isotropic acoustics, one leapfrog step in the C-PML, order 8, 3-D, four nodes along z per thread.
// The same equations and storage as acoustic_iso_layers.cu (Pasalic and McGarry 2010; cpml.rs), with
// what a slab's position implies left out: x slabs have all three axes, y slabs y and z, z slabs z.
// Layout (x, y, z), z fastest; node 0, the boxes' first nodes along z and the rows of q and r lie on
// 16 B. In q and r along z each end is an array of its own, its nodes rounded up to four.
// Boxes: disjoint, up to six in one launch; 128 threads take a tile of (y, z) and march along x;
// neighbours come from L1, which holds the planes of a tile. On an H200 at 512^3: 64 Gpts/s; with a
// queue of planes in registers, which left room for 10 warps: 55; asking L2 for what comes two planes
// ahead read half as much again from memory: 58.
// Strides times eight fit 31 bits. next may be prev. Any architecture, no shared memory; on sm_90
// acoustic_iso_cpml takes its place.
// 16 B and 16 B per damped axis.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso.cuh"

namespace {

using namespace temblor;

constexpr int R = 4, THREADS = 128;

struct alignas(16) Four {
  float e[4];
};

__device__ __forceinline__ Four load4(const float* p) { return *reinterpret_cast<const Four*>(p); }

__device__ __forceinline__ Four zero4() { return Four{{0.0f, 0.0f, 0.0f, 0.0f}}; }

__device__ __forceinline__ void store4(float* to, const Four& value, int count) {
  if (count >= 4) {
    *reinterpret_cast<Four*>(to) = value;
  } else {
    if (count > 0) to[0] = value.e[0];
    if (count > 1) to[1] = value.e[1];
    if (count > 2) to[2] = value.e[2];
  }
}

// Where a node lies in the storage of an axis' memory variables: the low or the high part, which are
// so far apart that a stencil meets only one.
struct Side {
  bool near, here;
  int at, first, last;
};

// `width` nodes from `node` on; 1 along x and y, 4 along z.
template <int WIDTH>
__device__ __forceinline__ Side side_of(int node, int nodes, int low, int high, int gap) {
  Side side;
  const bool near_low = low > 0 && node < low + R;
  const bool near_high = high > 0 && node + WIDTH - 1 >= nodes - high - R;
  side.near = near_low || near_high;
  side.at = near_low ? node : node - gap;
  side.first = near_low ? 0 : (nodes - high) / WIDTH * WIDTH - gap;
  side.last = near_low ? low : nodes - gap;
  side.here = side.near && side.at >= side.first && side.at < side.last;
  return side;
}

// Difference of q along x or y.
template <int A>
__device__ __forceinline__ Four q_slope(const TemblorStep& s, const Side& side,
                                        const float* __restrict__ q, int step) {
  Four slope = zero4();
#pragma unroll
  for (int r = 1; r <= R; ++r) {
    const bool before = side.at - r >= side.first, after = side.at + r < side.last;
    const Four low = before && side.at - r < side.last ? load4(q - r * step) : zero4();
    const Four high = after && side.at + r >= side.first ? load4(q + r * step) : zero4();
#pragma unroll
    for (int e = 0; e < 4; ++e)
      slope.e[e] = fma_rn(s.first[A][r], sub(high.e[e], low.e[e]), slope.e[e]);
  }
  return slope;
}

// Difference of q along z.
__device__ __forceinline__ Four q_slope_z(const TemblorStep& s, const Side& side,
                                          const float* __restrict__ q) {
  float line[12];
#pragma unroll
  for (int part = 0; part < 3; ++part) {
    const int at = side.at + 4 * (part - 1);
    const Four four =
        at >= side.first && at < side.last ? load4(q + 4 * (part - 1)) : zero4();
#pragma unroll
    for (int e = 0; e < 4; ++e) line[4 * part + e] = four.e[e];
  }
  Four slope = zero4();
#pragma unroll
  for (int e = 0; e < 4; ++e)
#pragma unroll
    for (int r = 1; r <= R; ++r)
      slope.e[e] = fma_rn(s.first[2][r], sub(line[4 + e + r], line[4 + e - r]), slope.e[e]);
  return slope;
}

// The recursions of one axis; gives its term of the Laplacian.
__device__ __forceinline__ Four recursion(const Four& a, const Four& b, const Four& b_slope,
                                          const Four& first, const Four& second,
                                          const Four& q_first, const float* __restrict__ q,
                                          float* __restrict__ q_next, float* __restrict__ r) {
  const Four old_q = load4(q), old_r = load4(r);
  Four term, new_q, new_r;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float gained = add(1.0f, b.e[e]);
    const float t = add(fma_rn(gained, second.e[e], mul(b_slope.e[e], first.e[e])), q_first.e[e]);
    new_r.e[e] = mul(a.e[e], fma_rn(b.e[e], t, old_r.e[e]));
    new_q.e[e] = mul(a.e[e], fma_rn(b.e[e], first.e[e], old_q.e[e]));
    term.e[e] = fma_rn(gained, t, old_r.e[e]);
  }
  *reinterpret_cast<Four*>(q_next) = new_q;
  *reinterpret_cast<Four*>(r) = new_r;
  return term;
}

__device__ __forceinline__ Four same(float value) { return Four{{value, value, value, value}}; }

// The axis' term along x or y at a node of the slab's own axis position `node`.
template <int A>
__device__ __forceinline__ Four scalar_axis(const TemblorStep& s, const TemblorCpml& m,
                                            const Side& side, int node, int64_t offset,
                                            const Four& first, const Four& second) {
  const int step = int(A == 0 ? m.stride_x[0] : m.stride_y[1]);
  const int64_t at = offset + int64_t(side.at) * step;
  const Four q_first = q_slope<A>(s, side, m.q[A] + at, step);
  if (side.here)
    return recursion(same(m.decay[A][node]), same(m.gain[A][node]), same(m.slope[A][node]), first,
                     second, q_first, m.q[A] + at, m.q_next[A] + at, m.r[A] + at);
  Four term;
#pragma unroll
  for (int e = 0; e < 4; ++e) term.e[e] = add(second.e[e], q_first.e[e]);
  return term;
}

// A: the axis normal to the slab.
template <int A>
__device__ __forceinline__ void march(const TemblorStep& s, const TemblorBoxes& boxes, int b,
                                      const TemblorCpml& m, const float* __restrict__ p,
                                      const float* prev, float* next,
                                      const float* __restrict__ v) {
  int local = int(blockIdx.x) - boxes.first_block[b];
  const int tile_z = local % boxes.tiles_z[b];
  local /= boxes.tiles_z[b];
  const int tile_y = local % boxes.tiles_y[b], chunk = local / boxes.tiles_y[b];
  const int lanes = boxes.lanes[b], rows = THREADS / lanes;
  const int row = int(threadIdx.x) / lanes, lane = int(threadIdx.x) - row * lanes;
  const int k = boxes.begin[b][2] + 4 * (tile_z * lanes + lane);
  const int j = boxes.begin[b][1] + tile_y * rows + row;
  const int i0 = boxes.begin[b][0] + chunk * boxes.planes[b];
  const int i1 = min(i0 + boxes.planes[b], boxes.end[b][0]);
  if (row >= rows || k >= boxes.end[b][2] || j >= boxes.end[b][1]) return;
  const int given = boxes.end[b][2] - k;
  const Side side_y = side_of<1>(j, s.nodes[1], m.low[1], m.high[1], m.gap[1]);
  const Side side_z = side_of<4>(k, s.nodes[2], m.low[2], m.high[2], m.gap[2]);
  const int64_t column = j * s.stride_y + k;
  const int stride_y = int(s.stride_y), stride_x = int(s.stride_x);
#pragma unroll 1
  for (int i = i0; i < i1; ++i) {
    const int64_t at = i * s.stride_x + column;
    const Four before = load4(prev + at), speed = load4(v + at);
    const Four low = load4(p + at - 4), high = load4(p + at + 4), centre = load4(p + at);
    Four xx, x, yy, y, zz, z;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      xx.e[e] = mul(s.second[0][0], centre.e[e]);
      yy.e[e] = mul(s.second[1][0], centre.e[e]);
      zz.e[e] = mul(s.second[2][0], centre.e[e]);
      x.e[e] = y.e[e] = z.e[e] = 0.0f;
    }
    {
      float line[12];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        line[e] = low.e[e];
        line[4 + e] = centre.e[e];
        line[8 + e] = high.e[e];
      }
#pragma unroll
      for (int e = 0; e < 4; ++e)
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          const float u = line[4 + e - r], w = line[4 + e + r];
          zz.e[e] = pair(s.second[2][r], u, w, zz.e[e]);
          z.e[e] = fma_rn(s.first[2][r], sub(w, u), z.e[e]);
        }
    }
#pragma unroll
    for (int r = 1; r <= R; ++r) {
      const Four a = load4(p + at - r * stride_y), c = load4(p + at + r * stride_y);
      const Four d = load4(p + at - r * stride_x), f = load4(p + at + r * stride_x);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        yy.e[e] = pair(s.second[1][r], a.e[e], c.e[e], yy.e[e]);
        if (A <= 1) y.e[e] = fma_rn(s.first[1][r], sub(c.e[e], a.e[e]), y.e[e]);
        const float u = d.e[e], w = f.e[e];
        xx.e[e] = pair(s.second[0][r], u, w, xx.e[e]);
        if (A == 0) x.e[e] = fma_rn(s.first[0][r], sub(w, u), x.e[e]);
      }
    }
    if (A == 0) {
      const Side side = side_of<1>(i, s.nodes[0], m.low[0], m.high[0], m.gap[0]);
      if (side.near) xx = scalar_axis<0>(s, m, side, i, j * m.stride_y[0] + k, x, xx);
    }
    if (A <= 1 && side_y.near)
      yy = scalar_axis<1>(s, m, side_y, j, i * m.stride_x[1] + k, y, yy);
    if (side_z.near) {
      const int64_t place = i * m.stride_x[2] + j * m.stride_y[2] + side_z.at;
      const Four q_first = q_slope_z(s, side_z, m.q[2] + place);
      if (side_z.here) {
        zz = recursion(load4(m.decay[2] + k), load4(m.gain[2] + k), load4(m.slope[2] + k), z, zz,
                       q_first, m.q[2] + place, m.q_next[2] + place, m.r[2] + place);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) zz.e[e] = add(zz.e[e], q_first.e[e]);
      }
    }
    Four after;
#pragma unroll
    for (int e = 0; e < 4; ++e)
      after.e[e] = leap(centre.e[e], before.e[e], speed.e[e],
                        add(add(xx.e[e], yy.e[e]), zz.e[e]));
    store4(next + at, after, given);
  }
}

}  // namespace

// Four blocks with 128 registers; five with 96 spilled 20 B.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
    acoustic_iso_cpml_order8(const __grid_constant__ TemblorStep s,
                             const __grid_constant__ TemblorBoxes boxes,
                             const __grid_constant__ TemblorCpml m, const float* p,
                             const float* prev, float* next, const float* v) {
  const int block = int(blockIdx.x);
  int b = 0;
  while (b + 1 < boxes.count && block >= boxes.first_block[b + 1]) ++b;
  if (boxes.axis[b] == 0) {
    march<0>(s, boxes, b, m, p, prev, next, v);
  } else if (boxes.axis[b] == 1) {
    march<1>(s, boxes, b, m, p, prev, next, v);
  } else {
    march<2>(s, boxes, b, m, p, prev, next, v);
  }
}
