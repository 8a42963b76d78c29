// Isotropic acoustics, one leapfrog step in Minimod's eta/phi layer, order 8, 3-D, tiles in shared
// memory (minimod_tiles.cuh).
// Layout (x, y, z), z fastest; groups of four nodes along z lie on 16 B in all arrays, phi too.
// Boxes: disjoint, up to six in one launch. next may be prev.
// sm_80 and newer, tuned for sm_90: 224 threads, two blocks per SM, about 65 KiB shared each.
// 24 B per point; 28 B between L2 and SM.
// On an H200, layers of 27 cells alone, Gpts/s at 512^3 / 800^3 / 256^3, N of the layers:
//   137 / 140 / 115  (acoustic_iso_minimod_r4: 111 / 115 / 92; least bytes at the roof: 183 / 185 / 173)
//   137 / 138 / 112  three planes fetched ahead
//   137 / 137 / 105  one block of 448 threads, tiles of 64 nodes along z
//   120 / 122 / 106  one block of 384 threads, tiles of 56 nodes, not on cache lines
//   108 / 110        tiles of 56 to 64 nodes and layers of 28 nodes along z, not on cache lines
//    81 / 81         neighbours along the march from shared memory, p-, v and phi into registers
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "minimod_tiles.cuh"

using namespace temblor;

extern "C" __global__ void __launch_bounds__(MINIMOD_THREADS, 2)
    acoustic_iso_minimod(const __grid_constant__ TemblorStep s,
                         const __grid_constant__ TemblorLayerTiles g,
                         const __grid_constant__ TemblorMinimod m, const float* p,
                         const float* prev, float* next, const float* v) {
  extern __shared__ float4 shared[];
  step_minimod(s, g, m, Floats{p, prev, next, v}, shared);
}
