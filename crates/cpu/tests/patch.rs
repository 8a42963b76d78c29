//! Compiled patch kernels give the interpreter's bits.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_backend::{Backend, Cell, PatchOptions};
use temblor_cpu::{CpuBackend, ReferenceBackend};
use temblor_patch::{Kernel, Physics, Plan, Request, Scheme, lower};

type Results = (Vec<Vec<f64>>, Vec<f64>);

struct Case {
    cells: Vec<Cell>,
    inputs: Vec<Vec<f64>>,
}

fn kernel(physics: &str, scheme: &str, dimensions: u8, cells: u16, plan: Plan) -> Kernel {
    let physics = Arc::new(Physics::shipped(physics).expect("it ships"));
    let request = Request::new(dimensions, cells).with_plan(plan);
    lower(&Scheme::shipped(scheme).expect("it ships"), &physics, &request)
        .expect("they go together")
}

/// States with small perturbations about one that the physics can have, patches here and there.
fn random(kernel: &Kernel, patches: usize) -> Case {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let cells = (0..patches)
        .map(|patch| Cell {
            centre: [patch as f64, 0.5, -0.25],
            size: [0.5, 0.75, 1.0],
            time: 0.125,
            time_step: 1e-3 * (1.0 + patch as f64),
        })
        .collect();
    let rest: Vec<f64> = match kernel.physics.name.as_str() {
        "ccz4" => (0..59).map(|u| f64::from(u8::from([0, 3, 5, 16, 54].contains(&u)))).collect(),
        "euler" => vec![1.0, 0.0, 0.0, 0.0, 2.5],
        _ => vec![1.0; kernel.shape.width()],
    };
    let mut chunk = || {
        (0..kernel.shape.input_len())
            .map(|place| rest[place % rest.len()] + random.random_range(-0.2..0.2))
            .collect()
    };
    let inputs = (0..patches).map(|_| chunk()).collect();
    Case { cells, inputs }
}

fn apply(backend: &dyn Backend, kernel: &Kernel, schedule: Option<&str>, case: &Case) -> Results {
    let mut options = PatchOptions::new(false);
    if let Some(schedule) = schedule {
        options = options.with_schedule(schedule);
    }
    let mut made = backend.patch_kernel(kernel, &options).expect("it compiles");
    assert_eq!(made.report().note, None, "a C compiler is needed for these tests");
    let inputs: Vec<&[f64]> = case.inputs.iter().map(Vec::as_slice).collect();
    let mut outputs = vec![vec![f64::NAN; kernel.shape.output_len()]; inputs.len()];
    let mut speeds = vec![f64::NAN; inputs.len()];
    let mut places: Vec<&mut [f64]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    made.apply(&case.cells, &inputs, &mut places, &mut speeds).expect("lengths fit");
    (outputs, speeds)
}

/// Bit for bit, zeros of either sign counting as equal.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a + 0.0).to_bits() == (b + 0.0).to_bits())
}

fn assert_same(got: &Results, want: &Results, what: &str) {
    for (patch, (got, want)) in got.0.iter().zip(&want.0).enumerate() {
        assert!(want.iter().all(|value| value.is_finite()), "{what}: the state is not physical");
        assert!(same(got, want), "{what}: patch {patch}");
    }
    assert!(same(&got.1, &want.1), "{what}: speeds");
}

fn names(blocks: &[&str]) -> Plan {
    Plan::Staged(blocks.iter().map(|name| (*name).to_owned()).collect())
}

/// Every schedule of a physics and a scheme against the interpreter of the unfused kernel.
fn hold(physics: &str, scheme: &str, dimensions: u8, cells: u16, staged: &[&str]) {
    let unfused = kernel(physics, scheme, dimensions, cells, Plan::Unfused);
    let case = random(&unfused, 3);
    let want = apply(&ReferenceBackend::new(), &unfused, None, &case);
    let backend = CpuBackend::new();
    let fused = kernel(physics, scheme, dimensions, cells, Plan::Fused);
    let staged = kernel(physics, scheme, dimensions, cells, names(staged));
    // Where the physics has no use for a block, nothing is left to store.
    let tiles = if staged.stages.len() == 1 { "fused" } else { "staged" };
    for (kernel, schedule) in [
        (&fused, "fused"),
        (&staged, tiles),
        (&unfused, "plain"),
        (&unfused, "plain-flat"),
        (&staged, "openmp"),
        (&unfused, "plain-openmp"),
    ] {
        let got = apply(&backend, kernel, Some(schedule), &case);
        let what = format!("{physics}, {scheme}, d = {dimensions}, p = {cells}, {schedule}");
        assert_same(&got, &want, &what);
    }
}

