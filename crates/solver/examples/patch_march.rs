//! Times whole marches on patches, all that a time loop does included:
//! `patch_march PHYSICS SCHEME CELLS PATCHES STEPS` marches a periodic box of PATCHES^3 patches of
//! CELLS^3 voxels and prints voxels per second, the best of three marches. `ORDER` is the order of the
//! Runge-Kutta method where the scheme gives a rate, 4 where it is not set; `SCHEDULE` names the kernel's.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use temblor_backend::{Backend, PatchOptions};
use temblor_cpu::CpuBackend;
use temblor_patch::{Output, Physics, Plan, Request, Scheme, lower};
use temblor_solver::patches::{March, MarchSpec, Side, StepRule, Tiling};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [physics, scheme, cells, patches, steps] = arguments.as_slice() else {
        return Err("patch_march PHYSICS SCHEME CELLS PATCHES STEPS".into());
    };
    let (cells, patches, steps): (u16, usize, u64) =
        (cells.parse()?, patches.parse()?, steps.parse()?);
    let physics = Arc::new(Physics::shipped(physics)?);
    let schedule = std::env::var("SCHEDULE").ok();
    let mut request = Request::new(3, cells);
    let mut options = PatchOptions::new(true);
    if let Some(schedule) = schedule {
        if schedule.starts_with("plain") {
            request = request.with_plan(Plan::Unfused);
        }
        options = options.with_schedule(schedule);
    }
    let kernel = lower(&Scheme::shipped(scheme)?, &physics, &request)?;
    let made = CpuBackend::new().patch_kernel(&kernel, &options)?;
    let sides = [[Side::Periodic; 2]; 3];
    let tiling = Tiling::new(3, cells, [patches; 3], [0.0; 3], [1.0; 3], sides)?;
    let by_rate = kernel.shape.output == Output::Rate;
    let order = std::env::var("ORDER").map_or(Ok(4), |order| order.parse())?;
    let spec = MarchSpec {
        order: if by_rate { order } else { 1 },
        rule: StepRule::Courant(0.2),
        dissipation: 0.0,
        check_every: 10,
    };
    let mut march = March::new(&kernel, made.as_ref(), &tiling, spec)?;
    let last = kernel.shape.width() - 1;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        march.fill(0.0, |at, values| {
            values.fill(0.0);
            values[0] = 1.0 + 0.1 * (std::f64::consts::TAU * (at[0] + at[1])).sin();
            values[last] = 2.5;
        })?;
        let start = Instant::now();
        march.advance(f64::INFINITY, |status| {
            if status.step < steps { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let voxels = (usize::from(cells) * patches).pow(3) as f64;
    println!(
        "{}, {patches}^3 patches, {} stages: {:.2} million voxels per second and stage",
        kernel.name,
        march.stages(),
        voxels * steps as f64 * march.stages() as f64 / best / 1e6
    );
    Ok(())
}
