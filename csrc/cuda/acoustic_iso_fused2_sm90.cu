// Isotropic acoustics, two leapfrog steps on chip, radius 4 to 2 (order 8 to 4), 3 and 2 in space, a crew of
// warps per step, every stream into and out of shared memory by bulk copies.
// p+ = 2p - p- + dt^2 c^2 lap(p), twice; weights from the host; the arithmetic is bit for bit that of
// acoustic_iso_wide, so a run may be cut at an odd step.
// Layout (x, y, z), z fastest, pitch a multiple of 16 B, halo of the radius, 4 along z; node 0 of a row
// lies on 16 B, best 32 B past a multiple of 128, where what a tile reads begins on a line.
// Reads p^n, p^(n-1); writes p^(n+1), p^(n+2) to other arrays. The box is the whole grid: there are no
// layers and no walls. Beyond it the wave speed and both fields are zero in the halos and in the padding
// of rows, and so is p^(n+1), which is computed there too.
// Sources are added to p^(n+1) here: the second step needs them.
// Tile 64 x 24 (z, y) marched along x; p^(n+1) is computed on 72 x 32 (rims of 4 and R twice over).
// What follows is of radius 4. Rings: 4 planes of p^n 80 x 40, 8 of v and 3 of p^(n-1) 80 x 32, 2 of
// p^(n+1) 72 x 32, 7 of 2 p^(n+1) - p^n and one of p^(n+1) on its way out 64 x 24: 226 KiB shared, one block
// of 16 warps per SM: nine make the first step, six the second, one asks for planes. Two rows of four nodes
// per thread; of either field four planes and four sums that wait for more planes are in registers.
// sm_90, CUDA >= 12.0. 10 B and 41 flop per point and step, 53 instructions; 14.8 B between L2 and SM.
// On an H200 (docs/cuda-h200.md), Gpts/s at 800^3 and 1024^3: 305 and 293 before the card slows down at its
// power limit, 277 and 277 over 1.5 s. What lost: rows copied out one by one 267 and 273; results stored by
// threads 263 and 260, as their stores hold up the pipe that reads shared memory (without any stores 377);
// blocks that wait for the others of their wave, so that they stay within eight planes, 271 and 283 over
// 1.5 s; nodes beyond the grid read as zeros by the threads at its faces 213 and 237. With stores by threads
// also: tiles of 56 x 26 off the lines 226 and 223, of 48 x 32 259 and 253; three rows per thread in eleven
// warps 185 and 189, four rows in eight warps 180 and 186, tiles of 64 x 28 with three rows in twelve warps
// 181 and 185. One crew for both steps, 16 warps and a barrier of the block per plane (56 x 24): 207 and 217.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fused2.cuh"

// first, second: p^(n+1) and p^(n+2) up to the grid's end, in boxes of 64 x 4 nodes.
#define TEMBLOR_FUSED2(NAME, R)                                                                    \
  extern "C" __global__ void __launch_bounds__(temblor::FusedTile<R>::THREADS, 1)                  \
      NAME(const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorTiles tiles,      \
           const __grid_constant__ TemblorFused f, const __grid_constant__ CUtensorMap p,          \
           const __grid_constant__ CUtensorMap prev, const __grid_constant__ CUtensorMap v,        \
           const __grid_constant__ CUtensorMap first, const __grid_constant__ CUtensorMap second) { \
    temblor::two_steps<temblor::FusedTile<R>>(s, tiles, f, &p, &prev, &v, &first, &second);        \
  }
TEMBLOR_FUSED2(acoustic_iso_fused2, 4)
TEMBLOR_FUSED2(acoustic_iso_fused2_r3, 3)
TEMBLOR_FUSED2(acoustic_iso_fused2_r2, 2)
