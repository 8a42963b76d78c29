// A stand-in on the CPU for what our kernels use of CUDA C++, so that g++ compiles a .cu file of
// ours and its blocks run here: wrong indices, fragments and reductions show without a card. It
// says nothing about speed, and nothing about memory ordering beyond what the order of threads can
// show.
// Blocks run one after the other, the threads of a block as fibres that change at barriers and
// collectives only, from the first thread to the last or the other way round: a missing barrier
// gives different bits.
// A collective wants all lanes of its warp at the same call, and stops the program otherwise.
// Compile a program that includes the .cu file by g++ -std=c++17 -include cuda_on_cpu.h.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#define __device__
#define __global__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

using std::max;
using std::min;

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
#define TEMBLOR_VECTORS(T, NAME)                                                    \
  struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                \
  struct alignas(4 * sizeof(T)) NAME##4 { T x, y, z, w; };                          \
  inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                        \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
TEMBLOR_VECTORS(float, float)
TEMBLOR_VECTORS(double, double)
TEMBLOR_VECTORS(int, int)
TEMBLOR_VECTORS(unsigned, uint)
TEMBLOR_VECTORS(short, short)
TEMBLOR_VECTORS(unsigned short, ushort)
TEMBLOR_VECTORS(signed char, char)
TEMBLOR_VECTORS(unsigned char, uchar)
#undef TEMBLOR_VECTORS

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace on_cpu {

// A copy that a thread asked for and that has not happened yet.
struct Copy { void* to; const void* from; int bytes, zeros; };

struct Fibre {
  ucontext_t context;
  jmp_buf at;
  bool begun = false, ended = false;
  int lane = 0, warp = 0;
  uint3 index{};
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
  // Bulk copies out of shared memory that nobody has waited for.
  std::vector<std::function<void()>> out;
  // Whether it fenced what it stored since its warp's last group of such copies.
  bool fenced = false;
};

// What the lanes of a warp give to a collective; two in turn, since a lane may be one ahead.
struct Warp {
  int lanes = 0, arrived = 0;
  unsigned long generation = 0;
  const void* call[2] = {};
  unsigned char given[2][32][64];
};

constexpr size_t STACK = 128 * 1024, SHARED = 232448;

struct Machine {
  std::vector<Fibre> fibres;
  std::vector<Warp> warps;
  std::vector<char> stacks;
  std::vector<unsigned char> memory = std::vector<unsigned char>(SHARED + 1024);
  std::function<void()> body;
  jmp_buf home;
  Fibre* now = nullptr;
  int live = 0, arrived = 0;
  unsigned long generation = 0, progress = 0;
  int vote = 0;
  // From the last thread and block to the first.
  bool backwards = false;
  // A warp that has its turn once in a hundred only, if any; a lane of every warp.
  int slow = -1, slow_lane = -1;
  // Tensor copies happen when they are asked for, else as late as they may.
  bool early = false;
  // Bytes of dynamic shared memory that the launch asked for.
  size_t shared = SHARED;
};

inline Machine& machine() {
  static Machine m;
  return m;
}

[[noreturn]] inline void stop(const char* why) {
  const uint3 t = threadIdx, b = blockIdx;
  fprintf(stderr, "stand-in: %s (block %u %u %u, thread %u %u %u)\n", why, b.x, b.y, b.z, t.x,
          t.y, t.z);
  exit(3);
}

inline void pause() {
  Machine& m = machine();
  if (_setjmp(m.now->at) == 0) _longjmp(m.home, 1);
}

inline void enter() {
  Machine& m = machine();
  m.body();
  if (!m.now->out.empty()) stop("a thread ends before its copies out of shared memory are read");
  m.now->ended = true;
  --m.live;
  ++m.progress;
  // Threads that wait for all others need not wait for this one.
  if (m.live > 0 && m.arrived == m.live) {
    m.arrived = 0;
    ++m.generation;
  }
  _longjmp(m.home, 1);
}

inline void barrier() {
  Machine& m = machine();
  const unsigned long mine = m.generation;
  ++m.progress;
  if (++m.arrived == m.live) {
    m.arrived = 0;
    ++m.generation;
    return;
  }
  while (m.generation == mine) pause();
}

// All lanes' values, in order of lanes.
template <class T>
inline const unsigned char (*gather(unsigned mask, const T& value, const void* call))[64] {
  static_assert(sizeof(T) <= 64, "more than a lane can give");
  Machine& m = machine();
  Warp& w = m.warps[m.now->warp];
  const unsigned all = w.lanes == 32 ? 0xffffffffu : (1u << w.lanes) - 1;
  if ((mask & all) != all) stop("a collective of some lanes only is not supported");
  const unsigned long mine = w.generation;
  const int turn = mine & 1;
  if (w.arrived == 0) w.call[turn] = call;
  if (w.call[turn] != call) stop("lanes of a warp meet at different collectives");
  memcpy(w.given[turn][m.now->lane], &value, sizeof(T));
  ++m.progress;
  if (++w.arrived == w.lanes) {
    w.arrived = 0;
    ++w.generation;
  } else {
    while (w.generation == mine) pause();
  }
  return w.given[turn];
}

template <class T>
inline T taken(const unsigned char (*given)[64], int lane) {
  T value;
  memcpy(&value, given[lane], sizeof(T));
  return value;
}

inline int lanes() { return machine().warps[machine().now->warp].lanes; }
inline int lane() { return machine().now->lane; }

inline unsigned char* dynamic() {
  const uintptr_t at = reinterpret_cast<uintptr_t>(machine().memory.data());
  return reinterpret_cast<unsigned char*>((at + 1023) / 1024 * 1024);
}

inline bool is_slow(const Fibre& f) {
  return f.warp == machine().slow || f.lane == machine().slow_lane;
}

inline void run_block(dim3 block) {
  Machine& m = machine();
  const int count = int(block.x * block.y * block.z);
  m.fibres.assign(count, {});
  m.warps.assign((count + 31) / 32, {});
  m.stacks.resize(count * STACK);
  // What nobody wrote is NaN and not zero.
  memset(m.memory.data(), 0xff, m.memory.size());
  m.live = count;
  m.arrived = 0;
  for (int n = 0; n < count; ++n) {
    Fibre& f = m.fibres[n];
    f.lane = n % 32;
    f.warp = n / 32;
    ++m.warps[f.warp].lanes;
    f.index = {n % block.x, n / block.x % block.y, n / (block.x * block.y)};
  }
  unsigned long before = m.progress;
  for (int turn = 0; m.live > 0; ++turn) {
    const bool waits = (m.slow >= 0 || m.slow_lane >= 0) && turn % 100 != 99;
    for (int step = 0; step < count; ++step) {
      Fibre& f = m.fibres[m.backwards ? count - 1 - step : step];
      if (f.ended || (waits && is_slow(f))) continue;
      m.now = &f;
      threadIdx = f.index;
      if (_setjmp(m.home) == 0) {
        if (f.begun) _longjmp(f.at, 1);
        f.begun = true;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = m.stacks.data() + (&f - m.fibres.data()) * STACK;
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = nullptr;
        makecontext(&f.context, enter, 0);
        setcontext(&f.context);
      }
    }
    if (waits) continue;
    if (m.progress == before)
      stop("all threads wait: a barrier or collective that some never reach");
    before = m.progress;
  }
  const auto written = [](unsigned char byte) { return byte != 0xff; };
  const unsigned char* end = m.memory.data() + m.memory.size();
  if (std::any_of(static_cast<const unsigned char*>(dynamic() + m.shared), end, written))
    stop("shared memory beyond what the launch asked for");
}

// Runs body once per thread of the grid; body calls the kernel.
inline void launch(dim3 grid, dim3 block, std::function<void()> body) {
  Machine& m = machine();
  m.body = std::move(body);
  gridDim = grid;
  blockDim = block;
  const unsigned count = grid.x * grid.y * grid.z;
  for (unsigned step = 0; step < count; ++step) {
    const unsigned n = m.backwards ? count - 1 - step : step;
    blockIdx = {n % grid.x, n / grid.x % grid.y, n / (grid.x * grid.y)};
    run_block(block);
  }
}

inline void make(const std::vector<Copy>& copies) {
  for (const Copy& c : copies) {
    memcpy(c.to, c.from, c.bytes);
    memset(static_cast<char*>(c.to) + c.bytes, 0, c.zeros);
  }
}

template <class To, class From>
inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace on_cpu

inline void __syncthreads() { on_cpu::barrier(); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { on_cpu::pause(); }
inline int __syncthreads_or(int value) {
  on_cpu::Machine& m = on_cpu::machine();
  on_cpu::barrier();
  m.vote = 0;
  on_cpu::barrier();
  m.vote |= value != 0;
  on_cpu::barrier();
  return m.vote;
}

namespace on_cpu {
// One name per operation, so that lanes at different operations are told apart.
enum Operation { SYNC, SHUFFLE, UP, DOWN, XOR, BALLOT, REDUCE, MATRIX, COUNT };
inline const char OPERATION[COUNT] = {};
inline const void* of(Operation o) { return &OPERATION[o]; }

template <class T, class F>
inline T reduce(unsigned mask, T value, F f) {
  const auto given = gather(mask, value, of(REDUCE));
  T result = taken<T>(given, 0);
  for (int n = 1; n < lanes(); ++n) result = f(result, taken<T>(given, n));
  return result;
}
}  // namespace on_cpu

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  on_cpu::gather(mask, 0, on_cpu::of(on_cpu::SYNC));
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const auto given = on_cpu::gather(mask, value, on_cpu::of(on_cpu::SHUFFLE));
  const int base = on_cpu::lane() / width * width;
  return on_cpu::taken<T>(given, base + (from & (width - 1)));
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32) {
  const auto given = on_cpu::gather(mask, value, on_cpu::of(on_cpu::XOR));
  const int me = on_cpu::lane(), from = me ^ by;
  return on_cpu::taken<T>(given, from / width <= me / width ? from : me);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const auto given = on_cpu::gather(mask, value, on_cpu::of(on_cpu::UP));
  const int me = on_cpu::lane();
  return on_cpu::taken<T>(given, me % width >= int(by) ? me - int(by) : me);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const auto given = on_cpu::gather(mask, value, on_cpu::of(on_cpu::DOWN));
  const int me = on_cpu::lane();
  return on_cpu::taken<T>(given, me % width + int(by) < width ? me + int(by) : me);
}
inline unsigned __ballot_sync(unsigned mask, int yes) {
  const auto given = on_cpu::gather(mask, yes, on_cpu::of(on_cpu::BALLOT));
  unsigned result = 0;
  for (int n = 0; n < on_cpu::lanes(); ++n)
    result |= unsigned(on_cpu::taken<int>(given, n) != 0) << n;
  return result;
}
inline int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }
inline int __all_sync(unsigned mask, int yes) { return __ballot_sync(mask, !yes) == 0; }
inline unsigned __activemask() { return 0xffffffffu; }
template <class T>
inline T __reduce_max_sync(unsigned mask, T value) {
  return on_cpu::reduce(mask, value, [](T a, T b) { return a > b ? a : b; });
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value) {
  return on_cpu::reduce(mask, value, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
inline T __reduce_add_sync(unsigned mask, T value) {
  return on_cpu::reduce(mask, value, [](T a, T b) { return T(a + b); });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return on_cpu::reduce(mask, value, [](unsigned a, unsigned b) { return a | b; });
}

template <class T>
inline T atomicMax(T* at, T value) {
  const T old = *at;
  *at = old > value ? old : value;
  return old;
}
template <class T>
inline T atomicMin(T* at, T value) {
  const T old = *at;
  *at = old < value ? old : value;
  return old;
}
template <class T>
inline T atomicAdd(T* at, T value) {
  const T old = *at;
  *at = old + value;
  return old;
}
template <class T>
inline T atomicOr(T* at, T value) {
  const T old = *at;
  *at = old | value;
  return old;
}
template <class T>
inline T atomicExch(T* at, T value) {
  const T old = *at;
  *at = value;
  return old;
}
template <class T>
inline T atomicCAS(T* at, T is, T value) {
  const T old = *at;
  if (old == is) *at = value;
  return old;
}

template <class T>
inline T __ldg(const T* p) { return *p; }
template <class T>
inline T __ldcs(const T* p) { return *p; }
template <class T>
inline T __ldcg(const T* p) { return *p; }
template <class T>
inline void __stcs(T* p, T value) { *p = value; }
template <class T>
inline void __stcg(T* p, T value) { *p = value; }

#include "cuda_numbers.h"

#include "machine_on_cpu.h"

// The cards' kernels flush denormals (-ftz=true); so does this thread from here on, where it can.
inline void flush_denormals() {
#if defined(__SSE__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}
