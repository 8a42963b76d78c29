//! `temblor patch emit`: a kernel at any stage of its making.

use clap::{Args, ValueEnum};
use temblor_patch::emit::c::{self, Style};
use temblor_patch::emit::gpu::{self, Dialect, Layouts, Schedule};
use temblor_patch::{Kernel, describe, lower};

use super::FileArg;
use crate::exit::Failure;
use crate::patchfile::{PatchJob, is_unfused};

/// Stages of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StageName {
    /// The scheme as read
    Scheme,
    /// Its statements for this physics, directions written out, with ranges
    Expanded,
    /// The stages that run, with their memory and work
    Lowered,
    /// The arithmetic of the stages that run
    Graph,
    /// C for the host
    C,
    /// CUDA C++
    Cuda,
    /// HIP C++
    Hip,
    /// `OpenCL` C
    Opencl,
}

/// Arguments of `temblor patch emit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  temblor patch emit sod.toml --stage scheme
  temblor patch emit sod.toml --stage cuda --schedule direct-t256-b3")]
pub struct EmitArgs {
    /// Whose kernel.
    #[command(flatten)]
    pub file: FileArg,
    /// Which stage
    #[arg(long, value_enum, value_name = "STAGE")]
    pub stage: StageName,
    /// Schedule of c, cuda, hip and opencl [default: the run file's, or the preferred one]
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,
}

/// Prints a stage.
///
/// # Errors
/// Bad input, as for a run; a schedule that there is not.
pub(super) fn run(args: &EmitArgs) -> anyhow::Result<()> {
    let job = PatchJob::open(&args.file.path)?;
    let mut request = job.request.clone();
    let schedule = args.schedule.clone().or_else(|| job.options.schedule.clone());
    if let Some(name) = &schedule
        && is_unfused(name)
    {
        request = request.with_plan(temblor_patch::Plan::Unfused);
    }
    let physics = &job.problem.kernel.physics;
    let kernel = lower(&job.scheme, physics, &request).map_err(Failure::input)?;
    let text = match args.stage {
        StageName::Scheme => job.scheme.to_string(),
        StageName::Expanded => temblor_patch::lower::expanded(&job.scheme, physics, &request)
            .map_err(Failure::input)?,
        StageName::Lowered => describe::lowered(&kernel),
        StageName::Graph => describe::graph(&kernel),
        StageName::C => for_host(&kernel, schedule.as_deref())?,
        StageName::Cuda => for_gpu(&kernel, schedule.as_deref(), Dialect::Cuda)?,
        StageName::Hip => for_gpu(&kernel, schedule.as_deref(), Dialect::Hip)?,
        StageName::Opencl => for_gpu(&kernel, schedule.as_deref(), Dialect::OpenCl)?,
    };
    print!("{text}");
    Ok(())
}

fn for_host(kernel: &Kernel, schedule: Option<&str>) -> anyhow::Result<String> {
    let style = match schedule {
        // On threads of OpenMP's the text is that of one of them.
        None | Some("fused" | "staged" | "openmp") => Style::Fused,
        Some("plain") => Style::Plain,
        Some("plain-flat") => Style::PlainFlat,
        Some("plain-openmp") => Style::PlainOpenMp,
        Some(name) => {
            let message =
                format!("--schedule {name}: C has fused, plain, plain-flat and plain-openmp");
            return Err(Failure::input(message).into());
        }
    };
    Ok(c::emit(kernel, &c::Options::new(style)).map_err(Failure::input)?)
}

fn for_gpu(kernel: &Kernel, schedule: Option<&str>, dialect: Dialect) -> anyhow::Result<String> {
    // The shared memory of a block that every card of the last ten years has.
    let preferred = gpu::candidates(kernel, 48 << 10, false);
    let name = schedule.or_else(|| preferred.first().map(String::as_str)).unwrap_or("direct");
    let schedule = Schedule::parse(name).map_err(Failure::input)?;
    let program = gpu::emit(kernel, &schedule, &Layouts::chunks(kernel), dialect);
    Ok(program.map_err(Failure::input)?.source)
}
