/* A stand-in for the CUDA driver that runs on the host: memory is host memory, streams are done as
 * they are queued, graphs are kept as lists and replayed. Of the kernels it plays some, so that the
 * order of things can be seen: `record` writes its own count into every sample, `inject` prints the
 * first amplitude. Those that move chunks are played too, and tell what they move; patch kernels in
 * two dimensions hand on the first value of every patch. All others do nothing. Between events a launch takes
 * 1 ms. Faults: after STANDIN_FAULT_AFTER runs of `record` every call answers STANDIN_FAULT, and copies
 * no longer arrive.
 * STANDIN_DEVICES devices, of which STANDIN_LOST_DEVICE cannot be opened.
 * It shows which calls are made with what, never what a device computes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;
typedef struct { char name[64]; } function;
typedef struct { function* kernel; uint64_t values[8]; } launch;
typedef struct { launch* list; int count; } graph;

static int fault, recorded, injected, loaded, launches, graphs_run, devices = 1;
static graph* capturing;

static int answer(void) { return fault; }

static void play(const launch* l) {
  launches++;
  if (!strcmp(l->kernel->name, "record")) {
    float* samples = (float*)l->values[6];
    for (int r = 0; r < (int)l->values[0]; r++) samples[r] = (float)recorded;
    const char* after = getenv("STANDIN_FAULT_AFTER");
    if (after && ++recorded >= atoi(after)) fault = atoi(getenv("STANDIN_FAULT"));
    else if (!after) recorded++;
  } else if (!strcmp(l->kernel->name, "inject")) {
    printf("inject %d: %g\n", injected++, ((float*)l->values[5])[0]);
  }
}

int cuInit(unsigned f) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char* n = getenv("STANDIN_DEVICES");
  if (n) devices = atoi(n);
  return 0;
}
int cuDriverGetVersion(int* v) { *v = 13000; return 0; }
int cuGetErrorName(int e, const char** s) {
  static char text[32];
  snprintf(text, sizeof text, "CUDA_ERROR_%d", e);
  *s = text;
  return 0;
}
int cuGetErrorString(int e, const char** s) { *s = "as a stand-in says"; return 0; }
int cuDeviceGet(int* d, int n) { *d = n; return 0; }
int cuDeviceGetCount(int* n) { *n = devices; return 0; }
int cuDeviceGetName(char* s, int n, int d) { snprintf(s, n, "stand-in %d", d); return 0; }
int cuDeviceGetAttribute(int* v, int a, int d) {
  *v = a == 75 ? 9 : a == 16 ? 132 : a == 97 ? 232448 : 0;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* n, int d) { *n = (size_t)8 << 30; return 0; }
int cuDeviceCanAccessPeer(int* can, int a, int b) { *can = a + b == 1; return 0; }
int cuDevicePrimaryCtxRetain(void** c, int d) {
  static int place[16];
  const char* lost = getenv("STANDIN_LOST_DEVICE");
  *c = &place[d];
  return lost && atoi(lost) == d ? 46 : 0;
}
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
static void* current;
int cuCtxSetCurrent(void* c) { current = c; return 0; }
int cuCtxGetCurrent(void** c) { *c = current; return 0; }
int cuMemGetInfo_v2(size_t* f, size_t* t) { *f = *t = (size_t)8 << 30; return answer(); }
int cuMemAlloc_v2(address* p, size_t n) { *p = (address)calloc(n, 1); return answer(); }
int cuMemFree_v2(address p) { free((void*)p); return answer(); }
int cuMemHostAlloc(void** p, size_t n, unsigned f) { *p = calloc(n, 1); return answer(); }
int cuMemHostGetDevicePointer_v2(address* d, void* p, unsigned f) {
  *d = getenv("STANDIN_FAR") ? (address)p + 8 : (address)p;
  return answer();
}
int cuMemFreeHost(void* p) { free(p); return 0; }
int cuMemHostRegister_v2(void* p, size_t n, unsigned f) {
  printf("locked %zu bytes\n", n);
  return n == 8 ? 712 : answer();
}
int cuMemHostUnregister(void* p) { puts("unlocked"); return 0; }
int cuMemcpyHtoDAsync_v2(address d, const void* s, size_t n, void* q) {
  if (!fault) memcpy((void*)d, s, n);
  return answer();
}
int cuMemcpyDtoHAsync_v2(void* d, address s, size_t n, void* q) {
  if (!fault) memcpy(d, (void*)s, n);
  return answer();
}
int cuMemcpyDtoDAsync_v2(address d, address s, size_t n, void* q) {
  if (capturing) return 900;
  if (!fault) memmove((void*)d, (void*)s, n);
  return answer();
}
/* A copy of rows: ends of host (1) or device (2) memory without offsets. */
typedef struct {
  size_t x, y;
  int type;
  void* host;
  address device;
  void* array;
  size_t pitch;
} end_of_rows;
typedef struct { end_of_rows from, to; size_t width, height; } copy_of_rows;
int cuMemcpy2DAsync_v2(const copy_of_rows* c, void* q) {
  char* from = c->from.type == 1 ? c->from.host : (void*)c->from.device;
  char* to = c->to.type == 1 ? c->to.host : (void*)c->to.device;
  if (c->from.pitch < c->width || c->to.pitch < c->width) return 1;
  for (size_t n = 0; n < c->height && !fault; n++)
    memcpy(to + n * c->to.pitch, from + n * c->from.pitch, c->width);
  printf("copy of %zu rows %s\n", c->height, c->to.type == 1 ? "back" : "there");
  return answer();
}
static int copy_batch(address* to, address* from, size_t* n, size_t count, void* a, size_t* i,
                      size_t kinds, void* q) {
  for (size_t k = 0; k < count && !fault; k++) memcpy((void*)to[k], (void*)from[k], n[k]);
  printf("%zu copies by one call\n", count);
  return answer();
}
int cuGetProcAddress_v2(const char* name, void** f, int version, uint64_t flags, int* status) {
  const int known = !strcmp(name, "cuMemcpyBatchAsync") && version >= 13000;
  *f = known && !getenv("STANDIN_FEW_CALLS") ? (void*)copy_batch : NULL;
  return *f ? 0 : 500;
}
int cuMemsetD8Async(address d, unsigned char v, size_t n, void* q) {
  if (!fault) memset((void*)d, v, n);
  return answer();
}
int cuModuleLoadData(void** m, const void* image) {
  printf("module %d\n", loaded++);
  *m = malloc(1);
  return answer();
}
int cuModuleUnload(void* m) { free(m); return 0; }
int cuModuleGetFunction(function** f, void* m, const char* name) {
  *f = calloc(1, sizeof **f);
  strncpy((*f)->name, name, 63);
  return answer();
}
int cuFuncSetAttribute(void* f, int a, int v) { return answer(); }
int cuFuncGetAttribute(int* v, int a, void* f) { *v = a == 4 ? 64 : 0; return answer(); }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, void* f, int t, size_t b,
                                                         unsigned flags) {
  *n = 4;
  return answer();
}
int cuLaunchKernel(function* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  launch l = {f, {0}};
  if (!strcmp(f->name, "gather_chunks") || !strcmp(f->name, "scatter_chunks")) {
    double** host = *(double***)parameters[0];
    double** card = *(double***)parameters[1];
    int chunks = *(int*)parameters[2], len = *(int*)parameters[3];
    for (int k = 0; k < chunks; k++) {
      if (f->name[0] == 'g') memcpy(card[k], host[k], 8 * len);
      else memcpy(host[k], card[k], 8 * len);
    }
    printf("%s: %d of %d values, the last begins with %g\n", f->name, chunks, len,
           host[chunks - 1][0]);
  }
  const char* size = strstr(f->name, "_d2_p");
  if (size && !size[5 + strspn(size + 5, "0123456789")]) {
    double **in = *(double***)parameters[0], **out = *(double***)parameters[1];
    for (int k = 0; k < *(int*)parameters[6]; k++) out[k][0] = in[k][0];
  }
  if (!strcmp(f->name, "record")) {
    l.values[0] = *(int32_t*)parameters[0];
    for (int n = 1; n < 7; n++) l.values[n] = *(uint64_t*)parameters[n];
  } else if (!strcmp(f->name, "inject")) {
    l.values[0] = *(int32_t*)parameters[0];
  const char* size = strstr(f->name, "_d2_p");
  if (size && !size[5 + strspn(size + 5, "0123456789")]) {
    double **in = *(double***)parameters[0], **out = *(double***)parameters[1];
    for (int k = 0; k < *(int*)parameters[6]; k++) out[k][0] = in[k][0];
  }
    for (int n = 1; n < 8; n++) l.values[n] = *(uint64_t*)parameters[n];
  }
  if (capturing) {
    capturing->list = realloc(capturing->list, (capturing->count + 1) * sizeof l);
    capturing->list[capturing->count++] = l;
  } else if (!fault) {
    play(&l);
  }
  return answer();
}
int cuStreamCreate(void** s, unsigned f) { *s = malloc(1); return answer(); }
int cuStreamDestroy_v2(void* s) { free(s); return 0; }
int cuStreamSynchronize(void* s) { return capturing ? 900 : answer(); }
int cuStreamWaitEvent(void* s, void* e, unsigned f) { return answer(); }
int cuStreamBeginCapture_v2(void* s, int mode) {
  capturing = calloc(1, sizeof *capturing);
  return answer();
}
int cuStreamEndCapture(void* s, graph** g) {
  *g = capturing;
  capturing = NULL;
  return answer();
}
int cuGraphInstantiateWithFlags(graph** e, graph* g, unsigned long long f) {
  printf("graph of %d launches\n", g->count);
  *e = g;
  return answer();
}
int cuGraphUpload(void* e, void* s) { return answer(); }
int cuGraphLaunch(graph* e, void* s) {
  for (int n = 0; n < e->count && !fault; n++) play(&e->list[n]);
  printf("graph run %d\n", graphs_run++);
  return answer();
}
int cuGraphExecDestroy(void* e) { return 0; }
int cuGraphDestroy(graph* g) { free(g->list); free(g); return 0; }
int cuEventCreate(int** e, unsigned f) { *e = calloc(1, sizeof **e); return answer(); }
int cuEventDestroy_v2(void* e) { free(e); return 0; }
int cuEventRecord(int* e, void* s) { *e = launches; return answer(); }
int cuEventSynchronize(void* e) { return answer(); }
int cuEventElapsedTime_v2(float* ms, const int* from, const int* to) {
  *ms = (float)(*to - *from);
  return answer();
}
int cuTensorMapEncodeTiled() { return 0; }
