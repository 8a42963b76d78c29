//! `temblor patch check`: everything that can be known before a run.

use clap::Args;
use temblor_backend::{Backend, PatchKernel};
use temblor_patch::Output;
use temblor_solver::patches::{March, Side, StepRule};

use super::{DeviceArg, FileArg, mib};
use crate::backends;
use crate::patchfile::PatchJob;
use crate::patchfile::outputs::Kind;

/// Arguments of `temblor patch check`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  temblor patch check sod.toml --backend cpu")]
pub struct CheckArgs {
    /// What to check.
    #[command(flatten)]
    pub file: FileArg,
    /// Where it would run.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// Memory of a march, and what there is.
pub(super) struct Memory {
    march: u64,
    /// A chunk on the host, for outputs and restarts.
    host: u64,
    available: u64,
    on_host: bool,
}

/// Memory that a job takes on a backend. The kernel is made for it, which a run does anyway.
pub(super) fn device_memory(job: &PatchJob, backend: &dyn Backend) -> anyhow::Result<Memory> {
    let made = job.problem.make(backend, &job.options)?;
    Ok(memory(job, backend, made.as_ref()))
}

fn memory(job: &PatchJob, backend: &dyn Backend, made: &dyn PatchKernel) -> Memory {
    let problem = &job.problem;
    let patches = problem.tiling.count();
    let shape = &problem.kernel.shape;
    // The state without halo is gathered for outputs that are files of the whole box.
    let whole = 8 * (patches * shape.voxels() * shape.width()) as u64;
    let gathers = !job.outputs.is_empty();
    let on_host = backends::on_host(&backend.device().backend);
    Memory {
        march: March::bytes(&problem.kernel, made, patches, problem.spec.order),
        host: 8 * shape.input_len() as u64 + if gathers { whole } else { 0 },
        available: if on_host { backends::host_memory() } else { backend.device().memory },
        on_host,
    }
}

impl Memory {
    /// Compares what will be allocated with what there is.
    pub(super) fn check(&self) -> temblor_solver::Result<()> {
        let out = |needed: u64, available: u64| {
            let largest = format!("{} of patches", mib(self.march));
            if needed <= available {
                return Ok(());
            }
            Err(temblor_solver::Error::OutOfMemory { needed, available, largest })
        };
        if self.on_host {
            return out(self.march + self.host, self.available);
        }
        out(self.march, self.available)?;
        out(self.host, backends::host_memory())
    }
}

/// Checks a run file and prints what a run would be.
///
/// # Errors
/// What the run would fail with before its first step.
pub(super) fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let mut job = PatchJob::open(&args.file.path)?;
    print_physics(&job);
    print_domain(&job);
    let steps = print_time(&mut job)?;
    let backend = super::open(&args.device.backend, &job.problem.kernel)?;
    let device = backend.device();
    println!("backend      {} on {} ({})", device.backend, device.name, device.arch);
    let made = job.problem.make(backend.as_ref(), &job.options)?;
    print_kernel(&job, made.as_ref(), steps);
    let memory = memory(&job, backend.as_ref(), made.as_ref());
    println!(
        "memory       {} of patches, {} on the host, of {}",
        mib(memory.march),
        mib(memory.host),
        mib(memory.available)
    );
    print_outputs(&job)?;
    for warning in &job.warnings {
        println!("warning: {warning}");
    }
    memory.check()?;
    println!("ready: `temblor patch run {}`", args.file.path.display());
    Ok(())
}

fn print_physics(job: &PatchJob) {
    let kernel = &job.problem.kernel;
    let physics = &kernel.physics;
    let terms: Vec<&str> = physics.terms.iter().map(|term| term.name()).collect();
    println!("physics      {}: {}", physics.file, terms.join(", "));
    println!("unknowns     {}", physics.unknowns.join(", "));
    if !physics.auxiliary.is_empty() {
        println!("fixed        {}", physics.auxiliary.join(", "));
    }
    for (parameter, value) in kernel.parameters.iter().zip(&job.problem.parameters) {
        let kind = if parameter.integer { ", built in" } else { "" };
        println!("  {:11}{value}{kind}", parameter.name);
    }
    let kind = match kernel.shape.output {
        Output::Step => "takes an Euler step".into(),
        Output::Rate => format!("gives a rate, {} Runge-Kutta stages", job.problem.spec.order),
    };
    println!("scheme       {}: halo {}, {kind}", job.scheme.name, kernel.shape.halo);
}

