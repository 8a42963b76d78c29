//! Patch kernels on the host's processors.
//!
//! `cpu-ref` interprets, `cpu` compiles the text of [`temblor_patch::emit::c`] with the host's C
//! compiler and keeps the library from run to run; where there is no compiler it interprets too, and
//! the report says so. Patches are spread over threads in tasks, rayon's or, by name, OpenMP's; a
//! patch's result does not depend on how.

mod batch;
mod compiler;
mod engine;
mod geometry;
mod idle;
mod kernel;
mod memory;
mod room;
mod set;
mod slabs;
mod sys;
mod tasks;
mod team;

use std::sync::Arc;

use temblor_backend::{Error, PatchKernel, PatchOptions, PatchReport, Result};
use temblor_patch::Kernel;
use temblor_patch::emit::c::{self, Style};

use self::compiler::Compiler;
use self::engine::{Engine, Loops};
use self::kernel::CpuKernel;
use self::slabs::Maker;
use self::sys::Compiled;
use self::tasks::Hands;

/// Schedule of the interpreter.
const INTERPRETER: &str = "interpreter";

/// Schedules of compiled kernels and how they are printed.
// A team runs the very library of `fused`: only its hands are others.
const SCHEDULES: [(&str, Style); 6] = [
    ("fused", Style::Fused),
    ("staged", Style::Fused),
    ("plain", Style::Plain),
    ("plain-flat", Style::PlainFlat),
    (TEAMS[0], Style::Fused),
    (TEAMS[1], Style::PlainOpenMp),
];

/// Schedules for compilers with OpenMP.
const TEAMS: [&str; 2] = ["openmp", "plain-openmp"];

/// Schedules of `cpu` for a kernel, preferred first: tiles of voxels, `fused` for a kernel of one
/// stage and `staged` for others; then the plain loops; both with OpenMP where the compiler has it; then
/// the interpreter.
pub(crate) fn schedules(kernel: &Kernel) -> Vec<String> {
    let mut all = everywhere(kernel);
    if Compiler::host().is_ok_and(|compiler| team::offered(&compiler).is_ok()) {
        all.splice(3..3, TEAMS.map(String::from));
    }
    all
}

/// Schedules that need no OpenMP.
fn everywhere(kernel: &Kernel) -> Vec<String> {
    let tiles = if kernel.stages.len() == 1 { "fused" } else { "staged" };
    [tiles, "plain", "plain-flat", INTERPRETER].map(String::from).to_vec()
}

/// The hands of a schedule.
fn hands(
    backend: &str,
    kernel: &Kernel,
    schedule: &str,
    compiler: &Result<Compiler, String>,
) -> Result<Hands> {
    if !TEAMS.contains(&schedule) {
        return Ok(Hands::Rayon);
    }
    let team = compiler
        .as_ref()
        .map_err(|why| format!("{why}; install a C compiler with OpenMP or name one in CC"));
    team.and_then(team::host).map(Hands::Team).map_err(|why| Error::Unsupported {
        backend: backend.into(),
        what: format!("schedule '{schedule}' of {}: {why}", kernel.name),
    })
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
    // Whether there is OpenMP is found out for those who ask.
    let known = match &options.schedule {
        Some(wanted) if TEAMS.contains(&wanted.as_str()) => vec![wanted.clone()],
        Some(wanted) if !everywhere(kernel).contains(wanted) => schedules(kernel),
        _ => everywhere(kernel),
    };
    let schedule = choose(backend, &known, kernel, options)?;
    let Some((_, style)) = SCHEDULES.iter().find(|(name, _)| *name == schedule) else {
        return Ok(Box::new(interpreted(kernel, None)));
    };
    let compiler = Compiler::host();
    let hands = hands(backend, kernel, &schedule, &compiler)?;
    let compiler = match compiler {
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
    let engine = code(&backend, &compiler, kernel.clone(), style, contract, hands)?;
    // What goes with a kernel is printed in tiles, whatever the kernel's own schedule.
    let maker: Maker =
        Arc::new(move |kernel| code(&backend, &compiler, kernel, Style::Fused, contract, hands));
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
    hands: Hands,
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
    let code = Compiled::load(&library, &kernel, style.has_team())
        .map_err(|error| driver("loading the kernel", error.into()))?;
    let loops = match style {
        Style::Fused | Style::OpenMp => Loops::Patches,
        Style::Plain | Style::PlainFlat => Loops::Statements,
        Style::PlainOpenMp => Loops::Regions,
    };
    Ok(Engine::compiled(kernel, code, loops, hands))
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
