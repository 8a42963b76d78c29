//! Compiled kernels: loading their library and calling them.
//!
//! The texts come from [`temblor_patch::emit::c`], which fixes the signatures; the callers here check
//! every length that a kernel relies on. Threads of OpenMP's are reached through a library of the same
//! making, whose text is in [`super::team`]; they run a closure of ours, with threads' rules: it is
//! `Sync`, it outlives the region, and no panic leaves it.

#![allow(unsafe_code, reason = "functions of a library that was compiled at run time")]

use std::any::Any;
use std::ffi::{c_int, c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Mutex;

use libloading::{Library, Symbol};
use temblor_patch::Kernel;
use temblor_patch::graph::BlockId;
use temblor_patch::kernel::{INPUT, OUTPUT};

use super::batch::Batch;

type ScratchLen = unsafe extern "C" fn(c_int) -> c_long;
type Prepare = unsafe extern "C" fn(*mut f64);
type Run = unsafe extern "C" fn(
    *const *const f64,
    *const *mut f64,
    *const [f64; 3],
    *const [f64; 3],
    *const f64,
    *const f64,
    *const f64,
    *mut f64,
    c_int,
    *mut f64,
);

type RunTeam = unsafe extern "C" fn(
    *const *const f64,
    *const *mut f64,
    *const [f64; 3],
    *const [f64; 3],
    *const f64,
    *const f64,
    *const f64,
    *mut f64,
    c_int,
    *mut f64,
    c_int,
);
type Work = unsafe extern "C" fn(*const c_void, c_int, c_int);
type Spread = unsafe extern "C" fn(Work, *const c_void, c_int);

/// Bytes of a cache line and of the widest vector.
const LINE: usize = 64;

/// Room for a kernel's temporaries and tables, from a multiple of [`LINE`] on, readied by the kernel.
#[derive(Debug)]
pub(crate) struct Scratch {
    values: Vec<f64>,
    /// First value on such a multiple.
    start: usize,
    /// Room for the pointers of a call, empty between calls.
    inputs: Vec<*const f64>,
    outputs: Vec<*mut f64>,
}

// SAFETY: no pointer outlives the call that it was made for, so that none crosses threads.
unsafe impl Send for Scratch {}

impl Scratch {
    fn zeros(length: usize) -> Self {
        let values = vec![0.0; length + LINE / size_of::<f64>()];
        let start = values.as_ptr().align_offset(LINE);
        Self { values, start, inputs: Vec::new(), outputs: Vec::new() }
    }

    /// Doubles that it holds.
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.start
    }

    fn first(&mut self) -> *mut f64 {
        self.values[self.start..].as_mut_ptr()
    }
}

/// How a kernel is called.
enum Entry {
    /// On the calling thread.
    Alone(Run),
    /// Spread over threads by its own loops.
    Team(RunTeam),
}

/// A kernel in a loaded library.
pub(crate) struct Compiled {
    scratch: ScratchLen,
    prepare: Prepare,
    run: Entry,
    /// Values of an input and of an output.
    lengths: [usize; 2],
    /// Parameters that the kernel reads.
    parameters: usize,
    // Last, so that it outlives the functions above.
    _library: Library,
}

impl Compiled {
    /// Loads a kernel's library; with `team`, one whose loops are spread over threads.
    pub(crate) fn load(
        path: &Path,
        kernel: &Kernel,
        team: bool,
    ) -> Result<Self, libloading::Error> {
        let name = &kernel.name;
        // SAFETY: the library was compiled from a text of `emit::c`, which runs nothing when loaded.
        let library = unsafe { Library::new(path) }?;
        let symbol = |suffix: &str| format!("{name}{suffix}");
        // SAFETY: `emit::c` gives the function this signature.
        let scratch: Symbol<ScratchLen> = unsafe { library.get(symbol("_scratch")) }?;
        let scratch = *scratch;
        // SAFETY: as above.
        let prepare: Symbol<Prepare> = unsafe { library.get(symbol("_prepare")) }?;
        let prepare = *prepare;
        let run = if team {
            // SAFETY: as above.
            let run: Symbol<RunTeam> = unsafe { library.get(symbol("_team")) }?;
            Entry::Team(*run)
        } else {
            // SAFETY: as above.
            let run: Symbol<Run> = unsafe { library.get(symbol("_run")) }?;
            Entry::Alone(*run)
        };
        let length = |block: BlockId| {
            let block = &kernel.blocks[usize::from(block.0)];
            block.voxels() * usize::from(block.width)
        };
        let lengths = [INPUT, OUTPUT].map(length);
        let parameters = kernel.parameters.len();
        Ok(Self { scratch, prepare, run, lengths, parameters, _library: library })
    }

    /// Doubles of scratch that `patches` in one call need.
    pub(crate) fn scratch_len(&self, patches: usize) -> usize {
        let patches = c_int::try_from(patches).unwrap_or(c_int::MAX);
        // SAFETY: a pure function of its argument.
        let length = unsafe { (self.scratch)(patches) };
        usize::try_from(length).unwrap_or(0)
    }

