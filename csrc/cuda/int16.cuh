// Codes of 16 bits that share an exponent e per 32 nodes along z: value = code 2^(e - 15).
// Codes are kept plus 32768: a code then becomes a float by one byte permutation, below an exponent
// that puts the code's unit at 2^-15, and one multiply-add.
// e is the least with |code| <= 32767 after rounding to nearest even; tiles whose largest value is
// below 2^-120 hold zeros and e = -120, a field at rest e = -127 and any codes; e = 127 marks a tile with a value that is not finite.
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

// Stochastic rounding: noise of half a code either way before rounding to nearest, so that a value's
// expectation is itself; to nearest, what moves by less than half a code in a step stands still (traces
// of 2,000 steps: 1.2e-2 off in place of 2.0e-3). A byte of noise per node from a hash of step and four
// neighbours along z, the finaliser of MurmurHash3 (Appleby 2011, public domain): the same for every
// kernel and tile.
constexpr uint32_t HASH_X = 0x9e3779b1u, HASH_Y = 0x85ebca77u, HASH_Z = 0xc2b2ae3du;

__device__ __forceinline__ uint32_t hash(uint32_t word) {
  word = (word ^ word >> 16) * 0x85ebca6bu;
  word = (word ^ word >> 13) * 0xc2b2ae35u;
  return word ^ word >> 16;
}

// Of the four nodes from k on, a multiple of four.
__device__ __forceinline__ uint32_t noise_word(uint32_t seed, int i, int j, int k) {
  return hash(seed + uint32_t(i) * HASH_X + uint32_t(j) * HASH_Y + uint32_t(k >> 2) * HASH_Z);
}

// Of byte B, over 2^e: below half a code in size, so that zero stays zero.
template <int B>
__device__ __forceinline__ float noise_of(const TemblorStored& m, uint32_t word) {
  return fma_rn(__uint_as_float(__byte_perm(word, 0x43800000u, 0x7604 | B << 4)), m.noise_unit,
                m.noise_offset);
}

// The same for node k alone.
__device__ __forceinline__ float noise_at(const TemblorStored& m, int i, int j, int k) {
  const uint32_t byte = noise_word(uint32_t(m.seed), i, j, k) >> 8 * (k & 3) & 255u;
  return fma_rn(__uint_as_float(0x43800000u | byte << 8), m.noise_unit, m.noise_offset);
}

// 385 + value / 2^e + noise; the noise does not lift the largest code over the edge.
__device__ __forceinline__ float raised(float value, float inverse, float noise) {
  return add(fminf(fma_rn(value, inverse, noise), 32767.0f / 32768.0f), 385.0f);
}

__device__ __forceinline__ float4 raise4(const TemblorStored& m, const float4& value, float inverse,
                                         uint32_t word) {
  return make_float4(raised(value.x, inverse, noise_of<0>(m, word)),
                     raised(value.y, inverse, noise_of<1>(m, word)),
                     raised(value.z, inverse, noise_of<2>(m, word)),
                     raised(value.w, inverse, noise_of<3>(m, word)));
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

// e + 127, in the place of a float's exponent, of a tile whose largest absolute value is `most`.
__device__ __forceinline__ uint32_t exponent_bits(float most) {
  // Half a unit of the last code more carries into the next exponent.
  const uint32_t next = ((__float_as_uint(most) + 0x100u) & 0xff800000u) + 0x00800000u;
  return max(min(next, 0x7f000000u), 0x03800000u);
}

// 2^-e, or zero where codes are zero: in a tile of zeros and where e = 127.
__device__ __forceinline__ float inverse_of(uint32_t exponent) {
  return exponent == 0x03800000u ? 0.0f : __uint_as_float(0x7f000000u - exponent);
}

// The byte that is stored.
__device__ __forceinline__ int8_t stored_exponent(uint32_t exponent) {
  return int8_t(int(exponent >> 23) - 127);
}

}  // namespace temblor
