// CUDA's functions of numbers on the CPU: bits, roundings, bytes, halves. Part of cuda_on_cpu.h.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

inline unsigned __float_as_uint(float x) { return on_cpu::bits<unsigned>(x); }
inline int __float_as_int(float x) { return on_cpu::bits<int>(x); }
inline float __uint_as_float(unsigned x) { return on_cpu::bits<float>(x); }
inline float __int_as_float(int x) { return on_cpu::bits<float>(x); }
// Kernels are built with denormals flushed; the stand-in runs with them flushed too
// (flush_denormals).
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
// Saturates; NaN becomes zero.
inline int __float2int_rn(float x) {
  if (x != x) return 0;
  if (x >= 2147483648.0f) return 2147483647;
  if (x <= -2147483648.0f) return -2147483647 - 1;
  return int(std::nearbyint(x));
}
inline int __float2int_rz(float x) {
  if (x != x) return 0;
  if (x >= 2147483648.0f) return 2147483647;
  if (x <= -2147483648.0f) return -2147483647 - 1;
  return int(x);
}
inline unsigned __float2uint_rn(float x) {
  if (!(x > 0.0f)) return 0;
  return x >= 4294967296.0f ? 0xffffffffu : unsigned(std::nearbyint(x));
}
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __mulhi(int a, int b) { return int((int64_t(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned by) {
  return unsigned(((uint64_t(hi) << 32 | lo) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned by) {
  return unsigned((uint64_t(hi) << 32 | lo) >> (by & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  unsigned result = 0;
  for (int n = 0; n < 4; ++n) {
    const unsigned s = selector >> 4 * n & 15;
    unsigned byte = unsigned(bytes >> 8 * (s & 7)) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * n;
  }
  return result;
}
inline int __dp4a(int a, int b, int c) {
  uint32_t sum = uint32_t(c);
  for (int n = 0; n < 4; ++n) sum += uint32_t(int(int8_t(a >> 8 * n)) * int8_t(b >> 8 * n));
  return int(sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int n = 0; n < 4; ++n) c += (a >> 8 * n & 255) * (b >> 8 * n & 255);
  return c;
}

// Halves: IEEE binary16 and BF16 by their bits, rounded to nearest even.
struct __half { uint16_t bits; };
struct __nv_bfloat16 { uint16_t bits; };
inline __half __ushort_as_half(unsigned short x) { return {x}; }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return {x}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline float __half2float(__half h) {
  const unsigned sign = unsigned(h.bits & 0x8000) << 16, e = h.bits >> 10 & 31, m = h.bits & 1023;
  if (e == 31) return __uint_as_float(sign | 0x7f800000u | m << 13);
  if (e == 0) return (sign ? -1.0f : 1.0f) * std::ldexp(float(m), -24);
  return __uint_as_float(sign | (e + 112) << 23 | m << 13);
}
inline __half __float2half_rn(float x) {
  const unsigned b = __float_as_uint(x), sign = b >> 16 & 0x8000;
  if (x != x) return {uint16_t(sign | 0x7fff)};
  const float size = std::fabs(x);
  if (size >= 65520.0f) return {uint16_t(sign | 0x7c00)};
  // The spacing of halves at x, not below that of denormals.
  int e;
  std::frexp(size, &e);
  const int step = std::max(e - 11, -24);
  const int m = int(std::nearbyint(std::ldexp(double(size), -step)));
  if (m == 0) return {uint16_t(sign)};
  // m < 1024: denormal, whose bits are m; else the exponent's place counts the steps.
  return {uint16_t(sign | unsigned(m < 1024 ? m : ((step + 24) << 10) + m))};
}
inline float __bfloat162float(__nv_bfloat16 b) { return __uint_as_float(unsigned(b.bits) << 16); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const unsigned b = __float_as_uint(x);
  if (x != x) return {0x7fff};
  return {uint16_t((b + 0x7fffu + (b >> 16 & 1)) >> 16)};
}
