// Kernels by digits on the CPU against f64. Arguments: how many operators, and those as
// read_operators takes them: order 8 in 1, 2 and 3 digits, then other radii.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_ozaki_dp4a.cu"
#include "acoustic_iso_ozaki_mma.cu"
#include "acoustic_iso_ozaki_tiles_sm90.cu"
#include "ozaki.hpp"

namespace {

// Bounds by what is asked of digits (order 8): uniform data, and 8 points per wavelength.
struct Row {
  int a, w, trim;
  double uniform, wave;
  OzakiKernel mma, dp4a;
};
#define ROW(NAME) acoustic_iso_ozaki_mma_##NAME##_y16z32, acoustic_iso_ozaki_dp4a_##NAME##_y16z64
const Row TABLE[] = {
    {1, 1, 0, 1e-2, 3e-1, ROW(1x1)},   {1, 2, 0, 4e-3, 1e-2, ROW(1x2)},
    {2, 2, 0, 4e-5, 1.2e-3, ROW(2x2)}, {2, 3, 0, 5e-7, 5e-6, ROW(2x3)},
    {3, 3, 0, 5e-7, 5e-6, ROW(3x3)},   {2, 3, 1, 5e-7, 5e-6, ROW(2x3_t1)},
};

void errors_are_those_asked_for() {
  const int n[3] = {22, 27, 75};
  const double h[3] = {1, 1, 1};
  for (const Row& row : TABLE)
    for (const bool wave : {false, true})
      for (const bool tensor : {true, false}) {
        Case c(n, 0, h, operators[row.a - 1], row.trim);
        if (wave)
          fill_wave(c);
        else
          fill(c, 3);
        c.find_peaks();
        c.lay_bare();
        c.step(tensor ? row.mma : row.dp4a, 16, tensor ? 32 : 64, 64);
        const double error = c.error(ORDER8), bound = wave ? row.wave : row.uniform;
        const std::string what = std::string(tensor ? "mma" : "dp4a") + " " +
                                 std::to_string(row.a) + "x" + std::to_string(row.w) + " trim " +
                                 std::to_string(row.trim) + (wave ? " wave " : " uniform ");
        printf("%s%.2e of %.1e\n", what.c_str(), error, bound);
        // And not without any error: then it would not be digits that were looked at.
        check(error < bound && error > 1e-9, what);
      }
}

struct Tile {
  OzakiKernel kernel;
  int ty, tz;
};
#define TILE(ENGINE, TY, TZ) {acoustic_iso_ozaki_##ENGINE##_2x3_y##TY##z##TZ, TY, TZ}
const Tile TILES[] = {TILE(dp4a, 16, 64), TILE(mma, 16, 32),  TILE(dp4a, 8, 64),
                      TILE(dp4a, 16, 32), TILE(dp4a, 32, 32), TILE(dp4a, 32, 64)};
// One of each engine.
const Tile ENGINES[] = {TILES[0], TILES[1]};

// On boxes of odd sizes with and without nodes around, of one and of several cells; spacings equal
// along y and z, or not.
void tiles_and_engines_give_the_same_bits() {
  const double spacings[2][3] = {{2, 1, 1}, {1, 2, 1.5}};
  const int sizes[3][3] = {{7, 9, 5}, {18, 35, 71}, {70, 9, 20}};
  for (const auto& n : sizes)
    for (const int out : {0, 5}) {
      const auto& h = spacings[out / 5];
        const int whole[3] = {n[0] + 2 * out, n[1] + 2 * out, n[2] + 2 * out};
        Case first(whole, out, h, operators[1]);
        fill(first, 11);
        first.find_peaks();
        first.lay_bare();
        Case c = first;
        first.step(TILES[0].kernel, 16, 64, 64);
        const double error = first.error(operators[1].weights());
        check(error < 3e-7, "a box of " + std::to_string(n[0]) + " planes");
        // What kernels and acoustic_iso_peaks find is the same.
        Case other = first;
        other.p = first.next;
        std::fill(other.peaks.begin(), other.peaks.end(), 0u);
        other.find_peaks();
        for (int x = 1; x < c.o.bricks[0] - 1; ++x)
          for (int y = 1; y < c.o.bricks[1] - 1; ++y)
            for (int z = 1; z < c.o.bricks[2] - 1; ++z) {
              const size_t at = (size_t(x) * c.o.bricks[1] + y) * c.o.bricks[2] + z;
              check(other.peaks[at] == first.peaks_next[at], "the largest value of a brick");
            }
        const Case before = c;
        for (const Tile& tile : TILES)
          for (const int planes : {16, 32, 64}) {
            if (planes > 16 && (n[0] < 64 || &tile - TILES > 1)) continue;
            c.next = before.next;
            c.step(tile.kernel, tile.ty, tile.tz, planes);
            bool same = true;
            const float *got = c.at(c.next), *want = first.at(first.next);
            c.each([&](int i, int j, int k) {
              same = same && memcmp(&got[c.node(i, j, k)], &want[c.node(i, j, k)], 4) == 0;
            });
            check(same, "bits of a tile of " + std::to_string(tile.ty) + " x " +
                            std::to_string(tile.tz) + ", " + std::to_string(planes) + " planes");
          }
      }
}

void every_axis_and_radius_is_its_own() {
  const int n[3] = {18, 17, 37};
  const double h[3] = {2, 1, 1.25};
  for (size_t m = 1; m < operators.size(); ++m)
    for (int axis = 0; axis < 3; ++axis)
      for (const Tile& tile : ENGINES) {
        if (operators[m].digits != 2) continue;
        Case c(n, 4, h, operators[m]);
        c.each([&](int i, int j, int k) {
          const int x[3] = {i, j, k};
          c.at(c.p)[c.node(i, j, k)] = float(std::sin(1.7 * x[axis] + axis));
        });
        c.find_peaks();
        c.lay_bare();
        c.step(tile.kernel, tile.ty, tile.tz, 64);
        check(c.error(operators[m].weights()) < 5e-7,
              "variation along axis " + std::to_string(axis) + ", radius " +
                  std::to_string(operators[m].radius));
      }
}

// A box with nodes around it, one value of which is set.
void what_lies_in_reach_decides() {
  const int n[3] = {20, 24, 40};
  const double h[3] = {1, 1, 1};
  for (const Tile& tile : ENGINES) {
    // Nodes beside the box along each axis, and one in it.
    const int places[4][3] = {{3, 10, 20}, {10, 20, 20}, {9, 9, 36}, {11, 12, 13}};
    for (const auto& x : places)
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        Case c(n, 4, h, operators[1]);
        c.at(c.p)[c.node(x[0], x[1], x[2])] = bad;
        c.find_peaks();
        c.step(tile.kernel, tile.ty, tile.tz, 64);
        bool found = true;
        c.each([&](int i, int j, int k) {
          const int off[3] = {std::abs(i - x[0]), std::abs(j - x[1]), std::abs(k - x[2])};
          const bool near = (off[0] == 0) + (off[1] == 0) + (off[2] == 0) >= 2 &&
                            off[0] + off[1] + off[2] <= 4;
          if (c.inside(i, j, k) && near)
            found = found && std::isnan(c.at(c.next)[c.node(i, j, k)]);
        });
        check(found, "a value that is not finite spreads as NaN");
      }
    // A front of any height beside silence: nothing wraps, and nothing is lost.
    for (const float height : {1.0f, 1024.0f, 1e30f, 3e38f, 1e-30f}) {
      Case c(n, 4, h, operators[1]);
      fill(c, 5);
      c.each([&](int i, int j, int k) {
        float& value = c.at(c.p)[c.node(i, j, k)];
        value = c.inside(i, j, k) ? 0.0f : value * height;
      });
      c.find_peaks();
      c.lay_bare();
      // So that the largest Laplacian is finite too.
      c.each([&](int i, int j, int k) { c.at(c.next)[c.node(i, j, k)] = 0.0f; });
      c.step(tile.kernel, tile.ty, tile.tz, 64);
      if (height < 1e38f)
        check(c.error(operators[1].weights()) < 5e-7, "a front of " + std::to_string(height));
    }
    // Too small for a float's exponent to scale: zero, never NaN.
    for (const float tiny : {1e-37f, 1e-39f, 0.0f}) {
      Case c(n, 4, h, operators[1]);
      c.each([&](int i, int j, int k) { c.at(c.p)[c.node(i, j, k)] = tiny * float(j % 3 - 1); });
      c.find_peaks();
      c.step(tile.kernel, tile.ty, tile.tz, 64);
      bool fine = true;
      c.each([&](int i, int j, int k) {
        if (c.inside(i, j, k)) fine = fine && std::fabs(c.at(c.next)[c.node(i, j, k)]) <= 1e-35f;
      });
      check(fine, "a field of " + std::to_string(tiny));
    }
  }
}

