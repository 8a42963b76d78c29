// Two fused steps by two crews of warps and one that feeds them; acoustic_iso_fused2_sm90.cu says what it
// is for.
// The first crew makes p^(n+1) of a plane from p^n, p^(n-1) and v, and leaves it in shared memory; the
// second makes p^(n+2) from those planes, one to two rounds behind. Crews meet in barriers of shared
// memory, plane by plane; the block never waits as a whole.
// The box is the whole grid. Beyond it the wave speed and both fields read as zero, in memory as in what
// the copies fill in, and so p^(n+1) comes out as zero there without a question: asking for it held tiles
// at the faces up.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "four.cuh"
#include "tiles.cuh"
#include "tma.cuh"

namespace temblor {

// Where a block is: first node, planes that it gives out.
struct FusedPlace {
  int i0, j0, k0, count;
};

template <int RADIUS>
struct FusedTile {
  // Rims along z: of the taps of one step, as nodes come in fours, and of two.
  static constexpr int R = RADIUS, H = 4;
  static_assert(R <= H, "taps beyond the halo");
  // What a tile gives out, where p^(n+1) is computed, where p^n is read. Along z copies begin on 64 B
  // and are as wide for all arrays: narrower ones fetch the same pieces of 64 B.
  static constexpr int OZ = 64, OY = 24, MZ = OZ + 2 * H, MY = OY + 2 * R, W = OZ + 4 * H,
                       PY = OY + 4 * R;
  // A thread owns two rows of four nodes.
  static constexpr int ROWS = 2, FIRST_LANES = MZ / 4, SECOND_LANES = OZ / 4;
  static constexpr int FIRST = FIRST_LANES * MY / ROWS, SECOND = SECOND_LANES * OY / ROWS;
  static constexpr int FIRST_WARPS = (FIRST + 31) / 32, SECOND_WARPS = SECOND / 32;
  // Rows of p^(n+2) that a warp makes, and hands out by as many lanes.
  static constexpr int WARP_ROWS = 32 / SECOND_LANES * ROWS;
  static_assert(SECOND % 32 == 0 && 32 % SECOND_LANES == 0, "rows shared by warps");
  static constexpr int THREADS = 32 * (FIRST_WARPS + SECOND_WARPS + 1);
  // Planes in flight and at hand. Of p^(n+1) two, so that the crews are two planes apart at most; v
  // stays until the second crew is done with a plane.
  static constexpr int P_RING = 4, PREV_RING = 3, MIDDLE_RING = 2, SPEED_RING = 8, AHEAD = PREV_RING;
  // One more than the crews' distance, as p^(n+2) leaves from the place of `base`.
  static constexpr int BASE_RING = R + MIDDLE_RING + 1;
  static constexpr int STREAM = W * MY, MIDDLE = MZ * MY, BASE = OZ * OY;
  // Bulk tensor copies write to multiples of 128 B.
  static constexpr int PLANE = (W * PY + 31) / 32 * 32;
  static_assert(STREAM % 32 == 0 && BASE % 32 == 0, "planes off 128 B");
  struct Shared {
    float p[P_RING][PLANE], v[SPEED_RING][STREAM], prev[PREV_RING][STREAM];
    // 2 p^(n+1) - p^n, what the second step adds to; then p^(n+2) until it is copied out.
    float base[BASE_RING][BASE];
    // p^(n+1) without its rim until it is copied out: boxes leave shared memory as they lie there.
    float first[BASE];
    float middle[MIDDLE_RING][MIDDLE];
    // Of plane q in slot q % 4: copied; let go by the first crew; p^(n+1) made; let go by the second.
    uint64_t full[4], free[4], made[4], done[4];
    // What the first crew has to know of plane q, a word per thing rather than a register: flags, and
    // offsets of the slots of p^(n-1), v and `base`. Source entries, first and last.
    int4 planes[4];
    int2 entries[4];
  };
};

// A warp lets go of what it read and gives what it wrote by an arrival of each lane. One lane's for all
// after a barrier of the warp is as fast, but compute-sanitizer's racecheck does not follow it.
constexpr int LANES = 32;

// Waits for plane n of a barrier that has one turn per four planes.
__device__ __forceinline__ void plane_wait(uint64_t (&barriers)[4], int n) {
  barrier_wait(&barriers[n & 3], n >> 2 & 1);
}

// Moves an offset to the next slot of a ring.
template <int RING, int SIZE>
__device__ __forceinline__ void to_next(int& offset) {
  offset += SIZE;
  if (offset == RING * SIZE) offset = 0;
}

// The offset `back` planes before slot 0.
template <int RING, int SIZE>
__device__ constexpr int before_first(int back) {
  return (RING - back % RING) % RING * SIZE;
}

// A plane's number modulo 4, known to the compiler.
template <int N>
struct Turn {
  static constexpr int value = N;
};

// Flags of a plane of p^(n+1): it has sources; it is the last one.
constexpr int HAS_SOURCES = 1, LAST = 2;
// And of a thread of the first crew: its first row is kept for the second step (the second one: twice
// that).
constexpr int KEPT = 1;

// Two rows of four nodes of a plane of pitch PITCH, and their Laplacian's terms in the plane.
template <class T, int PITCH>
__device__ __forceinline__ void in_plane(const TemblorStep& s, const float* plane, float4 (&here)[2],
                                         float4 (&sum)[2]) {
  constexpr int R = T::R, ROWS = T::ROWS;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const float* centre = plane + row * PITCH;
    here[row] = load4(centre);
    sum[row] = along_z<R>(s, load4(centre - 4), here[row], load4(centre + 4));
  }
  // Rows y - R .. y + ROWS + R - 1, each read once for both rows of the thread.
#pragma unroll
  for (int d = -R; d < ROWS + R; ++d) {
    const float4 other = d >= 0 && d < ROWS ? here[d] : load4(plane + d * PITCH);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      const int r = d > row ? d - row : row - d;
      if (r >= 1 && r <= R) sum[row] = fma4(s.second[1][r], other, sum[row]);
    }
  }
}

