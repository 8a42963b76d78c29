// Codes of 16 bits that share an exponent e per 32 nodes along z: value = code 2^(e - 15).
// Codes are kept plus 32768: a code then becomes a float by one byte permutation, below an exponent
// that puts the code's unit at 2^-15, and one multiply-add.
// e is the least with |code| <= 32767 after rounding, but not below -120: smaller values are multiples
// of 2^-135, and below 2^-126 zero as they are read. A field at rest has e = -127 and any codes; e = 127
// marks a tile with a value that is not finite.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "four.cuh"

namespace temblor {

// Nodes along z that share an exponent.
constexpr int STORED_TILE = 32;

// 2^e, and what the offset of 257 that decoding leaves is worth.
struct Unit {
  float scale, offset;
};

// From e + 127 in the place of a float's exponent.
__device__ __forceinline__ Unit unit_of_bits(uint32_t bits) {
  const float scale = __uint_as_float(bits);
  return Unit{scale, mul(scale, -257.0f)};
}

// From 2^119 on the offset is infinite, and so is what is decoded: such a tile counts as not finite.
__device__ __forceinline__ Unit unit_of(int exponent) {
  return unit_of_bits(uint32_t(exponent + 127) << 23);
}

// 256 + (code + 32768) 2^-15: the low or the high half of a word below the bits of 256.
__device__ __forceinline__ float raised_low(uint32_t codes) {
  return __uint_as_float(__byte_perm(codes, 0x43800000u, 0x7610));
}
__device__ __forceinline__ float raised_high(uint32_t codes) {
  return __uint_as_float(__byte_perm(codes, 0x43800000u, 0x7632));
}

// Exact: a code has 16 bits, the offset 9.
__device__ __forceinline__ float4 decode4(const uint2& codes, const Unit& unit) {
  return make_float4(fma_rn(raised_low(codes.x), unit.scale, unit.offset),
                     fma_rn(raised_high(codes.x), unit.scale, unit.offset),
                     fma_rn(raised_low(codes.y), unit.scale, unit.offset),
                     fma_rn(raised_high(codes.y), unit.scale, unit.offset));
}

// 385 + value / 2^e: its low half is code + 32768, rounded to nearest even.
__device__ __forceinline__ float4 raise4(const float4& value, float inverse) {
  return make_float4(fma_rn(value.x, inverse, 385.0f), fma_rn(value.y, inverse, 385.0f),
                     fma_rn(value.z, inverse, 385.0f), fma_rn(value.w, inverse, 385.0f));
}

// Stochastic rounding: a value is cut down to a code after noise of less than a code, so that its
// expectation is itself; to nearest, what moves by less than half a code in a step stands still (traces
// of 2,000 steps: 1.2e-2 off in place of 2.0e-3). Two rows of four neighbours along z share a word of
// noise, a Weyl sequence over the grid that begins at a hash of the step: multiples of the powers of
// 1/1.2207..., which fill any block of nodes evenly (Roberts 2018, "The unreasonable effectiveness of
// quasirandom sequences"), at an addition per word. Each of its bytes, without the last bit, is the
// noise of two nodes: as it is and 254 less it, so that errors of neighbours rather cancel than add.
constexpr uint32_t NOISE_X = 0xd1b54a33u, NOISE_Y = 0xabc98389u, NOISE_Z = 0x8cb92ba7u;

// Of rows j and j + 1 and the four nodes from k on, even and a multiple of four.
__device__ __forceinline__ uint32_t noise_word(uint32_t seed, int i, int j, int k) {
  return seed + uint32_t(i) * NOISE_X + uint32_t(j >> 1) * NOISE_Y + uint32_t(k >> 2) * NOISE_Z;
}

// Of node k alone, 0 to 254: parts of 256 of a code. It is 254 less it that counts where k is odd.
__device__ __forceinline__ uint32_t noise_at(const TemblorStored& m, int i, int j, int k) {
  const int byte = (j & 1 ? 0 : 2) + (k & 2 ? 0 : 1);
  return noise_word(uint32_t(m.seed), i, j, k) >> 8 * byte & 254u;
}

// Code + 32768 in bits 8 to 23: value / 2^(e + 1) + 3/2 has the code in the upper 16 bits of its
// mantissa and seven more below. Zero stays zero: the noise never carries by itself.
__device__ __forceinline__ uint32_t dithered(float value, float half_inverse, uint32_t noise) {
  return (__float_as_uint(fma_rn(value, half_inverse, 1.5f)) << 1) + noise;
}

// The same by 254 less the noise, 127 of which are in the constant.
__device__ __forceinline__ uint32_t dithered_back(float value, float half_inverse,
                                                  uint32_t noise) {
  const uint32_t raised =
      __float_as_uint(fma_rn(value, half_inverse, __uint_as_float(0x3fc0007fu)));
  return raised + raised - noise;
}

// Of row 0 or 1 by a word without the last bit of each byte.
template <int ROW>
__device__ __forceinline__ uint4 dithered4(const float4& value, float half_inverse, uint32_t word) {
  const uint32_t first = ROW == 0 ? word >> 24 : __byte_perm(word, 0, 0x4441);
  const uint32_t second = ROW == 0 ? __byte_perm(word, 0, 0x4442) : word & 255u;
  return make_uint4(dithered(value.x, half_inverse, first),
                    dithered_back(value.y, half_inverse, first),
                    dithered(value.z, half_inverse, second),
                    dithered_back(value.w, half_inverse, second));
}

__device__ __forceinline__ uint2 codes4(const uint4& dithered) {
  return make_uint2(__byte_perm(dithered.x, dithered.y, 0x6521),
                    __byte_perm(dithered.z, dithered.w, 0x6521));
}

// What a dithered value has become, added to another one.
__device__ __forceinline__ float added(uint32_t dithered, float unit, float to) {
  return fma_rn(sub(__uint_as_float(__byte_perm(dithered, 0x43800000u, 0x7621)), 257.0f), unit, to);
}
__device__ __forceinline__ float4 added4(const uint4& dithered, float unit, const float4& to) {
  return make_float4(added(dithered.x, unit, to.x), added(dithered.y, unit, to.y),
                     added(dithered.z, unit, to.z), added(dithered.w, unit, to.w));
}

__device__ __forceinline__ uint2 codes4(const float4& raised) {
  return make_uint2(__byte_perm(__float_as_uint(raised.x), __float_as_uint(raised.y), 0x5410),
                    __byte_perm(__float_as_uint(raised.z), __float_as_uint(raised.w), 0x5410));
}

// The larger of |a| and |b|; NaN if either is.
__device__ __forceinline__ float larger(float a, float b) {
#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 800
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(fabsf(a)), "f"(fabsf(b)));
  return most;
#endif
#endif
  const uint32_t x = __float_as_uint(a) & 0x7fffffffu, y = __float_as_uint(b) & 0x7fffffffu;
  return __uint_as_float(x > y ? x : y);
}

