// A stand-in for the CUDA driver that runs kernels on the CPU. Memory is host memory, streams are done as they
// are queued, graphs are lists of launches. What passes here has not run on a card.
// A program includes kernels, then this, and tells what it plays: the table `played` and the major
// number of the compute capability, which decides about kernels for `sm_90`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace {

using Run = std::function<void()>;
using Bind = std::function<Run(void**)>;

// A kernel with its arguments, copied as a launch copies them.
template <class... A, size_t... N>
Run bound(void (*kernel)(A...), void** parameters, std::index_sequence<N...>) {
  auto arguments = std::make_shared<std::tuple<std::remove_const_t<A>...>>(
      *static_cast<std::remove_const_t<A>*>(parameters[N])...);
  return [=] { std::apply(kernel, *arguments); };
}
template <class... A>
Bind binder(void (*kernel)(A...)) {
  return [=](void** p) { return bound(kernel, p, std::index_sequence_for<A...>{}); };
}

#define KERNEL(NAME) {#NAME, binder(NAME)}
using Table = std::map<std::string, Bind>;
const Table& played();
int major_capability();

using Graph = std::vector<Run>;
Graph* capturing = nullptr;
void* current = nullptr;

}  // namespace

extern "C" {
using address = uint64_t;
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
int cuGetErrorName(int, const char** s) { return *s = "CUDA_ERROR", 0; }
int cuGetErrorString(int, const char** s) { return *s = "as a stand-in says", 0; }
int cuDeviceGet(int* d, int n) { return *d = n, 0; }
int cuDeviceGetCount(int* n) { return *n = 1, 0; }
int cuDeviceGetName(char* s, int n, int) { return snprintf(s, n, "a CPU"), 0; }
int cuDeviceGetAttribute(int* v, int a, int) {
  return *v = a == 75 ? major_capability() : a == 16 ? 3 : a == 97 ? 232448 : 0, 0;
}
int cuDeviceTotalMem_v2(size_t* n, int) { return *n = size_t(8) << 30, 0; }
int cuDeviceCanAccessPeer(int* can, int, int) { return *can = 0, 0; }
int cuDevicePrimaryCtxRetain(void** c, int) {
  static int place;
  return *c = &place, 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void* c) { return current = c, 0; }
int cuCtxGetCurrent(void** c) { return *c = current, 0; }
int cuMemGetInfo_v2(size_t* f, size_t* t) { return *f = *t = size_t(8) << 30, 0; }
// As aligned as a card's, and poisoned, so that nothing lives on zeros that nobody wrote.
int cuMemAlloc_v2(address* p, size_t n) {
  void* to = aligned_alloc(256, (n + 255) / 256 * 256);
  memset(to, 0xff, n);
  return *p = address(to), 0;
}
int cuMemFree_v2(address p) { return free(reinterpret_cast<void*>(p)), 0; }
int cuMemHostAlloc(void** p, size_t n, unsigned) { return *p = calloc(n, 1), 0; }
int cuMemHostGetDevicePointer_v2(address* d, void* p, unsigned) { return *d = address(p), 0; }
int cuMemFreeHost(void* p) { return free(p), 0; }
int cuMemcpyHtoDAsync_v2(address d, const void* s, size_t n, void*) {
  return memcpy(reinterpret_cast<void*>(d), s, n), 0;
}
int cuMemcpyDtoHAsync_v2(void* d, address s, size_t n, void*) {
  return memcpy(d, reinterpret_cast<void*>(s), n), 0;
}
int cuMemcpyDtoDAsync_v2(address d, address s, size_t n, void*) {
  return memmove(reinterpret_cast<void*>(d), reinterpret_cast<void*>(s), n), 0;
}
int cuMemsetD8Async(address d, unsigned char v, size_t n, void*) {
  return memset(reinterpret_cast<void*>(d), v, n), 0;
}
// Not made by any kernel that is played.
int cuMemHostRegister_v2(void*, size_t, unsigned) { return 801; }
int cuMemHostUnregister(void*) { return 801; }
int cuMemcpy2DAsync_v2(const void*, void*) { return 801; }
// 3-D tensors of 2 or 4 bytes; sizes, boxes and strides from the fastest axis on.
int cuTensorMapEncodeTiled(CUtensorMap* m, int type, unsigned, void* base, const uint64_t* sizes,
                           const uint64_t* strides, const uint32_t* box, const uint32_t*, int, int,
                           int, int) {
  const int bytes = type == 1 ? 2 : 4;
  *m = {};
  m->base = base, m->element = bytes;
  for (int a = 0; a < 3; ++a) m->nodes[a] = int(sizes[2 - a]);
  m->box[0] = int(box[1]), m->box[1] = int(box[0]);
  m->row = int64_t(strides[0]) / bytes, m->plane = int64_t(strides[1]) / bytes;
  return strides[0] % 16 || strides[1] % 16 || reinterpret_cast<uintptr_t>(base) % 16 ? 1 : 0;
}
int cuModuleLoadData(void** m, const void*) { return *m = malloc(1), 0; }
int cuModuleUnload(void* m) { return free(m), 0; }
int cuModuleGetFunction(const Bind** f, void*, const char* name) {
  static const Bind none = [](void**) -> Run { on_cpu::stop("a kernel that is not played"); };
  const auto found = played().find(name);
  return *f = found == played().end() ? &none : &found->second, 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuFuncGetAttribute(int* v, int a, void*) { return *v = a == 4 ? 64 : 0, 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, void*, int, size_t, unsigned) {
  return *n = 1, 0;
}
int cuLaunchKernel(const Bind* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void*, void** parameters, void**) {
  on_cpu::machine().backwards = getenv("STANDIN_BACKWARDS") != nullptr;
  const Run kernel = (*f)(parameters);
  const Run run = [=] {
#if defined(__SSE__)
    // The tests' own arithmetic keeps its denormals.
    const unsigned mode = __builtin_ia32_stmxcsr();
#endif
    flush_denormals();
    on_cpu::machine().shared = shared;
    on_cpu::launch({gx, gy, gz}, {bx, by, bz}, kernel);
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr(mode);
#endif
  };
  if (capturing) {
    capturing->push_back(run);
  } else {
    run();
  }
  return 0;
}
int cuStreamCreate(void** s, unsigned) { return *s = malloc(1), 0; }
int cuStreamDestroy_v2(void* s) { return free(s), 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuStreamBeginCapture_v2(void*, int) { return capturing = new Graph, 0; }
int cuStreamEndCapture(void*, Graph** g) { return *g = capturing, capturing = nullptr, 0; }
int cuGraphInstantiateWithFlags(Graph** e, Graph* g, unsigned long long) {
  return *e = new Graph(*g), 0;
}
int cuGraphUpload(void*, void*) { return 0; }
int cuGraphLaunch(Graph* e, void*) {
  for (const Run& run : *e) run();
  return 0;
}
int cuGraphExecDestroy(Graph* e) { return delete e, 0; }
int cuGraphDestroy(Graph* g) { return delete g, 0; }
int cuEventCreate(int** e, unsigned) { return *e = new int(0), 0; }
int cuEventDestroy_v2(int* e) { return delete e, 0; }
int cuEventRecord(int*, void*) { return 0; }
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime_v2(float* ms, const int*, const int*) { return *ms = 1.0f, 0; }
}