#[test]
fn schedules_of_finite_volumes_give_the_interpreters_bits() {
    for (dimensions, cells) in [(2, 3), (3, 2), (3, 6)] {
        hold("euler", "rusanov", dimensions, cells, &["F"]);
    }
    hold("shallow_water", "rusanov", 2, 3, &["F", "D"]);
    hold("acoustics", "rusanov", 3, 2, &["G"]);
}

#[test]
fn schedules_of_finite_differences_give_the_interpreters_bits() {
    // 9: more than one vector along x, rows in columns.
    for (dimensions, cells) in [(2, 5), (3, 3), (3, 6), (3, 9)] {
        hold("euler", "fd4", dimensions, cells, &["F"]);
    }
    hold("elastics", "fd4", 2, 3, &["D"]);
}

#[test]
fn schedules_of_ccz4_give_the_interpreters_bits() {
    let unfused = kernel("ccz4", "fd4", 3, 3, Plan::Unfused);
    let case = random(&unfused, 2);
    let want = apply(&ReferenceBackend::new(), &unfused, None, &case);
    let backend = CpuBackend::new();
    for (plan, schedule) in
        [(Plan::Unfused, "plain"), (Plan::Fused, "fused"), (Plan::Unfused, "plain-openmp")]
    {
        let kernel = kernel("ccz4", "fd4", 3, 3, plan);
        assert_same(&apply(&backend, &kernel, Some(schedule), &case), &want, schedule);
    }
}

#[test]
fn schedules_of_the_other_shipped_schemes_and_physics_give_the_interpreters_bits() {
    hold("euler", "godunov", 2, 3, &["G"]);
    hold("advection", "rusanov", 2, 2, &["G"]);
    hold("elastics", "rusanov", 3, 2, &["G"]);
    hold("elastics", "fd4", 3, 2, &["D"]);
    hold("acoustics", "fd4", 3, 3, &["D"]);
}

/// Halo voxels that lie behind no face, set to NaN.
fn poison(kernel: &Kernel, chunk: &mut [f64]) {
    let input = &kernel.blocks[0];
    let inside = |at: i16, axis: usize| (0..kernel.blocks[1].high[axis]).contains(&at);
    for z in input.low[2]..input.high[2] {
        for y in input.low[1]..input.high[1] {
            for x in input.low[0]..input.high[0] {
                let outside = |axis: usize| usize::from(!inside([x, y, z][axis], axis));
                if outside(0) + outside(1) + outside(2) > 1 {
                    chunk[input.offset([x, y, z])..][..kernel.shape.width()].fill(f64::NAN);
                }
            }
        }
    }
}

#[test]
fn edges_and_corners_of_the_halo_have_no_influence() {
    for (physics, scheme, cells) in [
        ("euler", "rusanov", 3),
        ("acoustics", "rusanov", 6),
        ("euler", "fd4", 3),
        ("euler", "fd4", 6),
        ("ccz4", "fd4", 3),
    ] {
        let fused = kernel(physics, scheme, 3, cells, Plan::Fused);
        let mut case = random(&fused, 2);
        let backend = CpuBackend::new();
        let want = apply(&backend, &fused, None, &case);
        for chunk in &mut case.inputs {
            poison(&fused, chunk);
        }
        let got = apply(&backend, &fused, None, &case);
        assert_same(&got, &want, &format!("{physics}, {scheme}"));
    }
}

#[test]
fn results_depend_on_neither_order_nor_number_of_patches_nor_threads() {
    // More work than a task has at least, so that several threads take part.
    let fused = kernel("euler", "rusanov", 3, 6, Plan::Fused);
    let case = random(&fused, 211);
    let backend = CpuBackend::new();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let want = pool(1).install(|| apply(&backend, &fused, None, &case));
    assert_same(&pool(3).install(|| apply(&backend, &fused, None, &case)), &want, "3 threads");
    let order: Vec<usize> = (0..211).map(|place| (place * 13 + 5) % 211).collect();
    let shuffled = Case {
        cells: order.iter().map(|&patch| case.cells[patch]).collect(),
        inputs: order.iter().map(|&patch| case.inputs[patch].clone()).collect(),
    };
    let got = apply(&backend, &fused, None, &shuffled);
    let sorted = (
        order.iter().map(|&patch| want.0[patch].clone()).collect(),
        order.iter().map(|&patch| want.1[patch]).collect(),
    );
    assert_same(&got, &sorted, "another order");
    let alone = Case { cells: vec![case.cells[7]], inputs: vec![case.inputs[7].clone()] };
    let got = apply(&backend, &fused, None, &alone);
    assert_same(&got, &(vec![want.0[7].clone()], vec![want.1[7]]), "one patch");
}

