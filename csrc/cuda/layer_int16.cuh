// Wavefields of 16 bits (int16.cuh) in tiles of the absorbing layers (layer_tiles.cuh), whose lanes are
// whole storage tiles: eight neighbours share one. A thread fetches its own group of p a radius of planes
// ahead, which only its queue wants, and those beside the tile with the plane itself; it decodes what it
// fetched before the barrier of the round, so that every code is decoded once and all taps are floats in
// registers or in one of two planes in shared memory.
// Rounding and sums are those of the general kernel (acoustic_iso_stored.cu), bit for bit.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "int16.cuh"
#include "layer_tiles.cuh"

namespace temblor {

// CODED: two bytes for the wave speed. INCREMENT: p^n - p^(n-1) in place of p^(n-1).
template <bool CODED, bool INCREMENT>
struct Codes {
  const TemblorStored& m;
  static constexpr bool APART = true;

  template <int ROW, int THREADS, int DEPTH>
  struct Planes {
    static constexpr int R = RADIUS, SPEED_BYTES = CODED ? 8 : 16;
    static_assert(THREADS % 32 == 0, "shuffles want whole warps");
    using Tile = LayerTile<ROW, THREADS>;
    const Tile& tile;
    const TemblorStored& m;
    float4* const floats;
    // Whether the thread's group lies in a storage tile of the box, and how many of its nodes exist.
    bool stores;
    int nodes;
    // The group beside the tile or beside its rows that the thread fetches, if any: where it lies and
    // where it goes.
    bool fetch_beside;
    int beside_from, beside_to;
    // Whether the tile begins at a reflecting face: then what lies there is not fetched.
    bool mirrors;
    // Storage tile of the tile's first node in the present plane, and how far the next plane is: what
    // exponents count by.
    int at, to_next;
    int turned = 0;
    // Exponents of what the next plane decodes.
    int of_own, of_before, of_beside;
    float value[4], centre[4];

    __device__ __forceinline__ Planes(const Tile& tile, const Codes& fields, float4* shared)
        : tile(tile), m(fields.m), floats(shared) {
      stores = tile.mine && tile.j < tile.end_j && tile.k / STORED_TILE * STORED_TILE < tile.end_k;
      nodes = tile.active ? min(tile.end_k - tile.k, 4) : 0;
      // The host's tiles are too small for a thread to have one of each kind.
      const bool edge = tile.edge_at < 2 * tile.rows;
      mirrors = tile.k0 == 0 && m.image[2][0] >= 0;
      fetch_beside = edge ? tile.fetch_edge && !(mirrors && tile.edge_k < 0) : tile.fetch_halo;
      beside_from = edge ? tile.edge : tile.halo;
      beside_to = edge ? tile.wide + tile.edge_at : tile.halo_at;
      at = int(tile.origin >> 5);
      to_next = int(tile.step >> 5);
    }

    // Two planes of floats with what lies beside their rows.
    __device__ __forceinline__ int plane_size() const { return tile.wide + 2 * tile.rows; }
    __device__ __forceinline__ int room() const { return 2 * plane_size(); }

    // A stage: the wave speed, codes of p and of p- or d, and those beside the tile, of each thread.
    __device__ __forceinline__ int at_codes() const { return SPEED_BYTES / 8 * tile.groups; }
    __device__ __forceinline__ int at_before() const { return at_codes() + tile.groups; }
    __device__ __forceinline__ int at_beside() const { return at_before() + tile.groups; }
    __device__ __forceinline__ int stage_size() const { return (at_beside() + THREADS) / 2; }

    // Rows are whole storage tiles, so that places in a plane have theirs wherever the plane lies.
    static __device__ __forceinline__ int storage_tile(int place) { return place >> 5; }
    __device__ __forceinline__ int plane_at(int more) const { return at + more * to_next; }
    static __device__ __forceinline__ int64_t element_of(int plane, int place) {
      return int64_t(plane + storage_tile(place)) * STORED_TILE + (place & (STORED_TILE - 1));
    }
    __device__ __forceinline__ const uint2* codes_of(const void* field, int plane,
                                                     int place) const {
      return reinterpret_cast<const uint2*>(static_cast<const uint16_t*>(field) +
                                            element_of(plane, place));
    }
    __device__ __forceinline__ int exponent_in(const void* exponents, int plane, int place) const {
      return static_cast<const int8_t*>(exponents)[plane + storage_tile(place)];
    }

