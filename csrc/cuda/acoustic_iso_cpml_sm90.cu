// Isotropic acoustics, one leapfrog step in the C-PML, order 8, 3-D, tiles in shared memory
// (cpml_tiles.cuh).
// Layout (x, y, z), z fastest; groups of four nodes along z lie on 16 B in all arrays, q and r too.
// Boxes: disjoint, up to six in one launch. next may be prev.
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
#include "cpml_tiles.cuh"

using namespace temblor;

extern "C" __global__ void __launch_bounds__(CPML_THREADS, 2)
    acoustic_iso_cpml(const __grid_constant__ TemblorStep s,
                      const __grid_constant__ TemblorLayerTiles g,
                      const __grid_constant__ TemblorCpml m, const float* p, const float* prev,
                      float* next, const float* v) {
  extern __shared__ float4 shared[];
  step_cpml(s, g, m, Floats{p, prev, next, v}, shared);
}