#[test]
fn results_are_the_same_bits_for_every_number_of_threads() {
    // Patches large enough that several threads share one.
    for (scheme, patches) in [("rusanov", 1), ("rusanov", 5), ("fd4", 3)] {
        let fused = kernel("euler", scheme, 3, 16, Plan::Fused);
        let case = random(&fused, patches);
        let backend = CpuBackend::new();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| apply(&backend, &fused, None, &case))
        };
        let want = with(1);
        for threads in [2, 3, 16] {
            assert_same(&with(threads), &want, &format!("{scheme}, {threads} threads"));
        }
        // From a thread that is none of rayon's.
        assert_same(&apply(&backend, &fused, None, &case), &want, scheme);
    }
}

/// Results of a schedule on so many threads.
fn with_threads(threads: usize, kernel: &Kernel, schedule: &str, case: &Case) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().expect("threads can be had");
    pool.install(|| apply(&CpuBackend::new(), kernel, Some(schedule), case))
}

#[test]
fn teams_give_the_bits_of_the_same_loops_without_for_every_number_of_threads() {
    // Speeds and none; 16: in slabs, of two planes where there are threads enough.
    for (scheme, cells) in [("rusanov", 3), ("fd4", 6), ("rusanov", 16), ("fd4", 16)] {
        let fused = kernel("euler", scheme, 3, cells, Plan::Fused);
        let unfused = kernel("euler", scheme, 3, cells, Plan::Unfused);
        for patches in [1, 3, 17] {
            let case = random(&fused, patches);
            for (kernel, alone, team) in
                [(&fused, "fused", "openmp"), (&unfused, "plain", "plain-openmp")]
            {
                let want = with_threads(1, kernel, alone, &case);
                for threads in [1, 2, 3, 16] {
                    let got = with_threads(threads, kernel, team, &case);
                    let what = format!("{scheme}, p = {cells}, K = {patches}, {team}, {threads}");
                    assert_same(&got, &want, &what);
                }
            }
        }
    }
}

#[test]
fn steps_of_a_set_are_the_same_bits_for_every_number_of_threads() {
    let fused = kernel("euler", "rusanov", 3, 16, Plan::Fused);
    let unfused = kernel("euler", "rusanov", 3, 16, Plan::Unfused);
    let case = random(&fused, 3);
    let backend = CpuBackend::new();
    let with = |threads, kernel: &Kernel, schedule: &str| -> Results {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let options = PatchOptions::new(false).with_schedule(schedule);
            let made = backend.patch_kernel(kernel, &options).unwrap();
            let mut set = made.patches(&case.cells, 2, 0).unwrap();
            for (patch, chunk) in case.inputs.iter().enumerate() {
                set.upload(0, patch, chunk).unwrap();
            }
            set.set_time(0.0, 1e-3).unwrap();
            set.evaluate(0, 1).unwrap();
            let mut chunks = vec![vec![0.0; fused.shape.input_len()]; 3];
            for (patch, chunk) in chunks.iter_mut().enumerate() {
                set.download(1, patch, chunk).unwrap();
            }
            (chunks, vec![set.speed(1).unwrap()])
        })
    };
    let want = with(1, &fused, "fused");
    for (kernel, schedule) in
        [(&fused, "fused"), (&fused, "openmp"), (&unfused, "plain"), (&unfused, "plain-openmp")]
    {
        for threads in [2, 16] {
            let got = with(threads, kernel, schedule);
            assert_same(&got, &want, &format!("{schedule}, {threads} threads"));
        }
    }
}

#[test]
fn without_a_compiler_the_interpreter_runs_and_says_so() {
    // A process's environment is its own: the same test again, with a compiler that does nothing.
    const CHILD: &str = "TEMBLOR_TEST_WITHOUT_COMPILER";
    if std::env::var_os(CHILD).is_none() {
        let name = "without_a_compiler_the_interpreter_runs_and_says_so";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, "1")
            .env("CC", "false")
            .output()
            .unwrap();
        let says = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && says.contains("1 passed"), "{says}");
        return;
    }
    let fused = kernel("euler", "rusanov", 2, 3, Plan::Fused);
    let made = CpuBackend::new().patch_kernel(&fused, &PatchOptions::new(false)).unwrap();
    assert_eq!(made.report().made_by, "interpreter");
    let note = made.report().note.clone().unwrap();
    assert!(note.contains("`false`") && note.contains("CC"), "{note}");
}

