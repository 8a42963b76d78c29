// Isotropic acoustics, one leapfrog step, radius 2 to 4, wavefields in 16 bits with an exponent per 32
// nodes along z (int16.cuh), arithmetic in FP32, wide tiles: all streams by tensor copies, p decoded
// once per plane into shared memory, partial sums along x as in acoustic_iso_wide.
// p+ = 2p - p- + dt^2 c^2 lap(p), or d+ = round(d + dt^2 c^2 lap(p)), p+ = round(p + d+).
// Layout (x, y, z), z fastest, rows of whole storage tiles and one tile of zeros before each, halo of
// the radius along x and y. The box consists of whole storage tiles along z and reads nothing across a
// reflecting face. What lies outside the arrays has code 0 and the exponent of a field at rest.
// Tile TZ along z, TY = 2 LINES along y, marched along x; a thread owns 2 rows of 4 nodes, eight
// neighbours share a storage tile. In round q the sums of plane q are taken and plane q + 1 is decoded.
// The last warp steps nothing: it asks for planes three rounds ahead and looks exponents up. Between
// two barriers the others have no branch but that of the stores, so that decoding runs while shuffles
// wait. Four rounds are one turn of the loop: `past` and `waiting` stay in place.
// Rings of 4 planes of codes, 2 planes of floats: 153 KiB shared at 160 x 24 (184 KiB with floats for
// the wave speed); one block per SM.
// sm_90, CUDA >= 12.0. With codes for the wave speed 8 B (increment 10 B) and 49 flop per point, 48
// (57) instructions.
// On an H200 at 800^3, Gpts/s before the card slows down at its power limit, and after: 417 and 375, with
// increments 338 and 305. What lost: each thread's own 8 B copies, addresses and exponents 251 and 218
// (increments; 68 instructions per point); tensor copies asked for by thread 0 and exponents by each
// thread 318 and 240; a group beside the tile for every thread 385; plane q + 1 decoded first 353; two
// planes per barrier 299; 64-column tiles in two blocks per SM 290.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <type_traits>

#include "int16_units.cuh"
#include "machine.cuh"
#include "tiles.cuh"
#include "tma.cuh"

namespace {

using namespace temblor;

// Halo along z: of floats four taps at most, of codes what tensor copies begin on.
constexpr int H = 4, H_CODES = 8;
constexpr int ROWS = 2, RING = 4;

template <int RADIUS, int COLUMNS, int LINES, bool CODED>
struct Tile {
  static constexpr int R = RADIUS, TZ = COLUMNS, TY = LINES * ROWS, LANES = TZ / 4;
  static_assert(R <= H, "taps beyond the halo");
  static_assert(TZ % STORED_TILE == 0, "a storage tile would be shared by blocks");
  // That step, and all.
  static constexpr int STEPPING = LANES * LINES, THREADS = STEPPING + 32;
  static_assert(STEPPING % 32 == 0, "shuffles want whole warps");
  static constexpr int PY = TY + 2 * R, PZ = TZ + 2 * H, PLANE = PZ * PY;
  static constexpr int CODES_Z = TZ + 2 * H_CODES, CODES = CODES_Z * PY;
  // Storage tiles along z, and with those beside the tile.
  static constexpr int TILES = TZ / STORED_TILE, ALL_TILES = TILES + 2;
  // Pairs of rows, the tile's own among them.
  static constexpr int ODD = R % 2, PAIRS = (PY + ODD + 1) / 2;
  // Groups of four beside the tile: rows below and above, and one at either end of each row.
  static constexpr int BESIDE = 2 * R * LANES + 2 * TY;
  static_assert(BESIDE <= STEPPING, "a thread decodes one group beside the tile");
  static constexpr int SPEED_BYTES = CODED ? 2 : 4;

