// What kernels ask of the machine in PTX: dynamic shared memory, asynchronous copies, matrix
// products.
// A host compiler gets the same names from crates/cuda/tests/host/cuda_on_cpu.h, which writes down
// what they do; so kernels that keep to these and to CUDA's own intrinsics also run on the CPU.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <stdint.h>

#ifdef __CUDACC__
// Files of several kernels are also compiled for cards without what follows; the host does not
// choose such kernels there.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define TEMBLOR_SM80 1
#else
#define TEMBLOR_SM80 0
#endif

namespace temblor {

// Start of the dynamic shared memory.
__device__ __forceinline__ unsigned char* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char temblor_shared[];
  return temblor_shared;
}

// Has the compiler keep an address of global memory in registers instead of computing it anew.
template <class T>
__device__ __forceinline__ void keep(T*& address) {
  asm volatile("" : "+l"(address));
  __builtin_assume(__isGlobal(address));
}

__device__ __forceinline__ void keep(unsigned& value) { asm volatile("" : "+r"(value)); }

// Asks for BYTES into shared memory; the last of them become zero if fewer are read. (sm_80)
template <int BYTES>
__device__ __forceinline__ void copy_async(void* to, const void* from, int bytes = BYTES) {
#if TEMBLOR_SM80
  const uint32_t at = uint32_t(__cvta_generic_to_shared(to));
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES),
                 "r"(bytes)
                 : "memory");
#else
  __trap();
#endif
}
// 1/x to some units in the last place.
__device__ __forceinline__ float rough_inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Asks L2 for the line of an address.
__device__ __forceinline__ void prefetch_l2(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

// What was asked for since the last commit is a group.
__device__ __forceinline__ void copy_async_commit() {
#if TEMBLOR_SM80
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until all but the newest LEFT groups of this thread have come.
template <int LEFT>
__device__ __forceinline__ void copy_async_wait() {
#if TEMBLOR_SM80
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// c += a b of signed bytes, 16 x 32 times 32 x 8. (sm_80)
__device__ __forceinline__ void mma_s8_k32(int (&c)[4], const uint32_t (&a)[4],
                                           const uint32_t (&b)[2]) {
#if TEMBLOR_SM80
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}
// c += a b of signed bytes, 16 x 16 times 16 x 8. (sm_80)
__device__ __forceinline__ void mma_s8_k16(int (&c)[4], const uint32_t (&a)[2], uint32_t b) {
#if TEMBLOR_SM80
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
#else
  __trap();
#endif
}
// c += a b of BF16, 16 x 16 times 16 x 8. (sm_80)
__device__ __forceinline__ void mma_bf16(float (&c)[4], const uint32_t (&a)[4],
                                         const uint32_t (&b)[2]) {
#if TEMBLOR_SM80
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

}  // namespace temblor
#endif
