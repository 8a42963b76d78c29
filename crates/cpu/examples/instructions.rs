//! A few steps for an instruction counter: `instructions VARIANT zero|cpml`, AVX2, random fields.
//!
//! `.ci/lanes/instructions` runs it under callgrind and counts inside `counted_steps` alone. Prints
//! the points times steps that were counted. Rows are so long that tiles have their fewest rows
//! whatever the size of the second-level cache (up to 2 MiB), so that machines agree.

use ndarray::Array3;
use temblor_backend::{Backend, Field, PlanOptions, Propagator, Region};
use temblor_cpu::{CpuBackend, Isa};
use temblor_physics::{Boundaries, Boundary, Cpml, Grid, WaveProblem};

const SHAPE: [usize; 3] = [16, 16, 1536];

/// Steps that are counted: whole passes of every variant.
const STEPS: u32 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [variant, boundary] = arguments.as_slice() else {
        return Err("usage: instructions VARIANT zero|cpml".into());
    };
    let boundary = match boundary.as_str() {
        "zero" => Boundary::Zero,
        "cpml" => Boundary::Cpml(Cpml { cells: 6, r0: 1e-6, peak_hz: 20.0, vmax: 3000.0 }),
        other => return Err(format!("boundary {other}: zero or cpml").into()),
    };
    let grid = Grid::new(SHAPE, [10.0; 3], [0.0; 3])?;
    let boundaries = Boundaries::uniform(boundary);
    let problem = WaveProblem::builder(grid, 1e-3).boundaries(boundaries).build()?;
    let backend = CpuBackend::with_isa(Isa::Avx2).ok_or("this processor has no AVX2")?;
    let mut plan = backend.propagator(&problem, &PlanOptions::default().variant(variant))?;
    // Instructions are counted, not roundings: the cheapest random numbers do.
    let mut state = 1_u32;
    let mut random = |low: f32, high: f32| {
        Array3::from_shape_simple_fn(SHAPE, || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, ..] = state.to_be_bytes();
            low + (high - low) * f32::from(u16::from_be_bytes([a, b])) / 65_536.0
        })
    };
    let (speed, p) = (random(1500.0, 3000.0), random(-0.5, 0.5));
    plan.upload(Field::WaveSpeed, Region::whole(SHAPE), speed.view().into())?;
    plan.upload(Field::Pressure, Region::whole(SHAPE), p.view().into())?;
    // The first steps look through the wave speed and start the threads.
    plan.advance(STEPS)?;
    counted_steps(plan.as_mut())?;
    println!("{}", grid.points() * u64::from(STEPS));
    Ok(())
}

/// What is counted.
#[inline(never)]
fn counted_steps(plan: &mut dyn Propagator) -> temblor_backend::Result<()> {
    plan.advance(STEPS)
}
