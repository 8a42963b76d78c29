// Steps in Minimod's layer (Meng et al. 2020).
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "acoustic_iso.cuh"
#include "machine.cuh"

namespace temblor {

// 1/x to a unit or two in the last place.
__device__ __forceinline__ float inverse(float x) {
  const float y = rough_inverse(x);
  return fma_rn(y, fma_rn(-x, y, 1.0f), y);
}

// (1 + 2 eta) p+ = (2 - eta^2 + 2 eta) p - p- + dt^2 c^2 (lap + phi). With d = p - p- and d+ = p+ - p:
// (1 + 2 eta) d+ = d - eta^2 p + dt^2 c^2 (lap + phi). This is d+ - d; `lap` is lap + phi.
__device__ __forceinline__ float damped_gain(float d, float p, float v, float lap, float eta) {
  const float force = fma_rn(v, lap, -mul(mul(eta, eta), p));
  return mul(fma_rn(mul(-2.0f, eta), d, force), inverse(fma_rn(2.0f, eta, 1.0f)));
}

}  // namespace temblor