// Planes of a wavefield along x, by number modulo 4: values, and sums without the planes that have not
// come.
struct FusedQueue {
  float4 past[4][2], waiting[4][2];

  __device__ __forceinline__ FusedQueue() {
#pragma unroll
    for (int n = 0; n < 8; ++n) past[n / 2][n % 2] = waiting[n / 2][n % 2] = zero4();
  }

  // Takes a plane's values and sums in the plane; gives Laplacian and value R planes before.
  template <int R, int TURN>
  __device__ __forceinline__ void push(const TemblorStep& s, const float4 (&here)[2],
                                       float4 (&sum)[2], float4 (&lap)[2], float4 (&centre)[2]) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int r = 1; r <= R; ++r)
        sum[row] = fma4(s.second[0][r], past[(TURN + 4 - r) % 4][row], sum[row]);
      lap[row] = fma4(s.second[0][R], here[row], waiting[(TURN + 4 - R) % 4][row]);
      centre[row] = past[(TURN + 4 - R) % 4][row];
#pragma unroll
      for (int r = R - 1; r >= 1; --r) {
        float4& other = waiting[(TURN + 4 - r) % 4][row];
        other = fma4(s.second[0][r], here[row], other);
      }
      waiting[TURN][row] = sum[row];
      past[TURN][row] = here[row];
    }
  }
};

