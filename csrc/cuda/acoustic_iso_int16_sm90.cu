// Isotropic acoustics, one leapfrog step, radius 2 to 4, wavefields in 16 bits with an exponent per 32
// nodes along z (int16.cuh), arithmetic in FP32, wide tiles: all streams by each thread's own
// asynchronous copies, p decoded once per plane into shared memory, partial sums along x as in
// acoustic_iso_wide.
// p+ = 2p - p- + dt^2 c^2 lap(p), or d+ = round(d + dt^2 c^2 lap(p)), p+ = round(p + d+).
// Layout (x, y, z), z fastest, rows of whole storage tiles and one tile of zeros before each, halo of
// the radius along x and y; arrays go on for a tile's rows past the last plane. The box consists of
// whole storage tiles along z and reads nothing across a reflecting face.
// Tile TZ along z, TY = 2 (512 / (TZ / 4)) along y, marched along x; a thread owns 2 rows of 4 nodes,
// eight neighbours share a storage tile. While the sums of plane q are taken, plane q + 1 is decoded;
// copies run three planes ahead. Bulk copies of rows would need fewer requests to L2, but one warp
// issues them row by row, 15 instructions each.
// Ring of 4 planes of codes and 2 of floats: 154 to 164 KiB shared (with floats for the wave speed 32
// more); one block of 512 threads per SM.
// sm_90, CUDA >= 12.0. With codes for the wave speed 8 B (increment 10 B) and 49 flop per point.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <type_traits>

#include "int16.cuh"
#include "machine.cuh"
#include "tiles.cuh"

namespace {

using namespace temblor;

// Halo along z: four taps at most.
constexpr int H = 4;
constexpr int ROWS = 2, THREADS = 512, RING = 4;

template <int R, int TZ>
struct Tile {
  static_assert(R <= H, "taps beyond the halo");
  static constexpr int LANES = TZ / 4, LINES = THREADS / LANES, TY = LINES * ROWS;
  static_assert(TZ % STORED_TILE == 0, "a storage tile would be shared by blocks");
  static constexpr int PY = TY + 2 * R, PZ = TZ + 2 * H, PLANE = PZ * PY;
  // Groups of four beside the tile: rows below and above, and one at either end of each row.
  static constexpr int BESIDE = 2 * R * LANES + 2 * TY;
  static_assert(BESIDE <= THREADS, "a thread decodes one group beside the tile");
};

// What a thread copies of a plane for itself, one after the other for all threads.
template <bool CODED>
struct Slot {
  // p of its rows and beside the tile.
  uint2 p[ROWS + 1][THREADS];
  // p- or d.
  uint2 before[ROWS][THREADS];
  // Wave speed: codes or floats.
  typename std::conditional<CODED, uint2, float4>::type speed[ROWS][THREADS];
};

// dt^2 c^2 of four nodes from floats, or from codes of c dt.
__device__ __forceinline__ float4 squared(const TemblorStored&, const float4& v) { return v; }

// c dt from 2^23 + k.
__device__ __forceinline__ float moved(const TemblorStored& m, uint32_t raised) {
  return fma_rn(sub(__uint_as_float(raised), 8388608.0f), m.slope, m.least);
}

__device__ __forceinline__ float4 squared(const TemblorStored& m, const uint2& codes) {
  const float4 c = make_float4(moved(m, __byte_perm(codes.x, 0x4b000000u, 0x7610)),
                               moved(m, __byte_perm(codes.x, 0x4b000000u, 0x7632)),
                               moved(m, __byte_perm(codes.y, 0x4b000000u, 0x7610)),
                               moved(m, __byte_perm(codes.y, 0x4b000000u, 0x7632)));
  return make_float4(mul(c.x, c.x), mul(c.y, c.y), mul(c.z, c.z), mul(c.w, c.w));
}

// Exponents of the storage tiles of a thread's two rows from its values there; all of a warp at once,
// eight neighbours share a tile. `own` is that of the row whose number is the lane's last bit.
__device__ __forceinline__ void exponents_of(const float4 (&value)[ROWS], uint32_t (&all)[ROWS],
                                             uint32_t& own) {
  const float first = larger4(value[0]), second = larger4(value[1]);
  const bool odd = threadIdx.x & 1;
  // Neighbours keep one row each and give the other away.
  float most = larger(odd ? second : first,
                      __shfl_xor_sync(0xffffffffu, odd ? first : second, 1));
  most = larger(most, __shfl_xor_sync(0xffffffffu, most, 2));
  most = larger(most, __shfl_xor_sync(0xffffffffu, most, 4));
  own = exponent_bits(most);
  const uint32_t other = __shfl_xor_sync(0xffffffffu, own, 1);
  all[0] = odd ? other : own;
  all[1] = odd ? own : other;
}

// A place in a plane whose first byte is the same for all threads.
template <typename T>
__device__ __forceinline__ T* place(T* plane, uint32_t bytes) {
  using Byte = typename std::conditional<std::is_const<T>::value, const char, char>::type;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(plane) + bytes);
}

