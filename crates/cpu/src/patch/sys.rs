//! Compiled kernels: loading their library and calling them.
//!
//! The texts come from [`temblor_patch::emit::c`], which fixes the signatures; the callers here check
//! every length that a kernel relies on.

#![allow(unsafe_code, reason = "functions of a library that was compiled at run time")]

use std::ffi::{c_int, c_long};
use std::path::Path;

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

/// A kernel in a loaded library.
pub(crate) struct Compiled {
    scratch: ScratchLen,
    prepare: Prepare,
    run: Run,
    /// Values of an input and of an output.
    lengths: [usize; 2],
    /// Parameters that the kernel reads.
    parameters: usize,
    // Last, so that it outlives the functions above.
    _library: Library,
}

impl Compiled {
    /// Loads a kernel's library.
    pub(crate) fn load(path: &Path, kernel: &Kernel) -> Result<Self, libloading::Error> {
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
        // SAFETY: as above.
        let run: Symbol<Run> = unsafe { library.get(symbol("_run")) }?;
        let run = *run;
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

    /// Runs a batch on the calling thread.
    ///
    /// # Panics
    /// Where lengths do not fit the kernel: callers have checked them.
    pub(crate) fn run(&self, batch: &mut Batch, parameters: &[f64], scratch: &mut Scratch) {
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
        // SAFETY: every array has the length that the kernel asks for, checked above; inputs
        // are only read, outputs do not overlap since they are exclusive borrows.
        unsafe {
            (self.run)(
                scratch.inputs.as_ptr(),
                scratch.outputs.as_ptr(),
                batch.centres.as_ptr(),
                batch.sizes.as_ptr(),
                batch.times.as_ptr(),
                batch.steps.as_ptr(),
                parameters.as_ptr(),
                speeds,
                count,
                scratch.first(),
            );
        }
        scratch.inputs.clear();
        scratch.outputs.clear();
    }
}
