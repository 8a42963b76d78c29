// The stand-in itself: products of fragments against plain sums, shuffles, copies, and a kernel of
// the project against f64. Prints what is wrong.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "machine.cuh"
#include "acoustic_iso_shared.cu"

#include <random>

namespace {

int failures = 0;
void check(bool good, const char* what) {
  if (good) return;
  printf("wrong: %s\n", what);
  ++failures;
}

std::mt19937 generator(7);
int8_t byte() { return int8_t(generator()); }

// Products of matrices held plainly; a lane picks its fragments as the PTX manual draws them.
template <int K>
void products_of_bytes_are_plain_products() {
  int8_t a[16][K], b[K][8];
  int c[16][8], got[16][8];
  for (auto& row : a) for (auto& x : row) x = byte();
  for (auto& row : b) for (auto& x : row) x = byte();
  for (auto& row : c) for (auto& x : row) x = byte();
  on_cpu::launch(1, 32, [&] {
    const int g = int(threadIdx.x) >> 2, t = int(threadIdx.x) % 4;
    uint32_t x[4] = {}, y[2] = {};
    // a_i, i < K / 2: row g where i in 0..3 or 8..11, column 4t + i % 4, 16 more from i = 8 on.
    for (int i = 0; i < K / 2; ++i) {
      const int row = (i & 4) ? g + 8 : g, column = 4 * t + (i & 3) + (i >= 8 ? 16 : 0);
      x[i / 4] |= uint32_t(uint8_t(a[row][column])) << 8 * (i % 4);
    }
    for (int i = 0; i < K / 4; ++i)
      y[i / 4] |= uint32_t(uint8_t(b[4 * t + (i & 3) + (i >= 4 ? 16 : 0)][g])) << 8 * (i % 4);
    int sum[4] = {c[g][2 * t], c[g][2 * t + 1], c[g + 8][2 * t], c[g + 8][2 * t + 1]};
    if constexpr (K == 32) {
      temblor::mma_s8_k32(sum, x, y);
    } else {
      const uint32_t two[2] = {x[0], x[1]};
      temblor::mma_s8_k16(sum, two, y[0]);
    }
    for (int i = 0; i < 4; ++i) got[i < 2 ? g : g + 8][2 * t + i % 2] = sum[i];
  });
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      int want = c[i][j];
      for (int k = 0; k < K; ++k) want += a[i][k] * b[k][j];
      check(got[i][j] == want, "a product of signed bytes");
    }
}

void products_of_bf16_are_plain_products() {
  float a[16][16], b[16][8], got[16][8];
  for (auto& row : a) for (auto& x : row) x = float(byte());
  for (auto& row : b) for (auto& x : row) x = float(byte());
  auto two = [](float low, float high) {
    const uint32_t top = __float2bfloat16_rn(high).bits;
    return __float2bfloat16_rn(low).bits | top << 16;
  };
  on_cpu::launch(1, 32, [&] {
    const int g = int(threadIdx.x) >> 2, t = int(threadIdx.x) % 4;
    const int k = 2 * t;
    const uint32_t x[4] = {two(a[g][k], a[g][k + 1]), two(a[g + 8][k], a[g + 8][k + 1]),
                           two(a[g][k + 8], a[g][k + 9]), two(a[g + 8][k + 8], a[g + 8][k + 9])};
    const uint32_t y[2] = {two(b[k][g], b[k + 1][g]), two(b[k + 8][g], b[k + 9][g])};
    float sum[4] = {};
    temblor::mma_bf16(sum, x, y);
    for (int i = 0; i < 4; ++i) got[i < 2 ? g : g + 8][2 * t + i % 2] = sum[i];
  });
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float want = 0.0f;
      for (int k = 0; k < 16; ++k) want += a[i][k] * b[k][j];
      check(got[i][j] == want, "a product of BF16");
    }
}

void collectives_and_copies_reach_all_threads() {
  static int total, from[64];
  static unsigned most;
  for (int n = 0; n < 64; ++n) from[n] = n * n;
  total = 0;
  most = 0;
  on_cpu::launch(1, 64, [&] {
    int* shared = reinterpret_cast<int*>(temblor::dynamic_shared());
    const int n = int(threadIdx.x);
    temblor::copy_async<4>(&shared[n], &from[n]);
    temblor::copy_async_commit();
    check(shared[n] == -1, "a copy before its wait");
    temblor::copy_async_wait<0>();
    __syncthreads();
    const int other = shared[63 - n];
    int sum = other;
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    if (n % 32 == 0) atomicAdd(&total, sum);
    const unsigned peak = __reduce_max_sync(0xffffffffu, unsigned(other));
    atomicMax(&most, peak);
    check(__shfl_up_sync(0xffffffffu, n, 1u) == (n % 32 ? n - 1 : n), "a shuffle from below");
    check(__shfl_down_sync(0xffffffffu, n, 2u, 8) == (n % 8 < 6 ? n + 2 : n), "a shuffle from far");
    check(__ballot_sync(0xffffffffu, n & 1) == 0xaaaaaaaau, "a ballot");
  });
  check(total == 63 * 64 * 127 / 6 && most == 63 * 63, "a sum or a maximum");
}

