//! Writes the text of shipped kernels for a GPU, a file each:
//! `cargo run -p temblor-patch --example emit_gpu -- cuda|hip|opencl FOLDER`.
//!
//! Every physics with every scheme that takes it, in two and three dimensions, by one schedule of each
//! way; the lane `patch-gpu` gives them to compilers.

use std::path::Path;
use std::sync::Arc;

use temblor_patch::emit::gpu::{Dialect, Layouts, Schedule, emit};
use temblor_patch::{Physics, Plan, Request, Scheme, library, lower, shipped};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "give cuda, hip or opencl, and a folder";
    let (Some(language), Some(folder)) = (arguments.first(), arguments.get(1)) else {
        return Err(usage.into());
    };
    let (dialect, extension) = match language.as_str() {
        "cuda" => (Dialect::Cuda, "cu"),
        "hip" => (Dialect::Hip, "hip"),
        "opencl" => (Dialect::OpenCl, "cl"),
        _ => return Err(usage.into()),
    };
    let mut count = 0;
    for (physics, _) in library::shipped() {
        let physics = Arc::new(Physics::shipped(physics)?);
        for (scheme, _) in shipped::SCHEMES {
            let scheme = Scheme::shipped(scheme)?;
            for (dimensions, cells) in [(2, 4), (3, 3)] {
                for schedule in
                    ["tile-t128-b2", "direct-t64", "flat-t128-b2-r40-g2", "flat-t64-l8", "unfused"]
                {
                    let plan = if schedule == "unfused" { Plan::Unfused } else { Plan::Fused };
                    let request = Request::new(dimensions, cells).with_plan(plan);
                    // Some physics lack what a scheme calls.
                    let Ok(kernel) = lower(&scheme, &physics, &request) else { continue };
                    let schedule_of = Schedule::parse(schedule)?;
                    let layouts = Layouts::resident(&kernel, &schedule_of);
                    let program = emit(&kernel, &schedule_of, &layouts, dialect)?;
                    let way = schedule.replace("flat-t64-l8", "beside");
                    let way = way.split('-').next().unwrap_or_default();
                    let file = format!("{}_{way}.{extension}", kernel.name);
                    std::fs::write(Path::new(folder).join(file), program.source)?;
                    count += 1;
                }
            }
        }
    }
    println!("{count} kernels in {language}");
    Ok(())
}
