// The stand-in for the driver with the kernels by digits and what their plans need besides,
// before `sm_90`, whose layers' kernels cannot be compiled for a CPU. Limbs on tensor cores are not played.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_layers.cu"
#include "acoustic_iso_limbs_plain.cu"
#include "acoustic_iso_ozaki_dp4a.cu"
#include "acoustic_iso_ozaki_mma.cu"
#include "acoustic_iso_ozaki_peaks.cu"
#include "acoustic_iso_ozaki_plain.cu"
#include "points.cu"

// It has names of its own for what others take from headers.
namespace cpml_order8 {
#include "acoustic_iso_cpml_order8.cu"
}
using cpml_order8::acoustic_iso_cpml_order8;

#include "driver.hpp"

namespace {

#define LAYERS_OF_RADIUS(R) KERNEL(acoustic_iso_cpml_r##R), KERNEL(acoustic_iso_minimod_r##R)
#define KERNELS_OF_DIGITS(D)                                                                      \
  KERNEL(acoustic_iso_ozaki_mma_##D##_y16z32), KERNEL(acoustic_iso_ozaki_dp4a_##D##_y16z64)
const Table all = {
    LAYERS_OF_RADIUS(1), LAYERS_OF_RADIUS(2), LAYERS_OF_RADIUS(3), LAYERS_OF_RADIUS(4),
    LAYERS_OF_RADIUS(5), LAYERS_OF_RADIUS(6), LAYERS_OF_RADIUS(7), LAYERS_OF_RADIUS(8),
    KERNEL(acoustic_iso_cpml_order8),
    KERNELS_OF_DIGITS(1x1), KERNELS_OF_DIGITS(1x2), KERNELS_OF_DIGITS(2x2), KERNELS_OF_DIGITS(2x3),
    KERNELS_OF_DIGITS(2x3_t1), KERNELS_OF_DIGITS(3x3), KERNEL(acoustic_iso_ozaki_plain), KERNEL(acoustic_iso_limbs_plain),
    KERNEL(acoustic_iso_peaks), KERNEL(record), KERNEL(inject), KERNEL(images),
    KERNEL(pack), KERNEL(unpack), KERNEL(health), KERNEL(largest_of)};

const Table& played() { return all; }
int major_capability() { return 8; }

}  // namespace
