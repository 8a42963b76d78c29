// A program that knows nothing of temblor but an exported kernel: reads K chunks, hands them to the
// kernel from scattered memory in another order, writes the results in the order of the input.
// main INPUT OUTPUT: INPUT is K, then per patch centre, size, t, dt, chunk; then the parameters. OUTPUT
// is per patch the chunk and the speed. All doubles.
// Compile with -DKERNEL=name -DINPUT=... -DOUTPUT=... -DPARAMETERS=...; with -fopenmp a team of three
// runs the kernel too, and PARTS says how many parts of its scratch must have been written to.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

#ifdef _OPENMP
#define JOINED(a, b) a##b
#define OF(name, suffix) JOINED(name, suffix)

// A team of three: results in `out` and `speed`; the parts of its scratch that it has changed.
static int team(const double *const *in, double *const *out, const double (*centre)[3],
                const double (*size)[3], const double *t, const double *dt, const double *parameters,
                double *speed, int K) {
  const int T = 3;
  const size_t part = (size_t)OF(KERNEL, _scratch)(K), all = part * (size_t)T;
  double *scratch = malloc(sizeof(double) * (all + 1)), *before = malloc(sizeof(double) * (all + 1));
  if (!scratch || !before) return -1;
  for (size_t i = 0; i < all; i++) scratch[i] = 1e300;
  for (int i = 0; i < T; i++) OF(KERNEL, _prepare)(scratch + part * (size_t)i);
  memcpy(before, scratch, sizeof(double) * all);
  OF(KERNEL, _team)(in, out, centre, size, t, dt, parameters, speed, K, scratch, T);
  int parts = 0;
  for (int i = 0; i < T; i++)
    parts += memcmp(before + part * (size_t)i, scratch + part * (size_t)i, sizeof(double) * part) != 0;
  free(scratch);
  free(before);
  return parts;
}
#endif

int main(int count, char **names) {
  if (count != 3) return fail("main INPUT OUTPUT");
  FILE *from = fopen(names[1], "rb");
  double number;
  if (!from || fread(&number, sizeof number, 1, from) != 1) return fail("no input");
  const int K = (int)number;

  // Slot s of the tables holds patch (7 s + 3) % K; K is no multiple of 7.
  const double **in = malloc(sizeof *in * K);
  double **out = malloc(sizeof *out * K);
  double(*centre)[3] = malloc(sizeof *centre * K), (*size)[3] = malloc(sizeof *size * K);
  double *t = malloc(sizeof *t * K), *dt = malloc(sizeof *dt * K), *speed = calloc(K, sizeof *speed);
  int *slot = malloc(sizeof *slot * K);
  if (!in || !out || !centre || !size || !t || !dt || !speed || !slot) return fail("no memory");
  for (int s = 0; s < K; s++) slot[(7 * s + 3) % K] = s;

  for (int k = 0; k < K; k++) {
    const int s = slot[k];
    // Room of odd sizes between the chunks, so that they lie anywhere.
    double *chunk = malloc(sizeof(double) * (INPUT + 5 * (size_t)k % 13));
    out[s] = malloc(sizeof(double) * (OUTPUT + 3 * (size_t)k % 11));
    if (!chunk || !out[s]) return fail("no memory");
    size_t got = fread(centre[s], sizeof(double), 3, from);
    got += fread(size[s], sizeof(double), 3, from);
    got += fread(t + s, sizeof(double), 1, from) + fread(dt + s, sizeof(double), 1, from);
    got += fread(chunk, sizeof(double), INPUT, from);
    if (got != INPUT + 8) return fail("the input is short");
    in[s] = chunk;
  }
  double parameters[PARAMETERS + 1];
  if (fread(parameters, sizeof(double), PARAMETERS, from) != PARAMETERS) return fail("no parameters");
  fclose(from);

  const int error =
      KERNEL((const double *const *)in, out, (const double(*)[3])centre, (const double(*)[3])size, t,
             dt, parameters, speed, K);
  if (error) return fail("the kernel fails");
  // Speeds are optional, and a second call gives the same.
  double *first = malloc(sizeof(double) * OUTPUT);
  if (!first) return fail("no memory");
  memcpy(first, out[0], sizeof(double) * OUTPUT);
  if (KERNEL((const double *const *)in, out, (const double(*)[3])centre, (const double(*)[3])size, t,
             dt, parameters, NULL, K))
    return fail("the kernel fails without speeds");
  if (memcmp(first, out[0], sizeof(double) * OUTPUT)) return fail("a second call differs");

#ifdef _OPENMP
  // By a team again, over what the calls left.
  for (int k = 0; k < K; k++) {
    memset(out[k], 255, sizeof(double) * OUTPUT);
    speed[k] = 0.0;
  }
  if (team((const double *const *)in, out, (const double(*)[3])centre, (const double(*)[3])size, t, dt,
           parameters, speed, K) != PARTS)
    return fail("the team is not spread");
  if (memcmp(first, out[0], sizeof(double) * OUTPUT)) return fail("a team differs");
#endif

  FILE *to = fopen(names[2], "wb");
  if (!to) return fail("no output");
  for (int k = 0; k < K; k++) {
    if (fwrite(out[slot[k]], sizeof(double), OUTPUT, to) != OUTPUT) return fail("the disk is full");
    if (fwrite(speed + slot[k], sizeof(double), 1, to) != 1) return fail("the disk is full");
  }
  return fclose(to) ? fail("the disk is full") : 0;
}
