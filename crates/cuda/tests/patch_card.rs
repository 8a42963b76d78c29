//! Patch kernels on a card against the interpreter. These need an NVIDIA device and NVRTC:
//! `cargo test --release -p temblor-cuda --test patch_card -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

mod patches;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use patches::{cells, chunk, interior, kernel};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Cell, PatchOptions};
use temblor_cuda::CudaBackend;
use temblor_patch::emit::is_library_call;
use temblor_patch::{Kernel, Output, Plan, interpret};

struct Sample {
    cells: Vec<Cell>,
    inputs: Vec<Vec<f64>>,
    outputs: Vec<Vec<f64>>,
    speeds: Vec<f64>,
}

/// Chunks and what the interpreter makes of them.
fn sample(kernel: &Kernel, count: usize) -> Sample {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let inputs: Vec<Vec<f64>> = (0..count).map(|_| chunk(kernel, &mut rng, f64::NAN)).collect();
    let mut outputs = vec![vec![0.0; kernel.shape.output_len()]; count];
    let mut speeds = vec![0.0; count];
    let views: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
    let mut into: Vec<&mut [f64]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    let parameters: Vec<f64> = kernel.parameters.iter().map(|p| p.default).collect();
    let cells = cells(count);
    interpret(kernel, &parameters, &cells, &views, &mut into, &mut speeds).unwrap();
    Sample { cells, inputs, outputs, speeds }
}

/// Largest difference over the largest value, 0 for equal bits but the signs of zeros.
fn apart(got: &[f64], want: &[f64]) -> f64 {
    let largest = want.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let bits = |v: f64| (v + 0.0).to_bits();
    let differs = got.iter().zip(want).filter(|(a, b)| bits(**a) != bits(**b));
    let error = differs.map(|(a, b)| if a.is_finite() { (a - b).abs() } else { f64::INFINITY });
    error.fold(0.0, f64::max) / largest
}

/// A schedule's results for chunks from the host and for patches on the device.
fn check(backend: &CudaBackend, kernel: &Kernel, sample: &Sample, schedule: &str) {
    let name = format!("{} by {schedule}", kernel.name);
    let bound = if kernel.graph.nodes().iter().any(is_library_call) { 1e-13 } else { 0.0 };
    let options = PatchOptions::new(false).with_schedule(schedule);
    let mut made = backend.patch_kernel(kernel, &options).unwrap();
    let count = sample.inputs.len();
    let views: Vec<&[f64]> = sample.inputs.iter().map(Vec::as_slice).collect();
    let mut outputs = vec![vec![f64::NAN; kernel.shape.output_len()]; count];
    let mut into: Vec<&mut [f64]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    let mut speeds = vec![f64::NAN; if kernel.speeds { count } else { 0 }];
    made.apply(&sample.cells, &views, &mut into, &mut speeds).unwrap();
    let worst = outputs.iter().zip(&sample.outputs).map(|(a, b)| apart(a, b)).fold(0.0, f64::max);
    assert!(worst <= bound, "{name}, chunks: {worst:e}");
    if kernel.speeds {
        let worst = apart(&speeds, &sample.speeds);
        assert!(worst <= bound, "{name}, speeds: {worst:e}");
    }
    let step = kernel.shape.output == Output::Step;
    let mut set = made.patches(&sample.cells, 2, usize::from(!step)).unwrap();
    for (k, input) in sample.inputs.iter().enumerate() {
        set.upload(0, k, input).unwrap();
        set.upload(1, k, input).unwrap();
    }
    if step {
        set.evaluate(0, 1).unwrap();
    } else {
        set.evaluate(0, 0).unwrap();
        set.combine(1, 0, &[(0.5, 0)]).unwrap();
    }
    for (k, input) in sample.inputs.iter().enumerate() {
        let mut state = vec![0.0; input.len()];
        set.download(1, k, &mut state).unwrap();
        let got = interior(kernel, &state);
        let want = if step {
            sample.outputs[k].clone()
        } else {
            let base = interior(kernel, input);
            base.iter().zip(&sample.outputs[k]).map(|(base, rate)| base + 0.5 * rate).collect()
        };
        let worst = apart(&got, &want);
        assert!(worst <= bound, "{name}, patch {k} on the device: {worst:e}");
    }
}