template <int R, int TZ, bool CODED, bool INCREMENT>
__device__ __forceinline__ void step_tile(const TemblorStep& s, const TemblorTiles& tiles,
                                          const TemblorStored& m) {
  using T = Tile<R, TZ>;
  using Ring = Slot<CODED>;
  constexpr uint32_t SPEED_BYTES = CODED ? 2 : 4;
  Ring* const ring = reinterpret_cast<Ring*>(dynamic_shared());
  float* const floats = reinterpret_cast<float*>(ring + RING);
  const March march = march_of(s, tiles);
  const int i0 = march.i0, count = march.i1 - i0, planes = count + 2 * R;
  const int k0 = s.begin[2] + march.tile % tiles.tiles_z * TZ;
  const int j0 = s.begin[1] + march.tile / tiles.tiles_z * T::TY;
  const int thread = int(threadIdx.x);

  // Threads beyond the last whole line of lanes work on the first one and give nothing out.
  const bool spare = thread >= T::LANES * T::LINES;
  const int z = spare ? 0 : thread % T::LANES * 4, y = spare ? 0 : thread / T::LANES * ROWS;
  const int k = k0 + z, j = j0 + y;
  bool given[ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
    given[row] = !spare && j + row < s.end[1] && k < s.end[2];
  // Place of the thread's rows in a plane of the field. What lies past the box is read and not given
  // out: arrays end with room for it.
  const uint32_t at = uint32_t(j * int(s.stride_y) + k), to_next = uint32_t(s.stride_y);

  // The group beside the tile that the thread decodes; threads without one repeat the last.
  int beside_row, beside_z;
  if (thread < 2 * R * T::LANES) {
    const int row = thread / T::LANES;
    beside_row = row < R ? row : row + T::TY;
    beside_z = thread % T::LANES * 4;
  } else {
    const int n = min(thread, T::BESIDE - 1) - 2 * R * T::LANES;
    beside_row = R + n / 2;
    beside_z = n % 2 ? TZ : -4;
  }
  const int own = (y + R) * T::PZ + z + H;
  const int beside = beside_row * T::PZ + beside_z + H;

  // Planes start at the row and the column of the tile's corner, so that places are not below zero.
  const int64_t corner = int64_t(i0 - R) * s.stride_x - R * s.stride_y - STORED_TILE;
  const uint32_t at_p = at + uint32_t(R) * to_next + STORED_TILE;
  const uint32_t at_beside =
      uint32_t((j0 + beside_row) * int(s.stride_y) + k0 + beside_z + STORED_TILE);
  const uint16_t* p_plane = static_cast<const uint16_t*>(m.p) + corner;
  const int8_t* p_exponents = static_cast<const int8_t*>(m.p_exponents) + (corner >> 5);
  const int64_t exponents_x = s.stride_x >> 5;
  const uint32_t exponents_y = to_next >> 5;
  const int64_t first = int64_t(i0) * s.stride_x;
  uint16_t* before_plane = static_cast<uint16_t*>(m.before) + first;
  const uint16_t* before_ahead = before_plane;
  const char* speed_ahead = static_cast<const char*>(m.speed) + first * SPEED_BYTES;
  uint16_t* next_plane = static_cast<uint16_t*>(m.next) + first;
  int8_t* before_exponents = static_cast<int8_t*>(m.before_exponents) + (first >> 5);
  int8_t* next_exponents = static_cast<int8_t*>(m.next_exponents) + (first >> 5);

  // Plane q of p, counted from i0 - R, and what round q needs to give out a plane.
  auto fetch = [&](int q) {
    if (q < planes) {
      Ring& to = ring[q % RING];
#pragma unroll
      for (int row = 0; row < ROWS; ++row)
        copy_async<8>(&to.p[row][thread], place(p_plane, 2 * (at_p + row * to_next)));
      copy_async<8>(&to.p[ROWS][thread], place(p_plane, 2 * at_beside));
      p_plane += s.stride_x;
      if (q >= 2 * R) {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
          copy_async<8>(&to.before[row][thread], place(before_ahead, 2 * (at + row * to_next)));
          copy_async<4 * SPEED_BYTES>(&to.speed[row][thread],
                                    place(speed_ahead, SPEED_BYTES * (at + row * to_next)));
        }
        before_ahead += s.stride_x;
        speed_ahead += s.stride_x * SPEED_BYTES;
      }
    }
    copy_async_commit();
  };
  int exponent[ROWS + 1], before_exponent[ROWS] = {};
  // A round ahead.
  auto load_exponents = [&] {
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      exponent[row] = *place(p_exponents, (at_p >> 5) + row * exponents_y);
    exponent[ROWS] = *place(p_exponents, at_beside >> 5);
    p_exponents += exponents_x;
  };
  auto decode = [&](int q) {
    float* const to = floats + (q & 1) * T::PLANE;
    const Ring& from = ring[q % RING];
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      *reinterpret_cast<float4*>(to + own + row * T::PZ) =
          decode4(from.p[row][thread], unit_of(exponent[row]));
    *reinterpret_cast<float4*>(to + beside) =
        decode4(from.p[ROWS][thread], unit_of(exponent[ROWS]));
  };

  // past[r]: plane q - 1 - r; waiting[r]: the sum of plane q - 1 - r without the planes from q on.
  float4 past[R][ROWS], waiting[R][ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
#pragma unroll
    for (int r = 0; r < R; ++r) past[r][row] = waiting[r][row] = zero4();

  // Round q decodes plane q + 1 and reads its own copies of plane q once more, so that plane q + 4 may
  // be asked for at its end.
  for (int q = 0; q < RING; ++q) fetch(q);
  load_exponents();
  copy_async_wait<RING - 1>();
  decode(0);
  load_exponents();
  __syncthreads();

  // The exponents that this thread writes: of the row whose number is its last bit.
  const bool writes = (thread & 6) == 0 && (thread & 1 ? given[1] : given[0]);
  const uint32_t exponent_at = (at + (thread & 1) * to_next) >> 5;

  // Twice saves half of the moves of `past`; four times spills, and twice does at radius 3.
  [[maybe_unused]] constexpr int TURNS = R == 3 && !INCREMENT ? 1 : 2;
#pragma unroll TURNS
  for (int q = 0; q < planes; ++q) {
    // The last round decodes what nobody reads.
    copy_async_wait<RING - 2>();
    decode(q + 1);
    if (q + 2 < planes) load_exponents();
    const float* plane = floats + (q & 1) * T::PLANE + own;
    float4 here[ROWS], sum[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      const float* centre = plane + row * T::PZ;
      here[row] = load4(centre);
      sum[row] = along_z<R>(s, load4(centre - 4), here[row], load4(centre + 4));
    }
    // Rows y - R .. y + ROWS + R - 1, each read once for all rows of the thread.
#pragma unroll
    for (int d = -R; d < ROWS + R; ++d) {
      const float4 other = d >= 0 && d < ROWS ? here[d] : load4(plane + d * T::PZ);
#pragma unroll
      for (int row = 0; row < ROWS; ++row) {
        const int r = d > row ? d - row : row - d;
        if (r >= 1 && r <= R) sum[row] = fma4(s.second[1][r], other, sum[row]);
      }
    }
    float4 lap[ROWS], centre[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int r = 1; r <= R; ++r) sum[row] = fma4(s.second[0][r], past[r - 1][row], sum[row]);
      lap[row] = fma4(s.second[0][R], here[row], waiting[R - 1][row]);
      centre[row] = past[R - 1][row];
#pragma unroll
      for (int r = R - 1; r >= 1; --r) {
        waiting[r][row] = fma4(s.second[0][r], here[row], waiting[r - 1][row]);
        past[r][row] = past[r - 1][row];
      }
      waiting[0][row] = sum[row];
      past[0][row] = here[row];
    }
    const int given_plane = q - 2 * R;
    if (given_plane >= 0) {
      const Ring& from = ring[q % RING];
      float4 value[ROWS], raised[ROWS];
      uint32_t all[ROWS], mine;
#pragma unroll
      for (int row = 0; row < ROWS; ++row) {
        const float4 old = decode4(from.before[row][thread], unit_of(before_exponent[row]));
        const float4 v = squared(m, from.speed[row][thread]);
        value[row] = INCREMENT ? make_float4(fma_rn(v.x, lap[row].x, old.x),
                                             fma_rn(v.y, lap[row].y, old.y),
                                             fma_rn(v.z, lap[row].z, old.z),
                                             fma_rn(v.w, lap[row].w, old.w))
                               : leap4(centre[row], old, v, lap[row]);
      }
      exponents_of(value, all, mine);
#pragma unroll
      for (int row = 0; row < ROWS; ++row) {
        const uint32_t noise = noise_word(uint32_t(m.seed), i0 + given_plane, j + row, k);
        raised[row] = raise4(m, value[row], inverse_of(all[row]), noise);
        if (given[row])
          *reinterpret_cast<uint2*>(place(before_plane, 2 * (at + row * to_next))) =
              codes4(raised[row]);
      }
      if (writes) *place(before_exponents, exponent_at) = stored_exponent(mine);
      if (INCREMENT) {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
          // The increment as it was rounded, over 2^e, then added.
          const float unit = __uint_as_float(all[row]);
          value[row] = make_float4(fma_rn(sub(raised[row].x, 385.0f), unit, centre[row].x),
                                   fma_rn(sub(raised[row].y, 385.0f), unit, centre[row].y),
                                   fma_rn(sub(raised[row].z, 385.0f), unit, centre[row].z),
                                   fma_rn(sub(raised[row].w, 385.0f), unit, centre[row].w));
        }
        exponents_of(value, all, mine);
#pragma unroll
        for (int row = 0; row < ROWS; ++row)
          if (given[row])
            *reinterpret_cast<uint2*>(place(next_plane, 2 * (at + row * to_next))) =
                codes4(raise4(value[row], inverse_of(all[row])));
        if (writes) *place(next_exponents, exponent_at) = stored_exponent(mine);
        next_plane += s.stride_x;
        next_exponents += exponents_x;
      }
      before_plane += s.stride_x;
      before_exponents += exponents_x;
    }
    if (given_plane >= -1 && given_plane + 1 < count) {
#pragma unroll
      for (int row = 0; row < ROWS; ++row)
        before_exponent[row] = *place(before_exponents, (at >> 5) + row * exponents_y);
    }
    fetch(q + RING);
    __syncthreads();
  }
}

}  // namespace

