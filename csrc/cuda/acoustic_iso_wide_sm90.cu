// Isotropic acoustics, one leapfrog step, radius 4 (order 8), 3 and 2 in space, wide tiles: rows of p by
// bulk copies, p- and v straight into registers, partial sums along x.
// p+ = 2p - p- + dt^2 c^2 lap(p); weights from the host. Numbers are those of radius 4.
// Layout (x, y, z), z fastest, pitch a multiple of 16 B, halo of the radius, 4 along z; the box's first
// node lies on 128 B.
// Any box; tiles on its far edges are cut. next may be prev: a thread reads p- at its own nodes only.
// Tile TZ along z, TY = 2 (512 / (TZ / 4)) along y, marched along x; a thread owns 2 rows of 4 nodes.
// A plane of p, (TZ + 16) x (TY + 8), is in shared memory from its arrival on for one round: its sums
// in the plane start a Laplacian, and it adds its term along x to the four that wait for it. Four
// planes of p and four of waiting sums are in registers. Ring of 4 planes: 88 to 102 KiB shared, one
// block of 512 threads per SM.
// Wide rows need few requests to L2: 4 nodes beside 64 cost a request each, as a line of 32 does.
// On an H200 at 1024^3, Gpts/s, two runs: TZ 128 249 and 244, 256 244, 64 (72 rows to copy) 176; rows of p
// that begin 16 B before a sector 243 and 238; p- and v asked for in the round that needs them 198; by
// tensor copies with cp.async beside them (acoustic_iso_tma) 221; rings of 3 and 6 planes within 1 %;
// planes of p by tensor copies 247; a feeding warp and barriers without the block 246, with rows 226;
// results copied out of shared memory 233; p- and v by bulk copies too 135 by rows, 207 by boxes; three rows per
// thread, TY 48, 236; two blocks per SM, TY 16, 240 (docs/cuda-h200.md).
// sm_90, CUDA >= 12.0. 16 B and 49 flop per point; 17.6 B (TZ 128) to 18.4 B (256) between L2 and SM.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "four.cuh"
#include "tiles.cuh"
#include "tma.cuh"