#[test]
fn without_openmp_its_schedules_are_not_listed_and_say_what_to_install() {
    // As above: a compiler that knows everything else.
    const CHILD: &str = "TEMBLOR_TEST_WITHOUT_OPENMP";
    if std::env::var_os(CHILD).is_none() {
        let name = "without_openmp_its_schedules_are_not_listed_and_say_what_to_install";
        let folder = tempfile::tempdir().unwrap();
        let compiler = folder.path().join("cc");
        let text = "#!/bin/sh\nfor flag; do\n  [ \"$flag\" = -fopenmp ] && { echo no omp.h >&2; exit 1; }\ndone\n\
                    exec cc \"$@\"\n";
        std::fs::write(&compiler, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&compiler, mode).unwrap();
        let cache = folder.path().join("cache");
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, "1")
            .env("CC", &compiler)
            .env("XDG_CACHE_HOME", &cache)
            .output()
            .unwrap();
        let says = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && says.contains("1 passed"), "{says}");
        // What was refused leaves no text behind.
        let kept = std::fs::read_dir(cache.join("temblor/patch")).unwrap();
        let names: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        return;
    }
    let fused = kernel("euler", "rusanov", 2, 3, Plan::Fused);
    let backend = CpuBackend::new();
    let listed = ["fused", "plain", "plain-flat", "interpreter"];
    assert_eq!(backend.patch_schedules(&fused).unwrap(), listed);
    let made = backend.patch_kernel(&fused, &PatchOptions::new(false)).unwrap();
    assert_eq!(made.report().schedule, "fused");
    for schedule in ["openmp", "plain-openmp"] {
        let options = PatchOptions::new(false).with_schedule(schedule);
        let Err(error) = backend.patch_kernel(&fused, &options) else { panic!("it is refused") };
        let error = error.to_string();
        let wanted = [schedule, "no omp.h", "libgomp", "libomp"];
        assert!(wanted.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn schedules_with_openmp_stand_behind_those_without() {
    let fused = kernel("euler", "rusanov", 2, 3, Plan::Fused);
    let listed = ["fused", "plain", "plain-flat", "openmp", "plain-openmp", "interpreter"];
    assert_eq!(CpuBackend::new().patch_schedules(&fused).unwrap(), listed);
}

#[test]
fn pinned_memory_is_the_callers_own() {
    let kernel = kernel("advection", "rusanov", 2, 3, Plan::Fused);
    let made = ReferenceBackend::new().patch_kernel(&kernel, &PatchOptions::new(false)).unwrap();
    let mut memory = vec![1.0; 9];
    let start = memory.as_ptr();
    {
        let mut pinned = made.pin(&mut memory).unwrap();
        assert_eq!((pinned.values().as_ptr(), pinned.values().len()), (start, 9));
        pinned.values_mut()[3] = 2.0;
    }
    assert_eq!(memory.iter().sum::<f64>().to_bits(), 10.0f64.to_bits());
}

#[test]
fn schedules_of_axis_matrices_give_the_interpreters_bits() {
    hold("advection", "dg", 2, 4, &["F"]);
}

#[test]
fn the_speed_that_a_step_finds_is_that_of_the_state_it_writes() {
    let fused = kernel("euler", "rusanov", 3, 3, Plan::Fused);
    let case = random(&fused, 5);
    let made = CpuBackend::new().patch_kernel(&fused, &PatchOptions::new(false)).unwrap();
    let mut set = made.patches(&case.cells, 3, 0).unwrap();
    for (patch, chunk) in case.inputs.iter().enumerate() {
        set.upload(0, patch, chunk).unwrap();
    }
    set.set_time(0.0, 1e-3).unwrap();
    set.evaluate(0, 1).unwrap();
    let mut chunk = vec![0.0; fused.shape.input_len()];
    for patch in 0..case.cells.len() {
        set.download(1, patch, &mut chunk).unwrap();
        set.upload(2, patch, &chunk).unwrap();
    }
    let (found, computed) = (set.speed(1).unwrap(), set.speed(2).unwrap());
    assert_eq!(found.to_bits(), computed.to_bits());
    assert_ne!(set.speed(0).unwrap().to_bits(), found.to_bits());
}
