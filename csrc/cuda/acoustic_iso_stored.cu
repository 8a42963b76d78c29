// Isotropic acoustics, one leapfrog step of wavefields in reduced storage (stored.cuh), any radius, in
// boxes of whole storage tiles: what has no tuned kernel of the interior and of absorbing layers
// (acoustic_iso_layers.cu says which), and what lies along reflecting faces.
// p+ = 2p - p- + dt^2 c^2 lap(p); where `before` is an increment d: d+ = round(d + dt^2 c^2 lap(p)),
// p+ = round(p + d+).
// Layout (x, y, z), z fastest, rows of whole storage tiles of 32 nodes along z. Nodes beyond the grid
// are never read: their images are, or nothing.
// A warp takes a storage tile, a lane a node, and marches along x. At radius 4 neighbours along x are
// in registers and those along z come from other lanes; other radii read all taps. Boxes begin on a
// storage tile along z.
// Any architecture, no shared memory. 4 to 12 B per point and what the layer's memory takes.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cpml.cuh"
#include "minimod.cuh"
#include "stored.cuh"

namespace {

using namespace temblor;

// Planes that a warp marches; boxes.planes is for other kernels. Host: stored/mod.rs.
constexpr int MARCH = 16;

struct Node {
  int box, i, j, k;
  // One past the last plane of the march.
  int end;
  // Element of the node.
  int64_t at;
  // Whether the warp has a tile, and the lane a node in it.
  bool tile, exists;
};

// Of the thread: tiles of a box one after the other, along z, y, then x.
__device__ __forceinline__ Node node_of(const TemblorStep& s, const TemblorBoxes& boxes) {
  const int block = int(blockIdx.x);
  int b = 0;
  while (b + 1 < boxes.count && block >= boxes.first_block[b + 1]) ++b;
  const int tiles_z = (boxes.end[b][2] - boxes.begin[b][2] + STORED_TILE - 1) / STORED_TILE;
  const int rows = boxes.end[b][1] - boxes.begin[b][1];
  const int64_t n = int64_t(block - boxes.first_block[b]) * 8 + (threadIdx.x >> 5);
  const int64_t row = n / tiles_z;
  Node c;
  c.box = b;
  c.i = boxes.begin[b][0] + int(row / rows) * MARCH;
  c.end = min(c.i + MARCH, boxes.end[b][0]);
  c.j = boxes.begin[b][1] + int(row % rows);
  c.k = boxes.begin[b][2] + int(n % tiles_z) * STORED_TILE + int(threadIdx.x & 31);
  c.at = c.i * s.stride_x + c.j * s.stride_y + c.k;
  c.tile = c.i < c.end;
  c.exists = c.tile && c.k < boxes.end[b][2];
  return c;
}

// p of the node's row along an axis, `node` wherever the taps reach.
template <class S>
__device__ __forceinline__ float along(const TemblorStep& s, const TemblorStored& m, int axis,
                                       int64_t row, int64_t stride, int node) {
  const int beyond = node < 0 ? -1 - node : 8 + node - s.nodes[axis];
  if (node >= 0 && beyond < 8) return S::decode(m.p, m.p_exponents, row + node * stride);
  const int source = m.image[axis][beyond];
  if (source < 0) return 0.0f;
  return mul(m.sign[axis][beyond], S::decode(m.p, m.p_exponents, row + source * stride));
}

// Second and first derivative along an axis.
struct Derivatives {
  float second, first;
};

// R: the radius, or 0 where it is none of those that code is written out for.
template <class S, int A, int R>
__device__ __forceinline__ Derivatives derivatives(const TemblorStep& s, const TemblorStored& m,
                                                   const Node& c, float centre) {
  const int node = A == 0 ? c.i : A == 1 ? c.j : c.k, nodes = s.nodes[A];
  const int64_t stride = A == 0 ? s.stride_x : A == 1 ? s.stride_y : 1;
  Derivatives d{mul(s.second[A][0], centre), 0.0f};
  // An axis of one node has no taps.
  if (nodes == 1) return d;
  const int radius = R > 0 ? R : m.radius;
  if (node >= radius && node + radius < nodes) {
    // Rows are whole tiles, so that neighbours along x and y have exponents at a stride of theirs.
    const int64_t tile = c.at >> 5, tile_stride = stride >> 5;
    [[maybe_unused]] constexpr int TURNS = R > 0 ? R : 1;
#pragma unroll TURNS
    for (int r = 1; r <= radius; ++r) {
      const int64_t below = c.at - r * stride, above = c.at + r * stride;
      const float low = S::tap(m.p, m.p_exponents, below,
                               A == 2 ? below >> 5 : tile - r * tile_stride);
      const float high = S::tap(m.p, m.p_exponents, above,
                                A == 2 ? above >> 5 : tile + r * tile_stride);
      d.second = pair(s.second[A][r], low, high, d.second);
      d.first = fma_rn(s.first[A][r], sub(high, low), d.first);
    }
    return d;
  }
  const int64_t row = c.at - node * stride;
#pragma unroll 1
  for (int r = 1; r <= radius; ++r) {
    const float low = along<S>(s, m, A, row, stride, node - r);
    const float high = along<S>(s, m, A, row, stride, node + r);
    d.second = pair(s.second[A][r], low, high, d.second);
    d.first = fma_rn(s.first[A][r], sub(high, low), d.first);
  }
  return d;
}

// Derivatives along z from what the warp holds: its tile, and 2R nodes beside it.
template <class S, int R>
__device__ __forceinline__ Derivatives along_tile(const TemblorStep& s, const TemblorStored& m,
                                                  const Node& c, float centre) {
  const int lane = int(threadIdx.x & 31), nodes = s.nodes[2];
  const int64_t row = c.at - c.k;
  auto read = [&](int node) {
    return node >= -R && node < nodes + R ? along<S>(s, m, 2, row, 1, node) : 0.0f;
  };
  // Beyond the last node lie images, which the last nodes' taps reach.
  const float own = c.k < nodes ? centre : read(c.k);
  float edge = 0.0f;
  if (lane >= 32 - R) edge = read(c.k - 32);
  if (lane < R) edge = read(c.k + 32);
  __syncwarp();
  Derivatives d{mul(s.second[2][0], centre), 0.0f};
#pragma unroll
  for (int r = 1; r <= R; ++r) {
    const float below = __shfl_sync(WARP, own, (lane - r) & 31);
    const float before = __shfl_sync(WARP, edge, (lane - r) & 31);
    const float above = __shfl_sync(WARP, own, (lane + r) & 31);
    const float after = __shfl_sync(WARP, edge, (lane + r) & 31);
    const float low = lane >= r ? below : before, high = lane + r < 32 ? above : after;
    d.second = pair(s.second[2][r], low, high, d.second);
    d.first = fma_rn(s.first[2][r], sub(high, low), d.first);
  }
  return d;
}

// Stores p+ = 2p - p- + more, or d+ = d + more and p+ = p + d+.
template <class S>
__device__ __forceinline__ void give(const TemblorStored& m, const Node& c, float centre,
                                     float before, float more) {
  const int noise = int(noise_at(m, c.i, c.j, c.k));
  if (m.increment) {
    const float d = c.exists ? add(before, more) : 0.0f;
    const float rounded = S::encode(m.before, m.before_exponents, c.at, d, noise);
    S::encode(m.next, m.next_exponents, c.at, c.exists ? add(centre, rounded) : 0.0f);
  } else {
    const float next = add(fma_rn(2.0f, centre, -before), more);
    S::encode(m.next, m.next_exponents, c.at, c.exists ? next : 0.0f, noise);
  }
}

// Equations of a node: what is added to 2p - p-, from its derivatives.
struct Plain {
  template <class S>
  __device__ __forceinline__ float more(const TemblorStep&, const TemblorBoxes&,
                                        const TemblorStored& m, const Node& c, float, float,
                                        const Derivatives& x, const Derivatives& y,
                                        const Derivatives& z) const {
    return mul(speed_at(m, c.at), add(add(z.second, y.second), x.second));
  }
};

struct Cpml {
  const TemblorCpml& layer;
  template <class S>
  __device__ __forceinline__ float more(const TemblorStep& s, const TemblorBoxes&,
                                        const TemblorStored& m, const Node& c, float, float,
                                        const Derivatives& x, const Derivatives& y,
                                        const Derivatives& z) const {
    float lap = damped<2>(s, layer, m.radius, c.i, c.j, c.k, z.first, z.second);
    lap = add(lap, damped<1>(s, layer, m.radius, c.i, c.j, c.k, y.first, y.second));
    lap = add(lap, damped<0>(s, layer, m.radius, c.i, c.j, c.k, x.first, x.second));
    return mul(speed_at(m, c.at), lap);
  }
};

struct Minimod {
  const TemblorMinimod& layer;
  template <class S>
  __device__ __forceinline__ float more(const TemblorStep& s, const TemblorBoxes& boxes,
                                        const TemblorStored& m, const Node& c, float centre,
                                        float before, const Derivatives& x, const Derivatives& y,
                                        const Derivatives& z) const {
    const int b = c.box;
    const int64_t wide_z = (boxes.end[b][2] - boxes.begin[b][2] + 7) / 8 * 8;
    const int64_t wide_y = boxes.end[b][1] - boxes.begin[b][1];
    float* const phi = layer.phi + boxes.first_element[b] +
                       ((c.i - boxes.begin[b][0]) * wide_y + (c.j - boxes.begin[b][1])) * wide_z +
                       (c.k - boxes.begin[b][2]);
    const float lap = add(add(z.second, y.second), x.second);
    const int node[3] = {c.i, c.j, c.k};
    const int64_t stride[3] = {s.stride_x, s.stride_y, 1};
    float eta = 0.0f, fall = 0.0f;
#pragma unroll
    for (int a = 0; a < 3; ++a) eta = add(eta, layer.eta[a][node[a]]);
#pragma unroll
    for (int a = 2; a >= 0; --a) {
      const float slope =
          mul(layer.quarter[a], sub(layer.eta[a][node[a] + 1], layer.eta[a][node[a] - 1]));
      if (slope == 0.0f) continue;
      const int64_t row = c.at - node[a] * stride[a];
      fall = fma_rn(slope, sub(along<S>(s, m, a, row, stride[a], node[a] + 1),
                               along<S>(s, m, a, row, stride[a], node[a] - 1)), fall);
    }
    const float old_phi = *phi, d = m.increment ? before : sub(centre, before);
    // A box may hold nodes beside the layer, where phi stays zero.
    if (eta > 0.0f) *phi = mul(sub(old_phi, fall), inverse(add(1.0f, eta)));
    return damped_gain(d, centre, speed_at(m, c.at), add(lap, old_phi), eta);
  }
};

// R: the radius, or 0 for any.
template <class S, int R, class Equations>
__device__ __forceinline__ void step(const TemblorStep& s, const TemblorBoxes& boxes,
                                     const TemblorStored& m, const Equations& equations) {
  Node c = node_of(s, boxes);
  if (!c.tile) return;
  const int64_t row = c.at - c.i * s.stride_x;
  auto read = [&](int i) { return c.exists ? along<S>(s, m, 0, row, s.stride_x, i) : 0.0f; };
  float queue[2 * R + 1] = {};
#pragma unroll 1
  for (int i = c.i - R; R > 0 && i < c.i + R; ++i) {
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
    queue[2 * R] = read(i);
  }
  for (; c.i < c.end; ++c.i, c.at += s.stride_x) {
    float centre = 0.0f, before = 0.0f, more = 0.0f;
    if (c.exists) before = S::decode(m.before, m.before_exponents, c.at);
    if constexpr (R > 0) {
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
      queue[2 * R] = read(c.i + R);
      centre = queue[R];
      __syncwarp();
      const Derivatives z = along_tile<S, R>(s, m, c, centre);
      if (c.exists) {
        Derivatives x{mul(s.second[0][0], centre), 0.0f};
#pragma unroll
        for (int r = 1; r <= R; ++r) {
          x.second = pair(s.second[0][r], queue[R - r], queue[R + r], x.second);
          x.first = fma_rn(s.first[0][r], sub(queue[R + r], queue[R - r]), x.first);
        }
        const Derivatives y = derivatives<S, 1, R>(s, m, c, centre);
        more = equations.template more<S>(s, boxes, m, c, centre, before, x, y, z);
      }
    } else if (c.exists) {
      centre = S::decode(m.p, m.p_exponents, c.at);
      const Derivatives x = derivatives<S, 0, R>(s, m, c, centre);
      const Derivatives y = derivatives<S, 1, R>(s, m, c, centre);
      const Derivatives z = derivatives<S, 2, R>(s, m, c, centre);
      more = equations.template more<S>(s, boxes, m, c, centre, before, x, y, z);
    }
    __syncwarp();
    give<S>(m, c, centre, before, more);
  }
}

}  // namespace