namespace {

using namespace temblor;

// Halo along z: rows are copied in whole sectors of 32 B.
constexpr int H = 8;
constexpr int ROWS = 2, THREADS = 512, RING = 4;

template <int R, int TZ>
struct Tile {
  static_assert(R <= H, "taps beyond the halo");
  static constexpr int LANES = TZ / 4, LINES = THREADS / LANES, TY = LINES * ROWS;
  static constexpr int PZ = TZ + 2 * H, PY = TY + 2 * R;
  // Planes start on 128 B.
  static constexpr int PLANE = (PZ * PY + 31) / 32 * 32;
  static_assert(PY <= 64, "a warp copies two rows per lane at most");
};

// Stores four nodes, of which the first `count` exist.
__device__ __forceinline__ void store4(float* to, const float4& value, int count) {
  if (count >= 4) {
    *reinterpret_cast<float4*>(to) = value;
  } else {
    to[0] = value.x;
    if (count > 1) to[1] = value.y;
    if (count > 2) to[2] = value.z;
  }
}

template <int R, int TZ>
__device__ __forceinline__ void step_tile(const TemblorStep& s, const TemblorTiles& tiles,
                                          const float* __restrict__ p, float* next,
                                          const float* __restrict__ speed, int32_t row_end) {
  using T = Tile<R, TZ>;
  extern __shared__ __align__(128) float ring[];
  uint64_t* full = reinterpret_cast<uint64_t*>(ring + RING * T::PLANE);
  const March march = march_of(s, tiles);
  const int i0 = march.i0, count = march.i1 - i0, planes = count + 2 * R;
  const int k0 = s.begin[2] + march.tile % tiles.tiles_z * TZ;
  const int j0 = s.begin[1] + march.tile / tiles.tiles_z * T::TY;
  const int thread = int(threadIdx.x);
  if (thread == 0) {
    for (int n = 0; n < RING; ++n) barrier_init(&full[n], 1);
    barrier_init_fence();
  }
  __syncthreads();

  // What exists of a plane; the rest of its place in the ring is never given out.
  const int rows = min(T::PY, s.end[1] + R - (j0 - R));
  const uint32_t row_bytes = 4 * uint32_t(min(T::PZ, row_end - (k0 - H)));
  const float* corner =
      p + int64_t(i0 - R) * s.stride_x + int64_t(j0 - R) * s.stride_y + k0 - H;
  // By the first warp: plane q, counted from i0 - R, lies in slot q % RING.
  auto fetch = [&](int q) {
    if (thread == 0) barrier_expect(&full[q % RING], uint32_t(rows) * row_bytes);
    __syncwarp();
    for (int row = thread; row < rows; row += 32)
      copy_bytes(ring + q % RING * T::PLANE + row * T::PZ,
                 corner + q * s.stride_x + row * s.stride_y, row_bytes, &full[q % RING]);
  };
  if (thread < 32)
    for (int q = 0; q < min(RING, planes); ++q) fetch(q);

  // Threads beyond the last whole line of lanes work on the first one and give nothing out.
  const bool spare = thread >= T::LANES * T::LINES;
  const int z = spare ? 0 : thread % T::LANES * 4, y = spare ? 0 : thread / T::LANES * ROWS;
  const int own = (y + R) * T::PZ + z + H;
  const int k = k0 + z, j = j0 + y;
  const int in_row = s.end[2] - k;
  int given[ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
    given[row] = spare || j + row >= s.end[1] || in_row < 0 ? 0 : in_row;

  // past[r]: plane q - 1 - r; waiting[r]: the sum of plane q - 1 - r without the planes from q on.
  float4 past[R][ROWS], waiting[R][ROWS], before[ROWS], v[ROWS];
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    before[row] = v[row] = zero4();
#pragma unroll
    for (int r = 0; r < R; ++r) past[r][row] = waiting[r][row] = zero4();
  }

  // The node that round q gives out: plane q - 2R of the box.
  int64_t at = int64_t(i0 - 2 * R) * s.stride_x + int64_t(j) * s.stride_y + k;
  for (int q = 0; q < planes; ++q, at += s.stride_x) {
    barrier_wait(&full[q % RING], (q / RING) & 1);
    const float* plane = ring + q % RING * T::PLANE + own;
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
    const int given_plane = q - 2 * R;
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int r = 1; r <= R; ++r) sum[row] = fma4(s.second[0][r], past[r - 1][row], sum[row]);
      const float4 lap = fma4(s.second[0][R], here[row], waiting[R - 1][row]);
      const float4 centre = past[R - 1][row];
#pragma unroll
      for (int r = R - 1; r >= 1; --r) {
        waiting[r][row] = fma4(s.second[0][r], here[row], waiting[r - 1][row]);
        past[r][row] = past[r - 1][row];
      }
      waiting[0][row] = sum[row];
      past[0][row] = here[row];
      if (given_plane >= 0 && given[row] > 0)
        store4(next + at + row * s.stride_y, leap4(centre, before[row], v[row], lap), given[row]);
    }
    // A round ahead: a load takes about as long as a round.
    if (given_plane >= -1 && given_plane + 1 < count) {
      const int64_t ahead = at + s.stride_x;
#pragma unroll
      for (int row = 0; row < ROWS; ++row)
        if (given[row] > 0) {
          before[row] = load4(next + ahead + row * s.stride_y);
          v[row] = load4(speed + ahead + row * s.stride_y);
        }
    }
    __syncthreads();
    if (thread < 32 && q + RING < planes) fetch(q + RING);
  }
}

}  // namespace

#define TEMBLOR_WIDE(NAME, R, TZ)                                                                \
  extern "C" __global__ void __launch_bounds__(THREADS, 1)                                       \
      NAME(const __grid_constant__ TemblorStep s, const __grid_constant__ TemblorTiles tiles,    \
           const float* p, float* next, const float* v, int32_t row_end) {                       \
    step_tile<R, TZ>(s, tiles, p, next, v, row_end);                                             \
  }
TEMBLOR_WIDE(acoustic_iso_wide_z128, 4, 128)
TEMBLOR_WIDE(acoustic_iso_wide_z160, 4, 160)
TEMBLOR_WIDE(acoustic_iso_wide_z192, 4, 192)
TEMBLOR_WIDE(acoustic_iso_wide_z224, 4, 224)
TEMBLOR_WIDE(acoustic_iso_wide_z256, 4, 256)
TEMBLOR_WIDE(acoustic_iso_wide_z128_r3, 3, 128)
TEMBLOR_WIDE(acoustic_iso_wide_z160_r3, 3, 160)
TEMBLOR_WIDE(acoustic_iso_wide_z192_r3, 3, 192)
TEMBLOR_WIDE(acoustic_iso_wide_z224_r3, 3, 224)
TEMBLOR_WIDE(acoustic_iso_wide_z256_r3, 3, 256)
TEMBLOR_WIDE(acoustic_iso_wide_z128_r2, 2, 128)
TEMBLOR_WIDE(acoustic_iso_wide_z160_r2, 2, 160)
TEMBLOR_WIDE(acoustic_iso_wide_z192_r2, 2, 192)
TEMBLOR_WIDE(acoustic_iso_wide_z224_r2, 2, 224)
TEMBLOR_WIDE(acoustic_iso_wide_z256_r2, 2, 256)