  // Tensor copies write to multiples of 128 B.
  static constexpr int room(int bytes) { return (bytes + 127) / 128 * 128; }
  struct Shared {
    unsigned char p[RING][room(2 * CODES)];
    // p- or d.
    unsigned char before[RING][room(2 * TY * TZ)];
    unsigned char speed[RING][room(SPEED_BYTES * TY * TZ)];
    float plane[2][PLANE];
    // Of p, and of p- or d in the same places.
    // Of p, and of p- or d in the same places; by pairs of rows.
    float4 p_units[2][PAIRS][ALL_TILES], before_units[2][PAIRS][ALL_TILES];
    // Of what round q needs, in slot q % RING; the last one of plane 0.
    uint64_t full[RING + 1];
  };
};

// Descriptions of the arrays for tensor copies and the elements before node 0 along (x, y, z).
struct Maps {
  const CUtensorMap *p, *before, *speed;
  int origin[3];
};

// v from floats, or over slope^2 from codes of c dt.
__device__ __forceinline__ float4 speed_of(const TemblorStored&, const float4& v) { return v; }

__device__ __forceinline__ float squared(const TemblorStored& m, uint32_t codes, uint32_t half) {
  const float c = sub(__uint_as_float(__byte_perm(codes, 0x4b000000u, half)), m.code_offset);
  return mul(c, c);
}

__device__ __forceinline__ float4 speed_of(const TemblorStored& m, const uint2& codes) {
  return make_float4(squared(m, codes.x, 0x7610), squared(m, codes.x, 0x7632),
                     squared(m, codes.y, 0x7610), squared(m, codes.y, 0x7632));
}

// Address and value are made by all threads: a branch around them would cut the round in pieces.
template <class V>
__device__ __forceinline__ void store_if(bool stores, V* to, const V& value) {
  if (stores) *to = value;
}

// Exponents of the storage tiles of a thread's two rows from its values there; all of a warp at once,
// eight neighbours share a tile. `own` is that of the row whose number is the lane's last bit.
template <uint32_t ROOM>
__device__ __forceinline__ void exponents_of(const float4 (&value)[ROWS], uint32_t (&all)[ROWS],
                                             uint32_t& own) {
  const float first = larger4(value[0]), second = larger4(value[1]);
  const bool odd = threadIdx.x & 1;
  // Neighbours keep one row each and give the other away.
  float most = larger(odd ? second : first,
                      __shfl_xor_sync(0xffffffffu, odd ? first : second, 1));
  most = larger(most, __shfl_xor_sync(0xffffffffu, most, 2));
  most = larger(most, __shfl_xor_sync(0xffffffffu, most, 4));
  own = exponent_bits<ROOM>(most);
  const uint32_t other = __shfl_xor_sync(0xffffffffu, own, 1);
  all[0] = odd ? other : own;
  all[1] = odd ? own : other;
}

// Where a block is: first node of the tile, first plane, planes of p that it reads.
struct Place {
  int i0, j0, k0, planes;
};

// The last warp: asks for planes, and leaves what exponents are worth. Meets the others at every
// barrier.
template <class T>
__device__ __forceinline__ void feed(const TemblorStep& s, const TemblorStored& m,
                                     const Maps& maps, const Place& at,
                                     typename T::Shared& shared) {
  constexpr int R = T::R;
  const bool asks = threadIdx.x % 32 == 0;
  const int x = maps.origin[0] + at.i0, y = maps.origin[1] + at.j0, z = maps.origin[2] + at.k0;
  auto fetch_p = [&](int q, uint64_t* barrier) {
    copy_box(shared.p[q % RING], maps.p, barrier, z - H_CODES, y - R, x - R + q);
  };
  // What round q needs: plane q + 1 of p, and the streams of the plane that it gives out.
  auto fetch = [&](int q) {
    const bool more = q + 1 < at.planes, gives = q >= 2 * R;
    uint64_t* barrier = &shared.full[q % RING];
    barrier_expect(barrier, (more ? 2 * T::CODES : 0) +
                                (gives ? (2 + T::SPEED_BYTES) * T::TY * T::TZ : 0));
    if (more) fetch_p(q + 1, barrier);
    if (gives) {
      copy_box(shared.before[q % RING], maps.before, barrier, z, y, x - 2 * R + q);
      copy_box(shared.speed[q % RING], maps.speed, barrier, z, y, x - 2 * R + q);
    }
  };
  if (asks) {
    barrier_expect(&shared.full[RING], 2 * T::CODES);
    fetch_p(0, &shared.full[RING]);
    for (int q = 0; q < RING - 1; ++q) fetch(q);
  }
  const int rows = min(T::TY, s.end[1] - at.j0);
  const int tiles = min(T::TILES, (s.end[2] - at.k0 + STORED_TILE - 1) / STORED_TILE);
  const int64_t first = int64_t(at.i0) * s.stride_x + int64_t(at.j0) * s.stride_y + at.k0;
  const int64_t next_plane = s.stride_x / STORED_TILE;
  const int pitch = int(s.stride_y / STORED_TILE);
  const int8_t* p_first = static_cast<const int8_t*>(m.p_exponents) +
                          (first - R * (s.stride_x + s.stride_y)) / STORED_TILE - 1;
  const int8_t* before_first = static_cast<const int8_t*>(m.before_exponents) + first / STORED_TILE;
  Units<T::PY, T::ALL_TILES, T::ALL_TILES> p_units(p_first, next_plane, pitch, rows + 2 * R,
                                                   tiles + 2, T::ODD, 0);
  Units<T::TY, T::TILES, T::ALL_TILES> before_units(before_first, next_plane, pitch, rows, tiles,
                                                    R + T::ODD, 1);
  for (int q = 0; q < 2; ++q) {
    p_units.load();
    p_units.leave(shared.p_units[q][0]);
  }
  p_units.load();
  __syncthreads();
  // Plane 0 has been decoded.
  __syncthreads();
  if (asks) fetch(RING - 1);
  for (int q = 0; q < at.planes; ++q) {
    // For round q + 1, which decodes plane q + 2.
    p_units.leave(shared.p_units[q & 1][0]);
    if (q + 3 < at.planes) p_units.load();
    if (q + 1 >= 2 * R) before_units.leave(shared.before_units[(q + 1) & 1][0]);
    if (q + 2 >= 2 * R && q + 2 < at.planes) before_units.load();
    __syncthreads();
    if (asks && q + RING < at.planes) fetch(q + RING);
  }
}

template <class T, bool CODED, bool INCREMENT>
__device__ __forceinline__ void step_tile(const TemblorStep& s, const TemblorTiles& tiles,
                                          const TemblorStored& m, const Maps& maps) {
  using Speed = typename std::conditional<CODED, uint2, float4>::type;
  constexpr int R = T::R;
  auto& shared = *reinterpret_cast<typename T::Shared*>(dynamic_shared());
  const March march = march_of(s, tiles);
  const Place at = {march.i0, s.begin[1] + march.tile / tiles.tiles_z * T::TY,
                    s.begin[2] + march.tile % tiles.tiles_z * T::TZ,
                    march.i1 - march.i0 + 2 * R};
  const int thread = int(threadIdx.x);
  if (thread == T::STEPPING) {
    for (int n = 0; n <= RING; ++n) barrier_init(&shared.full[n], 1);
    barrier_init_fence();
  }
  __syncthreads();
  if (thread >= T::STEPPING) {
    feed<T>(s, m, maps, at, shared);
    return;
  }

  const int z = thread % T::LANES * 4, y = thread / T::LANES * ROWS;
  const int k = at.k0 + z, j = at.j0 + y;
  bool given[ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row) given[row] = j + row < s.end[1] && k < s.end[2];

  // The group beside the tile that the thread decodes; threads without one repeat the last.
  int beside_row, beside_z;
  if (thread < 2 * R * T::LANES) {
    const int row = thread / T::LANES;
    beside_row = row < R ? row : row + T::TY;
    beside_z = thread % T::LANES * 4;
  } else {
    const int n = min(thread, T::BESIDE - 1) - 2 * R * T::LANES;
    beside_row = R + n / 2;
    beside_z = n % 2 ? T::TZ : -4;
  }
  const int own = (y + R) * T::PZ + z + H, beside = beside_row * T::PZ + beside_z + H;
  const int own_code = (y + R) * T::CODES_Z + z + H_CODES;
  const int beside_code = beside_row * T::CODES_Z + beside_z + H_CODES;
  const int own_tile = z / STORED_TILE, beside_tile = (beside_z + STORED_TILE) / STORED_TILE;
  const int own_stream = y * T::TZ + z;
  const int own_pair = (y + R + T::ODD) / 2, beside_pair = (beside_row + T::ODD) / 2;
  const bool second = (beside_row + T::ODD) % 2;
  auto decode = [&](int slot, int plane) {
    float* const to = shared.plane[plane];
    const uint16_t* const from = reinterpret_cast<const uint16_t*>(shared.p[slot]);
    const float4 units = shared.p_units[plane][own_pair][own_tile + 1];
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      *reinterpret_cast<float4*>(to + own + row * T::PZ) =
          decode4(*reinterpret_cast<const uint2*>(from + own_code + row * T::CODES_Z),
                  unit_of_row(units, row));
    // By whole warps: repeating the last group in all threads meets its banks, and took a fifth more.
    if (thread < (T::BESIDE + 31) / 32 * 32) {
      const float2 unit = reinterpret_cast<const float2*>(
          &shared.p_units[plane][beside_pair][beside_tile])[second];
      *reinterpret_cast<float4*>(to + beside) =
          decode4(*reinterpret_cast<const uint2*>(from + beside_code), Unit{unit.x, unit.y});
    }
  };

  // Node (row 0) of the thread in its plane; planes before the first one given out are not stored. Two
  // ways to the two fields, since a second pair of pointers does not fit into the registers.
  const uint32_t to_next = uint32_t(s.stride_y), in_plane = uint32_t(j) * to_next + uint32_t(k);
  // A lane in eight writes an exponent per row: of the row whose number is its last bit.
  const bool writes = (thread & 6) == 0 && (thread & 1 ? given[1] : given[0]);
  const uint32_t exponent_in = (in_plane + (thread & 1) * to_next) / STORED_TILE;
  int64_t plane_at = int64_t(at.i0 - 2 * R) * s.stride_x;
  uint16_t* before_at = static_cast<uint16_t*>(m.before) + plane_at + in_plane;
  int8_t* exponent_at =
      static_cast<int8_t*>(m.before_exponents) + plane_at / STORED_TILE + exponent_in;
  // Pairs of rows count from the box.
  uint32_t noise = noise_word(uint32_t(m.seed), at.i0 - 2 * R, j - s.begin[1], k);

  // Of plane q in place q % 4: past: p; waiting: the sum without the planes that have not come.
  float4 past[4][ROWS], waiting[4][ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
#pragma unroll
    for (int r = 0; r < 4; ++r) past[r][row] = waiting[r][row] = zero4();

  __syncthreads();
  barrier_wait(&shared.full[RING], 0);
  decode(0, 0);
  __syncthreads();

  for (int begin = 0; begin < at.planes; begin += 4) {
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      const int q = begin + turn;
      if (turn > 0 && q >= at.planes) return;
      barrier_wait(&shared.full[turn], q / 4 & 1);
      const float* plane = shared.plane[turn & 1] + own;
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
        for (int r = 1; r <= R; ++r)
          sum[row] = fma4(s.second[0][r], past[(turn + 4 - r) % 4][row], sum[row]);
        lap[row] = fma4(s.second[0][R], here[row], waiting[(turn + 4 - R) % 4][row]);
        centre[row] = past[(turn + 4 - R) % 4][row];
#pragma unroll
        for (int r = R - 1; r >= 1; --r) {
          float4& other = waiting[(turn + 4 - r) % 4][row];
          other = fma4(s.second[0][r], here[row], other);
        }
        waiting[turn][row] = sum[row];
        past[turn][row] = here[row];
      }
      // For the next round; after the last one nobody reads it.
      float4 value[ROWS];
      const float4 units = shared.before_units[turn & 1][own_pair][own_tile + 1];
#pragma unroll
      for (int row = 0; row < ROWS; ++row) {
        const int here = own_stream + row * T::TZ;
        const float4 old = decode4(*reinterpret_cast<const uint2*>(shared.before[turn] + 2 * here),
                                   unit_of_row(units, row));
        const float4 v = speed_of(
            m, *reinterpret_cast<const Speed*>(shared.speed[turn] + T::SPEED_BYTES * here));
        value[row] = INCREMENT ? make_float4(fma_rn(v.x, lap[row].x, old.x),
                                             fma_rn(v.y, lap[row].y, old.y),
                                             fma_rn(v.z, lap[row].z, old.z),
                                             fma_rn(v.w, lap[row].w, old.w))
                               : leap4(centre[row], old, v, lap[row]);
      }
      uint32_t all[ROWS], mine;
      exponents_of<BY_NOISE>(value, all, mine);
      decode((turn + 1) % 4, (turn + 1) & 1);
      const bool gives = q >= 2 * R;
      const uint32_t word = noise & 0xfefefefeu;
#pragma unroll
      for (int row = 0; row < ROWS; ++row) {
        const float half_inverse = half_inverse_of(all[row]);
        const uint4 codes = row == 0 ? dithered4<0>(value[0], half_inverse, word)
                                     : dithered4<1>(value[1], half_inverse, word);
        store_if(gives && given[row], reinterpret_cast<uint2*>(before_at + row * to_next),
                 codes4(codes));
        // The increment as it was rounded, added.
        if (INCREMENT) value[row] = added4(codes, __uint_as_float(all[row]), centre[row]);
      }
      store_if(gives && writes, exponent_at, stored_exponent(mine));
      if (INCREMENT) {
        exponents_of<TO_NEAREST>(value, all, mine);
        uint16_t* const next = static_cast<uint16_t*>(m.next) + plane_at;
#pragma unroll
        for (int row = 0; row < ROWS; ++row)
          store_if(gives && given[row], reinterpret_cast<uint2*>(next + (in_plane + row * to_next)),
                   codes4(raise4(value[row], inverse_of(all[row]))));
        int8_t* const exponents = static_cast<int8_t*>(m.next_exponents) + plane_at / STORED_TILE;
        store_if(gives && writes, exponents + exponent_in, stored_exponent(mine));
      }
      plane_at += s.stride_x;
      before_at += s.stride_x;
      exponent_at += s.stride_x / STORED_TILE;
      noise += NOISE_X;
      __syncthreads();
    }
  }
}

}  // namespace

