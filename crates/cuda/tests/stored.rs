//! Reduced storage: on a card (`cargo test -p temblor-cuda -- --ignored`, an NVIDIA device is needed),
//! and with the same kernels compiled for the CPU behind a stand-in for the driver. What passes there
//! has not run on a card.

mod cases;
mod host;
mod oracle;
#[path = "host/probe.rs"]
mod probe;
#[path = "cases/stored.rs"]
mod stored;

use stored::{
    bad_values_are_found_or_refused, layered_traces, layers_and_walls_agree_with_f64,
    layers_are_the_same_bits_by_either_kernel, one_step_is_within_the_codecs_bound,
    runs_are_the_same_bits_however_made, uploads_are_rounded_as_defined,
};
use temblor_backend::{Backend, PlanOptions};
use temblor_cuda::CudaBackend;
use temblor_physics::WavefieldStorage;

/// Runs a part of `probe_stand_in` behind the stand-in.
fn on_cpu(part: &str, backwards: bool) {
    probe::on_cpu("driver.cpp", part, backwards);
}

#[test]
fn int16_kernels_on_a_cpu_agree_with_the_definition_and_with_f64() {
    assert!(host::run("int16.cpp", &[]).contains("all as it should be"));
}

#[test]
fn stored_uploads_on_a_cpu_are_rounded_as_defined() {
    on_cpu("uploads", true);
}

#[test]
fn stored_steps_on_a_cpu_are_within_the_codecs_bound() {
    on_cpu("steps", true);
}

#[test]
fn stored_runs_on_a_cpu_are_the_same_bits() {
    on_cpu("bits", false);
}

#[test]
fn stored_layers_and_walls_on_a_cpu_agree_with_f64() {
    on_cpu("layers", false);
}

#[test]
fn stored_layers_on_a_cpu_are_the_same_bits_by_either_kernel() {
    on_cpu("layers by either", true);
}

