// Two fused steps against two single ones in the order of sums of acoustic_iso_wide, bit for bit, with
// threads in both orders, with one warp of either crew, the feeding one or a lane of all warps far behind,
// and with copies as late or as early as may be; prints what is wrong.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_fused2_sm90.cu"

#include <cmath>
#include <random>
#include <vector>

namespace {

int failures = 0;

std::mt19937 generator(11);
float uniform(float low, float high) {
  return low + (high - low) * float(generator() >> 8) / 16777216.0f;
}

// Nodes with a halo on every side; rows begin 8 elements past a line, as the host lays them out.
struct Grid {
  int n[3], radius;
  int halo(int axis) const { return axis == 2 ? 8 : radius; }
  int pitch() const { return (8 + n[2] + radius + 31) / 32 * 32; }
  int rows() const { return n[1] + 2 * radius; }
  int planes() const { return n[0] + 2 * radius; }
  int64_t plane() const { return int64_t(pitch()) * rows(); }
  int64_t at(int i, int j, int k) const {
    return (i + radius) * plane() + int64_t(j + radius) * pitch() + k + 8;
  }
  std::vector<float> field() const { return std::vector<float>(size_t(plane()) * planes(), 0.0f); }
  template <class F>
  void each(F f) const {
    for (int i = 0; i < n[0]; ++i)
      for (int j = 0; j < n[1]; ++j)
        for (int k = 0; k < n[2]; ++k) f(i, j, k);
  }
};

TemblorStep step_of(const Grid& g) {
  TemblorStep s = {};
  for (int a = 0; a < 3; ++a) {
    s.nodes[a] = s.end[a] = g.n[a];
    for (int r = 0; r <= g.radius; ++r)
      s.second[a][r] = uniform(0.5f, 1.0f) * (r ? 1.0f : -2.0f) / float((1 + r) * (1 + r));
    s.centre += s.second[a][0];
  }
  s.stride_x = g.plane();
  s.stride_y = g.pitch();
  return s;
}

struct Source { int i, j, k; };

// One step: terms along z in pairs, along y by rising row, along x backwards, then forwards.
std::vector<float> stepped(const Grid& g, const TemblorStep& s, const std::vector<float>& p,
                           const std::vector<float>& prev, const std::vector<float>& v) {
  using namespace temblor;
  std::vector<float> next = g.field();
  g.each([&](int i, int j, int k) {
    const int64_t at = g.at(i, j, k);
    float lap = mul(s.centre, p[at]);
    for (int r = 1; r <= g.radius; ++r) lap = pair(s.second[2][r], p[at - r], p[at + r], lap);
    for (int d = -g.radius; d <= g.radius; ++d)
      if (d) lap = fma_rn(s.second[1][std::abs(d)], p[at + d * s.stride_y], lap);
    for (int r = 1; r <= g.radius; ++r) lap = fma_rn(s.second[0][r], p[at - r * s.stride_x], lap);
    for (int r = 1; r <= g.radius; ++r) lap = fma_rn(s.second[0][r], p[at + r * s.stride_x], lap);
    next[at] = leap(p[at], prev[at], v[at], lap);
  });
  return next;
}

CUtensorMap map_of(const Grid& g, std::vector<float>& field, int rows, int columns, bool result) {
  CUtensorMap map = {};
  map.base = field.data(), map.element = 4;
  map.nodes[0] = result ? g.radius + g.n[0] : g.planes();
  map.nodes[1] = result ? g.radius + g.n[1] : g.rows();
  map.nodes[2] = result ? 8 + g.n[2] : g.pitch();
  map.box[0] = rows, map.box[1] = columns;
  map.row = g.pitch(), map.plane = g.plane();
  return map;
}

void compare(const char* what, const Grid& g, const std::vector<float>& got,
             const std::vector<float>& want) {
  for (size_t at = 0; at < got.size(); ++at) {
    // Halos stay zero.
    if (memcmp(&got[at], &want[at], 4) == 0) continue;
    if (++failures < 20)
      printf("wrong: %s, radius %d, %d %d %d, element %zu: %g for %g\n", what, g.radius, g.n[0],
             g.n[1], g.n[2], at, got[at], want[at]);
    return;
  }
}

// The order of threads, whether copies are early, and which warp or lane is slow.
struct Pace { bool backwards, early; int warp, lane; };

template <int R, class Kernel>
void try_grid(Kernel kernel, Grid g, int planes, std::vector<Source> sources,
              const std::vector<Pace>& paces) {
  using T = temblor::FusedTile<R>;
  const TemblorStep s = step_of(g);
  std::vector<float> p = g.field(), prev = g.field(), v = g.field();
  g.each([&](int i, int j, int k) {
    const int64_t at = g.at(i, j, k);
    p[at] = uniform(-1, 1), prev[at] = uniform(-1, 1), v[at] = uniform(0.05f, 0.2f);
  });

  TemblorTiles tiles = {};
  tiles.tiles_z = (g.n[2] + T::OZ - 1) / T::OZ;
  tiles.full_tiles = tiles.tiles_z * ((g.n[1] + T::OY - 1) / T::OY);
  tiles.planes = planes;
  tiles.full_blocks = tiles.full_tiles * ((g.n[0] + planes - 1) / planes);

  // Every tile knows the sources of its nodes and of the rim.
  std::vector<int> first = {0}, plane, place, node, term_first = {0}, term_source;
  std::vector<float> weight, amplitude;
  for (size_t n = 0; n < sources.size(); ++n) {
    term_source.push_back(int(n)), term_first.push_back(int(n) + 1);
    weight.push_back(uniform(0.5f, 1.0f)), amplitude.push_back(uniform(1.0f, 2.0f));
  }
  std::vector<int> order(sources.size());
  for (size_t n = 0; n < order.size(); ++n) order[n] = int(n);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return sources[a].i < sources[b].i; });
  for (int tile = 0; tile < tiles.full_tiles; ++tile) {
    const int j0 = tile / tiles.tiles_z * T::OY - R, k0 = tile % tiles.tiles_z * T::OZ - T::H;
    for (int n : order) {
      const int y = sources[n].j - j0, z = sources[n].k - k0;
      if (y < 0 || y >= T::MY || z < 0 || z >= T::MZ) continue;
      plane.push_back(sources[n].i), place.push_back(y * T::MZ + z), node.push_back(n);
    }
    first.push_back(int(plane.size()));
  }

  std::vector<float> one = stepped(g, s, p, prev, v);
  for (size_t n = 0; n < sources.size(); ++n) {
    const int64_t at = g.at(sources[n].i, sources[n].j, sources[n].k);
    one[at] = temblor::fma_rn(v[at], temblor::fma_rn(weight[n], amplitude[n], 0.0f), one[at]);
  }
  const std::vector<float> two = stepped(g, s, one, p, v);

  for (const Pace& pace : paces) {
    std::vector<float> got_one = g.field(), got_two = g.field();
    TemblorFused f = {};
    for (int a = 0; a < 3; ++a) f.halo[a] = g.halo(a);
    f.sources = int(sources.size());
    f.entry_first = first.data(), f.entry_plane = plane.data(), f.entry_place = place.data();
    f.entry_node = node.data(), f.term_first = term_first.data();
    f.term_source = term_source.data(), f.term_weight = weight.data();
    f.amplitudes = amplitude.data();
    const CUtensorMap maps[5] = {map_of(g, p, T::PY, T::W, false),
                                 map_of(g, prev, T::MY, T::W, false),
                                 map_of(g, v, T::MY, T::W, false),
                                 map_of(g, got_one, T::WARP_ROWS, T::OZ, true),
                                 map_of(g, got_two, T::WARP_ROWS, T::OZ, true)};
    on_cpu::machine().backwards = pace.backwards, on_cpu::machine().early = pace.early;
    on_cpu::machine().slow = pace.warp, on_cpu::machine().slow_lane = pace.lane;
    on_cpu::machine().shared = sizeof(typename T::Shared);
    on_cpu::launch(unsigned(tiles.full_blocks), unsigned(T::THREADS),
                   [&] { kernel(s, tiles, f, maps[0], maps[1], maps[2], maps[3], maps[4]); });
    compare("p one step ahead", g, got_one, one);
    compare("p two steps ahead", g, got_two, two);
  }
}

