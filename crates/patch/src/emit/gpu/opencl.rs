//! `OpenCL` C. A kernel cannot take a table of pointers there: chunks lie in one buffer each for input
//! and output, at places given by tables.

/// Types and the few operations that the languages spell differently.
pub(super) const PRELUDE: &str = r#"#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL FP_CONTRACT OFF
typedef ulong key_t64;
typedef long wide;
struct cell { double centre[3]; double size[3]; double time; double time_step; };
#define GLOBAL __global
#define LOCAL __local
#define TABLE __constant const
#define THREAD ((int)get_local_id(0))
#define BLOCK ((int)get_group_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define SHARED(bytes) __local double shared[(bytes) / 8];
#define CHUNK_IN(k) (in + in_at[k])
#define CHUNK_OUT(k) (out + out_at[k])
#define READ(p) (*(p))

static inline double read_here(__global const double* p) {
  return *(__global const volatile double*)p;
}

// Doubles as integers of the same order.
static inline key_t64 key_of(double value) {
  const long bits = as_long(value);
  return (key_t64)(bits < 0 ? ~bits : bits | (1l << 63));
}

// Largest key of a patch.
static inline void reduce(__global key_t64* speeds, int k, key_t64 top) {
  if (top != 0) atom_max(speeds + k, top);
}

static inline void reduce_beside(__global key_t64* speeds, int k, key_t64 top, int lanes) {
  reduce(speeds, k, top);
}
"#;

/// Head of a kernel.
pub(super) fn head(name: &str, threads: u32) -> String {
    format!(
        "__kernel __attribute__((reqd_work_group_size({threads}, 1, 1))) void {name}(\n    \
         __global const double* in, __global const long* in_at, __global double* out,\n    \
         __global const long* out_at, __global const struct cell* cells,\n    \
         __global key_t64* speeds, __global double* scratch, const struct parameters P,\n    \
         const int K) "
    )
}