// Z: columns of a tile; LINES: pairs of rows.
#define TEMBLOR_INT16(NAME, R, Z, LINES, CODED, INCREMENT)                                        \
  extern "C" __global__ void __launch_bounds__(Tile<R, Z, LINES, CODED>::THREADS, 1)              \
      NAME(const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorTiles tiles,     \
           const __grid_constant__ TemblorStored m, const __grid_constant__ CUtensorMap p,        \
           const __grid_constant__ CUtensorMap before,                                            \
           const __grid_constant__ CUtensorMap speed, int origin_x, int origin_y, int origin_z) { \
    const Maps maps = {&p, &before, &speed, {origin_x, origin_y, origin_z}};                      \
    step_tile<Tile<R, Z, LINES, CODED>, CODED, INCREMENT>(s, tiles, m, maps);                     \
  }
#define TEMBLOR_INT16_WIDTH(SUFFIX, R, Z, LINES)                                                  \
  TEMBLOR_INT16(acoustic_iso_int16_u16_##SUFFIX, R, Z, LINES, true, false)                        \
  TEMBLOR_INT16(acoustic_iso_int16_increment_u16_##SUFFIX, R, Z, LINES, true, true)               \
  TEMBLOR_INT16(acoustic_iso_int16_##SUFFIX, R, Z, LINES, false, false)                           \
  TEMBLOR_INT16(acoustic_iso_int16_increment_##SUFFIX, R, Z, LINES, false, true)
TEMBLOR_INT16_WIDTH(z96, 4, 96, 20)
TEMBLOR_INT16_WIDTH(z128, 4, 128, 15)
TEMBLOR_INT16_WIDTH(z160, 4, 160, 12)
TEMBLOR_INT16_WIDTH(z128_r3, 3, 128, 15)
TEMBLOR_INT16_WIDTH(z160_r3, 3, 160, 12)
TEMBLOR_INT16_WIDTH(z128_r2, 2, 128, 15)
TEMBLOR_INT16_WIDTH(z160_r2, 2, 160, 12)