fn card() -> CudaBackend {
    CudaBackend::new(0).expect("a device")
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn stored_layers_and_walls_agree_with_f64_on_a_card() {
    let shapes = [[33, 17, 65], [70, 40, 83], [40, 1, 51]];
    layers_and_walls_agree_with_f64(&card(), &shapes, &[2, 8, 16]);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn stored_steps_are_within_the_codecs_bound_on_a_card() {
    let all: Vec<String> = WavefieldStorage::ALL
        .iter()
        .flat_map(|w| [w.name().to_owned(), format!("{}+u16", w.name())])
        .filter(|name| name != "f32")
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let walls = ["zero", "cpml", "minimod", "cpml and walls", "minimod and walls"];
    one_step_is_within_the_codecs_bound(&card(), &[[33, 17, 65]], 8, &all, &walls);
    // More than a tile along y and z.
    let tuned = ["int16", "int16+u16", "int16-increment", "int16-increment+u16"];
    for order in [4, 6, 8] {
        let shapes = [[24, 140, 352]];
        one_step_is_within_the_codecs_bound(&card(), &shapes, order, &tuned, &walls[..2]);
    }
}

/// All storage and both variants on grids small enough for compute-sanitizer.
#[test]
#[ignore = "needs an NVIDIA device"]
fn small_runs_of_stored_fields() {
    let (backend, walls) = (card(), ["cpml and walls", "minimod and walls"]);
    let shapes = [[14, 20, 105]];
    let wide = ["int16", "int16+u16", "int16-increment", "int16-increment+u16"];
    let others = ["fp16", "fp16-scaled+u16", "bf16", "bf16x2+u16", "f32+u16"];
    for names in [&wide[..], &others] {
        one_step_is_within_the_codecs_bound(&backend, &shapes, 8, names, &walls);
    }
    // Other radii have rings of other sizes.
    for order in [4, 6] {
        one_step_is_within_the_codecs_bound(&backend, &shapes, order, &wide, &["zero"]);
    }
    runs_are_the_same_bits_however_made(&backend, [15, 16, 105], &wide[1..2]);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn stored_runs_are_the_same_bits_on_a_card() {
    let names = ["int16+u16", "int16-increment+u16", "fp16-scaled", "bf16x2"];
    runs_are_the_same_bits_however_made(&card(), [40, 70, 183], &names);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn stored_layers_are_the_same_bits_by_either_kernel_on_a_card() {
    let names = ["int16", "int16+u16", "int16-increment", "int16-increment+u16"];
    layers_are_the_same_bits_by_either_kernel(&card(), &names);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn stored_uploads_are_rounded_as_defined_on_a_card() {
    uploads_are_rounded_as_defined(&card());
    bad_values_are_found_or_refused(&card());
}

/// As for single precision in `card.rs`: an allocation takes whole pages of 2 MiB.
#[test]
#[ignore = "needs an NVIDIA device"]
fn a_stored_plan_takes_the_memory_of_its_footprint() {
    let backend = card();
    for name in ["int16+u16", "int16-increment", "bf16x2+u16"] {
        let boundaries = temblor_physics::Boundaries::uniform(cases::cpml(20));
        let problem = stored::stored([200, 210, 320], 8, boundaries, name);
        let options = PlanOptions::new(1000, 50).speeds(1500.0, 3000.0);
        // Modules are loaded and the driver's own pools filled by a first plan.
        drop(backend.propagator(&problem, &options).expect("a plan"));
        let footprint = backend.footprint(&problem, &options).expect("a footprint");
        let before = backend.free_memory().expect("free memory");
        let plan = backend.propagator(&problem, &options).expect("a plan");
        let taken = before - backend.free_memory().expect("free memory");
        drop(plan);
        let (total, items) = (footprint.total(), footprint.items.len() as u64);
        let slack = total / 50 + items * (2 << 20);
        assert!(taken.abs_diff(total) <= slack, "{name}: {taken} taken, {footprint:?}");
    }
}

/// Traces of 2,000 steps near the CFL limit in a layered model against single precision with unrounded
/// wave speeds, relative L2, as `temblor_physics` states them.
#[test]
#[ignore = "needs an NVIDIA device"]
fn stored_traces_of_a_layered_run_stay_near_those_of_f32() {
    let backend = card();
    let reference = layered_traces(&backend, "f32");
    for (name, most) in [
        ("f32+u16", 5e-4),
        ("bf16x2", 5e-4),
        ("int16-increment", 2e-3),
        ("int16-increment+u16", 2e-3),
        ("int16+u16", 5e-3),
    ] {
        let traces = layered_traces(&backend, name);
        let square = |a: &ndarray::Array2<f64>| a.iter().map(|v| v * v).sum::<f64>();
        let error = (square(&(&traces - &reference)) / square(&reference)).sqrt();
        println!("{name}: {error:.2e}");
        assert!(error <= most, "{name}: {error:e}");
    }
}

/// Run by the tests on a CPU.
#[test]
#[ignore = "run by the other tests"]
fn probe_stand_in() {
    let backend = card();
    let part = std::env::var("PART").expect("set by the test");
    match part.as_str() {
        "uploads" => {
            uploads_are_rounded_as_defined(&backend);
            bad_values_are_found_or_refused(&backend);
        }
        "steps" => {
            let shapes = [[14, 20, 105]];
            let names = ["int16+u16", "int16-increment", "fp16-scaled", "fp16+u16"];
            one_step_is_within_the_codecs_bound(&backend, &shapes, 8, &names, &["cpml and walls"]);
            let names = ["int16", "int16-increment+u16", "bf16", "bf16x2+u16"];
            one_step_is_within_the_codecs_bound(&backend, &shapes, 8, &names, &["zero"]);
            // Other radii have rings of other sizes.
            for order in [4, 6] {
                let names = ["int16-increment+u16", "int16"];
                one_step_is_within_the_codecs_bound(&backend, &shapes, order, &names, &["zero"]);
            }
        }
        "layers by either" => {
            let names = ["int16+u16", "int16-increment"];
            layers_are_the_same_bits_by_either_kernel(&backend, &names);
        }
        "bits" => {
            let names = ["int16-increment+u16"];
            runs_are_the_same_bits_however_made(&backend, [15, 16, 105], &names);
        }
        _ => {
            layers_and_walls_agree_with_f64(&backend, &[[13, 16, 45], [17, 1, 40]], &[4, 8]);
            layers_and_walls_agree_with_f64(&backend, &[[12, 13, 33]], &[16]);
        }
    }
    println!("{part} as it should be");
}
