// Bulk tensor copies into shared memory and the barriers that they complete on (PTX ISA, sm_90).
// A host compiler gets the names that kernels with a stand-in use from
// crates/cuda/tests/host/cuda_on_cpu.h.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#ifdef __CUDACC__
#include <cuda.h>
#include <stdint.h>

#include "machine.cuh"

namespace temblor {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}

// Makes initialised barriers visible to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void barrier_wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ready;\n"
      "bra again;\n"
      "ready:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// Box of a 3-D tensor at (z, y, x) into shared memory; what lies outside the tensor reads as zero.
// Along z it begins on 16 B: elsewhere the card stops with an illegal instruction.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, uint64_t* barrier,
                                         int z, int y, int x, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(z), "r"(y), "r"(x), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, uint64_t* barrier,
                                         int z, int y, int x) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(z), "r"(y), "r"(x)
      : "memory");
}

// `bytes`, a multiple of 16, from 16 B aligned global memory.
__device__ __forceinline__ void copy_bytes(void* to, const float* from, uint32_t bytes,
                                           uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// Box of shared memory, on 128 B, to (z, y, x) of a 3-D tensor, without what lies outside the tensor;
// belongs to the thread's newest group. What ordinary stores wrote there must have been fenced by
// `fence_for_copies`.
__device__ __forceinline__ void copy_box_out(const CUtensorMap* map, const void* from, int z, int y,
                                             int x) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
      "r"(z), "r"(y), "r"(x), "r"(shared_address(from))
      : "memory");
}
// What the thread asked for since the last commit is a group.
__device__ __forceinline__ void copies_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until all groups of the thread have been read from shared memory.
__device__ __forceinline__ void copies_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// Waits until they have been written.
__device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// Orders the thread's stores to shared memory before copies out of it, once another thread knows.
__device__ __forceinline__ void fence_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// 16 B by the thread's own asynchronous copy.
__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}

__device__ __forceinline__ uint64_t policy_evict_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ uint64_t policy_normal() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace temblor
#endif