    __device__ __forceinline__ void ask() const {}

    // p's own group is that of plane n + R.
    __device__ __forceinline__ void fetch(int, int ahead, float4* stage) const {
      uint2* const words = reinterpret_cast<uint2*>(stage);
      const int plane = plane_at(ahead);
      if (tile.fetch_own)
        copy_async<8>(words + at_codes() + tile.t,
                      codes_of(m.p, plane_at(ahead + R), tile.own));
      if (tile.active) {
        copy_async<8>(words + at_before() + tile.t, codes_of(m.before, plane, tile.own));
        copy_async<SPEED_BYTES>(
            words + SPEED_BYTES / 8 * tile.t,
            static_cast<const unsigned char*>(m.speed) +
                SPEED_BYTES / 4 * element_of(plane, tile.own));
      }
      if (fetch_beside)
        copy_async<8>(words + at_beside() + tile.t, codes_of(m.p, plane, beside_from));
    }

    // Exponents that the plane `more` ahead will want of p, and of p- or d.
    __device__ __forceinline__ void look_up_p(int more) {
      if (tile.fetch_own) of_own = exponent_in(m.p_exponents, plane_at(more + R), tile.own);
      if (fetch_beside) of_beside = exponent_in(m.p_exponents, plane_at(more), beside_from);
    }
    __device__ __forceinline__ void look_up_before(int more) {
      if (tile.active) of_before = exponent_in(m.before_exponents, plane_at(more), tile.own);
    }

    __device__ __forceinline__ void start(float4 (&queue)[2 * R + 1]) {
      look_up_p(0);
      look_up_before(0);
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) {
        queue[r + 1] = zero4();
        if (tile.fetch_own)
          queue[r + 1] = decode4(*codes_of(m.p, plane_at(r - R), tile.own),
                                 unit_of(exponent_in(m.p_exponents, plane_at(r - R), tile.own)));
      }
      copy_async_wait<DEPTH>();
    }

    __device__ __forceinline__ void decode(float4 (&queue)[2 * R + 1], int n,
                                           const float4* stage) {
      const uint2* const words = reinterpret_cast<const uint2*>(stage);
#pragma unroll
      for (int r = 0; r < 2 * R; ++r) queue[r] = queue[r + 1];
      // What is not fetched is zero.
      queue[2 * R] = zero4();
      if (tile.fetch_own)
        queue[2 * R] = decode4(words[at_codes() + tile.t], unit_of(of_own));
      float4* const to = floats + turned * plane_size();
      if (tile.mine) to[R * tile.lanes + tile.t] = queue[R];
      if (fetch_beside)
        to[beside_to] = decode4(words[at_beside() + tile.t], unit_of(of_beside));
      if (mirrors) mirror(to + tile.wide, queue[R]);
      if (n + 1 < tile.count) look_up_p(1);
    }

    // Nodes -4 to -1 along z, beside each row, from 0 to 4: across a free surface on node 0 or a rigid one
    // before it.
    __device__ __forceinline__ void mirror(float4* beside, const float4& own) const {
      const float fifth = __shfl_down_sync(0xffffffffu, own.x, 1), sign = m.sign[2][0];
      const bool on_node = m.image[2][0] == 1;
      if (tile.mine && tile.lane == 0)
        beside[2 * tile.row] = make_float4(
            mul(sign, on_node ? fifth : own.w), mul(sign, on_node ? own.w : own.z),
            mul(sign, on_node ? own.z : own.y), mul(sign, on_node ? own.y : own.x));
    }

    __device__ __forceinline__ void enter(float4 (&)[2 * R + 1]) const {}

    __device__ __forceinline__ const float4* plane() const {
      return floats + turned * plane_size() + R * tile.lanes + tile.t;
    }
    __device__ __forceinline__ const float4* beside(const float4*) const {
      return floats + turned * plane_size() + tile.wide;
    }

