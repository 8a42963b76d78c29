// BF16 limbs of values: each the nearest BF16 of what the ones before leave.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "acoustic_iso.cuh"

namespace temblor {

// The nearest BF16, ties to even; NaN stays NaN.
__device__ __forceinline__ uint32_t limb_of(float x) {
  const uint32_t bits = __float_as_uint(x);
  return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
__device__ __forceinline__ float value_of(uint32_t limb) { return __uint_as_float(limb << 16); }

template <int W>
__device__ __forceinline__ void limbs_of(float x, uint32_t (&limb)[W]) {
#pragma unroll
  for (int b = 0; b < W; ++b) {
    limb[b] = limb_of(x);
    x = sub(x, value_of(limb[b]));
  }
}

}  // namespace temblor