template <int R, class Kernel>
void try_radius(Kernel kernel) {
  using T = temblor::FusedTile<R>;
  const int first = 0, second = T::FIRST_WARPS, feeding = T::FIRST_WARPS + T::SECOND_WARPS;
  const std::vector<Pace> orders = {{false, false, -1, -1}, {true, true, -1, -1}},
                          late = {{false, false, -1, -1},
                                  {true, false, -1, -1},
                                  {false, false, first, -1},
                                  {true, false, second, -1},
                                  {false, false, feeding, -1}},
                          early = {{false, true, first, -1},
                                   {false, true, second, -1},
                                   {false, false, -1, 27},
                                   {false, true, -1, 27}};
  // One tile and less; several, with an edge in the fourth row and node of each; chunks of planes, the last
  // one shorter.
  try_grid<R>(kernel, {{7, 9, 12}, R}, 400, {}, late);
  try_grid<R>(kernel, {{7, 9, 12}, R}, 400, {}, early);
  try_grid<R>(kernel, {{11, 30, 70}, R}, 400, {{0, 0, 0}, {5, 23, 63}, {5, 24, 64}, {10, 29, 69}},
              late);
  try_grid<R>(kernel, {{19, 25, 68}, R}, 8, {{7, 12, 66}, {8, 3, 2}, {18, 24, 1}}, late);
  // Rows that end one, two and three nodes past a group of four, before and after a tile's end, and with
  // the array, beyond which the second tile reads; the last row is the first and the second of a thread.
  // What is computed beyond the grid must be zero: the last nodes' second step shows it.
  for (int z : {61, 62, 65, 67, 88 - R})
    try_grid<R>(kernel, {{5, z % 2 ? 9 : 26, z}, R}, 400, {}, orders);
}

}  // namespace

int main() {
  try_radius<4>(acoustic_iso_fused2);
  try_radius<3>(acoustic_iso_fused2_r3);
  try_radius<2>(acoustic_iso_fused2_r2);
  if (failures == 0) printf("all as it should be\n");
  return failures != 0;
}
