// Chunks of doubles between places anywhere in the host's page-locked memory and on the card, by tables of
// their addresses; a part of the text that NVRTC compiles with a patch kernel (crates/cuda/src/patch).
// A warp takes 4 KiB of a chunk, from a boundary of 128 bytes in the host's memory on, so that whole lines
// cross the bus; all its loads are under way before the first store. Addresses are multiples of 8 bytes:
// pairs are aligned on the host, on the card where both places agree modulo 16 bytes.
// Blocks of 256 threads, any number of them. 16 B per value, no shared memory.
// SPDX-License-Identifier: MIT OR Apache-2.0
static __device__ __forceinline__ double2 load_pair(const double* from, int i, int len, bool pair) {
  double2 value = make_double2(0.0, 0.0);
  if (pair && i >= 0 && i + 1 < len) {
    value = __ldcs((const double2*)(from + i));
  } else {
    if (i >= 0 && i < len) value.x = from[i];
    if (i >= -1 && i + 1 < len) value.y = from[i + 1];
  }
  return value;
}

static __device__ __forceinline__ void store_pair(double* to, double2 value, int i, int len,
                                                  bool pair) {
  if (pair && i >= 0 && i + 1 < len) {
    *(double2*)(to + i) = value;
  } else {
    if (i >= 0 && i < len) to[i] = value.x;
    if (i >= -1 && i + 1 < len) to[i + 1] = value.y;
  }
}

template <bool to_host>
static __device__ __forceinline__ void move_chunks(double* const* host,
                                                   double* const* card, int chunks, int len) {
  const int parts = (len + 15 + 511) / 512, lane = threadIdx.x % 32;
  const long long all = (long long)chunks * parts;
  for (long long item = blockIdx.x * 8 + threadIdx.x / 32; item < all; item += gridDim.x * 8) {
    const int k = (int)(item / parts), part = (int)(item % parts);
    double* const there = host[k];
    double* const here = card[k];
    const int shift = (int)((unsigned long long)there / 8 % 16);
    const bool even = ((unsigned long long)there ^ (unsigned long long)here) % 16 == 0;
    const double* const from = to_host ? here : there;
    double* const to = to_host ? there : here;
    const int first = part * 512 - shift + 2 * lane;
    double2 values[8];
    // Most parts lie within their chunk: loads without a branch between them.
    if (part * 512 >= shift && part * 512 - shift + 512 <= len && (even || !to_host)) {
#pragma unroll
      for (int n = 0; n < 8; n++) values[n] = __ldcs((const double2*)(from + first + 64 * n));
#pragma unroll
      for (int n = 0; n < 8; n++) store_pair(to, values[n], first + 64 * n, len, to_host || even);
      continue;
    }
#pragma unroll
    for (int n = 0; n < 8; n++) values[n] = load_pair(from, first + 64 * n, len, !to_host || even);
#pragma unroll
    for (int n = 0; n < 8; n++) store_pair(to, values[n], first + 64 * n, len, to_host || even);
  }
}

extern "C" __global__ void __launch_bounds__(256) gather_chunks(
    double* const* host, double* const* card, const int chunks, const int len) {
  move_chunks<false>(host, card, chunks, len);
}

extern "C" __global__ void __launch_bounds__(256) scatter_chunks(
    double* const* host, double* const* card, const int chunks, const int len) {
  move_chunks<true>(host, card, chunks, len);
}
