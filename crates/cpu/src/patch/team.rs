//! Whether the host's compiler has OpenMP, whose threads then work as a team.
//!
//! A team of 16 whose threads look for work begins and ends in 8 us, where as many of rayon's come in 11
//! to 22; it looks for some 4 ms (gcc 12; `OMP_WAIT_POLICY`, `GOMP_SPINCOUNT`) and keeps the cores busy
//! meanwhile. Every thread that calls has a team of its own, kept while the thread lives.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use super::compiler::Compiler;
use super::sys::Team;

/// All of it that is C: the closure, and what it is for, come from the caller.
const TEXT: &str = "\
#include <omp.h>

void temblor_team(void (*work)(const void *, int, int), const void *what, int T) {
#pragma omp parallel num_threads(T)
  work(what, omp_get_thread_num(), omp_get_num_threads());
}
";

/// A value per compiler, found once.
type Known<T> = OnceLock<Mutex<HashMap<OsString, Result<T, String>>>>;

fn once<T: Clone>(
    known: &Known<T>,
    compiler: &Compiler,
    find: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let known = known.get_or_init(Mutex::default);
    let mut known = known.lock().expect("no thread panics while it holds the list");
    known.entry(compiler.command().clone()).or_insert_with(find).clone()
}

/// The library of [`TEXT`] if the compiler can make it, or what to install.
pub(crate) fn offered(compiler: &Compiler) -> Result<PathBuf, String> {
    static LIBRARIES: Known<PathBuf> = OnceLock::new();
    once(&LIBRARIES, compiler, || {
        let made = compiler.probe_library("team", TEXT, &["-std=gnu99", "-O2", "-fopenmp"]);
        made.map_err(|error| missing(compiler, &error.to_string()))
    })
}

/// Teams by a compiler's OpenMP, loaded when first asked for.
pub(crate) fn host(compiler: &Compiler) -> Result<&'static Team, String> {
    static TEAMS: Known<&'static Team> = OnceLock::new();
    let library = offered(compiler)?;
    once(&TEAMS, compiler, || {
        Team::load(&library).map_err(|error| missing(compiler, &error.to_string()))
    })
}

fn missing(compiler: &Compiler, why: &str) -> String {
    // What a compiler says is in its last lines rather than in ours.
    let why = why.lines().last().unwrap_or("").trim();
    format!(
        "{} has no OpenMP ({why}); install it: libgomp for gcc (package libgomp1), libomp for clang \
         (libomp-dev)",
        compiler.name
    )
}