void halves_are_rounded_to_even() {
  // Every half is itself; halfway between neighbours goes to the even one.
  for (unsigned h = 0; h < 0x7c00; ++h) {
    const float x = __half2float({uint16_t(h)}), up = __half2float({uint16_t(h + 1)});
    check(__float2half_rn(x).bits == h, "a half and back");
    if (h + 1 < 0x7c00)
      check(__float2half_rn(0.5f * (x + up)).bits == (h + 1) / 2 * 2, "a tie of halves");
  }
  check(__half2float({0x3555}) == 0.333251953125f, "a third as a half");
  check(__float2bfloat16_rn(1.00390625f).bits == 0x3f80, "a tie of BF16");
  check(__float2bfloat16_rn(1.01171875f).bits == 0x3f82, "a tie of BF16");
}

void bytes_and_roundings_are_those_of_the_manual() {
  check(__byte_perm(0x33221100u, 0x77665544u, 0x7351) == 0x77335511u, "a choice of bytes");
  check(__byte_perm(0x00000080u, 0, 0x8000) == 0xff808080u, "a sign that is spread");
  check(__dp4a(int(0x80ff7f02), int(0x80030201), 10) == 16384 - 3 + 254 + 2 + 10, "four products");
  check(__float2int_rn(2.5f) == 2 && __float2int_rn(-3.5f) == -4, "a tie");
  check(__float2int_rn(NAN) == 0 && __float2int_rn(3e9f) == 2147483647, "a value out of range");
  check(__funnelshift_r(0x44332211u, 0x88776655u, 8) == 0x55443322u, "a funnel shift");
}

// acoustic_iso_shared_r4 on an odd box: the Laplacian, since p- = 2p and v = 1 make p+ = L p.
void a_kernel_of_the_project_gives_the_laplacian() {
  const int n[3] = {6, 19, 37}, R = 4, pitch = 64;
  const double w[5] = {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
  TemblorStep s = {};
  for (int a = 0; a < 3; ++a) s.nodes[a] = s.end[a] = n[a];
  s.stride_y = pitch;
  s.stride_x = pitch * (n[1] + 2 * R);
  s.centre = float(3 * w[0]);
  for (auto& axis : s.second) for (int r = 1; r <= R; ++r) axis[r] = float(w[r]);
  const size_t size = size_t(s.stride_x) * (n[0] + 2 * R);
  const size_t origin = size_t(R * s.stride_x + R * s.stride_y + 8);
  std::vector<float> p(size), next(size), v(size, 1.0f);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (auto& x : p) x = uniform(generator);
  for (size_t at = 0; at < size; ++at) next[at] = 2.0f * p[at];
  float* const to = next.data() + origin;
  on_cpu::launch(dim3((n[2] + 31) / 32, (n[1] + 15) / 16), dim3(32, 16), [&] {
    acoustic_iso_shared_r4(s, p.data() + origin, to, to, v.data() + origin);
  });
  double error = 0.0, total = 0.0;
  for (int i = 0; i < n[0]; ++i)
    for (int j = 0; j < n[1]; ++j)
      for (int k = 0; k < n[2]; ++k) {
        const size_t at = origin + size_t(i * s.stride_x + j * s.stride_y + k);
        double want = 3 * w[0] * p[at];
        for (int r = 1; r <= R; ++r)
          for (const int64_t stride : {s.stride_x, s.stride_y, int64_t(1)})
            want += w[r] * (double(p[at + r * stride]) + double(p[at - r * stride]));
        error += (next[at] - want) * (next[at] - want);
        total += want * want;
      }
  check(std::sqrt(error / total) < 3e-7, "a Laplacian in FP32");
}

}  // namespace

int main() {
  flush_denormals();
  for (const bool backwards : {false, true}) {
    on_cpu::machine().backwards = backwards;
    products_of_bytes_are_plain_products<16>();
    products_of_bytes_are_plain_products<32>();
    products_of_bf16_are_plain_products();
    collectives_and_copies_reach_all_threads();
    a_kernel_of_the_project_gives_the_laplacian();
  }
  bytes_and_roundings_are_those_of_the_manual();
  halves_are_rounded_to_even();
  if (failures == 0) puts("all as it should be");
  return failures != 0;
}
