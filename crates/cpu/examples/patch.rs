//! Times the schedules of a patch kernel against each other, in turns, in one run:
//! `patch PHYSICS SCHEME DIMENSIONS CELLS PATCHES...` prints ns per voxel and the ratio to the plain
//! loops. `PHYSICS` is a shipped name or a C file, `SCHEME` a shipped name. `ONLY` names the schedules,
//! `SECONDS` says for how long a row is measured (1), at least three turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use temblor_backend::{Backend, Cell, PatchKernel, PatchOptions};
use temblor_cpu::CpuBackend;
use temblor_patch::{Kernel, Physics, Plan, Request, Scheme, lower};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [physics, scheme, dimensions, cells, patches @ ..] = arguments.as_slice() else {
        return Err("patch PHYSICS SCHEME DIMENSIONS CELLS PATCHES...".into());
    };
    let physics = Arc::new(match std::fs::read_to_string(physics) {
        Ok(text) => Physics::from_c(physics, &text)?,
        Err(_) => Physics::shipped(physics)?,
    });
    let scheme = Scheme::shipped(scheme)?;
    let staged = ["F", "G", "D", "C"].iter().map(|name| (*name).to_owned());
    let staged: Vec<String> =
        staged.filter(|name| scheme.blocks[2..].iter().any(|block| block.name == *name)).collect();
    let staged_names = std::env::var("STAGED").map_or(staged, |names| {
        names.split(',').filter(|name| !name.is_empty()).map(String::from).collect()
    });
    let backend = CpuBackend::new();
    let mut made: Vec<(&str, Kernel, Box<dyn PatchKernel>)> = Vec::new();
    for (schedule, plan) in [
        ("plain", Plan::Unfused),
        ("plain-flat", Plan::Unfused),
        ("fused", Plan::Fused),
        ("staged", Plan::Staged(staged_names)),
        ("plain-openmp", Plan::Unfused),
        ("openmp", Plan::Fused),
    ] {
        if std::env::var("ONLY").is_ok_and(|only| !only.split(',').any(|name| name == schedule)) {
            continue;
        }
        let request = Request::new(dimensions.parse()?, cells.parse()?).with_plan(plan);
        let kernel = lower(&scheme, &physics, &request)?;
        let schedule =
            if schedule == "staged" && kernel.stages.len() == 1 { "fused" } else { schedule };
        let start = Instant::now();
        let options = PatchOptions::new(std::env::var_os("CONTRACT").is_some());
        let compiled = backend.patch_kernel(&kernel, &options.with_schedule(schedule))?;
        eprintln!(
            "{schedule}: {} stages, {} nodes, {:.0} flops, {} in {:.2} s",
            kernel.stages.len(),
            kernel.graph.nodes().len(),
            kernel.flops(),
            compiled.report().made_by,
            start.elapsed().as_secs_f64()
        );
        made.push((schedule, kernel, compiled));
    }
    for patches in patches {
        time(&mut made, &physics.name, patches.parse()?)?;
    }
    Ok(())
}

fn time(
    made: &mut [(&str, Kernel, Box<dyn PatchKernel>)],
    physics: &str,
    patches: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let shape = made[0].1.shape;
    let width = shape.width();
    let noise = |place: usize| ((place * 7919 % 1013) as f64 / 1013.0 - 0.5) * 1e-2;
    let rest = |unknown: usize| match (physics, unknown) {
        ("ccz4", 0 | 3 | 5 | 16 | 54) => 1.0,
        ("ccz4", _) => 0.0,
        (_, 0) => 1.0,
        (_, last) if last + 1 == width => 2.5,
        _ => 0.0,
    };
    let chunk: Vec<f64> =
        (0..shape.input_len()).map(|place| rest(place % width) + noise(place)).collect();
    // By all threads, as whoever computes them would leave them; large ones take minutes otherwise.
    let inputs: Vec<Vec<f64>> = (0..patches).into_par_iter().map(|_| chunk.clone()).collect();
    let inputs: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
    let cell = Cell { centre: [0.0; 3], size: [1.0; 3], time: 0.0, time_step: 1e-3 };
    let cells = vec![cell; patches];
    let zeros = |_| (0..patches).map(|_| vec![0.0; shape.output_len()]).collect();
    let mut outputs: Vec<Vec<Vec<f64>>> = made.iter().map(zeros).collect();
    let seconds: f64 = std::env::var("SECONDS").map_or(Ok(1.0), |text| text.parse())?;
    let mut best = vec![f64::INFINITY; made.len()];
    let mut results = Vec::new();
    let begin = Instant::now();
    let mut rounds = 0;
    let teams = made.iter().any(|(schedule, ..)| schedule.contains("openmp"));
    while rounds < 3 || begin.elapsed().as_secs_f64() < seconds {
        for (place, (_, _, kernel)) in made.iter_mut().enumerate() {
            let own = &mut outputs[place];
            let mut slices: Vec<&mut [f64]> = own.iter_mut().map(Vec::as_mut_slice).collect();
            // Calls one after the other, as marches and engines make them.
            let repeats = (20_000 / (patches * shape.voxels())).max(1);
            // OpenMP's threads look for more work after a call, on cores that the next schedule needs.
            if teams {
                std::thread::sleep(Duration::from_millis(30));
            }
            // Once untimed: the pages of new memory come when they are first written, slabs are compiled
            // when first used.
            kernel.apply(&cells, &inputs, &mut slices, &mut [])?;
            let start = Instant::now();
            for _ in 0..repeats {
                kernel.apply(&cells, &inputs, &mut slices, &mut [])?;
            }
            best[place] = best[place].min(start.elapsed().as_secs_f64() / repeats as f64);
            if rounds == 0 {
                results.push(outputs[place][0].clone());
            }
        }
        rounds += 1;
    }
    let voxels = (patches * shape.voxels()) as f64;
    let largest = results[0].iter().fold(0.0f64, |a, b| a.max(b.abs()));
    for (place, (schedule, kernel, _)) in made.iter().enumerate() {
        let difference =
            results[place].iter().zip(&results[0]).fold(0.0f64, |d, (a, b)| d.max((a - b).abs()));
        println!(
            "{} {schedule} K {patches}: {:.2} ns/voxel, {:.2} times as fast as {}, |difference| {:.0e}",
            kernel.name,
            best[place] * 1e9 / voxels,
            best[0] / best[place],
            made[0].0,
            difference / largest
        );
    }
    Ok(())
}
