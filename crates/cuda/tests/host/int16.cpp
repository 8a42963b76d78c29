// Wavefields of 16 bits: what is stored against the definition, and one step of the tuned and of the
// general kernel against double precision. Prints what is wrong.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_int16_sm90.cu"
#undef TEMBLOR_INT16
#undef TEMBLOR_INT16_WIDTH
#include "acoustic_iso_stored.cu"
#undef TEMBLOR_STORED
#include "stored_points.cu"

#include <cmath>
#include <random>
#include <vector>

namespace {

int failures = 0;
void check(bool good, const char* what, double figure = 0.0) {
  if (good) return;
  if (++failures < 20) printf("wrong: %s (%g)\n", what, figure);
}

std::mt19937 generator(7);
double uniform(double low, double high) {
  return low + (high - low) * (generator() >> 8) / 16777216.0;
}

// Nodes, radius, and a layout with room behind the last plane.
struct Grid {
  int n[3], radius;
  int pitch() const { return 32 + (n[2] + 31) / 32 * 32; }
  int rows() const { return n[1] + 2 * radius; }
  size_t plane() const { return size_t(pitch()) * rows(); }
  size_t origin() const { return radius * plane() + size_t(radius) * pitch() + 32; }
  size_t elements() const { return plane() * (n[0] + 2 * radius) + 64 * pitch() + 512; }
  size_t at(int i, int j, int k) const { return i * plane() + size_t(j) * pitch() + k; }
};

struct Wave {
  std::vector<uint16_t> codes;
  std::vector<int8_t> exponents;
  size_t origin;
  explicit Wave(const Grid& g)
      : codes(g.elements(), 0x8000), exponents(g.elements() / 32, -120), origin(g.origin()) {}
  uint16_t* node() { return codes.data() + origin; }
  int8_t* exponent() { return exponents.data() + origin / 32; }
  double value(size_t at) {
    const int e = exponent()[at / 32];
    return e == 127 ? NAN : std::ldexp(double(node()[at]) - 32768.0, e - 15);
  }
};

// Exponent by its definition: the least with every code at most 32767 after rounding.
int exponent_of(double most) {
  if (!(most < INFINITY)) return 127;
  int e = -120;
  while (e < 127 && std::nearbyint(std::ldexp(most, 15 - e)) > 32767.0) ++e;
  return e;
}

TemblorStep step_of(const Grid& g) {
  TemblorStep s = {};
  const double weights[5][5] = {{0},
                                {-2, 1},
                                {-5.0 / 2, 4.0 / 3, -1.0 / 12},
                                {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90},
                                {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}};
  for (int a = 0; a < 3; ++a) {
    s.nodes[a] = s.end[a] = g.n[a];
    const double h = 10.0 + a;
    for (int r = 0; r <= g.radius; ++r) s.second[a][r] = float(weights[g.radius][r] / (h * h));
    s.centre += s.second[a][0];
  }
  s.stride_x = int64_t(g.plane());
  s.stride_y = g.pitch();
  return s;
}

TemblorStored stored_of(const Grid& g, Wave& p, Wave& before, Wave& next) {
  TemblorStored m = {};
  m.p = p.node(), m.p_exponents = p.exponent();
  m.before = before.node(), m.before_exponents = before.exponent();
  m.next = next.node(), m.next_exponents = next.exponent();
  m.radius = g.radius;
  m.seed = int32_t(generator());
  for (auto& axis : m.image) for (auto& image : axis) image = -1;
  return m;
}

// Values through the kernel that takes uploads, checked against the definition.
void upload(const Grid& g, const TemblorStep& s, TemblorStored m, Wave& to, int previous,
            const std::vector<float>& values) {
  TemblorRegion region = {};
  for (int a = 0; a < 3; ++a) {
    region.shape[a] = g.n[a], region.stride[a] = 1;
    region.zero[a][0] = region.zero[a][1] = -1;
  }
  region.rows = int64_t(g.n[0]) * g.n[1];
  region.stride_x = s.stride_x, region.stride_y = s.stride_y;
  m.increment = 0;
  on_cpu::launch(3, 256, [&] {
    stored_unpack_int16(region, m, to.node(), to.exponent(), previous, values.data());
  });
  std::vector<float> back(values.size());
  on_cpu::launch(3, 256, [&] { stored_pack_int16(region, m, previous, back.data()); });
  for (int i = 0; i < g.n[0]; ++i)
    for (int j = 0; j < g.n[1]; ++j)
      for (int k0 = 0; k0 < g.n[2]; k0 += 32) {
        double most = 0.0;
        const size_t row = (size_t(i) * g.n[1] + j) * g.n[2];
        for (int k = k0; k < std::min(k0 + 32, g.n[2]); ++k)
          most = std::max(most, std::fabs(double(values[row + k])));
        const int e = exponent_of(most);
        check(to.exponent()[g.at(i, j, k0) / 32] == e, "an exponent", e);
        for (int k = k0; k < std::min(k0 + 32, g.n[2]); ++k) {
          const double code = std::nearbyint(std::ldexp(values[row + k], 15 - e));
          check(to.node()[g.at(i, j, k)] == code + 32768.0, "a code", code);
          check(back[row + k] == float(std::ldexp(code, e - 15)), "a value read back", code);
        }
      }
}

// Random values whose size changes from tile to tile; some tiles are silent.
std::vector<float> random_field(const Grid& g) {
  std::vector<float> values;
  for (int row = 0; row < g.n[0] * g.n[1]; ++row) {
    double size = 1.0;
    for (int k = 0; k < g.n[2]; ++k) {
      if (k % 32 == 0) size = generator() % 5 == 0 ? 0.0 : std::exp2(uniform(-12.0, 3.0));
      values.push_back(float(size * uniform(-1.0, 1.0)));
    }
  }
  return values;
}

template <class Kernel>
void one_step(Grid g, const char* what, bool coded, bool increment, int tz, int most_planes,
              Kernel kernel) {
  TemblorStep s = step_of(g);
  Wave p(g), before(g), next(g);
  TemblorStored m = stored_of(g, p, before, increment ? next : before);
  const auto start = random_field(g), earlier = random_field(g);
  upload(g, s, m, p, 0, start);
  upload(g, s, m, before, 1, earlier);
  m.increment = increment;
  std::vector<uint16_t> codes(g.elements(), 0);
  std::vector<float> floats(g.elements(), NAN);
  std::vector<double> squared(g.elements(), 0.0);
  // The least is 32768 codes.
  const double slope = 3.0 / 65536.0, least = 32768.0 * slope, largest = least + 65535.0 * slope;
  for (int i = 0; i < g.n[0]; ++i)
    for (int j = 0; j < g.n[1]; ++j)
      for (int k = 0; k < g.n[2]; ++k) {
        const size_t at = g.origin() + g.at(i, j, k);
        codes[at] = uint16_t(generator());
        floats[at] = float(uniform(least * least, largest * largest));
        squared[at] = coded ? std::pow(least + codes[at] * slope, 2) : double(floats[at]);
      }
  if (coded) {
    m.speed = codes.data() + g.origin(), m.least = float(least), m.slope = float(slope);
    m.code_offset = float(8388608.0 - least / slope);
    // Tuned kernels have c over the unit of a code.
    if (tz > 0) {
      for (auto& axis : s.second) for (float& w : axis) w = float(w * slope * slope);
      s.centre = float(s.centre * slope * slope);
    }
  } else {
    m.speed = floats.data() + g.origin();
  }
  Wave old_before = before;
  kernel(g, s, m, tz, most_planes);
  Wave& result = increment ? next : before;
  const double per = coded && tz > 0 ? 1.0 / (slope * slope) : 1.0;
  double worst = 0.0, sum = 0.0;
  int64_t count = 0;
  for (int i = 0; i < g.n[0]; ++i)
    for (int j = 0; j < g.n[1]; ++j)
      for (int k = 0; k < g.n[2]; ++k) {
        const size_t at = g.at(i, j, k);
        double lap = 0.0, size = 0.0;
        for (int a = 0; a < 3; ++a)
          for (int r = -g.radius; r <= g.radius; ++r) {
            const int node[3] = {i + (a == 0) * r, j + (a == 1) * r, k + (a == 2) * r};
            if (node[a] < 0 || node[a] >= g.n[a]) continue;
            const double term = double(s.second[a][std::abs(r)]) * per *
                                p.value(g.at(node[0], node[1], node[2]));
            lap += term, size += std::fabs(term);
          }
        const double v = squared[g.origin() + at];
        // Sums of 27 terms, each rounded, and a speed from a rounded map.
        const double rounding = (40.0 * v * size + 6.0 * std::fabs(p.value(at)) +
                                 4.0 * std::fabs(old_before.value(at))) * std::exp2(-24.0);
        // Noise moves a value by up to a code, of which 128ths are kept.
        const double half = std::exp2(-16.0), moved = (2.0 + 1.0 / 128.0) * half;
        double expected, bound = rounding, most = half;
        if (increment) {
          const double d = old_before.value(at) + v * lap;
          const double unit = std::exp2(double(before.exponent()[at / 32]));
          check(std::fabs(before.value(at) - d) <= rounding + moved * unit, "an increment", d);
          if (unit > 0.0) sum += (before.value(at) - d) / unit / half, ++count;
          // p+ is p and the increment as stored.
          expected = p.value(at) + before.value(at);
          bound = std::fabs(expected) * std::exp2(-24.0);
        } else {
          expected = 2.0 * p.value(at) - old_before.value(at) + v * lap;
          most = moved;
        }
        const int e = result.exponent()[at / 32];
        const double error = std::fabs(result.value(at) - expected);
        check(error <= bound + most * std::exp2(double(e)), "a value after a step", error);
        if (!increment && e > -120)
          sum += (result.value(at) - expected) / std::exp2(double(e)) / half, ++count;
        worst = std::max(worst, error / std::exp2(double(e)) / half);
      }
  // Errors are triangular over two codes: a mean beyond five of its deviations. (Those of neighbours
  // are not independent: what noise there is on the mean is less.)
  const double mean = sum / double(count), deviation = std::sqrt(2.0 / 3.0);
  check(std::fabs(mean) <= 5.0 * deviation / std::sqrt(double(count)), "a bias", mean);
  // No tile keeps more room than its largest value needs.
  for (int i = 0; i < g.n[0]; ++i)
    for (int j = 0; j < g.n[1]; ++j)
      for (int k0 = 0; k0 < g.n[2]; k0 += 32) {
        double most = 0.0;
        for (int k = k0; k < k0 + 32; ++k) most = std::max(most, std::fabs(result.value(g.at(i, j, k))));
        const int e = result.exponent()[g.at(i, j, k0) / 32];
        check(most == 0.0 ? e == -120 : most >= std::exp2(e - 1.0) * (1.0 - std::exp2(-14.0)),
              "an exponent after a step", e);
        // What lies past the last node stays zero.
        for (int k = g.n[2]; k < k0 + 32; ++k) check(result.value(g.at(i, j, k)) == 0.0, "padding");
      }
  printf("%s: %.3f of half a unit\n", what, worst);
}

// What the tuned kernels copy from: node 0 is element (radius, radius, 32) of an array.
CUtensorMap map_of(const Grid& g, const void* node, int bytes, int rows, int columns) {
  CUtensorMap m = {};
  const size_t before = size_t(g.radius) * (g.plane() + g.pitch()) + 32;
  m.base = static_cast<const char*>(node) - before * bytes, m.element = bytes;
  m.nodes[0] = g.n[0] + 2 * g.radius, m.nodes[1] = g.rows(), m.nodes[2] = g.pitch();
  m.box[0] = rows, m.box[1] = columns, m.row = g.pitch(), m.plane = int64_t(g.plane());
  return m;
}

// The tuned kernels, all tiles marching alike.
template <class T, auto Kernel>
void tuned(const Grid& g, const TemblorStep& s, const TemblorStored& m, int, int planes) {
  TemblorTiles t = {};
  t.tiles_z = (s.end[2] - s.begin[2] + T::TZ - 1) / T::TZ;
  t.full_tiles = t.tiles_z * ((s.end[1] - s.begin[1] + T::TY - 1) / T::TY);
  t.planes = planes;
  t.full_blocks = t.full_tiles * ((s.end[0] - s.begin[0] + planes - 1) / planes);
  const CUtensorMap p = map_of(g, m.p, 2, T::PY, T::CODES_Z);
  const CUtensorMap before = map_of(g, m.before, 2, T::TY, T::TZ);
  const CUtensorMap speed = map_of(g, m.speed, T::SPEED_BYTES, T::TY, T::TZ);
  on_cpu::launch(unsigned(t.full_blocks), T::THREADS, [&] {
    Kernel(s, t, m, p, before, speed, g.radius, g.radius, 32);
  });
}

void general(const Grid&, const TemblorStep& s, const TemblorStored& m, int, int) {
  TemblorBoxes boxes = {};
  // Two boxes, the second from a storage tile on.
  boxes.count = 2;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 2; ++b) boxes.end[b][a] = s.nodes[a];
  boxes.end[0][2] = boxes.begin[1][2] = 32;
  int blocks = 0;
  for (int b = 0; b < 2; ++b) {
    boxes.first_block[b] = blocks;
    const int tiles = (boxes.end[b][2] - boxes.begin[b][2] + 31) / 32;
    blocks += ((s.nodes[0] + MARCH - 1) / MARCH * s.nodes[1] * tiles + 7) / 8;
  }
  boxes.first_block[2] = blocks;
  on_cpu::launch(unsigned(blocks), 256, [&] { acoustic_iso_stored_plain_int16(s, boxes, m); });
}

}  // namespace

