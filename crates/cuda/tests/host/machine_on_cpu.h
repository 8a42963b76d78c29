// What csrc/cuda/machine.cuh and tma.cuh ask of a card in PTX, for the stand-in on the CPU: dynamic
// shared memory, asynchronous and tensor copies with their barriers, matrix products. Part of
// cuda_on_cpu.h, which says what the stand-in can show.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

// What csrc/cuda/machine.cuh writes in PTX.
namespace temblor {

inline unsigned char* dynamic_shared() { return on_cpu::dynamic(); }

inline void prefetch_l2(const void*) {}
inline float rough_inverse(float x) { return 1.0f / x; }
template <class T>
inline void keep(T*&) {}
inline void keep(unsigned&) {}

// Copies happen as late as they may: when their group is waited for.
template <int BYTES>
inline void copy_async(void* to, const void* from, int bytes = BYTES) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
  if (reinterpret_cast<uintptr_t>(to) % BYTES || reinterpret_cast<uintptr_t>(from) % BYTES)
    on_cpu::stop("cp.async off its alignment");
  on_cpu::machine().now->open.push_back({to, from, bytes, BYTES - bytes});
}
inline void copy_async(void* to, const void* from) { copy_async<16>(to, from); }
inline void copy_async_commit() {
  on_cpu::Fibre& f = *on_cpu::machine().now;
  f.groups.push_back(std::move(f.open));
  f.open.clear();
}
template <int LEFT>
inline void copy_async_wait() {
  auto& groups = on_cpu::machine().now->groups;
  while (groups.size() > size_t(LEFT)) {
    on_cpu::make(groups.front());
    groups.erase(groups.begin());
  }
}

// What csrc/cuda/tma.cuh writes in PTX: an array of planes (x), rows (y) and elements (z) and the box
// that a copy takes of it. Copies happen when their barrier is waited for, or early.
}  // namespace temblor
struct alignas(128) CUtensorMap {
  const void* base;
  int element, nodes[3], box[2];
  int64_t row, plane;
};
namespace on_cpu {
struct Barrier {
  uint32_t arrivals = 1, arrived = 0;
  bool expects = false;
  int64_t bytes = 0, asked = 0;
  uint32_t phase = 0;
  std::vector<std::function<void()>> copies;
};
inline Barrier& barrier_at(const uint64_t* place) {
  static std::map<const uint64_t*, Barrier> barriers;
  return barriers[place];
}
}  // namespace on_cpu
namespace temblor {

inline void barrier_init(uint64_t* barrier, uint32_t arrivals) {
  on_cpu::barrier_at(barrier) = {};
  on_cpu::barrier_at(barrier).arrivals = arrivals;
  *barrier = 0;
}
inline void barrier_init_fence() {}
inline void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  on_cpu::Barrier& b = on_cpu::barrier_at(barrier);
  if (b.arrivals != 1) on_cpu::stop("only barriers of one arrival may wait for copies");
  if (b.expects) on_cpu::stop("a barrier is asked for before it was waited for");
  b.expects = true, b.bytes = bytes;
}
inline void barrier_arrive(uint64_t* barrier) {
  on_cpu::Barrier& b = on_cpu::barrier_at(barrier);
  ++on_cpu::machine().progress;
  if (++b.arrived == b.arrivals) b.arrived = 0, b.phase ^= 1;
}
inline void barrier_wait(uint64_t* barrier, uint32_t parity) {
  on_cpu::Barrier& b = on_cpu::barrier_at(barrier);
  // Who is slow is so between an arrival and what follows the next wait, too.
  if (on_cpu::is_slow(*on_cpu::machine().now)) {
    ++on_cpu::machine().progress;
    on_cpu::pause();
  }
  while (b.phase == parity) {
    if (b.expects && b.asked == b.bytes) {
      for (const auto& copy : b.copies) copy();
      b.copies.clear();
      b.expects = false, b.asked = 0, b.phase ^= 1;
      ++on_cpu::machine().progress;
    } else {
      on_cpu::pause();
    }
  }
}
inline void copy_box(void* to, const CUtensorMap* map, uint64_t* barrier, int z, int y, int x) {
  on_cpu::Barrier& b = on_cpu::barrier_at(barrier);
  const CUtensorMap m = *map;
  if (reinterpret_cast<uintptr_t>(to) % 128 || z * m.element % 16 || m.box[1] * m.element % 16)
    on_cpu::stop("a tensor copy off its alignment");
  b.asked += int64_t(m.box[0]) * m.box[1] * m.element;
  const auto copy = [=] {
    char* out = static_cast<char*>(to);
    for (int j = 0; j < m.box[0]; ++j)
      for (int k = 0; k < m.box[1]; ++k, out += m.element) {
        const bool inside = x >= 0 && x < m.nodes[0] && y + j >= 0 && y + j < m.nodes[1] &&
                            z + k >= 0 && z + k < m.nodes[2];
        const int64_t at = (x * m.plane + (y + j) * m.row + z + k) * m.element;
        if (inside) memcpy(out, static_cast<const char*>(m.base) + at, m.element);
        else memset(out, 0, m.element);
      }
  };
  if (on_cpu::machine().early) copy();
  else b.copies.push_back(copy);
}