#define TEMBLOR_INT16(NAME, R, TZ, CODED, INCREMENT)                                            \
  extern "C" __global__ void __launch_bounds__(THREADS, 1)                                      \
      NAME(const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorTiles tiles,   \
           const __grid_constant__ TemblorStored m) {                                           \
    step_tile<R, TZ, CODED, INCREMENT>(s, tiles, m);                                            \
  }
TEMBLOR_INT16(acoustic_iso_int16_u16_z128, 4, 128, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z128, 4, 128, true, true)
TEMBLOR_INT16(acoustic_iso_int16_z128, 4, 128, false, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_z128, 4, 128, false, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z160, 4, 160, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z160, 4, 160, true, true)
TEMBLOR_INT16(acoustic_iso_int16_z160, 4, 160, false, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_z160, 4, 160, false, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z192, 4, 192, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z192, 4, 192, true, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z224, 4, 224, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z224, 4, 224, true, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z128_r3, 3, 128, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z128_r3, 3, 128, true, true)
TEMBLOR_INT16(acoustic_iso_int16_z128_r3, 3, 128, false, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_z128_r3, 3, 128, false, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z160_r3, 3, 160, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z160_r3, 3, 160, true, true)
TEMBLOR_INT16(acoustic_iso_int16_z160_r3, 3, 160, false, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_z160_r3, 3, 160, false, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z128_r2, 2, 128, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z128_r2, 2, 128, true, true)
TEMBLOR_INT16(acoustic_iso_int16_z128_r2, 2, 128, false, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_z128_r2, 2, 128, false, true)
TEMBLOR_INT16(acoustic_iso_int16_u16_z160_r2, 2, 160, true, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_u16_z160_r2, 2, 160, true, true)
TEMBLOR_INT16(acoustic_iso_int16_z160_r2, 2, 160, false, false)
TEMBLOR_INT16(acoustic_iso_int16_increment_z160_r2, 2, 160, false, true)