fn print_domain(job: &PatchJob) {
    let tiling = &job.problem.tiling;
    let axes = usize::from(tiling.dimensions);
    let voxels = tiling.voxels();
    let text = |values: &[String]| values.join(" x ");
    let counts: Vec<String> = voxels[..axes].iter().map(ToString::to_string).collect();
    let patches: Vec<String> = tiling.patches[..axes].iter().map(ToString::to_string).collect();
    let widths: Vec<String> = tiling.spacing[..axes].iter().map(|dx| format!("{dx:.6}")).collect();
    println!(
        "domain       {} voxels of {} m, {} patches of {}^{axes}",
        text(&counts),
        text(&widths),
        text(&patches),
        tiling.cells
    );
    let side = |side: Side| format!("{side:?}").to_lowercase();
    for axis in 0..axes {
        let [low, high] = tiling.sides[axis];
        let faces =
            if low == high { side(low) } else { format!("{} to {}", side(low), side(high)) };
        println!("  {:11}{faces}", ["x", "y", "z"][axis]);
    }
}

/// Prints what is known of time; the number of steps, as far as it can be told.
fn print_time(job: &mut PatchJob) -> anyhow::Result<f64> {
    let outset = job.warn_of_start()?;
    let end = job.end;
    if let Some(speed) = outset.speed {
        println!("speed        {speed:.6} m/s at the start");
    }
    let limits = job.problem.limits();
    let rule = match job.problem.spec.rule {
        StepRule::Fixed(_) => "fixed".into(),
        StepRule::Courant(factor) => format!("courant {factor}, as long as the speed stays"),
    };
    println!("time step    {:.6e} s ({rule})", outset.time_step);
    if limits.dissipation.is_finite() {
        println!("dissipation  allows steps up to {:.6e} s", limits.dissipation);
    }
    let steps = (end / outset.time_step).ceil();
    println!("steps        about {steps}, to {end} s");
    Ok(steps)
}

fn print_kernel(job: &PatchJob, made: &dyn PatchKernel, steps: f64) {
    let kernel = &job.problem.kernel;
    let report = made.report();
    println!("kernel       {} by {}, schedule {}", kernel.name, report.made_by, report.schedule);
    if let Some(note) = &report.note {
        println!("  {note}");
    }
    println!(
        "work         {:.0} operations and at least {:.0} bytes per voxel and evaluation",
        report.flops, report.bytes
    );
    let stages = match kernel.shape.output {
        Output::Step => 1.0,
        Output::Rate => f64::from(job.problem.spec.order),
    };
    let voxels: usize = job.problem.tiling.voxels().iter().product();
    let evaluations = voxels as f64 * steps * stages;
    println!(
        "in all       {:.3} billion evaluations, {:.3e} operations",
        evaluations / 1e9,
        evaluations * report.flops
    );
}

fn print_outputs(job: &PatchJob) -> anyhow::Result<()> {
    let names = job.names();
    for spec in &job.outputs {
        let unknowns: Vec<&str> =
            spec.unknowns.iter().map(|&unknown| names[unknown].as_str()).collect();
        let kind = match spec.kind {
            Kind::Vti | Kind::Npy => "fields",
            Kind::Line { .. } => "line plot",
            Kind::Map => "map",
        };
        let when = match spec.interval {
            Some(interval) => format!("every {interval} s"),
            None => "at the end".into(),
        };
        println!("output       {}: {kind} of {}, {when}", spec.file.display(), unknowns.join(", "));
    }
    if job.problem.knows_exact()? {
        println!("errors       against `exact`, printed at the end");
    }
    Ok(())
}
