// How wavefields rest in memory, one type per storage: decoding a node, and encoding the 32 nodes of a
// tile, one per lane of a warp. Rounding is to nearest even, that of integers by noise where there is some
// (int16.cuh).
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "int16.cuh"

namespace temblor {

// Rounding to nearest.
constexpr int NO_NOISE = -1;

constexpr uint32_t WARP = 0xffffffffu, ABSOLUTE = 0x7fffffffu, INFINITE = 0x7f800000u;

__device__ __forceinline__ uint32_t largest_in_warp(uint32_t bits) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1)
    bits = max(bits, __shfl_xor_sync(WARP, bits, offset));
  return bits;
}

// 2^e for -126 <= e <= 127, 0 for -127.
__device__ __forceinline__ float power(int e) { return __uint_as_float(uint32_t(e + 127) << 23); }

__device__ __forceinline__ uint32_t bf16_of(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & ABSOLUTE) > INFINITE) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
__device__ __forceinline__ float of_bf16(uint32_t code) { return __uint_as_float(code << 16); }

// IEEE half, denormal ones too, without the float's own denormals, which are flushed.
__device__ __forceinline__ uint32_t half_of(float value) {
  const uint32_t bits = __float_as_uint(value), size = bits & ABSOLUTE;
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (size > INFINITE) return sign | 0x7e00u | (size >> 13 & 0x3ffu);
  // 65520 rounds to 2^16, which is none.
  if (size >= 0x477ff000u) return sign | 0x7c00u;
  // From 2^-14 on.
  if (size >= 0x38800000u)
    return sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
  // Half of the least one, 2^-25, and below.
  if (size <= 0x33000000u) return sign;
  const uint32_t shift = 126u - (size >> 23), mantissa = (size & 0x7fffffu) | 0x800000u;
  const uint32_t code = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u);
  const uint32_t middle = 1u << (shift - 1u);
  return sign | (code + (rest > middle || (rest == middle && (code & 1u)) ? 1u : 0u));
}
__device__ __forceinline__ float of_half(uint32_t code) {
  const uint32_t sign = (code & 0x8000u) << 16, size = code & 0x7fffu;
  if (size >= 0x7c00u) return __uint_as_float(sign | INFINITE | (size & 0x3ffu) << 13);
  if (size >= 0x400u) return __uint_as_float(sign | ((size << 13) + 0x38000000u));
  // Multiples of 2^-24.
  const float small = mul(float(size), power(-24));
  return sign ? -small : small;
}

struct StoredF32 {
  // The same, given the element of its exponent.
  static __device__ __forceinline__ float tap(const void* values, const void*, int64_t at,
                                                int64_t) {
    return decode(values, nullptr, at);
  }
  static __device__ __forceinline__ float decode(const void* values, const void*, int64_t at) {
    return static_cast<const float*>(values)[at];
  }
  static __device__ __forceinline__ float encode(void* values, void*, int64_t at, float value,
                                                 int = NO_NOISE) {
    static_cast<float*>(values)[at] = value;
    return value;
  }
};

struct StoredBf16 {
  // The same, given the element of its exponent.
  static __device__ __forceinline__ float tap(const void* values, const void*, int64_t at,
                                                int64_t) {
    return decode(values, nullptr, at);
  }
  static __device__ __forceinline__ float decode(const void* values, const void*, int64_t at) {
    return of_bf16(static_cast<const uint16_t*>(values)[at]);
  }
  static __device__ __forceinline__ float encode(void* values, void*, int64_t at, float value,
                                                 int = NO_NOISE) {
    const uint32_t code = bf16_of(value);
    static_cast<uint16_t*>(values)[at] = uint16_t(code);
    return of_bf16(code);
  }
};

struct StoredFp16 {
  // The same, given the element of its exponent.
  static __device__ __forceinline__ float tap(const void* values, const void*, int64_t at,
                                                int64_t) {
    return decode(values, nullptr, at);
  }
  static __device__ __forceinline__ float decode(const void* values, const void*, int64_t at) {
    return of_half(static_cast<const uint16_t*>(values)[at]);
  }
  static __device__ __forceinline__ float encode(void* values, void*, int64_t at, float value,
                                                 int = NO_NOISE) {
    const uint32_t code = half_of(value);
    static_cast<uint16_t*>(values)[at] = uint16_t(code);
    return of_half(code);
  }
};