    /// Readies scratch for [`Compiled::run`].
    pub(crate) fn prepared(&self, patches: usize) -> Scratch {
        let mut scratch = Scratch::zeros(self.scratch_len(patches));
        // SAFETY: the kernel writes no more than `scratch_len` values.
        unsafe { (self.prepare)(scratch.first()) };
        scratch
    }

    /// Runs a batch: on the calling thread, or on `threads` where the kernel's own loops are spread.
    ///
    /// # Panics
    /// Where lengths do not fit the kernel: callers have checked them.
    pub(crate) fn run(
        &self,
        batch: &mut Batch,
        parameters: &[f64],
        scratch: &mut Scratch,
        threads: usize,
    ) {
        let patches = batch.check(self.lengths);
        assert!(parameters.len() >= self.parameters, "all parameters are given");
        assert!(scratch.len() >= self.scratch_len(patches), "scratch is large enough");
        scratch.inputs.clear();
        scratch.inputs.extend(batch.inputs.iter().map(|input| input.as_ptr()));
        scratch.outputs.clear();
        scratch.outputs.extend(batch.outputs.iter_mut().map(|output| output.as_mut_ptr()));
        let speeds = match &mut batch.speeds {
            [] => std::ptr::null_mut(),
            speeds => speeds.as_mut_ptr(),
        };
        let count = c_int::try_from(patches).expect("a batch is smaller than 2^31 patches");
        let threads = team_size(threads);
        let (inputs, outputs) = (scratch.inputs.as_ptr(), scratch.outputs.as_ptr());
        let (centres, sizes) = (batch.centres.as_ptr(), batch.sizes.as_ptr());
        let (times, steps) = (batch.times.as_ptr(), batch.steps.as_ptr());
        let (parameters, room) = (parameters.as_ptr(), scratch.first());
        match self.run {
            // SAFETY: every array has the length that the kernel asks for, checked above; inputs
            // are only read, outputs do not overlap since they are exclusive borrows.
            Entry::Alone(run) => unsafe {
                run(inputs, outputs, centres, sizes, times, steps, parameters, speeds, count, room);
            },
            // SAFETY: as above; the kernel's threads have left its arrays when the call returns, and its
            // code, so that the library may be unloaded at any later time.
            Entry::Team(run) => unsafe {
                run(
                    inputs, outputs, centres, sizes, times, steps, parameters, speeds, count, room,
                    threads,
                );
            },
        }
        scratch.inputs.clear();
        scratch.outputs.clear();
    }
}

/// Threads of a team as C has them.
fn team_size(threads: usize) -> c_int {
    c_int::try_from(threads).unwrap_or(c_int::MAX).max(1)
}

/// Threads of OpenMP's, one team per thread that calls.
pub(crate) struct Team {
    spread: Spread,
    // Holds OpenMP's own library too. Its threads wait in there for more to do, so neither may ever go.
    _library: Library,
}

/// What a region's threads share.
struct Shared<'a> {
    work: &'a (dyn Fn(usize, usize) + Sync),
    /// What one of them panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A thread's part of a region.
unsafe extern "C" fn enter(shared: *const c_void, thread: c_int, threads: c_int) {
    // SAFETY: `Team::spread` passes its own, which lives until all threads have left the region, and which
    // may be shared, being made of what is `Sync`.
    let shared = unsafe { &*shared.cast::<Shared>() };
    let number = |number: c_int| usize::try_from(number).unwrap_or(0);
    // Unwinding into C would end the program; the caller has the panic instead.
    let done = catch_unwind(AssertUnwindSafe(|| (shared.work)(number(thread), number(threads))));
    if let Err(panic) = done {
        shared.panic.lock().expect("nothing panics under this lock").get_or_insert(panic);
    }
}

impl Team {
    /// Loads the library of [`super::team`] for good.
    pub(crate) fn load(path: &Path) -> Result<&'static Self, libloading::Error> {
        // SAFETY: the library was compiled from our own text, which runs nothing when loaded; OpenMP's, which
        // comes with it, reads its environment.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the text gives the function this signature.
        let spread: Symbol<Spread> = unsafe { library.get("temblor_team") }?;
        let spread = *spread;
        Ok(Box::leak(Box::new(Self { spread, _library: library })))
    }

    /// Runs `work` on `threads` threads at once, the calling one included, each with its number and how many
    /// there are: fewer where the system has no more.
    // Always as many in a row as can be: gcc's OpenMP ends threads that a smaller team has no use for.
    ///
    /// # Panics
    /// With what a thread panicked with, after all have ended.
    pub(crate) fn spread(&self, threads: usize, work: &(dyn Fn(usize, usize) + Sync)) {
        let shared = Shared { work, panic: Mutex::default() };
        let pointer = (&raw const shared).cast::<c_void>();
        // SAFETY: `enter` takes a `Shared`, and all threads have left it when the region ends.
        unsafe { (self.spread)(enter, pointer, team_size(threads)) };
        let panic = shared.panic.into_inner().expect("nothing panics under this lock");
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}