// By one thread: asks for planes as soon as their slots are free.
template <class T>
__device__ __forceinline__ void feed(const TemblorFused& f, int tile, typename T::Shared& shared,
                                     const FusedPlace& at, const CUtensorMap* p,
                                     const CUtensorMap* prev, const CUtensorMap* v) {
  constexpr int R = T::R;
  const int z = f.halo[2] + at.k0 - 2 * T::H, y = f.halo[1] + at.j0 - R, x = f.halo[0] + at.i0 - R;
  const int planes = at.count + 4 * R;
  int entry = f.sources > 0 ? f.entry_first[tile] : 0;
  const int entry_end = f.sources > 0 ? f.entry_first[tile + 1] : 0;
  while (entry < entry_end && f.entry_plane[entry] < at.i0 - R) ++entry;
  int prev_slot = 0, base_slot = 0;
  for (int q = 0; q < planes; ++q) {
    // Plane of p^(n+1) that is made from this plane and those before.
    const int made = q - 2 * R;
    if (q >= T::AHEAD) plane_wait(shared.free, q - T::AHEAD);
    // The slot of v is free from the plane before, made - 8 + R, on where R < 4; but its barrier may have
    // turned twice by then, and a wait for it would not end.
    if (made >= 4) plane_wait(shared.done, made - 4);
    const int first = entry;
    while (entry < entry_end && f.entry_plane[entry] == at.i0 - R + made) ++entry;
    const int speed_slot = made & (T::SPEED_RING - 1);
    shared.entries[q & 3] = make_int2(first, entry);
    shared.planes[q & 3] =
        make_int4((first < entry ? HAS_SOURCES : 0) | (q + 1 == planes ? LAST : 0),
                  prev_slot * T::STREAM, speed_slot * T::STREAM, base_slot * T::BASE);
    uint64_t* barrier = &shared.full[q & 3];
    barrier_expect(barrier, 4 * T::W * T::PY + (made >= 0 ? 2 * 4 * T::STREAM : 0));
    copy_box(shared.p[q & 3], p, barrier, z, y - R, x - R + q);
    if (made >= 0) {
      copy_box(shared.prev[prev_slot], prev, barrier, z, y, x + made);
      copy_box(shared.v[speed_slot], v, barrier, z, y, x + made);
      prev_slot = prev_slot + 1 == T::PREV_RING ? 0 : prev_slot + 1;
      base_slot = base_slot + 1 == T::BASE_RING ? 0 : base_slot + 1;
    }
  }
}

// Adds the sources of a plane to the two rows at `place`, counted in the tile with its rim.
template <class T>
__device__ __forceinline__ void add_sources(const TemblorFused& f, int2 entries, int place,
                                         const float* speed, float4 (&value)[2]) {
#pragma unroll 1
  for (int entry = entries.x; entry < entries.y; ++entry) {
    const int offset = f.entry_place[entry] - place, row = offset >= T::MZ, e = offset - row * T::MZ;
    if (offset < 0 || e > 3) continue;
    const int node = f.entry_node[entry];
    float sum = 0.0f;
#pragma unroll 1
    for (int t = f.term_first[node]; t < f.term_first[node + 1]; ++t)
      sum = fma_rn(f.term_weight[t], f.amplitudes[f.term_source[t]], sum);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (r != row) continue;
      const float* v = speed + r * T::W;
      if (e == 0) value[r].x = fma_rn(v[0], sum, value[r].x);
      if (e == 1) value[r].y = fma_rn(v[1], sum, value[r].y);
      if (e == 2) value[r].z = fma_rn(v[2], sum, value[r].z);
      if (e == 3) value[r].w = fma_rn(v[3], sum, value[r].w);
    }
  }
}

