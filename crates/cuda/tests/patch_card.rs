//! Patch kernels on a card against the interpreter. These need an NVIDIA device and NVRTC:
//! `cargo test --release -p temblor-cuda --test patch_card -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Beyond, Cell, PatchOptions, PatchSet};
use temblor_cuda::CudaBackend;
use temblor_patch::emit::is_library_call;
use temblor_patch::{Kernel, Output, Physics, Plan, Request, Scheme, Term, interpret, lower};

fn kernel(physics: &str, scheme: &str, d: u8, p: u16, plan: Plan) -> Option<Kernel> {
    let physics = Arc::new(Physics::shipped(physics).unwrap());
    let integers = if physics.name == "ccz4" {
        vec![("lapse".into(), 1), ("s".into(), 1), ("bs".into(), 1)]
    } else {
        Vec::new()
    };
    let request = Request::new(d, p).with_plan(plan).with_integers(integers);
    // Some physics lack what a scheme calls.
    lower(&Scheme::shipped(scheme).unwrap(), &physics, &request).ok()
}

/// A chunk near a state in which every term is defined; edges and corners of the halo as given.
fn chunk(kernel: &Kernel, rng: &mut ChaCha8Rng, corner: f64) -> Vec<f64> {
    let block = &kernel.blocks[0];
    let (d, p) = (usize::from(kernel.shape.dimensions), kernel.shape.cells.cast_signed());
    let rest = |u: usize| match kernel.physics.name.as_str() {
        "euler" => [1.0, 0.0, 0.0, 0.0, 3.0].get(u).copied().unwrap_or(0.0),
        "ccz4" => f64::from(u8::from([0, 3, 5, 16, 54].contains(&u))),
        _ => 1.0,
    };
    let mut values = vec![0.0; kernel.shape.input_len()];
    for z in block.low[2]..block.high[2] {
        for y in block.low[1]..block.high[1] {
            for x in block.low[0]..block.high[0] {
                let outside = [x, y, z][..d].iter().filter(|&&i| i < 0 || i >= p).count();
                for u in 0..kernel.shape.width() {
                    let value = rest(u) + rng.random_range(-0.1..0.1);
                    values[block.offset([x, y, z]) + u] = if outside > 1 { corner } else { value };
                }
            }
        }
    }
    values
}

fn cells(count: usize) -> Vec<Cell> {
    let cell = |k: usize| {
        let k = k as f64;
        Cell {
            centre: [0.1 + k, -0.2 * k, 0.3],
            size: [1.0 + 0.1 * k, 1.3, 0.9],
            time: 0.25 * k,
            time_step: 1e-3 * (1.0 + 0.1 * k),
        }
    };
    (0..count).map(cell).collect()
}

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

