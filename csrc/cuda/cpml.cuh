// The C-PML's term of the Laplacian along one axis (Pasalic and McGarry 2010).
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "acoustic_iso.cuh"

namespace temblor {

// Position in the storage of the damped nodes of an axis, or -1.
__device__ __forceinline__ int slab(int node, int nodes, int low, int high, int gap) {
  if (node < 0 || node >= nodes) return -1;
  if (node < low) return node;
  return node >= nodes - high ? node - gap : -1;
}

// The axis' term of the Laplacian, advancing q and r; p_x and p_xx given.
template <int A>
__device__ __forceinline__ float damped(const TemblorStep& s, const TemblorCpml& m, int radius,
                                        int i, int j, int k, float first, float second) {
  const int node = A == 0 ? i : A == 1 ? j : k;
  const int nodes = s.nodes[A], low = m.low[A], high = m.high[A], gap = m.gap[A];
  const bool near_low = low > 0 && node < low + radius;
  const bool near_high = high > 0 && node >= nodes - high - radius;
  if (!near_low && !near_high) return second;
  const int64_t step = A == 0 ? m.stride_x[A] : A == 1 ? m.stride_y[A] : 1;
  const int64_t row = (A == 0 ? 0 : i * m.stride_x[A]) + (A == 1 ? 0 : j * m.stride_y[A]) +
                      (A == 2 ? 0 : k);
  const float* __restrict__ q = m.q[A] + row;
  float q_first = 0.0f;
#pragma unroll
  for (int r = 1; r <= radius; ++r) {
    const int before = slab(node - r, nodes, low, high, gap);
    const int after = slab(node + r, nodes, low, high, gap);
    const float q_before = before >= 0 ? q[before * step] : 0.0f;
    const float q_after = after >= 0 ? q[after * step] : 0.0f;
    q_first = fma_rn(s.first[A][r], sub(q_after, q_before), q_first);
  }
  const int here = slab(node, nodes, low, high, gap);
  if (here < 0) return add(second, q_first);
  const float a = m.decay[A][node], b = m.gain[A][node];
  const float gained = add(1.0f, b);
  const float t = add(fma_rn(gained, second, mul(m.slope[A][node], first)), q_first);
  const int64_t at = row + here * step;
  const float old_r = m.r[A][at];
  m.r[A][at] = mul(a, fma_rn(b, t, old_r));
  m.q_next[A][at] = mul(a, fma_rn(b, first, q[here * step]));
  return fma_rn(gained, t, old_r);
}

}  // namespace temblor