// A last brick that is thinner than the radius hides nothing: taps of the cell before it reach
// across it, to what others write beyond the box.
void what_lies_beyond_a_thin_brick_decides() {
  const int extents[3][3] = {{65, 8, 16}, {4, 33, 16}, {4, 8, 65}};
  const double h[3] = {1, 1, 1};
  for (const Tile& tile : ENGINES)
    for (int axis = 0; axis < 3; ++axis) {
      const int* n = extents[axis];
      const int whole[3] = {n[0] + 8, n[1] + 8, n[2] + 8};
      Case c(whole, 4, h, operators[1]);
      fill(c, 7);
      c.each([&](int i, int j, int k) {
        const int x[3] = {i, j, k};
        if (x[axis] < c.end[axis]) c.at(c.p)[c.node(i, j, k)] *= 1e-6f;
      });
      c.find_peaks();
      c.lay_bare();
      c.step(tile.kernel, tile.ty, tile.tz, 64);
      // Half a unit, 2^-23 of a peak of 1, on each of the taps, whose sizes add up to 6.51 an
      // axis, and what FP32 rounds.
      double off = 0.0;
      c.each([&](int i, int j, int k) {
        if (!c.inside(i, j, k)) return;
        const double want = c.laplacian(i, j, k, operators[1].weights());
        off = std::max(off, std::fabs(c.at(c.next)[c.node(i, j, k)] - want));
      });
      check(off < 3 * 6.51 * std::exp2(-23) + 5e-7,
            "a front beyond a thin brick along axis " + std::to_string(axis) + ": " +
                std::to_string(off));
    }
}

