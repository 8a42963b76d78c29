// Isotropic acoustics, two leapfrog steps on chip, radius 4 (order 8), 3 and 2, all streams fed by TMA.
// p+ = 2p - p- + dt^2 c^2 lap(p), twice; weights from the host; the arithmetic is
// bit for bit that of acoustic_iso_tma, so a run may be cut at an odd step.
// Layout (x, y, z), z fastest, pitch a multiple of 16 B, halo of the radius, 4 along z; the box's first
// node lies on 16 B.
// Reads p^n, p^(n-1); writes p^(n+1), p^(n+2) to other arrays. Where p^(n+1) lies in the grid but
// outside the box (a layer or a wall) it is read from memory and must be there already.
// Sources inside the box are added to p^(n+1) here: the second step needs them.
// Tile 56 x (32 - 2R) (z, y) marched along x; p^(n+1) is computed on 64 x 32 (rims of 4 and R twice over).
// What follows is of radius 4; smaller radii give out 26 and 28 rows.
// Rings: 8 planes of p^n 72 x 40, 5 of p^(n+1) 64 x 32, 7 of v, 3 of p^(n-1): 210 KiB shared, one
// block of 512 threads per SM; 9 planes of both fields in registers.
// sm_90, CUDA >= 12.0. 10 B and 33 flop per point and step; 14.4 B per step between L2 and SM.
// SPDX-License-Identifier: MIT OR Apache-2.0
#define TEMBLOR_RADIUS 4
#define TEMBLOR_FUSED2 acoustic_iso_fused2
#define TEMBLOR_FUSED2_OF fused2_r4
#include "fused2.cuh"
#undef TEMBLOR_RADIUS
#undef TEMBLOR_FUSED2
#undef TEMBLOR_FUSED2_OF

#define TEMBLOR_RADIUS 3
#define TEMBLOR_FUSED2 acoustic_iso_fused2_r3
#define TEMBLOR_FUSED2_OF fused2_r3
#include "fused2.cuh"
#undef TEMBLOR_RADIUS
#undef TEMBLOR_FUSED2
#undef TEMBLOR_FUSED2_OF

#define TEMBLOR_RADIUS 2
#define TEMBLOR_FUSED2 acoustic_iso_fused2_r2
#define TEMBLOR_FUSED2_OF fused2_r2
#include "fused2.cuh"
#undef TEMBLOR_RADIUS
#undef TEMBLOR_FUSED2
#undef TEMBLOR_FUSED2_OF