int main() {
  flush_denormals();
  for (int turn = 0; turn < 2; ++turn) {
    on_cpu::machine().backwards = turn == 1;
    one_step({{7, 9, 65}, 4}, "general", true, false, 0, 0, general);
    one_step({{5, 11, 70}, 2}, "general, increment", false, true, 0, 0, general);
    // More than a tile along y and z, marches of two lengths.
    one_step({{11, 27, 192}, 4}, "tuned", true, false, 160, 6,
             tuned<Tile<4, 160, 12, true>, acoustic_iso_int16_u16_z160>);
    one_step({{6, 33, 160}, 4}, "tuned, increment", true, true, 128, 9,
             tuned<Tile<4, 128, 15, true>, acoustic_iso_int16_increment_u16_z128>);
    one_step({{5, 25, 96}, 3}, "tuned, floats", false, false, 160, 9,
             tuned<Tile<3, 160, 12, false>, acoustic_iso_int16_z160_r3>);
    one_step({{5, 9, 64}, 2}, "tuned, increment, floats", false, true, 128, 3,
             tuned<Tile<2, 128, 15, false>, acoustic_iso_int16_increment_z128_r2>);
    one_step({{3, 45, 128}, 4}, "tuned, narrow", true, false, 96, 9,
             tuned<Tile<4, 96, 20, true>, acoustic_iso_int16_u16_z96>);
  }
  if (failures == 0) printf("all as it should be\n");
  return failures != 0;
}