// Steps with the largest values that kernels leave, into silence and with a source that grows 2^10
// a step for a while, against f64; the same bits as with all largest values found anew each step.
void largest_values_are_carried() {
  const int n[3] = {19, 21, 37}, at[3] = {9, 8, 15};
  const double h[3] = {1, 1, 1};
  const std::vector<double> weights = operators[1].weights();
  for (const Tile& tile : ENGINES) {
    Case c(n, 0, h, operators[1]);
    Case fresh = c;
    std::vector<double> p(size_t(n[0]) * n[1] * n[2], 0.0), previous = p;
    auto place = [&](int i, int j, int k) { return (size_t(i) * n[1] + j) * n[2] + k; };
    // dt^2 c^2 below the limit of 0.2.
    const float speed = 0.15f;
    for (Case* one : {&c, &fresh})
      one->each([&](int i, int j, int k) { one->at(one->v)[one->node(i, j, k)] = speed; });
    const size_t source = c.node(at[0], at[1], at[2]);
    const int brick = ((at[0] / 4 + 1) * c.o.bricks[1] + at[1] / 8 + 1) * c.o.bricks[2] +
                      at[2] / 16 + 1;
    double largest = 0.0;
    for (int t = 0; t < 10; ++t) {
      const float amplitude = t < 6 ? float(std::ldexp(1e-6, 10 * t)) : 0.0f;
      fresh.find_peaks();
      for (Case* one : {&c, &fresh}) {
        one->step(tile.kernel, tile.ty, tile.tz, 64);
        std::swap(one->p, one->next);
        std::swap(one->peaks, one->peaks_next);
        one->at(one->p)[source] += amplitude;
      }
      on_cpu::launch(1, 256, [&] {
        acoustic_iso_peaks(c.s, c.o, &brick, 1, c.at(c.p), c.peaks.data());
      });
      std::vector<double> next = p;
      largest = 0.0;
      c.each([&](int i, int j, int k) {
        double lap = 3 * weights[0] * p[place(i, j, k)];
        for (int r = 1; r <= 4; ++r) {
          auto value = [&](int x, int y, int z) {
            const bool in = x >= 0 && y >= 0 && z >= 0 && x < n[0] && y < n[1] && z < n[2];
            return in ? p[place(x, y, z)] : 0.0;
          };
          lap += weights[size_t(r)] *
                 (value(i - r, j, k) + value(i + r, j, k) + value(i, j - r, k) +
                  value(i, j + r, k) + value(i, j, k - r) + value(i, j, k + r));
        }
        double& to = next[place(i, j, k)];
        to = 2 * p[place(i, j, k)] - previous[place(i, j, k)] + double(speed) * lap;
        if (i == at[0] && j == at[1] && k == at[2]) to += amplitude;
        largest = std::max(largest, std::fabs(to));
      });
      previous = p;
      p = next;
    }
    double off = 0.0;
    bool same = true;
    c.each([&](int i, int j, int k) {
      const size_t node = c.node(i, j, k);
      off = std::max(off, std::fabs(c.at(c.p)[node] - p[place(i, j, k)]));
      same = same && memcmp(&c.at(c.p)[node], &fresh.at(fresh.p)[node], 4) == 0;
    });
    // As agreement.rs bounds what FP32 loses: 1e-6 of the largest value per step.
    check(off < 10 * 1e-6 * largest, "a source that grows: " + std::to_string(off / largest));
    check(same, "carried and fresh largest values give the same bits");
  }
}

}  // namespace

int main(int count, char** words) {
  flush_denormals();
  operators = read_operators(words + 2, count > 1 ? atoi(words[1]) : 0);
  errors_are_those_asked_for();
  on_cpu::machine().backwards = true;
  tiles_and_engines_give_the_same_bits();
  every_axis_and_radius_is_its_own();
  what_lies_in_reach_decides();
  what_lies_beyond_a_thin_brick_decides();
  largest_values_are_carried();
  if (failures == 0) puts("all as it should be");
  return failures != 0;
}