// Plane q of p^n for the first crew, q % 4 = TURN: makes plane q - 2R of p^(n+1), counted from i0 - R.
// Whether it is the last one.
template <class T, int TURN>
__device__ __forceinline__ bool first_round(const TemblorStep& s, const TemblorFused& f,
                                            typename T::Shared& shared, int q, int own,
                                            unsigned& place_and_rows,
                                            FusedQueue& queue) {
  constexpr int R = T::R, ROWS = T::ROWS, MADE = (TURN + 8 - 2 * R) % 4;
  const int made = q - 2 * R;
  plane_wait(shared.full, q);
  float4 here[ROWS], sum[ROWS], lap[ROWS], centre[ROWS], value[ROWS];
  in_plane<T, T::W>(s, shared.p[TURN] + own, here, sum);
  queue.template push<R, TURN>(s, here, sum, lap, centre);
  // Keeps loads of the streams from before the sums, where registers are short.
  asm volatile("" ::: "memory");
  const int4 plane = shared.planes[TURN];
  // Taken apart anew in every round: there is one register for both.
  keep(place_and_rows);
  const int y = place_and_rows >> 16, z = place_and_rows >> 8 & 255, rows = place_and_rows & 3;
  const int own_base = (y - R) * T::OZ + z - T::H;
  const float* prev = shared.prev[0] + plane.y + own - R * T::W;
  const float* speed = shared.v[0] + plane.z + own - R * T::W;
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
    value[row] =
        leap4(centre[row], load4(prev + row * T::W), load4(speed + row * T::W), lap[row]);
  if (__builtin_expect(plane.x & HAS_SOURCES, 0))
    add_sources<T>(f, shared.entries[TURN], y * T::MZ + z, speed, value);
  if (made >= 2) plane_wait(shared.done, made - 2);
  float* middle = shared.middle[MADE % 2] + y * T::MZ + z;
  float* base = shared.base[0] + plane.w + own_base;
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const float4 c = centre[row], n = value[row];
    if (T::FIRST % 32 == 0 || threadIdx.x < T::FIRST)
      *reinterpret_cast<float4*>(middle + row * T::MZ) = n;
    if (rows & KEPT << row)
      *reinterpret_cast<float4*>(base + row * T::OZ) =
          make_float4(fma_rn(2.0f, n.x, -c.x), fma_rn(2.0f, n.y, -c.y), fma_rn(2.0f, n.z, -c.z),
                      fma_rn(2.0f, n.w, -c.w));
  }
  // Together.
  __syncwarp();
  barrier_arrive(&shared.free[TURN]);
  if (made >= 0) barrier_arrive(&shared.made[MADE]);
  return plane.x & LAST;
}

template <class T>
__device__ __forceinline__ void first_crew(const TemblorStep& s, const TemblorFused& f,
                                           typename T::Shared& shared) {
  constexpr int R = T::R, H = T::H;
  const int thread = min(int(threadIdx.x), T::FIRST - 1);
  const int y = thread / T::FIRST_LANES * T::ROWS, z = thread % T::FIRST_LANES * 4;
  const int own = (y + R) * T::W + z + H;
  // Rows that the tile gives out, by threads that do not repeat the last one's work.
  const bool gives = thread == int(threadIdx.x) && z >= H && z < H + T::OZ;
  int rows = 0;
#pragma unroll
  for (int row = 0; row < T::ROWS; ++row)
    if (gives && y + row >= R && y + row < R + T::OY) rows |= KEPT << row;
  unsigned place_and_rows = unsigned(y << 16 | z << 8 | rows);
  FusedQueue queue;
  auto last = [&](auto turn, int q) {
    return first_round<T, decltype(turn)::value>(s, f, shared, q, own, place_and_rows, queue);
  };
  for (int q = 0;; q += 4) {
    if (last(Turn<0>(), q)) return;
    if (last(Turn<1>(), q + 1)) return;
    if (last(Turn<2>(), q + 2)) return;
    if (last(Turn<3>(), q + 3)) return;
  }
}

// Where a warp's rows go. Copies leave out what lies beyond the grid: the maps end with it. Stores by
// threads share the pipe that reads shared memory, and hold it up when memory is slow to take them; rows
// copied one by one cost a warp a hundred instructions per plane.
struct FusedOut {
  // The place of plane 0 of p^(n+1), counted from i0 - R, in the padded arrays.
  int z, y, x;
  bool some;
  const CUtensorMap *first, *second;
};