/// Checks schedules in parallel: compiling takes longest.
fn check_all(cases: &[(String, Arc<Kernel>, Arc<Sample>)]) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let backend = CudaBackend::new(0).unwrap();
                while let Some((schedule, kernel, sample)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let run =
                        std::panic::AssertUnwindSafe(|| check(&backend, kernel, sample, schedule));
                    if let Err(panic) = std::panic::catch_unwind(run) {
                        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        failures.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    println!("{} schedules checked, {} failed", cases.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn cases(list: &[(&str, &str, u8, u16)], all: bool) -> Vec<(String, Arc<Kernel>, Arc<Sample>)> {
    let backend = CudaBackend::new(0).unwrap();
    let mut cases = Vec::new();
    for &(physics, scheme, d, p) in list {
        let unfused = kernel(physics, scheme, d, p, Plan::Unfused);
        let (Some(unfused), Some(fused)) = (unfused, kernel(physics, scheme, d, p, Plan::Fused))
        else {
            continue;
        };
        let sample = Arc::new(sample(&unfused, 5));
        let fused = Arc::new(fused);
        let count = if all { usize::MAX } else { 2 };
        for name in backend.patch_schedules(&fused).unwrap().into_iter().take(count) {
            cases.push((name, fused.clone(), sample.clone()));
        }
        cases.push(("unfused".into(), Arc::new(unfused), sample.clone()));
    }
    cases
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn every_schedule_of_euler_and_ccz4_equals_the_interpreter() {
    let mut list = Vec::new();
    for scheme in ["rusanov", "fd4"] {
        list.extend([(3, 3), (3, 6), (2, 6)].map(|(d, p)| ("euler", scheme, d, p)));
        list.push(("ccz4", scheme, 3, 3));
    }
    list.extend([("euler", "rusanov", 3, 16), ("ccz4", "fd4", 3, 6), ("euler", "godunov", 3, 4)]);
    check_all(&cases(&list, true));
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn all_shipped_physics_and_schemes_equal_the_interpreter() {
    let mut list = Vec::new();
    for physics in ["euler", "acoustics", "elastics", "shallow_water", "advection"] {
        for scheme in ["rusanov", "fd4", "godunov", "dg"] {
            for (d, p) in [(2, 3), (2, 5), (3, 3), (3, 4)] {
                list.push((physics, scheme, d, p));
            }
        }
    }
    let cases = cases(&list, false);
    assert!(cases.len() > 60, "{} cases: shipped kernels are missing", cases.len());
    check_all(&cases);
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn ccz4_runs_without_spills_by_the_schedule_of_choice() {
    let backend = CudaBackend::new(0).unwrap();
    for (scheme, p) in [("rusanov", 6), ("fd4", 6)] {
        for contract in [false, true] {
            let kernel = kernel("ccz4", scheme, 3, p, Plan::Fused).unwrap();
            let made = backend.patch_kernel(&kernel, &PatchOptions::new(contract)).unwrap();
            println!("{}: {:?}", kernel.name, made.report());
            assert_eq!(made.report().spills, Some(0), "{}: {:?}", kernel.name, made.report());
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_search_finds_a_schedule_that_is_taken_from_then_on() {
    let backend = CudaBackend::new(0).unwrap();
    // A size that no table of measured schedules has.
    let kernel = kernel("euler", "fd4", 3, 5, Plan::Fused).unwrap();
    let searching = PatchOptions::new(true).with_schedule("search");
    let start = std::time::Instant::now();
    let found = backend.patch_kernel(&kernel, &searching).unwrap();
    println!("{} in {:.1} s: {:?}", kernel.name, start.elapsed().as_secs_f64(), found.report());
    let start = std::time::Instant::now();
    let taken = backend.patch_kernel(&kernel, &PatchOptions::new(true)).unwrap();
    println!("again in {:.2} s", start.elapsed().as_secs_f64());
    assert_eq!(taken.report().schedule, found.report().schedule);
}
