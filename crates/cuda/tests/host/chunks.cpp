// Chunks moved between a host's memory and a card's by tables of addresses: every value arrives, nothing
// beside a chunk is touched, whatever lengths and places are. Built with checks of alignment: a pair at an
// odd place stops the program. Prints what is wrong.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "patch_chunks.cuh"

#include <random>

namespace {

constexpr int CHUNKS = 6, LINE = 16, MOST = 1600, PITCH = MOST + 4 * LINE;
constexpr double EMPTY = -1.0;

struct alignas(128) Memory {
  double values[CHUNKS * PITCH];
};

double value(int chunk, int i) { return chunk * 1e6 + i; }

int failures = 0;

// Every chunk at its own distance from a boundary of 128 bytes on both sides.
void move(bool to_host, int len, int blocks, const int (&host)[CHUNKS], const int (&card)[CHUNKS]) {
  static Memory here, there;
  double *from[CHUNKS], *to[CHUNKS];
  for (double& v : here.values) v = EMPTY;
  for (double& v : there.values) v = EMPTY;
  for (int k = 0; k < CHUNKS; ++k) {
    from[k] = here.values + k * PITCH + LINE + (to_host ? card : host)[k];
    to[k] = there.values + (CHUNKS - 1 - k) * PITCH + LINE + (to_host ? host : card)[k];
    for (int i = 0; i < len; ++i) from[k][i] = value(k, i);
  }
  on_cpu::launch({unsigned(blocks), 1, 1}, {256, 1, 1}, [&] {
    if (to_host) scatter_chunks(to, from, CHUNKS, len);
    else gather_chunks(from, to, CHUNKS, len);
  });
  int kept = 0;
  for (double v : there.values) kept += v == EMPTY;
  bool good = kept == CHUNKS * (PITCH - len);
  for (int k = 0; k < CHUNKS; ++k)
    for (int i = 0; i < len; ++i) good &= to[k][i] == value(k, i);
  if (good) return;
  printf("wrong: %s, %d values, %d blocks\n", to_host ? "back" : "there", len, blocks);
  ++failures;
}

}  // namespace

int main() {
  std::mt19937 generator(5);
  const int lens[] = {1, 2, 15, 16, 17, 135, 496, 497, 511, 512, 513, 1024, 1081, MOST};
  for (int len : lens)
    for (int blocks : {1, 3})
      for (bool to_host : {false, true})
        for (bool alike : {true, false}) {
          int host[CHUNKS], card[CHUNKS];
          for (int k = 0; k < CHUNKS; ++k) {
            host[k] = int(generator() % LINE);
            card[k] = alike ? host[k] : int(generator() % LINE);
          }
          move(to_host, len, blocks, host, card);
        }
  if (failures == 0) printf("all as it should be\n");
  return failures != 0;
}