/// The interior of a state after a step, or base + rate, as an output chunk has it.
fn interior(kernel: &Kernel, state: &[f64]) -> Vec<f64> {
    let (input, output) = (&kernel.blocks[0], &kernel.blocks[1]);
    let mut values = vec![0.0; kernel.shape.output_len()];
    for z in output.low[2]..output.high[2] {
        for y in output.low[1]..output.high[1] {
            for x in output.low[0]..output.high[0] {
                let (from, to) = (input.offset([x, y, z]), output.offset([x, y, z]));
                let width = kernel.shape.output_width();
                values[to..to + width].copy_from_slice(&state[from..from + width]);
            }
        }
    }
    values
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
fn the_order_of_cells_changes_no_bit() {
    let backend = CudaBackend::new(0).unwrap();
    let kernel = kernel("euler", "rusanov", 3, 6, Plan::Fused).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let count = 1000;
    let inputs: Vec<Vec<f64>> = (0..count).map(|_| chunk(&kernel, &mut rng, 0.0)).collect();
    let cells = cells(count);
    for contract in [false, true] {
        let mut made = backend.patch_kernel(&kernel, &PatchOptions::new(contract)).unwrap();
        let mut run = |order: &[usize]| {
            let views: Vec<&[f64]> = order.iter().map(|&k| inputs[k].as_slice()).collect();
            let cells: Vec<Cell> = order.iter().map(|&k| cells[k]).collect();
            let mut outputs = vec![vec![f64::NAN; kernel.shape.output_len()]; order.len()];
            let mut into: Vec<&mut [f64]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
            let mut speeds = vec![f64::NAN; order.len()];
            made.apply(&cells, &views, &mut into, &mut speeds).unwrap();
            (outputs, speeds)
        };
        let forward: Vec<usize> = (0..count).collect();
        let (outputs, speeds) = run(&forward);
        let backward: Vec<usize> = (0..count).rev().collect();
        let (other, others) = run(&backward);
        for k in 0..count {
            let n = count - 1 - k;
            assert!(outputs[k] == other[n] && speeds[k].to_bits() == others[n].to_bits());
        }
        // Alone, in a batch of its own.
        let (alone, _) = run(&[77]);
        assert!(alone[0] == outputs[77]);
    }
}

/// Where chunks of so many values lie, in a shuffled order with gaps of 0 to 16 values, or adjacent.
fn strewn(count: usize, len: usize, adjacent: bool, rng: &mut ChaCha8Rng) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..count).collect();
    if adjacent {
        return (order.iter().map(|k| k * len).collect(), count * len);
    }
    for k in (1..count).rev() {
        order.swap(k, rng.random_range(0..=k));
    }
    let (mut places, mut end) = (vec![0; count], 0);
    for k in order {
        end += rng.random_range(0..=16);
        places[k] = end;
        end += len;
    }
    (places, end)
}

