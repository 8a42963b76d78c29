//! HIP C++ as clang takes it with `-nogpuinc -nogpulib`: what is used of the language is declared here.

/// Types and the few operations that the languages spell differently.
pub(super) const PRELUDE: &str = r#"typedef unsigned long long key_t64;
typedef long long wide;
struct cell { double centre[3]; double size[3]; double time; double time_step; };
#define GLOBAL
#define LOCAL
#define TABLE static __attribute__((device)) const
#define THREAD ((int)__builtin_amdgcn_workitem_id_x())
#define BLOCK ((int)__builtin_amdgcn_workgroup_id_x())
#define SHARED(bytes) static __attribute__((shared)) double shared[(bytes) / 8];
#define CHUNK_IN(k) (in[k])
#define CHUNK_OUT(k) (out[k])
#define READ(p) (*(p))
#define DEVICE static inline __attribute__((device, always_inline))
#define fabs(a) __builtin_fabs(a)
#define sqrt(a) __builtin_sqrt(a)
#define floor(a) __builtin_floor(a)
#ifndef __HIP_MATH__
extern "C" {
#define LIBRARY extern __attribute__((device, const)) double
LIBRARY __ocml_cbrt_f64(double);
LIBRARY __ocml_exp_f64(double);
LIBRARY __ocml_log_f64(double);
LIBRARY __ocml_sin_f64(double);
LIBRARY __ocml_cos_f64(double);
LIBRARY __ocml_tan_f64(double);
LIBRARY __ocml_atan_f64(double);
LIBRARY __ocml_sinh_f64(double);
LIBRARY __ocml_cosh_f64(double);
LIBRARY __ocml_tanh_f64(double);
LIBRARY __ocml_pow_f64(double, double);
LIBRARY __ocml_atan2_f64(double, double);
}
#define cbrt __ocml_cbrt_f64
#define exp __ocml_exp_f64
#define log __ocml_log_f64
#define sin __ocml_sin_f64
#define cos __ocml_cos_f64
#define tan __ocml_tan_f64
#define atan __ocml_atan_f64
#define sinh __ocml_sinh_f64
#define cosh __ocml_cosh_f64
#define tanh __ocml_tanh_f64
#define pow __ocml_pow_f64
#define atan2 __ocml_atan2_f64
#endif

DEVICE void BARRIER() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE double read_here(const double* p) { return *(const volatile double*)p; }

// Doubles as integers of the same order.
DEVICE key_t64 key_of(double value) {
  long long bits;
  __builtin_memcpy(&bits, &value, 8);
  return (key_t64)(bits < 0 ? ~bits : bits | (1ll << 63));
}

// Largest key of a patch.
DEVICE void reduce(key_t64* speeds, int k, key_t64 top) {
  if (top != 0) __atomic_fetch_max(speeds + k, top, __ATOMIC_RELAXED);
}

DEVICE void reduce_beside(key_t64* speeds, int k, key_t64 top, int lanes) {
  reduce(speeds, k, top);
}
"#;

/// Head of a kernel. Clang's own `launch_bounds` has no effect on this target.
pub(super) fn head(name: &str, threads: u32, blocks: u32) -> String {
    let waves = (threads.div_ceil(64) * blocks).div_ceil(4).clamp(1, 8);
    format!(
        "extern \"C\" __attribute__((global, amdgpu_flat_work_group_size(1, {threads}), \
         amdgpu_waves_per_eu({waves}))) void {name}(\n    \
         const double* const* in, double* const* out, const struct cell* cells, key_t64* speeds,\n    \
         double* scratch, const struct parameters P, const int K) "
    )
}