__device__ __forceinline__ float larger4(const float4& v) {
  return larger(larger(v.x, v.y), larger(v.z, v.w));
}

// What is added to a tile's largest value before its exponent is taken, in its last bits: half a
// code, which rounding may add to the largest one, or a whole one, which noise may.
constexpr uint32_t TO_NEAREST = 0x100u, BY_NOISE = 0x200u;

// e + 127, in the place of a float's exponent, of a tile whose largest absolute value is `most`.
template <uint32_t ROOM>
__device__ __forceinline__ uint32_t exponent_bits(float most) {
  const uint32_t next = ((__float_as_uint(most) + ROOM) & 0xff800000u) + 0x00800000u;
  return max(min(next, 0x7f000000u), 0x03800000u);
}

// 2^-e and 2^-(e + 1); where e = 127 codes mean nothing.
__device__ __forceinline__ float inverse_of(uint32_t exponent) {
  return __uint_as_float(0x7f000000u - exponent);
}
__device__ __forceinline__ float half_inverse_of(uint32_t exponent) {
  return __uint_as_float(0x7e800000u - exponent);
}

// The byte that is stored.
__device__ __forceinline__ int8_t stored_exponent(uint32_t exponent) {
  return int8_t(int(exponent >> 23) - 127);
}

}  // namespace temblor