#define TEMBLOR_STORED(NAME, S)                                                                  \
  extern "C" __global__ void __launch_bounds__(256) acoustic_iso_stored_plain_##NAME(            \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorBoxes boxes,         \
      const __grid_constant__ TemblorStored m) {                                                 \
    if (m.radius == 4) step<S, 4>(s, boxes, m, Plain{});                                         \
    else step<S, 0>(s, boxes, m, Plain{});                                                       \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) acoustic_iso_stored_cpml_##NAME(             \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorBoxes boxes,         \
      const __grid_constant__ TemblorCpml layer, const __grid_constant__ TemblorStored m) {      \
    if (m.radius == 4) step<S, 4>(s, boxes, m, Cpml{layer});                                     \
    else step<S, 0>(s, boxes, m, Cpml{layer});                                                   \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) acoustic_iso_stored_minimod_##NAME(          \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorBoxes boxes,         \
      const __grid_constant__ TemblorMinimod layer, const __grid_constant__ TemblorStored m) {   \
    if (m.radius == 4) step<S, 4>(s, boxes, m, Minimod{layer});                                  \
    else step<S, 0>(s, boxes, m, Minimod{layer});                                                \
  }
TEMBLOR_STORED(f32, StoredF32)
TEMBLOR_STORED(int16, StoredInt16)
TEMBLOR_STORED(bf16, StoredBf16)
TEMBLOR_STORED(bf16x2, StoredBf16Pair)
TEMBLOR_STORED(fp16, StoredFp16)
TEMBLOR_STORED(fp16_scaled, StoredFp16Scaled)
