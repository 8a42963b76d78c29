//! CUDA C++ as NVRTC takes it, without a header.

/// Types and the few operations that the languages spell differently.
pub(super) const PRELUDE: &str = r#"typedef unsigned long long key_t64;
typedef long long wide;
struct cell { double centre[3]; double size[3]; double time; double time_step; };
#define GLOBAL
#define LOCAL
#define TABLE static __device__ const
#define THREAD ((int)threadIdx.x)
#define BLOCK ((int)blockIdx.x)
#define BARRIER() __syncthreads()
#define SHARED(bytes) extern __shared__ __align__(128) double shared[];
#define CHUNK_IN(k) (in[k])
#define CHUNK_OUT(k) (out[k])
#define READ(p) __ldg(p)

// A load that neither moves nor is shared with another of the same place: registers are dealt out by
// the order of the text.
static __device__ __forceinline__ double read_here(const double* p) {
  double value;
  asm volatile("ld.global.nc.f64 %0, [%1];" : "=d"(value) : "l"(p));
  return value;
}

// Doubles as integers of the same order.
static __device__ __forceinline__ key_t64 key_of(double value) {
  const long long bits = __double_as_longlong(value);
  return (key_t64)(bits < 0 ? ~bits : bits | (1ll << 63));
}

// Largest key of a patch; every thread of the block calls it, those without a voxel with key 0.
static __device__ __forceinline__ void reduce(key_t64* speeds, int k, key_t64 top) {
  const int first = __shfl_sync(~0u, k, 0);
  if (__all_sync(~0u, k == first || top == 0)) {
    for (int step = 16; step > 0; step /= 2) {
      const key_t64 other = __shfl_xor_sync(~0u, top, step);
      top = other > top ? other : top;
    }
    if (threadIdx.x % 32 == 0 && top != 0) atomicMax(speeds + first, top);
  } else if (top != 0) {
    atomicMax(speeds + k, top);
  }
}

// The same where neighbouring threads belong to `lanes` patches in turn, the first of a warp to the
// first of them.
static __device__ __forceinline__ void reduce_beside(key_t64* speeds, int k, key_t64 top,
                                                     int lanes) {
  const int first = __shfl_sync(~0u, k, 0), lane = threadIdx.x % 32;
  if (__all_sync(~0u, k == first + lane % lanes || top == 0)) {
    for (int step = 16; step >= lanes; step /= 2) {
      const key_t64 other = __shfl_xor_sync(~0u, top, step);
      top = other > top ? other : top;
    }
    if (lane < lanes && top != 0) atomicMax(speeds + first + lane, top);
  } else if (top != 0) {
    atomicMax(speeds + k, top);
  }
}

#if __CUDA_ARCH__ >= 900
static __device__ __forceinline__ unsigned address(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void bulk_start(double* to, const double* from, unsigned bytes,
                                                  key_t64* gate) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          address(to)),
      "l"(from), "r"(bytes), "r"(address(gate))
      : "memory");
}

static __device__ __forceinline__ void bulk_open(key_t64* gate, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(gate)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(gate)),
               "r"(bytes)
               : "memory");
}

static __device__ __forceinline__ void bulk_wait(key_t64* gate) {
  __syncthreads();
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, "
        "p;\n}"
        : "=r"(done)
        : "r"(address(gate))
        : "memory");
  }
}

// Copies `count` chunks of `bytes` (a multiple of 16) into shared memory by the bulk copy engine and
// waits for them; every thread of the block calls it once.
static __device__ __forceinline__ void bulk(double* to, int stride, const double* const* from,
                                            int count, unsigned bytes, key_t64* gate) {
  if (threadIdx.x == 0) {
    bulk_open(gate, count * bytes);
    for (int n = 0; n < count; n++) bulk_start(to + n * stride, from[n], bytes, gate);
  }
  bulk_wait(gate);
}

// Copies `count` pieces of `bytes` that lie `apart` values from each other.
static __device__ __forceinline__ void bulk_pieces(double* to, int stride, const double* from,
                                                   int apart, int count, unsigned bytes,
                                                   key_t64* gate) {
  if (threadIdx.x == 0) {
    bulk_open(gate, count * bytes);
    for (int n = 0; n < count; n++) bulk_start(to + n * stride, from + n * apart, bytes, gate);
  }
  bulk_wait(gate);
}
#endif
"#;

/// Head of a kernel.
pub(super) fn head(name: &str, threads: u32, blocks: u32) -> String {
    format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) {name}(\n    \
         const double* const* in, double* const* out, const struct cell* cells, key_t64* speeds,\n    \
         double* scratch, const struct parameters P, const int K) "
    )
}
