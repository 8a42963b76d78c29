// Isotropic acoustics, one leapfrog step, radius 1 to 4, Laplacian by digits on tensor cores.
// p+ = 2p - p- + dt^2 c^2 L p; integer operator and its digits from the host (ozaki.cuh).
// Layout (x, y, z), z fastest, pitch a multiple of 128 B, halo of the radius; the box's first node
// lies on 128 B. Any box; tiles on its far edges are cut. next may be prev: a thread reads p- at
// its own nodes only.
// Tile 16 x 64: 73 KiB shared, 256 threads, two blocks per multiprocessor.
// sm_80 and later. 16 B per point, 54 products of four digits at (2, 3).
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ozaki_mma.cuh"
#include "ozaki_kernel.cuh"

TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_1x1_y16z64, Tensor, 1, 1, 1, 16, 64, 2)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_1x2_y16z64, Tensor, 1, 2, 2, 16, 64, 2)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_2x2_y16z64, Tensor, 2, 2, 3, 16, 64, 2)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_2x3_y16z64, Tensor, 2, 3, 4, 16, 64, 2)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_2x3_t1_y16z64, Tensor, 2, 3, 3, 16, 64, 2)
TEMBLOR_OZAKI(acoustic_iso_ozaki_mma_3x3_y16z64, Tensor, 3, 3, 5, 16, 64, 1)
