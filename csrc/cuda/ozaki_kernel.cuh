// Entry points of the kernels by digits.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "ozaki.cuh"

// ENGINE: Tensor or Four; A, W: digits of the operator and of the wavefield; D: diagonals kept; a
// tile has TY rows and TZ columns; BLOCKS: on a multiprocessor, for which registers are dealt out.
#define TEMBLOR_OZAKI(NAME, ENGINE, A, W, D, TY, TZ, BLOCKS)                                       \
  extern "C" __global__ void __launch_bounds__(TY* TZ / 4, BLOCKS)                                \
      NAME(const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorOzaki o,         \
           const float* p, float* next, const float* v, const uint32_t* peaks,                    \
           uint32_t* peaks_next) {                                                                \
    using namespace temblor::ozaki;                                                               \
    ENGINE<Digits<A, W, D>, TY, TZ>::step(s, o, p, next, v, peaks, peaks_next);                   \
  }