// The value in the upper half, what it leaves in the lower one.
struct StoredBf16Pair {
  static __device__ __forceinline__ float value_of(uint32_t code) {
    return add(of_bf16(code >> 16), of_bf16(code & 0xffffu));
  }
  // The same, given the element of its exponent.
  static __device__ __forceinline__ float tap(const void* values, const void*, int64_t at,
                                                int64_t) {
    return decode(values, nullptr, at);
  }
  static __device__ __forceinline__ float decode(const void* values, const void*, int64_t at) {
    return value_of(static_cast<const uint32_t*>(values)[at]);
  }
  static __device__ __forceinline__ float encode(void* values, void*, int64_t at, float value,
                                                 int = NO_NOISE) {
    const uint32_t high = bf16_of(value), code = high << 16 | bf16_of(sub(value, of_bf16(high)));
    static_cast<uint32_t*>(values)[at] = code;
    return value_of(code);
  }
};

// Exponent of a tile of which a warp holds the values, from half a unit of the last bit kept; -120
// where all are below 2^-120, 127 where one is not finite or they reach 2^126.
__device__ __forceinline__ int tile_exponent(float value, uint32_t half_unit) {
  const uint32_t most = largest_in_warp(__float_as_uint(value) & ABSOLUTE);
  const int e = int((most + half_unit) >> 23) - 126;
  return max(-120, min(e, 127));
}

struct StoredInt16 {
  static __device__ __forceinline__ float value_of(uint32_t code, int e) {
    if (e == 127) return __uint_as_float(0x7fc00000u);
    // A field at rest has e = -127, where 2^e is taken as zero, of either sign.
    return add(mul(mul(float(int(code) - 32768), power(-15)), power(e)), 0.0f);
  }
  // From 2^119 on infinite, as in the tuned kernels; so is what is not finite.
  static __device__ __forceinline__ float tap(const void* values, const void* exponents,
                                                int64_t at, int64_t tile) {
    const Unit unit = unit_of(static_cast<const int8_t*>(exponents)[tile]);
    return fma_rn(raised_low(static_cast<const uint16_t*>(values)[at]), unit.scale, unit.offset);
  }
  static __device__ __forceinline__ float decode(const void* values, const void* exponents,
                                                   int64_t at) {
    return value_of(static_cast<const uint16_t*>(values)[at],
                    static_cast<const int8_t*>(exponents)[at >> 5]);
  }
  static __device__ __forceinline__ float encode(void* values, void* exponents, int64_t at,
                                                 float value, int noise = NO_NOISE) {
    const int e = tile_exponent(value, noise == NO_NOISE ? TO_NEAREST : BY_NOISE);
    // A value that is not finite leaves no code.
    uint32_t code = 0x8000u;
    if (e < 127 && noise == NO_NOISE) code = __float_as_uint(fma_rn(value, power(-e), 385.0f));
    if (e < 127 && noise != NO_NOISE) {
      const float half_inverse = power(max(-e - 1, -127));
      code = (at & 1 ? dithered_back(value, half_inverse, uint32_t(noise))
                     : dithered(value, half_inverse, uint32_t(noise))) >> 8;
    }
    static_cast<uint16_t*>(values)[at] = uint16_t(code);
    if ((at & 31) == 0) static_cast<int8_t*>(exponents)[at >> 5] = int8_t(e);
    return value_of(code & 0xffffu, e);
  }
};

struct StoredFp16Scaled {
  static __device__ __forceinline__ float value_of(uint32_t code, int e) {
    if (e == 127) return __uint_as_float(0x7fc00000u);
    return mul(mul(of_half(code), power(-15)), power(e));
  }
  static __device__ __forceinline__ float tap(const void* values, const void* exponents,
                                                int64_t at, int64_t tile) {
    return value_of(static_cast<const uint16_t*>(values)[at],
                    static_cast<const int8_t*>(exponents)[tile]);
  }
  static __device__ __forceinline__ float decode(const void* values, const void* exponents,
                                                   int64_t at) {
    return value_of(static_cast<const uint16_t*>(values)[at],
                    static_cast<const int8_t*>(exponents)[at >> 5]);
  }
  static __device__ __forceinline__ float encode(void* values, void* exponents, int64_t at,
                                                 float value, int = NO_NOISE) {
    const int e = tile_exponent(value, 0x1000u);
    const float inverse = e == -120 || e == 127 ? 0.0f : power(-e);
    const uint32_t code = e == 127 ? 0u : half_of(mul(mul(value, inverse), power(15)));
    static_cast<uint16_t*>(values)[at] = uint16_t(code);
    if ((at & 31) == 0) static_cast<int8_t*>(exponents)[at >> 5] = int8_t(e);
    return value_of(code, e);
  }
};

// dt^2 c^2 at a node.
__device__ __forceinline__ float speed_at(const TemblorStored& m, int64_t at) {
  if (m.slope == 0.0f && m.least == 0.0f) return static_cast<const float*>(m.speed)[at];
  const float code = float(static_cast<const uint16_t*>(m.speed)[at]);
  const float c = fma_rn(code, m.slope, m.least);
  return mul(c, c);
}

}  // namespace temblor
