/* A stand-in for a card, enough for the text of patch kernels: the threads of a block are contexts
 * that take turns between barriers, blocks run one after the other, shared memory starts as NaN. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef unsigned long long key_t64;
typedef long long wide;
struct cell { double centre[3]; double size[3]; double time; double time_step; };
#define GLOBAL
#define LOCAL
#define TABLE static const
#define THREAD thread
#define BLOCK block_index
#define SHARED(bytes)
#define CHUNK_IN(k) (in[k])
#define CHUNK_OUT(k) (out[k])
#define READ(p) (*(p))
#define BARRIER() barrier()
#define KERNEL(threads, blocks) static void

enum { STACK = 1 << 20, MOST = 1024 };
static double shared[29056];
static int thread, block_index, threads_of_block, count;
static ucontext_t home, threads[MOST];
static char* stacks;
static int done[MOST];
static void (*running)(void);

static const double** in;
static double** out;
static struct cell* cells;
static key_t64* speeds;
static double *scratch, *given;
static double* results;
static size_t result_count;

static void barrier(void) {
  const int own = thread;
  swapcontext(&threads[own], &home);
  thread = own;
}

static double read_here(const double* p) { return *p; }

static key_t64 key_of(double value) {
  long long bits;
  memcpy(&bits, &value, 8);
  return (key_t64)(bits < 0 ? ~bits : bits | (1ll << 63));
}

static void reduce(key_t64* to, int k, key_t64 top) {
  if (top > 0 && top > to[k]) to[k] = top;
}

static void reduce_beside(key_t64* to, int k, key_t64 top, int lanes) {
  if (k % lanes != thread % lanes) exit(3);
  reduce(to, k, top);
}

static void bulk(double* to, int stride, const double* const* from, int chunks, unsigned bytes,
                 key_t64* gate) {
  if (thread == 0)
    for (int n = 0; n < chunks; n++) memcpy(to + n * stride, from[n], bytes);
  barrier();
}

static void bulk_pieces(double* to, int stride, const double* from, int apart, int pieces,
                        unsigned bytes, key_t64* gate) {
  if (thread == 0)
    for (int n = 0; n < pieces; n++) memcpy(to + n * stride, from + n * apart, bytes);
  barrier();
}

static void start(void) {
  running();
  done[thread] = 1;
}

static void launch(int blocks, int size, int bytes, void (*kernel)(void)) {
  running = kernel;
  if (!stacks) stacks = malloc((size_t)STACK * MOST);
  for (block_index = 0; block_index < blocks; block_index++) {
    for (int n = 0; n < 29056; n++) shared[n] = NAN;
    for (int t = 0; t < size; t++) {
      getcontext(&threads[t]);
      threads[t].uc_stack.ss_sp = stacks + (size_t)STACK * t;
      threads[t].uc_stack.ss_size = STACK;
      threads[t].uc_link = &home;
      done[t] = 0;
      makecontext(&threads[t], start, 0);
    }
    for (int left = size; left > 0;) {
      for (int t = 0; t < size; t++) {
        if (done[t]) continue;
        thread = t;
        swapcontext(&home, &threads[t]);
        left -= done[t];
      }
    }
  }
}

static char** arguments;
/* Patches as they lie on a card, `lanes` of them side by side. */
static void setup(int k, int input, int output, int temporaries, int parameters, int lanes) {
  FILE* file = fopen("/proc/self/cmdline", "r");
  static char line[4096];
  fread(line, 1, sizeof line - 1, file);
  fclose(file);
  static char* list[3];
  list[0] = line;
  for (int n = 1; n < 3; n++) list[n] = list[n - 1] + strlen(list[n - 1]) + 1;
  arguments = list;
  if (parameters < 1) parameters = 1;
  count = k;
  const size_t padded = (size_t)(k + lanes - 1) / lanes * lanes;
  file = fopen(list[1], "rb");
  const size_t values = parameters + 8 * (size_t)k + padded * input;
  given = malloc(8 * values);
  if (fread(given, 8, values, file) != values) exit(2);
  fclose(file);
  cells = (struct cell*)(given + parameters);
  in = malloc(8 * k);
  out = malloc(8 * k);
  result_count = padded * output;
  results = malloc(8 * result_count);
  for (size_t n = 0; n < result_count; n++) results[n] = NAN;
  for (int n = 0; n < k; n++) {
    const size_t row = n / lanes * lanes, lane = n % lanes;
    in[n] = given + parameters + 8 * (size_t)k + row * input + lane;
    out[n] = results + row * output + lane;
  }
  speeds = calloc(k, 8);
  scratch = malloc(8 * (size_t)k * (temporaries + 1));
  for (long n = 0; n < (long)k * temporaries; n++) scratch[n] = NAN;
}

static void finish(void) {
  FILE* file = fopen(arguments[2], "wb");
  fwrite(results, 8, result_count, file);
  fwrite(speeds, 8, count, file);
  fclose(file);
}
