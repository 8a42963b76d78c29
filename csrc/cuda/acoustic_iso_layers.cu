// Isotropic acoustics, one leapfrog step in the absorbing layers and along reflecting faces.
// C-PML in expanded second-order form (Pasalic and McGarry 2010) and Minimod's eta/phi layer (Meng
// et al. 2020); the equations stand in crates/physics (cpml.rs, minimod.rs).
// Layout (x, y, z), z fastest, halo as for the baseline. q and r of the C-PML: per axis an array
// whose own axis holds the damped nodes only, low end first. phi: compact, box by box.
// Boxes: disjoint, up to six in one launch; 256 threads take a tile of (y, z) and march along x with
// the neighbours along x in registers. next may be prev.
// Any architecture, no shared memory. 32 B per point and damped axis (C-PML), 24 B (Minimod).
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cpml.cuh"
#include "machine.cuh"

namespace {

using namespace temblor;

struct Column {
  int box, i0, i1, j, k;
  bool active;
};

__device__ __forceinline__ Column column_of(const TemblorBoxes& boxes) {
  const int block = int(blockIdx.x);
  int b = 0;
  while (b + 1 < boxes.count && block >= boxes.first_block[b + 1]) ++b;
  int local = block - boxes.first_block[b];
  const int tile_z = local % boxes.tiles_z[b];
  local /= boxes.tiles_z[b];
  const int tile_y = local % boxes.tiles_y[b];
  const int chunk = local / boxes.tiles_y[b];
  const int lanes = boxes.lanes[b], rows = 256 / lanes;
  const int y = int(threadIdx.x) / lanes, z = int(threadIdx.x) - y * lanes;
  Column c;
  c.box = b;
  c.k = boxes.begin[b][2] + tile_z * lanes + z;
  c.j = boxes.begin[b][1] + tile_y * rows + y;
  c.i0 = boxes.begin[b][0] + chunk * boxes.planes[b];
  c.i1 = min(c.i0 + boxes.planes[b], boxes.end[b][0]);
  c.active = y < rows && c.k < boxes.end[b][2] && c.j < boxes.end[b][1];
  return c;
}

template <int R>
__device__ __forceinline__ void cpml(const TemblorStep& s, const TemblorBoxes& boxes,
                                     const TemblorCpml& m, const float* __restrict__ p,
                                     const float* prev, float* next,
                                     const float* __restrict__ v) {
  const Column c = column_of(boxes);
  if (!c.active) return;
  const int64_t row = c.j * s.stride_y + c.k;
  float queue[2 * R + 1];
#pragma unroll
  for (int r = 0; r < 2 * R; ++r) queue[r + 1] = p[(c.i0 - R + r) * s.stride_x + row];
  for (int i = c.i0; i < c.i1; ++i) {
    const int64_t at = i * s.stride_x + row;
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
    queue[2 * R] = p[at + R * s.stride_x];
    const float centre = queue[R];
    float xx = mul(s.second[0][0], centre), x = 0.0f;
    float yy = mul(s.second[1][0], centre), y = 0.0f;
    float zz = mul(s.second[2][0], centre), z = 0.0f;
#pragma unroll
    for (int r = 1; r <= R; ++r) {
      xx = pair(s.second[0][r], queue[R - r], queue[R + r], xx);
      x = fma_rn(s.first[0][r], sub(queue[R + r], queue[R - r]), x);
      const float y_low = p[at - r * s.stride_y], y_high = p[at + r * s.stride_y];
      yy = pair(s.second[1][r], y_low, y_high, yy);
      y = fma_rn(s.first[1][r], sub(y_high, y_low), y);
      const float z_low = p[at - r], z_high = p[at + r];
      zz = pair(s.second[2][r], z_low, z_high, zz);
      z = fma_rn(s.first[2][r], sub(z_high, z_low), z);
    }
    float lap = damped<0>(s, m, R, i, c.j, c.k, x, xx);
    lap = add(lap, damped<1>(s, m, R, i, c.j, c.k, y, yy));
    lap = add(lap, damped<2>(s, m, R, i, c.j, c.k, z, zz));
    next[at] = leap(centre, prev[at], v[at], lap);
  }
}

template <int R>
__device__ __forceinline__ void minimod(const TemblorStep& s, const TemblorBoxes& boxes,
                                        const TemblorMinimod& m, const float* __restrict__ p,
                                        const float* prev, float* next,
                                        const float* __restrict__ v) {
  const Column c = column_of(boxes);
  if (!c.active) return;
  const int b = c.box;
  const int64_t row = c.j * s.stride_y + c.k;
  const int64_t wide_z = (boxes.end[b][2] - boxes.begin[b][2] + 7) / 8 * 8;
  const int64_t wide_y = boxes.end[b][1] - boxes.begin[b][1];
  float* __restrict__ phi = m.phi + boxes.first_element[b] +
                            (c.j - boxes.begin[b][1]) * wide_z + (c.k - boxes.begin[b][2]);
  const float eta_yz = add(m.eta[1][c.j], m.eta[2][c.k]);
  const float slope_y = mul(m.quarter[1], sub(m.eta[1][c.j + 1], m.eta[1][c.j - 1]));
  const float slope_z = mul(m.quarter[2], sub(m.eta[2][c.k + 1], m.eta[2][c.k - 1]));
  float queue[2 * R + 1];
#pragma unroll
  for (int r = 0; r < 2 * R; ++r) queue[r + 1] = p[(c.i0 - R + r) * s.stride_x + row];
  for (int i = c.i0; i < c.i1; ++i) {
    const int64_t at = i * s.stride_x + row;
#pragma unroll
    for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
    queue[2 * R] = p[at + R * s.stride_x];
    const float centre = queue[R];
    // What a later plane of the march will need: with 16 warps on an SM threads wait for memory
    // otherwise.
    if (i + 2 < c.i1) {
      prefetch_l2(p + at + (R + 2) * s.stride_x);
      prefetch_l2(prev + at + 2 * s.stride_x);
      prefetch_l2(v + at + 2 * s.stride_x);
      prefetch_l2(phi + (i + 2 - boxes.begin[b][0]) * wide_y * wide_z);
    }
    const float slope_x = mul(m.quarter[0], sub(m.eta[0][i + 1], m.eta[0][i - 1]));
    float fall = mul(slope_x, sub(queue[R + 1], queue[R - 1]));
    float lap = mul(s.centre, centre);
#pragma unroll
    for (int r = 1; r <= R; ++r) {
      const float low = p[at - r], high = p[at + r];
      lap = pair(s.second[2][r], low, high, lap);
      if (r == 1) fall = fma_rn(slope_z, sub(high, low), fall);
    }
#pragma unroll
    for (int r = 1; r <= R; ++r) {
      const float low = p[at - r * s.stride_y], high = p[at + r * s.stride_y];
      lap = pair(s.second[1][r], low, high, lap);
      if (r == 1) fall = fma_rn(slope_y, sub(high, low), fall);
    }
#pragma unroll
    for (int r = 1; r <= R; ++r)
      lap = pair(s.second[0][r], queue[R - r], queue[R + r], lap);
    const int64_t own = (i - boxes.begin[b][0]) * wide_y * wide_z;
    const float old_phi = phi[own];
    const float eta = add(m.eta[0][i], eta_yz);
    const float weight = fma_rn(eta, sub(2.0f, eta), 2.0f);
    const float sum = fma_rn(v[at], add(lap, old_phi), fma_rn(weight, centre, -prev[at]));
    next[at] = __fdiv_rn(sum, fma_rn(2.0f, eta, 1.0f));
    // A box may hold nodes beside the layer, where phi stays zero.
    if (eta > 0.0f) phi[own] = __fdiv_rn(sub(old_phi, fall), add(1.0f, eta));
  }
}

}  // namespace

// 128 registers keep two blocks of 256 threads on an SM at every order.
#define TEMBLOR_LAYERS(R)                                                                       \
  extern "C" __global__ void __launch_bounds__(256, 2) acoustic_iso_cpml_r##R(                  \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorBoxes boxes,        \
      const __grid_constant__ TemblorCpml m, const float* p, const float* prev, float* next,    \
      const float* v) {                                                                         \
    cpml<R>(s, boxes, m, p, prev, next, v);                                                     \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256, 2) acoustic_iso_minimod_r##R(               \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorBoxes boxes,        \
      const __grid_constant__ TemblorMinimod m, const float* p, const float* prev, float* next, \
      const float* v) {                                                                         \
    minimod<R>(s, boxes, m, p, prev, next, v);                                                  \
  }
TEMBLOR_LAYERS(1)
TEMBLOR_LAYERS(2)
TEMBLOR_LAYERS(3)
TEMBLOR_LAYERS(4)
TEMBLOR_LAYERS(5)
TEMBLOR_LAYERS(6)
TEMBLOR_LAYERS(7)
TEMBLOR_LAYERS(8)