// Plane b of p^(n+1), counted from i0 - R, b % 4 = TURN, for the second crew: makes p^(n+2) R planes
// before, and hands out both.
template <class T, int TURN>
__device__ __forceinline__ void second_round(const TemblorStep& s, typename T::Shared& shared, int b,
                                             int count, int own, int own_speed, int own_base,
                                             const FusedOut& out, int& base_slot, FusedQueue& queue) {
  constexpr int R = T::R, ROWS = T::ROWS;
  const bool copies = threadIdx.x % 32 == 0;
  plane_wait(shared.made, b);
  float4 here[ROWS], sum[ROWS], lap[ROWS], centre[ROWS];
  in_plane<T, T::MZ>(s, shared.middle[TURN % 2] + own, here, sum);
  queue.template push<R, TURN>(s, here, sum, lap, centre);
  float* base = shared.base[0] + base_slot + own_base;
  const float* speed = shared.v[(b - R) & (T::SPEED_RING - 1)] + own_speed;
  // What the warp handed out in the round before has left shared memory.
  if (copies) copies_wait_read();
  __syncwarp();
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    *reinterpret_cast<float4*>(shared.first + own_base + row * T::OZ) = here[row];
    float* const at = base + row * T::OZ;
    const float4 v = load4(speed + row * T::W), old = load4(at), l = lap[row];
    *reinterpret_cast<float4*>(at) = make_float4(fma_rn(v.x, l.x, old.x), fma_rn(v.y, l.y, old.y),
                                                 fma_rn(v.z, l.z, old.z), fma_rn(v.w, l.w, old.w));
  }
  fence_for_copies();
  __syncwarp();
  barrier_arrive(&shared.done[TURN]);
  if (copies) {
    if (out.some) {
      if (unsigned(b - R) < unsigned(count))
        copy_box_out(out.first, shared.first + own_base, out.z, out.y, out.x + b);
      if (b >= 2 * R) copy_box_out(out.second, base, out.z, out.y, out.x + b - R);
    }
    copies_commit();
  }
  to_next<T::BASE_RING, T::BASE>(base_slot);
}

template <class T>
__device__ __forceinline__ void second_crew(const TemblorStep& s, const TemblorFused& f,
                                            typename T::Shared& shared, const FusedPlace& at,
                                            const CUtensorMap* first, const CUtensorMap* second) {
  constexpr int R = T::R;
  const int thread = int(threadIdx.x) - 32 * T::FIRST_WARPS;
  const int z = thread % T::SECOND_LANES * 4, y = thread / T::SECOND_LANES * T::ROWS;
  const int own = (y + R) * T::MZ + z + T::H, own_speed = (y + R) * T::W + z + 2 * T::H,
            own_base = y * T::OZ + z;
  const int row = at.j0 + thread / 32 * T::WARP_ROWS;
  const FusedOut out = {f.halo[2] + at.k0, f.halo[1] + row, f.halo[0] + at.i0 - R,
                        row < s.nodes[1], first, second};
  FusedQueue queue;
  int base_slot = before_first<T::BASE_RING, T::BASE>(R);
  const int planes = at.count + 2 * R;
  auto round = [&](auto turn, int b) {
    if (b < planes)
      second_round<T, decltype(turn)::value>(s, shared, b, at.count, own, own_speed, own_base, out,
                                             base_slot, queue);
  };
  for (int b = 0; b < planes; b += 4) {
    round(Turn<0>(), b);
    round(Turn<1>(), b + 1);
    round(Turn<2>(), b + 2);
    round(Turn<3>(), b + 3);
  }
  if (threadIdx.x % 32 == 0) copies_wait();
}

template <class T>
__device__ __forceinline__ void two_steps(const TemblorStep& s, const TemblorTiles& tiles,
                                          const TemblorFused& f, const CUtensorMap* p,
                                          const CUtensorMap* prev, const CUtensorMap* v, const CUtensorMap* first,
                                          const CUtensorMap* second) {
  auto& shared = *reinterpret_cast<typename T::Shared*>(dynamic_shared());
  const March march = march_of(s, tiles);
  const FusedPlace at = {march.i0, march.tile / tiles.tiles_z * T::OY,
                         march.tile % tiles.tiles_z * T::OZ, march.i1 - march.i0};
  const int thread = int(threadIdx.x);
  if (thread == 0) {
    for (int n = 0; n < 4; ++n) {
      barrier_init(&shared.full[n], 1);
      barrier_init(&shared.free[n], LANES * T::FIRST_WARPS);
      barrier_init(&shared.made[n], LANES * T::FIRST_WARPS);
      barrier_init(&shared.done[n], LANES * T::SECOND_WARPS);
    }
    barrier_init_fence();
  }
  __syncthreads();
  if (thread < 32 * T::FIRST_WARPS) {
    first_crew<T>(s, f, shared);
  } else if (thread < 32 * (T::FIRST_WARPS + T::SECOND_WARPS)) {
    second_crew<T>(s, f, shared, at, first, second);
  } else if (thread % 32 == 0) {
    feed<T>(f, march.tile, shared, at, p, prev, v);
  }
}

}  // namespace temblor