    // p- or d, and dt^2 c^2, at the thread's group; a code's place below 2^23 makes it a float.
    __device__ __forceinline__ void streams(const float4* stage, float (&old)[4],
                                            float (&speed)[4]) const {
      const uint2* const words = reinterpret_cast<const uint2*>(stage);
      split(old, decode4(words[at_before() + tile.t], unit_of(of_before)));
      const uint2* const from = words + SPEED_BYTES / 8 * tile.t;
      if constexpr (CODED) {
        const uint2 codes = *from;
        const uint32_t pairs[2] = {codes.x, codes.y};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const uint32_t code = __byte_perm(pairs[e / 2], 0x4b000000u, e % 2 ? 0x7632 : 0x7610);
          const float c = fma_rn(sub(__uint_as_float(code), 8388608.0f), m.slope, m.least);
          speed[e] = mul(c, c);
        }
      } else {
        split(speed, *reinterpret_cast<const float4*>(from));
      }
    }

    // What is added to 2p - p-, or to d.
    __device__ __forceinline__ void step_by(const float (&c)[4], const float (&old)[4],
                                            const float (&more)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        centre[e] = c[e];
        value[e] = add(INCREMENT ? old[e] : fma_rn(2.0f, c[e], -old[e]), more[e]);
      }
    }

    __device__ __forceinline__ void leap(int, const float (&c)[4], const float (&lap)[4],
                                         const float4* stage) {
      float old[4], speed[4], more[4];
      streams(stage, old, speed);
#pragma unroll
      for (int e = 0; e < 4; ++e) more[e] = mul(speed[e], lap[e]);
      step_by(c, old, more);
    }

    // d+ - d, exact where eta is zero; `lap` is lap + phi.
    __device__ __forceinline__ void damp(int, const float (&c)[4], const float (&lap)[4],
                                         const float (&eta)[4], const float4* stage) {
      float old[4], speed[4], more[4];
      streams(stage, old, speed);
#pragma unroll
      for (int e = 0; e < 4; ++e)
        more[e] = damped_gain(INCREMENT ? old[e] : sub(c[e], old[e]), c[e], speed[e], lap[e],
                              eta[e]);
      step_by(c, old, more);
    }

    // The exponent of the thread's storage tile, in the place of a float's.
    template <uint32_t ROOM>
    static __device__ __forceinline__ uint32_t exponent_of(const float4& group) {
      float most = larger4(group);
#pragma unroll
      for (int by = 1; by < 8; by *= 2) most = larger(most, __shfl_xor_sync(0xffffffffu, most, by));
      return exponent_bits<ROOM>(most);
    }

    __device__ __forceinline__ void store(void* values, void* exponents, const uint2& codes,
                                          uint32_t exponent) const {
      if (!stores) return;
      *reinterpret_cast<uint2*>(static_cast<uint16_t*>(values) + element_of(at, tile.own)) = codes;
      if (tile.lane % 8 == 0)
        static_cast<int8_t*>(exponents)[at + storage_tile(tile.own)] = stored_exponent(exponent);
    }

    // Rounds and stores plane n.
    __device__ __forceinline__ void give(int n) {
      if (n + 1 < tile.count) look_up_before(1);
      float given[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) given[e] = e < nodes ? value[e] : 0.0f;
      const float4 group = make_float4(given[0], given[1], given[2], given[3]);
      const int x = ROW == 0 ? tile.j : tile.i0 + n, y = ROW == 0 ? tile.i0 + n : tile.j;
      const uint32_t word = noise_word(uint32_t(m.seed), x, y, tile.k) & 0xfefefefeu;
      const uint32_t exponent = exponent_of<BY_NOISE>(group);
      // Of the lower row where y is odd.
      const uint4 codes =
          dithered4<0>(group, half_inverse_of(exponent), y & 1 ? word << 16 : word);
      if constexpr (INCREMENT) {
        store(m.before, m.before_exponents, codes4(codes), exponent);
        // The increment as it was rounded, added.
#pragma unroll
        for (int e = 0; e < 4; ++e) given[e] = e < nodes ? centre[e] : 0.0f;
        const float4 next = added4(codes, __uint_as_float(exponent),
                                   make_float4(given[0], given[1], given[2], given[3]));
        const uint32_t of_next = exponent_of<TO_NEAREST>(next);
        store(m.next, m.next_exponents, codes4(raise4(next, inverse_of(of_next))), of_next);
      } else {
        store(m.next, m.next_exponents, codes4(codes), exponent);
      }
    }

    __device__ __forceinline__ void turn() {
      turned = 1 - turned;
      at += to_next;
    }
  };
};

}  // namespace temblor