// Copies out of shared memory read it as late as they may, when the thread waits for them, or early. All
// lanes of the warp are taken to have stored what is copied.
inline void copy_box_out(const CUtensorMap* map, const void* from, int z, int y, int x) {
  const CUtensorMap m = *map;
  for (const on_cpu::Fibre& f : on_cpu::machine().fibres)
    if (f.warp == on_cpu::machine().now->warp && !f.fenced)
      on_cpu::stop("a lane did not fence its stores before a copy out of shared memory");
  if (reinterpret_cast<uintptr_t>(from) % 128 || z * m.element % 16 || m.box[1] * m.element % 16)
    on_cpu::stop("a tensor copy off its alignment");
  const auto copy = [=] {
    const char* in = static_cast<const char*>(from);
    char* to = static_cast<char*>(const_cast<void*>(m.base));
    for (int j = 0; j < m.box[0]; ++j)
      for (int k = 0; k < m.box[1]; ++k, in += m.element)
        if (x >= 0 && x < m.nodes[0] && y + j >= 0 && y + j < m.nodes[1] && z + k >= 0 &&
            z + k < m.nodes[2])
          memcpy(to + (x * m.plane + (y + j) * m.row + z + k) * m.element, in, m.element);
  };
  if (on_cpu::machine().early) copy();
  else on_cpu::machine().now->out.push_back(copy);
}
inline void copies_commit() {
  for (on_cpu::Fibre& f : on_cpu::machine().fibres)
    if (f.warp == on_cpu::machine().now->warp) f.fenced = false;
}
inline void copies_wait_read() {
  for (const auto& copy : on_cpu::machine().now->out) copy();
  on_cpu::machine().now->out.clear();
}
inline void copies_wait() { copies_wait_read(); }
inline void fence_for_copies() { on_cpu::machine().now->fenced = true; }

// The fragments of mma.sync (PTX ISA, "Matrix Fragments for mma"), g = lane / 4, t = lane % 4.
// Result, 16 x 8: rows g (0, 1) and g + 8 (2, 3), columns 2t and 2t + 1.
namespace fragments {
struct Eight { uint32_t a[4], b[2]; };

// s8, 16 x K times K x 8: words of A by rows g, g + 8, then the same 16 columns on; of B by columns
// g.
template <int K>
inline void multiply_s8(int (&c)[4], const Eight& mine) {
  const auto given = on_cpu::gather(0xffffffffu, mine, on_cpu::of(on_cpu::MATRIX));
  const int g = on_cpu::lane() / 4, t = on_cpu::lane() % 4;
  for (int n = 0; n < 4; ++n) {
    const int row = g + n / 2 * 8, column = 2 * t + n % 2;
    uint32_t sum = uint32_t(c[n]);
    for (int k = 0; k < K; ++k) {
      const auto a = on_cpu::taken<Eight>(given, row % 8 * 4 + k % 16 / 4);
      const auto b = on_cpu::taken<Eight>(given, column * 4 + k % 16 / 4);
      const int x = int8_t(a.a[row / 8 + k / 16 * 2] >> 8 * (k % 4));
      const int y = int8_t(b.b[k / 16] >> 8 * (k % 4));
      sum += uint32_t(x * y);
    }
    c[n] = int(sum);
  }
}
}  // namespace fragments

inline void mma_s8_k32(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  fragments::multiply_s8<32>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
}
inline void mma_s8_k16(int (&c)[4], const uint32_t (&a)[2], uint32_t b) {
  fragments::multiply_s8<16>(c, {{a[0], a[1], 0, 0}, {b, 0}});
}
// BF16, 16 x 16 times 16 x 8: words of two along K, 8 columns of A further in words 2 and 3.
inline void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const fragments::Eight mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const auto given = on_cpu::gather(0xffffffffu, mine, on_cpu::of(on_cpu::MATRIX));
  const int g = on_cpu::lane() / 4, t = on_cpu::lane() % 4;
  for (int n = 0; n < 4; ++n) {
    const int row = g + n / 2 * 8, column = 2 * t + n % 2;
    double sum = c[n];
    for (int k = 0; k < 16; ++k) {
      const auto x = on_cpu::taken<fragments::Eight>(given, row % 8 * 4 + k % 8 / 2);
      const auto y = on_cpu::taken<fragments::Eight>(given, column * 4 + k % 8 / 2);
      const unsigned p = x.a[row / 8 + k / 8 * 2] >> 16 * (k % 2) & 0xffff;
      const unsigned q = y.b[k / 8] >> 16 * (k % 2) & 0xffff;
      sum += double(__uint_as_float(p << 16)) * double(__uint_as_float(q << 16));
    }
    c[n] = float(sum);
  }
}

}  // namespace temblor
