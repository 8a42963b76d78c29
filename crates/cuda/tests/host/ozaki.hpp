// Boxes, operators and fields for the kernels by digits, and the Laplacian in f64.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include "acoustic_iso_ozaki_peaks.cu"

#include <random>
#include <string>

namespace {

int failures = 0;
void check(bool good, const std::string& what) {
  if (good) return;
  printf("wrong: %s\n", what.c_str());
  ++failures;
}

// Weights n[0..radius] times one unit, in digits.
struct Integers {
  int digits, radius;
  int n[9];
  double unit;

  std::vector<double> weights() const {
    std::vector<double> w;
    for (int r = 0; r <= radius; ++r) w.push_back(n[r] * unit);
    return w;
  }
};

// Operators from a program's arguments, twelve words each: digits, radius, unit, nine integers.
std::vector<Integers> read_operators(char** words, int count) {
  std::vector<Integers> all;
  for (int m = 0; m < count; ++m, words += 12) {
    Integers op = {};
    op.digits = atoi(words[0]);
    op.radius = atoi(words[1]);
    op.unit = atof(words[2]);
    for (int r = 0; r < 9; ++r) op.n[r] = atoi(words[3 + r]);
    all.push_back(op);
  }
  return all;
}

// A program's operators.
std::vector<Integers> operators;

// A tuned kernel by digits of bytes.
using OzakiKernel = void (*)(const TemblorStep, const TemblorOzaki, const float*, float*,
                             const float*, const uint32_t*, uint32_t*);

// A cache line: fields begin on one, as allocations do.
struct alignas(128) Line {
  float values[32];
};

// A box of a grid with fields around it.
struct Case {
  int begin[3], end[3], nodes[3];
  double h[3];
  TemblorStep s = {};
  TemblorOzaki o = {};
  size_t origin = 0;
  std::vector<Line> p, next, v;
  std::vector<uint32_t> peaks, peaks_next;

  // Nodes of the grid, one along y in 2-D, and how many of them beside either end of an axis the
  // box leaves out.
  Case(const int (&n)[3], int out, const double (&spacing)[3], const Integers& op, int trim = 0) {
    for (int a = 0; a < 3; ++a) {
      nodes[a] = s.nodes[a] = n[a];
      const int rim = n[a] > 1 ? out : 0;
      begin[a] = s.begin[a] = rim;
      end[a] = s.end[a] = n[a] - rim;
      h[a] = spacing[a];
    }
    const int R = op.radius, lead = R + (32 - (R + out) % 32) % 32, across = n[1] > 1 ? R : 0;
    s.stride_y = (lead + n[2] + R + 31) / 32 * 32;
    s.stride_x = s.stride_y * (n[1] + 2 * across);
    p.assign(size_t(s.stride_x) * (n[0] + 2 * R) / 32, Line{});
    next = v = p;
    origin = size_t(R * s.stride_x + across * s.stride_y + lead);
    o.radius = R;
    o.joint = n[1] > 1 && h[1] == h[2];
    for (int a = 0; a < 3; ++a) {
      const int size_of[3] = {4, 8, 16};
      o.bricks[a] = (end[a] - begin[a] + size_of[a] - 1) / size_of[a] + 2;
      for (int n = 0; n < 3; ++n)
        o.unit[a][n] = float(std::ldexp(op.unit / (h[a] * h[a]), 8 * trim + 16 * n));
    }
    peaks.assign(size_t(o.bricks[0]) * o.bricks[1] * o.bricks[2], 0);
    peaks_next = peaks;
    for (int e = 0; e < 4; ++e)
      for (int w = 0; w < 3; ++w)
        for (int k = 0; k < 4; ++k) {
          const int r = std::abs(4 * w + k - 4 - e);
          int left = r <= R ? op.n[r] : 0;
          for (int a = op.digits - 1; a >= 0; --a) {
            const int digit = a == 0 ? left : int(int8_t(left & 255));
            o.taps[a][e * 3 + w] |= int(uint32_t(uint8_t(digit)) << 8 * k);
            left = (left - digit) / 256;
          }
        }
  }

  float* at(std::vector<Line>& field) { return field.data()->values + origin; }
  size_t node(int i, int j, int k) const {
    return size_t(int64_t(i) * s.stride_x + int64_t(j) * s.stride_y + k);
  }
  template <class F>
  void each(F f) const {
    for (int i = 0; i < nodes[0]; ++i)
      for (int j = 0; j < nodes[1]; ++j)
        for (int k = 0; k < nodes[2]; ++k) f(i, j, k);
  }
  bool inside(int i, int j, int k) const {
    return i >= begin[0] && i < end[0] && j >= begin[1] && j < end[1] && k >= begin[2] &&
           k < end[2];
  }

  void find_peaks() {
    const int count = int(peaks.size());
    on_cpu::launch((count + 7) / 8, 256, [&] {
      acoustic_iso_peaks(s, o, nullptr, count, at(p), peaks.data());
    });
  }

  // One step by a kernel whose blocks have `planes` planes of a tile.
  template <class K>
  void step(K kernel, int ty, int tz, int planes) {
    o.tiles_z = (end[2] - begin[2] + tz - 1) / tz;
    o.tiles = o.tiles_z * ((end[1] - begin[1] + ty - 1) / ty);
    o.planes = planes;
    const int chunks = (end[0] - begin[0] + planes - 1) / planes;
    on_cpu::launch(o.tiles * chunks, ty * tz / 4, [&] {
      kernel(s, o, at(p), at(next), at(v), peaks.data(), peaks_next.data());
    });
  }

  // p- = 2p and v = 1: p+ is the Laplacian.
  void lay_bare() {
    float *from = at(p), *to = at(next), *speed = at(v);
    each([&](int i, int j, int k) {
      to[node(i, j, k)] = 2.0f * from[node(i, j, k)];
      speed[node(i, j, k)] = 1.0f;
    });
  }

  // By weights of any kind, f64.
  double laplacian(int i, int j, int k, const std::vector<double>& weight) {
    const float* from = at(p);
    const int64_t stride[3] = {s.stride_x, s.stride_y, 1};
    double sum = 0.0;
    for (int a = 0; a < 3; ++a) {
      if (nodes[a] == 1) continue;
      const int64_t centre = int64_t(node(i, j, k));
      double axis = weight[0] * from[centre];
      for (size_t r = 1; r < weight.size(); ++r)
        axis += weight[r] * (double(from[centre + int64_t(r) * stride[a]]) +
                             from[centre - int64_t(r) * stride[a]]);
      sum += axis / (h[a] * h[a]);
    }
    return sum;
  }

  // Relative rms error of next in the box.
  double error(const std::vector<double>& weight) {
    const float* to = at(next);
    double wrong = 0.0, all = 0.0;
    each([&](int i, int j, int k) {
      if (!inside(i, j, k)) return;
      const double want = laplacian(i, j, k, weight);
      wrong += (to[node(i, j, k)] - want) * (to[node(i, j, k)] - want);
      all += want * want;
    });
    return std::sqrt(wrong / all);
  }
};

void fill(Case& c, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  c.each([&](int i, int j, int k) { c.at(c.p)[c.node(i, j, k)] = uniform(generator); });
}

// A plane wave of 8 points per wavelength, oblique.
void fill_wave(Case& c) {
  c.each([&](int i, int j, int k) {
    c.at(c.p)[c.node(i, j, k)] =
        float(std::sin(M_PI / 4 * (0.48 * i + 0.6 * j + 0.64 * k) + 0.3));
  });
}

// Order 8 (Fornberg 1988).
const std::vector<double> ORDER8 = {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};

}  // namespace
