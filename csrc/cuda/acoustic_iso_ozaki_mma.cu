// Isotropic acoustics, one leapfrog step, radius 1 to 4, Laplacian by digits on tensor cores.
// p+ = 2p - p- + dt^2 c^2 L p; integer operator and its digits from the host (ozaki.cuh).
// Layout (x, y, z), z fastest, pitch a multiple of 128 B, halo of the radius; the box's first node
// lies on 128 B. Any box; tiles on its far edges are cut. next may be prev: a thread reads p- at
// its own nodes only.
// Tile 16 x 32: 64 KiB shared, 128 threads, 168 registers, three blocks per multiprocessor.
// Others on an H200 at 800^3, (2, 3) digits, Gpts/s where this one has 154: 16 x 64 in one block of
// 252 registers 114; 32 x 32 in 128 registers 129, with spills 92; four nodes along z per thread
// 155 (more code); p through L1 152; the operator along y from shared memory too 148; marches of 32
// planes 4 % slower; digits packed four neighbours to a word, x by dp4a, 16 x 64: 119.
// sm_80 and later. 16 B per point; 162 products of digits at (2, 3), of 832 that the matrices make.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ozaki_mma.cuh"
#include "ozaki_kernel.cuh"

TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_1x1_y16z32, Tensor, 1, 1, 1, 16, 32, 3)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_1x2_y16z32, Tensor, 1, 2, 2, 16, 32, 3)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_2x2_y16z32, Tensor, 2, 2, 3, 16, 32, 3)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_2x3_y16z32, Tensor, 2, 3, 4, 16, 32, 3)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_2x3_t1_y16z32, Tensor, 2, 3, 3, 16, 32, 3)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_3x3_y16z32, Tensor, 3, 3, 5, 16, 32, 2)
