// Largest |p| of bricks of 4 x 8 x 16 nodes (ozaki.cuh), of those that the kernels of the interior
// did not just write: beside the box, around sources, or all after an upload.
// Layout as in acoustic_iso_baseline.cu; `s` holds the box of the interior. Exact, so that it does
// not matter who found a value: a run that is saved and goes on gives the same bits.
// A warp per brick. Any architecture; 4 B per node read.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ozaki.cuh"

using namespace temblor;
using namespace temblor::ozaki;

namespace {

struct Range {
  int begin, end;
};

// Nodes of brick n along an axis: 0 lies before the box, the last one beyond it.
__device__ __forceinline__ Range nodes_of(const TemblorStep& s, const TemblorOzaki& o, int axis,
                                          int n, int size) {
  const int reach = reach_along(s, o, axis);
  if (n == 0) return {s.begin[axis] - reach, s.begin[axis]};
  if (n == o.bricks[axis] - 1) return {s.end[axis], s.end[axis] + reach};
  const int begin = s.begin[axis] + (n - 1) * size;
  return {begin, min(begin + size, s.end[axis])};
}

}  // namespace

// list: places of `count` bricks in `peaks`; if null, the first `count` of all.
extern "C" __global__ void __launch_bounds__(256)
    acoustic_iso_peaks(const __grid_constant__ TemblorStep s,
                       const __grid_constant__ TemblorOzaki o, const int32_t* __restrict__ list,
                       int32_t count, const float* __restrict__ p,
                       uint32_t* __restrict__ peaks) {
  const int lane = int(threadIdx.x) % 32;
  for (int n = int(blockIdx.x) * 8 + int(threadIdx.x) / 32; n < count; n += int(gridDim.x) * 8) {
    const int brick = list == nullptr ? n : list[n];
    const int bz = brick % o.bricks[2], row = brick / o.bricks[2];
    const int by = row % o.bricks[1], bx = row / o.bricks[1];
    const int beside = (bx == 0 || bx == o.bricks[0] - 1) + (by == 0 || by == o.bricks[1] - 1) +
                       (bz == 0 || bz == o.bricks[2] - 1);
    // Nodes beside an edge or a corner of the box have no tap in it.
    if (beside > 1) continue;
    const Range x = nodes_of(s, o, 0, bx, BX), y = nodes_of(s, o, 1, by, BY),
                z = nodes_of(s, o, 2, bz, BZ);
    const int ny = y.end - y.begin, nz = z.end - z.begin, total = (x.end - x.begin) * ny * nz;
    uint32_t most = 0;
    for (int m = lane; m < total; m += 32) {
      const int k = z.begin + m % nz, j = y.begin + m / nz % ny, i = x.begin + m / (nz * ny);
      most = max(most, size_bits(p[i * s.stride_x + j * s.stride_y + k]));
    }
    most = warp_largest(most);
    if (lane == 0) peaks[brick] = most;
  }
}
