// The stand-in for the driver with the kernels of reduced storage and what their plans need besides.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_int16_sm90.cu"
#undef TEMBLOR_INT16
#include "acoustic_iso_int16_layers_sm90.cu"
#undef TEMBLOR_INT16_LAYERS
#include "acoustic_iso_stored.cu"
#undef TEMBLOR_STORED
#include "points.cu"
#include "stored_points.cu"
#include "driver.hpp"

namespace {

#define KERNELS_OF(S)                                                                              \
  KERNEL(acoustic_iso_stored_plain_##S), KERNEL(acoustic_iso_stored_cpml_##S),                     \
      KERNEL(acoustic_iso_stored_minimod_##S), KERNEL(stored_record_##S), KERNEL(stored_inject_##S), \
      KERNEL(stored_pack_##S), KERNEL(stored_unpack_##S), KERNEL(stored_health_##S)
#define KERNELS_OF_WIDTH(Z)                                                                        \
  KERNEL(acoustic_iso_int16##Z), KERNEL(acoustic_iso_int16_u16##Z),                                \
      KERNEL(acoustic_iso_int16_increment##Z), KERNEL(acoustic_iso_int16_increment_u16##Z)
#define KERNELS_OF_LAYER(NAME)                                                                     \
  KERNEL(acoustic_iso_int16_##NAME), KERNEL(acoustic_iso_int16_u16_##NAME),                        \
      KERNEL(acoustic_iso_int16_increment_##NAME), KERNEL(acoustic_iso_int16_increment_u16_##NAME)
const Table all = {
    KERNELS_OF(f32), KERNELS_OF(int16), KERNELS_OF(bf16), KERNELS_OF(bf16x2), KERNELS_OF(fp16),
    KERNELS_OF(fp16_scaled), KERNELS_OF_WIDTH(_z96), KERNELS_OF_WIDTH(_z128),
    KERNELS_OF_WIDTH(_z160), KERNELS_OF_WIDTH(_z128_r3), KERNELS_OF_WIDTH(_z160_r3),
    KERNELS_OF_WIDTH(_z128_r2), KERNELS_OF_WIDTH(_z160_r2), KERNELS_OF_LAYER(cpml),
    KERNELS_OF_LAYER(minimod), KERNEL(stored_speed), KERNEL(pack),
    KERNEL(unpack), KERNEL(health), KERNEL(largest_of)};

const Table& played() { return all; }
int major_capability() { return 9; }

}  // namespace
