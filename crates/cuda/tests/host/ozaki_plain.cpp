// The plain kernel by digits on the CPU against f64 and against the tuned ones. Arguments: how many
// operators, and those as read_operators takes them: order 8 in 1, 2 and 3 digits, then others;
// then rows of digits of the operator, of the wavefield, diagonals dropped, and the relative error
// of white data that theory predicts.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "acoustic_iso_ozaki_dp4a.cu"
#include "acoustic_iso_ozaki_mma.cu"
#include "acoustic_iso_ozaki_plain.cu"
#include "ozaki.hpp"

namespace {

struct Row {
  int a, w, trim;
  double predicted;
};
std::vector<Row> rows;

// What the plain kernel takes besides.
TemblorOzakiPlain plain_of(const Case& c, const Integers& op, int w, int trim, int adaptive = 0) {
  TemblorOzakiPlain d = {};
  d.digits = w;
  d.trim = trim;
  d.adaptive = adaptive;
  for (int r = 0; r <= op.radius; ++r) {
    int left = op.n[r];
    for (int a = 0; a < op.digits; ++a) {
      const int digit = a == op.digits - 1 ? left : int(int8_t(left & 255));
      d.taps[a][r] = digit;
      left = (left - digit) / 256;
    }
  }
  for (int a = 0; a < 3; ++a) d.unit[a] = float(op.unit / (c.h[a] * c.h[a]));
  return d;
}

void step(Case& c, const TemblorOzakiPlain& d) {
  const int blocks =
      (c.o.bricks[0] - 2) * ((c.o.bricks[1] - 2 + 1) / 2) * ((c.o.bricks[2] - 2 + 3) / 4);
  on_cpu::launch(blocks, 256, [&] {
    acoustic_iso_ozaki_plain(c.s, c.o, d, c.at(c.p), c.at(c.next), c.at(c.v), c.peaks.data(),
                             c.peaks_next.data());
  });
}

bool same_bits(Case& one, Case& other) {
  bool same = true;
  one.each([&](int i, int j, int k) {
    const size_t n = one.node(i, j, k);
    same = same && memcmp(&one.at(one.next)[n], &other.at(other.next)[n], 4) == 0;
  });
  return same;
}

// Whether the kernel left the largest values of the bricks of the box.
bool peaks_are_left(const Case& c) {
  Case other = c;
  other.p = c.next;
  other.find_peaks();
  bool same = true;
  for (int x = 1; x < c.o.bricks[0] - 1; ++x)
    for (int y = 1; y < c.o.bricks[1] - 1; ++y)
      for (int z = 1; z < c.o.bricks[2] - 1; ++z) {
        const size_t at = (size_t(x) * c.o.bricks[1] + y) * c.o.bricks[2] + z;
        same = same && other.peaks[at] == c.peaks_next[at];
      }
  return same;
}

double off(Case& c, const std::vector<double>& weights) {
  double most = 0.0;
  c.each([&](int i, int j, int k) {
    if (!c.inside(i, j, k)) return;
    const double found = std::fabs(c.at(c.next)[c.node(i, j, k)] - c.laplacian(i, j, k, weights));
    // NaN is no small error.
    most = found <= most ? most : found;
  });
  return most;
}

#define BOTH(NAME) {acoustic_iso_ozaki_mma_##NAME##_y16z32, acoustic_iso_ozaki_dp4a_##NAME##_y16z64}
const struct {
  int a, w, trim;
  OzakiKernel kernels[2];
} BUILT[] = {{1, 1, 0, BOTH(1x1)}, {1, 2, 0, BOTH(1x2)}, {2, 2, 0, BOTH(2x2)},
             {2, 3, 0, BOTH(2x3)}, {3, 3, 0, BOTH(3x3)}, {2, 3, 1, BOTH(2x3_t1)}};

// With nodes around the box and without, spacings equal along y and z or not, cells beside one
// another and thin bricks at the end.
void bits_are_those_of_the_tuned_kernels() {
  const double spacings[2][3] = {{2, 1, 1}, {1, 2, 1.5}};
  const int sizes[2][3] = {{7, 35, 71}, {66, 9, 20}};
  for (const auto& row : BUILT)
    for (const int which : {0, 1}) {
      const int out = 5 * which, *n = sizes[which];
      const int whole[3] = {n[0] + 2 * out, n[1] + 2 * out, n[2] + 2 * out};
      Case c(whole, out, spacings[which], operators[row.a - 1], row.trim);
      fill(c, 11);
      c.find_peaks();
      c.lay_bare();
      const Case before = c;
      const std::string what = std::to_string(row.a) + "x" + std::to_string(row.w) + " trim " +
                               std::to_string(row.trim);
      step(c, plain_of(c, operators[row.a - 1], row.w, row.trim));
      check(peaks_are_left(c), "largest values, " + what);
      Case other = before;
      const int engine = (row.a + row.w + which) % 2;
      other.step(row.kernels[engine], 16, engine == 0 ? 32 : 64, 64);
      check(same_bits(c, other), "bits beside a tuned kernel, " + what);
    }
}

// What is asked of digits (order 8): uniform data, and 8 points per wavelength.
struct Asked {
  int a, w;
  double uniform, wave;
};
const Asked TABLE[] = {{1, 1, 1e-2, 3e-1},
                       {1, 2, 4e-3, 1e-2},
                       {2, 2, 4e-5, 1.2e-3},
                       {2, 3, 5e-7, 5e-6},
                       {3, 3, 5e-7, 5e-6}};

void errors_are_those_predicted_and_asked_for() {
  const int shapes[2][3] = {{13, 17, 37}, {43, 1, 75}};
  const double h[3] = {1, 1, 1};
  for (const auto& n : shapes)
    for (const Row& row : rows) {
      const Integers& op = operators[row.a - 1];
      const std::string what = std::to_string(row.a) + "x" + std::to_string(row.w) + " trim " +
                               std::to_string(row.trim) + (n[1] > 1 ? " 3-D" : " 2-D");
      Case c(n, 0, h, op);
      fill(c, 3);
      c.find_peaks();
      c.lay_bare();
      step(c, plain_of(c, op, row.w, row.trim));
      const double error = c.error(ORDER8);
      // Predicted for the worst peak, half of what the exponent holds, as it is of uniform data
      // just below a power of two; centres of the axes add up and sides do not, a factor between
      // 1 / sqrt(3) and sqrt(3).
      printf("%s: %.2e, predicted %.2e\n", what.c_str(), error, row.predicted);
      check(error < 1.74 * row.predicted && error > 0.57 * row.predicted, what);
      for (const Asked& asked : TABLE) {
        if (asked.a != row.a || asked.w != row.w || row.trim > 0) continue;
        check(error < asked.uniform, what + " as asked");
        fill_wave(c);
        c.find_peaks();
        c.lay_bare();
        step(c, plain_of(c, op, row.w, 0));
        const double of_wave = c.error(ORDER8);
        printf("%s: %.2e of a wave\n", what.c_str(), of_wave);
        check(of_wave < asked.wave, what + " as asked of waves");
      }
    }
}

void every_operator_and_axis_is_its_own() {
  const int shapes[2][3] = {{19, 18, 37}, {37, 1, 41}};
  const double h[3] = {2, 1, 1.25};
  for (size_t m = 3; m < operators.size(); ++m)
    for (const auto& n : shapes)
      for (int axis = 0; axis < 4; ++axis) {
        if (axis == 1 && n[1] == 1) continue;
        const Integers& op = operators[m];
        Case c(n, axis == 3 ? 2 : 0, h, op);
        // Axis 3: all of them.
        if (axis == 3)
          fill(c, 5);
        else
          c.each([&](int i, int j, int k) {
            const int x[3] = {i, j, k};
            c.at(c.p)[c.node(i, j, k)] = float(std::sin(1.7 * x[axis] + axis));
          });
        c.find_peaks();
        c.lay_bare();
        step(c, plain_of(c, op, 3, 0));
        const double error = c.error(op.weights());
        check(error < 5e-7, "variation along axis " + std::to_string(axis) + ", operator " +
                                std::to_string(m) + (n[1] > 1 ? ", 3-D: " : ", 2-D: ") +
                                std::to_string(error));
        check(peaks_are_left(c), "largest values of operator " + std::to_string(m));
      }
}

// Beyond the end of an axis, as far as taps of order 16 reach and across thin bricks, values are
// loud; beside the first cell they are in the second one.
void what_lies_in_reach_decides() {
  const Integers& op = operators[10];
  check(op.radius == 8, "the operator of order 16");
  double sizes = std::fabs(op.n[0] * op.unit);
  for (int r = 1; r <= 8; ++r) sizes += 2 * std::fabs(op.n[r] * op.unit);
  const double h[3] = {1, 1, 1};
  const int extents[5][4] = {
      {0, 65, 5, 9}, {1, 5, 33, 9}, {2, 5, 6, 65}, {0, 70, 5, 9}, {2, 67, 1, 66}};
  for (const auto& row : extents) {
    const int axis = row[0], flat = row[2] == 1;
    const int whole[3] = {row[1] + 16, flat ? 1 : row[2] + 16, row[3] + 16};
    Case c(whole, 8, h, op);
    fill(c, 7);
    c.each([&](int i, int j, int k) {
      const int x[3] = {i, j, k};
      // The second cell has 6 planes in the fourth case.
      const int loud = row[1] == 70 ? c.begin[0] + 68 : c.end[axis];
      if (x[axis] < loud) c.at(c.p)[c.node(i, j, k)] *= 1e-6f;
    });
    c.find_peaks();
    c.lay_bare();
    step(c, plain_of(c, op, 3, 0));
    // Half a unit, 2^-23 of a peak of 1, on each of the taps, and what FP32 rounds.
    check(off(c, op.weights()) < (flat ? 2 : 3) * sizes * std::exp2(-23) + 5e-7,
          "a front " + std::to_string(axis) + ": " + std::to_string(off(c, op.weights())));
    // What is not finite spreads as NaN, and what is small becomes zero.
    c.at(c.p)[c.node(c.begin[0], flat ? 0 : c.begin[1], c.begin[2])] = NAN;
    c.find_peaks();
    step(c, plain_of(c, op, 3, 0, 12));
    check(std::isnan(c.at(c.next)[c.node(c.begin[0] + 4, flat ? 0 : c.begin[1], c.begin[2])]),
          "a NaN spreads");
    for (const float tiny : {1e-37f, 1e-39f, 0.0f}) {
      c.each([&](int i, int j, int k) {
        c.at(c.p)[c.node(i, j, k)] = tiny * float(k % 3 - 1);
        c.at(c.next)[c.node(i, j, k)] = 0.0f;
      });
      c.find_peaks();
      step(c, plain_of(c, op, 3, 0, 12));
      bool fine = true;
      c.each([&](int i, int j, int k) {
        if (c.inside(i, j, k)) fine = fine && std::fabs(c.at(c.next)[c.node(i, j, k)]) <= 1e-35f;
      });
      check(fine, "a field of " + std::to_string(tiny));
    }
  }
}

// Uniform data have a root mean square of 0.577 of their peak, and w digits an error of 2^(1 - 8w) /
// sqrt(12) of 2^E, which is 2 here: 4.5e-3, 1.8e-5, 6.9e-8. So one digit is 7 bits below, two 14.
void cells_take_the_fewest_digits_that_reach_their_bits() {
  const double h[3] = {1, 1, 1};
  const int shapes[2][3] = {{11, 9, 100}, {70, 1, 20}};
  const Integers& op = operators[1];
  for (const auto& n : shapes) {
    Case c(n, 0, h, op);
    fill(c, 9);
    // The peak of every cell, so that E is one and not zero; balanced digits do not hold it.
    for (int i = 0; i < n[0]; i += 32)
      for (int k = 0; k < n[2]; k += 32) c.at(c.p)[c.node(i, 0, k)] = 0.9999f;
    c.find_peaks();
    c.lay_bare();
    for (const int trim : {0, 1, 3})
      for (const auto& [bits, taken] : {std::pair{6, 1}, {8, 2}, {13, 2}, {16, 3}, {22, 3}}) {
        Case got = c, want = c;
        step(got, plain_of(c, op, 3, trim, bits));
        // Fewer digits lack the least diagonals.
        step(want, plain_of(c, op, taken, std::max(trim - (3 - taken), 0)));
        check(same_bits(got, want), "digits that " + std::to_string(bits) + " bits take");
        const double error = got.error(op.weights());
        if (trim == 0) check(error < std::exp2(-bits), "an error of " + std::to_string(error));
      }
  }
  // A cell that is quiet but for one value, beside one that is loud everywhere: one value of 5760
  // makes a root mean square of 1.3e-2, 6 bits below which are 2e-4.
  const int n[3] = {9, 10, 128};
  Case c(n, 0, h, op);
  fill(c, 4);
  c.each([&](int i, int j, int k) {
    if (k >= 64) c.at(c.p)[c.node(i, j, k)] *= 1e-5f;
  });
  c.at(c.p)[c.node(4, 5, 100)] = 0.9999f;
  c.at(c.p)[c.node(4, 5, 20)] = 0.9999f;
  c.find_peaks();
  c.lay_bare();
  Case got = c, two = c, one = c;
  step(got, plain_of(c, op, 3, 0, 6));
  step(two, plain_of(c, op, 2, 0));
  step(one, plain_of(c, op, 1, 0));
  bool quiet = true, loud = true;
  c.each([&](int i, int j, int k) {
    const size_t at = c.node(i, j, k);
    const float *found = got.at(got.next), *of_two = two.at(two.next), *of_one = one.at(one.next);
    if (k < 64)
      loud = loud && memcmp(&found[at], &of_one[at], 4) == 0;
    else
      quiet = quiet && memcmp(&found[at], &of_two[at], 4) == 0;
  });
  check(loud, "a loud cell takes one digit");
  check(quiet, "a cell of a spike takes two digits");
}

}  // namespace

int main(int count, char** words) {
  flush_denormals();
  const int all = count > 1 ? atoi(words[1]) : 0;
  operators = read_operators(words + 2, all);
  for (int n = 2 + 12 * all; n + 4 <= count; n += 4)
    rows.push_back({atoi(words[n]), atoi(words[n + 1]), atoi(words[n + 2]), atof(words[n + 3])});
  errors_are_those_predicted_and_asked_for();
  on_cpu::machine().backwards = true;
  bits_are_those_of_the_tuned_kernels();
  every_operator_and_axis_is_its_own();
  what_lies_in_reach_decides();
  cells_take_the_fewest_digits_that_reach_their_bits();
  if (failures == 0) puts("all as it should be");
  return failures != 0;
}