/// Disjoint chunks of memory at places in any order.
fn split<'a>(mut memory: &'a mut [f64], places: &[usize], len: usize) -> Vec<&'a mut [f64]> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&k| places[k]);
    let mut chunks: Vec<(usize, &mut [f64])> = Vec::new();
    let mut start = 0;
    for k in order {
        let (chunk, rest) = memory.split_at_mut(places[k] - start + len);
        chunks.push((k, &mut chunk[places[k] - start..]));
        (memory, start) = (rest, places[k] + len);
    }
    chunks.sort_by_key(|(k, _)| *k);
    chunks.into_iter().map(|(_, chunk)| chunk).collect()
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn chunks_in_the_hosts_memory_give_the_bits_of_packed_ones() {
    let backend = CudaBackend::new(0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    // Euler with 3 cells: 5 x 125 values there and 5 x 27 back, 5 x 25 and 5 x 9 in the plane.
    let list = [
        ("euler", "rusanov", 3, 6, 1000),
        ("euler", "rusanov", 3, 3, 2000),
        ("euler", "rusanov", 2, 3, 5000),
        ("euler", "fd4", 3, 5, 300),
        ("acoustics", "godunov", 2, 3, 1000),
    ];
    let mut odd = false;
    for (physics, scheme, d, p, count) in list {
        let kernel = kernel(physics, scheme, d, p, Plan::Fused).unwrap();
        let (input, output) = (kernel.shape.input_len(), kernel.shape.output_len());
        odd |= input % 2 == 1 && output % 2 == 1;
        let pool: Vec<Vec<f64>> = (0..count).map(|_| chunk(&kernel, &mut rng, 0.0)).collect();
        let cells = cells(count);
        let mut made = backend.patch_kernel(&kernel, &PatchOptions::new(true)).unwrap();
        let mut want = vec![vec![f64::NAN; output]; count];
        let mut want_speeds = vec![f64::NAN; if kernel.speeds { count } else { 0 }];
        let views: Vec<&[f64]> = pool.iter().map(Vec::as_slice).collect();
        let mut into: Vec<&mut [f64]> = want.iter_mut().map(Vec::as_mut_slice).collect();
        made.apply(&cells, &views, &mut into, &mut want_speeds).unwrap();
        for [near, near_out] in [[false, false], [true, true], [false, true], [true, false]] {
            let (places, end) = strewn(count, input, near, &mut rng);
            let mut from = made.host_memory(end).unwrap();
            let chunks = split(from.values_mut(), &places, input);
            chunks.into_iter().zip(&pool).for_each(|(to, chunk)| to.copy_from_slice(chunk));
            let inputs: Vec<&[f64]> =
                places.iter().map(|&place| &from.values()[place..place + input]).collect();
            let (places, end) = strewn(count, output, near_out, &mut rng);
            let mut to = made.host_memory(end).unwrap();
            // Twice: the second call finds buffers in use before, and other results to overwrite.
            for _ in 0..2 {
                to.values_mut().fill(-7.0);
                let mut outputs = split(to.values_mut(), &places, output);
                let mut speeds = vec![f64::NAN; want_speeds.len()];
                made.apply(&cells, &inputs, &mut outputs, &mut speeds).unwrap();
                let name = &kernel.name;
                assert!(speeds.iter().zip(&want_speeds).all(|(a, b)| a.to_bits() == b.to_bits()));
                for (k, (got, want)) in outputs.iter().zip(&want).enumerate() {
                    let equal = got.iter().zip(want).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(equal, "{name}, chunk {k}, adjacent {near} {near_out}");
                }
                // Between the chunks nothing is touched: they never come out as -7.
                let kept = to.values().iter().filter(|v| v.to_bits() == (-7.0f64).to_bits());
                assert_eq!(kept.count(), end - count * output, "{name}");
            }
            // One output elsewhere: the same by packing.
            let mut outputs = split(to.values_mut(), &places, output);
            let mut elsewhere = vec![f64::NAN; output];
            outputs[1] = &mut elsewhere;
            made.apply(&cells, &inputs, &mut outputs, &mut []).unwrap();
            assert!(outputs.iter().zip(&want).all(|(got, want)| **got == **want), "mixed");
        }
        // Last things first: a chunk's result does not depend on its place in the call.
        let mut from = made.host_memory(count * input).unwrap();
        from.values_mut().chunks_mut(input).zip(&pool).for_each(|(to, c)| to.copy_from_slice(c));
        let inputs: Vec<&[f64]> = from.values().chunks(input).rev().collect();
        let backward: Vec<Cell> = cells.iter().rev().copied().collect();
        let mut to = made.host_memory(count * output).unwrap();
        let mut outputs: Vec<&mut [f64]> = to.values_mut().chunks_mut(output).rev().collect();
        made.apply(&backward, &inputs, &mut outputs, &mut []).unwrap();
        assert!(to.values().chunks(output).zip(&want).all(|(got, want)| got == want), "backward");
    }
    assert!(odd, "no kernel has chunks of odd lengths");
}

/// The reference of a set's operations on chunks, on the host.
fn exchanged(kernel: &Kernel, states: &[Vec<f64>], beside: &[[[Beyond; 2]; 3]]) -> Vec<Vec<f64>> {
    let (block, shape) = (&kernel.blocks[0], &kernel.shape);
    let (p, h) = (shape.cells.cast_signed(), shape.halo.cast_signed());
    let depth = if shape.dimensions == 3 { p } else { 1 };
    let mut result = states.to_vec();
    for (k, sides) in beside.iter().enumerate() {
        for axis in 0..usize::from(shape.dimensions) {
            for side in 0..2 {
                for layer in 0..h {
                    for b in 0..if axis == 2 { p } else { depth } {
                        for a in 0..p {
                            let mut to = [a, b, b];
                            match axis {
                                0 => to = [0, a, b],
                                1 => to = [a, 0, b],
                                _ => {}
                            }
                            let mut from = to;
                            to[axis] = if side == 0 { -1 - layer } else { p + layer };
                            let source = match sides[axis][side] {
                                Beyond::Patch(n) => {
                                    from[axis] = if side == 0 { p - 1 - layer } else { layer };
                                    n
                                }
                                Beyond::Outflow => {
                                    from[axis] = if side == 0 { 0 } else { p - 1 };
                                    k
                                }
                                Beyond::Fixed => continue,
                            };
                            for u in 0..shape.width() {
                                result[k][block.offset(to) + u] =
                                    states[source][block.offset(from) + u];
                            }
                        }
                    }
                }
            }
        }
    }
    result
}

fn all(set: &mut dyn PatchSet, state: usize, count: usize, len: usize) -> Vec<Vec<f64>> {
    let read = |k| {
        let mut values = vec![0.0; len];
        set.download(state, k, &mut values).unwrap();
        values
    };
    (0..count).map(read).collect()
}

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_sets_operations_are_those_on_the_host() {
    let backend = CudaBackend::new(0).unwrap();
    for (d, p, schedule) in
        [(3, 4, "flat-t64"), (2, 5, "flat-t64"), (3, 4, "flat-t64-l8"), (2, 5, "direct-t64-l2")]
    {
        let kernel = kernel("euler", "fd4", d, p, Plan::Fused).unwrap();
        let options = PatchOptions::new(false).with_schedule(schedule);
        let made = backend.patch_kernel(&kernel, &options).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let count = 4;
        let len = kernel.shape.input_len();
        let states: Vec<Vec<f64>> = (0..count).map(|_| chunk(&kernel, &mut rng, 0.5)).collect();
        let mut set = made.patches(&cells(count), 3, 2).unwrap();
        for (k, state) in states.iter().enumerate() {
            set.upload(0, k, state).unwrap();
        }
        assert!(all(set.as_mut(), 0, count, len) == states, "up and down");
        let beside = |k: usize| {
            let other = Beyond::Patch((k + 1) % count);
            [[other, Beyond::Outflow], [Beyond::Fixed, Beyond::Patch(k)], [Beyond::Patch(0), other]]
        };
        let beside: Vec<_> = (0..count).map(beside).collect();
        set.set_neighbours(&beside).unwrap();
        set.exchange(0).unwrap();
        let want = exchanged(&kernel, &states, &beside);
        assert!(all(set.as_mut(), 0, count, len) == want, "halos of {d} dimensions");
        // A finite state has no fault, its speed is the largest of all.
        assert_eq!(set.fault(0).unwrap(), None);
        let physics = &kernel.physics;
        let parameters: Vec<f64> = physics.parameters.iter().map(|p| p.default).collect();
        let mut fastest = 0.0f64;
        for state in &states {
            for q in interior(&kernel, state).chunks_exact(5) {
                for n in 0..d {
                    let mut arguments = vec![0.0; 5 + 8];
                    arguments[..5].copy_from_slice(q);
                    let speed = physics.evaluate(Term::Eigenvalue, n, &arguments, &parameters);
                    fastest = fastest.max(speed.unwrap()[0]);
                }
            }
        }
        assert_eq!(set.speed(0).unwrap().to_bits(), fastest.to_bits());
        let mut bad = states[2].clone();
        let voxel = if d == 3 { [1, 2, 3] } else { [1, 2, 0] };
        let block = &kernel.blocks[0];
        bad[block.offset(voxel) + 4] = f64::INFINITY;
        set.upload(0, 2, &bad).unwrap();
        let fault = set.fault(0).unwrap().unwrap();
        assert_eq!((fault.patch, fault.unknown), (2, 4));
        assert_eq!(fault.voxel.map(u16::cast_signed), voxel);
        assert!(fault.value.is_infinite());
    }
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

#[test]
#[ignore = "needs an NVIDIA device"]
fn a_set_that_does_not_fit_is_refused_before_anything_is_allocated() {
    let backend = CudaBackend::new(0).unwrap();
    let kernel = kernel("euler", "rusanov", 3, 16, Plan::Fused).unwrap();
    let made = backend.patch_kernel(&kernel, &PatchOptions::new(true)).unwrap();
    let free = backend.free_memory().unwrap();
    let many = usize::try_from(free / made.set_bytes(1, 2, 0)).unwrap() + 1;
    let error = made.patches(&cells(many), 2, 0).err().unwrap().to_string();
    assert!(error.contains("bytes"), "{error}");
    assert_eq!(backend.free_memory().unwrap(), free);
}
