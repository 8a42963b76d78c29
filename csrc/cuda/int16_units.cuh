// What the last warp of acoustic_iso_int16 looks up for the others: exponents of storage tiles, a plane
// ahead, as the factors that codes are decoded by.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "int16.cuh"

namespace temblor {

// Of a pair of rows.
__device__ __forceinline__ Unit unit_of_row(const float4& pair, int row) {
  return row == 0 ? Unit{pair.x, pair.y} : Unit{pair.z, pair.w};
}

// Exponents of ROWS x TILES storage tiles of one plane after the other. A lane takes every 32nd of them,
// loads them in one round and leaves them in shared memory, PITCH pairs of rows side by side, in the
// next.
template <int ROWS, int TILES, int PITCH>
struct Units {
  static constexpr int COUNT = ROWS * TILES, LOADS = (COUNT + 31) / 32;
  const int8_t* plane;
  int64_t to_next;
  int from[LOADS], to[LOADS], exponent[LOADS];

  // `first`: that of the first tile, which is left as that of `row` and `tile`; tiles beyond `rows` and
  // `tiles` read what the last ones do.
  __device__ __forceinline__ Units(const int8_t* first, int64_t to_next, int pitch, int rows,
                                   int tiles, int row, int tile)
      : plane(first), to_next(to_next) {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) {
      const int unit = min(int(threadIdx.x % 32) + 32 * n, COUNT - 1);
      const int y = unit / TILES, z = unit % TILES;
      from[n] = min(y, rows - 1) * pitch + min(z, tiles - 1);
      to[n] = ((y + row) / 2 * PITCH + z + tile) * 2 + (y + row) % 2;
    }
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) exponent[n] = plane[from[n]];
    plane += to_next;
  }
  __device__ __forceinline__ void leave(float4* pairs) const {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) {
      const Unit unit = unit_of(exponent[n]);
      reinterpret_cast<float2*>(pairs)[to[n]] = make_float2(unit.scale, unit.offset);
    }
  }
};

}  // namespace temblor
