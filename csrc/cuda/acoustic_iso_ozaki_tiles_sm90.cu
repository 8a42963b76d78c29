// Isotropic acoustics, one leapfrog step, radius 1 to 4, Laplacian by (2, 3) digits, by other tiles
// than that of acoustic_iso_ozaki_dp4a.cu: candidates that tuning chooses from.
// p+ = 2p - p- + dt^2 c^2 L p; integer operator and its digits from the host (ozaki.cuh).
// Layout and assumptions as there. A tile of 1024 nodes takes 77 to 80 KiB of shared memory.
// sm_90. 16 B per point, 54 products of four digits.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ozaki_dp4a.cuh"
#include "ozaki_kernel.cuh"

TEMBLOR_OZAKI(acoustic_iso_ozaki_dp4a_2x3_y8z64, Four, 2, 3, 4, 8, 64, 4)
TEMBLOR_OZAKI(acoustic_iso_ozaki_dp4a_2x3_y16z32, Four, 2, 3, 4, 16, 32, 4)
TEMBLOR_OZAKI(acoustic_iso_ozaki_dp4a_2x3_y32z32, Four, 2, 3, 4, 32, 32, 2)
TEMBLOR_OZAKI(acoustic_iso_ozaki_dp4a_2x3_y32z64, Four, 2, 3, 4, 32, 64, 1)
