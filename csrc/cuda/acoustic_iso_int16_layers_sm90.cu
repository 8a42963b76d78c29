// Isotropic acoustics, one leapfrog step in the absorbing layers, order 8, 3-D, wavefields in 16 bits with
// an exponent per 32 nodes along z (int16.cuh), tiles in shared memory.
// p+ = 2p - p- + dt^2 c^2 lap(p), or d+ = round(d + dt^2 c^2 lap(p)), p+ = round(p + d+), with the C-PML's or
// Minimod's terms (acoustic_iso_layers.cu), and the bits of acoustic_iso_stored.cu.
// Layout (x, y, z), z fastest, rows of whole storage tiles; memory variables in FP32. Boxes: disjoint, up to
// six in one launch, from a storage tile on along z, none with taps across a reflecting face but that before
// node 0 along z, of eight nodes at least; next may be prev.
// Tiles of 24 (28) rows of eight groups of four nodes, marched along x or y (layer_int16.cuh): 192 (224)
// threads, two blocks per SM, up to 91 (48) KiB shared each, 168 (128) registers.
// sm_80 and newer, tuned for sm_90. With codes for the wave speed 8 B (increment 10 B) and 16 B per damped
// axis, or 8 B for phi; 155 to 200 (increment 169 to 214) instructions per point in the C-PML where
// acoustic_iso_cpml has 143 to 190, 158 (177) in Minimod's layer where acoustic_iso_minimod has 114, a
// branch for tiles at the surface among them.
// On an H200 at 512^3, C-PML of 20 cells, codes: 70 Gpts/s of the layers' nodes, whole steps 172 (800^3: 224), of
// increments 153 (189), of acoustic_iso_stored 63 and 60. Memory 34 %, L1 49 %, issue 49 %: latency of 12 warps.
// Exponents fetched with the word that holds them, and groups beside the tile and beside its rows by
// branches of their own: 184 to 232 instructions, spills.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cpml_tiles.cuh"
#include "layer_int16.cuh"
#include "minimod_tiles.cuh"

using namespace temblor;

// CODED, INCREMENT: as Codes has them.
#define TEMBLOR_INT16_LAYERS(NAME, CODED, INCREMENT)                                             \
  extern "C" __global__ void __launch_bounds__(CPML_THREADS, 2) NAME##_cpml(                     \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorLayerTiles g,        \
      const __grid_constant__ TemblorCpml layer, const __grid_constant__ TemblorStored m) {      \
    step_cpml(s, g, layer, Codes<CODED, INCREMENT>{m},                                           \
              reinterpret_cast<float4*>(dynamic_shared()));                                      \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(MINIMOD_THREADS, 2) NAME##_minimod(               \
      const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorLayerTiles g,        \
      const __grid_constant__ TemblorMinimod layer, const __grid_constant__ TemblorStored m) {   \
    step_minimod(s, g, layer, Codes<CODED, INCREMENT>{m},                                        \
                 reinterpret_cast<float4*>(dynamic_shared()));                                   \
  }
TEMBLOR_INT16_LAYERS(acoustic_iso_int16_u16, true, false)
TEMBLOR_INT16_LAYERS(acoustic_iso_int16_increment_u16, true, true)
TEMBLOR_INT16_LAYERS(acoustic_iso_int16, false, false)
TEMBLOR_INT16_LAYERS(acoustic_iso_int16_increment, false, true)
