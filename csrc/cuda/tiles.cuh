// Tiles of the interior and the planes that a block marches.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "temblor_cuda.h"

namespace temblor {

struct March {
  int tile, i0, i1;
};

// Blocks of one chunk of planes are neighbours in launch order, so that tiles that share halos run
// at the same time and meet in L2.
__device__ __forceinline__ March march_of(const TemblorStep& s, const TemblorTiles& t) {
  int block = int(blockIdx.x), tiles = t.full_tiles, first = 0, planes = t.planes;
  if (block >= t.full_blocks) {
    block -= t.full_blocks;
    first = t.full_tiles;
    tiles = t.rest_tiles;
    planes = t.rest_planes;
  }
  March m;
  m.tile = first + block % tiles;
  m.i0 = s.begin[0] + block / tiles * planes;
  m.i1 = min(m.i0 + planes, s.end[0]);
  return m;
}

}  // namespace temblor
