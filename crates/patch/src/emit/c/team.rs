//! The fused form's patches spread by OpenMP, where the compiler is told to; without it the text is the
//! fused one.

use std::fmt::Write as _;

use super::SIGNATURE;
use crate::kernel::{Kernel, OUTPUT};

/// Least operations of a call that several threads take part in: some 10 us of one thread, in which 16 threads
/// that look for work have begun and ended a region and done their shares (Emerald Rapids, gcc 13).
const LEAST: f64 = 2.2e5;

/// The functions for all patches, with a team and with scratch of their own.
pub(super) fn emit(kernel: &Kernel, text: &mut String) {
    let name = &kernel.name;
    let output = &kernel.blocks[usize::from(OUTPUT.0)];
    let voxels = u32::try_from(output.voxels()).unwrap_or(u32::MAX);
    let least = (LEAST / (kernel.flops() * f64::from(voxels)).max(1.0)).ceil();
    let _ = write!(
        text,
        "
#ifdef _OPENMP
#include <omp.h>

/* Patches of a thread: an even share, readied first where `fresh`. */
static void {name}_share({SIGNATURE}, double *scratch, int fresh) {{
  const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
  const int share = K / threads, rest = K % threads;
  const int first = thread * share + (thread < rest ? thread : rest);
  const int count = share + (thread < rest);
  double *const own = scratch + (size_t)thread * (size_t){name}_scratch(K);
  if (count == 0)
    return;
  if (fresh)
    {name}_prepare(own);
  {name}_run(QIn + first, QOut + first, centre + first, size + first, t + first, dt + first, parameter,
      speed ? speed + first : NULL, count, own);
}}

void {name}_team({SIGNATURE}, double *scratch, int T) {{
#pragma omp parallel num_threads(T)
  {name}_share(QIn, QOut, centre, size, t, dt, parameter, speed, K, scratch, 0);
}}
#endif

int {name}({SIGNATURE}) {{
  size_t room = (size_t){name}_scratch(K);
#ifdef _OPENMP
  /* A few patches are done before other threads have come. */
  const int T = K < {least} || omp_in_parallel() ? 1 : omp_get_max_threads();
  room *= (size_t)T;
#endif
  double *const scratch = (double *)malloc(sizeof(double) * (room + 1));
  if (!scratch)
    return 1;
#ifdef _OPENMP
  if (T > 1) {{
#pragma omp parallel num_threads(T)
    {name}_share(QIn, QOut, centre, size, t, dt, parameter, speed, K, scratch, 1);
    free(scratch);
    return 0;
  }}
#endif
  {name}_prepare(scratch);
  {name}_run(QIn, QOut, centre, size, t, dt, parameter, speed, K, scratch);
  free(scratch);
  return 0;
}}
"
    );
}
