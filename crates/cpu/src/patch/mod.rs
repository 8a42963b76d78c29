//! Patch kernels on the host's processors.
//!
//! `cpu-ref` interprets, `cpu` compiles the text of [`temblor_patch::emit::c`] with the host's C
//! compiler and keeps the library from run to run; where there is no compiler it interprets too, and
//! the report says so. Patches are spread over threads in tasks; a patch's result does not depend on
//! how.

mod batch;
mod compiler;
mod engine;
mod geometry;
mod kernel;
mod memory;
mod room;
mod set;
mod slabs;
mod sys;
mod tasks;

use std::sync::Arc;

use temblor_backend::{Error, PatchKernel, PatchOptions, PatchReport, Result};
use temblor_patch::Kernel;
use temblor_patch::emit::c::{self, Style};

use self::compiler::Compiler;
use self::engine::Engine;
use self::kernel::CpuKernel;
use self::slabs::Maker;
use self::sys::Compiled;

/// Schedule of the interpreter.
const INTERPRETER: &str = "interpreter";

/// Schedules of compiled kernels and how they are printed.
const SCHEDULES: [(&str, Style); 4] = [
    ("fused", Style::Fused),
    ("staged", Style::Fused),
    ("plain", Style::Plain),
    ("plain-flat", Style::PlainFlat),
];

/// Schedules of `cpu` for a kernel, preferred first: tiles of voxels, `fused` for a kernel of one
/// stage and `staged` for others; then the plain loops; then the interpreter.
pub(crate) fn schedules(kernel: &Kernel) -> Vec<String> {
    let tiles = if kernel.stages.len() == 1 { "fused" } else { "staged" };
    [tiles, "plain", "plain-flat", INTERPRETER].map(String::from).to_vec()
}

/// Schedules of `cpu-ref`.
pub(crate) fn reference_schedules() -> Vec<String> {
    vec![INTERPRETER.into()]
}

/// A kernel of `cpu-ref`.
pub(crate) fn reference(
    backend: &str,
    kernel: &Kernel,
    options: &PatchOptions,
) -> Result<Box<dyn PatchKernel>> {
    choose(backend, &reference_schedules(), kernel, options)?;
    Ok(Box::new(interpreted(kernel, None)))
}

/// A kernel of `cpu`.
pub(crate) fn compiled(
    backend: &str,
    kernel: &Kernel,
    options: &PatchOptions,
) -> Result<Box<dyn PatchKernel>> {
    let schedule = choose(backend, &schedules(kernel), kernel, options)?;
    let Some((_, style)) = SCHEDULES.iter().find(|(name, _)| *name == schedule) else {
        return Ok(Box::new(interpreted(kernel, None)));
    };
    let compiler = match Compiler::host() {
        Ok(compiler) => compiler,
        Err(why) => {
            let note = format!(
                "{why}: the interpreter runs, which is much slower; install a C compiler or name one in CC"
            );
            return Ok(Box::new(interpreted(kernel, Some(note))));
        }
    };
    let made_by = compiler.name.clone();
    let (backend, style, contract) = (backend.to_owned(), *style, options.contract);
    let engine = code(&backend, &compiler, kernel.clone(), style, contract)?;
    // What goes with a kernel is printed in tiles, whatever the kernel's own schedule.
    let maker: Maker =
        Arc::new(move |kernel| code(&backend, &compiler, kernel, Style::Fused, contract));
    let report = PatchReport { schedule, made_by, ..report(kernel) };
    Ok(Box::new(CpuKernel::new(engine.with_slabs(maker.clone()), maker, report)))
}

/// Prints, compiles and loads a kernel.
fn code(
    backend: &str,
    compiler: &Compiler,
    kernel: Kernel,
    style: Style,
    contract: bool,
) -> Result<Engine> {
    let driver = |call: &str, source: Box<dyn std::error::Error + Send + Sync>| Error::Driver {
        backend: backend.into(),
        call: call.into(),
        source,
    };
    let text = c::emit(&kernel, &c::Options::new(style))
        .map_err(|error| driver("printing the kernel as C", error.into()))?;
    let library = compiler
        .library(&kernel.name, &text, &c::flags(style, contract))
        .map_err(|error| driver("compiling the kernel", error.into()))?;
    let code = Compiled::load(&library, &kernel)
        .map_err(|error| driver("loading the kernel", error.into()))?;
    Ok(Engine::compiled(kernel, code, style != Style::Fused))
}

fn interpreted(kernel: &Kernel, note: Option<String>) -> CpuKernel {
    let report = PatchReport {
        schedule: INTERPRETER.into(),
        made_by: INTERPRETER.into(),
        note,
        ..report(kernel)
    };
    let maker: Maker = Arc::new(|kernel| Ok(Engine::interpreter(kernel)));
    CpuKernel::new(Engine::interpreter(kernel.clone()), maker, report)
}

fn report(kernel: &Kernel) -> PatchReport {
    PatchReport { flops: kernel.flops(), bytes: kernel.least_bytes(), ..PatchReport::default() }
}

/// The schedule asked for, else the first.
fn choose(
    backend: &str,
    known: &[String],
    kernel: &Kernel,
    options: &PatchOptions,
) -> Result<String> {
    let wanted = options.schedule.as_ref();
    known.iter().find(|name| wanted.is_none_or(|wanted| wanted == *name)).cloned().ok_or_else(
        || Error::Unsupported {
            backend: backend.into(),
            what: format!(
                "schedule '{}' of {} (there are: {})",
                wanted.map_or("", String::as_str),
                kernel.name,
                known.join(", ")
            ),
        },
    )
}
