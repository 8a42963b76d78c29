// What the last warp of acoustic_iso_int16 looks up for the others: exponents of storage tiles, a plane
// ahead, as the factors that codes are decoded by.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "int16.cuh"

namespace temblor {

// Exponents of ROWS x TILES storage tiles of one plane after the other. A lane takes every 32nd of them,
// loads them in one round and leaves them in shared memory, in rows of PITCH, in the next.
template <int ROWS, int TILES, int PITCH>
struct Units {
  static constexpr int COUNT = ROWS * TILES, LOADS = (COUNT + 31) / 32;
  const int8_t* plane;
  int64_t to_next;
  int at[LOADS], exponent[LOADS], lane;

  // `first`: that of the first tile; tiles beyond `rows` and `tiles` read what the last ones do.
  __device__ __forceinline__ Units(const int8_t* first, int64_t to_next, int pitch, int rows,
                                   int tiles)
      : plane(first), to_next(to_next), lane(int(threadIdx.x % 32)) {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) {
      const int unit = place(n);
      at[n] = min(unit / TILES, rows - 1) * pitch + min(unit % TILES, tiles - 1);
    }
  }
  __device__ __forceinline__ int place(int n) const { return min(lane + 32 * n, COUNT - 1); }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) exponent[n] = plane[at[n]];
    plane += to_next;
  }
  __device__ __forceinline__ void leave(Unit* to) const {
#pragma unroll
    for (int n = 0; n < LOADS; ++n) to[place(n) / TILES * PITCH + place(n) % TILES] = unit_of(exponent[n]);
  }
};

}  // namespace temblor
